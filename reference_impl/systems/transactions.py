"""This module is the interface of transactions, by which a driver moves a cluster with its clients, with its
replaceable parts and free runs. The protocol is in `kafka`.

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

Nothing happens between two calls: the driver controls deliveries, appends to the transaction log and time. `Parts` are
the pieces that a broken implementation replaces.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from fencepost.reference_impl.kafka.clients.admin import Admin
from fencepost.reference_impl.kafka.clients.consumer import Reader
from fencepost.reference_impl.kafka.clients.producer import Producer, State
from fencepost.reference_impl.kafka.clients.roles import (
    AdminFactory,
    ClientSide,
    ProducerFactory,
    ProducerRole,
    ReaderFactory,
)
from fencepost.reference_impl.kafka.environment import (
    COORDINATOR,
    Config,
    DrivenPace,
    Environment,
    SeededPace,
)
from fencepost.reference_impl.kafka.leader import OffsetsLeader, PartitionLeader
from fencepost.reference_impl.kafka.log import OffsetsLog, PartitionLog
from fencepost.reference_impl.kafka.messages import FetchResponse, WriteTxnMarkersRequest
from fencepost.reference_impl.kafka.record_batches import encode
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import Append, TransactionLog
from fencepost.reference_impl.simulation import FaultMix, Kernel, Network, free_run
from fencepost.reference_impl.simulation.config import Natural, Positive, Rate
from fencepost.reference_impl.simulation.free_run import LossyRun, NodeFaults


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the replaceable pieces of a cluster; the defaults are the correct ones."""

    producer: ProducerFactory = Producer
    admin: AdminFactory = Admin
    reader: ReaderFactory = Reader
    coordinator: type[Coordinator] = Coordinator
    leader: type[PartitionLeader] = PartitionLeader
    log: type[PartitionLog] = PartitionLog
    offsets_leader: type[OffsetsLeader] = OffsetsLeader
    offsets_log: type[OffsetsLog] = OffsetsLog


class InPieces:
    """An `InPieces` is a partition for a reader whose fetches have room for only this many batches."""

    def __init__(self, log: Any, most: int) -> None:
        self.partition, self.log, self.most = log.partition, log, most

    def fetch(self, offset: int, committed: bool) -> FetchResponse:
        piece: FetchResponse = self.log.fetch(offset, committed, self.most)
        return piece


class OfKey:
    """An `OfKey` is an offsets partition for a reader of the offset in one partition of the group's input."""

    def __init__(self, log: OffsetsLog, key: int) -> None:
        self.partition, self.log, self.key = log.partition, log, key
        self.fetch = log.fetch

    def fetch_offset(self) -> tuple[int, int]:
        return self.log.fetch_offset(self.key)


class System(ClientSide):
    """A `System` is one cluster. Offsets partitions are numbered after the data partitions."""

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
        """Let the oldest unfinished append to the transaction log succeed, or fail; return False if there is none."""
        return self.coordinator.finish_append(ok)

    def fail_over(self, durable: bool = True) -> None:
        """Let another node take over the transaction log, with unfinished appends if `durable` (txn.19)."""
        self.coordinator.resign(durable)
        self.replace_coordinator()

    def replace_coordinator(self) -> None:
        self.coordinator = self._new_coordinator(self.coordinator.coordinator_epoch + 1)
        self.coordinator.take_over()

    def send(self, slot: int, partition: int, count: int = 1) -> bool:
        """Call send() for one batch of this many records, or for an offsets partition sendOffsetsToTransaction() with
        an offset for each partition of the group's input."""
        config = self.env.config
        count = config.keys if partition >= config.partitions else count
        return self.producers[slot].send(partition, count) if count > 1 else self.producers[slot].send(partition)

    def fence(self, txn_id: int = 0) -> bool:
        """Call Admin.fenceProducers([txn_id]) with a fresh admin instance (txn.22)."""
        return self.fence_id(txn_id)

    def leave(self, partition: int) -> None:
        """Take all replicas of a partition down, which the metadata has too; what is sent there is lost."""
        self.leaders[partition].crash()
        self.env.leaderless.add(partition)

    def come_back(self, partition: int) -> None:
        self.env.leaderless.discard(partition)
        self.leaders[partition].restart()
        self.leaders[partition].change()

    def change_leader(self, partition: int, restart: bool = False) -> None:
        self.leaders[partition].change(restart)

    def elect_unclean(self, partition: int, lost: int) -> None:
        """Let a replica lead that lacks the last `lost` batches. Raise ValueError if this is not allowed."""
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
        """Return the (offset, record) pairs that a reader gets next, read_committed or read_uncommitted; with `most`,
        only those of that many batches. A reader that has read nothing of the partition begins at `offset`."""
        log = self.leaders[partition].log
        return self._reader(reader).read(InPieces(log, most) if most else log, committed, offset)

    def fetch_offset(self, reader: int, partition: int, key: int = 0) -> tuple[int, int]:
        """Return the (error, record) of an OffsetFetch with require_stable for a group's partition; the record is -1 if
        there is none. `key` is the partition of the group's input."""
        log = self._offsets_log(partition)
        return self._reader(reader).fetch_offset(OfKey(log, key) if key else log)

    def log_bytes(self, partition: int) -> bytes:
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
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace()), parts)


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven cluster; the keys of `config` are those of `config.Config`. Raise
    ValueError for an invalid configuration."""
    return build(config, Parts())


# Applications in a free-running history run transactions in a loop and take over ids, and readers read; this section
# has no faults.
#
# Each producer slot belongs to one transactional id, and several slots to the same one: the slot that initialises last
# fences the other ones, which go on until they find out. A fenced application starts anew after a while, and takes the
# id back.


@dataclass(frozen=True, slots=True)
class Habits(LossyRun):
    """`Habits` are how applications behave. Durations are means, in virtual microseconds."""

    records: Natural = 3  # per transaction, on average
    abort_share: Rate = 0.15  # transactions that the application itself wants aborted
    offsets_share: Rate = 0.3  # sends that commit a group's offset, where there are groups
    uncommitted_share: Rate = 0.1  # reads with isolation level read_uncommitted
    think_us: Natural = 5_000
    wait_us: Natural = 25_000  # until an application looks again whether what it waits for has come
    read_us: Natural = 25_000
    # After its events faults stop, what was begun is ended, and the history goes on until nothing is left to happen.
    quiet_end: bool = False
    # This is the time until a slot's first initialisation (except for one slot per id), and until a fenced slot's next
    # one.
    take_over_us: Natural = 200_000


BETWEEN = (State.UNINITIALIZED, State.READY, State.FATAL_ERROR)
"""In these states a producer has nothing under way."""


class Workload:
    """A `Workload` moves the applications of one history, by slot, and its readers, by number."""

    __slots__ = ("habits", "is_over", "kernel", "planned", "random", "system", "txn_ids")

    def __init__(self, system: System, habits: Habits, txn_ids: int) -> None:
        self.system = system
        self.habits = habits
        self.txn_ids = txn_ids
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random
        self.is_over = False  # nothing new is begun
        self.planned = [0] * system.env.config.clients  # records still to send in the transaction of each slot

    def first_delay_us(self, slot: int) -> int:
        """Return when an application starts: the first of each id at once, the other ones later."""
        return self.kernel.spread(self.habits.think_us if slot < self.txn_ids else self.habits.take_over_us)

    def act(self, slot: int) -> int:
        producer = self.system.producers[slot]
        assert isinstance(producer, Producer), "free-running histories are made with producers of this package"
        if not producer.running or producer.paused:
            return self.kernel.spread(self.habits.wait_us)
        return self.kernel.spread(self.call(producer, slot))

    def call(self, producer: Producer, slot: int) -> int:
        """Make the application's next call, if there is one now, and return its mean time until it looks again."""
        state = producer.state
        if state is State.IN_TRANSACTION:
            self.work(producer, slot)
        elif self.is_over and state in BETWEEN:
            return self.habits.wait_us
        elif state is State.READY:
            producer.begin()
            self.plan(slot)
            self.work(producer, slot)
        elif state is State.UNINITIALIZED:
            producer.init()
        elif state is State.ABORTABLE_ERROR:
            producer.abort()
        elif state is State.FATAL_ERROR:
            self.system.restart_client(slot)
            return self.habits.take_over_us
        else:
            return self.habits.wait_us
        return self.habits.think_us

    def plan(self, slot: int) -> None:
        self.planned[slot] = 1 + int(self.random() * 2 * self.habits.records)

    def work(self, producer: Producer, slot: int) -> None:
        if self.planned[slot]:
            self.planned[slot] -= 1
            producer.send(self.some_partition())
        elif self.random() < self.habits.abort_share:
            producer.abort()
        else:
            producer.commit()

    def some_partition(self) -> int:
        config = self.system.env.config
        if config.groups and self.random() < self.habits.offsets_share:
            return config.partitions + int(self.random() * config.groups)
        return int(self.random() * config.partitions)

    def read(self, reader: int) -> int:
        config = self.system.env.config
        partition = int(self.random() * config.all_partitions)
        if partition >= config.partitions:
            self.system.fetch_offset(reader, partition)
        else:
            self.system.read(reader, partition, self.random() >= self.habits.uncommitted_share)
        return self.kernel.spread(self.habits.read_us)


# This section has the node faults of a free-running history of transactions: how often they occur, how long they last,
# and what they do.


@dataclass(frozen=True, slots=True)
class FaultyRun(Habits):
    """A `FaultyRun` has the rates of faults, and the pace of brokers. Durations are means, in virtual microseconds."""

    readers: Natural = 1
    drop: Rate = 0.01
    duplicate: Rate = 0.02
    delay: Rate = 0.03
    append_failure: Rate = 0.01  # per append to the transaction log
    restart: Rate = 0.008  # per step: a producer crashes, and its successor is there after `down_us`
    pause: Rate = 0.02  # per step: a producer stands still for `pause_us`, and may be a zombie when it goes on
    fail_over: Rate = 0.012  # per step: another coordinator takes over
    new_leader: Rate = 0.012  # per step: another leader for some partition
    fence: Rate = 0.006  # per step: an administrator fences some transactional id
    append_us: Natural = 1_500
    load_us: Natural = 5_000
    delay_us: Natural = 100_000
    down_us: Natural = 50_000
    pause_us: Natural = 300_000


@dataclass(frozen=True, slots=True)
class Run(FaultyRun):
    """A `Run` is the configuration of a free-running history of transactions."""

    txn_ids: Positive = 2  # transactional ids; slot s has the id s modulo this number


R = TypeVar("R", bound=FaultyRun)
C = TypeVar("C", bound=Config)


class Faults(NodeFaults[R, System], Generic[R]):
    """`Faults` has the node faults of one history; the place is taken modulo the number of nodes."""

    names = ("restart", "pause", "fail_over", "new_leader", "fence")

    def __init__(self, system: System, run: R, kernel: Kernel, mix: FaultMix, txn_ids: int) -> None:
        super().__init__(system, run, kernel, mix)
        self.txn_ids = txn_ids

    def restart(self, number: int) -> bool:
        slot = number % self.system.env.config.clients
        producer = self.system.producers[slot]
        if not (isinstance(producer, Producer) and producer.running):
            return False
        producer.crash()
        self.kernel.after(self.kernel.spread(self.run.down_us), self.system.restart_client, slot)
        return True

    def pause(self, number: int) -> bool:
        return self.pause_for(self.run.pause_us, self.system.producers[number % self.system.env.config.clients])

    def fail_over(self, number: int) -> bool:
        self.system.fail_over(durable=bool(number & 1))
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % self.system.env.config.all_partitions)
        return True

    def fence(self, number: int) -> bool:
        """Fence one of the history's transactional ids with a fresh admin instance."""
        system = self.system
        admin = system.parts.admin(system.env, system.admins)
        system.env.network.nodes[admin.name] = admin
        system.admins += 1
        return admin.fence(number % self.txn_ids)


# This section has free-running histories of transactions: `simulate(7, {"mode": "v1-verified", "events": 400,
# "fail_over": 0.02})`.
#
# At most one node fault is drawn before each step of an application, so that rates are "per step" in histories of any
# length. Message faults are "per message", failed appends "per append".

TIME_OUTS = 20
"""After this many time-outs without a fault, even the longest pause is over and everything has ended."""


class FreeRunOf(free_run.FreeRun[R, C], Generic[R, C]):
    """A `FreeRunOf` is a history of transactions, of any kind of cluster that has `workload_type` applications."""

    workload_type: ClassVar[type[Workload]] = Workload

    def begin(self, parts: Any) -> None:
        kernel, run = self.kernel, self.run
        self.pace = SeededPace(kernel, self.faults, run.append_failure, run.append_us, run.load_us)
        self.network = run.network(kernel, self.faults)
        system, txn_ids = self.cluster(parts)
        self.rows = system.env.log.rows
        self.nodes = Faults(system, run, kernel, self.faults, txn_ids)
        self.workload = self.workload_type(system, run, txn_ids)
        for slot in range(self.config.clients):
            kernel.after(self.workload.first_delay_us(slot), self.step, slot)
        for reader in range(run.readers):
            kernel.after(kernel.spread(run.read_us), self.read, reader)

    def cluster(self, parts: Any) -> tuple[System, int]:
        """Return the cluster of this history, and the number of its transactional ids."""
        raise NotImplementedError(f"{type(self).__name__} must build its cluster: override cluster()")

    def settle(self) -> None:
        self.workload.is_over = True
        self.pace.stop_faults()
        self.network.calm()
        self.faults.stop()
        config = self.config
        self.kernel.advance(TIME_OUTS * 1_000 * max(config.transaction_timeout_ms, config.request_timeout_ms))

    def step(self, slot: int) -> None:
        self.nodes.draw()
        self.kernel.after(self.workload.act(slot), self.step, slot)

    def read(self, reader: int) -> None:
        self.kernel.after(self.workload.read(reader), self.read, reader)


class FreeRun(FreeRunOf[Run, Config]):
    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Time-outs are short enough to occur in short histories, and several instances use one id.
    cluster_defaults = {  # noqa: RUF012
        "clients": 4, "groups": 1, "transaction_timeout_ms": 200, "request_timeout_ms": 100, "timeout_check_ms": 50,
        "expiration_ms": 400, "expiration_check_ms": 100,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.transactions"

    def cluster(self, parts: Any) -> tuple[System, int]:
        run, config = self.run, self.config
        if run.txn_ids > config.clients:
            raise ValueError(f"config txn_ids={run.txn_ids}: give each one a slot, from 1 to clients={config.clients}")

        def producer(env: Environment, slot: int) -> ProducerRole:
            made: ProducerRole = parts.producer(env, slot, slot % run.txn_ids)
            return made

        env = Environment(config, self.kernel, self.network, self.pace)
        return System(env, replace(parts, producer=producer)), run.txn_ids


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats


# These are faults that scripts of known bugs inject into a cluster at a place of their own: upgrades, leaders that
# forget or lack the end of the log, and coordinators that overlap.

DEPOSED = "deposed-coordinator"  # address of the coordinator that was replaced and does not know it


def raise_version(system: System) -> None:
    """Let the cluster go on in v2 (transaction.version 2); this is called while no client is in a transaction."""
    system.env.config = replace(system.env.config, mode="v2")


def elect_unclean(system: System, partition: int, end: int) -> None:
    """Let a replica that is out of sync lead (unclean.leader.election.enable): its log ends at this offset, before a
    batch or a marker, and what follows is gone. It knows of producers only what its log contains.
    (ProducerStateManager.java)

    Raise ValueError for an offset within a batch.
    """
    leader = system.leaders[partition]
    if leader.log.first_of_batch(end) != end:
        raise ValueError(f"a log ends before or behind a batch, and offset {end} is within one")
    leader.cut_off(end)


def abort_hanging(system: System, partition: int) -> None:
    """Let an operator abort each transaction that is open in this partition while the coordinator has the partition in
    no transaction of that producer (kafka-transactions.sh find-hanging and abort). The marker has the epochs that the
    leader reports, and has no transaction version, so that an epoch that is not newer is accepted.
    (TransactionsCommand, AbortTransactionHandler)"""
    leader = system.leaders[partition]
    known = [metadata.now for metadata in system.coordinator.transactions.values()]
    awaited = {now.producer_id for now in known if partition in now.topic_partitions}
    for producer_id in sorted(leader.log.open.keys() - awaited):
        entry = leader.log.producers[producer_id]
        coordinator_epoch = max(0, entry.coordinator_epoch)
        request = WriteTxnMarkersRequest(producer_id, entry.epoch, False, partition, coordinator_epoch)
        leader.emit_marker(request, leader.log.append_marker(request))
        leader.note_stable_offset()


def expire_producers(system: System, partition: int) -> None:
    """Let a leader remove producers that have been idle for a day now, without waiting for its next check."""
    system.leaders[partition].log.forget_idle()


def depose(system: System) -> None:
    """Let another node take over the transaction log; the old coordinator is cut off, and answers from its cache.

    What the old coordinator appends from then on is never acknowledged; what it was appending is lost.
    """
    deposed = system.coordinator
    while system.transaction_log.finish(ok=False) is not None:
        pass
    deposed.transaction_log = TransactionLog()
    system.env.network.nodes[DEPOSED] = deposed
    system.replace_coordinator()


def misdirect(system: System, numbers: Iterable[int]) -> None:
    """Send these messages to the deposed coordinator, because their senders do not know yet that there is a new one."""
    for number in numbers:
        system.env.network.in_flight[number].target = DEPOSED


def fail_over_uncovered(system: System) -> None:
    """Let another node take over whose log has the pending appends above the high watermark."""
    system.coordinator.crash()
    log = system.transaction_log
    log.unfinished = deque(Append(append.record, unheard) for append in log.unfinished)
    system.replace_coordinator()


def unheard(ok: bool) -> None:
    """Ignore the outcome of an append, because the node that appended the record is gone."""
