"""The whole, from the sources of a connector to the sink of a group, is proved from what its parts promise, and linked
to their cores by proofs: each link refuses an impostor."""

from dataclasses import replace

import pytest
from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.over_core import OverCore
from fencepost.model.language import Constant, action, each, require, when
from fencepost.model.language.derived.inheritance import departure
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.derived.receptiveness import _followed
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.composing import composed
from fencepost.model.transactions.abstract.core import Client, Epoch, Fate, Partition
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import Question, prove
from fencepost.proofs.engines.obligations import invariant
from fencepost.proofs.readings.solver.models import Counterexample, Shrinker
from fencepost.proofs.readings.solver.solving import RLIMIT
from fencepost.properties.catalogue import features_of, find
from fencepost.properties.end_to_end.claims.abstract import EndToEndProperties
from fencepost.properties.end_to_end.claims.over_core import OverCoreProperties

_, VARIANT = find("end-to-end/abstract-over-core-v2")
ALWAYS = invariant(VARIANT.asked)


class ShutsNobodyOut(V2Core):
    """An initialisation gives the epoch that there is: the instance that had it goes on."""

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


def test_what_is_proved_of_the_whole_is_inherited():
    """Each step of the whole over the core is one of the abstract whole's and one of the core's, or leaves them alone:
    by construction, as terms.  So the promises are the abstract whole's."""
    assert departure(VARIANT.spec, "whole", EndToEnd.spec) is None
    assert departure(VARIANT.spec, "core", V2Core.spec) is None


FOLLOWED = sorted(
    {"core.append", "core.end", "core.answer_again", "core.take_over", "core.fence_producers", "core.complete",
     "core.mark", "core.mark_late"}
)  # fmt: skip


@pytest.mark.parametrize("step", FOLLOWED)
def test_the_whole_is_in_the_way_of_no_step_of_the_core(step):
    """Whenever the core may take the step, some action of the whole takes it; without any one of these none might."""
    item = OverCoreProperties.properties["does_as_v2"]
    assert isinstance(item, Refinement)
    whole = settle(OverCore.spec)

    def follows(without: str) -> bool:
        hints = {a: () if a == without else steps for a, steps in item.hints.items()}
        question = Question.state(VARIANT.spec, ALWAYS.values(), RLIMIT // 10)
        claim = _followed(whole, replace(item, hints=hints), item.core.actions[step])
        return question.proves(claim, ALWAYS.values()).verdict == "holds"

    taking = [a for a, steps in item.hints.items() if step in steps]
    assert taking and follows("") and not any(map(follows, taking))


END_TO_END = {"each_once", "none_left_out", "resumes_where_it_ended"}


def test_the_whole_is_proved_from_what_its_parts_promise():
    """Nothing is asked again of what was proved of a part.  Of producer ids the promises need no more than that each is
    handed out once, which their interface does not let happen otherwise.  (About 10 s.)"""
    proof = prove(settle(EndToEnd.spec), EndToEndProperties.properties, counterexamples=False)
    assert proof.failures == ()
    assert {f.fact.protocol for f in proof.inherited.values()} == {"Admission", "Producers", "Handed", "Delivered"}
    assert not {n for n in proof.inherited if "." not in n}
    rests = {name for promise in END_TO_END for name in proof.rests_on(promise)}
    assert {name.partition(".")[0] for name in rests if "." in name} == {"connect", "txn", "group"}
    assert {"ids_were_handed_out", "ids_are_their_own"} <= rests


@pytest.mark.parametrize("part", ["connect", "txn", "ids", "source", "group"])
def test_each_step_is_one_of_each_part_or_none(part):
    """By construction, as terms."""
    spec = settle(EndToEnd.spec)
    assert departure(spec, part, spec.parts[part].own) is None


def test_all_that_each_core_does_happens_in_the_detailed_whole():
    """Within the bounds in which its promises hold."""
    _, detailed = find("end-to-end/detailed")
    made = explore(detailed.spec, {}, features_of(detailed, "smoke")["a rebalance"])
    assert all(made.taken[step] for step in ("commit_copies", "connect.write_count", "ids.install", "group.rebalance"))
