"""This model has source offsets as the tasks of a connector and their logs have them: what is read, written, stored and
resumed from.

A task continues from the stored offset of a source partition, and writes each record, and then its offset, under its
producer id. Markers decide whether they count. The marker for the offsets settles everything in their log under the
producer id that it names, since brokers know nothing else of a transaction. Each source partition has a log for its
records, to which the tasks write that read the partition; all share one log of offsets.

This part does not decide who may write, and when a marker arrives. It therefore promises nothing by itself, and what
its readers may rely on (`Delivered` in model/source_offsets) is proved of the end-to-end model. It covers one offsets
topic, and tasks that commit what they have. The worker's topic, as it ships, is proved to do nothing else to any source
partition (`one_topic`). Two topics, a connector's aborts, null offsets and dropped records are left out.
"""

from fencepost.model.group_fencing.core import Offset, Partition
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.language import (
    Bool,
    Ghost,
    Map,
    Protocol,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    require,
    when,
)
from fencepost.model.task_counts.abstract.core import Instance


class Sources(Protocol):
    """The model has source partitions, the instances that read them, and their records and offsets in Kafka."""

    actors = ("task",)

    under: Map[Instance, Id]  # the producer id of its records
    resumed: Set[Instance, Partition]  # it has read the stored offset
    base: Map[Instance, Partition, Offset]  # where its transaction begins
    next: Map[Instance, Partition, Offset]  # the last record that it has read and written
    wrote: Set[Instance, Partition]  # records of its transaction are in the log, undecided

    pending: Map[Partition, Offset]  # the last source offset in the log of offsets, undecided; 0: none
    sender: Map[Partition, Instance]  # the instance that sent the pending offset
    stored: Map[Partition, Offset]  # the stored offset that counts
    end: Map[Partition, Offset]  # how many records a reader of the log is given
    record: Map[Partition, Offset, Offset]  # the source record at a place of the log, from 1

    done: Ghost[Map[Partition, Offset]]  # the last record in a transaction that is to be committed
    amiss: Ghost[Set[Partition]]  # a committed transaction did not begin where the last one ended
    committer: Ghost[Map[Partition, Instance]]  # the instance that committed last
    coming: Ghost[Set[Partition]]  # a committed transaction's records are not readable yet

    @action
    def open(s, k: Instance, i: Id):
        """The instance has opened its producer, and has read nothing with it."""
        s.under[k] = i
        s.resumed = each(lambda j, p: s.resumed[j, p] & (j != k))

    @action
    def resume(s, k: Instance, p: Partition):
        """The instance reads the offsets to their end (618.32)."""
        require(~s.resumed[k, p])
        start = s.found(p)
        s.resumed[k, p] = True
        s.base[k, p] = start
        s.next[k, p] = start

    def found(s, p):
        return either("618.P2", s.stored[p], from_the_beginning=0)

    @action
    def send(s, k: Instance, p: Partition, i: Offset):
        """The instance reads the next record, which is then in its log."""
        require(s.resumed[k, p] & (i == s.next[k, p] + 1))
        s.next[k, p] = i
        s.wrote[k, p] = True

    @action
    def send_offsets(s, k: Instance):
        """The offsets of everything in the transaction are in their log."""
        s.pending = each(lambda p: when(s.wrote[k, p], s.next[k, p], s.pending[p]))
        s.sender = each(lambda p: when(s.wrote[k, p], k, s.sender[p]))
        s.stored = each(
            lambda p: either("618.27", s.stored[p], at_once=when(s.wrote[k, p], s.next[k, p], s.stored[p]))
        )  # fmt: skip

    @action
    def commit(s, k: Instance):
        """The transaction is to be committed."""
        s.amiss = each(lambda p: s.amiss[p] | (s.wrote[k, p] & (s.base[k, p] != s.done[p])))
        s.done = each(lambda p: when(s.wrote[k, p], s.next[k, p], s.done[p]))
        s.committer = each(lambda p: when(s.wrote[k, p], k, s.committer[p]))
        s.coming = each(lambda p: s.coming[p] | s.wrote[k, p])

    @action
    def mark(s, k: Instance, p: Partition, commit: Bool):
        """A marker decides whether the records count, if there are any."""
        counts = commit & s.wrote[k, p]
        s.show(k, p, counts)
        s.wrote[k, p] = False
        s.coming[p] = s.coming[p] & ~counts
        s.base[k, p] = when(counts, s.next[k, p], s.base[k, p])

    def show(s, k, p, counts):
        """From now on a reader is given the records, after all earlier ones, or is never given them."""
        start, first = s.end[p], s.base[k, p]
        many = s.next[k, p] - first
        s.end[p] = when(counts, start + many, start)
        s.record = each(
            lambda q, i: when(
                counts & (q == p) & (start < i) & (i <= start + many), first + (i - start), s.record[q, i]
            )
        )

    @action
    def mark_offsets(s, i: Id, commit: Bool):
        """A marker decides whether the offsets count that are in the log under a producer id."""
        s.stored = each(lambda p: when(commit & s.is_under(p, i), s.pending[p], s.stored[p]))
        s.pending = each(lambda p: when(s.is_under(p, i), 0, s.pending[p]))

    def is_under(s, p, i):
        """Return whether the source partition has an undecided offset under that producer id."""
        return (0 < s.pending[p]) & (s.under[s.sender[p]] == i)

    @danger("several-records")
    def several_records(s):
        """A transaction has several records of one source partition."""
        return exists(Instance, Partition, lambda k, p: s.wrote[k, p] & (s.base[k, p] + 1 < s.next[k, p]))

    @danger("several-partitions")
    def several_partitions(s):
        """A transaction has records of several source partitions."""
        return exists(Instance, Partition, Partition, lambda k, p, q: (p != q) & s.wrote[k, p] & s.wrote[k, q])
