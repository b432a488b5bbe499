"""What is kept of runs against live brokers: only of those that judged something, and counted where they did."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.dangers import DANGERS
from fencepost.proofs.scope import live
from fencepost.proofs.scope.matrix import matrix_of
from fencepost.proofs.testing import AgreementReport
from fencepost.proofs.testing.coverage import Coverage
from fencepost.properties.catalogue import protocols

REPORT = AgreementReport(
    "m:f", "transactions", "v2", "v2", 3, "holds", None, {}, 20, (), Coverage(), 1.5, {"zombie": 7, "loss": 2}
)  # fmt: skip


def test_a_run_is_written_and_read_again(tmp_path: Path) -> None:
    run = live.run_of(REPORT, "Apache Kafka 4.3.1", "kafka/test_x.py::test_y")
    assert run.dangers == {"loss": 2, "zombie": 7}
    live.write(tmp_path / "live.json", [run, replace(run, seed=4)])
    both = live.runs_of("transactions", "v2", tmp_path / "live.json")
    assert both == [run, replace(run, seed=4)]
    assert live.counts_of(both) == {"loss": 4, "zombie": 14}
    assert live.runs_of("transactions", "v1", tmp_path / "live.json") == []
    assert live.runs_of("transactions", "v2", tmp_path / "no.json") == []


@pytest.mark.parametrize("changes", [{"verdict": "violated"}, {"verdict": "unknown"}, {"model": "none"}])
def test_a_run_that_says_nothing_is_not_kept(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing of that is kept"):
        live.run_of(replace(REPORT, **changes), "Apache Kafka 4.3.1", "kafka/test_x.py::test_y")


def test_what_is_kept_is_of_variants_and_dangers_that_there_are() -> None:
    for told in live.json.loads(live.FILE.read_text()):
        protocols()[told["protocol"]].variant(told["variant"])
        assert told["dangers"].keys() <= DANGERS.keys()
        assert told["examples"] > 0


def test_only_what_is_counted_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every promise of the variant that was followed, and for no other variant."""
    entry = protocols()["transactions"]
    monkeypatch.setattr(
        "fencepost.proofs.scope.matrix.runs_of", lambda p, v: [live.run_of(REPORT, "Kafka", "t")] * (v == "v2")
    )
    [matrix] = matrix_of(entry, [entry.variant("v2")], [])
    for asked in matrix.asked:
        found = {d: matrix.cell(asked, "live", d) for d in DANGERS}
        assert {d: cell.count for d, cell in found.items() if cell.status == "in"} == {"zombie": 7, "loss": 2}
    [other] = matrix_of(entry, [entry.variant("core-v2")], [])
    assert {other.cell(a, "live", d).status for a in other.asked for d in DANGERS} == {"out"}
