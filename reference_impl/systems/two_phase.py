"""This module is the interface of two-phase commit (KIP-939), by which a driver moves a cluster with its applications
and their outside stores, with its replaceable parts and free runs. The protocol is in `kafka.two_phase`.

>>> system = reference({"clients": 1, "partitions": 1})
>>> system.init(0), system.settle(), system.read_store(0), system.begin(0), system.send(0, 0)
(True, None, True, True, True)
>>> system.settle()
>>> system.prepare(0), system.prepared_state(0), system.decide(0, True)
(True, '0:0', True)
>>> system.restart_client(0)  # the transaction waits for the next instance, however long that takes
>>> system.init(0, keep=True), system.settle(), system.read_store(0), system.complete(0), system.settle()
(True, None, True, True, None)
>>> system.read(0, 0)
[(0, 0)]
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fencepost.reference_impl.kafka.clients.producer import Producer, State
from fencepost.reference_impl.kafka.clients.roles import AdminFactory, ProducerFactory, ProducerRole
from fencepost.reference_impl.kafka.environment import DrivenPace
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.two_phase.client import Application, Store, TwoPhaseAdmin, TwoPhaseProducer
from fencepost.reference_impl.kafka.two_phase.coordinator import Described, RetainingCoordinator, TwoPhaseCoordinator
from fencepost.reference_impl.kafka.two_phase.environment import NOT_RETAINED, Config, Environment
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.simulation.config import Rate
from fencepost.reference_impl.systems import transactions


@dataclass(frozen=True, slots=True)
class Parts(transactions.Parts):
    """`Parts` has the replaceable pieces of a cluster; the defaults are the correct ones."""

    producer: ProducerFactory = TwoPhaseProducer
    admin: AdminFactory = TwoPhaseAdmin
    coordinator: type[Coordinator] = RetainingCoordinator
    older: type[Coordinator] = TwoPhaseCoordinator
    application: type[Application] = Application
    store: type[Store] = Store


class System(transactions.System):
    """A `System` is one cluster. Slot s has the transactional id s % ids, and each id has an outside store."""

    env: Environment
    coordinator: TwoPhaseCoordinator

    def __init__(self, env: Environment, parts: Parts) -> None:
        self.older, self.newer = parts.older, parts.coordinator
        self.stores = [parts.store(env, txn_id) for txn_id in range(env.config.ids)]
        self.applications: dict[int, Application] = {}
        self.application = parts.application
        super().__init__(env, replace(parts, coordinator=parts.older) if env.config.mode == NOT_RETAINED else parts)

    # Applications

    def init(self, slot: int, keep: bool = True, two_phase: bool = True) -> bool:
        """Claim the outside store of the id, and call initTransactions(keep) of a producer with or without two-phase
        commit."""
        return self._of(slot).init(keep, two_phase)

    def begin(self, slot: int) -> bool:
        return self._of(slot).begin()

    def prepare(self, slot: int) -> bool:
        """Call prepareTransaction()."""
        return self._of(slot).producer.prepare()

    def prepared_state(self, slot: int) -> str:
        """Return the prepared state of the slot's transaction as text, empty if none is prepared."""
        return self._of(slot).producer.prepared_state

    def read_store(self, slot: int) -> bool:
        """Let the instance read the decision in the outside store, if that is still its own."""
        return self._of(slot).read_store()

    def decide(self, slot: int, commit: bool) -> bool:
        """Let the instance write the outcome of its prepared transaction to the store."""
        return self._of(slot).decide(commit)

    def complete(self, slot: int) -> bool:
        """Call completeTransaction() with what the store has."""
        return self._of(slot).complete()

    def commit(self, slot: int) -> bool:
        """Call commitTransaction(), whatever the store has."""
        return self._of(slot).commit()

    def is_over(self, slot: int) -> bool:
        """Return whether the instance has ended by a fatal error."""
        return self._of(slot).producer.state is State.FATAL_ERROR

    # Operators

    def force_terminate(self, txn_id: int = 0) -> bool:
        """Call Admin.forceTerminateTransaction, which is fenceProducers under another name (PR 19276)."""
        return self.fence_id(txn_id)

    def list_transactions(self, running_longer_than_ms: int = -1) -> list[tuple[int, int, int]]:
        """Return the (transactional id, state, producer id) that ListTransactions has."""
        return self.coordinator.list_transactions(running_longer_than_ms)

    def describe(self, txn_id: int) -> Described | None:
        """Return what DescribeTransactions has of an id."""
        return self.coordinator.describe(txn_id)

    def downgrade(self) -> bool:
        """Let a coordinator of trunk take over, and return False if one runs already."""
        return self._change_to(self.older)

    def upgrade(self) -> bool:
        """Let a coordinator that retains transactions take over, and return False if one runs already."""
        return self._change_to(self.newer)

    def _change_to(self, level: type[Coordinator]) -> bool:
        changes, self.parts = self.parts.coordinator is not level, replace(self.parts, coordinator=level)
        if changes:
            self.fail_over()
        return changes

    def settle(self) -> None:
        """Deliver everything and let every append succeed, without time passing, until nothing is in flight."""
        while self.env.network.in_flight or self.transaction_log.unfinished:
            self.env.network.deliver_all()
            self.log_append()

    def _new_producer(self, slot: int) -> ProducerRole:
        producer = super()._new_producer(slot)
        assert isinstance(producer, TwoPhaseProducer), "an application needs a producer with two-phase commit"
        self.applications[slot] = self.application(self.env, producer, self.stores[producer.txn_id])
        return producer

    def _of(self, slot: int) -> Application:
        return self.applications[slot]


OF_RUNS = frozenset({"protocol", "events", "broken"})
"""A simulated history's config has these keys in addition, which are about the run and not about the system."""


def build(config: Mapping[str, Any], parts: Parts) -> System:
    checked = Config.parse({name: value for name, value in config.items() if name not in OF_RUNS})
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace()), parts)


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven cluster; the keys of `config` are those of
    `kafka.two_phase.environment.Config`. Raise ValueError for an invalid configuration."""
    return build(config, Parts())


# Applications in a free-running history use two-phase commit as the KIP has it. Each instance claims the store, is
# initialised, reads the store, and ends what it has found by completeTransaction(). Its own transactions it prepares,
# decides once, and completes. An instance that the store refuses, or that is fenced, starts anew later. Some instances
# do without two-phase commit, and some do not ask for what is open, which aborts it.


@dataclass(frozen=True, slots=True)
class Run(transactions.FaultyRun):
    """A `Run` is the configuration of a free-running history of two-phase commit. Its fences are forced aborts by an
    operator."""

    fence: Rate = 0.002
    decided_abort_share: Rate = 0.15  # prepared transactions that are decided to be aborted
    ordinary_share: Rate = 0.1  # instances without two-phase commit
    discard_share: Rate = 0.05  # instances that do not ask for what is open (keepPreparedTxn is false)


class Workload(transactions.Workload):
    """A `Workload` moves the applications of one history, by slot, with their outside stores."""

    system: System
    habits: Run

    def call(self, producer: Producer, slot: int) -> int:
        assert isinstance(producer, TwoPhaseProducer), "an application needs a producer with two-phase commit"
        application, state = self.system.applications[slot], producer.state
        if state is State.UNINITIALIZED:
            keeps = self.is_over or self.random() >= self.habits.discard_share
            application.init(keeps, self.random() >= self.habits.ordinary_share)
        elif state is State.FATAL_ERROR or self.is_refused(application):
            self.system.restart_client(slot)
            return self.habits.take_over_us
        elif state in (State.READY, State.PREPARED_TRANSACTION) and application.found is None:
            application.read_store()
        elif state is State.READY and not self.is_over:
            application.begin()
            self.plan(slot)
            self.work(producer, slot)
        elif state is State.PREPARED_TRANSACTION:
            self.end(application)
        elif state is State.IN_TRANSACTION and not producer.preparing:
            self.work(producer, slot)
        elif state is State.ABORTABLE_ERROR:
            producer.abort()
        else:
            return self.habits.wait_us
        return self.habits.think_us

    def is_refused(self, application: Application) -> bool:
        """Return whether another instance owns the store by now, where this one needs it for what comes next."""
        state = application.producer.state
        asks = state is State.PREPARED_TRANSACTION and application.producer.txn >= 0 and application.decided is None
        reads = state in (State.READY, State.PREPARED_TRANSACTION) and application.found is None
        return (asks or reads) and application.claim >= 0 and not application.store.takes(application.claim)

    def work(self, producer: Producer, slot: int) -> None:
        application = self.system.applications[slot]
        if self.planned[slot] or not application.producer.two_phase:
            self.send_or_end(application, slot)
        elif self.random() < self.habits.abort_share:
            producer.abort()
        else:
            application.producer.prepare()

    def send_or_end(self, application: Application, slot: int) -> None:
        if self.planned[slot]:
            super().work(application.producer, slot)
        elif self.random() < self.habits.abort_share:
            application.producer.abort()
        else:
            application.commit()

    def end(self, application: Application) -> None:
        """Decide what the instance has prepared, or complete what it has found, or decided."""
        if application.producer.txn >= 0 and application.decided is None:
            application.decide(self.random() >= self.habits.decided_abort_share)
        else:
            application.complete()


class FreeRun(transactions.FreeRunOf[Run, Config]):
    run_type, config_type, parts_type, faults_type = Run, Config, Parts, transactions.Faults
    workload_type = Workload
    # Time-outs are short enough to occur in short histories, and several instances use one id.
    cluster_defaults = {  # noqa: RUF012
        "clients": 4, "ids": 2, "transaction_timeout_ms": 200, "request_timeout_ms": 100, "timeout_check_ms": 50,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.two_phase"

    def cluster(self, parts: Any) -> tuple[System, int]:
        config = self.config
        if config.ids > config.clients:
            raise ValueError(f"config ids={config.ids}: give each one a slot, from 1 to clients={config.clients}")
        return System(Environment(config, self.kernel, self.network, self.pace), parts), config.ids


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
