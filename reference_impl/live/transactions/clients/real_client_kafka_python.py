"""This module has kafka-python's transactional producer behind the methods of `RealProducer`.

Its commitTransaction and abortTransaction wait without a bound, so each call has a thread of its own and the wait for
that thread is bounded; the thread ends when the library returns, at the latest when the producer is closed.

Driving kafka-python 3.0 has revealed two differences from Kafka's own client. An EndTxn that is not answered in time is
fatal, and is not retried. A record that is refused (45, 47) makes it ask for the next epoch at once, with the
transaction still open, which fences it, or its successor (`tests/live/kafka/test_live_clients.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.live.transactions.clients.real_client import TIMED_OUT, ClientError, Done, Severity
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem
from kafka import KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata


class KafkaPythonProducer:
    """A `KafkaPythonProducer` is one producer; ``settings`` are further settings by kafka-python's names."""

    def __init__(
        self, bootstrap: str, txn_id: str, client_id: str, timeout_s: float = 10.0, **settings: object
    ) -> None:
        self._timeout_s = timeout_s
        self._is_closed = False
        timeout_ms = int(timeout_s * 1000)
        try:
            self._producer = KafkaProducer(
                **{
                    "bootstrap_servers": bootstrap.split(","),
                    "transactional_id": txn_id,
                    "client_id": client_id,
                    "max_block_ms": timeout_ms,
                    "request_timeout_ms": max(1_000, timeout_ms // 2),
                    "delivery_timeout_ms": timeout_ms,
                    "transaction_timeout_ms": max(60_000, timeout_ms),
                    "bootstrap_timeout_ms": timeout_ms,
                    "retry_backoff_ms": 20,
                    "metrics_enabled": False,
                }
                | settings
            )
        except KafkaError as raised:
            raise ClientError(-1, Severity.FATAL, f"{bootstrap}: kafka-python cannot start: {raised}") from raised

    def init(self) -> None:
        self._call(self._producer.init_transactions)

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def post(self, topic: str, partition: int, value: bytes, done: Done, key: bytes | None = None) -> None:
        sent = self._call(self._producer.send, topic, value, key, partition=partition)
        sent.add_callback(lambda metadata: done(int(metadata.offset), None))
        sent.add_errback(lambda error: done(-1, self._error(error)))

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        offsets = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self._call(self._producer.send_offsets_to_transaction, offsets, group)

    def commit(self) -> None:
        self._call(self._producer.commit_transaction)

    def abort(self) -> None:
        self._call(self._producer.abort_transaction)

    def close(self) -> None:
        self._is_closed = True
        try:
            self._producer.close(timeout=0)
        except KafkaError:  # 3.0: with records on their way it raises before it has closed anything
            sender = self._producer._sender
            if sender is not None:
                sender.force_close()
            self._producer._closed = True  # else it tries again when it is collected, and writes that to stderr

    def _call(self, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        results: list[Any] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                results.append(method(*arguments, **keywords))
            except BaseException as raised:
                errors.append(raised)

        thread = threading.Thread(target=work, name="fencepost-kafka-python", daemon=True)
        thread.start()
        deadline = time.monotonic() + self._timeout_s + 1
        while thread.is_alive() and not self._is_closed and time.monotonic() < deadline:
            thread.join(0.1)
        if results:
            return results[0]
        if errors and not isinstance(errors[0], KafkaError):
            raise errors[0]
        raise self._error(errors[0] if errors else None)

    def _error(self, raised: BaseException | None) -> ClientError:
        if raised is None:
            return ClientError(TIMED_OUT, Severity.RETRIABLE, f"not done within {self._timeout_s:g} s")
        manager = self._producer._transaction_manager  # only it knows whether the instance can go on
        severity = Severity.RETRIABLE if getattr(raised, "retriable", False) else Severity.ABORTABLE
        if manager is not None and manager.has_fatal_error():
            severity = Severity.FATAL
        cause = manager.last_error if manager is not None and manager.last_error is not None else raised
        return ClientError(int(getattr(cause, "errno", -1)), severity, f"{type(cause).__name__}: {cause}")


# Requests go through the proxy, one record a batch: see `real_client_system.py`.
ONE_RECORD_A_BATCH = {"batch_size": 0}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}


def kafka_python(config: Mapping[str, Any]) -> RealClientSystem:
    """Return a driven system whose clients are kafka-python's, which does not work with librdkafka's mock. `config` is
    that of `over_tcp`, with mode v1 or v1-verified, because kafka-python 3.0 ends transactions with EndTxn 3. Raise
    ValueError or WireError as `over_tcp` does."""
    return RealClientSystem(_make, "kafka-python", config)


def _make(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> KafkaPythonProducer:
    patient = {"request_timeout_ms": int(timeout_s * 1000) - 1}
    return KafkaPythonProducer(bootstrap, txn_id, client_id, timeout_s, **ONE_RECORD_A_BATCH, **QUICK, **patient)
