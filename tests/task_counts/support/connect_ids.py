"""The transactional ids of Connect clusters, and which of them collide (618.49).

Within one cluster no two are the same: a task's number is what follows the last dash, and the leader's id ends in the
group's name.  Clusters that share a Kafka cluster can collide: "orders-1" in the group "connect" has the ids of "1" in
the group "connect-orders", and task 7 of "cluster" in the group "connect" that of the leader of the group "7".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """Who uses a transactional id: a task of a connector, or (without a connector, task -1) a group's leader."""

    group: str
    connector: str | None
    task: int

    @property
    def transactional_id(self) -> str:
        return leader_id(self.group) if self.connector is None else task_id(self.group, self.connector, self.task)


def task_id(group: str, connector: str, task: int) -> str:
    """Of the producer of a source task (618.6)."""
    return f"{group}-{connector}-{task}"


def leader_id(group: str) -> str:
    """Of the producer with which the leader of a group writes to its config topic (618.24)."""
    return f"connect-cluster-{group}"


def collisions(clusters: Mapping[str, Mapping[str, int]]) -> dict[str, Sequence[User]]:
    """The ids that several use, with those who do.  ``clusters``: by group, how many tasks each connector has; all of
    them on one Kafka cluster."""
    users: dict[str, list[User]] = {}
    for user in _users(clusters):
        users.setdefault(user.transactional_id, []).append(user)
    return {name: tuple(sharing) for name, sharing in users.items() if len(sharing) > 1}


def _users(clusters: Mapping[str, Mapping[str, int]]) -> Iterator[User]:
    for group, connectors in clusters.items():
        yield User(group, None, -1)
        for connector, tasks in connectors.items():
            yield from (User(group, connector, task) for task in range(tasks))
