"""This module determines when steps of a source task are reported, where events contain less than a step.

Offsets that never arrive are not observed. The loss of a write is known when a later write of the same source partition
has arrived, because writes arrive in order, or when its instance has ended, because none of its writes arrives any
more. In a task with transactions, a record that the producer refuses at once was never in one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.source_commits.exactly_once import ExactlyOnce
from fencepost.model.source_commits.seen import SeenMended, SeenProposed
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.source_commits.events import MENDED, MODEL_COLUMNS, ONCE, PROPOSED, SOURCE_COMMITS
from fencepost.properties.translation import Row, Translator

ROW_KINDS = ("vanished",)
"""The kinds of rows in `ROW_KINDS` are not events."""

ENDS = frozenset({"instance_stopped", "instance_failed", "instance_killed"})
OWN_THREAD = 0
"""`OWN_THREAD` is the task's own thread, which commits at its end."""

Placed = tuple[int, Row]


class Translated:
    """`Translated` has what both kinds of task share. ``kinds`` are the kinds of rows that are observed."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds

    def translate(self, events: Sequence[Any]) -> Iterator[Placed]:
        for place, event in enumerate(events):
            following = events[place + 1] if place + 1 < len(events) else None
            for row in self.rows(event, following):
                if row["kind"] in self.kinds:
                    yield place, row

    def rows(self, event: Any, following: Any) -> Iterator[Row]:
        raise NotImplementedError(f"{type(self).__name__} must say which rows an event is: override rows()")


def _row(event: Any, **columns: Any) -> Row:
    return {
        "kind": event.kind, "partition": event.partition, "record": event.record, "offset": event.offset,
        "thread": event.thread, "outcome": event.outcome == 1, "empty": event.entries <= 0,
        "last": event.thread == OWN_THREAD, **columns,
    }  # fmt: skip


class Flushes(Translated):
    """`Flushes` translates the events of a task of the at-least-once runtime."""

    def __init__(self, kinds: frozenset[str]) -> None:
        super().__init__(kinds)
        self.under_way: dict[int, list[tuple[int, int]]] = {}  # by source partition: flush and offset, as sent

    def rows(self, event: Any, following: Any) -> Iterator[Row]:
        if event.kind == "flush_entry":
            self.under_way.setdefault(event.partition, []).append((event.flush, event.offset))
        elif event.kind == "offset_written":
            yield from self.overtaken(event)
        if event.kind in self.kinds:
            yield _row(event)
        if event.kind in ENDS:
            yield from self.lost(event)

    def overtaken(self, event: Any) -> Iterator[Row]:
        """Yield the writes that were sent before this one and were lost."""
        sent = self.under_way.get(event.partition, [])
        flushes = [flush for flush, _ in sent]
        if event.flush not in flushes:
            return
        before, after = sent[: flushes.index(event.flush)], sent[flushes.index(event.flush) :]
        self.under_way[event.partition] = after[1:]
        for offset in dict.fromkeys(offset for _, offset in before):
            if offset not in {o for _, o in after}:
                yield _row(event, kind="vanished", offset=offset)

    def lost(self, event: Any) -> Iterator[Row]:
        under_way, self.under_way = self.under_way, {}
        for partition, sent in under_way.items():
            for offset in dict.fromkeys(offset for _, offset in sent):
                yield _row(event, kind="vanished", partition=partition, offset=offset)


class Transactions(Translated):
    """`Transactions` translates the events of a task of the exactly-once runtime."""

    def rows(self, event: Any, following: Any) -> Iterator[Row]:
        refused = following is not None and following.kind == "dropped"
        if event.kind == "submitted" and refused and following.record == event.record:
            return
        if event.kind != "dropped" and event.kind in self.kinds:
            yield _row(event)


MODELS = {
    "proposed": (SeenProposed, PROPOSED),
    "shipped-mended": (SeenMended, MENDED),
    "proposed-exactly-once": (ExactlyOnce, ONCE),
}
THREADS = 2
"""The two threads are the task's own and the committer."""


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how many source partitions, records (by default as in the history) and threads there are."""
    return {**{name: config[name] for name in ("partitions", "records") if config.get(name)}, "threads": THREADS}


def _translator(variant: str, given: Mapping[str, int]) -> Translator:
    kinds = frozenset(observation.kind for observation in MODELS[variant][1])
    return Transactions(kinds) if variant == "proposed-exactly-once" else Flushes(kinds)


MAPPING = EventMapping(
    SOURCE_COMMITS,
    models={name: model for name, (model, _) in MODELS.items()},
    columns=MODEL_COLUMNS,
    observations={name: table for name, (_, table) in MODELS.items()},
    given=_given,
    translator=_translator,
    row_kinds=ROW_KINDS,
)
