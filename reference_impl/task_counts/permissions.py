"""Who acts under which principal, what that principal must be allowed, and how Kafka refuses it.

The leader writes to the config topic as the *worker's producer* (618.47); a task produces as the *connector's
producer*; fencing is the *connector's admin* (618.12, 618.47): these are three different users in a secured cluster.
`Acls` starts with everything allowed; a test takes permissions away. The newer text added Write and Describe on the
task ids for the admin principal, without which every round fails with TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
"""

from collections.abc import Iterable
from typing import NamedTuple

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
    """The id of the leader's producer for the config topic (618.24)."""
    return f"connect-cluster-{group_id}"


def task_transactional_id(group_id: str, connector: str, task: int) -> str:
    """The id of a task's producer (618.6). Not injective: names may contain dashes (618.49)."""
    return f"{group_id}-{connector}-{task}"


class Permission(NamedTuple):
    """A principal may do an operation on a resource."""

    principal: str
    operation: str
    resource_type: str
    resource: str


def of_leader(group_id: str, config_topic: str) -> tuple[Permission, ...]:
    """The permissions for writing to the config topic, in the order in which Kafka asks for it (618.24, 618.47).

    Describe (find the coordinator), Write (InitProducerId), IdempotentWrite (listed by the text), Write on the topic.
    """
    transactional_id = leader_transactional_id(group_id)
    return (
        Permission(WORKER_PRODUCER, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(WORKER_PRODUCER, WRITE, TRANSACTIONAL_ID, transactional_id),
        Permission(WORKER_PRODUCER, IDEMPOTENT_WRITE, CLUSTER, KAFKA_CLUSTER),
        Permission(WORKER_PRODUCER, WRITE, TOPIC, config_topic),
    )


def of_fencing(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    """The permissions for fencing one id: those of InitProducerId, under the connector's admin principal (618.12,
    618.47)."""
    transactional_id = task_transactional_id(group_id, connector, task)
    return (
        Permission(CONNECTOR_ADMIN, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_ADMIN, WRITE, TRANSACTIONAL_ID, transactional_id),
    )


def of_task(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    """The permissions for opening a task's producer, under the connector's producer principal (618.18)."""
    transactional_id = task_transactional_id(group_id, connector, task)
    return (
        Permission(CONNECTOR_PRODUCER, DESCRIBE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_PRODUCER, WRITE, TRANSACTIONAL_ID, transactional_id),
        Permission(CONNECTOR_PRODUCER, IDEMPOTENT_WRITE, CLUSTER, KAFKA_CLUSTER),
    )


def of_offsets_topic(topic: str) -> tuple[Permission, ...]:
    """The permissions of the connector's admin for creating a separate offsets topic, and reading it to its end
    (618.17)."""
    return (
        Permission(CONNECTOR_ADMIN, CREATE, TOPIC, topic),
        Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),
    )


def of_description(topic: str) -> tuple[Permission, ...]:
    """The permission of the connector's admin for finding a separate offsets topic that it does not create (618.54)."""
    return (Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),)


def tolerates_creation_error(error: int) -> bool:
    """Whether a start goes on after this answer to creating a separate offsets topic (618.17).

    As for the worker's own internal topics: it exists; the broker is too old to create topics; the admin may not
    (then it has to be there already). Any other error fails the task. (TopicAdmin.java)
    """
    return error == NONE or error in _TOLERATED


def missing_topics(topics: Iterable[str]) -> str:
    """The trace of a start that does not find topics, where it creates none (618.54)."""
    return (
        f"ConnectException: missing {', '.join(topics)}, and internal.topics.automatic.creation.enable=false: nothing "
        "is created"
    )


class Acls:
    """Denied operations; everything else is allowed."""

    __slots__ = ("denied",)

    def __init__(self) -> None:
        self.denied: set[Permission] = set()

    def deny(self, permission: Permission) -> None:
        """Take a permission away."""
        self.denied.add(permission)

    def allow(self, permission: Permission) -> None:
        """Give it back."""
        self.denied.discard(permission)

    def error(self, needed: tuple[Permission, ...]) -> int:
        """Kafka's code for the first permission that is missing, 0 if none is."""
        if self.denied:
            for permission in needed:
                if permission in self.denied:
                    return _REFUSAL[permission.resource_type]
        return NONE
