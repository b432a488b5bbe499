"""What recordings can decide: a property whose events are not shown, or may still come, is unknown with the reason, and
never satisfied; one that the mode does not promise is not asked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fencepost.properties.history import VOCABULARIES, Manifest
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.signs import counted
from fencepost.properties.seeded_violations import SEEDED_HISTORIES
from fencepost.properties.source_offsets.events import SIGNS

ALL = {name: set(properties_of(name).names) for name in SEEDED_HISTORIES}

# id blocks
BLACK_BOX = ("request_sent", "answer_sent", "id_handed_out", "id_refused")
OF_BLOCKS = {"blocks_disjoint", "blocks_contiguous", "blocks_well_formed"}
ORDER_OF_BROKERS = {"answered_after_commit", "handed_out_after_grant", "ids_increase"}
# transactions
CLIENTS = {
    "commits_kept", "commits_acknowledged", "transactions_whole", "aborts_unread", "open_unread", "reads_as_decided",
    "read_once", "offsets_hold_one_record", "reads_in_order", "reads_within_bound", "fenced_unread",
    "fenced_never_commit", "pairs_have_one_owner", "epochs_never_fall", "epochs_in_range", "init_bumps_epoch",
    "group_offsets_stable", "group_offsets_kept", "group_offsets_forward", "clients_get_on", "calls_come_to_an_end",
}  # fmt: skip
ORDER_OF_CLIENTS = {
    "open_unread", "reads_as_decided", "fenced_unread", "fenced_never_commit", "init_bumps_epoch",
    "group_offsets_stable", "group_offsets_kept", "group_offsets_forward",
}  # fmt: skip
LOGS = {
    "partition_epochs_never_fall", "sequences_follow_on", "appended_once", "one_epoch_while_open",
    "markers_as_prepared", "markers_agree", "coordinators_never_older", "states_follow_on",
    "logged_epochs_never_fall", "ends_bump_epoch", "none_hanging",
}  # fmt: skip
TXN, V2_ONLY = ALL["transactions"], {"markers_agree", "ends_bump_epoch", "clients_get_on"}
AT_REST = {"none_hanging", "calls_come_to_an_end"}
# task counts
COUNTS, REACH = ALL["task-counts"], {"assignments_reach_counts"}
OUTSIDE = {
    "no_zombie_commits", "producers_covered", "only_running_polls", "running_with_count", "counts_are_sizes",
    "fenced_before_count", "newest_set_polls", "fencing_goes_on",
}  # fmt: skip
# groups
COPIES = {"nothing_twice", "nothing_skipped", "offsets_agree", "everything_copied", "no_other_error_ends_it"}
COMMITS = COPIES | {"one_producer_commits", "newest_owner_commits", "stale_never_commits"}

RECORDED: dict[str, Mapping[str, tuple[str, ...]]] = {
    "id-blocks": {
        "all": tuple(VOCABULARIES["id-blocks"].codes), "black box": BLACK_BOX, "log": ("block_committed",),
        "ZooKeeper": ("zk_written",), "both logs": ("zk_written", "block_committed"), "nothing": (),
    },
    **{name: SEEDED_HISTORIES.module(name).RECORDINGS for name in SEEDED_HISTORIES if name != "id-blocks"},
}  # fmt: skip
"""By sort of recording, the kinds that it shows."""
DECIDED: list[tuple[str, str, str, bool, bool, set[str]]] = [
    ("id-blocks", "all", "kraft", True, False, ALL["id-blocks"]),
    ("id-blocks", "all", "bridge", True, False, ALL["id-blocks"]),
    ("id-blocks", "all", "kraft", False, False, ALL["id-blocks"] - ORDER_OF_BROKERS),
    ("id-blocks", "black box", "kraft", True, False, {"ids_unique", "answers_disjoint"}),
    ("id-blocks", "log", "kraft", True, False, OF_BLOCKS),
    ("id-blocks", "log", "zookeeper", True, False, set()),
    ("id-blocks", "ZooKeeper", "zookeeper", True, False, OF_BLOCKS),
    ("id-blocks", "both logs", "bridge", True, False, set()),
    ("id-blocks", "nothing", "kraft", True, False, set()),
    ("transactions", "all", "v2", True, True, TXN),
    ("transactions", "all", "v2", True, False, TXN - AT_REST),
    ("transactions", "all", "v1-verified", True, True, TXN - V2_ONLY),
    ("transactions", "all", "v1", True, True, TXN - V2_ONLY - {"appended_while_added"}),
    ("transactions", "clients", "v2", True, True, CLIENTS),
    ("transactions", "clients", "v1", False, False, CLIENTS - ORDER_OF_CLIENTS - V2_ONLY - AT_REST),
    ("transactions", "logs", "v2", False, True, LOGS),
    ("transactions", "logs", "v1", False, False, LOGS - V2_ONLY - AT_REST),
    ("task-counts", "all", "B", True, True, COUNTS - REACH),
    ("task-counts", "topic", "B", False, True, {"counts_are_sizes"}),
    ("task-counts", "outside", "B", True, True, OUTSIDE),
    ("task-counts", "all", "A", True, True,
     COUNTS - {"checked_after_fencing", "opened_after_answer", "answers_with_count"}),
    ("task-counts", "all", "M", True, True, COUNTS - REACH - {"opened_after_answer"}),
    ("task-counts", "all", "shipped", True, True, COUNTS - REACH - {"opened_after_check", "checked_with_count"}),
    ("task-counts", "all", "B", True, False, COUNTS - REACH - {"newest_set_polls"}),
    ("group-fencing", "clients", "shipped", True, True, COPIES),
    ("group-fencing", "clients and offsets", "shipped", True, True, COMMITS),
    ("group-fencing", "all", "shipped", True, True,
     COMMITS | {"fetches_are_stable", "held_while_pending", "last_written_counts"}),
]  # fmt: skip
"""Protocol, what is recorded, mode, whether its order is known, whether it comes to rest, and what can be decided."""


@pytest.mark.parametrize(
    ("protocol", "recording", "mode", "ordered", "rests", "decided"),
    DECIDED, ids=["-".join(map(str, row[:5])) for row in DECIDED],
)  # fmt: skip
def test_what_a_recording_can_decide(
    protocol: str, recording: str, mode: str, ordered: bool, rests: bool, decided: set[str]
) -> None:
    held, config = properties_of(protocol), {"mode": mode, "quiet_end": rests, "records": 8}
    manifest = Manifest(protocol, RECORDED[protocol][recording], (), ordered=ordered, config=config)
    unknown, not_asked = held.undecidable(manifest), held.unpromised(manifest)
    assert ALL[protocol] - set(unknown) - set(not_asked) == decided
    words = ("do not show", "order of steps", "may end while")
    assert all(any(word in reason for word in words) for reason in unknown.values())
    assert set(not_asked.values()) <= {f"mode {mode} does not promise it"}


@pytest.mark.parametrize(
    ("protocol", "recording"),
    [
        (protocol, name)
        for protocol in SEEDED_HISTORIES
        for name in RECORDED[protocol]
        if name not in ("all", "nothing")
    ],
)
def test_what_a_recording_decides_it_decides_from_what_it_shows(protocol: str, recording: str) -> None:
    """Take away every event that the recording does not show: each property that it decides finds the same, in the
    example and in each edit of it."""
    held, example = properties_of(protocol), SEEDED_HISTORIES[protocol]
    config: dict[str, Any] = {"quiet_end": True, **example.config}
    manifest = Manifest(protocol, RECORDED[protocol][recording], (), config=config)
    decided = sorted(ALL[protocol] - set(held.undecidable(manifest)) - set(held.unpromised(manifest)))
    kinds = [VOCABULARIES[protocol].codes[name] for name in RECORDED[protocol][recording]]
    for edit in ("", *example.violations):
        columns = example.edited(edit)
        there = np.isin(columns["kind"], kinds)
        seen = {name: values[there] for name, values in columns.items()}
        whole, parts = (held.check(each, decided, config)[0] for each in (columns, seen))
        assert {n: (f.judged, f.violations) for n, f in parts.items()} == {
            n: (f.judged, f.violations) for n, f in whole.items()
        }, edit


@pytest.mark.parametrize("protocol", list(SEEDED_HISTORIES))
def test_no_rows(protocol: str) -> None:
    """A piece without rows judges nothing and fails nothing."""
    findings, figures = properties_of(protocol).check(absent_columns(VOCABULARIES[protocol], 0), config={})
    assert all(found.judged == found.violations == 0 for found in findings.values())
    assert set(figures.values()) == {0}


@pytest.mark.parametrize("protocol", list(SEEDED_HISTORIES))
def test_every_kind_says_which_columns_it_uses(protocol: str) -> None:
    """The vocabulary is complete: each kind has its columns, and each column is used."""
    vocabulary = VOCABULARIES[protocol]
    assert set(vocabulary.used_by) == set(vocabulary.codes)
    assert {name for names in vocabulary.used_by.values() for name in names} == {c.name for c in vocabulary.columns}


def test_dangers_show_in_the_example_of_source_offsets() -> None:
    """Each sign counts what is there."""
    counts = counted(SIGNS, SEEDED_HISTORIES["source-offsets"].edited(""))
    assert counts["client-crash"] == counts["lost-answer"] == counts["rebalance"] == counts["several-tasks"] == 1
    assert counts["zombie"] == 2 + 3


def test_what_an_auditor_of_source_offsets_can_tell() -> None:
    """The promise itself needs nothing but the output and where a restart would resume."""
    held, seen = properties_of("source-offsets"), set(RECORDED["source-offsets"]["auditor"])
    decided = {name for name, one in held.properties.items() if {kind.name for kind in one.needs} <= seen}
    assert {"nothing_twice", "in_order", "everything_copied"} <= decided
    assert "read_to_the_end" not in decided
