"""What a source and the readers of its records may rely on, where tasks write exactly once."""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, promise, service, witness
from fencepost.model.source_offsets.core import Instance, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Offset


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
