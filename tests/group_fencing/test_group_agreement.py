"""Consumer groups are driven: the reference keeps its promises, and applications, texts and implementations with one
thing wrong are found by the promise that they break."""

from typing import Any

import pytest
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.engine import AgreementReport
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Program
from fencepost.properties.group_fencing.events import GROUP_FENCING
from fencepost.properties.group_fencing.variants import RIGHT
from fencepost.reference_impl.defects.group_fencing import REGISTRY
from fencepost.reference_impl.systems.group_fencing import reference

REFERENCE = "fencepost.reference_impl.systems.group_fencing:reference"
BROKEN = "fencepost.reference_impl.defects.group_fencing"
EXAMPLES = 100
CALLS = 25
"""In a shortest program, at most."""


def drive(implementation: Any, variant: str = "shipped", **options: Any) -> AgreementReport:
    return agree(implementation, protocol="group-fencing", variant=variant, promises_only=True, **options)


@pytest.mark.rule("447.P4")
@pytest.mark.parametrize("variant", RIGHT)
def test_reference_keeps_its_promises(variant: str) -> None:
    """In each mode that is right, with every kind of event met that its promises need."""
    report = drive(REFERENCE, variant, max_examples=25, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds" and report.examples >= 25
    assert {"zombie", "client-crash", "coordinator-fail-over", "loss"} <= report.dangers.keys()


@pytest.mark.nightly(nights=5)
@pytest.mark.parametrize("variant", RIGHT)
def test_no_alarm_in_many_groups(variant: str) -> None:
    """The same, longer."""
    report = drive(REFERENCE, variant, max_examples=1_000, seed=2)
    assert report.failure is None, str(report.failure) + "\n" + report.program


def test_the_zombie_of_the_draft() -> None:
    """A former owner commits before the new one has, and both process an input: the draft compares with the last
    committer only (447.8).  The program fails by itself."""
    report = drive(REFERENCE, "draft", max_examples=EXAMPLES, promises=("447.P1",), seed=1)
    assert report.verdict == "violated"
    assert report.failure is not None and report.failure.rules[0] == "447.P1"
    assert "the same was copied by" in str(report.failure)
    assert report.failure.calls <= CALLS
    with pytest.raises(AssertionError, match="the same was copied by"):
        exec(report.program, {})


@pytest.mark.parametrize("variant", ["group-id-only", "new-protocol-metadata-at-send"])
def test_what_applications_leave_out(variant: str) -> None:
    """The metadata of the group (KAFKA-9365), or a rebalance listener, so that a member that is put out and comes back
    commits what it polled before."""
    report = drive(REFERENCE, variant, max_examples=EXAMPLES, verdict_only=True)
    assert report.verdict == "violated"
    assert report.failure is not None and report.failure.rules[0] in ("447.P1", "447.P2")


FOLLOWED: dict[str, tuple[dict[str, Any], str]] = {
    "instance_unchecked": ({"members": 3}, "accept"),
    "judged_too_early": ({"request_timeout_ms": 1_000, "members": 2}, "accept"),
    "expiry_ignores_pending": ({}, "fetch_answered"),
}
"""What seldom comes to break a promise, with what the model has against it; the first needs slots that share an
instance id, the second a leader that waits for longer than a rebalance takes."""


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_defect_is_found_by_the_model(name: str) -> None:
    """In the event with which it begins."""
    more, barred = FOLLOWED[name]
    config = {**dict(REGISTRY[name].needs), **more}
    report = agree(
        f"{BROKEN}:{name}", protocol="group-fencing", variant="shipped", config=config, max_examples=EXAMPLES,
        verdict_only=True, seed=1,
    )  # fmt: skip
    assert report.failure is not None and f"  {barred}: " in str(report.failure)


def test_how_it_is_driven_is_derived() -> None:
    """From the interface and its scenarios: which calls there are, what is simpler, after what nothing is left to
    happen, and what every implementation shows."""
    agreeing = driven("group-fencing")
    assert set(RIGHT) < set(agreeing.variants)
    assert agreeing.reference == REFERENCE
    assert agreeing.black_box == GROUP_FENCING.black_box
    assert agreeing.composite == {"walk", "go", "idle", "get_on", "finish"}
    assert agreeing.ending == {"get_on", "finish"}
    assert agreeing.call("pause", 1).dangers == ("zombie",)
    assert agreeing.missing(reference(dict(agreeing.small, mode="shipped")), "shipped") == []
    assert "step" in agreeing.missing(object(), "shipped")
    larger = Program({**agreeing.small, "members": 3}, (agreeing.call("pause", 1),))
    assert 2 in [program.config["members"] for program in agreeing.call.smaller(larger)]
