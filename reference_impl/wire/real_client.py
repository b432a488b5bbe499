"""A real transactional producer, whichever library it comes from, as plugs and scenarios use it: every call returns in
bounded time, or raises `ClientError`.

    producer = LibrdkafkaProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)      # real_client_librdkafka.py
    producer = KafkaPythonProducer(bootstrap, "txn-id", client_id="a", timeout_s=10)     # real_client_kafka_python.py
    producer.init(); producer.begin(); producer.send("out", 0, b"7"); producer.commit()

Neither speaks transaction.version 2 (EndTxn 5): librdkafka 2.16 stops at EndTxn 1, kafka-python 3.0 at 3.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Severity(Enum):
    """What the library says that its application can still do."""

    RETRIABLE = "call again"
    ABORTABLE = "abort"
    FATAL = "close"


class ClientError(Exception):
    """A call failed. `code` is Kafka's, -1 where the library gives none; `severity` is the library's word."""

    def __init__(self, code: int, severity: Severity, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.severity = severity


class RealProducer(Protocol):
    """One instance. Every method raises `ClientError`."""

    def init(self) -> None:
        """initTransactions()."""

    def begin(self) -> None:
        """beginTransaction()."""

    def send(self, topic: str, partition: int, value: bytes) -> int:
        """send() of one record, and wait for what becomes of it; its offset."""

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        """sendOffsetsToTransaction() of one offset of partition 0 of `topic`."""

    def commit(self) -> None:
        """commitTransaction()."""

    def abort(self) -> None:
        """abortTransaction()."""

    def close(self) -> None:
        """Throw the instance away without another word to the brokers; safe to repeat."""
