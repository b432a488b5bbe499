"""The interfaces that the whole is proved from: what each of them promises, and that the cores do nothing else."""

from fencepost.model.end_to_end.interfaces import Admission, Handed
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Fate, Member, Partition
from fencepost.model.id_blocks.brokers import Id
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    Properties,
    each,
    exists,
    forall,
    implies,
    lemma,
    promise,
    refinement,
    when,
    witness,
)
from fencepost.model.source_offsets.delivered import Delivered
from fencepost.model.task_counts.abstract.core import Instance, Stage
from fencepost.model.task_counts.abstract.cores import ShippedCore
from fencepost.properties.group_fencing.claims.classic import ShippedLemmas as GroupLemmas
from fencepost.properties.id_blocks.claims.controllers import KraftProperties
from fencepost.properties.task_counts.claims.core import ShippedLemmas as ConnectLemmas


class AdmissionProperties(Properties, of=Admission):
    """What Connect promises of instances, in the words of its interface."""

    @promise(rule="618.P1")
    def one_set_by_the_interface(s):
        """Instances that can commit are of one set of task configurations."""
        return forall(Instance, Instance, lambda j, k: implies(s.can_commit(j) & s.can_commit(k), s.of[j] == s.of[k]))

    @promise(rule="618.P1")
    def one_of_each_by_the_interface(s):
        """No two instances of one task can commit."""
        return forall(
            Instance, Instance,
            lambda j, k: implies(s.can_commit(j) & s.can_commit(k) & (s.task[j] == s.task[k]), j == k),
        )  # fmt: skip

    @witness(of="one_set_by_the_interface")
    def another_set(s):
        """An instance of one set can commit, and one of another set polls and cannot."""
        return exists(Instance, Instance, lambda j, k: s.can_commit(j) & s.polls[k] & ~s.live[k] & (s.of[j] != s.of[k]))

    @witness(of="one_of_each_by_the_interface")
    def another_instance(s):
        """Two instances of a task poll, and one of them can commit."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & s.polls[k] & (j != k) & (s.task[j] == s.task[k]),
        )  # fmt: skip

    @lemma
    def opened_before(s):
        """Only an instance that has opened a producer polls, or has one that is not fenced."""
        return forall(Instance, lambda k: implies(s.polls[k] | s.live[k], s.opened[k]))

    @lemma
    def one_live(s):
        """One instance of a task at most has a producer that is not fenced."""
        return forall(
            Instance, Instance, lambda j, k: implies(s.live[j] & s.live[k] & (s.task[j] == s.task[k]), j == k)
        )


class HandedProperties(Properties, of=Handed):
    """What is promised of producer ids, in the words of their interface."""

    @promise(rule="730.P1")
    def none_twice_by_the_interface(s):
        """No id is handed out again."""
        return ~s.twice

    @witness(of="none_twice_by_the_interface")
    def some_given(s):
        """Two ids are used."""
        return exists(Id, Id, lambda i, j: (i != j) & s.given[i] & s.given[j])


class DeliveredProperties(Properties, of=Delivered):
    """What is promised of a partition's committed output."""

    @lemma
    def in_step(s):
        """A restart goes on from where the output ends, and nothing is amiss."""
        return (s.resume == s.end) & ~s.amiss


class AdmittedByConnect(ConnectLemmas, of=ShippedCore):
    """Connect as it shipped does what its interface says."""

    @refinement(
        of=Admission,
        actions={
            "check_after": ("let_poll", "stop"), "fence": ("fence",), "fence_late": ("fence",),
            **dict.fromkeys(("elect", "depose", "reconfigure", "start_round", "check_round", "write_count",
                             "write_refused", "fail_round", "answer"), ()),
        },
    )  # fmt: skip
    def does_as_admission(s):
        """What the stages of instances are to those who rely on who can commit."""
        return {
            "opened": each(lambda k: (s.stage[k] == Stage.PRODUCER) | (s.stage[k] == Stage.RUNNING)),
            "polls": each(lambda k: s.stage[k] == Stage.RUNNING),
            "live": each(lambda k: s.live[k]),
            "of": each(lambda k: s.of[k]),
            "task": each(lambda k: s.task[k]),
        }


class HandedByKraft(KraftProperties, of=Kraft):
    """The blocks of KRaft hand producer ids out as the interface says."""

    @refinement(of=Handed)
    def does_as_handed(s):
        """What was handed out, and whether anything was again."""
        return {"given": each(lambda i: s.given[i]), "twice": s.given_twice}


class DeliveredByGroup(GroupLemmas, of=Shipped):
    """A group that copies does to each of its input partitions what the interface says: its inputs are the records."""

    @refinement(of=Delivered, actions={"commit": ("commit",)})
    def does_as_delivered(s, p: Partition):
        """Where the committed output of a partition ends, and where its owner goes on."""
        coming = exists(
            Member,
            lambda m: (s.fate[m] == Fate.COMMITTED) & (0 < s.pending[m, p]) & (s.pending[m, p] == s.done[p]),
        )
        return {
            "end": s.done[p],
            "resume": when(coming, s.done[p], s.committed[p]),
            "amiss": s.twice | s.skipped,
        }
