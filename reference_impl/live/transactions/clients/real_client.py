"""A real transactional producer, whichever library it comes from, as plugs and scenarios use it: every call returns in
bounded time, or raises `ClientError`.

    producer = LibrdkafkaProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)      # real_client_librdkafka.py
    producer = KafkaPythonProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)     # real_client_kafka_python.py
    producer.init(); producer.begin(); send(producer, "out", 0, b"7"); producer.commit()

Neither speaks transaction.version 2 (EndTxn 5): librdkafka 2.16 stops at EndTxn 1, kafka-python 3.0 at 3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import Protocol

TIMED_OUT = 7  # REQUEST_TIMED_OUT, in Kafka's numbers


class Severity(Enum):
    """How bad an error is, by what the library lets its application still do."""

    RETRIABLE = "call again"
    ABORTABLE = "abort"
    FATAL = "close"


class ClientError(Exception):
    """A call failed. `code` is Kafka's, -1 where the library gives none; `severity` is the library's word."""

    def __init__(self, code: int, severity: Severity, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.severity = severity


Done = Callable[[int, ClientError | None], None]
"""Called once with the outcome of a record: its offset, or an error; in any thread."""


class RealProducer(Protocol):
    """One instance. Every method raises `ClientError`. One call at a time, except `post` and `close`."""

    def init(self) -> None:
        """initTransactions()."""

    def begin(self) -> None:
        """beginTransaction()."""

    def post(self, topic: str, partition: int, value: bytes, done: Done, key: bytes | None = None) -> None:
        """send() of one record; it is on its way when this returns."""

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """sendOffsetsToTransaction() of the offset of one partition."""

    def commit(self) -> None:
        """commitTransaction()."""

    def abort(self) -> None:
        """abortTransaction()."""

    def close(self) -> None:
        """Throw the instance away without another word to the brokers; safe to repeat."""


def send(producer: RealProducer, topic: str, partition: int, value: bytes, timeout_s: float = 20.0) -> int:
    """Send one record and wait for what becomes of it; its offset. Raises ClientError."""
    reported: list[tuple[int, ClientError | None]] = []
    came = threading.Event()

    def done(offset: int, error: ClientError | None) -> None:
        reported.append((offset, error))
        came.set()

    producer.post(topic, partition, value, done)
    if not came.wait(timeout_s):
        raise ClientError(TIMED_OUT, Severity.ABORTABLE, f"nothing was heard of a record for {topic}-{partition}")
    offset, error = reported[0]
    if error is not None:
        raise error
    return offset
