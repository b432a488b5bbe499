"""This module is the interface of a real transactional producer, whichever library it is from, for adapters and
scenarios. Every call returns in bounded time, or raises `ClientError`.

    producer = LibrdkafkaProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)      # real_client_librdkafka.py
    producer = KafkaPythonProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)     # real_client_kafka_python.py
    producer.init(); producer.begin(); send(producer, "out", 0, b"7"); producer.commit()

Neither library implements transaction.version 2 (EndTxn 5): librdkafka 2.16 stops at EndTxn 1, kafka-python 3.0 at
EndTxn 3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import Protocol

TIMED_OUT = 7  # REQUEST_TIMED_OUT, in Kafka's numbers


class Severity(Enum):
    """A `Severity` is how bad an error is, by what the library still lets its application do."""

    RETRIABLE = "call again"
    ABORTABLE = "abort"
    FATAL = "close"


class ClientError(Exception):
    """A `ClientError` is raised when a call fails. ``code`` is Kafka's, or -1 where the library gives none;
    ``severity`` is the library's own classification."""

    def __init__(self, code: int, severity: Severity, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.severity = severity


Done = Callable[[int, ClientError | None], None]
"""This callback is called once, in any thread, with the outcome of a record: its offset, or an error."""


class RealProducer(Protocol):
    """A `RealProducer` is one producer instance. Every method may raise `ClientError`. Only one call at a time is
    allowed, except for `post` and `close`."""

    def init(self) -> None:
        """Call initTransactions()."""

    def begin(self) -> None:
        """Call beginTransaction()."""

    def post(self, topic: str, partition: int, value: bytes, done: Done, key: bytes | None = None) -> None:
        """Call send() for one record, and return without waiting for its outcome."""

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Call sendOffsetsToTransaction() for the offset of one partition."""

    def commit(self) -> None:
        """Call commitTransaction()."""

    def abort(self) -> None:
        """Call abortTransaction()."""

    def close(self) -> None:
        """Discard the instance without sending anything to the brokers; this is safe to repeat."""


def send(producer: RealProducer, topic: str, partition: int, value: bytes, timeout_s: float = 20.0) -> int:
    """Send one record, wait for its outcome, and return its offset. Raise ClientError if it fails."""
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
