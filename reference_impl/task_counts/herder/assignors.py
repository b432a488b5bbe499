"""Assignors: the two ways in which the leader distributes connectors and tasks over the members (618.41).

Both are functions of what they are given, balanced (no member has two more than another, connectors and tasks counted
apart) and deterministic. Members are worker numbers, connectors are names, a task is (connector, number).

Eager: all members have let go of everything before joining; a new distribution from nothing. Cooperative: members keep
what they have where that is balanced; what has to move is revoked first, and given out only in the rebalance after
the one that revoked it, so that no task is given to two members. (EagerAssignor, IncrementalCooperativeAssignor;
without the latter's delay for members that may come back: scheduled.rebalance.max.delay.ms = 0.)
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import NamedTuple, TypeVar

TaskId = tuple[str, int]
Item = TypeVar("Item", str, TaskId)


class Owned(NamedTuple):
    """The connectors and tasks that a member says it has, when it joins."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[TaskId] = frozenset()


class Assignment(NamedTuple):
    """The connectors and tasks of a member from now on, in order, and those that it must stop (then it joins again)."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[TaskId, ...] = ()

    @property
    def revokes(self) -> bool:
        """Whether another rebalance has to follow."""
        return bool(self.revoked_connectors or self.revoked_tasks)


Members = Mapping[int, Owned]
Assignor = Callable[[Members, Iterable[str], Iterable[TaskId]], dict[int, Assignment]]


def eager(members: Members, connectors: Iterable[str], tasks: Iterable[TaskId]) -> dict[int, Assignment]:
    """Round robin in order of member: first the connectors, then, where these ended, the tasks."""
    given: dict[int, tuple[list[str], list[TaskId]]] = {member: ([], []) for member in sorted(members)}
    if not given:
        return {}
    turns = cycle(given.values())
    for connector in sorted(connectors):
        next(turns)[0].append(connector)
    for task in sorted(tasks):
        next(turns)[1].append(task)
    return {member: Assignment(tuple(mine), tuple(my_tasks)) for member, (mine, my_tasks) in given.items()}


def cooperative(members: Members, connectors: Iterable[str], tasks: Iterable[TaskId]) -> dict[int, Assignment]:
    """Members keep what is balanced; surplus, and what two claim, is revoked (B36); the rest is given."""
    kept_connectors = rebalanced({member: owned.connectors for member, owned in members.items()}, connectors)
    kept_tasks = rebalanced({member: owned.tasks for member, owned in members.items()}, tasks)
    return {
        member: Assignment(
            kept_connectors[member][0], kept_tasks[member][0], kept_connectors[member][1], kept_tasks[member][1]
        )
        for member in sorted(members)
    }


def rebalanced(
    owned: Mapping[int, frozenset[Item]], items: Iterable[Item]
) -> dict[int, tuple[tuple[Item, ...], tuple[Item, ...]]]:
    """By member (what it has from now on, what is revoked from it) for one kind of thing."""
    there = sorted(set(items))
    claims = [item for mine in owned.values() for item in mine]
    undisputed = {item for item in there if claims.count(item) == 1}
    quotas = _quotas({member: len(mine & undisputed) for member, mine in owned.items()}, len(there))
    kept = {member: sorted(mine & undisputed)[: quotas[member]] for member, mine in owned.items()}
    revoked = {member: tuple(sorted(mine - set(kept[member]))) for member, mine in owned.items()}
    for item in there:
        if item not in claims and (room := [member for member in sorted(kept) if len(kept[member]) < quotas[member]]):
            kept[min(room, key=lambda member: len(kept[member]))].append(item)
    return {member: (tuple(sorted(mine)), revoked[member]) for member, mine in kept.items()}


def _quotas(held: Mapping[int, int], total: int) -> dict[int, int]:
    """How many of `total` each member may have: as even as can be, the odd ones with those that hold most already."""
    if not held:
        return {}
    least, odd = divmod(total, len(held))
    by_held = sorted(held, key=lambda member: (-held[member], member))
    return {member: least + (place < odd) for place, member in enumerate(by_held)}


ASSIGNORS: dict[str, Assignor] = {"eager": eager, "cooperative": cooperative}
