"""What a task that has read to the end may rely on, and why: it is as if it had read all at once, after the fence."""

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
    MergedStart,
    Migrating,
    OneTopic,
    OneTopicThroughout,
    Worker,
)
from fencepost.model.source_offsets.migrating import Stage as Migration
from fencepost.model.source_offsets.reading import (
    AtOnce,
    Fate,
    Position,
    Reading,
    Stage,
    Writer,
)

STEPS = {
    "succeed": ("succeed",), "write": ("write",), "write_plainly": (), "write_of_mine": ("write_plainly",),
    "commit": ("commit",), "time_out": ("abort",), "fence": ("fence",), "mark": (), "ask": (), "ask_again": (),
    "consume": (), "finish": ("read",), "begin_anew": ("read_again",),
}  # fmt: skip


class ReadingPromises(Properties):
    """The promises."""

    @promise(rule="618.P2")
    def begins_with_all(s):
        """The task begins with all that those before it have committed of its source partitions, and with nothing
        else of them."""
        return implies(
            s.stage == Stage.DONE, forall(Position, lambda p: implies(s.mine[p], s.seen[p] == s.is_committed(p)))
        )  # fmt: skip

    @promise(rule="618.P2")
    def nothing_uncommitted(s):
        """Whatever it was given, by whomever, is committed."""
        return forall(Position, lambda p: implies(s.seen[p], s.fate[p] == Fate.COMMITTED))

    @promise(rule="618.P2")
    def all_before_the_end(s):
        """It was given all that was committed, by whomever, when it asked for the end."""
        return implies(s.stage == Stage.DONE, forall(Position, lambda p: implies(s.then[p], s.seen[p])))

    @service(rule="618.P4")
    def reads_to_the_end(s):
        """The reading ends, since every transaction is decided in the end."""
        return leads_to(s.stage == Stage.READING, s.stage != Stage.READING)

    @witness(of="begins_with_all")
    def one_of_each(s):
        """Of the task's source partitions an entry was committed, and one aborted."""
        return (s.stage == Stage.DONE) & exists(
            Position, Position,
            lambda p, q: s.mine[p] & s.seen[p] & (p < q) & s.mine[q] & (s.fate[q] == Fate.ABORTED),
        )  # fmt: skip

    @witness(of="nothing_uncommitted")
    def stops_at_what_is_open(s):
        """It has read something, and comes to an entry that is not decided."""
        return s.is_open(s.position) & exists(Position, lambda p: s.seen[p])

    @witness(of="all_before_the_end")
    def was_not_marked(s):
        """Something was committed when the end was asked, and its marker was not there yet."""
        return exists(Position, lambda p: s.then[p] & s.is_open(p))

    @witness(of="reads_to_the_end")
    def waits(s):
        """The transaction of another task is in the way."""
        return s.is_blocked_by_another() & (s.position < s.target)


class ReadingLemmas(ReadingPromises, of=Reading):
    """Why it is so: nothing of the task's comes behind the end that it has asked for, and nothing is passed before it
    is decided."""

    @refinement(of=AtOnce, actions=STEPS)
    def read_at_once(s):
        """Of all entries those of the task's source partitions; committed is what is decided so, marked or not."""
        return dict(
            predecessor=each(lambda w: s.predecessor[w]),
            fenced=each(lambda w: s.fenced[w]),
            open=each(lambda w, p: s.predecessor[w] & (s.by[p] == w) & (s.fate[p] == Fate.OPEN)),
            committed=each(lambda p: s.mine[p] & s.is_committed(p)),
            done=s.stage == Stage.DONE,
            view=each(lambda p: (s.stage == Stage.DONE) & s.mine[p] & s.seen[p]),
        )

    @lemma
    def nothing_behind_the_end(s):
        """Behind the end of the partition there is nothing; no worker reads there, or is to read there."""
        return (s.position <= s.end) & (s.target <= s.end) & forall(
            Position,
            lambda p: implies(
                s.end <= p,
                (s.fate[p] == Fate.NONE) & (s.by[p] == None) & ~s.mine[p],  # noqa: E711  symbols have no `is`
            ),
        )  # fmt: skip

    @lemma
    def whose_it_is(s):
        """An entry that is not decided is in a transaction; those of predecessors, and no others, are the task's."""
        return forall(
            Position,
            lambda p: implies(s.is_open(p), exists(Writer, lambda w: s.by[p] == w)),
        ) & forall(
            Position, Writer,
            lambda p, w: implies(s.by[p] == w, (s.mine[p] == s.predecessor[w]) & (s.fate[p] != Fate.NONE)),
        )  # fmt: skip

    @lemma
    def fenced_is_decided(s):
        """Nothing of a fenced producer is undecided, and none is fenced that is no predecessor."""
        return forall(
            Writer, lambda w: implies(s.fenced[w], s.predecessor[w] & ~s.has_open(w))
        )  # fmt: skip

    @lemma
    def mine_is_before_the_target(s):
        """When the end is asked the predecessors are fenced, and all of theirs stands before it."""
        return implies(
            s.stage != Stage.WAITING,
            forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w]))
            & forall(Position, lambda p: implies(s.mine[p] | s.then[p], p < s.target)),
        )  # fmt: skip

    @lemma
    def passed_is_decided(s):
        """What the consumer has passed is decided, and was given if it is committed."""
        return forall(
            Position,
            lambda p: implies(
                p < s.position, ~s.is_open(p) & (s.seen[p] == (s.fate[p] == Fate.COMMITTED))
            )
            & implies(s.position <= p, ~s.seen[p]),
        ) & implies(s.stage == Stage.DONE, s.target <= s.position)  # fmt: skip

    @lemma
    def stays_committed(s):
        """What was committed when the end was asked is so now."""
        return forall(Position, lambda p: implies(s.then[p], s.is_committed(p)))


class SnapshotPromises(Properties, of=Reading):
    """What is not so of other tasks' entries, which are no part of the step that is taken for the reading."""

    @promise(rule="618.P2")
    def whole_transactions(s):
        """Of each transaction all entries were given, or none, when the reading is over."""
        return implies(
            s.stage == Stage.DONE,
            forall(
                Position, Position, Writer,
                lambda p, q, w: implies(
                    (s.by[p] == w) & (s.by[q] == w) & (p < q) & s.seen[p] & (s.fate[q] == Fate.COMMITTED)
                    & ~exists(Position, lambda r: (p < r) & (r < q) & (s.fate[r] == Fate.NONE)),
                    s.seen[q],
                ),
            ),
        )  # fmt: skip

    @witness(of="whole_transactions")
    def two_of_one(s):
        """Two entries of one transaction were given."""
        return (s.stage == Stage.DONE) & exists(
            Position, Position, Writer,
            lambda p, q, w: (p < q) & (s.by[p] == w) & (s.by[q] == w) & s.seen[p] & s.seen[q],
        )  # fmt: skip


# What tasks may rely on that begin with an offsets topic of their own, and why: of the later text, of the earlier one
# with what it lacks, and of a downgrade and what comes after it.

MIGRATING_STEPS = {
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

    @refinement(of=OneTopic, actions=MIGRATING_STEPS)
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
            lambda w, p: (s.stage[w] == Migration.COPYING) & (0 < s.took[w, p]) & (s.took[w, p] < s.in_separate[p]),
        )  # fmt: skip

    @witness(of="begins")
    def nothing_to_copy(s):
        """An owner has found nothing in the global topic."""
        return exists(Worker, lambda w: (s.stage[w] == Migration.COPYING)) & forall(
            Partition, lambda p: s.output[p] == 0
        )  # fmt: skip


class MigratingLemmas(MigratingPromises, of=Migrating):
    """Why it is so, of the one with the fences."""

    @refinement(of=OneTopic, actions=MIGRATING_STEPS)
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
                ((s.stage[w] == Migration.EMPTY) | (s.stage[w] == Migration.COPYING)) & (s.holds == w), ~s.is_filled()
            )
            & implies(
                s.stage[w] == Migration.COPYING,
                ~s.older & implies(~s.is_filled(), forall(Partition, lambda p: s.took[w, p] == s.in_global[p])),
            ),
        )  # fmt: skip

    @lemma
    def sends_what_it_took(s):
        """Only offsets that were taken are sent, in a copy that is not committed yet."""
        return forall(
            Worker, Partition,
            lambda w, p: implies(s.sent[w, p], (s.stage[w] == Migration.COPYING) & (0 < s.took[w, p]))
            & implies(s.stage[w] != Migration.COPYING, s.took[w, p] == 0),
        )  # fmt: skip


class DowngradingLemmas(Begins, of=Downgrading):
    """Of a downgrade, and an upgrade when the separate topic is deleted."""

    @promise(rule="618.P2")
    def older_in_step(s):
        """Tasks that store in the global topic are where the committed output ends, too."""
        return implies(s.older, forall(Partition, lambda p: s.in_global[p] == s.output[p]))

    @refinement(of=OneTopicThroughout, actions=MIGRATING_STEPS | {"downgrade": ("downgrade",)})
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
