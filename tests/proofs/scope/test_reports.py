"""Reports on findings: computed, up to date, and of repairs that were judged where the defect is."""

from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.proofs.scope.repairs import REMOVED_TASK, REPORTS
from fencepost.proofs.scope.reports import JUDGED, report
from fencepost.properties.catalogue import bounds_of, find
from fencepost.properties.entries import Variant

VERDICTS = Path(__file__).parents[3] / "proofs" / "verdicts"


def _variant(name: str) -> Variant:
    _, variant = find(name)
    assert variant is not None
    return variant


@pytest.fixture(scope="module")
def kept() -> str:
    return (VERDICTS / "removed-task.md").read_text(encoding="utf-8")


@pytest.mark.nightly(nights=8)
def test_the_report_is_up_to_date(kept: str) -> None:
    """`fencepost findings NAME --table proofs/verdicts/removed-task.md` writes it."""
    assert kept == report(REMOVED_TASK.finding)


def test_what_a_report_has_of_two_models_is_up_to_date(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the rows of other models, with and without a repair that is proved: those take twenty seconds."""
    cores = [name for name in REMOVED_TASK.unrepaired if "core-removed" in name]
    repairs = [
        replace(each, variants=each.variants[:1]) for each in REMOVED_TASK.repairs if each.name.startswith("(b) d")
    ]
    few = replace(REMOVED_TASK, unrepaired=tuple(cores), repairs=tuple(repairs))
    monkeypatch.setitem(REPORTS, few.finding, few)
    made = report(few.finding).splitlines()
    assert [line for line in made if line not in kept.splitlines()] == []
    models = [line.split(" | ")[2] for line in made if "| task-count" in line]
    assert models == ["task-counts/core-removed", "task-counts/core-removed-dropped"]
    assert len(kept.splitlines()) - len(made) == sum("| task-count" in line for line in kept.splitlines()) - len(models)


def test_a_repair_is_judged_within_bounds_in_which_the_defect_is_found() -> None:
    """So no verdict on a repair is of bounds that are too small for the run which it prevents."""
    there = {}
    for name in REMOVED_TASK.unrepaired:
        variant = _variant(name)
        assert {n for n, verdict in variant.expected.items() if verdict == "violated"} & {*JUDGED}
        there[name.partition("/")[0], tuple(sorted(bounds_of(variant, "smoke").items()))] = variant
    for repair in REMOVED_TASK.repairs:
        for name in repair.variants:
            bounds = bounds_of(_variant(name), "smoke")
            protocol = name.partition("/")[0]
            if protocol == "task-count-deletion":  # its fault of a leader restarted makes its bounds the larger ones
                bounds |= {"restarts": 0}
            assert (protocol, tuple(sorted(bounds.items()))) in there, name


def test_what_each_repair_is_worth(kept: str) -> None:
    """(a), (b) and each two of the three are enough; (c) alone is, as far as no task is restarted."""
    rows = [line.split(" | ") for line in kept.splitlines() if "| task-count" in line]
    proved = "618.P1 proved without bounds; 618.P3 proved without bounds |"
    core = {row[2].partition("core-removed")[2]: row[4] for row in rows if "core-removed" in row[2]}
    assert core.pop("") == core.pop("-taken") == "618.P1 broken in 14 steps; 618.P3 broken in 10 steps |"
    assert len(core) == 6 and set(core.values()) == {proved}
    of_rebalances = {row[2].partition("/")[2]: row[4].removesuffix(" |") for row in rows if "stalls 1" in row[3]}
    broken = {name for name, verdict in of_rebalances.items() if "broken" in verdict}
    assert broken == {"shipped-cooperative-claims", "shipped-eager-restarted", "cooperative-restarted-taken"}


def test_a_finding_without_a_report_is_refused() -> None:
    ran = fencepost("findings", "a removed task")
    assert ran.code == 2
    assert "there is no report on 'a removed task'" in ran.err


def test_json_of_one_finding_is_refused(tmp_path: Path) -> None:
    ran = fencepost("findings", "a removed task is started again", "--json", tmp_path / "f.json")
    assert (ran.code, ran.err.startswith("fencepost findings: --json is of all findings;")) == (2, True)
    assert list(tmp_path.iterdir()) == []
