"""Why the promises hold of a task that reads the stored offsets when commit() is called, and what others rely on."""

from fencepost.model.language import exists, forall, implies, lemma
from fencepost.model.source_commits.at_least_once import Life, Offset, Partition, Stage, Thread
from fencepost.model.source_commits.connectors import (
    AheadOfTheFlush,
    AtThePreviousCommit,
    FirstOfSeveral,
    LastPolled,
    NewestAcknowledged,
    Shipped,
)
from fencepost.properties.source_commits.claims.at_least_once import Lemmas
from fencepost.properties.source_commits.claims.promises import Promises


class ShippedLemmas(Lemmas, of=Shipped):
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
