"""What a source and the readers of its records may rely on, where tasks write exactly once."""

from fencepost.model.language import (
    Properties,
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
from fencepost.model.source_offsets.core import Instance, MergedView, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Delivered, Offset
from fencepost.model.source_offsets.shipped import (
    Mended,
    OwnTopicFromTheStart,
    WorkersTopic,
)


class Promises(Properties):
    """The promises of exactly-once source tasks (KIP-618)."""

    @promise(rule="618.P2")
    def nothing_twice(s):
        """No record of the source comes into the committed output twice."""
        return ~s.twice

    @promise(rule="618.P2")
    def in_order(s):
        """No record comes into the committed output behind a later one of its source partition."""
        return ~s.disordered

    @promise(rule="618.P2")
    def resume_not_behind(s):
        """A restart resumes behind all that is in the committed output: where a record is, its offset is too."""
        return forall(Partition, Offset, lambda p, i: implies(s.out[p, i], i <= s.found(p)))

    @promise(rule="618.P2")
    def resume_not_ahead(s):
        """Each record that a restart leaves out is in the committed output, or was dropped by a transformation or
        aborted as the connector wished: where an offset is, its records are too."""
        return forall(
            Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.found(p)), s.out[p, i] | s.left_out[p, i])
        )  # fmt: skip

    @promise(rule="618.P2")
    def nothing_lost_upstream(s):
        """And so is, or was, each record that the system upstream has discarded, as SourceTask.commit was called."""
        return forall(
            Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.released[p]), s.out[p, i] | s.left_out[p, i])
        )  # fmt: skip

    @service(rule="618.P2")
    def everything_copied(s, p: Partition, i: Offset):
        """Once faults stop, each record of a source partition that a set of tasks has is in the committed output, or
        was left out as the connector wishes."""
        given = exists(Instance, lambda n: s.newest[p] == n)
        return leads_to(given & (0 < i), s.out[p, i] | s.left_out[p, i])

    @service(rule="618.P5")
    def gets_on(s, n: Instance, p: Partition, i: Offset):
        """Once faults stop, each record of the source partitions of an instance that works, and is not fenced, is in
        the committed output, or was left out as the connector wishes, without another instance."""
        works = (s.stage[n] == Stage.WORKING) & s.reads[n, p] & ~s.over[n] & ~s.fenced[n]
        lives = s.reads[n, p] & ~s.over[n] & ~s.fenced[n]
        return leads_to(works & (s.polled[n, p] < i), s.out[p, i] | s.left_out[p, i] | ~lives)

    @witness(of="nothing_twice")
    def sent_again(s):
        """A record is in the transaction of an instance, and in that of one before, which was fenced and goes on."""
        return exists(
            Instance, Instance, Partition, Offset,
            lambda n, m, p, i: (n != m) & s.is_inside(n, p, i) & s.is_inside(m, p, i) & s.fenced[m] & ~s.over[m],
        )  # fmt: skip

    @witness(of="in_order")
    def behind_what_is_there(s):
        """An instance that is left behind has a record in its transaction before one in the committed output."""
        return exists(
            Instance, Partition, Offset, Offset, lambda n, p, i, j: s.is_inside(n, p, i) & (i < j) & s.out[p, j]
        )  # fmt: skip

    @witness(of="resume_not_behind")
    def commits_unheard_of(s):
        """The transaction of an instance that has failed was committed, and the next one has its producer."""
        return exists(
            Instance, Partition,
            lambda n, p: (s.stage[n] == Stage.OPENED) & (s.newest[p] == n) & (s.released[p] < s.found(p)),
        )  # fmt: skip

    @witness(of="resume_not_ahead")
    def open_when_over(s):
        """An instance has failed with records and offsets in a transaction, behind one that is committed."""
        return exists(
            Instance, Partition, Offset, Offset,
            lambda n, p, i, j: s.over[n] & s.is_inside(n, p, i) & (0 < s.data[n, p]) & s.out[p, j],
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def dropped_and_discarded(s):
        """A batch was dropped whole, so that no offset is stored, and the system upstream has discarded it."""
        return exists(Partition, lambda p: s.found(p) < s.released[p])

    @witness(of="gets_on")
    def works_after_another(s):
        """An instance works with more to read, behind what another one has committed, which has failed."""
        return exists(
            Instance, Instance, Partition, Offset,
            lambda n, m, p, i: (n != m) & s.over[m] & ~s.over[n] & (s.stage[n] == Stage.WORKING) & s.reads[n, p]
            & s.out[p, i] & s.reads[m, p],
        )  # fmt: skip

    @witness(of="everything_copied")
    def fails_in_the_middle(s):
        """An instance has failed while its transaction was open."""
        return exists(Instance, lambda n: s.over[n] & s.is_open(n))


class ViewPromises(Promises):
    """With a connector that is given an offsets topic of its own, and null offsets."""

    @witness(of="resume_not_behind")
    def falls_back(s):
        """The connector's own topic has nothing of a source partition, and the worker's has, for an instance of the own
        topic."""
        return exists(
            Instance, Partition,
            lambda n, p: s.apart[n] & s.reads[n, p] & (s.stage[n] == Stage.CHECKED)
            & (0 < s.worker[p]) & (s.own[p] == 0),
        )  # fmt: skip

    @witness(of="resume_not_ahead")
    def erased_in_both(s):
        """A tombstone is committed of a source partition that both topics had an offset of."""
        return exists(
            Partition, lambda p: (0 < s.begins[p]) & (s.own[p] == 0) & (s.worker[p] == 0) & s.separate
        )  # fmt: skip

    @witness(of="nothing_twice")
    def copies_behind(s):
        """A copy is on its way to the worker's topic which has an older offset."""
        return exists(
            Instance, Partition, lambda n, p: (0 < s.worker[p]) & (s.worker[p] < s.copying[n, p])
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def given_up(s):
        """The connector has had a transaction aborted, whose offsets are to be committed without records."""
        return exists(
            Instance, Partition, Offset,
            lambda n, p, i: (s.stage[n] == Stage.ASKED) & (s.data[n, p] == i) & (s.place[n, p, i] == Place.LEFT_OUT),
        )  # fmt: skip


# Why records and source offsets stay in step: the lemmas, with any number of instances, partitions and records.
#
# The idea: of a source partition one instance at most can commit, and what it has is behind the offset that is found;
# and whatever is done to the worker's topic beside transactions is done where the connector's own has an offset, or
# where neither has one.


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


# The promises, asked where a condition of the merged view is not kept.


# What is kept by Kafka as it is released, by how its offsets topics are configured, and by what would mend it.


class WorkersTopicLemmas(InStep, of=WorkersTopic):
    """Of one topic, which is the worker's."""

    @lemma
    def nothing_of_its_own(s):
        """No instance has another topic, in which there is nothing, and from which nothing is copied."""
        return ~s.separate & forall(
            Instance, Partition, lambda n, p: ~s.apart[n] & (s.own[p] == 0) & (s.copying[n, p] == 0)
        )  # fmt: skip

    @witness(of="resume_not_behind")
    def erased(s):
        """A null offset is stored, and the source has begun its partition anew."""
        return exists(Partition, lambda p: (0 < s.begins[p]) & (s.worker[p] == 0))


class OwnTopicFromTheStartLemmas(InStep, of=OwnTopicFromTheStart):
    """Of one topic, which is the connector's own."""

    @lemma
    def always_its_own(s):
        """Each instance that reads something has it."""
        return s.separate & forall(Instance, Partition, lambda n, p: implies(s.reads[n, p], s.apart[n]))

    @witness(of="resume_not_ahead")
    def copied_uncommitted(s):
        """The worker's topic has an offset of a transaction that is aborted."""
        return exists(
            Instance, Partition,
            lambda n, p: (s.own[p] < s.worker[p]) & (s.stage[n] == Stage.WORKING) & s.reads[n, p] & ~s.fenced[n]
            & (s.polled[n, p] < s.worker[p]),
        )  # fmt: skip


class MendedLemmas(InStep, of=Mended):
    """Of both topics, where nothing that was stored is erased."""

    @lemma
    def never_back(s):
        """Where the own topic has something of a source partition, or an instance is of it, later ones are; a copy is
        made where the own topic has an offset, and stays where there is one."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(s.apart[n] | (0 < s.own[p]), s.separate)
            & implies(((0 < s.own[p]) | (s.apart[n] & s.reads[n, p])) & (s.newest[p] == m), s.apart[m])
            & implies(
                ((0 < s.own[p]) | (s.apart[n] & s.reads[n, p] & s.has_checked(n))) & s.may_commit(m, p), s.apart[m]
            )
            & implies(0 < s.copying[n, p], 0 < s.own[p]),
        )  # fmt: skip

    def erases_with_an_offset(s, n, p):
        """It erases none."""
        return ~s.erases[n, p]

    @witness(of="resume_not_behind")
    def falls_back(s):
        """The own topic has nothing of a source partition, and the worker's has, for an instance of the own topic."""
        return exists(
            Instance, Partition,
            lambda n, p: s.apart[n] & s.reads[n, p] & (s.stage[n] == Stage.CHECKED)
            & (0 < s.worker[p]) & (s.own[p] == 0),
        )  # fmt: skip

    @witness(of="nothing_twice")
    def copies_behind(s):
        """The worker's topic has a newer offset than the one that is on its way there, of an instance that is
        fenced."""
        return exists(
            Instance, Partition, lambda n, p: s.fenced[n] & (0 < s.copying[n, p]) & (s.copying[n, p] < s.worker[p])
        )  # fmt: skip
