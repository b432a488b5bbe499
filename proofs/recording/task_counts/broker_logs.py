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

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place, Progress
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.task_counts.group_log import Generation, generations_of
from fencepost.proofs.recording.task_counts.ordering import Event, Names
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

LEADER = "connect-cluster-"
FENCING_TIMEOUTS_MS = (1, 90_000)
ALIKE = (
    "a producer that a fence gave, by its time-out of {} ms, began a transaction, so that fences and starts of tasks "
    "cannot be distinguished"
)
ORDER = "the transaction log has {} partitions, between which there is no order"
WHOLE = "{}, so that the order of what was before cannot be had"
UNSTARTED = "holds no transaction of a Connect leader (connect-cluster-GROUP)"
_SIGNED = re.compile(rb'"instance":"([^"]+)"')


class Change(NamedTuple):
    """A `Change` is one record of the transaction log."""

    offset: int
    id: str
    state: TransactionState


@dataclass
class Brokers:
    """A `Brokers` has the events of a Connect cluster in the brokers' logs. `events` are in the one order; `plain` are
    records that no transaction wrote, which have only their times. `data` are the logs of records that its connectors
    wrote, where these are read."""

    group: str
    logs: ClusterLogs
    config: Committed
    connectors: Names = field(default_factory=Names)
    events: list[Event] = field(default_factory=list)
    plain: list[Event] = field(default_factory=list)
    given: dict[tuple[int, int], Event] = field(default_factory=dict)
    """By producer id and epoch, who opened, fenced or claimed it."""
    numbered: defaultdict[tuple[int, str], list[Event]] = field(default_factory=lambda: defaultdict(list))
    """By connector and number, the sets to which the connector gave that number, in order: more than one where its
    configuration changed, and a Connector that had not started again made another set of the earlier one."""
    _sets: defaultdict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """By connector, where sets and deletions stand, and the set from there on."""
    _epochs: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By producer id, the epochs that it was given."""

    @property
    def data(self) -> list[Committed]:
        return [part for part in self.logs.data if part is not self.config]

    @cached_property
    def generations(self) -> tuple[Generation, ...]:
        return tuple(generations_of(self.logs.offsets, self.group))

    @cached_property
    def clients(self) -> dict[str, str]:
        """Return the client id of every member of the group that ever was, by member id."""
        return {member: client for each in self.generations for member, (client, _) in each.members.items()}

    @cached_property
    def signed(self) -> dict[str, tuple[int, int]]:
        """Return, by the name of an instance, the producer id and epoch given of the producer that wrote records with
        this name."""
        return {
            found[1].decode(): (record.producer_id, self.folded(record.producer_id, record.epoch))
            for part in self.data for record in records_in(part)
            if record.transactional and record.value is not None and (found := _SIGNED.search(record.value))
        }  # fmt: skip

    @cached_property
    def standing(self) -> list[Event]:
        """Return the events of the config topic that transactions wrote, in order of offset."""
        return sorted((event for event in self.events if "offset" in event.columns), key=_offset)

    def of(self, *kinds: Kind) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    def give(self, event: Event) -> None:
        self.given[event.pair] = event
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

    def latest_set(self, connector: int, end: int) -> int:
        """Return the latest set of a connector in the config topic below offset `end`; -1 if there is none, or the
        connector was deleted since."""
        sets = self._sets.get(connector, [])
        place = bisect_left(sets, (end, -1))
        return sets[place - 1][1] if place else -1

    def set_numbered(self, connector: int, number: str, latest: int, upto_us: int) -> int:
        """Return the set with this number from which an instance has its configuration, which started at a time, when
        its worker knew of the latest set; -1 if there is none."""
        sets = self.numbered.get((connector, number), [])
        if any(each["set"] == latest for each in sets):
            return latest
        before = [each for each in sets if each.time_us <= upto_us]
        return (before or sets[:1])[-1]["set"] if sets else -1

    def saw(self, event: Event, end: int) -> Event:
        """Note that a reading of the config topic ended at an offset: after what stands below, before what stands from
        there on."""
        place = bisect_left(self.standing, end, key=_offset)
        event.after += self.standing[max(place - 1, 0) : place]
        for later in self.standing[place : place + 1]:
            later.after.append(event)
        return event

    def name_sets(self) -> None:
        """Note which sets there are, the number that its tasks' configurations give each, and which set a count stands
        after."""
        numbers = dict[int, str]()  # by connector
        for event in sorted([*self.standing, *self.plain], key=_offset):
            connector, sets = event["connector"], self._sets[event["connector"]]
            if event.number:
                numbers[connector] = event.number
            elif event.kind in (Kind.set_written, Kind.connector_tombstoned):
                sets.append((event["offset"], event["set"]))
                if event["count"] > 0 and connector in numbers:
                    self.numbered[connector, numbers[connector]].append(event)
            elif event.kind == Kind.count_written:
                event.columns["set"] = sets[-1][1] if sets else -1


def read_brokers(
    log_dirs: Sequence[Path], topics: Sequence[str] = (), data: bool = False, progress: Progress | None = None
) -> Brokers:
    """Read the brokers' logs. `topics` has the config topic, needed if there are several Connect clusters. With `data`,
    logs that the connectors write to are read as well. Raise `RecordingError` if there is no one order."""
    logs = read_cluster(log_dirs, lambda place: place.topic == TOPIC, progress)
    if not logs.transaction_log:
        raise RecordingError("holds no transaction log", log_dirs[0], "name the log directories of all brokers")
    log = logs.transaction_log[0]
    if (last := max(part.place.partition for part in logs.transaction_log)) > 0:
        todo = "record a cluster with transaction.state.log.num.partitions=1"
        raise RecordingError(ORDER.format(last + 1), log_dirs[0], todo)
    changes = changes_of(_whole(log))
    group, config_topic = _group(changes, topics, log_dirs[0])
    wanted = {Place(config_topic, 0)} | {
        Place(topic, number)
        for change in changes if data and change.id.startswith(f"{group}-")
        for topic, numbers in change.state.partitions if not topic.startswith("__")
        for number in numbers
    }  # fmt: skip
    logs = read_cluster(log_dirs, lambda place: place in wanted or place.topic == OFFSETS, progress)
    config = next((part for part in logs.data if part.place == Place(config_topic, 0)), None)
    if config is None:
        raise RecordingError(f"holds no partition 0 of the config topic {config_topic}", log_dirs[0], "name all")
    found = Brokers(group, logs, _whole(config))
    _read_changes(changes, found, log)
    for earlier, later in pairwise(found.events):
        later.after.append(earlier)
    return found


def _offset(event: Event) -> int:
    return event["offset"]


def _whole(part: Committed) -> Committed:
    if not part.whole:
        raise RecordingError(WHOLE.format(part.missing), part.replica.folder, "record before it is compacted")
    return part


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


def _ended(found: Brokers) -> dict[int, deque[list[Event]]]:
    """Return, by producer id, the events of each transaction of the config topic that has ended, in order."""
    ended: defaultdict[int, deque[list[Event]]] = defaultdict(deque)
    pending: defaultdict[int, list[Event]] = defaultdict(list)
    for record in records_in(found.config):
        if record.control:
            ended[record.producer_id].append(pending.pop(record.producer_id, []))
            continue
        try:
            event = event_of(record, found.connectors)
        except (ValueError, KeyError, TypeError) as error:
            raise strange(found.config, record, "config topic", str(error)) from None
        if event is not None:
            (pending[record.producer_id] if record.transactional else found.plain).append(event)
    return ended


def _read_changes(changes: Sequence[Change], found: Brokers, log: Committed) -> None:
    """Note what the transaction log says in its order, with what each commit made stand in the config topic."""
    ended = _ended(found)
    written = set[int]()  # producer ids with a transaction that has begun
    for _, name, state in changes:
        task, leads = found.task_of(name), name == f"{LEADER}{found.group}"
        if task is None and not leads:
            continue
        pair = {"producer_id": state.producer_id, "epoch": state.epoch}
        if task is not None:
            pair |= {"connector": task[0], "task": task[1]}
        time_us = state.updated_ms * 1000
        if state.state == State.Empty:
            fenced = state.timeout_ms in FENCING_TIMEOUTS_MS
            kind = Kind.topic_claimed if leads else Kind.id_fenced if fenced else Kind.producer_opened
            found.events.append(Event(kind, time_us, pair))
            found.give(found.events[-1])
            continue
        pair["epoch"] = found.folded(state.producer_id, state.epoch)
        giver = found.given.get((state.producer_id, pair["epoch"]))
        if state.state == State.Ongoing and state.producer_id not in written:
            written.add(state.producer_id)
            if giver is not None and giver.kind == Kind.id_fenced:
                todo = "give the connector's producers another transaction.timeout.ms"
                raise RecordingError(ALIKE.format(state.timeout_ms), log.replica.folder, todo)
            if task is not None:
                found.events.append(Event(Kind.records_sent, time_us, pair))
        elif state.state in (State.PrepareCommit, State.PrepareAbort):
            commits = state.state == State.PrepareCommit
            written.discard(state.producer_id)
            reached = any(topic == found.config.place.topic for topic, _ in state.partitions)
            ends = ended[state.producer_id].popleft() if reached and ended[state.producer_id] else []
            for event in ends if commits else ():
                event.time_us = time_us
                event.columns["epoch"] = found.folded(event["producer_id"], event["epoch"])
                found.events.append(event)
            if task is not None and commits:
                found.events.append(Event(Kind.transaction_committed, time_us, pair))
    found.name_sets()
