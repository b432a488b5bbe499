"""This module states what a task that has read to the end may rely on, and why: the task is as if it had read
everything at once, after the fencing."""

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
    """`ReadingPromises` has the promises of reading the offsets topic to its end."""

    @promise(
        rule="618.P2",
        broken="the task begins without a committed entry of its own, or with one that is not committed: the "
        "one at {p}",
    )
    def begins_with_all(s):
        """The task begins with exactly those entries of its source partitions that its predecessors have committed."""
        return implies(
            s.stage == Stage.DONE, forall(Position, lambda p: implies(s.mine[p], s.seen[p] == s.is_committed(p)))
        )  # fmt: skip

    @promise(rule="618.P2", broken="the task was given the entry at {p}, which is not committed")
    def nothing_uncommitted(s):
        """Every entry that the task was given, from whichever writer, is committed."""
        return forall(Position, lambda p: implies(s.seen[p], s.fate[p] == Fate.COMMITTED))

    @promise(
        rule="618.P2",
        broken="the task was not given the entry at {p}, which was committed when it asked for the end",
    )
    def all_before_the_end(s):
        """The task was given every entry, from whichever writer, that was committed when the task asked for the end."""
        return implies(s.stage == Stage.DONE, forall(Position, lambda p: implies(s.then[p], s.seen[p])))

    @service(rule="618.P4", broken="the reading never ends")
    def reads_to_the_end(s):
        """The reading ends, since every transaction is decided in the end."""
        return leads_to(s.stage == Stage.READING, s.stage != Stage.READING)

    @witness(of="begins_with_all")
    def one_of_each(s):
        """One entry of the task's source partitions was committed, and a later one was aborted."""
        return (s.stage == Stage.DONE) & exists(
            Position, Position,
            lambda p, q: s.mine[p] & s.seen[p] & (p < q) & s.mine[q] & (s.fate[q] == Fate.ABORTED),
        )  # fmt: skip

    @witness(of="nothing_uncommitted")
    def stops_at_what_is_open(s):
        """The task has read an entry and reaches one that is not decided."""
        return s.is_open(s.position) & exists(Position, lambda p: s.seen[p])

    @witness(of="all_before_the_end")
    def was_not_marked(s):
        """An entry was committed when the task asked for the end, and its marker was not written yet."""
        return exists(Position, lambda p: s.then[p] & s.is_open(p))

    @witness(of="reads_to_the_end")
    def waits(s):
        """The transaction of another task blocks the reading."""
        return s.is_blocked_by_another() & (s.position < s.target)


class ReadingLemmas(ReadingPromises, of=Reading):
    """The lemmas of `ReadingLemmas` state why the promises hold: no entry of the task's partitions comes after the end
    for which the task has asked, and no entry is passed before it is decided."""

    @refinement(of=AtOnce, actions=STEPS)
    def read_at_once(s):
        """Reading refines one step that reads the entries of the task's source partitions at once, where an entry
        counts as committed when that is decided, with or without a marker."""
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
        """There is nothing after the end of the partition, and no reader has a position or a target there."""
        return (s.position <= s.end) & (s.target <= s.end) & forall(
            Position,
            lambda p: implies(
                s.end <= p,
                (s.fate[p] == Fate.NONE) & (s.by[p] == None) & ~s.mine[p],  # noqa: E711  symbols have no `is`
            ),
        )  # fmt: skip

    @lemma
    def whose_it_is(s):
        """An undecided entry is in a transaction, and only predecessors' entries are of the task's partitions."""
        return forall(
            Position,
            lambda p: implies(s.is_open(p), exists(Writer, lambda w: s.by[p] == w)),
        ) & forall(
            Position, Writer,
            lambda p, w: implies(s.by[p] == w, (s.mine[p] == s.predecessor[w]) & (s.fate[p] != Fate.NONE)),
        )  # fmt: skip

    @lemma
    def fenced_is_decided(s):
        """Each entry of a fenced producer is decided, and only predecessors are fenced."""
        return forall(
            Writer, lambda w: implies(s.fenced[w], s.predecessor[w] & ~s.has_open(w))
        )  # fmt: skip

    @lemma
    def mine_is_before_the_target(s):
        """When the task asks for the end, its predecessors are fenced, and all their entries come before that end."""
        return implies(
            s.stage != Stage.WAITING,
            forall(Writer, lambda w: implies(s.predecessor[w], s.fenced[w]))
            & forall(Position, lambda p: implies(s.mine[p] | s.then[p], p < s.target)),
        )  # fmt: skip

    @lemma
    def passed_is_decided(s):
        """Each entry that the consumer has passed is decided, and was given to the task exactly if it is committed."""
        return forall(
            Position,
            lambda p: implies(
                p < s.position, ~s.is_open(p) & (s.seen[p] == (s.fate[p] == Fate.COMMITTED))
            )
            & implies(s.position <= p, ~s.seen[p]),
        ) & implies(s.stage == Stage.DONE, s.target <= s.position)  # fmt: skip

    @lemma
    def stays_committed(s):
        """Each entry that was committed when the task asked for the end is still committed."""
        return forall(Position, lambda p: implies(s.then[p], s.is_committed(p)))


class SnapshotPromises(Properties, of=Reading):
    """The promise of `SnapshotPromises` fails for other tasks' entries, which the single step leaves out."""

    @promise(
        rule="618.P2",
        broken="of the transaction of {w} the task was given the entry at {p} and not the one at {q}",
    )
    def whole_transactions(s):
        """When the reading is over, the task was given all entries of each transaction or none."""
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
        """The task was given two entries of one transaction."""
        return (s.stage == Stage.DONE) & exists(
            Position, Position, Writer,
            lambda p, q, w: (p < q) & (s.by[p] == w) & (s.by[q] == w) & s.seen[p] & s.seen[q],
        )  # fmt: skip


# These properties state what tasks may rely on that begin with an offsets topic of their own: for the later text, for
# the earlier one with what it lacks, and for a downgrade and what follows it.

MIGRATING_STEPS = {
    "commit_older": ("commit_older",), "fence_older": ("upgrade",), "start": ("start",), "commit": ("commit",),
    "stop": ("stop",),
}  # fmt: skip
"""`MIGRATING_STEPS` maps the actions that one topic can observe to its actions; others only move offsets."""


class StartPromises(Properties):
    """`StartPromises` has the promises that both texts of KIP-618 make."""

    @promise(rule="618.P2", broken="the running task of {p} is not where its committed output ends")
    def resumes_in_step(s):
        """Running tasks are where the committed output ends: a task behind the end would repeat a record, and one ahead
        of it would leave one out."""
        return implies(s.running, forall(Partition, lambda p: s.position[p] == s.output[p]))


class Begins(StartPromises):
    """The promises of `Begins` are for starts that have to wait."""

    @service(rule="618.P4", broken="the tasks never begin")
    def begins(s):
        """The tasks begin in the end."""
        return leads_to(~s.running, s.running)

    @witness(of="begins")
    def stopped(s):
        """Tasks that have committed records have stopped."""
        return ~s.running & exists(Partition, lambda p: 0 < s.in_separate[p])


class NotRepeated(StartPromises):
    """The promises of `NotRepeated` hold where the separate topic is never deleted."""

    @step(rule="618.P2", broken="the offset of {p} in the separate topic goes back")
    def separate_only_grows(old, new):
        """The offset stored in the separate topic never goes back."""
        return forall(Partition, lambda p: old.in_separate[p] <= new.in_separate[p])

    @witness(of="separate_only_grows")
    def stored_further(s):
        """The separate topic has a greater offset than the global one, from which it has taken over."""
        return exists(Partition, lambda p: (0 < s.in_global[p]) & (s.in_global[p] < s.in_separate[p]))

    @witness(of="resumes_in_step")
    def goes_on(s):
        """Tasks run again and continue what earlier tasks had begun."""
        return s.running & exists(Partition, lambda p: (0 < s.in_global[p]) & (s.in_global[p] < s.position[p]))


class MergedLemmas(NotRepeated, of=MergedStart):
    """`MergedLemmas` has the lemmas of the later text of KIP-618, which merges two offsets topics."""

    @refinement(of=OneTopic, actions=MIGRATING_STEPS)
    def as_one_topic(s):
        """The merged view refines a single topic."""
        return dict(
            stored=each(lambda p: s.merged(p)),  # noqa: PLW0108  a helper has to be called
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @lemma
    def stored_is_output(s):
        """The merged view has the offset of the committed output. The separate topic has either no offset or that one,
        and tasks of both kinds never run together."""
        return ~(s.older & s.running) & forall(
            Partition,
            lambda p: (s.merged(p) == s.output[p]) & implies(s.older, s.in_separate[p] == 0)
            & ((s.in_separate[p] == 0) | (s.in_separate[p] == s.output[p])),
        )  # fmt: skip


class MigratingPromises(NotRepeated, Begins):
    """`MigratingPromises` has the promises of the earlier text of KIP-618, which copies offsets."""

    @witness(of="resumes_in_step")
    def another_would_copy(s):
        """An owner still has to write its copy, and tasks have committed more by now."""
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
    """The lemmas of `MigratingLemmas` state why the earlier text of KIP-618 holds with its fences."""

    @refinement(of=OneTopic, actions=MIGRATING_STEPS)
    def as_one_topic(s):
        """The protocol refines a single topic, which is the global one until the separate one is filled."""
        return dict(
            stored=each(lambda p: when(s.is_filled(), s.in_separate[p], s.in_global[p])),
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @lemma
    def in_step_once_filled(s):
        """Until the separate topic is filled, the global topic has the offset of the committed output, and from then on
        the separate topic has it."""
        return forall(
            Partition,
            lambda p: implies(s.is_filled(), s.in_separate[p] == s.output[p])
            & implies(~s.is_filled(), s.in_global[p] == s.output[p]),
        )  # fmt: skip

    @lemma
    def one_kind_at_a_time(s):
        """Tasks with the separate topic run only when it is filled, which happens after earlier tasks are fenced."""
        return implies(s.running, s.is_filled()) & implies(s.older, ~s.is_filled() & ~s.running)

    @lemma
    def empty_while_it_holds(s):
        """An owner that has found the separate topic empty and still has the newest epoch finds it empty still, and has
        taken the content of the global topic, to which nothing is written any more."""
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
        """Only offsets that an owner has taken are sent, in a copy that is not committed yet."""
        return forall(
            Worker, Partition,
            lambda w, p: implies(s.sent[w, p], (s.stage[w] == Migration.COPYING) & (0 < s.took[w, p]))
            & implies(s.stage[w] != Migration.COPYING, s.took[w, p] == 0),
        )  # fmt: skip


class DowngradingLemmas(Begins, of=Downgrading):
    """`DowngradingLemmas` is about a downgrade, and an upgrade when the separate topic is deleted."""

    @promise(rule="618.P2", broken="the older task of {p} is not where its committed output ends")
    def older_in_step(s):
        """Tasks that store offsets in the global topic are where the committed output ends as well."""
        return implies(s.older, forall(Partition, lambda p: s.in_global[p] == s.output[p]))

    @refinement(of=OneTopicThroughout, actions=MIGRATING_STEPS | {"downgrade": ("downgrade",)})
    def as_one_topic(s):
        """The protocol refines one topic: the global one while the old software runs, else the merged view."""
        return dict(
            stored=each(lambda p: when(s.older, s.in_global[p], s.merged(p))),
            older=s.older, running=s.running, position=each(lambda p: s.position[p]),
        )  # fmt: skip

    @witness(of="resumes_in_step")
    def upgraded_again(s):
        """Tasks with the separate topic run again, after tasks with the global topic ran in between."""
        return s.running & exists(Partition, lambda p: 1 < s.position[p])

    @witness(of="older_in_step")
    def stale(s):
        """The separate topic exists, and tasks with the global topic have committed more."""
        return s.older & exists(Partition, lambda p: (0 < s.in_separate[p]) & (s.in_separate[p] < s.in_global[p]))

    @lemma
    def stored_is_output(s):
        """The global topic has the committed output's offset while the old software runs, else the merged view."""
        return ~(s.older & s.running) & forall(
            Partition,
            lambda p: implies(s.older, s.in_global[p] == s.output[p])
            & implies(~s.older, s.merged(p) == s.output[p]),
        )  # fmt: skip
