"""This module has librdkafka's transactional producer (confluent-kafka) behind the methods of `RealProducer`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from fencepost.reference_impl.live.transactions.clients.real_client import TIMED_OUT, ClientError, Done, Severity
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem

FENCED = 90
SLICE_S, PAUSE_S = 0.3, 0.02
FATAL_ALONE = 0
"""This is a level of syslog. No logger is given, because with one, a process was aborted while producers of librdkafka
2.16 were discarded (it may be its issue 4330); so fatal errors go to stderr."""
OF_OWN = {KafkaError._FENCED: FENCED, KafkaError._TIMED_OUT: TIMED_OUT, KafkaError._MSG_TIMED_OUT: TIMED_OUT}
"""This table maps librdkafka's own codes to those of Kafka that mean the same."""


class LibrdkafkaProducer:
    """A `LibrdkafkaProducer` is one producer; ``settings`` are further settings by librdkafka's names."""

    def __init__(
        self, bootstrap: str, txn_id: str, client_id: str, timeout_s: float = 10.0, **settings: object
    ) -> None:
        self._timeout_s = timeout_s
        self._failed: KafkaError | None = None  # reported in the background: fatal
        self._producer: Any = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": txn_id,
                "client.id": client_id,
                "linger.ms": 0,
                "message.timeout.ms": int(timeout_s * 1000),
                "transaction.timeout.ms": max(60_000, int(timeout_s * 1000)),
                "retry.backoff.ms": 20,
                "log_level": FATAL_ALONE,
                "error_cb": self._note_error,
            }
            | {name.replace("_", "."): value for name, value in settings.items()}
        )
        self._closed = threading.Event()
        self._calling = threading.Lock()
        self._poller = threading.Thread(target=self._poll, name=f"fencepost-librdkafka-{client_id}", daemon=True)
        self._poller.start()

    def init(self) -> None:
        self._resume(self._producer.init_transactions)

    def begin(self) -> None:
        self._call(self._producer.begin_transaction)

    def post(self, topic: str, partition: int, value: bytes, done: Done, key: bytes | None = None) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            done(-1 if offset is None or error is not None else int(offset), self._error(error) if error else None)

        self._call(self._producer.produce, topic, value, key, partition=partition, on_delivery=delivered)

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        # The group metadata that the call needs can only be had from a consumer; this one belongs to a group without
        # members.
        consumer = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": group, "log_level": FATAL_ALONE})
        try:
            metadata, offsets = consumer.consumer_group_metadata(), [TopicPartition(topic, partition, offset)]
            self._resume(self._producer.send_offsets_to_transaction, offsets, metadata)
        finally:
            consumer.close()

    def commit(self) -> None:
        self._resume(self._producer.commit_transaction)

    def abort(self) -> None:
        self._resume(self._producer.abort_transaction)

    def close(self) -> None:
        # The producer's own close() would abort the transaction first. A producer that is destroyed without it sends
        # nothing more.
        self._closed.set()
        self._poller.join(self._timeout_s)
        with self._calling:
            if self._producer is not None:
                self._producer.purge()
                self._producer = None

    def _poll(self) -> None:
        """Poll, because callbacks are only called during a poll; errors that it raises are ignored."""
        while not self._closed.is_set():
            with contextlib.suppress(KafkaException, SystemError):
                self._producer.poll(0.02)

    def _resume(self, method: Callable[..., Any], *arguments: Any) -> None:
        """Make a blocking call in short slices, so that it ends when the producer is closed."""
        deadline = time.monotonic() + self._timeout_s
        with self._calling:
            while True:
                if self._closed.is_set():
                    raise ClientError(-1, Severity.FATAL, "the producer was closed meanwhile")
                try:
                    self._call(method, *arguments, SLICE_S)
                except ClientError as error:  # out of time, or the reason why nothing has come of it so far
                    if error.severity is not Severity.RETRIABLE or time.monotonic() >= deadline:
                        raise
                    self._closed.wait(PAUSE_S)
                else:
                    return

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._failed = error

    def _call(self, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        try:
            method(*arguments, **keywords)
        except KafkaException as raised:
            raise self._error(raised.args[0]) from raised
        except SystemError as raised:  # librdkafka 2.16: a fatal error in a callback comes out this way
            if isinstance(raised.__cause__, KafkaException):
                raise self._error(raised.__cause__.args[0]) from raised
            raise

    def _error(self, error: KafkaError) -> ClientError:
        severity = Severity.RETRIABLE if error.retriable() else Severity.ABORTABLE
        if error.fatal() or self._failed is not None:
            severity = Severity.FATAL
        if error.code() in (KafkaError._FATAL, KafkaError._STATE) and self._failed is not None:
            error = self._failed
        code = OF_OWN.get(error.code(), error.code())
        return ClientError(code if code >= 0 else -1, severity, error.str() or error.name())


# Requests go through the proxy, one record a batch: see `real_client_system.py`.
ONE_RECORD_A_BATCH = {"batch_num_messages": 1}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50, "retry_backoff_max_ms": 50}


def librdkafka(config: Mapping[str, Any]) -> RealClientSystem:
    """Return a driven system whose clients are librdkafka's. `config` is that of `over_tcp`, with mode v1 or
    v1-verified, because librdkafka 2.16 ends transactions with EndTxn 1. Raise ValueError or WireError as `over_tcp`
    does."""
    return RealClientSystem(_make, "librdkafka", config)


def _make(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> LibrdkafkaProducer:
    patient = {"socket_timeout_ms": int(timeout_s * 1000)}
    return LibrdkafkaProducer(bootstrap, txn_id, client_id, timeout_s, **ONE_RECORD_A_BATCH, **QUICK, **patient)
