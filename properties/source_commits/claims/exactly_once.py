"""This module states what a notified task of the exactly-once runtime may rely on, and why."""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    service,
    witness,
)
from fencepost.model.source_commits.at_least_once import Offset, Partition
from fencepost.model.source_commits.exactly_once import ExactlyOnce, Moment
from fencepost.model.source_commits.null_offsets import NullOffsets
from fencepost.properties.source_commits.claims.core import Promises


class OncePromises(Properties):
    """`OncePromises` has the promises of the exactly-once runtime, also for an instance that was fenced."""

    @promise(rule="src.P1", broken="a task was notified of an offset of {p} that is not in the offsets topic")
    def told_is_stored(s):
        """Each offset of which a task was notified is in the offsets topic, also if the task was fenced since."""
        return forall(Partition, lambda p: (s.told[p] <= s.stored[p]) & (s.late[p] <= s.stored[p]))

    @promise(rule="src.P1", broken="the offset of {p} of which tasks are notified goes back")
    def told_only_grows(s):
        """The offset of which tasks are notified never goes back for a source partition, unless a task was fenced."""
        return forall(Partition, lambda p: s.told[p] == s.told_most[p])

    stored_only_grows = Promises.stored_only_grows

    @promise(
        rule="src.5",
        broken="between transactions the task was not notified of all that its instance committed of {p}",
    )
    def told_is_the_latest(s):
        """Between transactions the task was notified of everything that its instance has committed."""
        return forall(
            Partition,
            lambda p: implies(
                ~s.over & (s.moment == Moment.WORKING), (s.told[p] == s.stored[p]) | (s.stored[p] == s.resumed[p])
            ),
        )  # fmt: skip

    @promise(
        rule="src.P2",
        broken="a restart leaves out the record at {i} of {p}, which was not committed, filtered or aborted "
        "at the connector's request",
    )
    def nothing_skipped(s):
        """Each record that a restart leaves out was committed, filtered, or aborted as the connector requested."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.stored[p]), s.done[p, i]))

    nothing_lost_upstream = Promises.nothing_lost_upstream

    kept_for_a_restart = Promises.kept_for_a_restart

    @service(rule="src.P3", broken="the task is never notified of the record at {i} of {p}, which it has submitted")
    def is_told_in_the_end(s, p: Partition, i: Offset):
        """A task is notified in the end of each record that it has submitted, also if it had the record aborted, while
        the instance runs. The next instance may not have polled the record yet, or resumes after it."""
        its_own = (i <= s.polled[p]) & (s.resumed[p] < i)
        return leads_to(~s.over & (s.data[p] == i) & (0 < i), (i <= s.told[p]) | s.over | ~its_own)

    @service(rule="src.P4", broken="the offset of the record at {i} of {p}, which was submitted, is never stored")
    def is_stored_in_the_end(s, p: Partition, i: Offset):
        """A restart would resume after each record that a task has submitted in the end, while the instance runs."""
        its_own = (i <= s.polled[p]) & (s.resumed[p] < i)
        return leads_to(~s.over & (s.data[p] == i) & (0 < i), (i <= s.stored[p]) | s.over | ~its_own)

    @witness(of="told_is_stored")
    def fenced_before_it_was_told(s):
        """An instance was fenced before it was notified, and its successor has committed more."""
        return exists(Partition, lambda p: (0 < s.late[p]) & (s.late[p] < s.stored[p]))

    @witness(of="told_only_grows")
    def told_again(s):
        """A task was notified before, and a newer offset is committed."""
        return exists(
            Partition, lambda p: (s.moment == Moment.COMMITTED) & (0 < s.told[p]) & (s.told[p] < s.flushing[p])
        )  # fmt: skip

    @witness(of="stored_only_grows")
    def commits_unheard(s):
        """A transaction whose task is gone is to be committed, after one that was committed."""
        return s.over & (s.moment == Moment.ASKED) & exists(Partition, lambda p: 0 < s.stored[p])

    @witness(of="told_is_the_latest")
    def told_of_one(s):
        """A task was notified after a restart of an offset that its instance has committed."""
        return exists(Partition, lambda p: (0 < s.resumed[p]) & (s.resumed[p] < s.told[p]))

    @witness(of="nothing_skipped")
    def aborted_and_stored(s):
        """Records were aborted, and their offset is with the writer."""
        return exists(Partition, lambda p: 0 < s.data[p]) & forall(Partition, Offset, lambda p, i: ~s.inside[p, i])

    @witness(of="nothing_lost_upstream")
    def discarded(s):
        """The upstream system has discarded a record, and the next one is in a transaction."""
        return exists(Partition, Offset, lambda p, i: (0 < s.released[p]) & s.inside[p, i])

    @witness(of="kept_for_a_restart")
    def discards_late(s):
        """An instance that has been fenced is about to report upstream the offset of which it was notified."""
        return exists(Partition, lambda p: s.released[p] < s.late[p])

    @witness(of="is_stored_in_the_end")
    def more_is_noted(s):
        """After a transaction was committed, a newer offset is with the writer."""
        return exists(Partition, lambda p: (0 < s.stored[p]) & (s.stored[p] < s.data[p]))

    @witness(of="is_told_in_the_end")
    def fails_in_the_middle(s):
        """An instance has failed while its transaction was open."""
        return s.over & exists(Partition, Offset, lambda p, i: s.inside[p, i])


class OnceLemmas(OncePromises, of=ExactlyOnce):
    """The lemmas of `OnceLemmas` state that offsets only ever move on towards the topic."""

    @lemma
    def polled_is_accounted_for(s):
        """Each record that was polled is in the transaction, or was committed, filtered or aborted."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(~s.over & (0 < i) & (i <= s.polled[p]), s.inside[p, i] | s.done[p, i])
            & implies(s.inside[p, i], s.stored[p] < i)
            & implies(~s.over & s.inside[p, i], (i <= s.polled[p]) & ((i <= s.data[p]) | (i <= s.flushing[p]))),
        )  # fmt: skip

    @lemma
    def in_order(s):
        """An offset further on its way is older, and one in a transaction is not older than the stored one."""
        return forall(
            Partition,
            lambda p: implies(~s.over, (s.data[p] <= s.polled[p]) & (s.flushing[p] <= s.polled[p]))
            & implies(~s.over, s.stored[p] <= s.polled[p])
            & implies(0 < s.data[p], (s.moment == Moment.WORKING) & (s.stored[p] <= s.data[p]))
            & implies((0 < s.flushing[p]) & (s.moment == Moment.ASKED), s.stored[p] <= s.flushing[p])
            & implies(~s.over & (0 < s.flushing[p]), s.moment != Moment.WORKING)
            & implies(~s.over & (s.moment == Moment.COMMITTED) & (0 < s.flushing[p]), s.stored[p] == s.flushing[p]),
        )  # fmt: skip

    @lemma
    def ends_with_its_records(s):
        """A transaction whose end is requested contains every record, not done before, that its offsets cover."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(
                (s.moment == Moment.ASKED) & (0 < i) & (i <= s.flushing[p]), s.inside[p, i] | s.done[p, i]
            )
            & implies(s.moment == Moment.COMMITTED, ~s.inside[p, i]),
        )  # fmt: skip

    @lemma
    def told_or_about_to(s):
        """A committed transaction of which the task was not notified is the one of which it is about to be notified."""
        return forall(
            Partition,
            lambda p: implies(
                ~s.over,
                (s.told[p] == s.stored[p]) | (s.stored[p] == s.resumed[p])
                | ((s.moment == Moment.COMMITTED) & (s.stored[p] == s.flushing[p])),
            )
            & implies(s.over, s.moment != Moment.COMMITTED),
        )  # fmt: skip


# These promises are for a task some of whose records have no source offset.


class NullPromises(Properties, of=NullOffsets):
    """`NullPromises` has the promises, and their lemmas, where a record without an offset changes no offset."""

    @promise(rule="src.P1", broken="the task was notified of an offset of {p} that is not in the offsets topic")
    def told_is_stored(s):
        """Each offset of which the task was notified is in the offsets topic."""
        return forall(Partition, lambda p: s.told[p] <= s.stored[p])

    stored_only_grows = Promises.stored_only_grows

    @promise(rule="src.P2", broken="a restart leaves out the record at {i} of {p}, which was not delivered")
    def nothing_skipped(s):
        """Each record that a restart leaves out was delivered."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.stored[p]), s.done[p, i]))

    @service(rule="src.P3", broken="the record at {i} of {p} never leaves the queue")
    def leaves_the_queue(s, p: Partition, i: Offset):
        """Each record leaves the queue in the end, with or without an offset."""
        return leads_to(s.queue[p, i], ~s.queue[p, i])

    @lemma
    def in_order(s):
        """An offset further on its way is older, every record that it covers was delivered, and nothing is erased."""
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
        """The task was notified of an offset, and an acknowledged record without an offset is in the queue."""
        return exists(Partition, Offset, lambda p, i: (0 < s.told[p]) & s.queue[p, i] & s.bare[p, i] & s.acked[p, i])

    @witness(of="stored_only_grows")
    def to_be_flushed(s):
        """An offset is about to be written over another one."""
        return exists(Partition, lambda p: (0 < s.stored[p]) & (s.stored[p] < s.data[p]))

    @witness(of="nothing_skipped")
    def waits_behind(s):
        """A record is acknowledged while an earlier one is not, after an offset was stored."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & s.queue[p, i] & ~s.acked[p, i] & s.acked[p, j] & (0 < s.stored[p]),
        )  # fmt: skip

    @witness(of="leaves_the_queue")
    def bare_at_the_head(s):
        """An acknowledged record without an offset is at the head of the queue."""
        return exists(Partition, Offset, lambda p, i: s.bare[p, i] & s.acked[p, i] & (i == 1))
