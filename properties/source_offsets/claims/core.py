"""This module states what a source and the readers of its records may rely on, where tasks write exactly once."""

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
    """`Promises` has the promises of exactly-once source tasks (KIP-618)."""

    @promise(rule="618.P2", broken="a record of the source gets into the committed output twice")
    def nothing_twice(s):
        """No record of the source gets into the committed output twice."""
        return ~s.twice

    @promise(
        rule="618.P2",
        broken="a record gets into the committed output after a later record of its source partition",
    )
    def in_order(s):
        """No record gets into the committed output after a later record of its source partition."""
        return ~s.disordered

    @promise(
        rule="618.P2",
        broken="the record at {i} of {p} is in the committed output, and a restart would deliver it again",
    )
    def resume_not_behind(s):
        """A restart resumes after every record in the committed output, so each such record has its offset stored."""
        return forall(Partition, Offset, lambda p, i: implies(s.out[p, i], i <= s.found(p)))

    @promise(
        rule="618.P2",
        broken="a restart would leave out the record at {i} of {p}, which is not in the committed output and "
        "was not left out on purpose",
    )
    def resume_not_ahead(s):
        """Each record that a restart leaves out is in the committed output, or was dropped by a transformation or
        aborted as the connector requested. Each stored offset therefore has its records in the output."""
        return forall(
            Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.found(p)), s.out[p, i] | s.left_out[p, i])
        )  # fmt: skip

    @promise(
        rule="618.P2",
        broken="upstream has discarded the record at {i} of {p}, which is not in the committed output and was "
        "not left out on purpose",
    )
    def nothing_lost_upstream(s):
        """Each record that the upstream system has discarded, after SourceTask.commit was called, is in the committed
        output or was left out as the connector requested."""
        return forall(
            Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.released[p]), s.out[p, i] | s.left_out[p, i])
        )  # fmt: skip

    @service(rule="618.P2", broken="the record at {i} of {p} never gets into the committed output")
    def everything_copied(s, p: Partition, i: Offset):
        """Once faults stop, each record of a source partition that is assigned in a set of tasks is in the committed
        output, or was left out as the connector requested."""
        given = exists(Instance, lambda n: s.newest[p] == n)
        return leads_to(given & (0 < i), s.out[p, i] | s.left_out[p, i])

    @service(
        rule="618.P5",
        broken="{n} works, and the record at {i} of {p}, which is assigned to it, never gets into the committed output",
    )
    def gets_on(s, n: Instance, p: Partition, i: Offset):
        """Once faults stop, each record of the source partitions of an instance that works, and is not fenced, is in
        the committed output or was left out as the connector requested, without another instance."""
        works = (s.stage[n] == Stage.WORKING) & s.reads[n, p] & ~s.over[n] & ~s.fenced[n]
        lives = s.reads[n, p] & ~s.over[n] & ~s.fenced[n]
        return leads_to(works & (s.polled[n, p] < i), s.out[p, i] | s.left_out[p, i] | ~lives)

    @witness(of="nothing_twice")
    def sent_again(s):
        """A record is in the transaction of an instance and in that of an earlier one, which was fenced and goes on."""
        return exists(
            Instance, Instance, Partition, Offset,
            lambda n, m, p, i: (n != m) & s.is_inside(n, p, i) & s.is_inside(m, p, i) & s.fenced[m] & ~s.over[m],
        )  # fmt: skip

    @witness(of="in_order")
    def behind_what_is_there(s):
        """An instance that is left behind has a record in its transaction that precedes one in the committed output."""
        return exists(
            Instance, Partition, Offset, Offset, lambda n, p, i, j: s.is_inside(n, p, i) & (i < j) & s.out[p, j]
        )  # fmt: skip

    @witness(of="resume_not_behind")
    def commits_unheard_of(s):
        """The transaction of an instance that has failed was committed, and the next one has opened its producer."""
        return exists(
            Instance, Partition,
            lambda n, p: (s.stage[n] == Stage.OPENED) & (s.newest[p] == n) & (s.released[p] < s.found(p)),
        )  # fmt: skip

    @witness(of="resume_not_ahead")
    def open_when_over(s):
        """An instance has failed with records and offsets in a transaction, after another transaction was committed."""
        return exists(
            Instance, Partition, Offset, Offset,
            lambda n, p, i, j: s.over[n] & s.is_inside(n, p, i) & (0 < s.data[n, p]) & s.out[p, j],
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def dropped_and_discarded(s):
        """A batch was dropped as a whole, so that no offset is stored, and the upstream system has discarded it."""
        return exists(Partition, lambda p: s.found(p) < s.released[p])

    @witness(of="gets_on")
    def works_after_another(s):
        """An instance works with more to read, after another instance has committed records and failed."""
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
    """The promises of `ViewPromises` are for a connector with an offsets topic of its own, and null offsets."""

    @witness(of="resume_not_behind")
    def falls_back(s):
        """An instance with the connector's own topic finds no offset there, while the worker's topic has one."""
        return exists(
            Instance, Partition,
            lambda n, p: s.apart[n] & s.reads[n, p] & (s.stage[n] == Stage.CHECKED)
            & (0 < s.worker[p]) & (s.own[p] == 0),
        )  # fmt: skip

    @witness(of="resume_not_ahead")
    def erased_in_both(s):
        """A tombstone is committed for a source partition of which both topics had an offset."""
        return exists(
            Partition, lambda p: (0 < s.begins[p]) & (s.own[p] == 0) & (s.worker[p] == 0) & s.separate
        )  # fmt: skip

    @witness(of="nothing_twice")
    def copies_behind(s):
        """A copy is on its way to the worker's topic, which has an older offset."""
        return exists(
            Instance, Partition, lambda n, p: (0 < s.worker[p]) & (s.worker[p] < s.copying[n, p])
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def given_up(s):
        """The connector has had a transaction aborted, and its offsets are about to be committed without records."""
        return exists(
            Instance, Partition, Offset,
            lambda n, p, i: (s.stage[n] == Stage.ASKED) & (s.data[n, p] == i) & (s.place[n, p, i] == Place.LEFT_OUT),
        )  # fmt: skip


# These lemmas state why records and source offsets stay in step, with any number of instances, partitions and records.
#
# The idea of the proof: at most one instance can commit for a source partition, and what it holds comes after the
# offset that a restart finds. Writes to the worker's topic outside transactions happen only where the connector's own
# topic has an offset, or where neither topic has one.


class InStep(Promises):
    """The lemmas of `InStep` hold whichever topics a task reads its offsets from."""

    def has_checked(s, n):
        return (s.stage[n] != Stage.NEW) & (s.stage[n] != Stage.OPENED)

    def works(s, n):
        """Return whether the instance has read its offsets."""
        return s.has_checked(n) & (s.stage[n] != Stage.CHECKED)

    def may_commit(s, n, p):
        """Return whether the instance may commit for the source partition."""
        return s.has_checked(n) & ~s.fenced[n] & s.reads[n, p]

    # These lemmas state which instances may commit.

    @lemma
    def newest_has_fenced(s):
        """The instance to which the newest set gives a source partition reads that partition, and once its producer is
        open, every other instance that reads the partition is fenced."""
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
        """At most one instance may commit for each source partition."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(s.may_commit(m, p) & s.may_commit(n, p), m == n),
        )  # fmt: skip

    # These lemmas state which records and offsets an instance has.

    @lemma
    def has_what_it_reads(s):
        """An instance has records and offsets only of source partitions that it reads, and only while it works."""
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
        """Each record up to an instance's last polled one is in its transaction, in the output, or left out."""
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
        """Tasks are notified of, and upstream discards, only records in the committed output or left out."""
        return forall(
            Partition, Offset,
            lambda p, i: implies((0 < i) & (i <= s.told[p]), s.out[p, i] | s.left_out[p, i])
            & (s.released[p] <= s.told[p]),
        )  # fmt: skip

    @lemma
    def goes_on_behind(s):
        """Everything that an instance that may commit holds comes after the offset that a restart would find."""
        return forall(
            Instance, Partition, Offset,
            lambda n, p, i: implies(
                s.may_commit(n, p) & s.works(n),
                (s.found(p) <= s.polled[n, p])
                & implies(0 < s.data[n, p], s.found(p) < s.data[n, p])
                & implies(s.is_inside(n, p, i), s.found(p) < i),
            ),
        )  # fmt: skip

    # This refinement states what others observe of a source partition.

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def does_as_delivered(s, p: Partition):
        """The core refines the interface of source offsets, which describes the committed output of a source partition
        as its readers and a restart see it."""
        return {
            "end": s.found(p),
            "resume": s.found(p),
            "amiss": s.is_amiss(p),
        }

    def is_amiss(s, p):
        """Return whether the output contradicts the offset, or has a record twice or out of order."""
        return s.twice | s.disordered | exists(
            Offset,
            lambda i: (s.out[p, i] & (s.found(p) < i))
            | ((0 < i) & (i <= s.found(p)) & ~s.out[p, i] & ~s.left_out[p, i]),
        )  # fmt: skip


class Lemmas(ViewPromises, InStep, of=MergedView):
    """The lemmas of `Lemmas` are about the two topics that are read as one."""

    @lemma
    def once_apart_always_apart(s):
        """If the connector's own topic has an offset of a source partition, or an instance of the partition uses that
        topic, then each later instance uses it as well."""
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
        """An offset is copied only while the own topic has one, by the instance that may commit or is the newest."""
        return forall(
            Instance, Instance, Partition,
            lambda m, n, p: implies(0 < s.copying[n, p], 0 < s.own[p])
            & implies(
                (n != m) & (((s.newest[p] == m) & (s.stage[m] != Stage.NEW)) | s.may_commit(m, p)), s.copying[n, p] == 0
            ),
        )  # fmt: skip

    @lemma
    def erased_over_nothing(s):
        """A tombstone is written to the worker's topic only if the connector's own topic has an offset or the worker's
        topic has none. Until the tombstone is committed, nothing else is written there for that partition."""
        return forall(
            Instance, Partition,
            lambda n, p: implies(s.apart[n] & s.erases[n, p], (0 < s.own[p]) | (s.worker[p] == 0))
            & implies(
                s.apart[n] & s.erases[n, p] & (s.stage[n] == Stage.ASKED) & s.may_commit(n, p),
                (s.worker[p] == 0) & (s.copying[n, p] == 0),
            ),
        )  # fmt: skip


# These are the promises, checked where a condition of the merged view is violated.


# These are the promises that Kafka fulfils as it is released, by the configuration of its offsets topics, and by what
# would repair it.


class WorkersTopicLemmas(InStep, of=WorkersTopic):
    """The lemmas of `WorkersTopicLemmas` are about a connector that uses only the worker's topic."""

    @lemma
    def nothing_of_its_own(s):
        """No instance uses the connector's own topic, which is empty and from which nothing is copied."""
        return ~s.separate & forall(
            Instance, Partition, lambda n, p: ~s.apart[n] & (s.own[p] == 0) & (s.copying[n, p] == 0)
        )  # fmt: skip

    @witness(of="resume_not_behind")
    def erased(s):
        """A null offset is stored, and the source has restarted its partition from the beginning."""
        return exists(Partition, lambda p: (0 < s.begins[p]) & (s.worker[p] == 0))


class OwnTopicFromTheStartLemmas(InStep, of=OwnTopicFromTheStart):
    """The lemmas of `OwnTopicFromTheStartLemmas` are about a connector that uses only its own topic."""

    @lemma
    def always_its_own(s):
        """Each instance that reads a source partition uses the connector's own topic."""
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
    """The lemmas of `MendedLemmas` are about both topics, where no stored offset is erased."""

    @lemma
    def never_back(s):
        """If the connector's own topic has an offset of a source partition, or an instance of the partition uses that
        topic, each later instance uses it too. A copy is made only where the own topic has an offset, which stays."""
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
        """Return whether the instance erases no offset of the partition."""
        return ~s.erases[n, p]

    @witness(of="resume_not_behind")
    def falls_back(s):
        """An instance with the connector's own topic finds no offset there, while the worker's topic has one."""
        return exists(
            Instance, Partition,
            lambda n, p: s.apart[n] & s.reads[n, p] & (s.stage[n] == Stage.CHECKED)
            & (0 < s.worker[p]) & (s.own[p] == 0),
        )  # fmt: skip

    @witness(of="nothing_twice")
    def copies_behind(s):
        """A fenced instance has a copy on its way to the worker's topic, which has a newer offset."""
        return exists(
            Instance, Partition, lambda n, p: s.fenced[n] & (0 < s.copying[n, p]) & (s.copying[n, p] < s.worker[p])
        )  # fmt: skip
