"""Source tasks are driven: the reference keeps its promises, and texts, releases and implementations with one thing
wrong are found by what they break; histories of the protocol alone are generated and replayed."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.engine import AgreementReport
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Program
from fencepost.properties.source_offsets.events import FROM_THE_START, MISTAKES, RIGHT, SIMULATORS, SOURCE_OFFSETS
from fencepost.properties.source_offsets.histories import BED, PLANTS
from fencepost.reference_impl.defects.source_offsets import REGISTRY
from fencepost.reference_impl.systems.source_offsets import reference

REFERENCE = "fencepost.reference_impl.systems.source_offsets:reference"
BROKEN = "fencepost.reference_impl.defects.source_offsets"
EXAMPLES = 150
CALLS = 20
"""In a shortest program, at most."""
TOMBSTONES = ("tombstone_primary_first", "tombstones_not_copied", "tombstones_left_out", "flush_not_awaited")
"""Driven with tombstones, with which late copies break promises of what is right as well: judged by what they do."""

VIEW = "text-merged-view"
BY_THE_MODEL = {
    "offsets_in_another_transaction": "618.27", "reads_uncommitted": "618.31", "reads_first": "618.20",
}  # fmt: skip
"""Defects, with the rule of what is in the way of their first bad event."""


def drive(implementation: Any, variant: str = "text-merged-view", **options: Any) -> AgreementReport:
    return agree(implementation, protocol="source-offsets", variant=variant, promises_only=True, **options)


@pytest.mark.parametrize("variant", ["text-merged-view", "migration-sentinel"])
def test_reference_keeps_its_promises(variant: str) -> None:
    """In each mode that is right, with every danger met."""
    report = drive(REFERENCE, variant, max_examples=40, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds" and report.examples >= 40
    assert {
        "zombie",
        "client-crash",
        "coordinator-fail-over",
        "loss",
        "lost-answer",
        "rebalance",
    } <= report.dangers.keys()


@pytest.mark.parametrize("variant", [VIEW, pytest.param(FROM_THE_START, marks=pytest.mark.nightly)])
def test_reference_follows_the_model(variant: str) -> None:
    """To the end of most programs: some have more instances at a time than a model is followed with."""
    report = agree(REFERENCE, protocol="source-offsets", variant=variant, max_examples=40, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds" and report.observe != "black-box"


@pytest.mark.parametrize(("name", "rule"), BY_THE_MODEL.items())
def test_the_model_finds_a_defect(name: str, rule: str) -> None:
    """The first bad event is no step of the model; the rule that says why is named, beside promises that break."""
    report = agree(f"{BROKEN}:{name}", protocol="source-offsets", variant=VIEW, max_examples=EXAMPLES, seed=1)
    assert report.failure is not None
    assert rule in report.failure.rules


@pytest.mark.nightly(nights=5)
@pytest.mark.parametrize("variant", RIGHT)
def test_no_alarm_in_many_connectors(variant: str) -> None:
    """The same, longer."""
    report = drive(REFERENCE, variant, max_examples=2_000, seed=2)
    assert report.failure is None, str(report.failure) + "\n" + report.program


HALVES = {"falls-back-alone", "copies-when-committed-alone"}


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(name, marks=pytest.mark.nightly) if name in HALVES else name
        for name in sorted(MISTAKES - {"late-copies", "tombstone-primary-first"})
    ],
)
def test_a_mistake_is_found(variant: str) -> None:
    """By the promise, or by the mechanism that it leaves out; so is what ships and breaks a promise."""
    report = drive(REFERENCE, variant, max_examples=EXAMPLES, verdict_only=True, seed=1)
    assert report.verdict == "violated"


def test_the_program_fails_by_itself() -> None:
    """Records in one transaction and their offsets in another: a few calls show it."""
    report = drive(f"{BROKEN}:offsets_in_another_transaction", max_examples=EXAMPLES, promises=("618.P2",), seed=1)
    assert report.verdict == "violated"
    assert report.failure is not None and report.failure.rules[0] == "618.P2"
    assert report.failure.calls <= CALLS
    with pytest.raises(AssertionError, match="618"):
        exec(report.program, {})


@pytest.mark.parametrize("name", TOMBSTONES)
def test_a_defect_of_tombstones_is_found(name: str) -> None:
    """By what it does, in the mode in which late copies break promises as well."""
    report = drive(
        f"{BROKEN}:{name}", "late-copies", config=dict(REGISTRY[name].needs), max_examples=EXAMPLES, verdict_only=True,
        promises=("618.27", "618.31"), seed=1,
    )  # fmt: skip
    assert report.verdict == "violated"


def test_how_it_is_driven_is_derived() -> None:
    """From the interface and its scenarios."""
    agreeing = driven("source-offsets")
    assert {*RIGHT, *MISTAKES} <= set(agreeing.variants)
    assert agreeing.reference == REFERENCE
    assert agreeing.black_box == SOURCE_OFFSETS.black_box
    assert agreeing.composite == {"walk", "go", "get_on", "finish"} and agreeing.ending == {"finish"}
    assert agreeing.call("stall", 1).dangers == ("zombie",)
    assert agreeing.missing(reference(dict(agreeing.small, mode="text-merged-view")), "text-merged-view") == []
    assert "step" in agreeing.missing(object(), "text-merged-view")
    larger = Program({**agreeing.small, "tasks": 3}, (agreeing.call("kill", 1),))
    assert 2 in [program.config["tasks"] for program in agreeing.call.smaller(larger)]


@pytest.mark.parametrize("variant", RIGHT)
def test_histories_of_it_alone(tmp_path: Path, variant: str) -> None:
    """They are generated and replayed, every promise has something to judge, and none is broken."""
    function, config = next((function, said) for name, function, said in SIMULATORS if name == variant)
    generate(
        tmp_path, function, histories=40, seed=1, config=config, protocol="source-offsets", variant=variant, cores=1
    )  # fmt: skip
    report = replay(tmp_path, cores=1)
    assert report.violations == {}
    few = {"aborted_as_asked", "tombstones_beside_first", "fills_what_is_empty", "copied_when_committed", "conformance"}
    assert set(report.vacuous) <= few and report.unknown.keys() <= few


def test_planted_violations_are_counted(tmp_path: Path) -> None:
    """In thousands of histories, exactly what was planted."""
    planted = "fencepost.properties.source_offsets.histories:simulate_many"
    config = {"bent": 0.2, **BED.config}
    generate(tmp_path, planted, histories=1_500, seed=1, config=config, protocol="source-offsets", many=True, cores=1)
    report = replay(tmp_path, cores=1)
    assert set(report.not_promised) == {"fills_what_is_empty"}
    assert report.violations.keys() == {name for one in PLANTS.values() for name in one.found} - {"fills_what_is_empty"}
