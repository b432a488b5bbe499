"""The campaign of the doctor on live clusters: what it takes for an alarm, and that it goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import doctor_campaign
import doctor_runs
import pytest
from asking_records import read_batches
from doctor_runs import PLANTS, Cluster, Finding, Plain, _is_unmarked, _stuck, unexpected
from fencepost.proofs.doctor.defects import NAMED, SILENT, UNDECIDED
from transaction_logs import marker, sent

VERDICTS = Path(__file__).parents[3] / "proofs" / "verdicts"
OPEN, TWICE = Finding("open", "t", 0, 4, "a", 1), Finding("duplicate", "t", 1, 2, "a", 1)
HANGS, ZOMBIE = Finding("hanging", "t", 2, 0, "b", 0), Finding("fenced zombie", "t", 0, -1, "c", 3)


def judged(seen: Plain, *found: Finding) -> list[str]:
    return [" ".join(each.split()[:2]) for each in unexpected([(f, "") for f in found], seen)]


def test_what_the_driver_and_a_reader_know_is_no_alarm() -> None:
    seen = Plain(opened={("t", 0, "a")}, twice={("t", 1)}, stuck={("t", 2)}, again={"c"}, skipped={"c"})
    assert judged(seen, OPEN, TWICE, HANGS, ZOMBIE, ZOMBIE._replace(kind="skipped")) == []


def test_a_decision_without_a_marker_may_be_found_in_several_ways() -> None:
    """While it is open, once a batch of another epoch has joined, and after the marker of the next one."""
    seen = Plain(joined={("t", 3)}, unmarked={("t", 3)})
    joined, unmarked = (TWICE._replace(kind=kind, partition=3) for kind in ("joined", "unmarked"))
    assert judged(seen, joined) == judged(seen, joined, unmarked) == []
    assert judged(seen) == ["missed: joined", "missed: unmarked"]
    assert judged(Plain(), joined, unmarked) == ["alarm: joined", "alarm: unmarked"]
    seen = Plain(unmarked={("t", 2)}, stuck={("t", 2)})
    assert judged(seen, HANGS) == judged(seen, HANGS, unmarked._replace(partition=2)) == []


def test_a_transaction_is_unmarked_if_no_marker_is_behind_it() -> None:
    a, b = (7, 0), (8, 0)
    logs = {
        True: (
            [sent(0, a, 0, b"1"), sent(1, a, 1, b"2"), marker(2, a, True)],
            [sent(0, a, 0, b"1"), marker(1, b, True)],
        ),
        False: ([sent(0, a, 0, b"1"), sent(1, b, 0, b"2"), marker(2, a, True)], [sent(0, b, 0, b"2")]),
    }
    for expected, each in logs.items():
        assert [_is_unmarked([*read_batches(b"".join(log))], {"1"}) for log in each] == [expected, expected]


def test_what_is_open_is_stuck_unless_the_driver_goes_on_with_it() -> None:
    """Behind a lost marker of version 1 there is a transaction of the same epoch; one of version 2 has another."""
    alone, same, newer = (
        [*read_batches(b"".join(log))] for log in (
            [sent(0, (7, 0), 0, b"1")], [sent(0, (7, 0), 0, b"1"), sent(1, (7, 0), 1, b"2")],
            [sent(0, (7, 0), 0, b"1"), sent(1, (7, 1), 0, b"2")],
        )
    )  # fmt: skip
    assert _stuck(alone, {0: "a"}) is None and _stuck(same, {1: "a"}) is None
    assert _stuck(alone, {}) == _stuck(same, {2: "a"}) == set()
    assert _stuck(newer, {1: "a"}) == {"a"}


def test_anything_else_is_one() -> None:
    """Each finding that they do not know, of any kind; at another place; and of another id."""
    every = [OPEN, TWICE, HANGS, ZOMBIE, *(TWICE._replace(kind=kind) for kind in ("gap", "marker_without", "skipped"))]
    assert judged(Plain(), *every) == [f"alarm: {each.kind.split()[0]}" for each in every]
    assert len(judged(Plain(opened={("t", 0, "b")}), OPEN)) == 2
    assert len(judged(Plain(stuck={("t", 1)}), HANGS)) == 2
    assert len(judged(Plain(twice={("t", 2)}), TWICE)) == 2
    assert judged(Plain(opened={("t", 0, "a")}), OPEN._replace(kind="hanging")) == ["alarm: hanging", "missed: open"]


def test_what_is_not_found_is_missed() -> None:
    seen = Plain(opened={("t", 0, "a")}, twice={("t", 1)}, stuck={("t", 2)})
    assert judged(seen) == ["missed: open", "missed: duplicate", "missed: stuck"]


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], list[int]]:
    """Has no cluster started: seed 2 has these alarms, in the order of its runs; and the seeds that are run."""

    def use(alarms: list[str]) -> list[int]:
        seeds = list[int]()

        def one(jars: Path, release: str, seed: int, programs: int, keep: Path | None) -> Cluster:
            seeds.append(seed)
            found = alarms[seeds.count(seed) - 1] if seed == 2 and seeds.count(seed) <= len(alarms) else ""
            planted = "duplicate" if seed == 3 else ""
            return Cluster(release, seed, 1, planted, programs, alarms=[found] if found else [])

        monkeypatch.setattr(doctor_campaign, "one_cluster", one)
        monkeypatch.setattr(doctor_campaign, "jars_of", lambda release, clusters: Path())
        return seeds

    return use


def test_it_goes_on_where_it_was_stopped(clusters: Callable[[list[str]], list[int]], tmp_path: Path) -> None:
    """An alarm is run twice more, and what was planted and not found is no success."""
    place, seeds = tmp_path / "doctor.json", clusters(["x", "", "x"])
    assert doctor_campaign.run(place, "4.4.0", 1, 3, 9, 1, None) == 0
    assert doctor_campaign.run(place, "4.4.0", 2, 3, 9, 1, None) == 1
    assert seeds == [1, 2, 2, 2]
    assert doctor_campaign.run(place, "4.4.0", 3, 3, 0, 1, None) == 1
    rows = json.loads(place.read_text())
    assert [(row["seed"], row["tries"], row["again"]) for row in rows] == [(1, 0, 0), (2, 2, 1)]
    assert "| 1 to 2 | 2 | 0 | 6 |" in doctor_campaign.page(rows)
    assert "seed 2: 1 of 2 times again: x" in doctor_campaign.page(rows)
    place.unlink()
    clusters([])
    assert doctor_campaign.run(place, "4.4.0", 3, 3, 9, 1, None) == 1
    assert "planted duplicate: found nothing" in doctor_campaign.page(json.loads(place.read_text()))


def test_each_defect_is_planted_soon() -> None:
    """In the first seeds, one after the other, on one node."""
    at = [seed for seed in range(20) if seed % doctor_runs.PLANT == 3]
    assert {doctor_runs.PLANTED[seed // doctor_runs.PLANT % len(PLANTS)] for seed in at} == set(PLANTS)


def test_the_page_is_of_the_rows() -> None:
    rows = json.loads((VERDICTS / "doctor.json").read_text(encoding="utf-8"))
    page = doctor_campaign.page(rows)
    assert (VERDICTS / "doctor.md").read_text(encoding="utf-8") == page
    assert page.count(" | named | ") == len(NAMED)
    assert page.count(" | no trace | ") == len(SILENT) and page.count(" | not decided | ") == len(UNDECIDED)
