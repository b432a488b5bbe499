"""Why the promises hold of a task of the at-least-once runtime: offsets only ever move on towards the topic, and newer
ones are behind older ones."""

from fencepost.model.language import forall, implies, lemma
from fencepost.model.source_commits.at_least_once import AtLeastOnce, Life, Offset, Partition, Place, Stage, Thread
from fencepost.properties.source_commits.claims.promises import Promises


class Lemmas(Promises, of=AtLeastOnce):
    """Where an offset is, and what is before it."""

    @lemma
    def answered_is_done(s):
        """Each record that was polled is in its queue without an answer, or was delivered, filtered or tolerated; and
        so was each that is acknowledged."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.polled[p]), s.is_unanswered(p, i) | s.done[p, i])
            & implies(s.place[p, i] == Place.ACKED, s.done[p, i]),
        )  # fmt: skip

    @lemma
    def counts_the_unanswered(s):
        """The wait at the end is for each record that has no answer, and for no other."""
        return forall(Partition, Offset, lambda p, i: s.counted[p, i] == s.is_unanswered(p, i))

    @lemma
    def queue_is_ahead(s):
        """What is in the queue was polled, and is past every offset that was collected from it."""
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
        """No offset is past what was polled, while an instance runs."""
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
        """An offset that is nearer to the topic is older."""
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
        """Of an offset, wherever it is, each record was delivered, filtered or tolerated."""
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
        """A thread that flushes, or is to tell the task of it, has the permit; without one nothing is flushed."""
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
        """What a flush writes is on its way; or it is in the topic, and nothing of that partition is on its way, as it
        is once the flush has succeeded."""
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
        """What is in the topic the task knows, or its instance began there, or it is written once more."""
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
        """The next flush, or the present one, writes this offset or a newer one."""
        return (v <= s.data[p]) | (v <= s.flushing[p])

    @lemma
    def at_the_end(s):
        """The last commit begins when the wait is over; an instance ends well after a wait that was no time-out."""
        return (
            implies((s.ends != None) | s.drained, (s.life == Life.LAST) | (s.life == Life.OVER))  # noqa: E711
            & implies(s.clean, (s.life == Life.OVER) & s.drained)
            & forall(Thread, lambda t: implies((s.ends == t) & (s.stage[t] != Stage.IDLE), s.life == Life.LAST))
        )

    @lemma
    def nothing_left_over(s):
        """After a wait that was no time-out all is acknowledged; the last commit takes all there is."""
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
        """What the instance has submitted is in its queue, or covered by an offset that is on its way, or stored."""
        return forall(
            Partition, Offset,
            lambda p, i: implies(
                s.own[p, i] & ((s.life != Life.GONE) | s.clean),
                (s.place[p, i] != Place.AWAY) | (i <= s.merged[p]) | s.is_taken(p, i) | (i <= s.data[p])
                | (i <= s.stored[p]) | (i <= s.flushing[p]),
            ),
        )  # fmt: skip

    def is_taken(s, p, i):
        """A thread holds an offset that covers the record; here it has handed it over in the step in which it took."""
        return i != i  # noqa: PLR0124
