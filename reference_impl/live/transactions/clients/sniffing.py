"""Makes black-box events of what passes through the proxy: the requests and answers of real clients become a history.

    sniffer = Sniffer(places=[("out", 0), ("out", 1), ("group",)])      # partitions 0, 1 and, of a group's offsets, 2
    with Proxy(bootstrap, sniffer) as proxy: ...
    sniffer.drain()      # [{"time_us": …, "kind": "init_sent", "client": 0, …}, …], oldest first

The words are those of a history of transactions (`transactions/events.py`), the place of the observer is the proxy: a
client has sent what has come here, and has been told what has left here. Copies that the proxy sends are no client's
doing, and no events. A client is known by its client id, so each instance must have one of its own. Not on the wire,
and so added by the program that runs the clients (`tell`): client_stopped, client_failed, and what readers got.
txn_begun comes before the first request of a transaction, unless `begin` has told of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from fencepost.reference_impl.live.proxy.batches import (
    Numbers,
    Sent,
    commit_error,
    committed,
    produce_results,
)
from fencepost.reference_impl.live.proxy.frames import Request, decoded
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.transactions.clients.sniffed_events import Instance, Pair, Recorded, Where
from fencepost.reference_impl.transactions.errors import RETRIABLE

Told = Callable[[Any, int], None]  # the answer as kio reads it, and when
PRODUCE, INIT, ADD, ADD_OFFSETS, END, COMMIT_OFFSETS = 0, 22, 24, 25, 26, 28
DUPLICATE_SEQUENCE_NUMBER = 46  # an old broker's, and the mock's, way to say that the record is there already


class Sniffer(Recorded):
    """A watcher for `Proxy`. `places`: partitions as (topic, partition) and, behind them, groups as (group,), in the
    order of their numbers; what goes elsewhere is not shown. `admins`: client ids that only fence. `shows_failures`: an
    error that is not retriable is record_failed; else it is only what `fail` says.
    """

    def __init__(
        self,
        places: Sequence[Where],
        *,
        admins: Collection[str] = (),
        txn_ids: Sequence[str] = (),
        shows_failures: bool = True,
    ) -> None:
        super().__init__(places, admins, txn_ids)
        self._shows_failures = shows_failures
        self._records = Numbers()
        self._waiting: dict[int, Told] = {}  # by exchange
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
        """A request has come from a client."""
        request = exchange.request
        handler = self._handlers.get(request.api_key)
        txn_id = request.transactional_id if handler is not None else None
        if handler is not None and txn_id is not None:
            client = self._known(request.client_id, txn_id, exchange.time_us)
            self._waiting[exchange.number] = handler(client, exchange)

    def answered(self, exchange: Exchange, time_us: int) -> None:
        """Its answer goes to the client."""
        told = self._waiting.pop(exchange.number, None)
        if told is not None and exchange.answer is not None:
            response = decoded(exchange.request, exchange.answer)
            if response is not None:
                told(response, time_us)

    def lost(self, exchange: Exchange, time_us: int) -> None:
        """Its client's connection ended first: the client does not get the answer."""
        self._waiting.pop(exchange.number, None)

    # -- one API each: what is asked, and what to do with the answer

    def _init(self, client: Instance, exchange: Exchange) -> Told:
        asked, request = exchange.request.payload, self._number(exchange)
        pair = int(getattr(asked, "producer_id", -1)), int(getattr(asked, "producer_epoch", -1))
        self._emit(exchange.time_us, "init_sent", client, request, pair, txn_id=client.txn_id)
        is_admin = exchange.request.client_id in self._admins

        def told(answer: Any, time_us: int) -> None:
            error, given = int(answer.error_code), (int(answer.producer_id), int(answer.producer_epoch))
            if not is_admin:
                self._emit(time_us, "init_taken", client, request, given, error=error)
            elif error not in RETRIABLE:
                self._emit(time_us, "fence_told", client, request, given, txn_id=client.txn_id, error=error)
            if not error:
                client.txn, client.pair = -1, given

        return told

    def _add(self, client: Instance, exchange: Exchange) -> Told:
        asked = exchange.request.payload
        pair = _pair_of(asked)
        places: list[Where]
        if exchange.request.api_key == ADD_OFFSETS:
            places = [(str(asked.group_id),)]
        else:
            topics = getattr(asked, "v3_and_below_topics", ())
            places = [(str(topic.name), int(number)) for topic in topics for number in topic.partitions]
        self._begin(client, exchange.time_us, pair)
        requests = [(place, self._partitions[place], self._number(exchange)) for place in places if self._shows(place)]
        txn = client.txn
        for _, partition, request in requests:
            self._emit(
                exchange.time_us, "add_sent", client, request, pair, txn_id=client.txn_id, txn=txn, partition=partition
            )

        def told(answer: Any, time_us: int) -> None:
            for place, partition, request in requests:
                error = _add_error(answer, place)
                self._emit(time_us, "add_taken", client, request, txn=txn, partition=partition, error=error)

        return told

    def _produce(self, client: Instance, exchange: Exchange) -> Told:
        asked, is_offsets = exchange.request.payload, exchange.request.api_key == COMMIT_OFFSETS
        sent: list[tuple[Sent, int, int]] = []  # the record, its request, its transaction
        for each in committed(asked) if is_offsets else self._records.produced(asked):
            if not self._shows(each.place):
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

        def told(answer: Any, time_us: int) -> None:
            results = {} if is_offsets else produce_results(answer)
            for each, request, txn in sent:
                place = each.place
                error, offset = (commit_error(answer), -1) if len(place) == 1 else results.get(place, (0, -1))
                where = {"txn": txn, "partition": self._partitions[place], "record": each.record}
                if error in (0, DUPLICATE_SEQUENCE_NUMBER):
                    offset = offset + each.behind if offset >= 0 else -1
                    self._emit(time_us, "record_acked", client, request, None, **where, offset=offset)
                elif error not in RETRIABLE and (self._shows_failures or is_offsets):
                    self._emit(time_us, "record_failed", client, request, None, **where, error=error)

        return told

    def _end(self, client: Instance, exchange: Exchange) -> Told:
        asked, request = exchange.request.payload, self._number(exchange)
        pair, outcome = _pair_of(asked), int(asked.committed)
        self._begin(client, exchange.time_us, pair)
        txn = client.txn
        self._emit(exchange.time_us, "end_sent", client, request, pair, txn_id=client.txn_id, txn=txn, outcome=outcome)

        def told(answer: Any, time_us: int) -> None:
            error = int(answer.error_code)
            if error in RETRIABLE:
                return
            given = _pair_of(answer)
            given = given if given[1] >= 0 or error else pair
            self._emit(time_us, "end_told", client, request, given, txn=txn, outcome=outcome, error=error)
            if not error and client.txn == txn:
                client.txn, client.pair = -1, given

        return told


def _pair_of(message: Any) -> Pair:
    """Producer id and epoch of a request or answer, under the names of its version; (-1, -1) if it has none."""
    for prefix in ("", "v3_and_below_"):
        if hasattr(message, f"{prefix}producer_id"):
            return int(getattr(message, f"{prefix}producer_id")), int(getattr(message, f"{prefix}producer_epoch"))
    return -1, -1


def _add_error(answer: Any, place: Where) -> int:
    """The error for one partition, or group, in the answer to AddPartitionsToTxn or AddOffsetsToTxn."""
    if len(place) == 1:
        return int(answer.error_code)
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        for each in topic.results_by_partition:
            if (str(topic.name), int(each.partition_index)) == place:
                return int(each.partition_error_code)
    return 0


def errors_of(answer: Any) -> list[int]:
    """The error codes in an answer to a request of the transaction protocol."""
    if hasattr(answer, "error_code"):
        return [int(answer.error_code)]
    if hasattr(answer, "responses"):
        return [error for error, _ in produce_results(answer).values()]
    if hasattr(answer, "results_by_topic_v3_and_below"):
        topics = answer.results_by_topic_v3_and_below
        return [int(each.partition_error_code) for topic in topics for each in topic.results_by_partition]
    return [commit_error(answer)] if hasattr(answer, "topics") else []


def partition_of(sniffer: Sniffer, request: Request) -> int:
    """The number of the first partition, or group, that a Produce or TxnOffsetCommit is about."""
    if request.api_key == COMMIT_OFFSETS:
        return sniffer.partition((str(request.payload.group_id),))
    topic = request.payload.topic_data[0]
    return sniffer.partition((str(topic.name), int(topic.partition_data[0].index)))
