"""This module translates the events of source tasks to steps of the model where the two are divided differently.

An instance has the source partitions whose number, divided by the number of tasks, leaves the number of its task. The
partitions of a new set are its own from when the first of its instances starts. When several instances of one task
start, the partitions are those of the one that opens its producer last. An instance of an older set that opens its
producer after a newer set exists fences the one that had the transactional id, and is not followed, because it will
find the newer set. Offsets are found where the last topic is read to the end, and what was sent in a transaction is
reported with its end, for each source partition. An instance that has been fenced may find an end after which the next
one has written since. It found what was there when it asked, while the model, where that is one step, would refer to
the present, so the instance is not followed any further.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.model.source_offsets.seen import SeenMergedView, SeenOwnTopic
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.history import HistoryError
from fencepost.properties.source_offsets.events import MODEL_COLUMNS, SOURCE_OFFSETS, TABLE
from fencepost.properties.translation import Row, Tellers, Translator

ROW_KINDS = ("given", "flushed")
"""The rows in `ROW_KINDS` are not events: an instance gets a source partition, or a transaction its offset."""

ENDS = ("instance_stopped", "instance_failed", "instance_killed")
_NONE = -1
_FIRST = 0
"""The set of tasks `_FIRST` exists before anything is observed."""

Placed = tuple[int, Row]


class Tasks:
    """`Tasks` translates the events of one connector. ``kinds`` are the kinds of rows that are observed."""

    def __init__(self, kinds: frozenset[str], partitions: int, tasks: int, separate: bool) -> None:
        self.kinds, self.partitions = kinds, partitions
        self.begun = not separate  # the model knows to which topic the first set's offsets go
        self.newest = _FIRST
        self.count, self.topics = tasks, 1 + separate
        self.first = set(range(tasks))  # tasks of the newest set of which an instance has started
        self.generation: dict[int, int] = {}  # of instances that have started since
        self.task: dict[int, int] = {}  # of those that are not over
        self.followed: set[int] = set()  # that have opened their producers
        self.topics_of: dict[int, int] = {}  # how many it has yet to read to the end
        self.sent: dict[int, set[int]] = {}  # source partitions whose offset is in the transaction
        self.ends: dict[int, int] = {}  # by producer id: whose transaction is to be committed
        self.last: dict[tuple[int, int], int] = {}  # by topic and source partition: where its last entry stands

    def translate(self, events: Sequence[Any]) -> Iterator[Placed]:
        tellers = Tellers(self, "_")
        for place, event in enumerate(events):
            if not self.begun:
                self.begun = True
                yield place, _row(event, kind="configured", separate=True)
            kind = event.kind
            teller = tellers[kind]
            if teller is not None:
                for row in teller(event):
                    if row["kind"] in self.kinds:
                        yield place, row
            elif kind in self.kinds and (event.instance == _NONE or event.instance in self.followed):
                yield place, _row(event)

    def _configured(self, event: Any) -> Iterator[Row]:
        self.newest, self.count, self.topics = event.generation, event.count, event.topic + 1
        self.first = set()
        yield _row(event, separate=event.topic == 1)

    def _instance_started(self, event: Any) -> Iterator[Row]:
        self.generation[event.instance], self.task[event.instance] = event.generation, event.task
        if event.generation == self.newest and event.task not in self.first:
            self.first.add(event.task)
            yield from self.given(event)

    def own(self, task: int) -> range:
        """Return the partitions of a task, which are none while no task is configured, whatever a history has."""
        return range(task, self.partitions, self.count) if self.count > 0 else range(0)

    def given(self, event: Any) -> Iterator[Row]:
        for partition in self.own(event.task):
            yield _row(event, kind="given", partition=partition)

    def _fenced(self, event: Any) -> Iterator[Row]:
        for instance in sorted(self.followed):
            if self.task[instance] == event.task:
                yield _row(event, instance=instance)

    def _producer_opened(self, event: Any) -> Iterator[Row]:
        if event.error != 0 or self.generation.get(event.instance, _FIRST) != self.newest:
            return
        self.task[event.instance] = event.task
        yield from self.given(event)
        if event.task < self.partitions:
            self.followed.add(event.instance)
            self.topics_of[event.instance] = self.topics
            yield _row(event)

    def _instance_checked(self, event: Any) -> Iterator[Row]:
        """Yield the check of an instance that is followed, or that should not go on although it has partitions."""
        if event.instance in self.followed or (event.outcome == 1 and event.task < self.partitions):
            yield _row(event)

    def _entry_appended(self, event: Any) -> Iterator[Row]:
        self.last[event.topic, event.partition] = event.position
        if event.instance == _NONE or event.instance in self.followed:
            yield _row(event)

    def _end_reached(self, event: Any) -> Iterator[Row]:
        if event.instance not in self.topics_of:
            return
        self.topics_of[event.instance] -= 1
        if self.topics_of[event.instance] > 0:
            return
        own = self.own(self.task[event.instance])
        if any(event.position <= self.last.get((event.topic, partition), _NONE) for partition in own):
            self.followed.discard(event.instance)
        else:
            yield _row(event)

    def _offset_sent(self, event: Any) -> Iterator[Row]:
        if event.instance not in self.followed:
            return
        self.sent.setdefault(event.instance, set()).add(event.partition)
        yield _row(event)

    def _end_sent(self, event: Any) -> Iterator[Row]:
        sent = self.sent.pop(event.instance, set())
        if event.outcome != 1 or event.instance not in self.followed:
            return
        for partition in range(self.partitions):
            yield _row(event, kind="flushed", partition=partition, sent=partition in sent)
        self.ends[event.producer_id] = event.instance
        yield _row(event)

    def _topic_marked(self, event: Any) -> Iterator[Row]:
        instance = self.ends.pop(event.producer_id, _NONE)
        if event.outcome == 1 and instance in self.followed:
            yield _row(event, instance=instance)

    def _over(self, event: Any) -> Iterator[Row]:
        if self.task.pop(event.instance, None) is None:
            return
        self.followed.discard(event.instance)
        for known in (self.generation, self.topics_of, self.sent):
            known.pop(event.instance, None)
        yield _row(event)

    _instance_stopped = _instance_failed = _instance_killed = _over


def _row(event: Any, **columns: Any) -> Mapping[str, Any]:
    return {
        "kind": event.kind, "instance": event.instance, "partition": event.partition, "record": event.offset,
        "offset": event.offset, "outcome": event.outcome == 1, "failed": event.error != 0, "separate": False,
        "sent": False, **columns,
    }  # fmt: skip


MODELS = {
    "text-merged-view": SeenMergedView,
    "shipped": SeenMergedView,  # with one topic there is nothing to merge
    "shipped-own-topic-from-the-start": SeenOwnTopic,
}


def _given(variant: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how many source partitions and records there are, and the settings of the first set of tasks, which exists
    before anything is observed."""
    if not isinstance(config.get("partitions"), int):
        raise HistoryError("the config does not say how many partitions the source has, which instances share")
    if int(config.get("rounds", 1)) > 1:
        raise HistoryError("partitions that begin anew are followed by no model")
    separate = config.get("separate", False) if variant == "text-merged-view" else variant != "shipped"
    first = {"tasks": int(config.get("tasks", 1)), "separate": int(separate)}
    return first | {name: config[name] for name in ("partitions", "records") if config.get(name)}


def _translator(variant: str, given: Mapping[str, int]) -> Translator:
    kinds = frozenset(observation.kind for observation in TABLE)
    return Tasks(kinds, given["partitions"], given["tasks"], bool(given["separate"]))


MAPPING = EventMapping(
    SOURCE_OFFSETS,
    models=MODELS,
    columns=MODEL_COLUMNS,
    observations=dict.fromkeys(MODELS, TABLE),
    names={"instance": ENDS},
    given=_given,
    translator=_translator,
    row_kinds=ROW_KINDS,
    additional=("tasks", "separate"),
)
