"""This module reads topics of a live Connect from outside, by requests of its own and not by a worker's client."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.connect.observing import AGAIN
from fencepost.reference_impl.live.tcp.brokers import TRANSACTION, Brokers
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import Patience, build, milliseconds, only, reading
from kio.records.readers import read_batch

PATIENCE_S = 30.0
MAX_BYTES = 2**26
FETCH = 11  # the newest version that names topics and has no further tags
COMMITTED = 1  # the isolation level
TRANSACTIONAL, CONTROL = 0x10, 0x20  # bits of a batch's attributes
MARKER = struct.Struct(">hh")  # the key of a control record: version and type, which is 0 for an abort
UNKNOWN_TOPIC = 3


class Read(NamedTuple):
    """A `Read` is a committed record of a topic: ``position``, the key as text, and the value as JSON."""

    position: int
    key: str
    value: Any


class Auditor:
    """An `Auditor` asks the brokers of one cluster. Its methods raise WireError where they do not answer."""

    def __init__(self, bootstrap: str) -> None:
        self._brokers = Brokers(bootstrap, PATIENCE_S)

    def close(self) -> None:
        self._brokers.close()

    def is_decided(self, transactional_ids: Iterable[str]) -> bool:
        """Return whether none of these ids has a transaction open. What is being ended is waited for."""
        for name in transactional_ids:
            state = "Prepare"
            for _ in Patience(PATIENCE_S):
                _, state = self._brokers.transaction(name)
                if not state.startswith("Prepare"):
                    break
            if state in ("Ongoing", "Prepare"):
                return False
        return True

    def time_out(self, transactional_id: str) -> None:
        """Have the coordinator do what it does when a transaction has taken too long: fence its producer and abort."""
        version = self._brokers.offered.version("init_producer_id") or 0
        request = build(
            "init_producer_id", version, since=("producer_id", "producer_epoch", "enable2_pc", "keep_prepared_txn"),
            transactional_id=transactional_id, transaction_timeout=milliseconds(1), producer_id=-1, producer_epoch=-1,
            enable2_pc=False, keep_prepared_txn=False,
        )  # fmt: skip
        for _ in Patience(PATIENCE_S):
            answer = self._brokers.ask(self._brokers.coordinator(TRANSACTION, transactional_id), request)
            if int(answer.error_code) not in AGAIN:
                return
            self._brokers.forget()
        raise WireError(f"{self._brokers.bootstrap}: {transactional_id} has a transaction that is not aborted")

    def committed(self, topic: str) -> list[Read]:
        """Return the committed records of a topic of one partition, none where it does not exist yet."""
        if self._brokers.refresh(topic).get(0, -1) < 0:
            return []
        partition = build("fetch", FETCH, "FetchPartition", partition=0, fetch_offset=0, partition_max_bytes=MAX_BYTES)
        request = build(
            "fetch", FETCH, max_wait=milliseconds(0), min_bytes=0, max_bytes=MAX_BYTES, isolation_level=COMMITTED,
            topics=(build("fetch", FETCH, "FetchTopic", topic=topic, partitions=(partition,)),),
            forgotten_topics_data=(),
        )  # fmt: skip
        answer = self._brokers.ask(self._brokers.leader(topic, 0), request)
        with reading(request, answer):
            found = only(only(answer.responses, "topics").partitions, "partitions")
            if error := int(found.error_code):
                raise WireError(f"{self._brokers.bootstrap}: topic {topic} cannot be read: {error_text(error)}")
            aborted = [(int(each.first_offset), int(each.producer_id)) for each in found.aborted_transactions or ()]
            return list(_committed(bytes(found.records or b""), sorted(aborted)))


def _committed(data: bytes, aborted: list[tuple[int, int]]) -> Iterator[Read]:
    """Yield the records but those of aborted transactions, each of which is given by its first offset and producer."""
    at, aborting = 0, set[int]()
    while at < len(data):
        batch, size = read_batch(data, at)
        at += size
        producer = int(batch.producer_id)
        while aborted and aborted[0][0] <= int(batch.base_offset):
            aborting.add(aborted.pop(0)[1])
        if batch.attributes & CONTROL:
            if MARKER.unpack_from(batch.records[0].key or b"")[1] == 0:
                aborting.discard(producer)
        elif not (batch.attributes & TRANSACTIONAL and producer in aborting):
            for record in batch.records:
                value = json.loads(record.value) if record.value else None
                yield Read(int(record.offset), (record.key or b"").decode(), value)
