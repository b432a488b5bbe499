"""Histories of an implementation with one thing wrong: the properties nearest to the mistake are violated, and
the model does not follow it where it has a state for that; what is harmless violates nothing.

That each defect is found by driving it is for test_defects.py; here its simulated histories have to show it.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from detection_runs import defects
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.source_commits.variants import OVERLAPPING

EVERYTHING = ("promise", "progress", "conformance", "nothing")

VIOLATED: dict[str, dict[str, str]] = {
    "transactions": {
        "partition_epochs_never_fall": "older_epoch_accepted",
        "aborts_unread": "aborted_index_misses_fences",
        "fetches_stop_at_stable": "reads_to_the_end",
        "open_unread": "stable_offset_inclusive",
        "commits_kept": "reader_skips_for_ever",
        "commits_acknowledged": "commits_early",
        "epochs_in_range": "fence_takes_any_answer",
        "init_bumps_epoch": "init_keeps_epoch",
        "init_answered_when_idle": "init_answers_before_completion",
        "states_follow_on": "init_leaves_transaction_open",
        "ends_bump_epoch": "end_keeps_epoch",
        "ends_answered_as_logged": "end_answers_before_durable",
        "prepared_as_asked": "end_takes_older_epoch",
        "completed_after_markers": "completes_at_first_marker",
        "logged_epochs_never_fall": "double_bump",
        "coordinators_never_older": "older_coordinator_accepted",
        "markers_as_told": "older_answers_taken lost_commit_told_ok",
        "markers_as_prepared": "fence_markers_keep_epoch",
        "group_offsets_stable": "abort_commits_offset",
        "group_offsets_kept": "pending_offsets_visible",
        "sequences_follow_on": "new_epoch_takes_any_sequence",
        "duplicates_answered_rightly": "window_outlives_epoch",
        "appended_once": "retry_numbered_anew",
        "one_epoch_while_open": "open_in_any_epoch",
        "appended_while_added": "unverified",
        "fenced_unread": "add_takes_older_epoch",
        "transactions_share_fate": "reload_reopens_prepared",
        "lone_client_never_fenced": "epoch_before_pending",
        "model txn.8": "init_keeps_epoch",
        "model": """
            init_leaves_transaction_open add_overwrites end_keeps_epoch fence_markers_keep_epoch
            completes_at_first_marker reload_reopens_prepared fenced_continues commits_early
            produces_before_add
        """,
        "model txn.2": "init_answers_before_completion",
        "model txn.7": """
            exhausted_one_late end_takes_older_epoch epoch_before_pending lost_commit_told_ok
            end_answers_before_durable
        """,
        "model txn.12": "older_epoch_accepted equal_epoch_marker_accepted",
        "model txn.15": "unverified open_in_any_epoch",
        "model txn.11": "older_coordinator_accepted",
        "model txn.14": "window_outlives_epoch",
        "model txn.17": "stable_offset_inclusive aborted_index_misses_fences",
        "model txn.21": "offsets_applied_at_once abort_commits_offset",
    },
    "task-counts": {
        "fenced_before_count": """
            no_fencing fence_new_count fence_from_one record_before_fencing partial_failure_ignored
            shortcut_new_is_one shortcut_old_is_one shortcut_equal deletion_clears_count
            fences_what_members_own fences_each_id_once fences_once_for_a_count counts_for_the_newest
            stop_counts_nothing refusal_after_a_stop
        """,
        "rounds_fence_the_count": """
            fence_new_count fence_one_less deletion_clears_count oldest_count fences_once_for_a_count
        """,
        "fences_of_the_round": "fence_from_one fences_what_members_own fences_each_id_once",
        "checked_after_fencing": "record_before_fencing",
        "answers_with_count": """
            answers_before_record no_count_when_nothing_to_fence joins_any_round answers_for_any_set
            any_record_counts order_inverted failed_record_is_success count_settles_every_connector
            deletion_tombstones_the_count not_leading_is_fine
        """,
        "running_with_count": """
            answers_before_record no_count_when_nothing_to_fence answers_for_any_set does_not_ask
            compaction_keeps_first failed_record_is_success count_settles_every_connector
            not_leading_is_fine
        """,
        "counts_are_sizes": "counts_one_less record_old_count no_round_check counts_who_asked",
        "counts_of_newest_set": "no_round_check reclaim_in_between counts_for_the_newest stop_counts_nothing",
        "producers_covered": """
            no_count_when_nothing_to_fence starts_removed_tasks as_released counts_who_asked
            shrunk_set_keeps_its_tasks not_leading_is_fine stop_counts_nothing
        """,
        "checked_again_newest": """
            starts_removed_tasks as_released check_after_stale_view check_after_count_only
            mismatch_ignored generation_taken_at_the_producer
        """,
        "no_zombie_commits": "starts_removed_tasks as_released plain_task_producer fenced_task_goes_on",
        "opened_after_answer": "does_not_ask restart_does_not_ask",
        "opened_after_check": "no_check_before",
        "running_checked_again": "no_check_after check_after_before_producer",
        "writes_by_latest_claimant": "plain_leader_producer followers_write own_id_of_every_leader",
        "not_reclaimed_since": "claims_again_at_once claims_late",
        "writes_while_leading": "followers_write",
        "sets_whole": "set_without_commit shrunk_set_keeps_its_tasks",
        "newest_set_polls": """
            assignment_offset_ignored failed_round_goes_on fenced_leader_never_claims no_second_rebalance
            refused_for_ever claims_grow takes_former_assignment takes_nothing disputed_is_nobodys
            skips_the_first_record asks_the_first_leader
        """,
        "fencing_goes_on": "gives_up_on_51",
    },
    "group-fencing": {
        "newest_owner_commits": "any_generation_commits",
        "nothing_twice": """
            any_generation_commits pending_ignored offsets_outside positions_kept assigned_twice
            one_of_several_commits
        """,
        "stale_never_commits": "any_generation_commits",
        "fetches_are_stable": "pending_ignored",
        "everything_copied": "abort_keeps_pending",
        "nothing_skipped": "abort_commits_offsets",
        "one_producer_commits": "assigned_twice",
        "last_written_counts": "one_of_several_commits",
        "no_other_error_ends_it": "loading_is_unexpected second_commit_fails",
    },
    "two-phase": {
        "committed_as_decided": "commits_any_state",
        "decided_is_not_aborted": "keep_is_ignored compares_with_its_own_pair",
        "not_decided_when_over": "store_takes_all",
        "nothing_after_it_is_prepared": "prepares_unflushed",
        "last_owner_alone": """
            retains_without_bump retains_before_durable own_pair_ends end_bumps_once second_pair_not_loaded
        """,
        "no_time_out": "times_out_anyway retained_timeout_stays retained_timeout_replaced",
        "reported_as_ended": "any_end_is_a_success_meanwhile",
        "decided_is_ended": "ongoing_is_left_out forgets_what_is_ongoing",
        "model": "markers_of_the_client markers_without_bump repeated_end_is_fenced",
    },
}  # fmt: skip
"""By property, the defects whose histories violate it; `model`: which the model does not follow, with the rule that
some misfit cites.  Of source commits, whose defects each violate something, see `ANY`."""
ONLY_WAIT = {
    "assignment_offset_ignored", "failed_round_goes_on", "fenced_leader_never_claims", "no_second_rebalance",
    "gives_up_on_51", "refused_for_ever", "claims_grow", "takes_former_assignment", "takes_nothing",
    "disputed_is_nobodys", "skips_the_first_record", "asks_the_first_leader",
}  # fmt: skip
"""Defects of task counts with which something waits for ever: the model follows them, and no other one."""
ANY = defects("source-commits").keys() - {
    "committer_updates", "final_commit_does_not_wait", "late_success_clears", "refused_goes_last",
}  # fmt: skip
"""Of the rest nothing comes but another order of events, or in one history of thousands."""
DAILY = {
    "transactions": "older_epoch_accepted retry_numbered_anew",
    "task-counts": "no_fencing record_old_count",
    "group-fencing": "abort_keeps_pending",
    "source-commits": "poll_error_is_the_last",
    "two-phase": " ".join(VIOLATED["two-phase"].values()),
}

CALM = {"events": 500, "burst_share": 0.0, "failed": 0.0, "lost": 0.0, "round_failed": 0.0, "crash": 0.0, "expire": 0.0}
"""Most rounds are a success."""
FAULTY = {"duplicate": 0.1, "delay": 0.1, "drop": 0.05, "append_failure": 0.05, "fail_over": 0.02, "fence": 0.02}
QUIET = {"quiet_end": True}
USUAL: dict[str, dict[str, Any]] = {
    "transactions": {"mode": "v2", "events": 300},
    "task-counts": {"mode": "shipped", "events": 300},
    "group-fencing": {"mode": "shipped"},
    "source-commits": {"mode": "proposed", "events": 400, **QUIET},
    "two-phase": {"mode": "retained", "events": 300, "max_epoch": 5, "ordinary_share": 0.3, **FAULTY, **QUIET},
}
MORE: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        ("older_epoch_accepted", "lost_commit_told_ok", "equal_epoch_marker_accepted", "older_coordinator_accepted",
         "open_in_any_epoch", "reload_reopens_prepared"), FAULTY,
    ),
    "epoch_before_pending": {"txn_ids": 4, "restart": 0.0, "fence": 0.0, "fail_over": 0.0},
    "completes_at_first_marker": {"mode": "v2"},
    **dict.fromkeys(ONLY_WAIT - {"gives_up_on_51"}, QUIET),
    "answers_for_any_set": CALM | {"slow_share": 0.03, "slow_us": 1_500_000, "change_us": 200_000, "workers": 2},
    "partial_failure_ignored": {"failed": 0.06},
    "shortcut_equal": {"stall": 0.03},
    "compaction_keeps_first": {"compact": 0.05, "crash": 0.02},
    "deletion_tombstones_the_count": {"delete_share": 0.3},
    "set_without_commit": {"crash": 0.02},
    "check_after_count_only": {"stall": 0.03},
    "fenced_leader_never_claims": QUIET | {"failed": 0.06},
    "disputed_is_nobodys": QUIET | {"expire": 0.01},
    "skips_the_first_record": QUIET | {"crash": 0.01},
    "asks_the_first_leader": QUIET | {"crash": 0.01},
    "not_leading_is_fine": {"crash": 0.01},
    "refusal_after_a_stop": {"refuse": 0.02, "stop_share": 0.1},
    "two_threads": OVERLAPPING,
    "late_callback_counts": {"delay": 0.3, "timeout_us": 20_000},
}  # fmt: skip
"""What a defect needs besides, so that it shows within as many histories."""
HISTORIES, CHUNK = 160, 10


def config_of(protocol: str, name: str) -> dict[str, Any]:
    usual = protocols()[protocol].simulators[0][2]
    needs = dict(defects(protocol, EVERYTHING)[name].needs) if name else {}
    given = {**(usual if protocol == "group-fencing" else {}), **USUAL[protocol], **needs, **MORE.get(name, {})}
    return given | {"broken": name}


def found_in(protocol: str, config: Mapping[str, Any], wanted: set[str], histories: int) -> set[str]:
    """The properties that are violated of those that the mode promises, and `model` with the rules of misfits, until
    all that is wanted has been found."""
    module, _, function = protocols()[protocol].simulators[0][1].partition(":")
    simulate = getattr(import_module(module), function.removesuffix("_with_stats"))
    held, mode, found = properties_of(protocol), str(config["mode"]), set[str]()
    asked = [name for name in held.names if held.properties[name].not_promised(mode) is None]
    asked = [name for name in asked if config.get("quiet_end") or not held.properties[name].needs_quiet_end]
    for first in range(0, histories, CHUNK):
        made = [(seed, simulate(seed, config)) for seed in range(first, first + CHUNK)]
        columns = columns_of(VOCABULARIES[protocol], made)
        findings, _ = held.check(columns, asked, config)
        found |= {name for name, finding in findings.items() if finding.violations}
        if protocol in ("transactions", "task-counts", "two-phase"):
            misfits = conformance_kernel(mode, config, protocol).misfits(columns)
            found |= {f"model {misfit.check.rule}" for misfit in misfits} | ({"model"} if misfits else set())
        if wanted and wanted <= found:
            break
    return found


def cases() -> list[Any]:
    wanted: dict[tuple[str, str], set[str]] = {("source-commits", name): set() for name in sorted(ANY)}
    for protocol, properties in VIOLATED.items():
        for one, names in properties.items():
            for name in names.split():
                wanted.setdefault((protocol, name), set()).add(one)
    for (protocol, name), violated in wanted.items():
        if protocol in ("task-counts", "two-phase") and name not in ONLY_WAIT:
            violated.add("model")
    daily = {(protocol, name) for protocol, names in DAILY.items() for name in names.split()}
    return [
        pytest.param(*each, violated, id=" ".join(each), marks=[] if each in daily else pytest.mark.nightly(nights=16))
        for each, violated in wanted.items()
    ]


@pytest.mark.parametrize(("protocol", "name", "violated"), cases())
def test_histories_show_a_defect(protocol: str, name: str, violated: set[str]) -> None:
    found = found_in(protocol, config_of(protocol, name), violated or {"model"}, HISTORIES)
    assert violated <= found and found
    assert not (name in ONLY_WAIT and "model" in found)


HARMLESS = [
    ("task-counts", "unauthorized_passed_over"),
    *((protocol, name) for protocol in ("task-counts", "source-commits") for name in defects(protocol, ("nothing",))),
]
"""The first: of which only an interface shows something."""


@pytest.mark.parametrize(
    ("protocol", "name"),
    [pytest.param(*each, marks=[] if each == HARMLESS[0] else pytest.mark.nightly(nights=12)) for each in HARMLESS],
)
def test_what_is_harmless_shows_nothing(protocol: str, name: str) -> None:
    assert found_in(protocol, config_of(protocol, name), set(), 20) == set()


@pytest.mark.parametrize("mode", ["v2", "v1-verified", "v1"])
def test_what_is_right_shows_none_of_these(mode: str) -> None:
    """Of transactions, whose v1 breaks promises by itself; of the others nothing is violated at all (`verify`)."""
    needed = {
        violated for violated, names in VIOLATED["transactions"].items() for name in names.split()
        if config_of("transactions", name)["mode"] == mode
    }  # fmt: skip
    assert not found_in("transactions", config_of("transactions", "") | {"mode": mode}, set(), 60) & needed


@pytest.mark.parametrize(
    "config",
    [
        FAULTY,
        {"txn_ids": 1, "max_epoch": 3},
        {"txn_ids": 4, "partitions": 3, "groups": 2, "readers": 2, "fence": 0.0},
        {"groups": 0, "leader_change": "restart", "new_leader": 0.05},
    ],
    ids=["faulty", "epochs end", "four ids", "leaders forget"],
)
def test_v2_keeps_every_promise_in_other_clusters(config: dict[str, Any]) -> None:
    """And the model follows."""
    assert found_in("transactions", config_of("transactions", "") | config, set(), 40) == set()


@pytest.mark.parametrize("name", ["end_takes_larger_epoch", "sequence_unchecked", "reader_skips_for_ever"])
def test_what_the_model_of_transactions_does_not_see(name: str) -> None:
    """What needs the last epoch fits where none comes to it, and so does what is about sequence numbers, which the
    model leaves to `idempotence`, or about what never happens."""
    assert "model" not in found_in("transactions", config_of("transactions", name), set(), 30)


ELSEWHERE = {
    "task-counts": {
        "unauthorized_passed_over", "commit_incomplete", "refused_at_first", "starts_for_its_connectors",
        "restarts_anywhere", "catches_up_or_not", "failed_stays_failed", "key_of_the_start",
    },
    "two-phase": {
        "rotation_forgets_the_client", "sends_after_prepared", "empty_has_a_state", "claims_late", "reads_early",
    },
}  # fmt: skip
"""Of task counts what never comes to pass; what users mend, for which there was no fault, as histories do not show
which operations failed; and what begins when the session key is replaced, for which they are too short. Of two-phase
commit what needs calls that its applications do not make: test_two_phase_defects.py makes them."""


@pytest.mark.parametrize("protocol", ELSEWHERE)
def test_every_defect_is_asked_for(protocol: str) -> None:
    named = {name for names in VIOLATED[protocol].values() for name in names.split()}
    assert defects(protocol).keys() - named == ELSEWHERE[protocol]
