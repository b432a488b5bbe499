"""Why records and source offsets stay in step: the lemmas, with any number of instances, partitions and records.

The idea: of a source partition one instance at most can commit, and what it has is behind the offset that is found; and
whatever is done to the worker's topic beside transactions is done where the connector's own has an offset, or where
neither has one.
"""

from fencepost.model.language import exists, forall, implies, lemma, refinement
from fencepost.model.source_offsets.core import Instance, MergedView, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Delivered, Offset
from fencepost.properties.source_offsets.claims.promises import Promises, ViewPromises


class InStep(Promises):
    """Of whatever a task finds."""

    def has_checked(s, n):
        return (s.stage[n] != Stage.NEW) & (s.stage[n] != Stage.OPENED)

    def works(s, n):
        """Its offsets are read."""
        return s.has_checked(n) & (s.stage[n] != Stage.CHECKED)

    def may_commit(s, n, p):
        """What the instance commits of the source partition counts."""
        return s.has_checked(n) & ~s.fenced[n] & s.reads[n, p]

    # Who may commit

    @lemma
    def newest_has_fenced(s):
        """Which the newest set gives a source partition to reads it; once its producer is open others are fenced."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(s.newest[p] == m, s.reads[m, p])
            & implies(
                (s.newest[p] == m) & (s.stage[m] != Stage.NEW) & (n != m) & s.reads[n, p] & s.has_checked(n),
                s.fenced[n],
            ),
        )  # fmt: skip

    @lemma
    def one_may_commit(s):
        """Of a source partition one instance at most."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(s.may_commit(m, p) & s.may_commit(n, p), m == n),
        )  # fmt: skip

    # What an instance has

    @lemma
    def has_what_it_reads(s):
        """Of other source partitions an instance has nothing, and before it works it has nothing."""
        return forall(
            Instance, Partition, Offset,
            lambda n, p, i: implies(
                ~s.works(n) | ~s.reads[n, p],
                (s.data[n, p] == 0) & (s.place[n, p, i] == Place.AWAY) & ~s.erases[n, p],
            )
            & s.erases_with_an_offset(n, p)
            & implies(~s.reads[n, p], s.polled[n, p] == 0),
        )  # fmt: skip

    def erases_with_an_offset(s, n, p):
        return implies(s.erases[n, p], 0 < s.data[n, p])

    @lemma
    def polled_is_accounted_for(s):
        """Each record up to the last that an instance has polled is with it, in the committed output, or left out."""
        return forall(
            Instance, Partition, Offset,
            lambda n, p, i: implies(
                s.works(n) & (0 < i) & (i <= s.polled[n, p]),
                (s.place[n, p, i] != Place.AWAY) | s.out[p, i] | s.left_out[p, i],
            )
            & implies(s.place[n, p, i] != Place.AWAY, (0 < i) & (i <= s.polled[n, p]))
            & implies(s.is_inside(n, p, i), i <= s.data[n, p])
            & (s.data[n, p] <= s.polled[n, p])
            & implies(s.stage[n] == Stage.COMMITTED, s.data[n, p] == 0),
        )  # fmt: skip

    @lemma
    def told_of_what_is_done(s):
        """Tasks were told of no record that is not in the committed output or left out, and no other is discarded."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.told[p]), s.out[p, i] | s.left_out[p, i])
            & (s.released[p] <= s.told[p]),
        )  # fmt: skip

    @lemma
    def goes_on_behind(s):
        """What an instance that may commit has is behind the offset that is found."""
        return forall(
            Instance, Partition, Offset,
            lambda n, p, i: implies(
                s.may_commit(n, p) & s.works(n),
                (s.found(p) <= s.polled[n, p])
                & implies(0 < s.data[n, p], s.found(p) < s.data[n, p])
                & implies(s.is_inside(n, p, i), s.found(p) < i),
            ),
        )  # fmt: skip

    # What others see of it

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def does_as_delivered(s, p: Partition):
        """How the committed output of a source partition looks to its readers, and to a restart."""
        return {
            "end": s.found(p),
            "resume": s.found(p),
            "amiss": s.is_amiss(p),
        }

    def is_amiss(s, p):
        """What is in the output is not what the offset says, or has come there as it should not."""
        return s.twice | s.disordered | exists(
            Offset,
            lambda i: (s.out[p, i] & (s.found(p) < i))
            | ((0 < i) & (i <= s.found(p)) & ~s.out[p, i] & ~s.left_out[p, i]),
        )  # fmt: skip


class Lemmas(ViewPromises, InStep, of=MergedView):
    """Of the two topics as one."""

    @lemma
    def once_apart_always_apart(s):
        """Where the own topic has something of a source partition, or an instance is of it, later ones are."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(s.apart[n] | (0 < s.own[p]), s.separate)
            & implies(((0 < s.own[p]) | (s.apart[n] & s.reads[n, p])) & (s.newest[p] == m), s.apart[m])
            & implies(
                ((0 < s.own[p]) | (s.apart[n] & s.reads[n, p] & s.has_checked(n))) & s.may_commit(m, p), s.apart[m]
            ),
        )  # fmt: skip

    @lemma
    def copied_over_nothing(s):
        """An offset is copied while the own topic has one, and of an instance that may commit or is the newest."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(0 < s.copying[n, p], 0 < s.own[p])
            & implies(
                (n != m) & (((s.newest[p] == m) & (s.stage[m] != Stage.NEW)) | s.may_commit(m, p)), s.copying[n, p] == 0
            ),
        )  # fmt: skip

    @lemma
    def erased_over_nothing(s):
        """A tombstone goes to the worker's topic while the own one has an offset, or where that has none; and before it
        is committed nothing else comes there."""
        return forall(
            Instance, Partition,
            lambda n, p: implies(s.apart[n] & s.erases[n, p], (0 < s.own[p]) | (s.worker[p] == 0))
            & implies(
                s.apart[n] & s.erases[n, p] & (s.stage[n] == Stage.ASKED) & s.may_commit(n, p),
                (s.worker[p] == 0) & (s.copying[n, p] == 0),
            ),
        )  # fmt: skip
