"""This module has the cooperative assignor as released, which remembers what it assigned last: lost work waits for a
worker to return, and load is balanced with a growing delay."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from math import log
from random import Random
from typing import Any

from fencepost.reference_impl.connect.group import Assignment, Members, TaskId

# Each worker has an assignor from its start on, and the assignor of the worker that leads makes the assignments. It
# knows what it assigned in the last generation that its worker completed, and takes what differs from that
#
# - for deleted, if the config topic does not have it: only this is revoked as no longer configured, so a claim of a
#   removed task that this leader has not assigned itself stands until the next rebalance (618.53);
# - for lost, if no member claims it: for `max_delay_ms` after a worker has left it is given to no one, and then to the
#   workers that came meanwhile, which have nothing (scheduled.rebalance.max.delay.ms);
# - for new, if it is configured, and was neither assigned nor is claimed: it is given out at once.
#
# Work moves for balance only while nothing is lost. Where one rebalance after another revokes for balance, the second
# revokes nothing and asks for a further one after 40 ms, the third after 1.6 s, and so on up to `max_delay_ms`; with 0
# there is no such delay. (IncrementalCooperativeAssignor of 3.5 and later: performTaskAssignment,
# handleLostAssignments, performLoadBalancingRevocations. Members come in the order of ``sessions``; there in that of a
# hash map of their ids, by which those go that have the same load when work is given out: WorkerLoad.taskComparator.)

NONE = -1
CONNECTOR = -1  # stands for a task's number where the item is the Connector itself
GROWTH = 40  # of the delay between revoking rebalances (ExponentialBackoff)

Items = set[TaskId]
Shares = dict[int, Items]


class IncrementalAssignor:
    """An `IncrementalAssignor` has what one worker has assigned as a leader; ``delay_ms`` goes with the assignment."""

    def __init__(self, max_delay_ms: int, order: int = 0) -> None:
        self.max_delay_ms = max_delay_ms
        self.order = order  # seed of the hashes of work; 0: it goes by name and number
        self.generation = NONE  # of the last assignment, with what it gave, what it revoked, and to which members
        self.assigned: Items = set()
        self.revoked: Items = set()
        self.members: frozenset[Hashable] = frozenset()
        self.delay_ms = 0
        self.scheduled_ms = 0  # when a delayed rebalance is due; 0: none is
        self.candidates: dict[Hashable, None] = {}  # members without work, in the order of their arrival
        self.balancing = False  # the last rebalance revoked for balance
        self.in_a_row = 0

    def assign(
        self, members: Members, sessions: Mapping[int, Any], connectors: Iterable[str], tasks: Iterable[TaskId],
        completed: int, generation: int, now_ms: int,
    ) -> dict[int, Assignment]:  # fmt: skip
        """Return the assignment of each worker in this generation, whose leader last ``completed`` another one.
        ``sessions`` has the workers in order with their ids, which can be compared: a worker that was expired since has
        another one."""
        if self.generation != completed:
            self.assigned = set()
        configured: Items = {(name, CONNECTOR) for name in connectors} | set(tasks)
        claims = {worker: _items(members[worker].connectors, members[worker].tasks) for worker in sessions}
        claimed = Counter(item for mine in claims.values() for item in mine)
        if self.revoked & claimed.keys():  # a member has not learnt of it
            self.assigned = set(claimed)
        deleted = self.assigned - configured
        lost = self.assigned - claimed.keys() - deleted
        created = configured - self.assigned - claimed.keys()
        disputed = {item for item, times in claimed.items() if times > 1}

        revoked = {worker: mine & (deleted | disputed) for worker, mine in claims.items()}
        shares = {worker: mine - revoked[worker] for worker, mine in claims.items()}
        found = self.take_lost(lost, shares, sessions, now_ms)
        for worker, surplus in self.balance(configured, shares, lost, now_ms).items():
            revoked[worker] |= surplus
            shares[worker] -= surplus
        for new, again in zip(_kinds(created), _kinds(found), strict=True):
            give([*sorted(new), *sorted(again)], shares, sessions)
        self.generation, self.members = generation, frozenset(sessions[worker] for worker in members)
        self.revoked = set().union(*revoked.values())
        self.assigned = (set().union(*shares.values()) - self.revoked) | lost
        return {worker: _assignment(shares[worker], revoked[worker], self.delay_ms) for worker in shares}

    # Lost work

    def take_lost(self, lost: Items, shares: Shares, sessions: Mapping[int, Any], now_ms: int) -> Items:
        """Return what of the lost work is given out now like new work; what new members get goes into their shares."""
        if not lost and not self.balancing:
            self.end_delay()
            return set()
        there = {sessions[worker]: worker for worker in shares}
        if not self.max_delay_ms or (not self.scheduled_ms and self.members <= there.keys()):
            return lost
        if self.scheduled_ms and now_ms >= self.scheduled_ms:
            came = [there[member] for member in self.candidates if member in there]
            for kind in _kinds(lost) if came else ():
                for place, item in enumerate(sorted(kind)):
                    shares[came[place % len(came)]].add(item)
            self.end_delay()
            self.balancing = False
            return set() if came else lost
        self.candidates |= {sessions[worker]: None for worker, mine in shares.items() if not mine}
        self.delay_ms = self.scheduled_ms - now_ms if self.scheduled_ms else self.max_delay_ms
        self.scheduled_ms = now_ms + self.delay_ms
        return set()

    def end_delay(self) -> None:
        self.candidates.clear()
        self.scheduled_ms = self.delay_ms = 0

    # Balance

    def balance(self, configured: Items, shares: Shares, lost: Items, now_ms: int) -> Shares:
        """Return what is revoked for balance now, which is nothing while a delay is on or begins."""
        if self.delay_ms:
            self.balancing = False
            return {}
        surplus = surpluses(configured, shares, lost, self.place)
        if self.balancing and surplus:
            self.in_a_row += 1
            self.delay_ms = back_off_ms(self.in_a_row, self.max_delay_ms)
            if self.delay_ms:
                self.scheduled_ms = now_ms + self.delay_ms
                return {}
        elif self.balancing:
            self.in_a_row = 0
        self.balancing = bool(surplus)
        return surplus

    def place(self, item: TaskId) -> Any:
        """Return the place of work in a hash map."""
        return Random(f"{self.order} {item}").random() if self.order else item


def back_off_ms(times: int, most_ms: int) -> int:
    """Return the delay after so many revoking rebalances in a row, in floating point as ExponentialBackoff does it."""
    return min(int(GROWTH ** min(times, log(most_ms, GROWTH))), most_ms) if most_ms else 0


def surpluses(configured: Items, shares: Shares, lost: Items, place: Callable[[TaskId], Any]) -> Shares:
    """Return what each worker has beyond its part of all that is configured, Connectors and tasks apart, first of what
    was not ``lost`` and given to it just now, and in the order of ``place``.

    Shares may have items that are not configured; the first workers with more than the least keep the odd ones.
    """
    found: Shares = {}
    if not configured or not any(shares.values()):
        return found
    for wanted, *mine in zip(_kinds(configured), *map(_kinds, shares.values()), strict=True):
        least, odd = divmod(len(wanted), len(shares))
        sizes = Counter(len(items) for items in mine)
        if sizes[least + 1] == odd and sizes[least] + odd == len(shares):
            continue
        for worker, items in zip(shares, mine, strict=True):
            may_keep = least
            if len(items) > least and odd:
                odd, may_keep = odd - 1, least + 1
            if len(items) > may_keep:
                by_age = sorted(items, key=lambda item: (item in lost, place(item)))
                found.setdefault(worker, set()).update(by_age[: len(items) - may_keep])
    return found


def _items(connectors: Iterable[str], tasks: Iterable[TaskId]) -> Items:
    return {(name, CONNECTOR) for name in connectors} | set(tasks)


def _kinds(items: Items) -> tuple[Items, Items]:
    connectors = {item for item in items if item[1] == CONNECTOR}
    return connectors, items - connectors


def give(items: Iterable[TaskId], shares: Shares, sessions: Mapping[int, Any]) -> None:
    """Give items of one kind, in turn, to the workers that have the fewest of that kind, by id among equals."""
    items = list(items)
    held = {worker: len(_kinds(mine)[items[0][1] != CONNECTOR]) if items else 0 for worker, mine in shares.items()}
    order = sorted(held, key=lambda worker: (held[worker], sessions[worker]))
    for item in items:
        worker = min(order, key=held.__getitem__)
        shares[worker].add(item)
        held[worker] += 1


def _assignment(mine: Items, revoked: Items, delay_ms: int) -> Assignment:
    (connectors, tasks), (no_connectors, no_tasks) = _kinds(mine), _kinds(revoked)
    return Assignment(
        tuple(sorted(name for name, _ in connectors)), tuple(sorted(tasks)),
        tuple(sorted(name for name, _ in no_connectors)), tuple(sorted(no_tasks)), delay_ms,
    )  # fmt: skip
