"""This module makes events of `task-counts` of what passes the proxies of a live Connect and its control server.

Everything is noted when the broker has answered, or when a task calls, in one order under one lock. Who acted is known
by the proxy. Which thread a producer belongs to follows from the order: a task starts when its producer is open. With
transaction.version 2 each transaction has an epoch of its own; events carry the one that was given by InitProducerId.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fencepost.reference_impl.live.proxy.frames import Request
from kio.records.readers import read_batch

Event = dict[str, Any]

AGAIN = frozenset({14, 15, 16, 51})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR and CONCURRENT_TRANSACTIONS: clients repeat
InitProducerId and EndTxn by themselves (TransactionManager; FenceProducersHandler, in 3.3.2 without the last)."""
FENCED = frozenset({47, 90})  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
FAILED = "FAILED"
_COUNT, _SET, _TASK, _CONNECTOR = "tasks-fencing-", "commit-", "task-", "connector-"
_STATUS = re.compile(r"status-(?:task-(?P<connector>.+)-(?P<task>\d+)|connector-(?P<of>.+))")


class Owner(NamedTuple):
    """An `Owner` is the task that a transactional id belongs to; the leader of the workers has connector ""."""

    connector: str
    task: int = -1


@dataclass
class Instance:
    """An `Instance` is a thread of a task, from its first request on. ``set`` is the offset of its set, -1 while it is
    unknown, and ``name`` what the probe calls it."""

    number: int
    node: int
    owner: Owner
    producer_id: int = -1
    epoch: int = -1
    set: int = -1
    name: str = ""
    is_polling: bool = False
    is_ended: bool = False
    sends: bool = False  # in a transaction that is open now
    opened: Event | None = None


@dataclass
class Standing:
    """A `Standing` is what the config topic has of a connector: ``number`` is in the newest task configurations."""

    number: int = -1
    sets: dict[int, int] = field(default_factory=dict)  # the offset of each set, by its number
    newest: int = -1


class Observer:
    """An `Observer` has the events of one program, about the connectors in ``names``, which are numbered by it."""

    def __init__(self, group: str, names: Sequence[str], numbers: Iterator[int]) -> None:
        self.names = {name: number for number, name in enumerate(names)}
        self.events: list[Event] = []
        self.instances: list[Instance] = []
        self.statuses: dict[Owner, tuple[str, str]] = {}
        self._leader, self._prefix, self._numbers = f"connect-cluster-{group}", f"{group}-", numbers
        self._standing: dict[str, Standing] = defaultdict(Standing)
        self._given: dict[int, list[int]] = defaultdict(list)  # epochs by producer id
        self._pending: dict[int, list[tuple[str, dict[str, int]]]] = defaultdict(list)
        self._failures: dict[Owner, tuple[str, int, int]] = {}  # trace, generation and newest set of the last failure

    def owner(self, request: Request) -> Owner | None:
        """Return whose transactional id a request carries, or None where it is none of this program's."""
        name = request.transactional_id or ""
        if name == self._leader:
            return Owner("")
        connector, _, task = name.removeprefix(self._prefix).rpartition("-")
        return Owner(connector, int(task)) if connector in self.names else None

    def note(self, kind: str, **columns: int) -> Event:
        event = {"kind": kind, **columns}
        self.events.append(event)
        return event

    # -- what the proxies see

    def opening(self, node: int, owner: Owner) -> Instance:
        """Return the thread that asks for its producer."""
        for each in reversed(self.instances):
            if (each.node, each.owner, each.producer_id, each.is_ended) == (node, owner, -1, False):
                return each
        self.instances.append(Instance(next(self._numbers), node, owner))
        return self.instances[-1]

    def of_pair(self, producer_id: int, epoch: int) -> Instance | None:
        pair = producer_id, self._folded(producer_id, epoch)
        return next((each for each in self.instances if (each.producer_id, each.epoch) == pair), None)

    def answered(self, node: int, request: Request, answer: Any) -> None:
        """Note what an answer reveals; ``answer`` is None where the broker gave none."""
        if answer is None or request.payload is None:
            return
        if request.name == "Produce":
            self._produced(node, request, answer)
        elif (owner := self.owner(request)) is not None and request.name == "InitProducerId":
            self._initialized(node, owner, request.client_id, answer)
        elif owner is not None and request.name == "EndTxn":
            self._ended(node, owner, request.payload, int(answer.error_code))

    def _initialized(self, node: int, owner: Owner, client: str, answer: Any) -> None:
        error, pair = int(answer.error_code), (int(answer.producer_id), int(answer.producer_epoch))
        if error in AGAIN:
            return
        columns = {"node": node, "producer_id": pair[0], "epoch": pair[1], "error": error}
        if not error:
            self._given[pair[0]].append(pair[1])
            self._pending.pop(pair[0], None)
        if not owner.connector:
            self.note("claim_failed" if error else "topic_claimed", **columns)
        elif not is_task(client):
            self.note("id_fenced", **self._of(owner), **columns)
        else:
            instance = self.opening(node, owner)
            instance.producer_id, instance.epoch = pair if not error else (-1, -1)
            instance.is_ended = bool(error)
            if not error:
                instance.opened = self.note("producer_opened", **self._columns(instance))

    def _produced(self, node: int, request: Request, answer: Any) -> None:
        owner = self.owner(request)
        results = [each for topic in answer.responses for each in topic.partition_responses]
        error, offset = next(((int(each.error_code), int(each.base_offset)) for each in results), (0, -1))
        pair, records = contents(request)
        if owner is not None and owner.connector:
            self._sent(pair, records, error)
        elif not error:  # by its keys: releases name the clients of these topics in their own ways
            found = [
                (key, value, {"node": node, "offset": offset + n, "producer_id": pair[0], "epoch": pair[1]})
                for n, (key, value) in enumerate(records)
            ]
            written = [config for each in found if (config := self._config(*each)) is not None]
            if owner is not None:
                self._pending[pair[0]] += written
            else:
                self._write(written)
            for key, value in records:
                self._status(node, key, value)

    def _sent(self, pair: tuple[int, int], records: Sequence[tuple[str, Any]], error: int) -> None:
        instance = self.of_pair(*pair)
        if instance is None:
            return
        if error in FENCED:
            self.note("transaction_refused", **self._columns(instance), error=error)
        elif not error and not instance.sends and any("instance" in value for _, value in records if is_map(value)):
            instance.sends = True
            self.note("records_sent", **self._columns(instance))

    def _ended(self, node: int, owner: Owner, asked: Any, error: int) -> None:
        pair = int(asked.producer_id), int(asked.producer_epoch)
        if not owner.connector:
            written = self._pending.pop(pair[0], [])
            if asked.committed and not error:
                self._write(written)
            return
        instance = self.of_pair(*pair)
        if instance is None or error in AGAIN:
            return
        instance.sends = instance.sends and bool(error)
        if error in FENCED:
            self.note("transaction_refused", **self._columns(instance), error=error)
        elif asked.committed and not error:
            self.note("transaction_committed", **self._columns(instance))

    def _config(self, key: str, value: Any, columns: dict[str, int]) -> tuple[str, dict[str, Any]] | None:
        """Return the event of a record of the config topic, which happens when its transaction is committed."""
        count = value.get("task-count", value.get("tasks", -1)) if is_map(value) else -1
        for prefix, written, removed in (
            (_COUNT, "count_written", "count_tombstoned"), (_SET, "set_written", ""),
            (_CONNECTOR, "connector_written", "connector_tombstoned"), (_TASK, "task_config_written", ""),
        ):  # fmt: skip
            if key.startswith(prefix):
                name, task = key.removeprefix(prefix), ""
                if prefix == _TASK:
                    name, _, task = name.rpartition("-")
                kind = written if value is not None else removed
                if name not in self.names or not kind:
                    return None
                more = {"task": int(task), "number": int(value["properties"]["set"])} if task else {}
                return kind, {**columns, "name": name, "count": int(count), **more}
        return None

    def foreign(self, key: str, value: Any, offset: int) -> None:
        """Note a record of the config topic that no worker has written."""
        written = self._config(key, value, {"node": -1, "offset": offset, "producer_id": -1, "epoch": -1})
        self._write([written] if written is not None else [])

    def _write(self, written: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for kind, columns in written:
            name = columns.pop("name")
            standing, number = self._standing[name], columns.pop("number", None)
            if columns["producer_id"] >= 0:
                columns["epoch"] = self._folded(columns["producer_id"], columns["epoch"])
            if kind == "task_config_written" and number is not None:
                standing.number = number
            if kind == "set_written":
                standing.newest = columns["set"] = columns["offset"]
                standing.sets[standing.number] = columns["offset"]
            elif kind == "count_written":
                columns["set"] = standing.newest
            self.note(kind, connector=self.names[name], **columns)

    def _status(self, node: int, key: str, value: Any) -> None:
        matched = _STATUS.fullmatch(key)
        if matched is None:
            return
        owner = Owner(matched["connector"] or matched["of"], int(matched["task"] or -1))
        if owner.connector not in self.names:
            return
        state, trace = (value.get("state", ""), value.get("trace") or "") if is_map(value) else ("", "")
        before, self.statuses[owner] = self.statuses.get(owner), (state, trace)
        if state != FAILED or owner.task < 0:
            return
        failed = trace, int(value.get("generation", -1)), self._standing[owner.connector].newest
        if before == (state, trace) and self._failures.get(owner) == failed:
            return  # it is written again
        self._failures[owner] = failed
        mine = [each for each in self.instances if (each.node, each.owner) == (node, owner) and not each.is_ended]
        running = mine[-1] if mine else Instance(next(self._numbers), node, owner)
        # A start that fails has no instance that calls: it takes what the topic has, as far as is seen.
        running.set = running.set if running.set >= 0 else self._standing[owner.connector].newest
        running.is_ended = True
        self.note("task_failed", **self._columns(running))

    # -- what the control server sees

    def called(self, node: int, name: str, owner: Owner, instance: str, number: int) -> Instance | None:
        """Note a call of a task, of the set with this number, and return its thread."""
        if owner.task < 0 or owner.connector not in self.names:
            return None
        found = next((each for each in self.instances if each.name == instance), None)
        if found is None:
            found = self._starting(node, owner)
            found.name, found.set = instance, self._standing[owner.connector].sets.get(number, -1)
            if found.opened is not None:
                found.opened["set"] = found.set
        if name == "poll" and not found.is_polling:
            found.is_polling = True
            self.note("task_running", **self._columns(found))
        elif name == "stop" and not found.is_ended:
            found.is_ended = True
            self.note("task_stopped", **self._columns(found))
        return found

    def _starting(self, node: int, owner: Owner) -> Instance:
        for each in reversed(self.instances):
            if (each.node, each.owner, each.name, each.is_ended) == (node, owner, "", False) and each.producer_id >= 0:
                return each
        self.instances.append(Instance(next(self._numbers), node, owner))  # without a producer that can be fenced
        return self.instances[-1]

    def crashed(self, node: int) -> None:
        for each in self.instances:
            each.is_ended |= each.node == node

    # -- columns

    def _of(self, owner: Owner) -> dict[str, int]:
        return {"connector": self.names[owner.connector], "task": owner.task}

    def _columns(self, instance: Instance) -> dict[str, int]:
        return {
            "node": instance.node, **self._of(instance.owner), "instance": instance.number, "set": instance.set,
            "producer_id": instance.producer_id, "epoch": instance.epoch,
        }  # fmt: skip

    def _folded(self, producer_id: int, epoch: int) -> int:
        given = sorted(self._given[producer_id])
        place = bisect_right(given, epoch)
        return given[place - 1] if place else epoch


def is_task(client: str) -> bool:
    """Return whether a client id is that of a source task's producer; releases name all others in their own ways."""
    return client.startswith("connector-producer-")


def is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def contents(request: Request) -> tuple[tuple[int, int], list[tuple[str, Any]]]:
    """Return the producer id and epoch of a Produce, and its records: the key as text, and the value as JSON."""
    pair, found = (-1, -1), []
    for topic in request.payload.topic_data:
        for partition in topic.partition_data:
            batch, _ = read_batch(bytes(partition.records or b""), 0)
            pair = int(batch.producer_id), int(batch.producer_epoch)
            found += [(_text(record.key), _json(record.value)) for record in batch.records]
    return pair, found


def _text(key: bytes | None) -> str:
    return (key or b"").decode(errors="replace")


def _json(value: bytes | None) -> Any:
    try:
        return json.loads(value) if value else None
    except ValueError:
        return {}
