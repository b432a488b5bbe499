"""The Kafka cluster under the workers: the transactional coordinator and partitions of `reference_impl.transactions`.

A call of a client runs to its end before it returns: requests are delivered, appends to the transaction log finish,
back-offs pass, on a clock of Kafka's own. What workers race for is who calls first, not how far a call has got.

Partition 0 is the config topic; 1 is the topic that source tasks write to, 2 their offsets topic. 3 is the config topic
of a second group of workers, if there is one: transactional ids are common to all of them (618.49).
"""

from collections.abc import Callable
from typing import Any

from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.task_counts.permissions import TOPIC_ALREADY_EXISTS, Acls
from fencepost.reference_impl.transactions.brokers.coordinator import Coordinator
from fencepost.reference_impl.transactions.brokers.leader import PartitionLeader
from fencepost.reference_impl.transactions.brokers.log import PartitionLog
from fencepost.reference_impl.transactions.brokers.producer_state import NO_GUARD
from fencepost.reference_impl.transactions.brokers.transaction_log import TransactionLog
from fencepost.reference_impl.transactions.clients.admin import Admin, Fenced
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.config import Config as TransactionsConfig
from fencepost.reference_impl.transactions.environment import COORDINATOR, DrivenPace, Environment
from fencepost.reference_impl.transactions.events import TransactionEventLog
from fencepost.reference_impl.transactions.messages import ProduceRequest

CONFIG_TOPIC, OUTPUT_TOPIC, OFFSETS_TOPIC, SECOND_CONFIG_TOPIC = 0, 1, 2, 3
PARTITIONS = 4
BACKOFF_MS = 20  # the shortest back-off of a client
MAX_WAIT_MS = 60_000  # max.block.ms: a call that takes longer has no end


class KafkaEnvironment(Environment):
    """The environment of brokers and clients; `contents` says what the records numbered here carry."""

    __slots__ = ("content", "contents")

    def __init__(self, config: TransactionsConfig, kernel: Kernel) -> None:
        super().__init__(config, kernel, Network(kernel), DrivenPace())
        self.emit = TransactionEventLog.unheard  # which are not part of a history of workers
        self.contents: dict[int, Any] = {}
        self.content: Any = None  # of the record sent next

    def next_record(self) -> int:
        number = super().next_record()
        self.contents[number] = self.content
        return number


class Brokers:
    """One cluster. Transactional ids are names here, and numbers below."""

    partitions = PARTITIONS
    producer: type[Producer] | None = None
    """The producer of its clients, where it is another than Connect's own."""

    def __init__(self, config: Any) -> None:
        self.env = KafkaEnvironment(self.below(config), Kernel(config.seed))
        self.acls = Acls()
        self.topics: dict[str, tuple[int, int]] = {}  # that clients have created: partitions and replication factor
        self.internal: set[str] = set()  # the topics of workers that somebody has created by hand
        self.policy_error = 0  # what every creation of a topic is refused with (a broker's policy)
        self.ids: dict[str, int] = {}
        self.clients = 0
        self.coordinator = Coordinator(self.env, TransactionLog(), 0)
        numbers = range(self.partitions)
        self.leaders = [PartitionLeader(self.env, PartitionLog(self.env, number)) for number in numbers]
        self.env.network.nodes[COORDINATOR] = self.coordinator
        for leader in self.leaders:
            self.env.network.nodes[leader.name] = leader

    def below(self, config: Any) -> TransactionsConfig:
        """The configuration of brokers and clients, of that of a cluster which is on them."""
        return TransactionsConfig(
            seed=config.seed, mode=config.transactions, clients=1, partitions=self.partitions,
            transaction_timeout_ms=config.transaction_timeout_ms,
        )  # fmt: skip

    def log(self, partition: int) -> PartitionLog:
        """The log of a partition."""
        return self.leaders[partition].log

    def transactional_id(self, name: str) -> int:
        """The number of a transactional id; equal names are one id (618.49)."""
        return self.ids.setdefault(name, len(self.ids))

    def next_client(self) -> int:
        """An address for one more client."""
        self.clients += 1
        return self.clients

    def fence(self, name: str, client: type[Admin] = Admin) -> Fenced:
        """Admin.fenceProducers([name]) by a fresh admin: InitProducerId without a pair (618.12)."""
        admin = client(self.env, self.next_client())
        self.env.network.nodes[admin.name] = admin
        transactional_id = self.transactional_id(name)
        result = admin.fence_producers([transactional_id])
        self.run(lambda: result.all() is not None)
        del self.env.network.nodes[admin.name]
        fenced = result.fenced_producers()[transactional_id]
        assert fenced is not None, "all() is None until every id has its result"
        return fenced

    def create_topic(self, name: str, partitions: int, replication: int) -> int:
        """Admin.createTopics([name]); Kafka's code."""
        if self.policy_error:
            return self.policy_error
        if name in self.topics:
            return TOPIC_ALREADY_EXISTS
        self.topics[name] = partitions, replication
        return 0

    def append_plainly(self, partition: int, content: Any) -> int:
        """One record by a producer without transactional id, new and gone again; returns its offset."""
        self.env.content = content
        request = ProduceRequest(-1, partition, self.env.next_producer_id(), 0, 0, self.env.next_record(), False)
        return self.log(partition).append(request, NO_GUARD).offset

    def run(self, done: Callable[[], bool]) -> None:
        """Until a client's call is done, and everything that it has set off. Raises RuntimeError if it never is."""
        start_us = self.env.kernel.now
        self.settle()
        while not done():
            if self.env.kernel.now - start_us > MAX_WAIT_MS * 1000:
                raise RuntimeError(f"a call of a client is not answered within {MAX_WAIT_MS} ms: brokers are stuck")
            self.env.kernel.advance(BACKOFF_MS * 1000)
            self.settle()

    def advance(self, ms: int) -> None:
        """Time passes: transactions time out."""
        self.env.kernel.advance(ms * 1000)
        self.settle()

    def settle(self) -> None:
        """Deliver what is in flight, oldest first, and finish appends, until nothing is left."""
        network = self.env.network
        network.deliver_all()
        while self.coordinator.finish_append(True):
            network.deliver_all()
