"""Thousands of simulated histories of every variant that can be simulated, and of configurations drawn at random: the
nightly part of the kept campaign.  And the main job within the wider bounds."""

from pathlib import Path

import pytest
from command_line import process, read_json
from fencepost.proofs.scale.generate import simulator_named
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.catalogue import find, protocols
from fencepost.properties.conformance_spec import driven
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.trace_spec import CONFORMING
from histories_campaign import VARIANTS, batch
from random_configs import SEED, SIZES, WHOLE, drawn, judged, named
from random_configs import VARIANTS as CONFIGURED

BY_DESIGN = {"transactions/v1", "transactions/v1-verified"}
"""Variants that break promises as documented (KAFKA-17754, KAFKA-14402)."""
UNDECIDED = {"group-fencing/new-protocol": 0.04, "group-fencing/new-protocol-relaxed": 0.04}
"""The largest share of histories whose end may be undecided; 0.01 for all others.  Measured are 0.022 and 0.032: late
heartbeats, and offsets that are fetched while the application works, are followed in part only."""


@pytest.mark.nightly(nights=8)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("which", VARIANTS)
def test_thousands_of_histories_conform(which: str) -> None:
    """5,000 of each variant, with another seed than the kept campaign's: nothing is violated but as predicted, and next
    to all are followed to their ends."""
    reported = batch(which, seed=1_000)
    assert reported["violations"] == {}
    assert bool(reported["predicted"]) == (which in BY_DESIGN)
    assert reported["histories"] == 5_000
    assert sum(reported["undecided"].values()) < UNDECIDED.get(which, 0.01) * reported["histories"]


@pytest.mark.parametrize("which", sorted(VARIANTS))
def test_some_histories_conform(which: str) -> None:
    """Sixty of each variant, in every run; their model follows them, if there is one that says how."""
    reported = batch(which, seed=2_000, histories=60, cores=1)
    assert reported["violations"] == {}
    assert reported["histories"] == 60 and reported["events"] > 60
    protocol, _, variant = which.partition("/")
    assert (reported["followed"] > 0) == (protocol in CONFORMING and variant not in driven(protocol).unfollowed)


def test_what_is_driven_is_simulated() -> None:
    driven_ones = {f"{e.name}/{variant}" for e in protocols().values() for _, variant in e.verified_implementations}
    assert driven_ones <= {f"{e.name}/{variant}" for e in protocols().values() for variant, _, _ in e.simulators}


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


CONFIGURATIONS, HISTORIES = 60, 300


def test_configurations_differ() -> None:
    """Each variant has its turn, and what may be another is a key of its configuration."""
    assert CONFIGURATIONS > 2 * len(CONFIGURED)
    for which in {which.partition("/")[0]: which for which in CONFIGURED}.values():
        assert SIZES[which.partition("/")[0]].keys() <= named(which)[2].keys(), which
    found = [drawn(number) for number in range(4)]
    assert [which for which, _ in found] == list(CONFIGURED[:4])
    assert found[3] == drawn(3) != drawn(3, SEED + 1)


@pytest.mark.nightly(nights=12)
@pytest.mark.parametrize("number", range(CONFIGURATIONS))
def test_no_alarm_whatever_the_configuration(number: int) -> None:
    """Neither a promise that the variant is not known to break, nor conformance."""
    which, config, reported = judged(number, HISTORIES)
    print(f"configuration {number} of seed {SEED}: {which} {config}")
    assert reported["histories"] == (HISTORIES // 10 if which == WHOLE else HISTORIES)
    assert reported["violations"] == {}, (which, config)


@pytest.mark.nightly(nights=10)
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("protocol", [entry.name for entry in protocols().values() if entry.verified])
def test_every_verdict_of_the_wider_profile(protocol: str, tmp_path: Path) -> None:
    """Ten times as many simulated histories, obligations of every reading, a third worker."""
    words = ("verify", protocol, "--profile", "ci", "--json", tmp_path / "v.json")
    ran = process(*words, XDG_CACHE_HOME=str(tmp_path / "cache"))
    results = read_json(tmp_path / "v.json")["results"]
    wrong = [(r["variant"], r["property"], r["engine"]) for r in results if r["verdict"] != r["expected"]]
    assert (ran.code, wrong) == (0, []), ran.err
    assert {r["variant"] for r in results} >= {variant.name for variant in protocols()[protocol].variants}
