"""What is true of a task some of whose records have no source offset."""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    service,
    step,
    witness,
)
from fencepost.model.source_commits.at_least_once import Offset, Partition
from fencepost.model.source_commits.null_offsets import NullOffsets


class NullPromises(Properties, of=NullOffsets):
    """The promises, and why they hold where a record without an offset changes none."""

    @promise(rule="src.P1")
    def told_is_stored(s):
        """What the task was told is in the offsets topic."""
        return forall(Partition, lambda p: s.told[p] <= s.stored[p])

    @step(rule="src.P1")
    def stored_only_grows(old, new):
        """What a restart resumes from never goes back."""
        return forall(Partition, lambda p: old.stored[p] <= new.stored[p])

    @promise(rule="src.P2")
    def nothing_skipped(s):
        """Each record that a restart leaves out was delivered."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.stored[p]), s.done[p, i]))

    @service(rule="src.P3")
    def leaves_the_queue(s, p: Partition, i: Offset):
        """Each record leaves the queue in the end, with or without an offset."""
        return leads_to(s.queue[p, i], ~s.queue[p, i])

    @lemma
    def in_order(s):
        """Offsets that are nearer to the topic are older, and all before them was delivered; nothing is erased."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(s.queue[p, i], (s.data[p] < i) & (s.stored[p] < i) & (i <= s.polled[p]))
            & implies((0 < i) & (i <= s.polled[p]), s.done[p, i] | (s.queue[p, i] & ~s.acked[p, i]))
            & implies((0 < i) & (i <= s.data[p]), s.done[p, i])
            & implies(s.acked[p, i] | s.bare[p, i], s.queue[p, i]),
        ) & forall(
            Partition,
            lambda p: implies(0 < s.data[p], s.stored[p] <= s.data[p])
            & (s.data[p] <= s.polled[p]) & (s.stored[p] <= s.polled[p]) & ~s.erases[p],
        )  # fmt: skip

    @witness(of="told_is_stored")
    def told_before(s):
        """The task was told of an offset, and a record without one is at the end of the queue."""
        return exists(Partition, Offset, lambda p, i: (0 < s.told[p]) & s.queue[p, i] & s.bare[p, i] & s.acked[p, i])

    @witness(of="stored_only_grows")
    def to_be_flushed(s):
        """An offset is to be written over another one."""
        return exists(Partition, lambda p: (0 < s.stored[p]) & (s.stored[p] < s.data[p]))

    @witness(of="nothing_skipped")
    def waits_behind(s):
        """A record is acknowledged behind one that is not, after one that is stored."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & s.queue[p, i] & ~s.acked[p, i] & s.acked[p, j] & (0 < s.stored[p]),
        )  # fmt: skip

    @witness(of="leaves_the_queue")
    def bare_at_the_head(s):
        """A record without an offset is at the head of the queue."""
        return exists(Partition, Offset, lambda p, i: s.bare[p, i] & s.acked[p, i] & (i == 1))
