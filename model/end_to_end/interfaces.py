"""These are the interfaces of Connect and of producer ids for the protocols that rely on them; `Fated` is that of
transactions, and `Delivered` that of source offsets and of a group that copies.

`properties/end_to_end/claims/abstract.py` has it proved that the cores do nothing else: Connect as it shipped, the
blocks that KRaft grants, and the group that shipped, for each of its partitions.
"""

from fencepost.model.id_blocks.brokers import Id
from fencepost.model.language import Bool, Map, Protocol, Set, action, each, either, forall, implies, require
from fencepost.model.task_counts.abstract.core import Generation, Instance, Task


class Admission(Protocol):
    """The model has which instances of a connector's tasks Connect has let poll, and which of them are not fenced. It
    leaves out leaders, rounds, count records and views of the config topic. A task begins to poll only when no instance
    of another set can commit, and a producer that is opened fences the other producers of its task."""

    actors = ("leader",)

    opened: Set[Instance]  # it has opened its producer
    polls: Set[Instance]  # it may poll
    live: Set[Instance]  # its producer has not been fenced since it was opened
    of: Map[Instance, Generation]  # the set that it was started from; 0: none
    task: Map[Instance, Task]

    @action(by="leader", to="k")
    def assign(s, k: Instance, i: Task, g: Generation):
        """An instance is assigned a task of a set."""
        require(~s.opened[k] & (0 < g))
        s.of[k] = g
        s.task[k] = i

    @action(fair="weak")
    def open_producer(s, k: Instance):
        """The new producer's epoch fences every other holder of the transactional id."""
        require(~s.opened[k] & (0 < s.of[k]))
        i = s.task[k]
        s.live = each(lambda j: (j == k) | (s.live[j] & either("618.18", s.task[j] != i, fences_nobody=True)))
        s.opened[k] = True

    @action(fair="weak", by="leader", to="k")
    def let_poll(s, k: Instance):
        """An instance may poll when no instance of another set can commit any more."""
        require(s.opened[k] & ~s.polls[k])
        require(
            either("618.19", forall(Instance, lambda j: implies(s.can_commit(j), s.of[j] == s.of[k])), unchecked=True)
        )
        s.polls[k] = True

    @action
    def fence(s, i: Task):
        """A fencing round, or a late request of one, fences all holders of a transactional id."""
        s.live = each(lambda j: s.live[j] & (s.task[j] != i))

    @action
    def stop(s, k: Instance):
        """An instance ends, or is not allowed to poll."""
        require(0 < s.of[k])
        s.opened[k] = False
        s.polls[k] = False
        s.live[k] = False
        s.of[k] = 0
        s.task[k] = 0

    def can_commit(s, k):
        return s.polls[k] & s.live[k]


class Handed(Protocol):
    """In the `Handed` model each producer id is handed out once, and brokers, blocks and controllers are left out."""

    actors = ("broker",)

    given: Set[Id]
    twice: Bool  # an id was handed out again

    @action
    def hand_out(s, i: Id):
        """A client is answered with a producer id."""
        require(either("730.8", ~s.given[i], once_more=True))
        s.twice = s.twice | s.given[i]
        s.given[i] = True
