"""A search is led by its seed, and not by the code that happens to be there."""

import importlib
import sys

from fencepost.proofs.testing import agree

REFERENCE = "fencepost.reference_impl.transactions.system:reference"
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
