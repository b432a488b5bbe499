"""This module is the Kafka cluster under the workers: permissions, topics, and the transactional producers that write
to the topics."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from fencepost.reference_impl.connect.threads import Refused
from fencepost.reference_impl.kafka.clients.admin import Admin, Fenced
from fencepost.reference_impl.kafka.clients.producer import Producer, State
from fencepost.reference_impl.kafka.environment import (
    COORDINATOR,
    DrivenPace,
    Environment,
    TransactionEventLog,
    client_name,
)
from fencepost.reference_impl.kafka.environment import Config as TransactionsConfig
from fencepost.reference_impl.kafka.errors import ErrorCode, Verdict, error_name
from fencepost.reference_impl.kafka.leader import PartitionLeader
from fencepost.reference_impl.kafka.log import NO_GUARD, PartitionLog
from fencepost.reference_impl.kafka.messages import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProduceRequest
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.kafka.transaction_states import TransactionLog
from fencepost.reference_impl.simulation import Kernel, Network

# This section has the principals, the permissions that each needs, and Kafka's errors for a missing permission.
#
# The leader writes to the config topic as the *worker's producer* (618.47), a task produces as the *connector's
# producer*, and fencing is done as the *connector's admin* (618.12, 618.47): these are three different users in a
# secured cluster. `Acls` starts with everything allowed; a test revokes permissions. The newer text added Write and
# Describe on the task ids for the admin principal, without which every round fails with
# TRANSACTIONAL_ID_AUTHORIZATION_FAILED.

# Principals
WORKER_PRODUCER, CONNECTOR_PRODUCER, CONNECTOR_ADMIN = "worker-producer", "connector-producer", "connector-admin"
CONNECTOR_CONSUMER = "connector-consumer"
# Operations
READ, WRITE, DESCRIBE, CREATE, IDEMPOTENT_WRITE = "Read", "Write", "Describe", "Create", "IdempotentWrite"
# Kinds of resources
TOPIC, TRANSACTIONAL_ID, CLUSTER = "Topic", "TransactionalId", "Cluster"
KAFKA_CLUSTER = "kafka-cluster"  # the only resource of its kind

# Kafka's codes
NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
TOPIC_AUTHORIZATION_FAILED = 29
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_VERSION = 35
TOPIC_ALREADY_EXISTS = 36
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53

_REFUSAL = {
    TOPIC: TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    CLUSTER: CLUSTER_AUTHORIZATION_FAILED,
}
_TOLERATED = frozenset((
    TOPIC_ALREADY_EXISTS, UNSUPPORTED_VERSION, CLUSTER_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED,
))  # fmt: skip


def leader_transactional_id(group_id: str) -> str:
    """Return the transactional id of the leader's producer for the config topic (618.24)."""
    return f"connect-cluster-{group_id}"


def task_transactional_id(group_id: str, connector: str, task: int) -> str:
    """Return the transactional id of a task's producer (618.6); names with dashes may collide (618.49)."""
    return f"{group_id}-{connector}-{task}"


class Permission(NamedTuple):
    """A `Permission` allows a principal to perform an operation on a resource."""

    principal: str
    operation: str
    resource_type: str
    resource: str


def of_leader(group_id: str, config_topic: str) -> tuple[Permission, ...]:
    """Return the permissions for writing to the config topic, in the order in which Kafka asks for them (618.24,
    618.47).

    They are Describe (to find the coordinator), Write (InitProducerId), IdempotentWrite (which the document lists), and
    Write on the topic.
    """
    transactional_id = leader_transactional_id(group_id)
    return (
        Permission(WORKER_PRODUCER, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(WORKER_PRODUCER, WRITE, TRANSACTIONAL_ID, transactional_id),
        Permission(WORKER_PRODUCER, IDEMPOTENT_WRITE, CLUSTER, KAFKA_CLUSTER),
        Permission(WORKER_PRODUCER, WRITE, TOPIC, config_topic),
    )


def of_fencing(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    """Return the permissions that the connector's admin needs to fence one transactional id (618.12, 618.47)."""
    transactional_id = task_transactional_id(group_id, connector, task)
    return (
        Permission(CONNECTOR_ADMIN, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_ADMIN, WRITE, TRANSACTIONAL_ID, transactional_id),
    )


def of_task(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    """Return the permissions for opening a task's producer, under the connector's producer principal (618.18)."""
    transactional_id = task_transactional_id(group_id, connector, task)
    return (
        Permission(CONNECTOR_PRODUCER, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_PRODUCER, WRITE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_PRODUCER, IDEMPOTENT_WRITE, CLUSTER, KAFKA_CLUSTER),
    )


def of_offsets_topic(topic: str) -> tuple[Permission, ...]:
    """Return the permissions for creating a separate offsets topic and reading it to its end (618.17)."""
    return (
        Permission(CONNECTOR_ADMIN, CREATE, TOPIC, topic),
        Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),
    )


def of_description(topic: str) -> tuple[Permission, ...]:
    """Return the permission for finding a separate offsets topic that is not created (618.54)."""
    return (Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),)


def tolerates_creation_error(error: int) -> bool:
    """Return whether a start goes on after this answer to creating a separate offsets topic (618.17).

    As for the worker's own internal topics, three errors are tolerated: the topic exists, the broker is too old to
    create topics, and the admin is not authorized (the topic has to exist already then). Any other error fails the
    task. (TopicAdmin.java)
    """
    return error == NONE or error in _TOLERATED


def missing_topics(topics: Iterable[str]) -> str:
    """Return the trace of a start that does not find its topics and does not create any (618.54)."""
    return (
        f"ConnectException: missing {', '.join(topics)}, and internal.topics.automatic.creation.enable=false: nothing "
        "is created"
    )


class Acls:
    """`Acls` has the denied operations; every other operation is allowed."""

    __slots__ = ("denied",)

    def __init__(self) -> None:
        self.denied: set[Permission] = set()

    def deny(self, permission: Permission) -> None:
        self.denied.add(permission)

    def allow(self, permission: Permission) -> None:
        self.denied.discard(permission)

    def error(self, needed: tuple[Permission, ...]) -> int:
        """Return Kafka's error code for the first permission that is denied, or 0 if none is."""
        if self.denied:
            for permission in needed:
                if permission in self.denied:
                    return _REFUSAL[permission.resource_type]
        return NONE


# The Kafka cluster under the workers has the transaction coordinator and the partitions of
# `reference_impl.systems.transactions`.
#
# A client's call runs to its end before it returns: requests are delivered, appends to the transaction log finish, and
# back-offs pass, on a clock of Kafka's own. Workers race for which call is first, not for how far a call has got.
#
# Partition 0 is the config topic, 1 is the topic that source tasks write to, and 2 is their offsets topic. 3 is the
# config topic of a second group of workers, if there is one: transactional ids are common to all of them (618.49).

CONFIG_TOPIC, OUTPUT_TOPIC, OFFSETS_TOPIC, SECOND_CONFIG_TOPIC = 0, 1, 2, 3
PARTITIONS = 4
BACKOFF_MS = 20  # the shortest back-off of a client
MAX_WAIT_MS = 60_000  # max.block.ms: a call that takes longer has no end


class KafkaEnvironment(Environment):
    """A `KafkaEnvironment` is shared by brokers and clients; ``contents`` has the content of a record by number."""

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
    """A `Brokers` is one Kafka cluster. It maps transactional ids, which are names, to numbers."""

    partitions = PARTITIONS
    producer: type[Producer] | None = None
    """This is the class of the clients' producer, where it differs from Connect's own."""

    def __init__(self, config: Any) -> None:
        self.env = KafkaEnvironment(self.below(config), Kernel(config.seed))
        self.acls = Acls()
        self.topics: dict[str, tuple[int, int]] = {}  # that clients have created: partitions and replication factor
        self.internal: set[str] = set()  # the topics of workers that an operator has created by hand
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
        """Return the configuration of brokers and clients for that of a cluster of workers."""
        return TransactionsConfig(
            seed=config.seed, mode=config.transactions, clients=1, partitions=self.partitions,
            transaction_timeout_ms=config.transaction_timeout_ms,
        )  # fmt: skip

    def log(self, partition: int) -> PartitionLog:
        return self.leaders[partition].log

    def transactional_id(self, name: str) -> int:
        """Return the number of a transactional id; equal names are one id (618.49)."""
        return self.ids.setdefault(name, len(self.ids))

    def next_client(self) -> int:
        self.clients += 1
        return self.clients

    def fence(self, name: str, client: type[Admin] = Admin) -> Fenced:
        """Call Admin.fenceProducers([name]): a new admin client sends InitProducerId without an epoch (618.12)."""
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
        if self.policy_error:
            return self.policy_error
        if name in self.topics:
            return TOPIC_ALREADY_EXISTS
        self.topics[name] = partitions, replication
        return 0

    def append_plainly(self, partition: int, content: Any) -> int:
        """Append one record with a new producer without a transactional id, and return the record's offset."""
        self.env.content = content
        request = ProduceRequest(-1, partition, self.env.next_producer_id(), 0, 0, self.env.next_record(), False)
        return self.log(partition).append(request, NO_GUARD).offset

    def run(self, done: Callable[[], bool]) -> None:
        """Run the cluster until a client's call is done, and everything that it has triggered. Raise RuntimeError if
        the call is not answered."""
        start_us = self.env.kernel.now
        self.settle()
        while not done():
            if self.env.kernel.now - start_us > MAX_WAIT_MS * 1000:
                raise RuntimeError(f"a call of a client is not answered within {MAX_WAIT_MS} ms: brokers are stuck")
            self.env.kernel.advance(BACKOFF_MS * 1000)
            self.settle()

    def advance(self, ms: int) -> None:
        self.env.kernel.advance(ms * 1000)
        self.settle()

    def settle(self) -> None:
        """Deliver the messages in flight, oldest first, and finish appends, until nothing is left."""
        network = self.env.network
        network.deliver_all()
        while self.coordinator.finish_append(True):
            network.deliver_all()


# Connect uses producers whose calls block until they are done, and raise the error with which they are refused.
#
# `TransactionalProducer` is `transactions.Producer` (states, epochs, requests) with the brokers run to the end of every
# call. A refused producer is of no further use: Connect closes it.

# These are Kafka's errors for a fenced producer, from the coordinator and from a partition (or an older coordinator).
FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


class KafkaError(Refused):
    """A `KafkaError` is raised for a call that was refused; ``code`` is Kafka's error code."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"{what}: {error_name(code)}")
        self.code = code


class Client(Producer):
    """A `Client` is a producer that remembers with which error it failed."""

    error = ErrorCode.NONE

    def fail(self, verdict: Verdict, error: int) -> None:
        self.error = self.error or error
        super().fail(verdict, error)


class TransactionalProducer:
    """A `TransactionalProducer` is one instance; ``needed`` has the permissions that it requires (618.47)."""

    def __init__(self, brokers: Brokers, name: str, needed: tuple[Permission, ...]) -> None:
        self.brokers = brokers
        self.name = name
        self.needed = needed
        slot = brokers.next_client()
        made: Any = brokers.producer or Client
        self.client: Client = made(brokers.env, slot, brokers.transactional_id(name))
        brokers.env.network.nodes[client_name(slot)] = self.client
        self.closed = False
        # This is the producer id and epoch of `open`, by which this producer is distinguished from other producers of
        # its name; -1 before. In v2 each of its transactions has an epoch of its own, above this one.
        self.producer_id = NO_PRODUCER_ID
        self.epoch = NO_PRODUCER_EPOCH

    def open(self) -> None:
        """Call initTransactions(), which fences every earlier producer of the name. Raise KafkaError if it fails."""
        self.check_open("initTransactions")
        error = self.brokers.acls.error(self.needed)
        if error:
            raise KafkaError(error, f"initTransactions of {self.name}")
        self.client.init()
        self.finish("initTransactions", State.INITIALIZING)
        self.producer_id, self.epoch = self.client.producer_id, self.client.epoch

    def begin(self) -> None:
        self.check_open("beginTransaction")
        if not self.client.begin():
            raise KafkaError(self.client.error or ErrorCode.INVALID_TXN_STATE, f"beginTransaction of {self.name}")

    def send(self, partition: int, content: Any) -> None:
        """Call send() for one record, and wait for the answer. Raise KafkaError if it fails."""
        self.check_open("send")
        self.brokers.env.content = content
        self.client.send(partition)
        self.brokers.run(lambda: self.client.error != 0 or not self.client.sends.outstanding)
        self.check("send")

    def commit(self) -> None:
        """Call commitTransaction(). Raise KafkaError if it fails."""
        self.check_open("commitTransaction")
        self.client.commit()
        self.finish("commitTransaction", State.COMMITTING_TRANSACTION)

    def abort(self) -> None:
        """Call abortTransaction(). Raise KafkaError if it fails."""
        self.check_open("abortTransaction")
        self.client.abort()
        self.finish("abortTransaction", State.ABORTING_TRANSACTION)

    def close(self) -> None:
        """Call close(Duration.ZERO); an open transaction stays open until it is fenced or times out."""
        if not self.closed:
            self.closed = True
            self.client.crash()
            del self.brokers.env.network.nodes[self.client.name]  # nothing of its is in flight between two calls

    def finish(self, call: str, state: State) -> None:
        self.brokers.run(lambda: self.client.error != 0 or self.client.state is not state)
        self.check(call)

    def check(self, call: str) -> None:
        if self.client.error:
            raise KafkaError(self.client.error, f"{call} of {self.name}")

    def check_open(self, call: str) -> None:
        """Raise KafkaError for a closed producer, where Kafka throws IllegalStateException."""
        if self.closed:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{call} of {self.name} after close")
