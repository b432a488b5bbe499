"""What the whole is composed of is linked to what ships by proofs: each link refuses an impostor."""

from dataclasses import replace

import pytest
from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.over_core import OverCore
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import Constant, action, each, require, when
from fencepost.model.language.derived.inheritance import departure
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.composing import composed
from fencepost.model.task_counts.abstract.cores import ShippedCore
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Partition
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.proofs.engines.induction import Question, consequences, invariant, prove
from fencepost.proofs.readings.solver.models import Counterexample, Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.properties.catalogue import find
from fencepost.properties.end_to_end.claims.interfaces import AdmittedByConnect, DeliveredByGroup, HandedByKraft

_, VARIANT = find("end-to-end/abstract-over-core-v2")
ALWAYS = invariant(VARIANT.asked)
FOLLOWED = {n: term for n, term in consequences(VARIANT.asked).items()}


class ShutsNobodyOut(V2Core):
    """An initialisation gives the epoch that there is: whoever had it goes on."""

    @action
    def initialize(s, c: Client, to: Epoch):
        """The epoch is raised for the first owner alone."""
        require(s.epoch <= to)
        s.given[c, to] = True
        s.epoch = when(s.epoch == 0, to, s.epoch)


class Torn(V2Core):
    """One partition takes each marker for the opposite of what it says."""

    torn: Constant[Partition]

    def take_marker(s, p, e, commit, k):
        """COMMIT for some of a transaction, ABORT for the rest."""
        require(s.markers[p, e, commit, k] & s.accepts_marker(p, e) & (s.known_term[p] <= k))
        fate = when(commit == (p == s.torn), Fate.ABORTED, Fate.COMMITTED)
        s.fate = each(lambda t, q: when((q == p) & (s.fate[t, q] == Fate.OPEN), fate, s.fate[t, q]))
        s.known[p] = e
        s.known_term[p] = k
        s.answer_questions(p, e)


def over(impostor: type[V2Core]) -> Spec:
    """The whole with an impostor in the place of the core."""
    raw = OverCore.spec
    assert raw.own is not None
    return settle(composed(raw.own, {**raw.parts, "core": raw.parts["core"].with_own(lambda _: impostor.spec)}))


def example(spec: Spec, action: str, name: str) -> Counterexample | None:
    """A step that breaks a property, from a state in which all that the proof assumes holds; none if it is proved."""
    question = Question.step(spec, spec.actions[action], ALWAYS.values(), RLIMIT)
    if question.proves(VARIANT.asked[name].term, ALWAYS.values()).verdict == "holds":
        return None
    found = Shrinker(question, ALWAYS.values()).counterexample()
    assert found is not None, "neither proved nor refuted"
    return found


IMPOSTORS = [
    (ShutsNobodyOut, "open_producer_again", "unfenced_as_there"),
    (Torn, "mark_offsets", "counts_as_there"),
]


@pytest.mark.parametrize(("impostor", "step", "name"), IMPOSTORS, ids=["nobody", "torn"])
def test_an_impostor_in_the_place_of_the_core_is_refused(impostor, step, name):
    """Each keeps what a single producer and a single log see of transactions.  The core of v2 takes the same step."""
    assert example(VARIANT.spec, step, name) is None
    found = example(over(impostor), step, name)
    assert found is not None and found.event is not None and found.event.action == step
