"""Why the promises hold of a task that reads the stored offsets when commit() is called, and what others rely on."""

from fencepost.model.language import exists, forall, implies, lemma
from fencepost.model.source_commits.at_least_once import Life, Offset, Partition, Place, Stage, Thread
from fencepost.model.source_commits.connectors import (
    AheadOfTheFlush,
    AtThePreviousCommit,
    FirstOfSeveral,
    LastPolled,
    Mended,
    NewestAcknowledged,
    Shipped,
)
from fencepost.properties.source_commits.claims.at_least_once import Lemmas
from fencepost.properties.source_commits.claims.promises import Promises


class ShippedPromises(Promises, of=Shipped):
    """Of what ships."""


class MendedLemmas(Lemmas, of=Mended):
    """There the task knows nothing of a flush, and whatever is in the topic after it."""

    def has_permit(s, t):
        return s.stage[t] == Stage.FLUSHING

    @lemma
    def stored_is_told(s):
        """What is in the topic the task knows, or is about to read, or its instance began there, or it is written once
        more."""
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
        """Once the last commit has succeeded, after a wait that was no time-out, there is nothing to flush."""
        return forall(
            Thread,
            lambda t: implies((s.ends == t) & s.drained & (s.stage[t] == Stage.WRITTEN), s.permit == None),  # noqa: E711
        )

    # What a thread has taken, and the writer has not

    def is_taken(s, p, i):
        return exists(Thread, lambda t: i <= s.holds[t, p])

    @lemma
    def one_has_taken(s):
        """One thread at most, which has not begun its flush; what another one holds is nothing."""
        return forall(
            Thread, Partition,
            lambda t, p: implies(~s.taken[t], s.holds[t, p] == 0)
            & implies(s.taken[t], s.stage[t] == Stage.IDLE)
            & implies(s.taken[t] & (s.ends == t), s.life == Life.LAST),
        ) & forall(Thread, Thread, lambda t, u: implies(s.taken[t] & s.taken[u], t == u))  # fmt: skip

    @lemma
    def taken_is_newer(s):
        """What a thread holds is newer than all that is nearer to the topic, and older than all that is not."""
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
        """Of what a thread holds each record was delivered, filtered or tolerated."""
        return forall(
            Thread, Partition, Offset, lambda t, p, i: implies((0 < i) & (i <= s.holds[t, p]), s.done[p, i])
        )  # fmt: skip

    @lemma
    def others_hold_nothing_at_the_end(s):
        """After a wait that was no time-out the last commit has all there is, and when it flushes so has the writer."""
        return forall(
            Thread, Thread, Partition,
            lambda t, u, p: implies((s.ends == t) & s.drained & ((t != u) | s.has_begun(t)), s.holds[u, p] == 0),
        )  # fmt: skip


class LastPolledPromises(Promises, of=LastPolled):
    """Of a task that takes all that was polled to be committed."""


class NewestAcknowledgedPromises(Promises, of=NewestAcknowledged):
    """Of a task that takes the newest delivered record to be committed."""


class AheadOfTheFlushPromises(Promises, of=AheadOfTheFlush):
    """Of a task that takes to be committed what has no gap before it."""


class AtThePreviousCommitPromises(Promises, of=AtThePreviousCommit):
    """Of a task that takes to be committed what had no gap before it at the commit before."""


class FirstOfSeveralPromises(Promises, of=FirstOfSeveral):
    """Of a task whose records share an offset."""
