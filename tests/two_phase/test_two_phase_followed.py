"""Two-phase commit: the reference does what the model allows, and of each defect the model or a promise notices it."""

import pytest
from fencepost.proofs.testing import agree
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.two_phase.events import TWO_PHASE
from fencepost.reference_impl.defects.two_phase import REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.systems.two_phase import simulate

REFERENCE = "fencepost.reference_impl.systems.two_phase:reference"
DEFECTS = "fencepost.reference_impl.defects.two_phase"
FOUND = sorted(name for name, one in REGISTRY.items() if one.breaks is not Breaks.NOTHING)
QUICK = ("keep_is_ignored", "retains_without_bump", "markers_of_the_client")


def test_the_reference_agrees_with_the_model() -> None:
    """939.1 to 939.18: no event contradicts the model, which follows most programs to their end."""
    report = agree(REFERENCE, protocol="two-phase", variant="retained", max_examples=25, seed=1, verdict_only=True)
    assert (report.verdict, report.failure) == ("holds", None)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.nightly) for n in FOUND])
def test_a_defect_is_found(name: str) -> None:
    """By an event that the model does not allow, or a promise, within 300 programs that are drawn at random."""
    report = agree(f"{DEFECTS}:{name}", protocol="two-phase", variant="retained", max_examples=300, seed=1,
                   verdict_only=True)  # fmt: skip
    assert report.failure is not None


CLUSTERS = {
    "usual": {}, "epochs end": {"max_epoch": 3, "restart": 0.03}, "one id": {"ids": 1, "partitions": 1},
    "losses": {"drop": 0.05, "duplicate": 0.1, "delay": 0.1}, "coordinators change": {"fail_over": 0.05},
    "three ids": {"clients": 6, "ids": 3, "partitions": 3}, "operators": {"fence": 0.03, "ordinary_share": 0.4},
}  # fmt: skip


@pytest.mark.parametrize("changes", CLUSTERS.values(), ids=CLUSTERS)
def test_simulated_histories_fit_the_model(changes: dict[str, float]) -> None:
    """Whatever happens to applications that use two-phase commit as they should, and to their cluster. Of what is
    undecided, a coordinator had resigned without an answer."""
    config = {"mode": "retained", "events": 200, "quiet_end": True, **changes}
    columns = columns_of(TWO_PHASE, [(seed, simulate(seed, config)) for seed in range(30)])
    judged = conformance_kernel("retained", config, "two-phase")(columns)
    assert not judged.violations and sum(judged.undecided.values()) <= 3
    assert all("a coordinator resigned" in reason for reason in judged.undecided)
