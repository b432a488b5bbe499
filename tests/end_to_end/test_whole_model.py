"""The whole as a model: from the sources of a connector to the sink of a group, by what its parts promise."""

import pytest
from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.language.derived.inheritance import departure
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.properties.catalogue import bounds_of, features_of, find
from fencepost.properties.end_to_end.claims.abstract import (
    AdmittedByConnect,
    DeliveredByGroup,
    EndToEndProperties,
    HandedByKraft,
    MarkersCome,
)
from fencepost.properties.end_to_end.claims.over_core import DetailedProperties
from fencepost.properties.end_to_end.claims.sources import ResumedByTheWorkersTopic

END_TO_END = {"each_once", "none_left_out", "resumes_where_it_ended"}


def variant(name):
    found = find(f"end-to-end/{name}")[1]
    assert found is not None
    return found


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


@pytest.mark.parametrize(
    ("name", "stated", "refinement"),
    [
        ("connect-admits", AdmittedByConnect, "does_as_admission"),
        ("kraft-hands-out", HandedByKraft, "does_as_handed"),
        ("group-delivers", DeliveredByGroup, "does_as_delivered"),
        ("producers", MarkersCome, "does_as_fated"),
        ("sources-resume", ResumedByTheWorkersTopic, "does_as_sources"),
    ],
)
def test_the_cores_keep_their_interfaces(name, stated, refinement):
    """Without bounds, and what is proved rests on the core's own lemmas."""
    asked = variant(name).asked
    proof = prove(settle(stated.protocol.spec), asked, counterexamples=False)
    assert proof.failures == ()
    assert proof.verdict(refinement) == "holds"
    assert proof.rests_on(refinement)


@pytest.mark.parametrize(
    "name",
    ["read-uncommitted", "without-offsets", "offsets-at-once", "nobody-shut-out", "from-the-beginning",
     "unchecked-start", "resumed-too-early", "ids-twice"],
)  # fmt: skip
def test_mistakes_break_what_is_promised_end_to_end(name):
    """Each of the promises that the catalogue predicts, and it is one of the whole's."""
    wrong = variant(name)
    broken = {n for n, verdict in wrong.expected.items() if verdict == "violated"}
    assert broken
    assert broken <= END_TO_END
    made = explore(wrong.spec, wrong.asked, bounds_of(wrong, "smoke"))
    assert {n: made.verdicts[n] for n in broken} == dict.fromkeys(broken, "violated")


def test_the_detailed_whole_does_as_the_abstract_one():
    """Every reachable step within the bounds, with all that each core does."""
    detailed = variant("detailed")
    made = explore(detailed.spec, detailed.asked, features_of(detailed, "smoke")["a rebalance"])
    assert made.complete
    promised = {n for n, p in DetailedProperties.properties.items() if p.role == "promise"}
    assert {n: made.verdicts[n] for n in (*promised, "does_as_the_whole")} == dict.fromkeys(
        (*promised, "does_as_the_whole"), "holds"
    )
    assert made.taken["commit_copies"]
    assert made.taken["connect.write_count"]
    assert made.taken["ids.install"]
    assert made.taken["group.rebalance"]


def test_a_mistake_in_a_core_reaches_the_sink():
    """The group's offsets count at once, which its own promises forbid: so the sink is not in step any more."""
    detailed = variant("detailed")
    spec = mutation(DetailedProperties.protocol.spec, "447.18", "group.at_once").apply()
    asked = {n: detailed.asked[n] for n in ("sink_in_step", "does_as_the_whole")}
    made = explore(spec, asked, features_of(detailed, "smoke")["a rebalance"], stop_when_violated=True)
    assert set(made.verdicts.values()) == {"violated"}


def test_a_zombie_commits_in_the_detailed_whole():
    """Of two instances one is to be shut out by the other: where nobody is, the next task resumes elsewhere than where
    the output ends."""
    detailed = variant("detailed")
    spec = mutation(DetailedProperties.protocol.spec, "txn.1", "txn.shuts_nobody_out").apply()
    name = "resumes_where_it_ended"
    made = explore(spec, {name: detailed.asked[name]}, bounds_of(detailed, "nightly"), stop_when_violated=True)
    assert made.verdicts == {name: "violated"}
