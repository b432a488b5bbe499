"""What a protocol brings whose events and whose model's steps differ in grain: a retelling of its events.

A log tells each offset of a commit by itself where the model takes all at once; an application is seen to begin its
next transaction before the marker of the last one is; a coordinator begins a generation that its successor knows
nothing of.  A `Retelling` turns the events of one system into rows of the table, each with the event that it is told
at, and `shown.Shown` follows these rows instead, in driven runs and in histories alike:

    SHOWN = Shown(…, retelling=Told, told=("waits",))        # ``told``: kinds of rows that are no kinds of events

It looks at events alone, never at the model, so that what it says is the same whatever the model makes of it; it may
keep a row back until a later event, but no row comes before the event that it is of.
"""

import gc
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.driving import Event, reader_of
from fencepost.properties.history import Vocabulary
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import STRANGE

Row = Mapping[str, Any]
"""A row of the table: its ``kind``, and columns by name; what it lacks is -1."""

_NO_KIND = ""
_STRANGE: Row = {"kind": _NO_KIND}

FIRST_CODE = 20_000
"""Codes of kinds that no event has are counted from here; no vocabulary comes so far."""


class Retelling(Protocol):
    """Of one system, or of one history."""

    def tell(self, events: Sequence[Any]) -> Iterator[tuple[int, Row]]:
        """The rows of the next events, each with the place, among these, of the event that it is told at.  Events have
        their kind by name, and every column of the vocabulary as an attribute.  Raises `Beyond`."""


class Tellers(dict[str, Callable[[Any], Iterable[Row]] | None]):
    """By kind of event, the method that tells its rows, named by the kind behind a prefix; None where there is none.
    Each is looked up once."""

    def __init__(self, retelling: object, prefix: str = "") -> None:
        super().__init__()
        self._retelling, self._prefix = retelling, prefix

    def __missing__(self, kind: str) -> Callable[[Any], Iterable[Row]] | None:
        found = self[kind] = getattr(self._retelling, f"{self._prefix}{kind}", None)
        return found


def _event_of(vocabulary: Vocabulary) -> Callable[..., Any]:
    """What makes an event of its kind and its columns."""
    made: Any = namedtuple  # its names are not known before
    event: Callable[..., Any] = made("Told", ["kind", *vocabulary.names])
    return event


@lru_cache
def reading_of(vocabulary: Vocabulary) -> Callable[[Event], Any]:
    """What makes an event, whichever way an implementation shows it, one with every column as an attribute."""
    made = _event_of(vocabulary)
    read = reader_of({column.name: column.absent for column in vocabulary.columns})
    return lambda event: made(*read(event))


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for cycles: among hundreds of thousands of new rows, which are in none, that takes a third of the
    time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@uncollected()
def retold_columns(
    vocabulary: Vocabulary, retelling: Callable[[], Retelling], codes: Mapping[str, int], names: Sequence[str],
    columns: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[int, str]]:  # fmt: skip
    """The rows of some whole histories in columns: ``names``, ``history``, ``kind``, and ``row``, that of the event;
    and why a history is not followed to its end, by its number.  An event of no kind that there is stays what it is."""
    kinds = {int(kind): name for name, kind in vocabulary.codes.items()}
    made = partial(tuple.__new__, _event_of(vocabulary))  # type: ignore[arg-type]  # `_make`, in half the time
    lists = [columns[name].tolist() for name in vocabulary.names]
    said = [kinds.get(kind) for kind in columns["kind"].tolist()]
    places, rows, undecided = list[int](), list[Row](), dict[int, str]()
    for begin, end in pairwise([*starts_of(columns["history"]).tolist(), len(said)]):
        known, strange = list(range(begin, end)), None
        if None in said[begin:end]:
            strange = said.index(None, begin)
            known = [row for row in known if said[row] is not None]
        own = [values[begin:end] for values in (said, *lists)]
        events = list(map(made, zip(*own, strict=True)))
        if strange is not None:
            events = [events[row - begin] for row in known]
        try:
            for place, row in retelling().tell(events):
                if strange is not None and known[place] > strange:
                    break
                places.append(known[place])
                rows.append(row)
        except Beyond as reason:
            undecided[int(columns["history"][begin])] = str(reason)
        if strange is not None:
            places.append(strange)
            rows.append(_STRANGE)
    numbers = {**codes, _NO_KIND: STRANGE}
    at = np.array(places, np.int64)
    found = {name: np.array([row.get(name, -1) for row in rows], np.int64) for name in names}
    kind = np.array([numbers[row["kind"]] for row in rows], np.int64)
    return {"history": columns["history"][at].astype(np.int64), "row": at, "kind": kind, **found}, undecided
