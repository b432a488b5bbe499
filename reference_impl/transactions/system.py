"""The plug: a whole cluster with its clients behind the few operations by which a driver moves it, step by step.

>>> system = reference({"seed": 1, "mode": "v2", "clients": 1, "partitions": 1})
>>> system.init(0)  # initTransactions(): a request leaves
True
>>> system.messages()
[(0, 'init', 'client-0', 'coordinator', 0)]
>>> system.deliver(0)
>>> system.log_append()  # the new epoch is recorded, and answered
True
>>> system.messages()
[(1, 'init_answer', 'coordinator', 'client-0', 0)]
>>> system.deliver(1)
>>> system.begin(0) and system.send(0, 0)
True
>>> system.read(reader=0, partition=0)  # nothing is committed, nothing even appended
[]

Nothing happens between two calls: deliveries, appends to the transaction log and time are the driver's. `Parts` are
the pieces that a broken implementation replaces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.leader import OffsetsLeader, PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.offsets import OffsetsLog
from fencepost.reference_impl.transactions.brokers.record_batches import encode
from fencepost.reference_impl.transactions.brokers.transaction_log import TransactionLog
from fencepost.reference_impl.transactions.clients.admin import Admin
from fencepost.reference_impl.transactions.clients.clients import ClientSide
from fencepost.reference_impl.transactions.clients.consumer import Reader
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.clients.roles import AdminFactory, ProducerFactory, ReaderFactory
from fencepost.reference_impl.transactions.config import Config
from fencepost.reference_impl.transactions.environment import COORDINATOR, DrivenPace, Environment
from fencepost.reference_impl.transactions.messages import FetchResponse


@dataclass(frozen=True, slots=True)
class Parts:
    """The replaceable pieces of a cluster; the defaults are the correct ones."""

    producer: ProducerFactory = Producer
    admin: AdminFactory = Admin
    reader: ReaderFactory = Reader
    coordinator: type[Coordinator] = Coordinator
    leader: type[PartitionLeader] = PartitionLeader
    log: type[PartitionLog] = PartitionLog
    offsets_leader: type[OffsetsLeader] = OffsetsLeader
    offsets_log: type[OffsetsLog] = OffsetsLog


class InPieces:
    """A partition as it is for a reader whose fetches have room for so many batches."""

    def __init__(self, log: Any, most: int) -> None:
        self.partition, self.log, self.most = log.partition, log, most

    def fetch(self, offset: int, committed: bool) -> FetchResponse:
        """A piece of the log."""
        piece: FetchResponse = self.log.fetch(offset, committed, self.most)
        return piece


class OfKey:
    """An offsets partition as it is for who asks for the offset in one partition of the group's input."""

    def __init__(self, log: OffsetsLog, key: int) -> None:
        self.partition, self.log, self.key = log.partition, log, key
        self.fetch = log.fetch

    def fetch_offset(self) -> tuple[int, int]:
        """The one offset."""
        return self.log.fetch_offset(self.key)


class System(ClientSide):
    """One cluster. Slots, data partitions and groups are numbered from 0; offsets partitions follow the data ones."""

    def __init__(self, env: Environment, parts: Parts) -> None:
        super().__init__(env, parts.producer, parts.admin, parts.reader)
        config = env.config
        self.parts = parts
        self.transaction_log = TransactionLog()
        self.coordinator = self._new_coordinator(0)
        data = range(config.partitions)
        offsets = range(config.partitions, config.all_partitions)
        self.leaders: list[PartitionLeader] = [parts.leader(env, parts.log(env, number)) for number in data]
        self.leaders += [parts.offsets_leader(env, parts.offsets_log(env, number)) for number in offsets]
        for leader in self.leaders:
            env.network.nodes[leader.name] = leader
        self._new_producers()

    def log_append(self, ok: bool = True) -> bool:
        """The oldest unfinished append to the transaction log succeeds, or fails; False if there is none."""
        return self.coordinator.finish_append(ok)

    def fail_over(self, durable: bool = True) -> None:
        """Another node takes over the transaction log; `durable`: unfinished appends made it into the log (txn.19)."""
        self.coordinator.resign(durable)
        self.replace_coordinator()

    def replace_coordinator(self) -> None:
        """A new coordinator has the address, and loads the transaction log as it stands."""
        self.coordinator = self._new_coordinator(self.coordinator.coordinator_epoch + 1)
        self.coordinator.take_over()

    def send(self, slot: int, partition: int, count: int = 1) -> bool:
        """send() of one batch of so many records; for an offsets partition sendOffsetsToTransaction() of an offset for
        each partition of the group's input."""
        config = self.env.config
        count = config.keys if partition >= config.partitions else count
        return self.producers[slot].send(partition, count) if count > 1 else self.producers[slot].send(partition)

    def fence(self, txn_id: int = 0) -> bool:
        """Admin.fenceProducers([txn_id]) by a fresh admin instance (txn.22)."""
        return self.fence_id(txn_id)

    def leave(self, partition: int) -> None:
        """All replicas of a partition are down, and the metadata says so; what is sent there is lost."""
        self.leaders[partition].crash()
        self.env.leaderless.add(partition)

    def come_back(self, partition: int) -> None:
        """A replica is up again, and leads with what is in its log."""
        self.env.leaderless.discard(partition)
        self.leaders[partition].restart()
        self.leaders[partition].change()

    def change_leader(self, partition: int, restart: bool = False) -> None:
        """Another leader for the partition, or the same one after a restart: what was in memory only is gone."""
        self.leaders[partition].change(restart)

    def elect_unclean(self, partition: int, lost: int) -> None:
        """A replica leads that lacks the last `lost` batches and markers. Raises ValueError where it must not."""
        if not self.env.config.unclean_elections:
            raise ValueError("unclean_elections is false: no replica leads that is out of sync")
        log = self.leaders[partition].log
        end = len(log.batches)
        for _ in range(lost):
            end = log.first_of_batch(end - 1) if end else 0
        self.leaders[partition].cut_off(end)

    def read(
        self, reader: int, partition: int, committed: bool = True, offset: int = 0, most: int = 0
    ) -> list[tuple[int, int]]:
        """The (offset, record) pairs that a reader gets next, read_committed or read_uncommitted; of `most` batches, if
        that is not 0. One that has read nothing of the partition begins at `offset`."""
        log = self.leaders[partition].log
        return self._reader(reader).read(InPieces(log, most) if most else log, committed, offset)

    def fetch_offset(self, reader: int, partition: int, key: int = 0) -> tuple[int, int]:
        """OffsetFetch with require_stable of a group's partition: (error, record), record -1 if there is none. `key`:
        of which partition of the group's input."""
        log = self._offsets_log(partition)
        return self._reader(reader).fetch_offset(OfKey(log, key) if key else log)

    def log_bytes(self, partition: int) -> bytes:
        """The partition's log as Kafka's record batches (magic 2), control batches included."""
        log = self.leaders[partition].log
        return encode(log.batches, log.record_key())

    def _new_coordinator(self, epoch: int) -> Coordinator:
        coordinator = self.parts.coordinator(self.env, self.transaction_log, epoch)
        self.env.network.nodes[COORDINATOR] = coordinator
        return coordinator

    def _offsets_log(self, partition: int) -> OffsetsLog:
        log = self.leaders[partition].log
        if not isinstance(log, OffsetsLog):
            raise ValueError(
                f"partition {partition} holds records, not offsets: offsets partitions are numbered from "
                f"{self.env.config.partitions} to {self.env.config.all_partitions - 1}"
            )
        return log


def build(config: Mapping[str, Any], parts: Parts) -> System:
    """A driven cluster made of these parts."""
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace()), parts)


def reference(config: Mapping[str, Any]) -> System:
    """The reference implementation as a driven cluster; keys of `config`: `config.Config`. Raises ValueError."""
    return build(config, Parts())
