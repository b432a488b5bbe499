"""This module makes events of the requests and answers of a real client."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

from fencepost.reference_impl.kafka.errors import RETRIABLE
from fencepost.reference_impl.live.proxy.batches import (
    Numbers,
    Sent,
    commit_error,
    committed,
    produce_results,
)
from fencepost.reference_impl.live.proxy.frames import Request, decoded
from fencepost.reference_impl.live.proxy.links import Exchange, now_us

# A recording has the events of client instances and their transactions, each with a number of its own.
#
# The program that runs the clients adds events that no request or answer reveals.

Event = dict[str, Any]
Pair = tuple[int, int]
Where = tuple[str, int] | tuple[str]  # a partition, or a group


class Instance:
    """An `Instance` is one client, as its requests reveal it; ``txn`` is its open transaction, or -1."""

    def __init__(self, number: int, txn_id: int) -> None:
        self.number = number
        self.txn_id = txn_id
        self.txn = -1
        self.pair: Pair = (-1, -1)
        self.latest: dict[int, tuple[int, int, int]] = {}  # by record: its request, transaction and partition
        self.txn_of: dict[tuple[object, ...], int] = {}  # by record, producer id and epoch: retries come late


class Recorded:
    """A `Recorded` has the events of one recording. The arguments are those of `Sniffer`."""

    def __init__(self, places: Sequence[Where], admins: Collection[str], txn_ids: Sequence[str]) -> None:
        self.numbers: dict[int, int] = {}  # by exchange: the request that it is in the events, the first if several
        self._partitions = {place: number for number, place in enumerate(places)}
        self._admins = admins
        self._txn_ids = {name: number for number, name in enumerate(txn_ids)}
        self._instances: dict[str, Instance] = {}
        self._events: deque[Event] = deque()
        self._requests, self._txns = itertools.count(), itertools.count()

    def drain(self) -> list[Event]:
        events = []
        while self._events:
            events.append(self._events.popleft())
        return events

    def report(self, kind: str, **columns: int) -> None:
        """Add an event that no request or answer reveals, with the current time."""
        self._events.append({"time_us": now_us(), "kind": kind, **columns})

    def start(self, client_id: str, txn_id: str) -> int:
        """Add an instance that has not asked for anything yet, and return its number."""
        return self._known(client_id, txn_id, now_us()).number

    def begin(self, client_id: str) -> None:
        """Note that beginTransaction() has returned, which sends no request."""
        client = self._instances[client_id]
        self._begin(client, now_us(), client.pair)

    def end(self, client_id: str, outcome: int) -> None:
        """Note that the end of a transaction has returned. If this needed no EndTxn, nothing else reveals it."""
        client = self._instances[client_id]
        if client.txn >= 0:
            self._emit(now_us(), "end_told", client, -1, client.pair, txn=client.txn, outcome=outcome)
            client.txn = -1

    def fail(self, client_id: str, record: int, error: int) -> None:
        """Note that the library has given up a record. A record that was never sent is not recorded."""
        client = self._instances[client_id]
        if record in client.latest:
            request, txn, partition = client.latest[record]
            self._emit(
                now_us(), "record_failed", client, request, txn=txn, partition=partition, record=record, error=error
            )

    def partition(self, place: Where) -> int:
        return self._partitions.get(place, -1)

    def client(self, client_id: str) -> int:
        return self._instances[client_id].number

    # -- in short

    def _known(self, client_id: str, txn_id: str, time_us: int) -> Instance:
        if client_id not in self._instances:
            number = self._txn_ids.setdefault(txn_id, len(self._txn_ids))
            instance = self._instances[client_id] = Instance(len(self._instances), number)
            if client_id not in self._admins:
                self._emit(time_us, "client_started", instance, txn_id=number)
        return self._instances[client_id]

    def _begin(self, client: Instance, time_us: int, pair: Pair) -> None:
        if client.txn < 0:
            client.txn = next(self._txns)
            self._emit(time_us, "txn_begun", client, -1, pair, txn_id=client.txn_id, txn=client.txn)

    def _number(self, exchange: Exchange) -> int:
        number = next(self._requests)
        self.numbers.setdefault(exchange.number, number)
        return number

    def _observes(self, place: Where) -> bool:
        return place in self._partitions

    def _emit(
        self, time_us: int, kind: str, client: Instance, request: int = -1, pair: Pair | None = None, **columns: int
    ) -> None:
        event: Event = {"time_us": time_us, "kind": kind, "client": client.number}
        if request >= 0:
            event["request"] = request
        if pair is not None:
            event["producer_id"], event["epoch"] = pair
        for name, value in columns.items():
            if value != (0 if name == "error" else -1):  # columns that do not apply are left out
                event[name] = value
        self._events.append(event)


# A sniffer makes black-box events of what passes through the proxy: the requests and answers of real clients become a
# history.
#
#     sniffer = Sniffer(places=[("out", 0), ("out", 1), ("group",)])      # partitions 0, 1 and, of a group's offsets, 2
#     with Proxy(bootstrap, sniffer) as proxy: ...
#     sniffer.drain()      # [{"time_us": …, "kind": "init_sent", "client": 0, …}, …], oldest first
#
# The kinds of event are those of a history of transactions (`kafka/environment.py`), as observed at the proxy: a client
# has sent what has arrived there, and has received what has left there. Copies that the proxy sends are not the
# client's, and are no events. A client is identified by its client id, so each instance must have one of its own. The
# program that runs the clients adds (`report`) what no request or answer reveals: client_stopped, client_failed, and
# what readers got. txn_begun precedes the first request of a transaction, unless `begin` has reported it.

OnAnswer = Callable[[Any, int], None]  # the answer as kio reads it, and when
PRODUCE, INIT, ADD, ADD_OFFSETS, END, COMMIT_OFFSETS = 0, 22, 24, 25, 26, 28
DUPLICATE_SEQUENCE_NUMBER = 46  # an old broker's, and the mock's, way to say that the record is there already


class Sniffer(Recorded):
    """A `Sniffer` is a watcher for `Proxy`. ``places`` has partitions as (topic, partition) and, after them, groups as
    (group,), in the order of their numbers; requests to other places make no events. ``admins`` are client ids that
    only fence. With ``records_failures``, an error that is not retriable is a record_failed event; otherwise only
    `fail` makes that event."""

    def __init__(
        self,
        places: Sequence[Where],
        *,
        admins: Collection[str] = (),
        txn_ids: Sequence[str] = (),
        records_failures: bool = True,
    ) -> None:
        super().__init__(places, admins, txn_ids)
        self._records_failures = records_failures
        self._records = Numbers()
        self._waiting: dict[int, OnAnswer] = {}  # by exchange
        self._handlers = {
            PRODUCE: self._produce,
            INIT: self._init,
            ADD: self._add,
            ADD_OFFSETS: self._add,
            END: self._end,
            COMMIT_OFFSETS: self._produce,
        }

    # -- as a watcher, in the proxy's thread

    def requested(self, exchange: Exchange) -> None:
        request = exchange.request
        handler = self._handlers.get(request.api_key)
        txn_id = request.transactional_id if handler is not None else None
        if handler is not None and txn_id is not None:
            client = self._known(request.client_id, txn_id, exchange.time_us)
            self._waiting[exchange.number] = handler(client, exchange)

    def answered(self, exchange: Exchange, time_us: int) -> None:
        handler = self._waiting.pop(exchange.number, None)
        if handler is not None and exchange.answer is not None:
            response = decoded(exchange.request, exchange.answer)
            if response is not None:
                handler(response, time_us)

    def lost(self, exchange: Exchange, time_us: int) -> None:
        self._waiting.pop(exchange.number, None)

    # -- one API each: what is asked, and what to do with the answer

    def _init(self, client: Instance, exchange: Exchange) -> OnAnswer:
        asked, request = exchange.request.payload, self._number(exchange)
        pair = int(getattr(asked, "producer_id", -1)), int(getattr(asked, "producer_epoch", -1))
        self._emit(exchange.time_us, "init_sent", client, request, pair, txn_id=client.txn_id)
        is_admin = exchange.request.client_id in self._admins

        def take_answer(answer: Any, time_us: int) -> None:
            error, given = int(answer.error_code), (int(answer.producer_id), int(answer.producer_epoch))
            if not is_admin:
                self._emit(time_us, "init_taken", client, request, given, error=error)
            elif error not in RETRIABLE:
                self._emit(time_us, "fence_told", client, request, given, txn_id=client.txn_id, error=error)
            if not error:
                client.txn, client.pair = -1, given

        return take_answer

    def _add(self, client: Instance, exchange: Exchange) -> OnAnswer:
        asked = exchange.request.payload
        pair = _pair_of(asked)
        places: list[Where]
        if exchange.request.api_key == ADD_OFFSETS:
            places = [(str(asked.group_id),)]
        else:
            topics = getattr(asked, "v3_and_below_topics", ())
            places = [(str(topic.name), int(number)) for topic in topics for number in topic.partitions]
        self._begin(client, exchange.time_us, pair)
        requests = [
            (place, self._partitions[place], self._number(exchange)) for place in places if self._observes(place)
        ]
        txn = client.txn
        for _, partition, request in requests:
            self._emit(
                exchange.time_us, "add_sent", client, request, pair, txn_id=client.txn_id, txn=txn, partition=partition
            )

        def take_answer(answer: Any, time_us: int) -> None:
            for place, partition, request in requests:
                error = _add_error(answer, place)
                self._emit(time_us, "add_taken", client, request, txn=txn, partition=partition, error=error)

        return take_answer

    def _produce(self, client: Instance, exchange: Exchange) -> OnAnswer:
        asked, is_offsets = exchange.request.payload, exchange.request.api_key == COMMIT_OFFSETS
        sent: list[tuple[Sent, int, int]] = []  # the record, its request, its transaction
        for each in committed(asked) if is_offsets else self._records.produced(asked):
            if not self._observes(each.place):
                continue
            key = each[:4]
            if key not in client.txn_of:
                self._begin(client, exchange.time_us, (each.producer_id, each.epoch))
            txn = client.txn_of.setdefault(key, client.txn)
            sent.append((each, self._number(exchange), txn))
            client.latest[each.record] = sent[-1][1], txn, self._partitions[each.place]
            self._emit(
                exchange.time_us, "record_sent", client, sent[-1][1], (each.producer_id, each.epoch),
                txn_id=client.txn_id, txn=txn, partition=self._partitions[each.place], record=each.record,
                sequence=each.sequence,
            )  # fmt: skip

        def take_answer(answer: Any, time_us: int) -> None:
            results = {} if is_offsets else produce_results(answer)
            for each, request, txn in sent:
                place = each.place
                error, offset = (commit_error(answer), -1) if len(place) == 1 else results.get(place, (0, -1))
                where = {"txn": txn, "partition": self._partitions[place], "record": each.record}
                if error in (0, DUPLICATE_SEQUENCE_NUMBER):
                    offset = offset + each.behind if offset >= 0 else -1
                    self._emit(time_us, "record_acked", client, request, None, **where, offset=offset)
                elif error not in RETRIABLE and (self._records_failures or is_offsets):
                    self._emit(time_us, "record_failed", client, request, None, **where, error=error)

        return take_answer

    def _end(self, client: Instance, exchange: Exchange) -> OnAnswer:
        asked, request = exchange.request.payload, self._number(exchange)
        pair, outcome = _pair_of(asked), int(asked.committed)
        self._begin(client, exchange.time_us, pair)
        txn = client.txn
        self._emit(exchange.time_us, "end_sent", client, request, pair, txn_id=client.txn_id, txn=txn, outcome=outcome)

        def take_answer(answer: Any, time_us: int) -> None:
            error = int(answer.error_code)
            if error in RETRIABLE:
                return
            given = _pair_of(answer)
            given = given if given[1] >= 0 or error else pair
            self._emit(time_us, "end_told", client, request, given, txn=txn, outcome=outcome, error=error)
            if not error and client.txn == txn:
                client.txn, client.pair = -1, given

        return take_answer


def _pair_of(message: Any) -> Pair:
    """Return the producer id and epoch of a request or answer, or (-1, -1) if it has none."""
    for prefix in ("", "v3_and_below_"):
        if hasattr(message, f"{prefix}producer_id"):
            return int(getattr(message, f"{prefix}producer_id")), int(getattr(message, f"{prefix}producer_epoch"))
    return -1, -1


def _add_error(answer: Any, place: Where) -> int:
    if len(place) == 1:
        return int(answer.error_code)
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        for each in topic.results_by_partition:
            if (str(topic.name), int(each.partition_index)) == place:
                return int(each.partition_error_code)
    return 0


def errors_of(answer: Any) -> list[int]:
    if hasattr(answer, "error_code"):
        return [int(answer.error_code)]
    if hasattr(answer, "responses"):
        return [error for error, _ in produce_results(answer).values()]
    if hasattr(answer, "results_by_topic_v3_and_below"):
        topics = answer.results_by_topic_v3_and_below
        return [int(each.partition_error_code) for topic in topics for each in topic.results_by_partition]
    return [commit_error(answer)] if hasattr(answer, "topics") else []


def partition_of(sniffer: Sniffer, request: Request) -> int:
    """Return the number of the first partition, or group, in a Produce or TxnOffsetCommit request."""
    if request.api_key == COMMIT_OFFSETS:
        return sniffer.partition((str(request.payload.group_id),))
    topic = request.payload.topic_data[0]
    return sniffer.partition((str(topic.name), int(topic.partition_data[0].index)))
