"""kafka-python's clients as the copying application uses them: the classic group protocol only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kafka
from copy_client import CALL_S, POLL_S, AbortableError, FatalError, Membership, Note
from copy_settings import Settings
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata


class Producing:
    """The producer's half of a client."""

    renews = True

    def __init__(self, settings: Settings, note: Note) -> None:
        self._settings = settings
        self._note = note
        self._make()

    def _make(self) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=self._settings.bootstrap.split(","),
            client_id=self._settings.name,
            transactional_id=self._settings.txn,
            transaction_timeout_ms=self._settings.transaction_ms,
            max_block_ms=int(CALL_S * 1000),
            retry_backoff_ms=20,
            metrics_enabled=False,
        )

    def init(self) -> None:
        self._call("init", self._producer.init_transactions)

    def no_metadata(self) -> Any:
        return self._settings.group

    def said(self, metadata: Any) -> Membership:
        if isinstance(metadata, str):
            return Membership(-1, "")
        return Membership(metadata.generation_id, metadata.member_id or "")

    def begin(self) -> None:
        self._call("begin", self._producer.begin_transaction)

    def send(self, partition: int, value: bytes) -> None:
        self._call("send", self._producer.send, self._settings.target, value, partition=partition)

    def flush(self) -> None:
        self._call("flush", self._producer.flush, CALL_S)

    def send_offsets(self, offsets: dict[int, int], metadata: Any, tag: str) -> None:
        reported = {
            kafka.TopicPartition(self._settings.source, partition): OffsetAndMetadata(offset, tag, -1)
            for partition, offset in offsets.items()
        }
        self._call("send_offsets", self._producer.send_offsets_to_transaction, reported, metadata)

    def commit(self) -> None:
        self._call("commit", self._producer.commit_transaction)

    def abort(self) -> None:
        self._call("abort", self._producer.abort_transaction)
        # 3.0.12 keeps what was refused, and sends it with its next transaction: test_live_aborted_offsets.py.
        self.renew()

    def renew(self) -> None:
        with suppress(KafkaError):  # it waits for what its broker, which is away, has not acknowledged
            self._producer.close(timeout=0)
        self._make()

    def close(self) -> None:
        self._producer.close(timeout=5)

    def _call(self, call: str, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
        try:
            method(*arguments, **keywords)
        except (KafkaError, AssertionError) as raised:
            manager = self._producer._transaction_manager  # only it knows whether the instance can go on
            kind = FatalError if manager.has_fatal_error() or not manager.has_error() else AbortableError
            raise kind(call, int(getattr(raised, "errno", -1)), f"{type(raised).__name__}: {raised}") from raised


class KafkaPython(Producing):
    """A consumer and a producer of kafka-python's."""

    def __init__(self, settings: Settings, note: Note) -> None:
        super().__init__(settings, note)
        self._listener = _Listener(self) if settings.listener else None
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=settings.bootstrap.split(","),
            client_id=settings.name,
            group_id=settings.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level=settings.isolation,
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=settings.session_ms // 5,
            max_poll_interval_ms=settings.poll_interval_ms,
            fetch_max_wait_ms=50,
            metrics_enabled=False,
        )
        self._consumer.subscribe([settings.source], listener=self._listener)

    def poll(self, most: int) -> list[tuple[int, int]]:
        records = self._consumer.poll(timeout_ms=int(POLL_S * 1000), max_records=most)
        # 3.0.12 takes an answer that came too late for this poll for one of a later one: test_live_stale_offsets.py.
        self._consumer._coordinator._offset_fetch_futures.clear()
        return [(each.partition, each.offset) for partition in records.values() for each in partition]

    def metadata(self) -> Any:
        return self._consumer.group_metadata()

    def rewind(self) -> None:
        for each in self._consumer.assignment():
            known = self._consumer.committed(each)
            self._note("offset_fetched", partition=each.partition, offset=-1 if known is None else known)
            self._consumer.seek(each, known or 0)

    def look(self) -> dict[str, Any]:
        metadata = self._consumer.group_metadata()
        return {
            "member": metadata.member_id,
            "generation": metadata.generation_id,
            "assignment": sorted(each.partition for each in self._consumer.assignment()),
        }

    def close(self) -> None:
        super().close()
        self._consumer.close()


class _Listener(kafka.ConsumerRebalanceListener):
    """Takes note."""

    def __init__(self, client: KafkaPython) -> None:
        self._client = client

    def on_partitions_revoked(self, revoked: Any) -> None:
        for each in revoked:
            self._client._note("revoked", partition=each.partition)

    def on_partitions_assigned(self, assigned: Any) -> None:
        generation = self._client.said(self._client.metadata()).generation
        for each in assigned:
            self._client._note("assigned", partition=each.partition, generation=generation)
