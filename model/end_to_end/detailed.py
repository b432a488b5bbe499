"""In the detailed end-to-end model the parts are cores themselves instead of their interfaces.

Connect is the core of what shipped, with leaders, rounds and count records. Producer ids come from the blocks that
KRaft grants to brokers. The group that copies is the core of what shipped, with members, generations and rebalances.
The tasks and their transactions are those of `abstract`. All states are visited within small bounds only, and each step
there is one of the abstract model's (`does as the whole`); beyond them the model is explored by random walks.
"""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.outside import OF_THE_WHOLE
from fencepost.model.end_to_end.tasks import Tasks
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Member, Offset, Partition
from fencepost.model.id_blocks.brokers import Broker
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    Constant,
    Ghost,
    Map,
    Part,
    Protocol,
    action,
    each,
    fault,
    part,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.abstract.cores import ShippedCore


class Detailed(Tasks, Protocol):
    """The model reaches from the sources of a connector to the sink of a group, over the cores of the parts."""

    actors = ("coordinator", "leader")

    connect: Part[ShippedCore] = part(joint=["open_producer", "fence", "fence_late", "stop"])
    ids: Part[Kraft] = part(joint=["hand_out"])
    group: Part[Shipped] = part(joint=["process", "commit"])

    outside = OF_THE_WHOLE

    watched: Constant[Partition]  # the partition whose copies in the sink are checked

    sink: Ghost[Map[Offset, Offset]]  # the source record at a place of the group's committed output, from 1
    copies: Ghost[Offset]  # the length of the group's committed output

    def polls(s, k):
        return s.connect.stage[k] == Stage.RUNNING

    def is_starting(s, k):
        return s.connect.stage[k] == Stage.PRODUCER

    reads = EndToEnd.reads

    @action(fair="weak")
    def open_producer(s, k: Instance, b: Broker):
        """The transactional id is new, and its coordinator takes a producer id from the block of its broker."""
        i = s.connect.task[k]
        require(~s.known[i])
        fresh = s.ids.cursor[b]
        s.known[i] = True
        s.id[i] = fresh
        s.connect.open_producer(k)
        s.txn.initialise(k, i)
        s.ids.hand_out(b)
        s.source.open(k, fresh)

    open_producer_again = EndToEnd.open_producer_again

    @action(fair="weak")
    def fence(s, w: Worker, i: Task):
        """The leader's round receives the answer that the transactional id of a task is fenced."""
        s.connect.fence(w, i)
        s.txn.fence(i)

    @fault(budget="late_fences", danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """The transactional id of a task is fenced by a request that was given up as lost."""
        s.connect.fence_late(i)
        s.txn.fence(i)

    @action(danger="client-crash")
    def stop(s, k: Instance):
        """An instance ends, at any moment except while its request to commit may still be accepted."""
        require(~s.asked[k] & ~s.is_committing(k))
        s.connect.stop(k)

    # The group

    @action
    def copy(s, m: Member, p: Partition, i: Offset):
        """A member of the group processes records that a reader of the log is given."""
        require(i <= s.source.end[p])
        s.group.process(m, p, i)

    @action
    def commit_copies(s, m: Member):
        """The member's transaction is committed, and what it copied is in the sink."""

        p = s.watched
        taken, start = s.group.is_in(m, p), s.copies
        first, upto = s.group.first[m, p], s.group.next[m, p]
        s.copies = when(taken, start + (upto - first), start)
        s.sink = each(
            lambda i: when(
                taken & (start < i) & (i <= start + (upto - first)), s.source.record[p, first + (i - start)], s.sink[i]
            )
        )
        s.group.commit(m)
