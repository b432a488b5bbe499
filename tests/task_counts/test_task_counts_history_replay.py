"""Replay of task counts: exact on what was planted, silent on the four texts as they are, and not on what has one thing
wrong; conformance to the core alike."""

from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, Undecided, replay
from fencepost.proofs.scale.spark import session
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history import Manifest
from fencepost.properties.task_counts.histories.properties import RECORDINGS
from fencepost.reference_impl.defects.task_counts import REGISTRY

PLANTED = "fencepost.properties.task_counts.histories.properties:simulate_many"
SIMULATOR = "fencepost.reference_impl.systems.task_counts:simulate_with_stats"
MODES = ("A", "M", "B", "shipped")


def simulated(place: Path, histories: int, seed: int = 1, cores: int = 1, **config: Any) -> ReplayReport:
    """The report on what the reference implementation does with this config, properties and model."""
    manifest = generate(
        place, SIMULATOR, histories=histories, seed=seed, config=config, protocol="task-counts", cores=cores
    )
    return replay(place, cores=cores, further={"conformance": conformance_of(manifest)})


def test_planted_violations_are_counted(tmp_path: Path) -> None:
    """Of half a million events in several pieces, exactly what was planted, on one process and on two."""
    config = {"bent": 0.1, "mode": "B", "quiet_end": True}
    generate(tmp_path, PLANTED, histories=2800, seed=1, config=config, protocol="task-counts", many=True, cores=1)
    report = replay(tmp_path, cores=1)
    assert report.events > 500_000 and report.pieces > 1
    faults = dict(read_json(tmp_path / "manifest.json")["faults"])
    assert faults.pop("assignments_reach_counts") > 0 and report.not_promised == {
        "assignments_reach_counts": "mode B does not promise it"
    }
    assert report.unknown == {}
    assert {name: found["count"] for name, found in report.violations.items()} == faults
    assert replay(tmp_path, cores=2) == report


@pytest.mark.parametrize("mode", MODES)
def test_every_text_keeps_its_promises(tmp_path: Path, mode: str) -> None:
    """Under every fault, and in the end every task of the newest set polls; each history is followed by the core."""
    report = simulated(tmp_path, 15, mode=mode, events=300, quiet_end=True, connectors=2)
    assert (report.violations, report.undecided) == ({}, {})
    assert set(report.not_promised.values()) <= {f"mode {mode} does not promise it"}
    assert (report.unknown, report.vacuous) == ({}, ())
    assert report.judged["conformance"] == 15


NEAREST: dict[str, set[str]] = {
    "no_fencing": {"fenced_before_count"},
    "fence_new_count": {"rounds_fence_the_count", "fenced_before_count"},
    "fence_one_less": {"rounds_fence_the_count"},
    "fence_from_one": {"fences_of_the_round", "fenced_before_count"},
    "record_before_fencing": {"fenced_before_count", "checked_after_fencing"},
    "answers_before_record": {"answers_with_count", "running_with_count"},
    "partial_failure_ignored": {"fenced_before_count"},
    "shortcut_new_is_one": {"fenced_before_count"},
    "shortcut_old_is_one": {"fenced_before_count"},
    "shortcut_equal": {"fenced_before_count"},
    "counts_one_less": {"counts_are_sizes"},
    "record_old_count": {"counts_are_sizes"},
    "no_round_check": {"counts_of_newest_set", "counts_are_sizes"},
    "reclaim_in_between": {"counts_of_newest_set"},
    "no_count_when_nothing_to_fence": {"answers_with_count", "running_with_count", "producers_covered"},
    "joins_any_round": {"answers_with_count"},
    "answers_for_any_set": {"answers_with_count", "running_with_count"},
    "starts_removed_tasks": {"no_zombie_commits", "producers_covered", "checked_again_newest"},
    "as_released": {"no_zombie_commits", "producers_covered", "checked_again_newest"},
    "does_not_ask": {"opened_after_answer", "running_with_count"},
    "no_check_before": {"opened_after_check"},
    "no_check_after": {"running_checked_again"},
    "check_after_before_producer": {"running_checked_again"},
    "check_after_stale_view": {"checked_again_newest"},
    "check_after_count_only": {"checked_again_newest"},
    "mismatch_ignored": {"checked_again_newest"},
    "plain_task_producer": {"no_zombie_commits"},
    "fenced_task_goes_on": {"no_zombie_commits"},
    "plain_leader_producer": {"writes_by_latest_claimant"},
    "claims_again_at_once": {"not_reclaimed_since"},
    "claims_late": {"not_reclaimed_since"},
    "followers_write": {"writes_while_leading", "writes_by_latest_claimant"},
    "deletion_clears_count": {"fenced_before_count", "rounds_fence_the_count"},
    "set_without_commit": {"sets_whole"},
    "any_record_counts": {"answers_with_count"},
    "order_inverted": {"answers_with_count"},
    "oldest_count": {"rounds_fence_the_count"},
    "compaction_keeps_first": {"running_with_count"},
    "assignment_offset_ignored": {"newest_set_polls"},
    "fences_what_members_own": {"fences_of_the_round", "fenced_before_count"},
    "fences_each_id_once": {"fences_of_the_round", "fenced_before_count"},
    "counts_who_asked": {"counts_are_sizes", "producers_covered"},
    "failed_record_is_success": {"answers_with_count", "running_with_count"},
    "count_settles_every_connector": {"answers_with_count", "running_with_count"},
    "shrunk_set_keeps_its_tasks": {"sets_whole", "producers_covered"},
    "deletion_tombstones_the_count": {"answers_with_count"},
    "own_id_of_every_leader": {"writes_by_latest_claimant"},
    "generation_taken_at_the_producer": {"checked_again_newest"},
    "restart_does_not_ask": {"opened_after_answer"},
    "failed_round_goes_on": {"newest_set_polls"},
    "fenced_leader_never_claims": {"newest_set_polls"},
    "no_second_rebalance": {"newest_set_polls"},
    "gives_up_on_51": {"fencing_goes_on"},
    "refused_for_ever": {"newest_set_polls"},
    "claims_grow": {"newest_set_polls"},
    "takes_former_assignment": {"newest_set_polls"},
    "takes_nothing": {"newest_set_polls"},
    "disputed_is_nobodys": {"newest_set_polls"},
    "skips_the_first_record": {"newest_set_polls"},
    "asks_the_first_leader": {"newest_set_polls"},
    "not_leading_is_fine": {"answers_with_count", "running_with_count", "producers_covered"},
    "fences_once_for_a_count": {"rounds_fence_the_count", "fenced_before_count"},
    "counts_for_the_newest": {"counts_of_newest_set", "fenced_before_count"},
    "stop_counts_nothing": {"counts_of_newest_set", "fenced_before_count", "producers_covered"},
    "refusal_after_a_stop": {"fenced_before_count"},
}
"""What shows a defect in histories, by name; and how soon is in MORE, where the usual rates are too low."""

CALM = {"events": 500, "burst_share": 0.0, "failed": 0.0, "lost": 0.0, "round_failed": 0.0, "crash": 0.0, "expire": 0.0}
"""Most rounds are a success."""
MORE: dict[str, dict[str, Any]] = {
    "answers_for_any_set": CALM | {"slow_share": 0.03, "slow_us": 1_500_000, "change_us": 200_000, "workers": 2},
    "partial_failure_ignored": {"failed": 0.06},
    "shortcut_equal": {"stall": 0.03},
    "compaction_keeps_first": {"compact": 0.05, "crash": 0.02},
    "deletion_tombstones_the_count": {"delete_share": 0.3},
    "set_without_commit": {"crash": 0.02},
    "check_after_count_only": {"stall": 0.03},
    "assignment_offset_ignored": {"quiet_end": True},
    "failed_round_goes_on": {"quiet_end": True},
    "fenced_leader_never_claims": {"quiet_end": True, "failed": 0.06},
    "no_second_rebalance": {"quiet_end": True},
    "refused_for_ever": {"quiet_end": True},
    "claims_grow": {"quiet_end": True},
    "takes_former_assignment": {"quiet_end": True},
    "takes_nothing": {"quiet_end": True},
    "disputed_is_nobodys": {"quiet_end": True, "expire": 0.01},
    "skips_the_first_record": {"quiet_end": True, "crash": 0.01},
    "asks_the_first_leader": {"quiet_end": True, "crash": 0.01},
    "not_leading_is_fine": {"crash": 0.01},
    "refusal_after_a_stop": {"refuse": 0.02, "stop_share": 0.1},
}
WAIT = {
    "assignment_offset_ignored", "failed_round_goes_on", "fenced_leader_never_claims", "no_second_rebalance",
    "gives_up_on_51", "refused_for_ever", "claims_grow", "takes_former_assignment", "takes_nothing",
    "disputed_is_nobodys", "skips_the_first_record", "asks_the_first_leader",
}  # fmt: skip
"""Those that only wait for ever: the core follows them."""
CONTROLS = ("no_preemptive_stop", "fences_as_worker", "unsigned_fence_requests", "unauthorized_passed_over")
DAILY = (
    "no_fencing", "fence_new_count", "record_before_fencing", "shortcut_new_is_one", "record_old_count",
    "no_round_check", "plain_leader_producer", "deletion_clears_count", "set_without_commit",
)  # fmt: skip
NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly(nights=4)) for name in NEAREST if name not in DAILY]


def of_broken(place: Path, name: str, histories: int) -> ReplayReport:
    """The report on histories of a broken implementation."""
    config = {"mode": "shipped", "events": 300, **dict(REGISTRY[name].needs), **MORE.get(name, {})}
    return simulated(place, histories, seed=3, **config, broken=name)


@pytest.mark.parametrize("name", [*DAILY, *NIGHTLY])
def test_a_broken_implementation_is_caught_by_name(tmp_path: Path, name: str) -> None:
    """By the properties nearest to the defect; and the core does not follow it, unless it only waits for ever."""
    report = of_broken(tmp_path, name, 30 if name in DAILY else 150)
    assert set(report.violations) >= NEAREST[name]
    assert ("conformance" in report.violations) == (name not in WAIT)


MENDED_BY_USERS = {
    "refused_at_first", "starts_for_its_connectors", "restarts_anywhere", "catches_up_or_not", "failed_stays_failed",
}  # fmt: skip
IN_AN_HOUR = {"key_of_the_start"}
"""Whose harm begins when the session key is replaced, for which histories are too short."""


def test_every_broken_implementation_is_asked_for() -> None:
    """But those of which the documents say that no topic shows it, or that never come to it; and what users mend, for
    which no fault was: histories do not show which operations failed."""
    left = set(REGISTRY) - set(NEAREST) - set(CONTROLS)
    assert left == {"commit_incomplete"} | MENDED_BY_USERS | IN_AN_HOUR


@pytest.mark.parametrize("name", CONTROLS)
def test_what_is_harmless_breaks_nothing(tmp_path: Path, name: str) -> None:
    """618.22, and what only an interface shows: nothing is reported."""
    assert of_broken(tmp_path, name, 15).violations == {}


def test_outsiders_are_not_followed_but_judged(tmp_path: Path) -> None:
    """618.34: who is no leader writes counts, and a promise breaks; the core says why it does not follow."""
    report = simulated(tmp_path, 15, mode="B", events=300, foreign_count=0.03)
    assert {"writes_by_latest_claimant", "fenced_before_count", "counts_are_sizes"} <= set(report.violations)
    (reason,) = report.undecided["conformance"]
    assert reason == "somebody else writes to the config topic, which the model leaves out (618.34)"


def test_workers_that_differ_in_support_are_not_followed(tmp_path: Path) -> None:
    """618.33: the core has no such workers."""
    report = simulated(tmp_path, 10, mode="shipped", events=200, workers=2, support=["enabled", "disabled"])
    assert "workers differ in support, which the model leaves out (618.33)" in report.undecided["conformance"]


def test_names_that_collide(tmp_path: Path) -> None:
    """618.49: within one cluster of workers no two tasks share an id, whatever their connectors are called; it takes
    two clusters."""
    report = simulated(tmp_path, 15, mode="B", events=300, connectors=2, names=["a", "a-1"])
    assert "ids_of_their_own" not in report.violations and report.judged["ids_of_their_own"] > 50


@pytest.mark.parametrize(("hidden", "reason"), [
    ("round_started", "the histories do not show round_started"),
    ("", "the order of steps across nodes is not known"),
])  # fmt: skip
def test_what_can_not_be_held_against_the_core(hidden: str, reason: str) -> None:
    """A recording that lacks a kind, or the order, says so."""
    shown = tuple(kind for kind in RECORDINGS["all"] if kind != hidden)
    assert conformance_of(Manifest("task-counts", shown, (), ordered=bool(hidden))) == Undecided(reason)


def test_generate_and_replay_by_name(tmp_path: Path) -> None:
    """`fencepost generate task-counts/M` and `fencepost replay`; a defect that is asked for ends in exit code 1."""
    made = tmp_path / "made"
    ran = fencepost("generate", "task-counts/M", made, "--histories", 10, "--cores", 1)
    assert ran.code == 0, ran.err
    ran = fencepost("replay", made, "--cores", 1, "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.out + ran.err
    report = read_json(tmp_path / "r.json")
    assert (report["histories"], report["violations"], report["judged"]["conformance"]) == (10, {}, 10)
    bad = ("--config", "broken=no_fencing", "--histories", 10, "--cores", 1)
    assert fencepost("generate", "task-counts/shipped", tmp_path / "bad", *bad).code == 0
    ran = fencepost("replay", tmp_path / "bad", "--cores", 1)
    assert ran.code == 1
    assert "fenced before count          violated" in ran.out


def test_spark_gives_the_same(tmp_path: Path) -> None:
    """The same rows, and the same report, from Spark as from this process (starts Spark: about 20 s)."""
    config = {"mode": "shipped", "events": 300, "broken": "fence_new_count"}
    local = SparkSettings("local[2]")
    alone = generate(tmp_path / "a", SIMULATOR, histories=40, seed=5, config=config, protocol="task-counts", cores=1)
    with session(local):
        made = generate(
            tmp_path / "b", SIMULATOR, histories=40, seed=5, config=config, protocol="task-counts", spark=local
        )
        assert made == alone
        files = sorted(path.name for path in (tmp_path / "a").glob("*.parquet"))
        assert all((tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes() for f in files)
        further = {"conformance": conformance_of(made)}
        report = replay(tmp_path / "b", spark=local, further=further)
    assert report == replay(tmp_path / "a", cores=1, further=further)
    assert "conformance" in report.violations and "rounds_fence_the_count" in report.violations
