"""What is kept by Kafka as it is released, by how its offsets topics are configured, and by what would mend it."""

from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.model.source_offsets.core import Instance, Partition, Stage
from fencepost.model.source_offsets.shipped import (
    CopiesWhenCommitted,
    FallsBack,
    Mended,
    OwnTopicFromTheStart,
    OwnTopicGiven,
    OwnTopicTaken,
    WorkersTopic,
)
from fencepost.properties.source_offsets.claims.core import InStep
from fencepost.properties.source_offsets.claims.promises import Promises


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


class OwnTopicGivenPromises(Promises, of=OwnTopicGiven):
    """Where a connector is given its own topic."""


class OwnTopicTakenPromises(Promises, of=OwnTopicTaken):
    """Where that is taken from it."""


class FallsBackPromises(Promises, of=FallsBack):
    """Where the worker's topic has what was not committed."""


class CopiesWhenCommittedPromises(Promises, of=CopiesWhenCommitted):
    """Where the own topic's nulls hide what the worker's has."""
