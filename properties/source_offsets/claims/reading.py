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
    witness,
)
from fencepost.model.source_offsets.reading import (
    AtOnce,
    Fate,
    HangingReading,
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
        """Behind the end of the partition there is nothing; nobody reads there, or is to read there."""
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


class HangingPromises(ReadingPromises, of=HangingReading):
    """Where an entry stays open for good."""


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
