"""Source tasks are driven: the reference keeps its promises and follows the models, and connectors and runtimes with
one thing wrong are found."""

from typing import Any

import pytest
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.engine import AgreementReport
from fencepost.properties.conformance_spec import driven
from fencepost.properties.source_commits.events import SOURCE_COMMITS
from fencepost.properties.source_commits.variants import MISTAKES, RIGHT
from fencepost.reference_impl.systems.source_commits import reference

REFERENCE = "fencepost.reference_impl.systems.source_commits:reference"
BROKEN = "fencepost.reference_impl.defects.source_commits"
EXAMPLES = 100
"""As many as there are where nobody says how many."""


def drive(implementation: Any, variant: str = "proposed", **options: Any) -> AgreementReport:
    return agree(implementation, protocol="source-commits", variant=variant, **options)


@pytest.mark.parametrize("variant", RIGHT)
def test_reference_follows_the_model(variant: str) -> None:
    """To the end of every program, and every promise is kept."""
    report = drive(REFERENCE, variant, max_examples=50, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds" and report.examples >= 50
    assert "client-crash" in report.dangers


@pytest.mark.nightly(nights=5)
@pytest.mark.parametrize("variant", RIGHT)
def test_no_alarm_in_many_tasks(variant: str) -> None:
    """The same, longer."""
    report = drive(REFERENCE, variant, max_examples=2_000, seed=2)
    assert report.failure is None, str(report.failure) + "\n" + report.program


@pytest.mark.parametrize("variant", sorted(MISTAKES))
def test_what_connectors_and_runtimes_get_wrong(variant: str) -> None:
    """Each breaks a promise."""
    report = drive(REFERENCE, variant, max_examples=EXAMPLES, promises_only=True, verdict_only=True, seed=1)
    assert report.verdict == "violated"


def test_how_it_is_driven_is_derived() -> None:
    """From the interface and its scenarios."""
    agreeing = driven("source-commits")
    assert set(agreeing.variants) == {*RIGHT, *MISTAKES}
    assert agreeing.reference == REFERENCE
    assert agreeing.black_box == SOURCE_COMMITS.black_box
    assert agreeing.composite == {"arrive", "work", "commit", "all_goes_on", "finish"}
    assert agreeing.ending == {"finish"}
    assert agreeing.missing(reference(dict(agreeing.small, mode="shipped")), "shipped") == []
    assert "threads" in agreeing.missing(object(), "shipped")
