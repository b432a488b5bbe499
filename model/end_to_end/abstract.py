"""The end-to-end model is composed of Connect, the transactions of its tasks, producer ids, source offsets, and a group
that copies.

A task that Connect starts opens a transactional producer, whose producer id was handed out for it. It reads where its
source partitions were left, and writes records and offsets in transactions. The committed records are the input of a
consumer group, whose members copy them to a sink, with their offsets, in transactions of their own.

Each step is a step of one part, or of several parts at once, and in between every part takes steps of its own. The
model uses only the interfaces of the parts: `Admission` is what Connect as it shipped is proved to do, `Handed` what
KRaft's blocks of ids do, and `Delivered` what the group that shipped does to each of its partitions, any one of which
is watched. `Producers` is the interface of transactions; `over_core` has the core of v2 in place of any one
transactional id. `Sources` is what one offsets topic does as it ships, where no offset is null, no record is dropped
and no transaction is aborted by the connector. No step checks whether an instance may commit. What has to be proved is
that a task whose EndTxn is accepted is one that Connect lets commit, and that it continues from where the output ends.

An instance counts as running in Connect while its request to commit is in flight, or is accepted and its markers are
not everywhere, whether its process exists or not.
"""

from fencepost.model.end_to_end.interfaces import Admission, Handed
from fencepost.model.end_to_end.outside import OF_THE_WHOLE
from fencepost.model.end_to_end.tasks import Tasks
from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.language import (
    Constant,
    Ghost,
    Map,
    Part,
    Protocol,
    action,
    danger,
    each,
    exists,
    fault,
    part,
    require,
    when,
)
from fencepost.model.source_offsets import delivered
from fencepost.model.source_offsets.delivered import Delivered
from fencepost.model.task_counts.abstract.core import Instance, Task


class EndToEnd(Tasks, Protocol):
    """The `EndToEnd` model reaches from the sources of a connector to the sink of a group."""

    actors = ("coordinator", "leader", "group")

    connect: Part[Admission] = part(joint=["open_producer", "fence", "stop"])
    ids: Part[Handed] = part(joint=["hand_out"])
    group: Part[Delivered] = part(joint=["commit"], sorts={delivered.Offset: Offset})

    outside = OF_THE_WHOLE

    watched: Constant[Partition]  # the partition whose copies in the sink are checked

    sink: Ghost[Map[Offset, Offset]]  # the source record at a place of the group's committed output, from 1
    copies: Ghost[Offset]  # the length of the group's committed output

    def polls(s, k):
        return s.connect.polls[k]

    def is_starting(s, k):
        return s.connect.opened[k] & ~s.connect.polls[k]

    def reads(s, k, p):
        """Return whether the task set from which the instance was started assigns the source partition to its task."""
        return s.planned[s.connect.of[k], s.connect.task[k], p]

    @action(fair="weak")
    def open_producer(s, k: Instance, n: Id):
        """The transactional id is new, and is given a producer id."""
        i = s.connect.task[k]
        require(~s.known[i])
        s.known[i] = True
        s.id[i] = n
        s.connect.open_producer(k)
        s.txn.initialise(k, i)
        s.ids.hand_out(n)
        s.source.open(k, n)

    @action(fair="weak")
    def open_producer_again(s, k: Instance):
        """The transactional id has its producer id, and is given a newer epoch."""
        i = s.connect.task[k]
        require(s.known[i])
        s.connect.open_producer(k)
        s.txn.initialise(k, i)
        s.source.open(k, s.id[i])

    @fault(budget="fences", danger="late-copy", by="leader", to="coordinator")
    def fence(s, i: Task):
        """A leader's round, or a late request of an abandoned round, fences the transactional id of a task."""
        s.connect.fence(i)
        s.txn.fence(i)

    @fault(budget="stops", danger="client-crash")
    def stop(s, k: Instance):
        """An instance ends, at any moment except while its request to commit may still be accepted."""
        require(~s.asked[k] & ~s.is_committing(k))
        s.connect.stop(k)

    def given(s, p):
        """Return how many records a reader of a log is given."""
        return s.source.end[p]

    def record_at(s, p, i):
        return s.source.record[p, i]

    @action(fair="weak", by="group")
    def copy(s, upto: Offset):
        """A transaction of the group is committed, and what it copied is in the sink."""
        require(upto <= s.given(s.watched), rule="txn.17")

        start, first = s.copies, s.group.end
        s.copies = start + (upto - first)
        s.sink = each(
            lambda i: when(
                (start < i) & (i <= start + (upto - first)), s.record_at(s.watched, first + (i - start)), s.sink[i]
            )
        )
        s.group.commit(upto)

    @danger("zombie")
    def goes_on_late(s):
        """A fenced instance polls at the same time as one that is not fenced."""
        return exists(
            Instance, Instance,
            lambda j, k: s.polls(j) & s.polls(k) & s.txn.fenced[j] & ~s.txn.fenced[k],
        )  # fmt: skip
