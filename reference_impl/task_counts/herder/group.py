"""The group coordinator: who is a member, in which generation, and what the leader has assigned (Connect's protocol).

A rebalance is joins by all members (or the expiry of those that do not come), then the leader's assignment, then
the sync of all. The first to join leads; a leader stays leader as long as it stays a member.
"""

from dataclasses import dataclass, field

from fencepost.reference_impl.task_counts.events import ConnectEventLog, Kind
from fencepost.reference_impl.task_counts.herder.assignors import Assignment, Owned
from fencepost.reference_impl.task_counts.tasks.threads import OperationError

NONE = -1
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27


@dataclass(eq=False, slots=True)
class Join:
    """One JoinGroup request, answered when `generation` is set; void: the member is not one any more."""

    worker: int
    owned: Owned
    offset: int  # of the config topic: how far the member has read
    generation: int = NONE
    void: bool = False

    @property
    def answered(self) -> bool:
        """Whether there is something to go on with."""
        return self.void or self.generation != NONE


@dataclass(frozen=True, slots=True)
class Handed:
    """The answer of a rebalance to one member."""

    generation: int
    leader: int
    offset: int  # of the config topic: the assignment was made from what stands before it
    assignment: Assignment


@dataclass(slots=True)
class Group:
    """One group. `members` are those of the generation, `joining` those that have asked for the next one."""

    log: ConnectEventLog
    members: dict[int, Join] = field(default_factory=dict)
    joining: dict[int, Join] = field(default_factory=dict)
    preparing: bool = False  # members are awaited
    generation: int = 0
    leader: int = NONE
    offset: int = 0
    assignments: dict[int, Assignment] | None = None  # of this generation, once the leader has handed them in

    def must_rejoin(self, worker: int) -> bool:
        """Whether a heartbeat would be answered with a rebalance, or with "who are you"."""
        return worker not in self.joining and (self.preparing or worker not in self.members)

    def join(self, worker: int, owned: Owned, offset: int) -> Join:
        """Ask to join; the answer comes when all members have asked."""
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
        """All members have joined: the next generation begins, with its leader."""
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
        """The session of a member ends; False if it is none."""
        member, waiting = self.members.pop(worker, None), self.joining.pop(worker, None)
        if waiting is not None:
            waiting.void = True
        if member is None and waiting is None:
            return False
        self.log.emit(Kind.MEMBER_EXPIRED, node=worker, member=self.generation)
        if self.leader == worker:  # it would come back as another member
            self.leader = NONE
        self.preparing = self.preparing or bool(self.members)
        self.complete()
        return True

    def assign(self, worker: int, generation: int, assignments: dict[int, Assignment], offset: int) -> None:
        """The leader hands in who has what, made from the config topic before `offset`."""
        self.check(worker, generation, "assign")
        self.assignments = assignments
        self.offset = offset
        self.log.emit(Kind.ASSIGNMENT_MADE, node=worker, member=generation, offset=offset)

    def is_assigned(self, worker: int, generation: int) -> bool:
        """Whether a sync would be answered now, be it with an error."""
        return self.error(worker, generation) != 0 or self.assignments is not None

    def sync(self, worker: int, generation: int) -> Handed:
        """The assignment that the leader has made for a member."""
        self.check(worker, generation, "sync")
        assert self.assignments is not None, "a sync waits for the assignment"
        return Handed(generation, self.leader, self.offset, self.assignments[worker])

    def error(self, worker: int, generation: int) -> int:
        """The error with which a member's request of this generation is refused; 0: it is not."""
        if worker not in self.members:
            return UNKNOWN_MEMBER_ID
        if self.preparing:
            return REBALANCE_IN_PROGRESS
        return 0 if generation == self.generation else ILLEGAL_GENERATION

    def check(self, worker: int, generation: int, call: str) -> None:
        """Raises OperationError for a member or a generation that is no longer one."""
        error = self.error(worker, generation)
        if error:
            raise OperationError(call, error, "the group has gone on")
