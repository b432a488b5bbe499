"""Thousands of simulated histories of every variant that can be simulated: the nightly part of the kept campaign."""

import pytest
from fencepost.proofs.scale.generate import simulator_named
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.catalogue import find
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import columns_of
from histories_campaign import VARIANTS, batch

BY_DESIGN = {"transactions/v1", "transactions/v1-verified"}
"""Variants that break promises as documented (KAFKA-17754, KAFKA-14402)."""
UNDECIDED = {"group-fencing/new-protocol": 0.04, "group-fencing/new-protocol-relaxed": 0.04}
"""The largest share of histories whose end may be undecided; 0.01 for all others.  Measured are 0.022 and 0.032: late
heartbeats, and offsets that are fetched while the application works, are followed in part only."""


@pytest.mark.nightly(nights=2)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", VARIANTS)
def test_thousands_of_histories_conform(which: str) -> None:
    """5,000 of each variant, with another seed than the kept campaign's: nothing is violated but as predicted, and next
    to all are followed to their ends."""
    told = batch(which, seed=1_000)
    assert told["violations"] == {}
    assert bool(told["predicted"]) == (which in BY_DESIGN)
    assert told["histories"] == 5_000
    assert sum(told["undecided"].values()) < UNDECIDED.get(which, 0.01) * told["histories"]


@pytest.mark.parametrize("which", sorted(VARIANTS))
def test_some_histories_conform(which: str) -> None:
    """Sixty of each variant, in every run."""
    told = batch(which, seed=2_000, histories=60, cores=1)
    assert told["violations"] == {}
    assert told["histories"] == 60 and told["events"] > 60


@pytest.mark.parametrize(
    ("which", "history"),
    [
        ("source-commits/proposed-exactly-once", 1449),  # a transaction whose only record the producer refuses
        ("source-offsets/text-merged-view", 1556),  # a fenced instance reads to an end behind which more is written
    ],
)
def test_what_was_misjudged(which: str, history: int) -> None:
    """Histories of the reference that fit, of which a night's run said that they do not."""
    protocol, _, variant = which.partition("/")
    function, config = next((f, c) for name, f, c in find(which)[0].simulators if name == variant)
    rows, _ = simulator_named(function)(seed_of(1_000, history), dict(config))
    columns = columns_of(VOCABULARIES[protocol], [(history, rows)])
    assert conformance_kernel(variant, config, protocol).misfits(columns) == []
