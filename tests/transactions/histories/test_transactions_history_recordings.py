"""What a recording of transactions must show: by clients, by the logs that a cluster leaves on disk, or all of it."""

import numpy as np
import pytest
from fencepost.properties.history import Manifest
from fencepost.properties.transactions.events.kinds import TRANSACTIONS
from fencepost.properties.transactions.histories.properties import BED, PLANTS, RECORDINGS
from fencepost.properties.transactions.histories.properties import HISTORY as transactions

CLIENTS = {
    "commits_kept", "commits_acknowledged", "transactions_whole", "aborts_unread", "open_unread", "reads_as_decided",
    "read_once", "offsets_hold_one_record", "reads_in_order", "reads_within_bound", "fenced_unread",
    "fenced_never_commit", "pairs_have_one_owner", "epochs_never_fall", "epochs_in_range", "init_bumps_epoch",
    "group_offsets_stable", "group_offsets_kept", "group_offsets_forward", "clients_get_on", "calls_come_to_an_end",
}  # fmt: skip
NEEDS_ORDER_OF_CLIENTS = {
    "open_unread", "reads_as_decided", "fenced_unread", "fenced_never_commit", "init_bumps_epoch",
    "group_offsets_stable", "group_offsets_kept", "group_offsets_forward",
}  # fmt: skip
LOGS = {
    "partition_epochs_never_fall", "sequences_follow_on", "appended_once", "one_epoch_while_open",
    "markers_as_prepared", "markers_agree", "coordinators_never_older", "states_follow_on",
    "logged_epochs_never_fall", "ends_bump_epoch", "none_hanging",
}  # fmt: skip
ALL = set(transactions.properties)
V2_ONLY = {"markers_agree", "ends_bump_epoch", "clients_get_on"}
AT_REST = {"none_hanging", "calls_come_to_an_end"}


@pytest.mark.parametrize(
    ("recording", "mode", "ordered", "quiet_end", "decided"),
    [
        ("all", "v2", True, True, ALL),
        ("all", "v2", True, False, ALL - AT_REST),
        ("all", "v1-verified", True, True, ALL - V2_ONLY),
        ("all", "v1", True, True, ALL - V2_ONLY - {"appended_while_added"}),
        ("clients", "v2", True, True, CLIENTS),
        ("clients", "v1", False, False, CLIENTS - NEEDS_ORDER_OF_CLIENTS - V2_ONLY - AT_REST),
        ("logs", "v2", False, True, LOGS),
        ("logs", "v1", False, False, LOGS - V2_ONLY - AT_REST),
    ],
)
def test_what_a_recording_can_decide(
    recording: str, mode: str, ordered: bool, quiet_end: bool, decided: set[str]
) -> None:
    """What is not recorded, or not over yet, is unknown, with the reason, and never satisfied; what is not promised is
    not asked."""
    config = {"mode": mode, "quiet_end": quiet_end}
    manifest = Manifest("transactions", RECORDINGS[recording], (), ordered=ordered, config=config)
    unknown = transactions.undecidable(manifest)
    not_asked = transactions.unpromised(manifest)
    assert ALL - set(unknown) - set(not_asked) == decided
    assert not set(unknown) & set(not_asked)
    words = ("do not show", "order of steps", "may end while")
    assert all(any(word in reason for word in words) for reason in unknown.values())
    assert set(not_asked.values()) <= {f"mode {mode} does not promise it"}


def test_nothing_recorded_decides_nothing() -> None:
    """An empty list of kinds leaves every property unknown."""
    assert set(transactions.undecidable(Manifest("transactions", (), ()))) == ALL


@pytest.mark.parametrize("recording", ["clients", "logs"])
@pytest.mark.parametrize("plant", PLANTS)
def test_what_a_recording_decides_it_decides_from_what_it_shows(recording: str, plant: str) -> None:
    """Take away every event that the recording does not show: each property that it decides finds the same."""
    columns = BED.bent(plant)
    config = {"mode": "v2", "quiet_end": True}
    manifest = Manifest("transactions", RECORDINGS[recording], (), config=config)
    decided = sorted(ALL - set(transactions.undecidable(manifest)))
    shown = [TRANSACTIONS.codes[name] for name in RECORDINGS[recording]]
    kept = np.isin(columns["kind"], [int(kind) for kind in shown])
    seen = {name: values[kept] for name, values in columns.items()}
    whole, _ = transactions.check(columns, decided, config)
    parts, _ = transactions.check(seen, decided, config)
    assert {n: (f.judged, f.violations) for n, f in parts.items()} == {
        n: (f.judged, f.violations) for n, f in whole.items()
    }
