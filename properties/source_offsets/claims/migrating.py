"""What tasks may rely on that begin with an offsets topic of their own, and why: of the later text, of the earlier one
with what it lacks, and of a downgrade and what comes after it."""

from fencepost.model.language import (
    Properties,
    each,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    refinement,
    service,
    step,
    when,
    witness,
)
from fencepost.model.source_offsets.core import Partition
from fencepost.model.source_offsets.migrating import (
    Downgrading,
    FencedLate,
    MergedStart,
    Migrating,
    OneTopic,
    OneTopicThroughout,
    Stage,
    Worker,
)

STEPS = {
    "commit_older": ("commit_older",), "fence_older": ("upgrade",), "start": ("start",), "commit": ("commit",),
    "stop": ("stop",),
}  # fmt: skip
"""What is seen of one topic; all else moves offsets."""


class StartPromises(Properties):
    """The promise, which both texts make."""

    @promise(rule="618.P2")
    def resumes_in_step(s):
        """Tasks are where the committed output ends: a record behind that is repeated, one before it is left out."""
        return implies(s.running, forall(Partition, lambda p: s.position[p] == s.output[p]))


class Begins(StartPromises):
    """Where tasks wait for something."""

    @service(rule="618.P4")
    def begins(s):
        """The tasks begin in the end."""
        return leads_to(~s.running, s.running)

    @witness(of="begins")
    def stopped(s):
        """Tasks have stopped that have committed something."""
        return ~s.running & exists(Partition, lambda p: 0 < s.in_separate[p])


class NotRepeated(StartPromises):
    """Where the separate topic is never deleted."""

    @step(rule="618.P2")
    def separate_only_grows(old, new):
        """What is stored in the separate topic never goes back."""
        return forall(Partition, lambda p: old.in_separate[p] <= new.in_separate[p])

    @witness(of="separate_only_grows")
    def stored_further(s):
        """The separate topic has more than the global one, of which it has taken over."""
        return exists(Partition, lambda p: (0 < s.in_global[p]) & (s.in_global[p] < s.in_separate[p]))

    @witness(of="resumes_in_step")
    def goes_on(s):
        """Tasks run again that go on with what those before had begun."""
        return s.running & exists(Partition, lambda p: (0 < s.in_global[p]) & (s.in_global[p] < s.position[p]))


class MergedLemmas(NotRepeated, of=MergedStart):
    """Of the later text."""

    @refinement(of=OneTopic, actions=STEPS)
    def as_one_topic(s):
        """The merged view is the topic."""
        return dict(
            stored=each(lambda p: s.merged(p)),  # noqa: PLW0108  a helper has to be called
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @lemma
    def stored_is_output(s):
        """The merged view is what is committed; where nothing is stored in the separate topic, nothing was committed
        since; tasks of both kinds never run together."""
        return ~(s.older & s.running) & forall(
            Partition,
            lambda p: (s.merged(p) == s.output[p]) & implies(s.older, s.in_separate[p] == 0)
            & ((s.in_separate[p] == 0) | (s.in_separate[p] == s.output[p])),
        )  # fmt: skip


class MigratingPromises(NotRepeated, Begins):
    """Of the earlier text."""

    @witness(of="resumes_in_step")
    def another_would_copy(s):
        """An owner has still to write its copy, and tasks have committed more by now."""
        return s.running & exists(
            Worker, Partition,
            lambda w, p: (s.stage[w] == Stage.COPYING) & (0 < s.took[w, p]) & (s.took[w, p] < s.in_separate[p]),
        )  # fmt: skip

    @witness(of="begins")
    def nothing_to_copy(s):
        """An owner has found nothing in the global topic."""
        return exists(Worker, lambda w: (s.stage[w] == Stage.COPYING)) & forall(
            Partition, lambda p: s.output[p] == 0
        )  # fmt: skip


class MigratingLemmas(MigratingPromises, of=Migrating):
    """Why it is so, of the one with the fences."""

    @refinement(of=OneTopic, actions=STEPS)
    def as_one_topic(s):
        """The topic is the global one until the separate one is filled."""
        return dict(
            stored=each(lambda p: when(s.is_filled(), s.in_separate[p], s.in_global[p])),
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @lemma
    def in_step_once_filled(s):
        """Until the topic is filled, the global one has what is committed; from then on the separate one has."""
        return forall(
            Partition,
            lambda p: implies(s.is_filled(), s.in_separate[p] == s.output[p])
            & implies(~s.is_filled(), s.in_global[p] == s.output[p]),
        )  # fmt: skip

    @lemma
    def one_kind_at_a_time(s):
        """Tasks with the separate topic run when it is filled, and it is filled when those before are fenced."""
        return implies(s.running, s.is_filled()) & implies(s.older, ~s.is_filled() & ~s.running)

    @lemma
    def empty_while_it_holds(s):
        """Who has found the topic empty, and has the newest epoch yet, finds it empty still, and has taken what is in
        the global topic, where nothing comes any more."""
        return forall(
            Worker,
            lambda w: implies(
                ((s.stage[w] == Stage.EMPTY) | (s.stage[w] == Stage.COPYING)) & (s.holds == w), ~s.is_filled()
            )
            & implies(
                s.stage[w] == Stage.COPYING,
                ~s.older & implies(~s.is_filled(), forall(Partition, lambda p: s.took[w, p] == s.in_global[p])),
            ),
        )  # fmt: skip

    @lemma
    def sends_what_it_took(s):
        """Only offsets that were taken are sent, in a copy that is not committed yet."""
        return forall(
            Worker, Partition,
            lambda w, p: implies(s.sent[w, p], (s.stage[w] == Stage.COPYING) & (0 < s.took[w, p]))
            & implies(s.stage[w] != Stage.COPYING, s.took[w, p] == 0),
        )  # fmt: skip


class FencedLatePromises(MigratingPromises, of=FencedLate):
    """Where the producer is opened after the look."""


class DowngradingLemmas(Begins, of=Downgrading):
    """Of a downgrade, and an upgrade when the separate topic is deleted."""

    @promise(rule="618.P2")
    def older_in_step(s):
        """Tasks that store in the global topic are where the committed output ends, too."""
        return implies(s.older, forall(Partition, lambda p: s.in_global[p] == s.output[p]))

    @refinement(of=OneTopicThroughout, actions=STEPS | {"downgrade": ("downgrade",)})
    def as_one_topic(s):
        """The topic is the global one while the old software runs, and else the merged view."""
        return dict(
            stored=each(lambda p: when(s.older, s.in_global[p], s.merged(p))),
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @witness(of="resumes_in_step")
    def upgraded_again(s):
        """Tasks with the separate topic run after those with the global one, which ran after the first."""
        return s.running & exists(Partition, lambda p: 1 < s.position[p])

    @witness(of="older_in_step")
    def stale(s):
        """The separate topic is there, and tasks with the global one have committed more."""
        return s.older & exists(Partition, lambda p: (0 < s.in_separate[p]) & (s.in_separate[p] < s.in_global[p]))

    @lemma
    def stored_is_output(s):
        """The global topic has what is committed while it is in use; the merged view has it otherwise."""
        return ~(s.older & s.running) & forall(
            Partition,
            lambda p: implies(s.older, s.in_global[p] == s.output[p])
            & implies(~s.older, s.merged(p) == s.output[p]),
        )  # fmt: skip
