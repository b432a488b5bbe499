"""This module has the producers of Flink's Kafka sink, and how the sink waits for them.

Flink changes Kafka's producer by reflection (FlinkKafkaInternalProducer.java): it sets the producer id and the epoch of
a transaction that another instance has begun, and commits that.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from fencepost.reference_impl.kafka.clients.producer import State
from fencepost.reference_impl.kafka.errors import ErrorCode, Verdict, error_text
from fencepost.reference_impl.kafka.transaction_states import TransactionState
from fencepost.reference_impl.kafka.two_phase.client import Pair, TwoPhaseProducer
from fencepost.reference_impl.kafka.two_phase.environment import Environment

WAIT_MS, WAITS = 100, 1_000


class Cluster(Protocol):
    """A `Cluster` is what a job needs of Kafka: the driven system of `systems.two_phase`."""

    env: Environment

    def settle(self) -> None: ...
    def advance(self, ms: int, /) -> None: ...
    def list_transactions(self) -> list[tuple[int, int, int]]: ...


class SinkError(Exception):
    """A `SinkError` ends the attempt: the job restarts from the last completed checkpoint."""


class SinkProducer(TwoPhaseProducer):
    """A `SinkProducer` is Kafka's producer with what Flink adds by reflection."""

    error = ErrorCode.NONE

    def resume_transaction(self, pair: Pair) -> None:
        """Be in the transaction of this producer id and epoch, without asking a broker."""
        self.adopt(*pair)
        self.own, self.started, self.state = pair, True, State.IN_TRANSACTION

    def write(self, partition: int) -> int:
        """Send a record, and return its number. Raise SinkError in a state that does not allow it."""
        if not self.send(partition):
            raise SinkError(f"{self.name} cannot write in {self.state.name} ({error_text(self.error)}); restart")
        lane = self.sends.lanes[partition]
        return lane.unsent[-1][0] if lane.unsent else lane.in_flight[-1].record

    def fail(self, verdict: Verdict, error: int) -> None:
        self.error = error
        super().fail(verdict, error)


@dataclass(slots=True)
class Clients:
    """The `Clients` are a job's producers. Transactional ids are numbers in the reference; ``names`` has the name of
    each, and the jobs of one cluster share it."""

    cluster: Cluster
    names: list[str]
    producers: list[SinkProducer] = field(default_factory=list)

    def producer(self, name: str) -> SinkProducer:
        """Return a new producer, whose address is its own. Raise ValueError if the cluster has no id left."""
        env, names = self.cluster.env, self.names
        if name not in names:
            names.append(name)
        if len(names) > env.config.ids:
            raise ValueError(f"no number for {name!r}: the cluster has {env.config.ids} ids; configure more")
        producer = SinkProducer(env, len(env.network.nodes) * env.config.ids + names.index(name))
        env.network.nodes[producer.name] = producer
        self.producers.append(producer)
        return producer

    def initialised(self, name: str, two_phase: bool, keep: bool = False) -> SinkProducer:
        """Return a new producer after initTransactions(keep). Raise SinkError if that fails."""
        producer = self.producer(name)
        producer.init_with(keep, two_phase)
        self.wait(producer, lambda: producer.state is not State.INITIALIZING, f"initTransactions of {name}")
        return producer

    def wait(self, producer: SinkProducer, is_done: Callable[[], bool], what: str, known: Collection[int] = ()) -> None:
        """Let the cluster go on until this is so. Raise SinkError if the producer fails before, for any but a known
        reason, and TimeoutError after WAITS times WAIT_MS."""
        for _ in range(WAITS):
            self.cluster.settle()
            if producer.error and producer.error not in known:
                raise SinkError(f"{what}: {error_text(producer.error)}; restart from the last completed checkpoint")
            if producer.error or is_done():
                return
            self.cluster.advance(WAIT_MS)
        raise TimeoutError(f"{what} has no end after {WAITS * WAIT_MS} ms; see what is in flight")

    def open_names(self) -> list[str]:
        """Return the ids of open transactions (ListTransactions, filtered by Ongoing)."""
        listed = self.cluster.list_transactions()
        return [self.names[number] for number, state, _ in listed if state == TransactionState.ONGOING]
