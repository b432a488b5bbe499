"""A transactional producer of raw requests, one at a time: it does nothing by itself but ask again when told "later".

    producer = RawProducer(proxy.bootstrap, "v2", "a", [("out", 0)], client_id="raw")
    producer.init(); producer.add(0); producer.produce(0, record=7); producer.end(commit=True)

Its transactional id is "a-0".  `mode` is what clients of that time speak (`wire/versions.py`); `end` takes what a v2
answer says of the next pair.  For clusters of one node.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from fencepost.reference_impl.kafka.errors import RETRIABLE
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from fencepost.reference_impl.live.tcp.brokers import TRANSACTION
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers
from fencepost.reference_impl.live.tcp.reading import build
from fencepost.reference_impl.live.tcp.versions import offered_by
from fencepost.reference_impl.live.transactions.config import Names, Place
from fencepost.reference_impl.live.transactions.requests import Codec

PATIENCE_S = 20.0
TXN_ID = 0


class RawProducer:
    """One instance; a context manager that closes its connection."""

    def __init__(
        self, bootstrap: str, mode: str, name: str, places: Sequence[tuple[str, int]], client_id: str = "raw"
    ) -> None:
        (broker,) = find_brokers(bootstrap)
        self.connection = Connection(broker.host, broker.port, PATIENCE_S, client_id)
        self.is_v2 = mode == "v2"
        names = Names(name, [Place(topic, number, 0) for topic, number in places])
        versions = offered_by(self.connection, broker.id).negotiate(mode)
        self._codec = Codec(versions, names, lambda asked_ms: asked_ms, append_ms=5_000)
        self._find_coordinator(versions["find_coordinator"], names.transactional_id(TXN_ID))
        self.pair = (-1, -1)
        self._sequences: dict[tuple[int, int, int], itertools.count[int]] = {}

    def __enter__(self) -> RawProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def ask(self, request: Any) -> Any:
        """One request, and its answer."""
        return self._codec.decode(request, self.connection.call(self._codec.encode(request)))

    def ask_until_answered(self, request: Any) -> Any:
        """The same until the answer says something else than "later"."""
        deadline = time.monotonic() + PATIENCE_S
        while (answer := self.ask(request)).error_code in RETRIABLE and time.monotonic() < deadline:
            time.sleep(0.02)
        return answer

    def _find_coordinator(self, version: int, transactional_id: str) -> None:
        """There is only this node, but the transaction log is made when a client first asks who coordinates."""
        request = build("find_coordinator", version, key=transactional_id, key_type=TRANSACTION)
        deadline = time.monotonic() + PATIENCE_S
        while error := int(self.connection.call(request).error_code):
            if time.monotonic() >= deadline:
                raise WireError(f"nobody coordinates {transactional_id}: error {error}")
            time.sleep(0.05)

    def init(self) -> int:
        """InitProducerId without a pair; the error."""
        answer = self.ask_until_answered(InitProducerIdRequest(TXN_ID, 60_000))
        if not answer.error_code:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def bump(self) -> int:
        """InitProducerId that names the pair held (KIP-360); the error."""
        answer = self.ask_until_answered(InitProducerIdRequest(TXN_ID, 60_000, *self.pair))
        if not answer.error_code:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def add(self, partition: int) -> int:
        """AddPartitionsToTxn; the error."""
        return int(self.ask_until_answered(AddPartitionsToTxnRequest(TXN_ID, *self.pair, partition)).error_code)

    def produce(self, partition: int, record: int) -> int:
        """One record, with the next sequence number of the pair on the partition; the error."""
        counter = self._sequences.setdefault((*self.pair, partition), itertools.count())
        request = ProduceRequest(TXN_ID, partition, *self.pair, next(counter), record)
        return int(self.ask_until_answered(request).error_code)

    def end(self, commit: bool) -> int:
        """EndTxn; the error."""
        answer = self.ask_until_answered(EndTxnRequest(TXN_ID, *self.pair, commit))
        if not answer.error_code and answer.producer_epoch >= 0:
            self.pair = (answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)
