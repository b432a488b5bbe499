"""Events that a user's own system wrote, as a history: a file of JSON lines, one event a line, in their order.

    {"time_us": 1700000000000000, "kind": "granted", "client": 0, "token": 1}

A line has ``time_us`` (microseconds), ``kind`` by its name, and the columns that the protocol's table gives that kind;
nothing else is accepted, so that a misspelt column is no missing one. The first line may be a `Header`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from fencepost.proofs.recording.errors import RecordingError, lines_of
from fencepost.properties.history import write_histories
from fencepost.properties.history.lines import Lines
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.nearest import instead

ADVICE = (
    "each line is a JSON object with time_us, kind and the kind's columns; the first may be a header without a kind"
)


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A `Header` has what the events do not reveal of the system: its variant, sizes and further facts (``config``),
    and the kinds of which every event is in the file (default: all kinds)."""

    variant: str = ""
    config: Mapping[str, Any] = {}
    observable: tuple[str, ...] | None = None


@contextmanager
def history_of(file: Path, vocabulary: Vocabulary) -> Iterator[Path]:
    """Return a directory, for the time of the context, with the events of a file as one history. Raise `RecordingError`
    with the line of the file that is no event of the vocabulary."""
    header, columns = read_lines(file, vocabulary)
    known: dict[str, Any] = {"config": dict(header.config)} | ({"variant": header.variant} if header.variant else {})
    if header.observable is not None:
        known["observable"] = header.observable
    steps = np.arange(len(columns["kind"]))
    with TemporaryDirectory(prefix="fencepost-") as folder:
        out = Path(folder) / "history"
        whole = {"history": np.zeros_like(steps), "step": steps, **columns}
        write_histories(out, [whole], vocabulary, source="recorded", notes=f"The events of {file}.", **known)
        yield out


def read_lines(file: Path, vocabulary: Vocabulary) -> tuple[Header, dict[str, np.ndarray]]:
    """Return the header of a file, and its events as columns: ``time_us``, ``kind`` and those of the vocabulary. Raise
    `RecordingError` with the line that is no event."""
    lines, header = Lines(vocabulary, tuple(vocabulary.codes)), Header()
    rows: list[list[int]] = []
    for number, line in enumerate(lines_of(file, "the system's events"), 1):
        if not line.strip():
            continue
        try:
            if not rows and number == 1 and (found := _header(line)) is not None:
                header = found
            else:
                rows.append(lines.row(line))
        except (ValueError, RecursionError, OverflowError) as error:
            raise RecordingError(
                f"no event of {vocabulary.protocol}: {error}", Path(f"{file}:{number}"), ADVICE
            ) from None
    if not rows:
        raise RecordingError("there is no event in it", file, ADVICE)
    if unknown := [name for name in header.observable or () if name not in vocabulary.codes]:
        meant = instead(unknown[0], vocabulary.codes)
        raise RecordingError(f"observable names {unknown[0]!r}, which is no kind of event", Path(f"{file}:1"), meant)
    values = np.array(rows, np.int64)
    return header, {name: values[:, place].copy() for place, name in enumerate(lines.names)}


def _header(line: str) -> Header | None:
    fields = msgspec.json.decode(line)
    return msgspec.convert(fields, Header) if isinstance(fields, dict) and "kind" not in fields else None
