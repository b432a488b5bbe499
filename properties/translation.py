"""A protocol whose events and whose model's steps differ in grain provides a translation of its events.

A log has each offset of a commit by itself where the model commits all at once, an application begins its next
transaction before the marker of the last one is observed, and a coordinator begins a generation that its successor
knows nothing of. A `Translator` turns the events of one system into rows of the table, each with the event that it is
reported at, and `event_mapping.EventMapping` follows these rows instead, in driven runs and in histories alike:

    MAPPING = EventMapping(…, translator=Places, row_kinds=("waits",))        # kinds of rows that no event has

A translator reads events alone, never the model, so that its rows do not depend on the model. It may delay a row until
a later event, but no row comes before the event that it belongs to.
"""

import gc
from collections import namedtuple
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
from fencepost.properties.conformance_spec import Beyond
from fencepost.properties.driving import Event, reader_of
from fencepost.properties.history import Vocabulary
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import STRANGE

Row = Mapping[str, Any]
"""A `Row` of the table has its ``kind``, and columns by name; a missing column is -1."""

_NO_KIND = ""
_STRANGE: Row = {"kind": _NO_KIND}

FIRST_CODE = 20_000
"""Codes of kinds that no event has are counted from here, which is above the codes of every vocabulary."""


class Translator(Protocol):
    """A `Translator` translates the events of one system, or of one history."""

    def translate(self, events: Sequence[Any]) -> Iterator[tuple[int, Row]]:
        """Yield the rows of the next events, each with the place, among these, of the event that it is reported at.
        Events have their kind by name, and every column of the vocabulary as an attribute. Raise `Beyond` if the model
        leaves an event out."""


class Tellers(dict[str, Callable[[Any], Iterable[Row]] | None]):
    """A `Tellers` maps each kind of event to the method that yields its rows, named by the kind after a prefix; None
    where there is none. Each is looked up once."""

    def __init__(self, translator: object, prefix: str = "") -> None:
        super().__init__()
        self._translator, self._prefix = translator, prefix

    def __missing__(self, kind: str) -> Callable[[Any], Iterable[Row]] | None:
        found = self[kind] = getattr(self._translator, f"{self._prefix}{kind}", None)
        return found


def _event_of(vocabulary: Vocabulary) -> Callable[..., Any]:
    return namedtuple("Told", ["kind", *vocabulary.names])  # its names are not known before


@lru_cache
def reading_of(vocabulary: Vocabulary) -> Callable[[Event], Any]:
    """Return a function that converts an event, whichever way an implementation emits it, to one with every column as
    an attribute."""
    made = _event_of(vocabulary)
    read = reader_of({column.name: column.absent for column in vocabulary.columns})
    return lambda event: made(*read(event))


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend garbage collection, which takes a third of the time of making hundreds of thousands of rows without
    cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@uncollected()
def translated_columns(
    vocabulary: Vocabulary, translator: Callable[[], Translator], codes: Mapping[str, int], names: Sequence[str],
    columns: Mapping[str, np.ndarray], read: Collection[str] = (),
) -> tuple[dict[str, np.ndarray], dict[int, str]]:  # fmt: skip
    """Return the rows of some whole histories in columns (``names``, ``history``, ``kind``, and ``row``, that of the
    event), and the reason why a history is not followed to its end, by its number. ``read`` has the kinds of events
    that are read, if not all. An event of an unknown kind becomes a row of its own."""
    history, kind, kinds = columns["history"], columns["kind"], {int(k): name for name, k in vocabulary.codes.items()}
    unknown = np.flatnonzero(~np.isin(kind, list(kinds)))[::-1]
    strange = dict(zip(history[unknown].tolist(), unknown.tolist(), strict=True))  # the first of each history
    at = np.flatnonzero(np.isin(kind, [code for code, name in kinds.items() if name in read or not read]))
    made = partial(tuple.__new__, _event_of(vocabulary))  # type: ignore[arg-type]  # `_make`, in half the time
    names_of_kinds = map(kinds.get, kind[at].tolist())
    events = map(made, zip(names_of_kinds, *(columns[name][at].tolist() for name in vocabulary.names), strict=True))
    starts, width, absent = starts_of(history), 1 + len(names), dict.fromkeys(names, -1)
    cuts = np.searchsorted(at, [*starts.tolist(), len(kind)]).tolist()
    places, flat, undecided = list[int](), list[Any](), dict[int, str]()
    values_of = itemgetter("kind", *names)
    for number, (begin, end) in zip(history[starts].tolist(), pairwise(cuts), strict=True):
        own, stranger = at[begin:end].tolist(), strange.get(number, len(kind))
        try:
            for place, row in translator().translate(list(islice(events, end - begin))):
                if own[place] > stranger:
                    break
                places.append(own[place])
                try:
                    flat.extend(values_of(row))
                except KeyError:
                    flat.extend(values_of({**absent, **row}))
        except Beyond as reason:
            undecided[number] = str(reason)
        if number in strange:
            places.append(stranger)
            flat.extend(values_of({**absent, **_STRANGE}))
    numbers = {**codes, _NO_KIND: STRANGE}
    flat[::width] = [numbers[name] for name in flat[::width]]
    table = np.fromiter(flat, np.int64, len(flat)).reshape(-1, width).T.copy()
    rows = np.array(places, np.int64)
    found = dict(zip(("kind", *names), table, strict=True))
    return {"history": history[rows].astype(np.int64), "row": rows, **found}, undecided
