"""What the principals of a source connector must be allowed for its offsets, and the tables of both texts (618.37).

Records and offsets are written by the connector's *producer*, the offsets topic is read by its *consumer*, and its
*admin* asks the end of it, and creates it where it is not there (618.32, 618.17). What the leader and the fencing need
is in `reference_impl.task_counts.permissions`.
"""

from fencepost.reference_impl.task_counts.permissions import (
    CONNECTOR_ADMIN,
    CONNECTOR_CONSUMER,
    CONNECTOR_PRODUCER,
    CREATE,
    DESCRIBE,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Acls,
    Permission,
    of_fencing,
    of_leader,
    task_transactional_id,
)
from fencepost.reference_impl.task_counts.tasks.producers import KafkaError

EARLIER, LATER = "earlier", "later"
"""The texts: the later one has the admin fence, by Write and Describe on the ids of the tasks."""


def of_writing(topic: str) -> tuple[Permission, ...]:
    """For records, or offsets, in a topic."""
    return (Permission(CONNECTOR_PRODUCER, WRITE, TOPIC, topic),)


def of_asking_the_end(topic: str) -> tuple[Permission, ...]:
    """For the end of an offsets topic, with read_uncommitted: "no matter what", says the text."""
    return (Permission(CONNECTOR_ADMIN, DESCRIBE, TOPIC, topic),)


def of_reading(topic: str) -> tuple[Permission, ...]:
    """For consuming an offsets topic, with read_committed."""
    return (Permission(CONNECTOR_CONSUMER, READ, TOPIC, topic),)


def of_creating(topic: str) -> tuple[Permission, ...]:
    """For an offsets topic that does not exist yet."""
    return (Permission(CONNECTOR_ADMIN, CREATE, TOPIC, topic),)


def of_producing(group_id: str, connector: str, task: int) -> tuple[Permission, ...]:
    """For the transactions of a task."""
    transactional_id = task_transactional_id(group_id, connector, task)
    return tuple(
        Permission(CONNECTOR_PRODUCER, operation, TRANSACTIONAL_ID, transactional_id) for operation in (DESCRIBE, WRITE)
    )


def table(
    text: str, group_id: str, connector: str, tasks: int, *, output: str, offsets: str, config: str, exists: bool = True
) -> frozenset[Permission]:
    """All that a source connector needs, and the leader for it, as a text lists it. ``offsets``: its offsets topic;
    ``exists``: it is there, and need not be created."""
    needed = {
        *of_leader(group_id, config),
        *(permission for task in range(tasks) for permission in of_producing(group_id, connector, task)),
        *of_writing(output),
        *of_writing(offsets),
        *of_reading(offsets),
        *of_asking_the_end(offsets),
    }
    if not exists:
        needed.update(of_creating(offsets))
    if text == LATER:
        needed.update(permission for task in range(tasks) for permission in of_fencing(group_id, connector, task))
    return frozenset(needed)


def require(acls: Acls, needed: tuple[Permission, ...], call: str) -> None:
    """Raises KafkaError where one of them is missing."""
    if error := acls.error(needed):
        raise KafkaError(error, call)
