"""Replay has teeth: histories of every implementation of id blocks that can break the promise hand out an id twice."""

from pathlib import Path

import pytest
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import replay
from fencepost.reference_impl.defects.id_blocks import DRIVEN, REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks

SIMULATE = "fencepost.reference_impl.systems.id_blocks:simulate_with_stats"
ROUGHER = {
    "lost_requests_answered_later": {"fail_over": 0.2},
    "numbers_begin_again": {"restart": 0.3, "duplicate": 0.5},
}
"""What a defect needs so that it shows within as many histories."""


@pytest.mark.parametrize(
    "name", sorted(name for name in {*REGISTRY} - DRIVEN if REGISTRY[name].breaks is Breaks.PROMISE)
)
def test_a_broken_implementation(tmp_path: Path, name: str) -> None:
    """What can break the promise does so within 300 histories under faults.  That what cannot never does is tried by
    tests/id_blocks/reference/test_id_blocks_broken.py."""
    broken = REGISTRY[name]
    config = {**dict(broken.needs), **ROUGHER.get(name, {}), "broken": name}
    generate(tmp_path, SIMULATE, histories=300, seed=1, config=config, notes=name, cores=1)
    assert "ids_unique" in replay(tmp_path, cores=1).violations


@pytest.mark.parametrize(
    ("name", "first_seen_as"),
    [
        ("answers_before_commit", "answered_after_commit"),
        ("advanced_one_too_little", "blocks_disjoint"),
        ("length_one_too_long", "answers_disjoint"),
        ("ids_shifted_everywhere", "ids_within_blocks"),
        ("shared_claim_counter", "ids_increase"),
        ("snapshot_writes_block_start", "blocks_contiguous"),
        ("ids_shifted_on_even_brokers", "handed_out_after_grant"),
    ],
)
def test_the_cause_is_named_too(tmp_path: Path, name: str, first_seen_as: str) -> None:
    """Beside the id that comes twice, or before it does, the property nearest to the defect is violated."""
    generate(tmp_path, SIMULATE, histories=100, seed=1, config={"broken": name}, cores=1)
    assert first_seen_as in replay(tmp_path, cores=1).violations
