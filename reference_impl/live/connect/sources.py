"""This module lets the operations of source tasks on a live Connect wait for the driver, and has what is known of the
source: the requests of their clients at the proxies of the workers, and calls of `SourceTask` at the control server.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.reference_impl.live.connect.cluster import ConnectCluster
from fencepost.reference_impl.live.connect.control import Call
from fencepost.reference_impl.live.connect.driven import Live
from fencepost.reference_impl.live.connect.observing import Event, Instance, Observer, Owner, is_map
from fencepost.reference_impl.live.connect.stepping import BROKEN, Actor, Gates, Wait
from fencepost.reference_impl.live.proxy.frames import Request
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.rules import Gated, Met
from kio.records.readers import read_batch

APART = frozenset({"copy", "record", "offset", "tell"})
"""The operations in `APART` are of no thread that does something else: each has a number of its own."""
WRITES = frozenset({"InitProducerId", "Produce", "EndTxn"})
TRANSACTION_MS = 60_000
OF_TASKS: Mapping[str, object] = {
    "producer__override__batch__size": 0, "producer__override__linger__ms": 0,
    "producer__override__transaction__timeout__ms": TRANSACTION_MS,
}  # fmt: skip
"""Each record is a request of its own. Transactions time out earlier than that when the driver has them do so."""


class Source(Observer):
    """A `Source` has the events of one connector, in ``seen``, and decides which operations wait."""

    def __init__(self, live: Live, name: str, config: Mapping[str, Any]) -> None:
        super().__init__(live.cluster.group, [name], live.gates.numbers)
        self.name, self.config = name, config
        self.seen: list[Event] = []
        self.is_lost = False  # the answer of what goes on now

    def operation(self, node: int, request: Request) -> tuple[str, Instance] | None:
        """Return what a request of a worker does, and for whom, None where it does not wait."""
        raise NotImplementedError

    def took(self, node: int, call: Call) -> str:
        """Note a call, and return the operation that it waits for, "" for none."""
        raise NotImplementedError

    def is_due(self, instance: Instance, operation: str) -> bool:
        """Return whether the driver may let an operation happen that is a call."""
        raise NotImplementedError

    def answer(self, instance: Instance, operation: str) -> Mapping[str, object]:
        """Note that an operation happens which is a call, and return what it is answered."""
        raise NotImplementedError

    def numbered(self, number: int) -> Instance:
        return next(each for each in self.instances if each.number == number)

    def take(self, node: int, call: Call) -> Instance | None:
        """Return whose call that is, None where it is the connector's."""
        number = int(call.fields.get("set", -1))
        instance = self.called(node, call.name, Owner(call.connector, call.task), call.instance, number)
        self.events.clear()
        return instance

    def next_records(self, last: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return what the next poll gives, as (partition, record), those of the partition that is polled least first;
        ``last`` are the records polled before."""
        last, found = dict(last), list[tuple[int, int]]()
        for _ in range(int(self.config["batch"])):
            partition = min(last, key=lambda p: (last[p], p), default=-1)
            if partition < 0 or last[partition] >= int(self.config["records"]):
                break
            last[partition] += 1
            found.append((partition, last[partition]))
        return found

    def offsets_in(self, records: Sequence[tuple[str, Any]]) -> Iterator[tuple[int, int]]:
        """Yield the source offsets of this connector, as (partition, offset)."""
        for key, value in records:
            with contextlib.suppress(ValueError):
                found = json.loads(key)
                if isinstance(found, list) and found[0] == self.name:
                    yield int(found[1]["p"]), int(value["n"]) if is_map(value) else 0


def written(request: Request, answer: Any) -> Iterator[tuple[int, str, Any]]:
    """Yield the place, the key as text and the value as JSON of each record of a Produce."""
    bases = {
        (_named(topic), int(each.index)): int(each.base_offset)
        for topic in answer.responses
        for each in topic.partition_responses
    }
    for topic in request.payload.topic_data:
        for partition in topic.partition_data:
            batch, _ = read_batch(bytes(partition.records or b""), 0)
            for place, record in enumerate(batch.records, bases[_named(topic), int(partition.index)]):
                yield place, (record.key or b"").decode(), json.loads(record.value) if record.value else None


def _named(topic: Any) -> str:
    return str(getattr(topic, "name", None) or topic.topic_id)


def records_in(records: Sequence[tuple[str, Any]]) -> list[tuple[int, int]]:
    """Return the records of the source, as (partition, record)."""
    return [(int(value["p"]), int(value["n"])) for _, value in records if is_map(value) and "instance" in value]


class SourceGates(Gates):
    """`SourceGates` are those at which the operations of source tasks wait. A worker that is ``deaf`` reads no new
    configurations either, as these would have it join the group again."""

    def __init__(self, cluster: ConnectCluster) -> None:
        self._unread: list[Gated] = []
        self._operations: dict[tuple[str, str], str] = {}  # by instance and call
        super().__init__(cluster)

    def open(self) -> None:
        super().open()
        self.hear()

    def hear(self) -> None:
        """Let all workers learn what they have missed."""
        with self._lock:
            self.deaf.clear()
            unread, self._unread = self._unread, []
        for gated in unread:
            gated.release()

    def _came(self, node: int, exchange: Exchange) -> Met | None:
        request = exchange.request
        with self._lock:
            if node in self.deaf and request.name == "Fetch" and request.client_id.endswith("-configs"):
                self._unread.append(self.cluster.proxies[self._name(node)].gated(exchange))
                return self._unread[-1]
        return super()._came(node, exchange)

    def operation(self, node: int, request: Request) -> tuple[str, Owner, Actor] | None:
        source = self.observer
        if not isinstance(source, Source) or request.name not in WRITES or request.payload is None:
            return None
        found = source.operation(node, request)
        if found is not None and found[0] == "open" and self._opens(found[1]):  # that one is given up
            found[1].is_ended = True
            found = source.operation(node, request)
        return None if found is None else (found[0], found[1].owner, _actor(*found))

    def takes(self, call: Call) -> bool:
        with self._lock:
            if not isinstance(self.observer, Source) or call.connector not in self.observer.names:
                return False
            self._last = time.monotonic()
            operation = self.observer.took(self.nodes.get(call.worker, -1), call)
            if operation:
                self._calls[call.instance] = next(self._ages)
                self._operations[call.instance, call.name] = operation
            return bool(operation)

    def _opens(self, instance: Instance) -> bool:
        number = self._number(_actor("open", instance))
        return any((wait.number, wait.operation) == (number, "open") for wait in self._waits)

    def given_up(self, wait: Wait) -> None:
        of, source = {number: actor for actor, number in self._of_actor.items()}, self.observer
        if isinstance(source, Source):
            source.numbered(int(str(of[wait.number][1]))).is_ended |= wait.operation == "open"

    def operations(self) -> list[tuple[int, str, Instance]]:
        """Return what waits and may happen, the oldest first, without what stands still: its number, the operation,
        and whose it is."""
        self.catch_up()
        calls, source = self._held(), self.observer
        with self._lock:
            if not isinstance(source, Source):
                return []
            of = {number: actor for actor, number in self._of_actor.items()}
            found = list[tuple[int, int, str, int]]()
            for wait in self._waits:
                if wait.gated.is_next:
                    found.append((wait.age, wait.number, wait.operation, int(str(of[wait.number][1]))))
            for call in calls:
                if (each := self._instance(call)) is not None:
                    operation = self._operations[call.instance, call.name]
                    if source.is_due(each, operation):
                        number = self._number(_actor(operation, each))
                        found.append((self._calls[call.instance], number, operation, each.number))
            every = [
                (number, operation, source.numbered(of_instance)) for _, number, operation, of_instance in sorted(found)
            ]
            return [each for each in every if each[2].node not in self.stalled]

    def let(self, number: int, outcome: str) -> None:
        source = self.observer
        for call in self._held():
            instance = self._instance(call)
            operation = self._operations[call.instance, call.name]
            if (
                instance is None
                or not isinstance(source, Source)
                or self._number(_actor(operation, instance)) != number
            ):
                continue
            if outcome == "ok":
                with self._lock:
                    answer = source.answer(instance, operation)
                call.answer(**answer)
            else:
                call.answer(throw=BROKEN)
            return


def _actor(operation: str, instance: Instance) -> Actor:
    return operation if operation in APART else "task", instance.number
