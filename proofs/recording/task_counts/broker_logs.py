"""This module reads what the brokers' logs say of Connect's exactly-once source connectors: `read_brokers`.

The transaction log is read first. The transactional id of the leader, `connect-cluster-GROUP`, names the group, and the
partitions of its transactions name the config topic. All that is committed, claimed, opened or fenced has a place in
the transaction log, and where this topic has one partition, these places are one order.

A fence and a task's start both ask for a new epoch. They differ in the time-out of the transactions that the asking
client has: of the admin client that fences it is the one of its request, 90 s (RestServer, since 3.4) or 1 ms (3.3).

With transaction.version 2 a producer has a new epoch after each transaction. All of these stand for the epoch that the
producer was given when it was opened, and each event has that one.

Sources: DistributedHerder (transactionalProducerId), Worker (taskTransactionalId, fenceZombies)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place, Progress
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.task_counts.group_log import Generation, generations_of
from fencepost.proofs.recording.task_counts.ordering import Event, Names, chained
from fencepost.proofs.recording.task_counts.records import event_of, records_in, strange
from fencepost.proofs.recording.transactions.cluster_logs import ClusterLogs, read_cluster
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.recording.transactions.transaction_log import (
    TOPIC,
    TransactionState,
    transaction_state_of,
    transactional_id_of,
)
from fencepost.properties.task_counts.events import Kind
from fencepost.properties.transactions.events.kinds import State

Written = tuple[Event, str]  # an event of the config topic, and the number of its set, if the configuration has one
LEADER = "connect-cluster-"
FENCING_TIMEOUTS_MS = (1, 90_000)
GIVEN = (Kind.topic_claimed, Kind.id_fenced, Kind.producer_opened)
ALIKE = (
    "a producer that a fence gave, by its time-out of {} ms, began a transaction, so that fences and starts of tasks"
)
SEVERAL = "the transaction log has {} partitions, between which there is no order"
WHOLE = "{}, so that the order of what was before cannot be had"
UNSTARTED = "holds no transaction of a Connect leader (connect-cluster-GROUP)"


class Change(NamedTuple):
    """A `Change` is one record of the transaction log."""

    offset: int
    id: str
    state: TransactionState


@dataclass
class Brokers:
    """A `Brokers` has the events of a Connect cluster in the brokers' logs. `events` are in the one order; `plain` are
    records that no transaction wrote, which have only their times. `given` has, by producer id and epoch, who opened,
    fenced or claimed it; `set_numbers`, by connector and number, the set to which the connector gave that number;
    `signed`, by producer id and epoch given, the value of a record that it wrote."""

    group: str
    config_topic: str
    connectors: Names
    events: list[Event] = field(default_factory=list)
    plain: list[Event] = field(default_factory=list)
    given: dict[tuple[int, int], Event] = field(default_factory=dict)
    set_numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    signed: dict[tuple[int, int], bytes] = field(default_factory=dict)
    generations: tuple[Generation, ...] = ()
    nodes: tuple[int, ...] = ()
    bytes_read: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._epochs: defaultdict[int, list[int]] = defaultdict(list)  # those given, by producer id

    def give(self, event: Event) -> None:
        self.given[event["producer_id"], event["epoch"]] = event
        self._epochs[event["producer_id"]].append(event["epoch"])

    def folded(self, producer_id: int, epoch: int) -> int:
        """Return the greatest epoch that the producer id was given, not above this one."""
        epochs = self._epochs[producer_id]
        place = bisect_right(epochs, epoch)
        return epochs[place - 1] if place else epoch

    def task_of(self, transactional_id: str) -> tuple[int, int] | None:
        """Return connector and task of a transactional id, or None if it is no task's of this group."""
        rest = transactional_id.removeprefix(f"{self.group}-")
        connector, dash, task = rest.rpartition("-")
        if rest == transactional_id or not dash or not task.isdigit() or connector not in self.connectors.numbers:
            return None
        return self.connectors[connector], int(task)

    @cached_property
    def standing(self) -> list[Event]:
        """Return the events of the config topic that transactions wrote, in order of offset."""
        found = [event for event in self.events if "offset" in event.columns]
        return sorted(found, key=lambda event: event["offset"])

    @cached_property
    def _sets(self) -> dict[int, list[tuple[int, int]]]:
        """Return by connector where sets and deletions stand, and the set from there on."""
        found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for event in sorted([*self.standing, *self.plain], key=lambda event: event["offset"]):
            if event.kind in (Kind.set_written, Kind.connector_tombstoned):
                found[event["connector"]].append((event["offset"], event["set"]))
        return found

    def latest_set(self, connector: int, end: int) -> int:
        """Return the latest set of a connector in the config topic below offset `end`; -1 if there is none, or the
        connector was deleted since."""
        sets = self._sets.get(connector, [])
        place = bisect_left(sets, (end, -1))
        return sets[place - 1][1] if place else -1

    def around(self, end: int) -> tuple[Event | None, Event | None]:
        """Return the last event of the config topic below offset `end`, and the first one from there on."""
        place = bisect_left(self.standing, end, key=lambda event: event["offset"])
        last = self.standing[place - 1] if place else None
        return last, self.standing[place] if place < len(self.standing) else None


def read_brokers(
    log_dirs: Sequence[Path], topics: Sequence[str] = (), signed: bool = False, progress: Progress | None = None
) -> Brokers:
    """Read the brokers' logs. `topics` has the config topic, needed if there are several Connect clusters. With
    `signed`, records of the data topics are read as well. Raise `RecordingError` if there is no one order."""
    log = _transaction_log(read_cluster(log_dirs, lambda place: place.topic == TOPIC, progress), log_dirs[0])
    changes = changes_of(log)
    group, config_topic = _group(changes, topics, log_dirs[0])
    data = {
        Place(topic, number)
        for change in changes if signed and change.id.startswith(f"{group}-")
        for topic, numbers in change.state.partitions if not topic.startswith("__")
        for number in numbers
    }  # fmt: skip
    wanted = {Place(config_topic, 0), *data}
    logs = read_cluster(log_dirs, lambda place: place in wanted or place.topic == OFFSETS, progress)
    config = next((part for part in logs.data if part.place == Place(config_topic, 0)), None)
    if config is None:
        raise RecordingError(f"holds no partition 0 of the config topic {config_topic}", log_dirs[0], "name all")
    if not config.whole:
        raise RecordingError(WHOLE.format(config.missing), config.replica.folder, "record before it is compacted")
    found = Brokers(
        group, config_topic, Names(), nodes=logs.nodes, bytes_read=logs.bytes_read, notes=logs.notes,
        generations=tuple(generations_of(logs.offsets, group)),
    )  # fmt: skip
    _of_transactions(changes, found, _of_config_topic(config, found, changes), log)
    chained(found.events)
    for part in logs.data:
        if part is not config:
            _signatures(part, found)
    return found


def _transaction_log(logs: ClusterLogs, where: Path) -> Committed:
    if not logs.transaction_log:
        raise RecordingError("holds no transaction log", where, "name the log directories of all brokers")
    log = logs.transaction_log[0]
    if len(logs.transaction_log) > 1 or log.place.partition:
        what = SEVERAL.format(max(part.place.partition for part in logs.transaction_log) + 1)
        raise RecordingError(what, where, "record a cluster with transaction.state.log.num.partitions=1")
    if not log.whole:
        raise RecordingError(WHOLE.format(log.missing), log.replica.folder, "record before it is compacted")
    return log


def changes_of(log: Committed) -> list[Change]:
    found = []
    for record in records_in(log):
        try:
            name = None if record.control else transactional_id_of(record.key)
            if name is not None and record.value is not None:
                found.append(Change(record.offset, name, transaction_state_of(record.value)))
        except Exception as error:
            raise strange(log, record, "transaction log", str(error)) from None
    return found


def _group(changes: Sequence[Change], topics: Sequence[str], where: Path) -> tuple[str, str]:
    """Return the workers' group and its config topic, the topic that the leader writes to."""
    found = {
        (change.id.removeprefix(LEADER), topic)
        for change in changes if change.id.startswith(LEADER)
        for topic, _ in change.state.partitions if not topics or topic in topics
    }  # fmt: skip
    if not found:
        raise RecordingError(UNSTARTED, where, "name the brokers of a Connect cluster with exactly-once support")
    if len(found) > 1:
        names = ", ".join(sorted(topic for _, topic in found))
        raise RecordingError(f"has the config topics {names}", where, "name one of them with --topic")
    return found.pop()


def _of_config_topic(config: Committed, found: Brokers, changes: Sequence[Change]) -> dict[int, list[Event]]:
    """Return the events of the config topic that were committed, by the offset of their commit in the transaction log.
    The markers of a producer id are in the order of its transactions that reached this topic."""
    ends: defaultdict[int, deque[Change]] = defaultdict(deque)
    for change in changes:
        reached = any(topic == found.config_topic for topic, _ in change.state.partitions)
        if reached and change.state.state in (State.PrepareCommit, State.PrepareAbort):
            ends[change.state.producer_id].append(change)
    pending: defaultdict[int, list[Written]] = defaultdict(list)
    committed: defaultdict[int, list[Event]] = defaultdict(list)
    standing: list[Written] = []
    for record in records_in(config):
        if record.control:
            written = pending.pop(record.producer_id, [])
            end = ends[record.producer_id].popleft() if ends[record.producer_id] else None
            if end is not None and end.state.state == State.PrepareCommit:
                committed[end.offset] += [event for event, _ in written]
                standing += written
            continue
        try:
            read = event_of(record, found.connectors)
        except (ValueError, KeyError, TypeError) as error:
            raise strange(config, record, "config topic", str(error)) from None
        if read is None:
            continue
        if record.transactional:
            pending[record.producer_id].append(read)
        else:
            found.plain.append(read[0])
            standing.append(read)
    _name_sets(standing, found)
    return committed


def _name_sets(standing: list[Written], found: Brokers) -> None:
    """Set which set a count stands after, and note the number that its tasks' configurations give each set."""
    standing.sort(key=lambda written: written[0]["offset"])
    sets, numbers = dict[int, int](), dict[int, str]()  # by connector
    for event, number in standing:
        connector = event["connector"]
        if event.kind == Kind.task_config_written and number:
            numbers[connector] = number
        elif event.kind == Kind.set_written:
            sets[connector] = event["set"]
            if event["count"] and connector in numbers:
                found.set_numbers[connector, numbers[connector]] = event["set"]
        elif event.kind == Kind.connector_tombstoned:
            sets.pop(connector, None)
        elif event.kind == Kind.count_written:
            event.columns["set"] = sets.get(connector, -1)


def _of_transactions(
    changes: Sequence[Change], found: Brokers, committed: Mapping[int, list[Event]], log: Committed
) -> None:
    """Note what the transaction log says in its order, with what each commit made stand in the config topic."""
    written = set[int]()  # producer ids with a transaction that has begun
    for change in changes:
        state, task = change.state, found.task_of(change.id)
        leads = change.id == f"{LEADER}{found.group}"
        if task is None and not leads:
            continue
        pair = {"producer_id": state.producer_id, "epoch": state.epoch}
        if task is not None:
            pair |= {"connector": task[0], "task": task[1]}
        time_us = state.updated_ms * 1000
        if state.state == State.Empty:
            fenced = state.timeout_ms in FENCING_TIMEOUTS_MS
            kind = Kind.topic_claimed if leads else Kind.id_fenced if fenced else Kind.producer_opened
            event = Event(kind, time_us, pair)
            found.events.append(event)
            found.give(event)
            continue
        pair["epoch"] = found.folded(state.producer_id, state.epoch)
        giver = found.given.get((state.producer_id, pair["epoch"]))
        if state.state == State.Ongoing and state.producer_id not in written:
            written.add(state.producer_id)
            if giver is not None and giver.kind == Kind.id_fenced:
                todo = "cannot be distinguished: give the connector's producers another transaction.timeout.ms"
                raise RecordingError(ALIKE.format(state.timeout_ms), log.replica.folder, todo)
            if task is not None:
                found.events.append(Event(Kind.records_sent, time_us, pair))
        elif state.state in (State.PrepareCommit, State.PrepareAbort):
            written.discard(state.producer_id)
            for event in committed.get(change.offset, ()):
                event.time_us = time_us
                event.columns["epoch"] = found.folded(event["producer_id"], event["epoch"])
                found.events.append(event)
            if task is not None and state.state == State.PrepareCommit:
                found.events.append(Event(Kind.transaction_committed, time_us, pair))


def _signatures(part: Committed, found: Brokers) -> None:
    for record in records_in(part):
        if record.transactional and not record.control and record.value is not None:
            found.signed[record.producer_id, found.folded(record.producer_id, record.epoch)] = record.value
