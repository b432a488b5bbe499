"""librdkafka's clients (confluent-kafka) as the copying application uses them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from copy_client import CALL_S, POLL_S, AbortableError, FatalError, Membership, Note
from copy_settings import CLASSIC, Settings

METADATA = b"CGMDv2:"
"""What rd_kafka_consumer_group_metadata_write() begins with; then come the generation, as the machine has it, and the
names of group and member, each with a zero behind it (rdkafka_cgrp.c)."""
SILENT = {"log_level": 0}  # of syslog's; librdkafka prints errors of clients that are killed on purpose


class Librdkafka:
    """Of either group protocol. confluent-kafka gives librdkafka a callback for rebalances in any case, and calls it in
    poll; `listener` has it call ours from there."""

    renews = False

    def __init__(self, settings: Settings, note: Note) -> None:
        self._settings = settings
        self._note = note
        config: dict[str, Any] = {
            **SILENT,
            "bootstrap.servers": settings.bootstrap,
            "client.id": settings.name,
            "group.id": settings.group,
            "group.protocol": settings.protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": settings.isolation,
            "max.poll.interval.ms": settings.poll_interval_ms,
            "fetch.wait.max.ms": 50,
        }
        if settings.protocol == CLASSIC:
            config |= {"session.timeout.ms": settings.session_ms, "heartbeat.interval.ms": settings.session_ms // 5}
        self._consumer = Consumer(config)
        callbacks: dict[str, Any] = {}
        if settings.listener:
            callbacks = {"on_assign": self._assigned, "on_revoke": self._revoked, "on_lost": self._lost}
        self._consumer.subscribe([settings.source], **callbacks)
        self._make()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            generation = self.said(self.metadata()).generation
            self._note("assigned", partition=each.partition, generation=generation)

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._note("revoked", partition=each.partition)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._note("lost", partition=each.partition)

    def _make(self) -> None:
        self._producer = Producer(
            {
                **SILENT,
                "bootstrap.servers": self._settings.bootstrap,
                "client.id": self._settings.name,
                "transactional.id": self._settings.txn,
                "transaction.timeout.ms": self._settings.transaction_ms,
                "message.timeout.ms": self._settings.transaction_ms,
                "linger.ms": 0,
                "retry.backoff.ms": 20,
            }
        )

    def init(self) -> None:
        self._call("init", self._producer.init_transactions, CALL_S)

    def poll(self, most: int) -> list[tuple[int, int]]:
        found = []
        try:
            messages = self._consumer.consume(most, POLL_S)
        except KafkaException:
            return []
        for message in messages:
            if message.error() is None:
                found.append((int(message.partition() or 0), int(message.offset() or 0)))
        return found

    def metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def no_metadata(self) -> Any:
        # Only a consumer makes what is asked for: one that has never joined says neither generation nor member id.
        alone = Consumer({**SILENT, "bootstrap.servers": "127.0.0.1:1", "group.id": self._settings.group})
        try:
            return alone.consumer_group_metadata()
        finally:
            alone.close()

    def said(self, metadata: Any) -> Membership:
        assert metadata.startswith(METADATA), metadata
        (generation,) = struct.unpack_from("=i", metadata, len(METADATA))
        _, member, *_ = metadata[len(METADATA) + 4 :].split(b"\0")
        return Membership(generation, member.decode())

    def begin(self) -> None:
        self._call("begin", self._producer.begin_transaction)

    def send(self, partition: int, value: bytes) -> None:
        self._call("send", self._producer.produce, self._settings.target, value, partition=partition)

    def flush(self) -> None:
        self._producer.flush(CALL_S)

    def send_offsets(self, offsets: dict[int, int], metadata: Any, tag: str) -> None:
        reported = [TopicPartition(self._settings.source, *place, tag) for place in offsets.items()]
        self._call("send_offsets", self._producer.send_offsets_to_transaction, reported, metadata, CALL_S)

    def commit(self) -> None:
        self._call("commit", self._producer.commit_transaction, CALL_S)

    def abort(self) -> None:
        self._call("abort", self._producer.abort_transaction, CALL_S)

    def rewind(self) -> None:
        while True:
            try:
                assigned = self._consumer.assignment()
                for each in self._consumer.committed(assigned, CALL_S) if assigned else ():
                    self._note("offset_fetched", partition=each.partition, offset=max(-1, each.offset))
                    self._consumer.seek(TopicPartition(each.topic, each.partition, max(0, each.offset)))
                return
            except KafkaException as error:  # the assignment has changed meanwhile, or an offset is still pending
                if error.args[0].fatal():
                    raise
                self._consumer.consume(1, POLL_S)  # what this may bring is sought back to

    def renew(self) -> None:
        self._producer.purge()
        self._make()

    def look(self) -> dict[str, Any]:
        return {
            "member": self._consumer.memberid(),
            "assignment": sorted(each.partition for each in self._consumer.assignment()),
        }

    def close(self) -> None:
        self._consumer.close()

    def _call(self, call: str, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        while True:
            try:
                method(*arguments, **keywords)
                return
            except KafkaException as raised:
                error = raised.args[0]
                if error.fatal():
                    raise FatalError(call, error.code(), error.str()) from raised
                if error.retriable() and not error.txn_requires_abort():
                    continue
                raise AbortableError(call, error.code(), error.str()) from raised
