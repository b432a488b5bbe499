"""What a variant asks is judged by a search or by progress, within bounds that some profile has; of runs against live
brokers only those count that judged something."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.dangers import DANGERS
from fencepost.model.language.properties import Property
from fencepost.proofs.engines import explore as exploring
from fencepost.proofs.engines import run_engines
from fencepost.proofs.scope import live
from fencepost.proofs.scope.matrix import matrix_of
from fencepost.proofs.testing import AgreementReport
from fencepost.proofs.testing.coverage import Coverage
from fencepost.properties.catalogue import PROFILES, ProtocolEntry, Variant, protocols

VARIANTS = [(entry, variant) for entry in protocols().values() for variant in entry.variants]


class Searched(Exception):
    """In place of a search that would take long."""


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all properties that were handed to a search, which then isn't made."""
    names: list[str] = []

    def explore(spec: Any, asked: Mapping[str, Property], bounds: Mapping[str, int], **_: Any) -> None:
        names.extend(asked)
        raise Searched

    monkeypatch.setattr(exploring, "explore", explore)
    return names


def unjudged(entry: ProtocolEntry, variant: Variant, searched: list[str]) -> Iterator[str]:
    """The names of what is asked of a variant and handed to no search, whatever the profile."""
    for profile in PROFILES:
        with pytest.raises(Searched):
            run_engines.run_features(entry, variant, profile)
    if variant.progress_bounds:
        with pytest.raises(Searched):
            run_engines.run_progress(entry, variant)
    else:
        assert run_engines.run_progress(entry, variant) == []
    return (name for name in variant.asked if name not in searched)


@pytest.mark.parametrize(("entry", "variant"), VARIANTS, ids=[f"{e.name}/{v.name}" for e, v in VARIANTS])
def test_all_that_is_asked_is_judged(entry: ProtocolEntry, variant: Variant, searched: list[str]) -> None:
    assert not list(unjudged(entry, variant, searched))


def test_progress_without_bounds_is_not_judged(searched: list[str]) -> None:
    entry = protocols()["transactions"]
    bare = replace(entry.variant("core-v2-overlapping"), progress_bounds=())
    assert set(unjudged(entry, bare, searched)) == {
        "appended_in_the_end", "told_in_the_end", "ends_in_the_end", "decided_in_the_end"
    }  # fmt: skip


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
def test_a_run_that_says_nothing_is_not_recorded(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing of that is kept"):
        live.run_of(replace(REPORT, **changes), "Apache Kafka 4.3.1", "kafka/test_x.py::test_y")


def test_what_is_recorded_is_of_variants_and_dangers_that_there_are() -> None:
    for reported in live.json.loads(live.FILE.read_text()):
        protocols()[reported["protocol"]].variant(reported["variant"])
        assert reported["dangers"].keys() <= DANGERS.keys()
        assert reported["examples"] > 0


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
