"""What would not come to an end is refused before it begins, with what it would take; what does is not."""

import time
from pathlib import Path

import pytest
from command_line import fencepost

KRAFT = "id-blocks/kraft"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["generate", KRAFT, "made", "--histories", 10**12], "1,000,000,000,000 histories of about 200 events would t"),
        (["generate", KRAFT, "made", "--histories", 10**400], "histories of about 200 events would take about"),
        (["generate", "transactions/v2", "made", "--config", f"events={10**400}"], "one history with events 10,000,"),
        (["generate", KRAFT, "made", "--config", "brokers=10000000"], "one history with brokers 10,000,000 would take"),
        (["generate", "transactions/v2", "made", "--config", f"events={10**12}"], "one history with events 1,000,000,"),
        (["explore", KRAFT, "--bound", f"ids={10**30}"], "so many take at least as many bits or values in each state"),
        (["explore", KRAFT, "--bound", "brokers=10000000"], "name at most 4096, or prove, which has no bounds"),
        (["simulate", KRAFT, "--bound", f"ids={10**30}"], "so many take at least as many bits or values in each state"),
        (["agree", KRAFT, "--examples", 10**12], "1000000000000 is not in the range 1<=x<=10000000"),
    ],
    ids=lambda value: " ".join(map(str, value))[:80] if isinstance(value, list) else "",
)
def test_refused(words: list[object], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, soon, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    ran = fencepost(*words)
    assert (ran.code, text in ran.err, len(ran.err.splitlines())) == (2, True, 1), ran.err
    assert time.monotonic() - began < 30
    assert not (tmp_path / "made").exists()


def test_large_numbers_that_cost_nothing(tmp_path: Path) -> None:
    """A number that says nothing of how much there is to do is as good as a small one."""
    words = ("generate", KRAFT, tmp_path / "made", "--histories", 2, "--cores", 1, "--config", f"max_id={2**40}")
    assert fencepost(*words).code == 0
