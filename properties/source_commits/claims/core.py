"""This module states what a source task that is notified of committed offsets, and its consumers, may rely on."""

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
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Offset, Partition, Place, Stage, Thread
from fencepost.model.source_commits.connectors import (
    Mended,
)


class Promises(Properties):
    """`Promises` has the promises of a task of the at-least-once runtime."""

    @promise(
        rule="src.P1",
        broken="the task was notified of an offset of {p} that is not in the offsets topic, so that a restart "
        "resumes from before it",
    )
    def told_is_stored(s):
        """Each offset of which a task was notified is in the offsets topic, so no restart resumes from before it."""
        return forall(Partition, lambda p: s.told[p] <= s.stored[p])

    @promise(rule="src.P1", broken="the offset of {p} of which tasks are notified goes back")
    def told_only_grows(s):
        """The offset of which tasks are notified never goes back for a source partition, also over restarts."""
        return forall(Partition, lambda p: s.told[p] == s.told_most[p])

    @step(rule="src.P1", broken="the offset from which a restart of {p} resumes goes back")
    def stored_only_grows(old, new):
        """The offset from which a restart resumes never goes back."""
        return forall(Partition, lambda p: old.stored[p] <= new.stored[p])

    @promise(
        rule="src.5",
        broken="the task was not notified of all that its instance committed of {p}, and no commit is under way",
    )
    def told_is_the_latest(s):
        """Where no commit is under way or waited for, the task was notified of all that its instance committed."""
        return forall(
            Partition,
            lambda p: implies(
                (s.life == Life.RUNNING) & s.is_quiet(p), (s.told[p] == s.stored[p]) | (s.stored[p] == s.resumed[p])
            ),
        )  # fmt: skip

    def is_quiet(s, p):
        """Return whether no offset of the partition is with the writer or under way, with no thread to notify."""
        nothing = (s.data[p] == 0) & (s.flushing[p] == 0) & forall(Offset, lambda v: ~s.sent[p, v])
        return nothing & forall(Thread, lambda t: s.stage[t] != Stage.WRITTEN)

    @promise(
        rule="src.P2",
        broken="a restart leaves out the record at {i} of {p}, which was not delivered, filtered or tolerated",
    )
    def nothing_skipped(s):
        """Each record that a restart leaves out, because its offset is committed, was delivered, filtered, or failed
        where failures are tolerated."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.stored[p]), s.done[p, i]))

    @promise(
        rule="src.P2",
        broken="upstream has discarded the record at {i} of {p}, which was not delivered, filtered or tolerated",
    )
    def nothing_lost_upstream(s):
        """Each record that upstream has discarded was delivered, filtered, or failed where that is tolerated."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.released[p]), s.done[p, i]))

    @promise(rule="src.8", broken="upstream has discarded records of {p} with which a restart would resume")
    def kept_for_a_restart(s):
        """The upstream system still has every record with which a restart would resume."""
        return forall(Partition, lambda p: s.released[p] <= s.stored[p])

    @promise(rule="src.P3", broken="the instance has ended cleanly, and its record at {i} of {p} is not committed")
    def clean_end_covers_all(s):
        """An instance that has ended cleanly leaves nothing over: every record that it has submitted is committed."""
        return forall(Partition, Offset, lambda p, i: implies(s.clean & s.own[p, i], i <= s.stored[p]))

    @service(rule="src.P3", broken="the record at {i} of {p} never leaves the queue")
    def leaves_the_queue(s, p: Partition, i: Offset):
        """Each record leaves the queue in the end, while the instance runs."""
        here = (s.place[p, i] != Place.AWAY) & (s.life == Life.RUNNING)
        return leads_to(here, (s.place[p, i] == Place.AWAY) | (s.life != Life.RUNNING))

    @service(rule="src.P3", broken="the task is never notified of the record at {i} of {p}, which is acknowledged")
    def is_told_in_the_end(s, p: Partition, i: Offset):
        """An acknowledged record without an unanswered record before it is covered in the end by an offset of which the
        task is notified, while the instance runs."""
        ready = (s.life == Life.RUNNING) & (s.place[p, i] == Place.ACKED) & s.is_prefix(p, i)
        return leads_to(ready, (i <= s.told[p]) | (s.life != Life.RUNNING))

    @service(rule="src.P3", broken="an instance that was asked to stop is never over")
    def comes_to_an_end(s):
        """An instance that is asked to stop is over in the end."""
        return leads_to(s.life == Life.STOPPING, (s.life == Life.OVER) | (s.life == Life.GONE))

    @service(rule="src.P4", broken="the offset of the record at {i} of {p}, which was submitted, is never stored")
    def is_stored_in_the_end(s, p: Partition, i: Offset):
        """A record that was submitted, and not refused, is covered in the end by the offset from which a restart would
        resume, while the instance runs and none has failed."""
        its_own = (s.life == Life.RUNNING) & s.own[p, i]
        return leads_to(its_own, (i <= s.stored[p]) | ~its_own | s.fails)

    @witness(of="told_is_stored")
    def told_after_another(s):
        """An instance that resumed from a stored offset was notified of a newer one."""
        return exists(
            Partition, lambda p: (0 < s.resumed[p]) & (s.resumed[p] < s.told[p])
        )  # fmt: skip

    @witness(of="told_only_grows")
    def told_again(s):
        """A task was notified of a partition before, and a newer flush of that partition has succeeded."""
        return exists(
            Partition, Thread,
            lambda p, t: (s.stage[t] == Stage.WRITTEN) & (0 < s.told[p]) & (s.told[p] < s.flushing[p]),
        )  # fmt: skip

    @witness(of="stored_only_grows")
    def old_write_on_its_way(s):
        """A write of a cancelled flush is on its way, and so is a newer write."""
        return exists(Partition, Offset, Offset, lambda p, v, w: (v < w) & s.sent[p, v] & s.sent[p, w])

    @witness(of="told_is_the_latest")
    def told_by_the_second(s):
        """The first flush of a partition was cancelled, and its write is in the topic all the same."""
        return exists(Partition, lambda p: (s.resumed[p] < s.stored[p]) & (0 < s.data[p]) & (s.told[p] == 0))

    @witness(of="nothing_skipped")
    def restarts_with_a_gap(s):
        """A later record of an instance was acknowledged before an earlier one, after an instance that committed."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.ACKED)
            & (0 < s.stored[p]),
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def discarded(s):
        """The upstream system has discarded a record, and the next one is in flight."""
        return exists(Partition, Offset, lambda p, i: (0 < s.released[p]) & (s.place[p, i] == Place.WAITING))

    @witness(of="kept_for_a_restart")
    def discards_late(s):
        """A notified instance is gone, and upstream has not yet discarded what the notification covers."""
        return exists(Partition, lambda p: (s.released[p] < s.told[p]) & (s.life == Life.GONE))

    @witness(of="clean_end_covers_all")
    def ends_well(s):
        """An instance that submitted a record has ended cleanly."""
        return s.clean & exists(Partition, Offset, lambda p, i: s.own[p, i])

    @witness(of="leaves_the_queue")
    def waits_behind(s):
        """A record is acknowledged while an earlier one is not."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.ACKED),
        )  # fmt: skip

    @witness(of="is_told_in_the_end")
    def merged_back(s):
        """A flush was cancelled, and newer offsets are collected."""
        return exists(Partition, lambda p: (0 < s.data[p]) & (s.data[p] < s.merged[p]))

    @witness(of="is_stored_in_the_end")
    def behind_another(s):
        """A record waits after one that is not acknowledged, after a restart."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (0 < s.resumed[p]) & (i < j) & (s.place[p, i] == Place.WAITING) & s.own[p, j],
        )  # fmt: skip

    @witness(of="comes_to_an_end")
    def stops_in_a_flush(s):
        """An instance is asked to stop while a flush is under way."""
        return (s.life == Life.STOPPING) & exists(Thread, lambda t: s.stage[t] == Stage.FLUSHING)


# These lemmas state why the promises hold of a task of the at-least-once runtime: offsets only ever move on towards the
# topic, and newer ones come after older ones.


class Lemmas(Promises, of=AtLeastOnce):
    """The lemmas of `Lemmas` state where an offset is and which records precede it."""

    @lemma
    def answered_is_done(s):
        """Each record that was polled is in its queue without an answer, or was delivered, filtered or tolerated. Each
        acknowledged record was delivered, filtered or tolerated."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.polled[p]), s.is_unanswered(p, i) | s.done[p, i])
            & implies(s.place[p, i] == Place.ACKED, s.done[p, i]),
        )  # fmt: skip

    @lemma
    def counts_the_unanswered(s):
        """The wait at the end is for each record that has no answer, and for no other record."""
        return forall(Partition, Offset, lambda p, i: s.counted[p, i] == s.is_unanswered(p, i))

    @lemma
    def queue_is_ahead(s):
        """Each record in the queue was polled and is after every offset that was collected from the queue."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(
                s.place[p, i] != Place.AWAY,
                (0 < i) & (i <= s.polled[p]) & (s.merged[p] < i) & (s.data[p] < i) & (s.flushing[p] < i)
                & (s.stored[p] < i),
            ),
        ) & forall(
            Partition, Offset, Offset,
            lambda p, i, v: implies((s.place[p, i] != Place.AWAY) & s.sent[p, v], v < i),
        )  # fmt: skip

    @lemma
    def polled_is_ahead(s):
        """No offset is greater than that of the last polled record, while an instance runs."""
        return forall(
            Partition,
            lambda p: implies(
                s.life != Life.GONE,
                (s.merged[p] <= s.polled[p]) & (s.data[p] <= s.polled[p]) & (s.flushing[p] <= s.polled[p])
                & (s.stored[p] <= s.polled[p]) & forall(Offset, lambda v: implies(s.sent[p, v], v <= s.polled[p])),
            ),
        )  # fmt: skip

    @lemma
    def in_order(s):
        """An offset that is further on its way from the queue to the offsets topic is older."""
        return forall(
            Partition,
            lambda p: implies(
                0 < s.merged[p],
                (s.data[p] < s.merged[p]) & (s.flushing[p] < s.merged[p]) & (s.stored[p] < s.merged[p])
                & forall(Offset, lambda v: implies(s.sent[p, v], v < s.merged[p])),
            )
            & implies(
                0 < s.data[p],
                (s.flushing[p] < s.data[p]) & (s.stored[p] <= s.data[p])
                & forall(Offset, lambda v: implies(s.sent[p, v], v <= s.data[p])),
            )
            & implies(
                0 < s.flushing[p],
                (s.stored[p] <= s.flushing[p]) & forall(Offset, lambda v: implies(s.sent[p, v], v <= s.flushing[p])),
            )
            & forall(Offset, lambda v: implies(s.sent[p, v], (0 < v) & (s.stored[p] <= v))),
        )  # fmt: skip

    @lemma
    def all_before_is_done(s):
        """Each record that an offset covers, wherever the offset is, was delivered, filtered or tolerated."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(
                (0 < i) & ((i <= s.merged[p]) | (i <= s.data[p]) | (i <= s.flushing[p])), s.done[p, i]
            ),
        ) & forall(
            Partition, Offset, Offset, lambda p, i, v: implies((0 < i) & (i <= v) & s.sent[p, v], s.done[p, i])
        )  # fmt: skip

    @lemma
    def one_flush(s):
        """A thread that flushes, or is about to notify the task of it, has the permit that every flush needs."""
        return forall(Thread, lambda t: s.has_permit(t) == (s.permit == t)) & forall(
            Partition,
            lambda p: implies(0 < s.flushing[p], s.permit != None),  # noqa: E711
        )

    def has_permit(s, t):
        return s.has_begun(t)

    def has_begun(s, t):
        return (s.stage[t] == Stage.FLUSHING) | (s.stage[t] == Stage.WRITTEN)

    @lemma
    def what_is_flushed(s):
        """Each offset that a flush writes is on its way, or it is in the topic and nothing of its partition is on its
        way, as after a successful flush."""
        return forall(
            Thread, Partition,
            lambda t, p: implies(
                s.has_permit(t) & (0 < s.flushing[p]),
                ((s.stage[t] == Stage.FLUSHING) & s.sent[p, s.flushing[p]])
                | ((s.flushing[p] <= s.stored[p]) & forall(Offset, lambda v: ~s.sent[p, v])),
            ),
        )  # fmt: skip

    @lemma
    def stored_is_told(s):
        """The task was notified of the stored offset, or its instance resumed from it, or it is written again."""
        return forall(
            Partition,
            lambda p: implies(
                s.life != Life.GONE,
                (s.stored[p] == s.told[p]) | (s.stored[p] == s.resumed[p]) | s.is_written_again(p, s.stored[p])
            )
            & implies(
                s.life != Life.GONE,
                forall(Offset, lambda v: implies(s.sent[p, v], s.is_written_again(p, v))),
            ),
        )  # fmt: skip

    def is_written_again(s, p, v):
        """Return whether the next flush, or the present one, writes this offset or a newer one."""
        return (v <= s.data[p]) | (v <= s.flushing[p])

    @lemma
    def at_the_end(s):
        """The last commit begins after the wait, and an instance ends cleanly only if the wait did not time out."""
        return (
            implies((s.ends != None) | s.drained, (s.life == Life.LAST) | (s.life == Life.OVER))  # noqa: E711
            & implies(s.clean, (s.life == Life.OVER) & s.drained)
            & forall(Thread, lambda t: implies((s.ends == t) & (s.stage[t] != Stage.IDLE), s.life == Life.LAST))
        )

    @lemma
    def nothing_left_over(s):
        """After a wait that did not time out, every record is answered and the last commit takes them all."""
        return (
            forall(Partition, Offset, lambda p, i: implies(s.drained, ~s.is_unanswered(p, i)))
            & forall(
                Partition, Offset,
                lambda p, i: implies((s.ends != None) & s.drained, s.place[p, i] == Place.AWAY),  # noqa: E711
            )
            & forall(Partition, lambda p: implies((s.ends != None) & s.drained, s.merged[p] == 0))  # noqa: E711
            & forall(
                Thread, Partition,
                lambda t, p: implies((s.ends == t) & s.drained & s.has_begun(t), s.data[p] == 0),
            )
        )  # fmt: skip

    @lemma
    def own_is_somewhere(s):
        """Each record that the instance has submitted is in its queue, or covered by an offset stored or on its way."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(
                s.own[p, i] & ((s.life != Life.GONE) | s.clean),
                (s.place[p, i] != Place.AWAY) | (i <= s.merged[p]) | s.is_taken(p, i) | (i <= s.data[p])
                | (i <= s.stored[p]) | (i <= s.flushing[p]),
            ),
        )  # fmt: skip

    def is_taken(s, p, i):
        """Return whether a thread holds an offset that covers the record. Here no thread does, because it hands the
        offset over in the step in which it takes it."""
        return i != i  # noqa: PLR0124


# These lemmas state why the promises hold of a task that reads the stored offsets when commit() is called, and what
# other threads rely on.


class MendedLemmas(Lemmas, of=Mended):
    """The lemmas of `MendedLemmas` are for the repaired runtime, in which the task knows nothing of a flush and reads
    the topic's content after it."""

    def has_permit(s, t):
        return s.stage[t] == Stage.FLUSHING

    @lemma
    def stored_is_told(s):
        """The task was notified of the offset in the topic or is about to read it, or its instance resumed from that
        offset, or it is written once more."""
        return forall(
            Partition,
            lambda p: implies(
                s.life != Life.GONE,
                (s.stored[p] == s.told[p]) | (s.stored[p] == s.resumed[p]) | s.is_written_again(p, s.stored[p])
                | exists(Thread, lambda t: s.stage[t] == Stage.WRITTEN),
            )
            & implies(
                s.life != Life.GONE,
                forall(Offset, lambda v: implies(s.sent[p, v], s.is_written_again(p, v))),
            ),
        )  # fmt: skip

    @lemma
    def nothing_after_the_last(s):
        """Once the last commit has succeeded, after a wait that did not time out, there is nothing to flush."""
        return forall(
            Thread,
            lambda t: implies((s.ends == t) & s.drained & (s.stage[t] == Stage.WRITTEN), s.permit == None),  # noqa: E711
        )

    # These lemmas are about the offsets that a thread has taken and not handed to the writer.

    def is_taken(s, p, i):
        return exists(Thread, lambda t: i <= s.holds[t, p])

    @lemma
    def one_has_taken(s):
        """At most one thread has taken offsets and not begun its flush, and every other thread holds nothing."""
        return forall(
            Thread, Partition,
            lambda t, p: implies(~s.taken[t], s.holds[t, p] == 0)
            & implies(s.taken[t], s.stage[t] == Stage.IDLE)
            & implies(s.taken[t] & (s.ends == t), s.life == Life.LAST),
        ) & forall(Thread, Thread, lambda t, u: implies(s.taken[t] & s.taken[u], t == u))  # fmt: skip

    @lemma
    def taken_is_newer(s):
        """An offset that a thread holds is newer than each one further on its way, and was polled."""
        return forall(
            Thread, Partition,
            lambda t, p: implies(
                0 < s.holds[t, p],
                (s.data[p] < s.holds[t, p]) & (s.flushing[p] < s.holds[t, p]) & (s.stored[p] < s.holds[t, p])
                & (s.holds[t, p] <= s.polled[p]),
            )
            & implies(0 < s.merged[p], s.holds[t, p] < s.merged[p]),
        ) & forall(
            Thread, Partition, Offset,
            lambda t, p, v: implies((0 < s.holds[t, p]) & s.sent[p, v], v < s.holds[t, p])
            & implies(s.place[p, v] != Place.AWAY, s.holds[t, p] < v),
        )  # fmt: skip

    @lemma
    def taken_is_done(s):
        """Each record that an offset held by a thread covers was delivered, filtered or tolerated."""
        return forall(
            Thread, Partition, Offset, lambda t, p, i: implies((0 < i) & (i <= s.holds[t, p]), s.done[p, i])
        )  # fmt: skip

    @lemma
    def others_hold_nothing_at_the_end(s):
        """After a wait without time-out the last commit has all offsets, and no thread holds any once it flushes."""
        return forall(
            Thread, Thread, Partition,
            lambda t, u, p: implies((s.ends == t) & s.drained & ((t != u) | s.has_begun(t)), s.holds[u, p] == 0),
        )  # fmt: skip


# These are the promises, checked of runtimes whose threads are not ordered, and of messages that arrive late or from
# elsewhere.
