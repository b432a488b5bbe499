"""A search is led by its seed, and not by the code that happens to be there."""

import importlib
import sys

from detection_runs import defects, found_after
from fencepost.proofs.testing import agree

REFERENCE = "fencepost.reference_impl.systems.transactions:reference"
NUMBERS = "".join(f"NUMBER_{number} = {number}\n" for number in range(60, 255))


def calls():
    """What one search does, in numbers."""
    report = agree(
        REFERENCE, protocol="transactions", variant="v1-verified", promises_only=True, max_examples=12, seed=1
    )
    return report.coverage.calls


def test_numbers_in_other_code_change_nothing(tmp_path, monkeypatch):
    """A module full of numbers is imported, and the same search makes the same calls."""
    before = calls()
    (tmp_path / "full_of_numbers.py").write_text(NUMBERS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    importlib.import_module("full_of_numbers")
    assert calls() == before
    sys.modules.pop("full_of_numbers")


def test_clusters_drawn_apart_find_what_is_hard():
    """A controller that answers lost requests later is found by promises alone with each of these seeds.  Where
    Hypothesis makes one cluster like the one before, none of them finds it in 100 clusters."""
    lost = defects("id-blocks")["lost_requests_answered_later"]
    assert None not in [found_after("id-blocks", lost, seed, "promises") for seed in (1, 2, 3)]
