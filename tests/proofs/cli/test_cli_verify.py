"""`fencepost verify`: what it says, what it writes for scripts, and when its exit code is 1."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from command_line import Ran, fencepost, read_json
from fencepost.proofs.engines.run_engines import contradictions
from fencepost.proofs.replays import HISTORIES
from fencepost.proofs.results import Result
from fencepost.proofs.variants import judge_main
from fencepost.proofs.verify import EXAMPLES
from fencepost.properties.catalogue import Variant, find
from fencepost.properties.entries import PROFILES
from junitparser import Error, Failure, JUnitXml
from small_catalogue import small_catalogue

VERDICTS = {"holds", "violated", "unknown"}
KINDS = {"always", "step", "sometimes", "eventually", "history", "agreement"}
ENGINES = {"induction", "explore", "progress", "agreement", "replay"}
KEYS = (
    "protocol", "variant", "property", "kind", "engine", "verdict", "expected", "bound", "seconds", "evidence", "scope",
    "out", "excused", "cached",
)  # fmt: skip


def verify(
    folder: Path, change: Callable[[Variant], Variant] | None = None, *words: str
) -> tuple[Ran, dict[str, Any], JUnitXml]:
    """A run over the small catalogue: what it printed, its JSON and its JUnit report."""
    with small_catalogue(*([change] if change else [])):
        ran = fencepost("verify", "--json", folder / "v.json", "--junit", folder / "v.xml", "--seed", 7, *words)
    return ran, read_json(folder / "v.json"), JUnitXml.fromfile(str(folder / "v.xml"))


@pytest.fixture(scope="module")
def as_expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, dict[str, Any], JUnitXml]:
    """One run in which everything is as expected, on a machine that has no Java: the main job needs none."""
    folder = tmp_path_factory.mktemp("verify")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder))
        patch.delenv("JAVA_HOME", raising=False)
        return verify(folder, None, "--verbose")


def conclusion(ran: Ran) -> str:
    """The line that counts the verdicts."""
    [line] = [line for line in ran.out.splitlines() if " verdicts in " in line]
    return line


def without_prediction(variant: Variant) -> Variant:
    asks = ("no_id_twice", "disjoint_blocks")
    return replace(variant, expected={}, asks=asks) if variant.name == "by-broker-id" else variant


def test_exit_code_0_and_a_sentence_of_conclusion(as_expected: tuple[Ran, dict[str, Any], JUnitXml]) -> None:
    """Predicted violations are as expected; one line counts verdicts by engine; with --verbose each is printed."""
    ran, document, _ = as_expected
    assert ran.code == 0, ran.out + ran.err
    assert ran.err == ""
    last = conclusion(ran)
    assert last.startswith(f"{len(document['results'])} verdicts in ")
    assert last.endswith(" violations as predicted; 0 not as expected")
    assert all(f" by {engine}" in last for engine in ENGINES)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "no id twice violated as predicted explore in 3 steps" in lines
    assert "id-blocks/zookeeper: every broker takes its blocks from ZooKeeper" in lines
    assert "Left unchecked by these bounds" in lines
    assert any(line.startswith("id-blocks/zookeeper: progress is known only of brokers 2") for line in lines)


def test_the_contract_for_scripts(as_expected: tuple[Ran, dict[str, Any], JUnitXml]) -> None:
    """Keys and allowed values of the JSON; every kind and every engine occurs."""
    _, document, _ = as_expected
    assert list(document) == ["schema", "version", "seed", "profile", "sources", "results"]
    assert any(file.endswith("model/id_blocks/zookeeper.py") for file in document["sources"])
    assert (document["seed"], document["profile"]) == (7, "smoke")
    results = document["results"]
    assert {tuple(r) for r in results} == {KEYS}
    assert {r["verdict"] for r in results} == VERDICTS
    assert {r["expected"] for r in results} <= VERDICTS
    assert {r["kind"] for r in results} == KINDS
    assert {r["engine"] for r in results} == ENGINES
    assert all(r["seconds"] >= 0 and isinstance(r["evidence"], dict) for r in results)
    unbounded = {r["engine"] for r in results if r["bound"] is None}
    assert unbounded == {"induction", "agreement", "replay"}


def test_a_counterexample_is_in_the_report(as_expected: tuple[Ran, dict[str, Any], JUnitXml]) -> None:
    """Whoever reads the JSON gets the run, as events and in words."""
    _, document, _ = as_expected
    violated = [r for r in document["results"] if r["verdict"] == "violated" and r["engine"] == "explore"]
    assert violated
    assert all(len(r["evidence"]["events"]) == r["evidence"]["steps"] > 0 for r in violated)
    assert all(r["evidence"]["words"] for r in violated)


def test_junit_has_a_case_for_every_verdict(as_expected: tuple[Ran, dict[str, Any], JUnitXml]) -> None:
    """One case per verdict, none of them twice; what is unknown is an error with the reason, as expected too."""
    _, document, junit = as_expected
    cases = [(suite.name, case) for suite in junit for case in suite]
    assert len(cases) == len(document["results"])
    assert max(Counter((name, case.classname, case.name) for name, case in cases).values()) == 1
    unknown = [case for _, case in cases if case.result]
    assert len(unknown) == sum(r["verdict"] == "unknown" for r in document["results"]) > 0
    assert (junit.failures, junit.errors, junit.skipped) == (0, len(unknown), 0)
    assert all(isinstance(case.result[0], Error) and case.result[0].message for case in unknown)


def test_a_violation_that_nobody_predicted(tmp_path: Path) -> None:
    """Exit code 1, the words in full and the commands that tell more, and a failure in JUnit that carries the run."""
    ran, document, junit = verify(tmp_path, without_prediction)
    assert ran.code == 1
    wrong = [r for r in document["results"] if r["verdict"] != r["expected"]]
    assert {(r["variant"], r["property"], r["verdict"]) for r in wrong} == {
        ("by-broker-id", "no_id_twice", "violated"),
        ("by-broker-id", "disjoint_blocks", "violated"),
    }
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "no id twice violated explore in 3 steps expected: holds" in lines
    assert conclusion(ran).endswith(f"{len(wrong)} not as expected")
    assert ran.out.count("\nid-blocks/") == 1, "the heading of what is as expected is left to --verbose"
    next_words = ran.out[ran.out.index("Next:") :].split("Next:")[1].split("\n")
    assert [line.strip() for line in next_words if line] == [
        f'fencepost show id-blocks/by-broker-id "{name}"' for name in ("no id twice", "disjoint blocks")
    ]
    failed = [case for suite in junit for case in suite if case.result and isinstance(case.result[0], Failure)]
    assert len(failed) == len(wrong) == junit.failures
    assert {case.result[0].message for case in failed} == {"violated, and holds was expected"}
    assert all("configure(" in case.system_out for case in failed)


def test_a_prediction_that_does_not_come_true(tmp_path: Path) -> None:
    """The absence of a predicted violation is a failure too."""

    def with_prediction(variant: Variant) -> Variant:
        repaired = variant.name == "by-broker-id-repaired"
        return replace(variant, expected={"no_id_twice": "violated"}) if repaired else variant

    ran, _, junit = verify(tmp_path, with_prediction)
    assert ran.code == 1
    assert any(line.endswith("expected: violated") for line in ran.out.splitlines())
    assert junit.failures > 0


def test_engines_that_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a proof says that what the explorer broke holds, the run fails and says who says what."""
    import fencepost.proofs.verify as module

    proved = Result("id-blocks", "by-broker-id", "no_id_twice", "always", "induction", "holds", "violated", None, 0.1)
    stage = module._implementation
    monkeypatch.setattr(module, "_implementation", lambda *a: iter([("a faulty prover", proved), *stage(*a)]))
    ran, _, junit = verify(tmp_path)
    assert ran.code == 1
    told = "id-blocks/by-broker-id no_id_twice: induction says it holds, explore that it does not"
    assert f"engines disagree: {told}" in ran.err.splitlines()
    asked = [line.removeprefix("Next:").strip() for line in ran.out.splitlines()[-2:]]
    assert asked == ["fencepost prove id-blocks/by-broker-id", 'fencepost show id-blocks/by-broker-id "no id twice"']
    assert any(case.name == told and isinstance(case.result[0], Failure) for suite in junit for case in suite)


def test_unknown_where_a_verdict_was_expected_is_an_error(tmp_path: Path) -> None:
    """JUnit tells what could not be decided from what is wrong."""
    from fencepost.proofs.report import write_junit

    write_junit(tmp_path / "u.xml", [a_result("explore", "unknown", dict(ids=2), expected="holds")])
    [case] = [case for suite in JUnitXml.fromfile(str(tmp_path / "u.xml")) for case in suite]
    assert isinstance(case.result[0], Error)


def a_result(engine: str, verdict: Any, bound: dict[str, int] | None, **further: Any) -> Result:
    """A verdict on one property of one variant."""
    given = dict(kind="always", expected="holds", steps=None) | further
    evidence = {} if given["steps"] is None else {"steps": given["steps"]}
    return Result("p", "v", "q", given["kind"], engine, verdict, given["expected"], bound, 0.0, evidence)


def explored(verdict: str, steps: int | None = None, **bound: int) -> Result:
    return a_result("explore", verdict, bound, steps=steps)


PROOF = a_result("induction", "holds", None)
CONTRADICTIONS = {
    "a proof, and a violation": ([PROOF, explored("violated", 3, ids=2)], 1),
    "a search, and a violation within its bounds": ([explored("holds", ids=3), explored("violated", 3, ids=2)], 1),
    "a search, and a violation beyond its bounds": ([explored("holds", ids=2), explored("violated", 3, ids=3)], 0),
    "an attempt at a proof that failed": ([a_result("induction", "violated", None), explored("holds", ids=2)], 0),
    "what could not be decided": ([PROOF, explored("unknown", ids=2)], 0),
    "agreement": ([PROOF, explored("holds", ids=2)], 0),
    "witnesses, reached within larger bounds only": (
        [a_result("explore", v, b, kind="sometimes") for v, b in (("holds", dict(ids=3)), ("violated", dict(ids=2)))],
        0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_contradictions(case: str) -> None:
    """Two answers contradict each other only if the violation lies within what the other looked at."""
    results, count = CONTRADICTIONS[case]
    assert len(contradictions(results)) == count
    assert len(contradictions(results[::-1])) == count
    other = [replace(results[0], variant="another"), *results[1:]]
    assert contradictions(other) == []


def test_wider_profiles_hold_the_readings_against_one_another(tmp_path: Path) -> None:
    """A row for each action and property in the report, and one line on paper."""
    with small_catalogue(), mock.patch.dict(EXAMPLES, ci=5), mock.patch.dict(HISTORIES, ci=5):
        ran = fencepost("verify", "--profile", "ci", "--verbose", "--json", tmp_path / "v.json")
    assert ran.code == 0, ran.out
    rows = [r for r in read_json(tmp_path / "v.json")["results"] if r["engine"] == "equal"]
    assert {r["verdict"] for r in rows} == {"holds"} and {r["kind"] for r in rows} == {"reading"}
    of = [r["evidence"]["of"] for r in rows]
    said = f"{of.count('action')} actions, {of.count('property')} properties holds the same in both readings"
    assert [line for line in ran.out.splitlines() if " ".join(line.split()).startswith(said)]


def test_a_proof_may_be_left_to_another_profile() -> None:
    """Then no verdict of this one is by induction, and what is left unchecked says so."""
    entry, variant = find("id-blocks/zookeeper")
    assert variant is not None
    late = replace(variant, proof_from="nightly", progress_bounds=())
    assert [profile for profile in PROFILES if late.is_proved_in(profile)] == ["nightly"]
    said = "id-blocks/zookeeper: its proof is left to the profile nightly"
    for each, is_left in ((late, True), (replace(late, proof_from="smoke"), False)):
        made = judge_main(entry, each, "smoke")
        assert ("induction" not in {found.engine for _, found in made.results}) is is_left
        assert (said in made.open) is is_left
