"""Asks a live broker one raw request after another, as one transactional id with a topic and a group to itself.

Producer ids are called A, B, … in the order in which the broker first named them, so that a program and what it expects
can be written down beforehand. Every method sends one request and returns the answer: what was asked for, or else the
error code. Only `until` and `settled` ask again, within a bounded time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from asking_records import committed_values, data_batch, read_batches, values
from fencepost.reference_impl.live.tcp.connection import Connection
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from kio.schema.errors import ErrorCode

COMMIT, ABORT = True, False
SOON = tuple(map(ErrorCode, (14, 15, 16)))  # the coordinator is not there yet
GROUP, TRANSACTION = 0, 1  # kinds of coordinators
PARTITIONS = 3
PATIENCE_S = 20.0
VERSIONS = {"v1": {"produce": 11, "end_txn": 4, "txn_offset_commit": 4}}  # what clients before KIP-890, part 2, send
NEWEST = {
    "produce": 12, "init_producer_id": 5, "add_partitions_to_txn": 3, "add_offsets_to_txn": 4, "end_txn": 5,
    "txn_offset_commit": 5, "offset_fetch": 7, "fetch": 12, "write_txn_markers": 1, "join_group": 5, "sync_group": 3,
    "heartbeat": 3, "offset_delete": 0, "delete_groups": 1,
}  # fmt: skip
Answer = Any
Producer = str | int  # a letter; or a number, for one that the broker never gave


@dataclass
class Asker:
    """One transactional id `txn` with topic and group `name`, asked of the one broker at `address` (`host:port`).

    `style` says which client it speaks as: "v2" (KIP-890, part 2) or "v1".
    """

    address: str
    name: str
    style: str = "v2"
    txn: str = ""
    names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.txn = self.txn or self.name
        self.versions = {**NEWEST, **VERSIONS.get(self.style, {})}
        self.reconnect()

    def reconnect(self) -> None:
        """A new connection."""
        host, _, port = self.address.rpartition(":")
        self.connection = Connection(host, int(port), 30)

    def prepare(self) -> None:
        """Create the topic, and wait until both coordinators are there."""
        self.until(lambda: self.create_topic() in (ErrorCode(0), ErrorCode(36)))
        self.until(lambda: self.find_coordinator(GROUP) == ErrorCode.none)
        self.until(lambda: self.find_coordinator(TRANSACTION) == ErrorCode.none)
        self.until(lambda: all(not isinstance(self.log(partition), ErrorCode) for partition in range(PARTITIONS)))
        ready = self.other("ready")
        ready.names = {}
        self.until(lambda: ready.init() not in SOON)

    def other(self, name: str = "") -> Asker:
        """The same topic, group and letters over another connection; with `name`, as another transactional id."""
        return Asker(self.address, self.name, self.style, f"{self.name}-{name}" if name else self.txn, self.names)

    # Who may write

    def init(
        self,
        producer: Producer = -1,
        epoch: int = -1,
        *,
        timeout_ms: int = 60_000,
        txn: str | None = "own",
        version: int | None = None,
        **two_phase: bool,
    ) -> Answer:
        """InitProducerId: (producer, epoch). `two_phase` is enable2_pc and keep_prepared_txn of its version 6."""
        answer = self.send(
            "init_producer_id", version, transactional_id=self.txn if txn == "own" else txn,
            transaction_timeout=milliseconds(timeout_ms), producer_id=self.id(producer), producer_epoch=epoch,
            **two_phase,
        )  # fmt: skip
        return answer.error_code or (self.letter(answer.producer_id), int(answer.producer_epoch))

    # What a transaction consists of

    def add(self, producer: Producer, epoch: int, *partitions: int, version: int | None = None) -> Answer:
        """AddPartitionsToTxn: an error (0: none) for each partition."""
        topics = (build("add_partitions_to_txn", 3, "AddPartitionsToTxnTopic", name=self.name, partitions=partitions),)
        answer = self.send(
            "add_partitions_to_txn", version, v3_and_below_transactional_id=self.txn, v3_and_below_topics=topics,
            v3_and_below_producer_id=self.id(producer), v3_and_below_producer_epoch=epoch,
        )  # fmt: skip
        (topic,) = answer.results_by_topic_v3_and_below
        errors = {int(each.partition_index): each.partition_error_code for each in topic.results_by_partition}
        return errors[partitions[0]] if len(partitions) == 1 else [errors[partition] for partition in partitions]

    def add_offsets(self, producer: Producer, epoch: int) -> Answer:
        """AddOffsetsToTxn: an error."""
        return self.send(
            "add_offsets_to_txn", None, transactional_id=self.txn, producer_id=self.id(producer), producer_epoch=epoch,
            group_id=self.name,
        ).error_code  # fmt: skip

    def produce(
        self,
        producer: Producer,
        epoch: int,
        sequence: int,
        *,
        partition: int = 0,
        count: int = 1,
        transactional: bool = True,
        txn: str | None = "own",
        version: int | None = None,
    ) -> Answer:
        """Produce one batch of `count` records: its first offset. A record says who wrote it: A/epoch/sequence."""
        texts = [f"{producer}/{epoch}/{sequence + each}" for each in range(count)]
        records = data_batch(self.id(producer), epoch, sequence, texts, transactional)
        version = version or self.versions["produce"]
        data = build("produce", version, "PartitionProduceData", index=partition, records=records)
        topics = (build("produce", version, "TopicProduceData", name=self.name, partition_data=(data,)),)
        own = self.txn if transactional else None
        answer = self.send(
            "produce", version, transactional_id=own if txn == "own" else txn, acks=-1, timeout=milliseconds(10_000),
            topic_data=topics,
        )  # fmt: skip
        (reported,) = answer.responses[0].partition_responses
        return reported.error_code or int(reported.base_offset)

    def commit_offset(
        self,
        producer: Producer,
        epoch: int,
        offset: int,
        *,
        generation: int = -1,
        member: str = "",
        instance: str | None = None,
        version: int | None = None,
    ) -> Answer:
        """TxnOffsetCommit of one offset for partition 0: an error."""
        version = version or self.versions["txn_offset_commit"]
        partition = build(
            "txn_offset_commit", version, "TxnOffsetCommitRequestPartition", partition_index=0,
            committed_offset=offset, committed_leader_epoch=-1, committed_metadata="",
        )  # fmt: skip
        topic = build(
            "txn_offset_commit", version, "TxnOffsetCommitRequestTopic", name=self.name, partitions=(partition,)
        )
        answer = self.send(
            "txn_offset_commit", version, transactional_id=self.txn, group_id=self.name, producer_id=self.id(producer),
            producer_epoch=epoch, generation_id=generation, member_id=member, group_instance_id=instance,
            topics=(topic,),
        )  # fmt: skip
        return answer.topics[0].partitions[0].error_code

    def end(self, producer: Producer, epoch: int, committed: bool, *, version: int | None = None) -> Answer:
        """EndTxn: an error; from version 5 on a success is the (producer, epoch) to go on with."""
        answer = self.send(
            "end_txn", version, transactional_id=self.txn, producer_id=self.id(producer), producer_epoch=epoch,
            committed=committed,
        )  # fmt: skip
        if answer.error_code or not hasattr(answer, "producer_id"):
            return answer.error_code
        return self.letter(answer.producer_id), int(answer.producer_epoch)

    def marker(
        self,
        producer: Producer,
        epoch: int,
        committed: bool,
        *,
        coordinator_epoch: int = 0,
        transaction_version: int | None = None,
        partition: int = 0,
    ) -> Answer:
        """WriteTxnMarkers, as if we were a coordinator: an error. `transaction_version`: KIP-1228, version 2."""
        version = 1 if transaction_version is None else 2
        topic = build(
            "write_txn_markers", version, "WritableTxnMarkerTopic", name=self.name, partition_indexes=(partition,)
        )
        marker = build(
            "write_txn_markers", version, "WritableTxnMarker", since=("transaction_version",),
            producer_id=self.id(producer), producer_epoch=epoch, transaction_result=committed, topics=(topic,),
            coordinator_epoch=coordinator_epoch, transaction_version=transaction_version,
        )  # fmt: skip
        answer = self.send("write_txn_markers", version, markers=(marker,))
        return answer.markers[0].topics[0].partitions[0].error_code

    # What there is

    def fetch(self, partition: int, committed: bool, start: int = 0, topic: str = "") -> Answer:
        """Fetch: (record batches, last stable offset, [(producer id, first offset) of aborted transactions]), of the
        own topic if none is named."""
        part = build(
            "fetch", 12, "FetchPartition", partition=partition, current_leader_epoch=-1, fetch_offset=start,
            last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=1 << 20,
        )  # fmt: skip
        answer = self.send(
            "fetch", 12, replica_id=-1, max_wait=milliseconds(0), min_bytes=0, max_bytes=1 << 20,
            isolation_level=int(committed), session_id=0, session_epoch=-1, cluster_id=None, rack_id="",
            topics=(build("fetch", 12, "FetchTopic", topic=topic or self.name, partitions=(part,)),),
            forgotten_topics_data=(),
        )  # fmt: skip
        (data,) = answer.responses[0].partitions
        aborted = [(int(each.producer_id), int(each.first_offset)) for each in data.aborted_transactions or ()]
        return data.error_code or (list(read_batches(data.records or b"")), int(data.last_stable_offset), aborted)

    def log(self, partition: int = 0, *, committed: bool = False, start: int = 0) -> Answer:
        """What a fetch brings: ([records and markers], last stable offset, [(producer, first offset)] aborted)."""
        answer = self.fetch(partition, committed, start)
        if isinstance(answer, ErrorCode):
            return answer
        batches, stable, aborted = answer
        records = [text for batch in batches for text in values(batch)]
        return records, stable, [(self.letter(producer), first) for producer, first in aborted]

    def read(self, partition: int = 0) -> Answer:
        """What a read_committed consumer makes of it: the records of committed transactions, from the start on."""
        answer = self.fetch(partition, True)
        return answer if isinstance(answer, ErrorCode) else committed_values(answer[0], answer[2])

    def offset(self, partition: int = 0, *, stable: bool = True) -> Answer:
        """OffsetFetch of a partition: the committed offset, -1 for none."""
        topic = build("offset_fetch", 7, "OffsetFetchRequestTopic", name=self.name, partition_indexes=(partition,))
        answer = self.send("offset_fetch", 7, group_id=self.name, topics=(topic,), require_stable=stable)
        if answer.error_code:
            return answer.error_code
        (reported,) = answer.topics[0].partitions
        return reported.error_code or int(reported.committed_offset)

    def delete_offset(self) -> Answer:
        """OffsetDelete of partition 0, as an operator sends it: an error."""
        partition = build("offset_delete", 0, "OffsetDeleteRequestPartition", partition_index=0)
        topic = build("offset_delete", 0, "OffsetDeleteRequestTopic", name=self.name, partitions=(partition,))
        answer = self.send("offset_delete", None, group_id=self.name, topics=(topic,))
        return answer.error_code or answer.topics[0].partitions[0].error_code

    def delete_group(self) -> Answer:
        """DeleteGroups, as an operator sends it: an error."""
        return self.send("delete_groups", None, groups_names=(self.name,)).results[0].error_code

    def described(self) -> Answer:
        """DescribeTransactions: (state, producer, epoch, [partitions of the topic])."""
        (reported,) = self.send("describe_transactions", 0, transactional_ids=(self.txn,)).transaction_states
        partitions = sorted(int(number) for topic in reported.topics for number in topic.partitions)
        return reported.error_code or (
            reported.transaction_state, self.letter(reported.producer_id), int(reported.producer_epoch), partitions
        )  # fmt: skip

    def time_out_ms(self) -> int:
        """DescribeTransactions: the time-out of the transactional id."""
        (reported,) = self.send("describe_transactions", 0, transactional_ids=(self.txn,)).transaction_states
        return round(1_000 * reported.transaction_timeout.total_seconds())

    def producers(self, partition: int = 0) -> Answer:
        """DescribeProducers: [(producer, epoch, last sequence, first offset of its open transaction or -1)]."""
        topic = build("describe_producers", 0, "TopicRequest", name=self.name, partition_indexes=(partition,))
        (reported,) = self.send("describe_producers", 0, topics=(topic,)).topics[0].partitions
        found = [
            (
                self.letter(each.producer_id),
                *map(int, (each.producer_epoch, each.last_sequence, each.current_txn_start_offset)),
            )
            for each in reported.active_producers
        ]
        return reported.error_code or sorted(found)

    # Membership of the group

    def join_group(self, member: str = "", instance: str | None = None) -> tuple[str, int]:
        """JoinGroup and SyncGroup: (member id, generation). Returns when every member has joined."""
        protocol = build("join_group", 5, "JoinGroupRequestProtocol", name="any", metadata=b"")
        joined = self.send(
            "join_group", None, group_id=self.name, session_timeout=milliseconds(10_000), member_id=member,
            rebalance_timeout=milliseconds(10_000), group_instance_id=instance, protocol_type="consumer",
            protocols=(protocol,),
        )  # fmt: skip
        if joined.error_code == ErrorCode.member_id_required:
            return self.join_group(joined.member_id, instance)
        generation = int(joined.generation_id)
        self.send(
            "sync_group", None, group_id=self.name, generation_id=generation, member_id=joined.member_id,
            group_instance_id=instance, assignments=(),
        )  # fmt: skip
        return joined.member_id, generation

    def heartbeat(self, member: str, generation: int) -> ErrorCode:
        """Heartbeat: 27 while the group rebalances."""
        return self.send(
            "heartbeat", None, group_id=self.name, generation_id=generation, member_id=member, group_instance_id=None
        ).error_code

    # Around it

    def settled(self) -> tuple[str, int]:
        """Wait until no transaction of this id is between Prepare and Complete: its (state, epoch)."""

        def found() -> Answer:
            answer = self.described()
            return not isinstance(answer, ErrorCode) and not answer[0].startswith("Prepare") and answer

        state, _, epoch, _ = self.until(found)
        return state, epoch

    def until(self, met: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
        """Ask again until it is as it should be: what it then is. Raises TimeoutError."""
        deadline = time.monotonic() + patience_s
        while not (last := met()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.address}: {self.name}: still {last!r} after {patience_s:.0f} s")
            time.sleep(0.02)
        return last

    def wait_until_loaded(self) -> None:
        """Wait until the coordinator knows the id again, and the partitions have a leader."""
        self.until(lambda: self.described() not in SOON)
        self.until(lambda: all(not isinstance(self.log(partition), ErrorCode) for partition in range(PARTITIONS)))

    def create_topic(self) -> ErrorCode:
        """Of three partitions."""
        topic = build(
            "create_topics", 5, "CreatableTopic", name=self.name, num_partitions=PARTITIONS, replication_factor=-1,
            assignments=(), configs=(),
        )  # fmt: skip
        return self.send("create_topics", 5, topics=(topic,), timeout=milliseconds(10_000)).topics[0].error_code

    def find_coordinator(self, kind: int) -> ErrorCode:
        """Of the group (0) or the transactional id (1); the first one who asks makes the broker create its topic."""
        return self.send("find_coordinator", 3, key=self.name, key_type=kind).error_code

    def newest(self, key: int) -> int:
        """The newest version of a request that the broker takes: brokers speak it among themselves."""
        answer = self.send("api_versions", 3, client_software_name="fencepost", client_software_version="1")
        return next(int(each.max_version) for each in answer.api_keys if int(each.api_key) == key)

    def send(self, api: str, version: int | None, **fields: Any) -> Any:
        """One request, one answer."""
        return self.connection.call(build(api, self.versions[api] if version is None else version, **fields))

    def id(self, producer: Producer) -> int:
        """The number behind a letter."""
        return (
            producer if isinstance(producer, int) else next(n for n, letter in self.names.items() if letter == producer)
        )

    def letter(self, producer_id: int) -> str:
        """The letter of a number, which gets the next one when it is new."""
        return self.names.setdefault(int(producer_id), chr(ord("A") + len(self.names)))
