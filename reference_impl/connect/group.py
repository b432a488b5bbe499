"""This module has the group of the workers: its members, how connectors and tasks are assigned, and the differences
between the revisions of the document."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from typing import NamedTuple, TypeVar

from fencepost.reference_impl.connect.config import ConnectEventLog, Kind
from fencepost.reference_impl.connect.threads import OperationError

# An assignor is the way in which the leader distributes connectors and tasks over the members; there are two (618.41).
#
# Both are deterministic functions of their arguments, and balanced (no member has two more than another, with
# connectors and tasks counted separately). Members are worker numbers, connectors are names, a task is (connector,
# number).
#
# Eager: all members have given up everything before joining, and the distribution starts from nothing. Cooperative:
# members keep what they have where that is balanced; what has to move is revoked first, and given out only in the
# rebalance after the one that revoked it, so that no task is given to two members. (EagerAssignor,
# IncrementalCooperativeAssignor: the second without what the leader remembers from one rebalance to the next, which
# `incremental` has.)

TaskId = tuple[str, int]
Item = TypeVar("Item", str, TaskId)


class Owned(NamedTuple):
    """An `Owned` has the connectors and tasks that a member claims to have when it joins."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[TaskId] = frozenset()


class Assignment(NamedTuple):
    """An `Assignment` has what a member runs from now on, in order, what it must stop before it joins again, and after
    how long it has to join again in any case, where that is not 0."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[TaskId, ...] = ()
    delay_ms: int = 0

    @property
    def revokes(self) -> bool:
        """Return whether another rebalance has to follow."""
        return bool(self.revoked_connectors or self.revoked_tasks)


Members = Mapping[int, Owned]
Assignor = Callable[[Members, Iterable[str], Iterable[TaskId]], dict[int, Assignment]]


def eager(members: Members, connectors: Iterable[str], tasks: Iterable[TaskId]) -> dict[int, Assignment]:
    """Distribute round robin in order of member: first the connectors, then, from where these ended, the tasks."""
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
    """Let members keep what is balanced, revoke the surplus and what two members claim (B36), and give out the rest."""
    remaining_connectors = rebalanced({member: owned.connectors for member, owned in members.items()}, connectors)
    remaining_tasks = rebalanced({member: owned.tasks for member, owned in members.items()}, tasks)
    return {
        member: Assignment(
            remaining_connectors[member][0],
            remaining_tasks[member][0],
            remaining_connectors[member][1],
            remaining_tasks[member][1],
        )
        for member in sorted(members)
    }


def rebalanced(
    owned: Mapping[int, frozenset[Item]], items: Iterable[Item]
) -> dict[int, tuple[tuple[Item, ...], tuple[Item, ...]]]:
    """Return, for one kind of thing and by member, what the member has from now on and what is revoked from it."""
    there = sorted(set(items))
    claims = [item for mine in owned.values() for item in mine]
    undisputed = {item for item in there if claims.count(item) == 1}
    quotas = _quotas({member: len(mine & undisputed) for member, mine in owned.items()}, len(there))
    remaining = {member: sorted(mine & undisputed)[: quotas[member]] for member, mine in owned.items()}
    revoked = {member: tuple(sorted(mine - set(remaining[member]))) for member, mine in owned.items()}
    for item in there:
        if item not in claims and (
            room := [member for member in sorted(remaining) if len(remaining[member]) < quotas[member]]
        ):
            remaining[min(room, key=lambda member: len(remaining[member]))].append(item)
    return {member: (tuple(sorted(mine)), revoked[member]) for member, mine in remaining.items()}


def _quotas(held: Mapping[int, int], total: int) -> dict[int, int]:
    """Return how many of `total` each member may have; the odd ones are for those that hold most already."""
    if not held:
        return {}
    least, odd = divmod(total, len(held))
    by_held = sorted(held, key=lambda member: (-held[member], member))
    return {member: least + (place < odd) for place, member in enumerate(by_held)}


ASSIGNORS: dict[str, Assignor] = {"eager": eager, "cooperative": cooperative}


# Differences between the revisions of the document and the code that Kafka ships; all else is common code.
#
# | mode | who asks for a round | when |
# |---|---|---|
# | A | no worker: the leader fences while it makes the assignment | every rebalance |
# | M | the owner of the Connector | its start, and after the rebalance that follows a new set |
# | B, shipped | every task | its start |

ASSIGNMENT, CONNECTOR, TASK = "assignment", "connector", "task"


@dataclass(frozen=True, slots=True)
class Revision:
    """A `Revision` is one revision of the document; ``steps`` names the methods of a task's start-up, in order."""

    mode: str
    rounds_by: str
    steps: tuple[str, ...]
    mismatch_fails: bool = False  # a newer set at the second check fails the task, else it is abandoned (618.20)
    record_per_transaction: bool = True  # 618.25; else one transaction for each call
    cancels: bool = False  # a task that does not stop in time has its producer closed (618.23)
    checks_ownership: bool = False  # the second check also asks whether the task is still assigned here
    leader_always_transactional: bool = False  # whatever the flag says (618.24)
    signs: bool = True  # there is an internal endpoint, and a session key for it (618.10)
    stops_connectors: bool = False  # users may stop a connector, which commits a set of 0 tasks
    states_targets: bool = False  # a connector's target state is written with its configuration


REVISIONS = {
    "A": Revision("A", ASSIGNMENT, ("look", "open_producer", "check_after"), signs=False),
    "M": Revision(
        "M", CONNECTOR, ("await_count", "open_producer", "check_after"), leader_always_transactional=True,
    ),
    "B": Revision(
        "B", TASK, ("ask", "check_before", "create_offsets_topic", "open_producer", "check_after"),
        leader_always_transactional=True,
    ),
    "shipped": Revision(
        "shipped", TASK, ("ask", "open_producer", "check_after", "create_offsets_topic"), mismatch_fails=True,
        record_per_transaction=False, cancels=True, checks_ownership=True, stops_connectors=True, states_targets=True,
    ),
}  # fmt: skip


def uses_transactions(revision: Revision, support: str) -> bool:
    """Return whether a leader with this support writes through a transactional producer (618.24)."""
    if support == "none":
        return False
    return support in ("preparing", "enabled") or revision.leader_always_transactional


# The group coordinator has the members, the generation, and what the leader has assigned (Connect's protocol).
#
# A rebalance consists of joins by all members (or the expiry of those that do not join), then the leader's assignment,
# then the sync of all. The first member to join leads; a leader stays leader as long as it stays a member.

NONE = -1
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27


@dataclass(eq=False, slots=True)
class Join:
    """A `Join` is one JoinGroup request; ``void`` means that its sender is not a member any more."""

    worker: int
    owned: Owned
    offset: int  # of the config topic: how far the member has read
    generation: int = NONE
    void: bool = False

    @property
    def answered(self) -> bool:
        return self.void or self.generation != NONE


@dataclass(frozen=True, slots=True)
class Handed:
    """A `Handed` is the answer of a rebalance to one member."""

    generation: int
    leader: int
    offset: int  # of the config topic: the assignment was made from what stands before it
    assignment: Assignment


@dataclass(slots=True)
class Group:
    """A `Group` has the ``members`` of the current generation and those ``joining`` the next one."""

    log: ConnectEventLog
    member_order: int = 0  # seed of ids and their hashes; 0: by number
    members: dict[int, Join] = field(default_factory=dict)
    joining: dict[int, Join] = field(default_factory=dict)
    preparing: bool = False  # members are awaited
    generation: int = 0
    leader: int = NONE
    offset: int = 0
    assignments: dict[int, Assignment] | None = None  # of this generation, once the leader has handed them in
    sessions: Counter[int] = field(default_factory=Counter)  # that have ended: the next one has another member id

    def member_id(self, worker: int) -> tuple[float, int]:
        """Return the id of a member: the worker's name (client.id), and what is another one for each session."""
        name = Random(f"{self.member_order} {worker}").random() if self.member_order else worker
        return name, self.sessions[worker]

    def place(self, worker: int) -> float:
        """Return the place of a member in a hash map of ids."""
        return Random(f"{self.member_order} {self.member_id(worker)}").random() if self.member_order else worker

    def must_rejoin(self, worker: int) -> bool:
        """Return whether a heartbeat would be answered with REBALANCE_IN_PROGRESS or UNKNOWN_MEMBER_ID."""
        return worker not in self.joining and (self.preparing or worker not in self.members)

    def join(self, worker: int, owned: Owned, offset: int) -> Join:
        """Ask to join; the answer follows when all members have asked."""
        request = Join(worker, owned, offset)
        earlier = self.joining.get(worker)
        if earlier is not None:
            earlier.void = True
        self.preparing = True
        self.joining[worker] = request
        self.log.emit(Kind.JOINED, node=worker, member=self.generation + 1, offset=offset)
        self.complete()
        return request

    def complete(self) -> None:
        """Begin the next generation, with its leader, if all members have joined."""
        if not self.preparing or not self.joining or self.members.keys() - self.joining.keys():
            return
        self.generation += 1
        self.members, self.joining = self.joining, {}
        self.preparing = False
        self.assignments = None
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        for request in self.members.values():
            request.generation = self.generation

    def expire(self, worker: int) -> bool:
        """End the session of a member; return False if the worker is not a member."""
        member, waiting = self.members.pop(worker, None), self.joining.pop(worker, None)
        if waiting is not None:
            waiting.void = True
        if member is None and waiting is None:
            return False
        self.sessions[worker] += 1
        self.log.emit(Kind.MEMBER_EXPIRED, node=worker, member=self.generation)
        if self.leader == worker:  # it would come back as another member
            self.leader = min(self.members, key=self.place, default=NONE) if self.member_order else NONE
        self.preparing = self.preparing or bool(self.members)
        self.complete()
        return True

    def assign(self, worker: int, generation: int, assignments: dict[int, Assignment], offset: int) -> None:
        """Take the assignments from the leader, which made them from the config topic before `offset`."""
        self.check(worker, generation, "assign")
        self.assignments = assignments
        self.offset = offset
        self.log.emit(Kind.ASSIGNMENT_MADE, node=worker, member=generation, offset=offset)

    def is_assigned(self, worker: int, generation: int) -> bool:
        """Return whether a sync would be answered now, possibly with an error."""
        return self.error(worker, generation) != 0 or self.assignments is not None

    def sync(self, worker: int, generation: int) -> Handed:
        """Return the assignment that the leader has made for a member."""
        self.check(worker, generation, "sync")
        assert self.assignments is not None, "a sync waits for the assignment"
        return Handed(generation, self.leader, self.offset, self.assignments[worker])

    def error(self, worker: int, generation: int) -> int:
        if worker not in self.members:
            return UNKNOWN_MEMBER_ID
        if self.preparing:
            return REBALANCE_IN_PROGRESS
        return 0 if generation == self.generation else ILLEGAL_GENERATION

    def check(self, worker: int, generation: int, call: str) -> None:
        """Raise OperationError if the worker is not a member any more, or the generation is not the current one."""
        error = self.error(worker, generation)
        if error:
            raise OperationError(call, error, "the group has gone on")
