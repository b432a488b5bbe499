"""Induction is joint: what leans on a part that is not inductive is not proved, in every report, and what each promise
rests on is named."""

from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost, read_json
from fencepost.model.language import action, require
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.cases import cases_of
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.run_engines import run_induction
from fencepost.proofs.report import write_junit
from fencepost.properties.catalogue import Variant
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from small_catalogue import small_catalogue
from z3_protocols import Allocation, AllocationProperties, Broker, Contradiction

KRAFT = ID_BLOCKS.variant("kraft")


def test_a_promise_whose_lemma_fails_is_not_proved():
    """Blocks that overlap break a lemma alone, and the promise that leans on it is not said to hold."""
    proof = prove(mutation(Allocation.spec, "730.8", "overlap").apply(), AllocationProperties.properties)
    assert [o.property for o in proof.failures] == ["blocks_lie_behind"]
    assert proof.verdicts["blocks_lie_behind"] == "violated"
    assert proof.verdicts["no_id_twice"] == "not proved"
    assert proof.leaning["no_id_twice"] == ("blocks_lie_behind",)
    assert proof.verdicts["next_only_grows"] == "holds"
    assert proof.verdict() == "violated"


def test_what_can_be_proved_without_the_part_that_fails_is():
    """From a lemma that nothing satisfies everything follows; without it, what was proved still is, from others."""
    proof = prove(settle(Allocation.spec), Contradiction.properties)
    assert proof.verdicts["impossible"] == "violated"
    proved = {n for n, p in AllocationProperties.properties.items() if p.role == "promise" and p.kind == "always"}
    assert {proof.verdicts[name] for name in proved} == {"holds"}
    assert all(proof.rests_on(name) and "impossible" not in proof.rests_on(name) for name in proved)


class Defended(Allocation):
    """With an action that never happens if a lemma holds."""

    @action(dead="blocks lie behind the next free id")
    def complain(s, b: Broker):
        require(s.has[b] & (s.next < s.end[b]))
        s.has[b] = False


def test_that_an_action_never_happens_leans_on_lemmas_too():
    """It is proved from one that holds, and no longer once that fails."""
    dead = {}
    for name, spec in (
        ("right", settle(Defended.spec)),
        ("wrong", mutation(Defended.spec, "730.8", "overlap").apply()),
    ):
        proof = prove(spec, AllocationProperties.properties)
        dead[name] = [o.verdict for o in proof.obligations if o.kind == "dead"]
    assert dead == {"right": ["holds"], "wrong": ["not proved"]}
    assert proof.leaning[""] == ("blocks_lie_behind",)


@pytest.mark.parametrize("name", ["zookeeper", "kraft"])
def test_a_promise_follows_from_what_it_rests_on(name: str):
    """From that alone; and without any one lemma that a step of its own proof uses, that step fails."""
    variant = ID_BLOCKS.variant(name)
    proof = prove(variant.spec, variant.promised)
    for promised in ("no_id_twice", "disjoint_blocks"):
        rests = proof.rests_on(promised)
        alone = prove(variant.spec, {n: variant.promised[n] for n in (promised, *rests)}, counterexamples=False)
        assert {alone.verdicts[n] for n in (promised, *rests)} == {"holds"}
        used = {lemma for o in proof.obligations if o.property == promised for lemma in o.uses} - {promised}
        assert used
        for left_out in used:
            fewer = {n: p for n, p in variant.promised.items() if n != left_out}
            assert prove(variant.spec, fewer, counterexamples=False).verdicts[promised] != "holds", left_out


def without_the_commit(variant: Variant) -> Variant:
    """Kraft's lemmas of a controller that answers before the commit, under the name of a main variant."""
    return replace(KRAFT, name=variant.name, reading=("730.7", "answer: guard 1 dropped")) if variant.main else variant


def test_no_report_says_that_such_a_promise_holds(tmp_path: Path):
    """730.7 taken out: in text, JSON and JUnit, with exit code 1."""
    with small_catalogue(without_the_commit):
        ran = fencepost("prove", "id-blocks/zookeeper", "--json", tmp_path / "proof.json")
    assert ran.code == 1
    assert "no id twice                        not proved (leans on granted is booked, answered was granted)" in ran.out
    rows = {r["property"]: r for r in read_json(tmp_path / "proof.json")}
    assert rows["no_id_twice"]["verdict"] == rows["disjoint_blocks"]["verdict"] == "not proved"
    assert rows["disjoint_blocks"]["leans_on"] == ["granted_is_booked"]
    assert rows["granted_is_booked"]["verdict"] == "violated"
    assert rows["used_up_for_ever"]["verdict"] == "holds"
    assert set(rows["used_up_for_ever"]["evidence"]["rests_on"]) == {"log_follows_memory", "snapshot_and_log_say_all"}
    cases = cases_of([ID_BLOCKS], run_induction(ID_BLOCKS, without_the_commit(KRAFT)))
    write_junit(tmp_path / "junit.xml", "prove", cases, 1.0)
    assert 'message="is not proved (leans on granted is booked), and holds was expected"' in (
        tmp_path / "junit.xml"
    ).read_text(encoding="utf-8")
