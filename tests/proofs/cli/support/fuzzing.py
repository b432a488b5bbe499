"""Inputs that were changed, and what every command owes them: an exit code of the table, one line where it is 2, an end
within ten seconds, and never 0 for an input that was changed so that it has no verdict.

    python tests/proofs/cli/support/fuzzing.py --inputs 100000 --state fuzz.json

is the campaign: it goes on where it was interrupted, shows how much is left, and prints what failed with the seed that
shows it again.  The command runs in this process, by the function that the command line calls with its arguments.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from copying_logs import DATA as COPYING
from fencepost.proofs.cli import run
from fencepost.proofs.cli.shared.exits import IN_THE_CODE
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from metadata_logs import real_logs, segment

HISTORIES = {"id-blocks/kraft": "k", "transactions/v2": "t", "task-counts/shipped": "c"}
SECONDS = 10
CHUNK = 500
"""Inputs between two entries in the state of a campaign."""

NUMBERS = st.sampled_from((0, -1, 1, 2, 7, 2**31, 2**63, -(2**63), 10**30, 10**400)) | st.integers()
WORDS = st.sampled_from(
    ("", "..", "../x", "/etc/passwd", "none", "all", "v1", "kraft", "\x00", "ä", "\ud800", "a" * 5000, "nan", "[red]")
) | st.text(max_size=20)
LEAVES = NUMBERS | WORDS | st.none() | st.booleans() | st.floats()
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=8
)
ABOUT = ("seed", "notes", "faults", "config", "observable", "ordered", "source", "broken")
"""Fields of a manifest without which, or with another of which, there may be a verdict all the same."""


@dataclass(frozen=True)
class Fuzzed:
    """A command with its arguments; ``void``: its input was changed so that there can be no verdict on it."""

    words: list[str]
    void: bool
    how: str


@dataclass
class Beds:
    """The inputs before they are changed, in a directory of their own."""

    place: Path
    logs: Path = field(init=False)

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        for variant, name in HISTORIES.items():
            words = ["generate", variant, str(self.place / name), "--histories", "2", "--config", "events=40"]
            code, reported, _ = ran([*words, "--cores", "1"])
            assert code == 0, reported
        self.logs = self.place / "logs"
        real_logs(self.logs)
        shutil.copytree(COPYING / "classic", self.place / "copying")

    def copy(self, name: str) -> Path:
        """One of them, to be changed."""
        target = self.place / "changed"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.place / name, target)
        return target


def ran(words: list[str]) -> tuple[int, str, float]:
    """Exit code, error stream, and how long it took."""
    out, err = io.StringIO(), io.StringIO()
    began = time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    return code, err.getvalue(), time.monotonic() - began


def waiting() -> float:
    """How much longer everything takes here and now since there is other work for each core."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def judge(fuzzed: Fuzzed) -> None:
    """Runs it; AssertionError if it gets anything else than it is owed."""
    code, err, seconds = ran(fuzzed.words)
    text = f"{fuzzed.how}: fencepost {' '.join(map(repr, fuzzed.words))}: exit code {code}: {err[-600:]}"
    assert code in (0, 1, 2), text
    assert seconds < SECONDS * waiting(), f"{seconds:.0f} s: {text}"
    assert "Traceback" not in err, text
    assert IN_THE_CODE not in err, text
    if code == 2:
        reported = [line for line in err.splitlines() if not line.startswith("warning: ")]
        assert len(reported) == 1, text
    assert not (fuzzed.void and code == 0), text


# Changes --------------------------------------------------------------------------------------------------------------


def _somewhere(draw: Any, document: Any) -> tuple[Any, Any, str]:
    """A container within a JSON document, one of its keys, and the first key on the way there."""
    at, first = document, ""
    while True:
        keys: list[Any] = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return document, None, ""
        key = draw(st.sampled_from(keys))
        first = first or str(key)
        if not isinstance(at[key], dict | list) or not at[key] or draw(st.booleans()):
            return at, key, first
        at = at[key]


def _changed_json(draw: Any, document: Any) -> str:
    """Changes a JSON document in one place; the field of it that was changed."""
    at, key, first = _somewhere(draw, document)
    match draw(st.sampled_from(("value", "gone", "new"))) if key is not None else "new":
        case "value":
            at[key] = draw(VALUES)
        case "gone":
            del at[key]
        case "new" if isinstance(document, dict):
            first = draw(WORDS)
            document[first] = draw(VALUES)
    return first


def _changed_bytes(draw: Any, content: bytes) -> bytes:
    """Bytes cut, changed, put in or left out somewhere."""
    at = draw(st.integers(0, max(0, len(content) - 1)))
    match draw(st.sampled_from(("cut", "byte", "in", "out", "all"))):
        case "cut":
            return content[:at]
        case "byte":
            return content[:at] + draw(st.binary(min_size=1, max_size=4)) + content[at + 4 :]
        case "in":
            return content[:at] + draw(st.binary(min_size=1, max_size=200)) + content[at:]
        case "out":
            return content[:at] + content[at + draw(st.integers(1, 200)) :]
    return draw(st.binary(max_size=300))


def manifests(draw: Any, beds: Beds) -> Fuzzed:
    """A manifest that was changed: as JSON, or as bytes."""
    name = draw(st.sampled_from(sorted(HISTORIES.values())))
    place = beds.copy(name)
    file = place / "manifest.json"
    before = json.loads(file.read_text())
    if draw(st.integers(0, 3)):
        document = json.loads(file.read_text())
        for _ in range(draw(st.integers(1, 2))):
            _changed_json(draw, document)
        file.write_bytes(json.dumps(document).encode("utf-8", "surrogatepass"))
    else:
        file.write_bytes(_changed_bytes(draw, file.read_bytes()))
    try:
        after = json.loads(file.read_bytes())
        void = {k: v for k, v in after.items() if k not in ABOUT} != {k: v for k, v in before.items() if k not in ABOUT}
    except (ValueError, AttributeError, RecursionError):
        void = True
    return Fuzzed(["replay", str(place), "--cores", "1", *_replay_options(draw)], void, "manifest")


def _replay_options(draw: Any) -> list[str]:
    return draw(st.sampled_from(([], ["--require", "all"], ["--no-conformance"], ["--require", "conformance"])))


def pieces(draw: Any, beds: Beds) -> Fuzzed:
    """A piece that was changed: its bytes, its columns, its rows, or what kind of file it is."""
    place = beds.copy(draw(st.sampled_from(sorted(HISTORIES.values()))))
    file = place / "part-00000.parquet"
    table = pq.read_table(file)
    column = draw(st.integers(0, table.num_columns - 1))
    field_, values = table.schema.field(column), table.column(column)
    void = True
    match draw(st.sampled_from(("bytes", "gone", "drop", "type", "null", "reverse", "slice", "value", "link", "pipe"))):
        case "bytes":
            before = file.read_bytes()
            after = _changed_bytes(draw, before)
            file.write_bytes(after)
            void = len(after) < len(before) // 2
        case "gone":
            file.unlink()
        case "drop":
            pq.write_table(table.drop_columns([field_.name]), file)
        case "type":
            other = draw(st.sampled_from((pa.string(), pa.float64(), pa.uint64(), pa.bool_())))
            strange = pa.array([None] * table.num_rows, other)
            pq.write_table(table.set_column(column, field_.name, strange), file)
        case "null":
            nothing = pa.array([None] * table.num_rows, field_.type)
            pq.write_table(table.set_column(column, pa.field(field_.name, field_.type), nothing), file)
            void = field_.name in ("history", "step", "kind")
        case "reverse":
            pq.write_table(table.take(list(reversed(range(table.num_rows)))), file)
        case "slice":
            pq.write_table(table.slice(draw(st.integers(1, table.num_rows - 1))), file)
        case "value":
            bits = field_.type.bit_width
            array = values.to_numpy().copy()
            array[draw(st.integers(0, len(array) - 1))] = draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
            pq.write_table(table.set_column(column, field_, pa.array(array)), file)
            void = False
        case "link":
            shutil.move(file, place.parent / "elsewhere.parquet")
            file.symlink_to(place.parent / "elsewhere.parquet")
        case "pipe":
            file.unlink()
            os.mkfifo(file)
    return Fuzzed(["replay", str(place), "--cores", "1", *_replay_options(draw)], void, "piece")


def segments(draw: Any, beds: Beds) -> Fuzzed:
    """A cluster's logs, of which something was changed."""
    place = beds.copy("logs")
    nodes = sorted(folder for folder in place.iterdir() if folder.is_dir())
    file = draw(st.sampled_from([segment(nodes[0]), *sorted(f for f in nodes[1].rglob("*") if f.is_file())]))
    match draw(st.sampled_from(("bytes", "gone", "pipe"))):
        case "bytes":
            file.write_bytes(_changed_bytes(draw, file.read_bytes()))
        case "gone":
            file.unlink()
        case "pipe":
            file.unlink()
            os.mkfifo(file)
    protocol = draw(st.sampled_from(("id-blocks", "transactions")))
    shutil.rmtree(beds.place / "out", ignore_errors=True)
    words = ["record", *map(str, nodes), "--protocol", protocol, "--out", str(beds.place / "out")]
    return Fuzzed(words, False, "segment")


def group_segments(draw: Any, beds: Beds) -> Fuzzed:
    """The log of a group's offsets, of which something was changed."""
    place = beds.copy("copying")
    file = draw(st.sampled_from(sorted(f for f in (place / "node-1").rglob("*") if f.is_file())))
    file.write_bytes(_changed_bytes(draw, file.read_bytes()))
    shutil.rmtree(beds.place / "out", ignore_errors=True)
    words = ["record", "--protocol", "group-fencing", str(place / "node-1"), "--clients", str(place / "clients.jsonl")]
    return Fuzzed([*words, "--out", str(beds.place / "out")], False, "group segment")


def client_lines(draw: Any, beds: Beds) -> Fuzzed:
    """What clients saw, of which a line was changed."""
    protocol = draw(st.sampled_from(("id-blocks", "transactions", "group-fencing")))
    place = beds.copy("copying" if protocol == "group-fencing" else "logs")
    file = place / "clients.jsonl"
    lines = file.read_bytes().splitlines()[:20]
    number = draw(st.integers(0, len(lines) - 1))
    if draw(st.booleans()):
        document = json.loads(lines[number])
        _changed_json(draw, document)
        lines[number] = json.dumps(document).encode("utf-8", "surrogatepass")
    else:
        lines[number] = _changed_bytes(draw, lines[number])
    content = draw(st.sampled_from((b"\n".join(lines), b"", b"\n", b"[" * 50_000)))
    file.write_bytes(content)
    shutil.rmtree(beds.place / "out", ignore_errors=True)
    words = ["record", "--clients", str(file), "--out", str(beds.place / "out")]
    return Fuzzed([*words, "--protocol", protocol], content in (b"", b"\n"), "client lines")


QUICK: dict[str, tuple[list[str], list[str]]] = {
    "explore": (["id-blocks/by-broker-id"], ["--bound", "--profile", "--reduce"]),
    "simulate": (["id-blocks/by-broker-id", "--steps", "50"], ["--bound", "--seed", "--steps", "--aim"]),
    "show": (["id-blocks/by-broker-id", "no id twice"], ["--bound", "--without", "--profile"]),
    "list": (["id-blocks/kraft"], ["--verbose"]),
    "schema": (["replay"], []),
    "findings": ([], ["--json", "--table"]),
    "generate": (
        ["id-blocks/kraft", "OUT", "--histories", "2", "--cores", "1"],
        ["--config", "--histories", "--seed", "--from", "--cores"],
    ),
    "replay": (["HISTORIES", "--cores", "1"], ["--check", "--require", "--protocol", "--json"]),
    "record": (["LOGS", "--out", "OUT"], ["--topic", "--clients", "--config", "--protocol"]),
    "doctor": (["--logs", "LOGS"], ["--topic", "--transactional-id", "--since", "--same-key"]),
    "agree": (["id-blocks/kraft", "--examples", "1"], ["--implementation", "--promise", "--expecting", "--bootstrap"]),
    "prove": (["nowhere"], ["--profile"]),
    "necessity": (["id-blocks", "--rule", "none"], ["--rule", "--profile", "--kept"]),
    "verify": (["nowhere"], ["--seed", "--profile", "--json", "--junit"]),
}
"""Commands that are over soon, with arguments, and the options that are changed."""
NAMES = st.sampled_from(
    ("brokers", "ids", "size", "restarts", "migrations", "events", "broken", "mode", "block_size", "drop", "config")
)
PAIRS = st.builds(lambda name, value: f"{name}={value}", NAMES | WORDS, NUMBERS | WORDS)


def options(draw: Any, beds: Beds) -> Fuzzed:
    """A command with arguments and options of any kind."""
    command = draw(st.sampled_from(sorted(QUICK)))
    arguments, known = QUICK[command]
    shutil.rmtree(beds.place / "out", ignore_errors=True)
    places = {"OUT": beds.place / "out", "HISTORIES": beds.place / "k", "LOGS": beds.place / "logs" / "node-1"}
    words = [str(places.get(word, word)) for word in arguments]
    if words and draw(st.integers(0, 4)) == 0:
        words[draw(st.integers(0, len(words) - 1))] = str(draw(WORDS))
    for option in draw(st.lists(st.sampled_from(known), max_size=2)) if known else ():
        value = str(draw(PAIRS if option in ("--bound", "--config") else NUMBERS | WORDS | PAIRS))
        if option in ("--json", "--table", "--junit", "--kept", "--clients") and value:
            value = str(beds.place / value.strip("/."))
        words += [option, value]
    return Fuzzed([command, *map(as_passed, words)], False, "options")


def as_passed(word: str) -> str:
    """As a shell can pass it: without a zero byte, and bytes that are not UTF-8 as Python shows these."""
    return word.replace("\x00", "").replace("\ud800", "\udcff")


KINDS: tuple[Callable[[Any, Beds], Fuzzed], ...] = (
    manifests, pieces, segments, group_segments, client_lines, options,
)  # fmt: skip


def hold(beds: Beds, number: int, first_seed: int) -> None:
    """Judges so many inputs; the same seed gives the same ones.  AssertionError with the shortest that fails."""

    @seed(first_seed)
    @settings(
        max_examples=number, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), print_blob=False,
    )  # fmt: skip
    @given(st.data())
    def each(data: Any) -> None:
        kind = data.draw(st.sampled_from(KINDS))
        judge(kind(data.draw, beds))

    before = Path.cwd()
    os.chdir(beds.place)
    try:
        each()
    finally:
        os.chdir(before)


def campaign(inputs: int, state: Path) -> int:
    """Chunk after chunk, each with a seed of its own; what is done is kept in ``state``."""
    done: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {"chunks": 0, "failed": {}}
    began, first = time.monotonic(), done["chunks"]
    with tempfile.TemporaryDirectory() as folder:
        beds = Beds(Path(folder))
        while done["chunks"] * CHUNK < inputs:
            try:
                hold(beds, CHUNK, done["chunks"])
            except Exception as error:
                done["failed"][str(done["chunks"])] = "".join(traceback.format_exception_only(error))[-2000:]
            done["chunks"] += 1
            draft = state.with_suffix(".draft")
            draft.write_text(json.dumps(done, indent=1) + "\n")
            draft.replace(state)
            each = (time.monotonic() - began) / (done["chunks"] - first)
            left = each * (inputs / CHUNK - done["chunks"]) / 60
            print(
                f"{done['chunks'] * CHUNK:,} of {inputs:,}, {len(done['failed'])} failed, {left:.0f} min left",
                flush=True,
            )
    for chunk, reported in done["failed"].items():
        print(f"seed {chunk}: {reported}")
    return 1 if done["failed"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--state", type=Path, required=True)
    asked = parser.parse_args()
    sys.exit(campaign(asked.inputs, asked.state))
