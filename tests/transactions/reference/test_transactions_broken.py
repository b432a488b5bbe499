"""Broken implementations break what the registry says, each in a script that leaves the correct one unharmed."""

import pytest
import txn_exposing_appends
import txn_exposing_bookkeeping
import txn_exposing_client
import txn_exposing_coordinator
import txn_exposing_partition
import txn_exposing_retries
import txn_exposing_several
import txn_exposing_stalling
import txn_exposing_successors
import txn_exposing_together
import txn_symptoms as symptom
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.transactions.defects import broken
from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.scenarios.known import scenario
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts
from txn_exposing import EXPOSED

PLAYED = (
    txn_exposing_appends, txn_exposing_bookkeeping, txn_exposing_client, txn_exposing_coordinator,
    txn_exposing_partition, txn_exposing_retries, txn_exposing_several, txn_exposing_stalling,
    txn_exposing_successors, txn_exposing_together,
)  # fmt: skip
"""Importing them fills EXPOSED."""
BY_SCENARIO = {
    "time_out_keeps_epoch": ("KAFKA-6119", symptom.uncommitted_read),
    "fence_markers_keep_epoch": ("KAFKA-5231", symptom.uncommitted_read),
    "open_in_any_epoch": ("KAFKA-18575", symptom.unresolved),
    "epoch_before_pending": ("KAFKA-18464", symptom.lone_client_fails),
    "double_bump": ("KAFKA-19367", symptom.unresolved),
    "no_rotation_after_time_out": ("KAFKA-20090", symptom.epoch_out_of_range),
    "marker_retry_refused": ("KAFKA-19999", symptom.unresolved),
    "invalid_mapping_recoverable": ("KAFKA-18019", symptom.superseded_commits),
    "stable_offset_inclusive": ("Redpanda-3036", symptom.uncommitted_read),
    "window_outlives_epoch": ("Redpanda-5026", symptom.committed_lost),
    "reload_forgets_rotation": ("KAFKA-20310", symptom.lone_client_fails),
    "equal_epoch_marker_accepted": ("KIP-1228", symptom.uncommitted_read),
    "aborted_list_cut_short": ("AutoMQ-754", symptom.uncommitted_read),
    "reader_pops_wrong_entry": ("librdkafka-3369", symptom.uncommitted_read),
    "pending_offsets_visible": ("KAFKA-9346", symptom.pending_offset_passed_over),
}
PROGRESS_SYMPTOMS = {
    symptom.unresolved, symptom.never_commits_again, symptom.offsets_stay_pending, symptom.unanswered,
    symptom.begins_once,
}  # fmt: skip
CONFORMANCE_SYMPTOMS = {
    symptom.init_succeeds_while_ending, symptom.epoch_skipped, symptom.epoch_begins_late, symptom.gap_without_a_gap,
    symptom.asks_before_the_marker, symptom.pending_offset_passed_over, symptom.fencing_gives_up,
}  # fmt: skip
TWO_IDS = {"ids": 2}
SETTINGS = {
    "failed_fence_bumps_again": {"mode": "v1"},  # in this script the log's epochs are those of v1
    "one_offset_of_a_commit": {"keys": 2},
    **dict.fromkeys(
        ("youngest_open_counts", "reader_skips_all_producers", "partitions_of_any_id",
         "idle_ids_are_compacted"), TWO_IDS,
    ),
}  # fmt: skip


def played(name, parts):
    """The events of the script that exposes an implementation, played with these parts."""
    config = {**dict(REGISTRY[name].needs), **SETTINGS.get(name, {})}
    script = Script(parts, **config)
    EXPOSED[name][1](script)
    return script.told()


def kind_of(symptom_of_it):
    """What a symptom is a symptom of."""
    if symptom_of_it in PROGRESS_SYMPTOMS:
        return Breaks.PROGRESS
    return Breaks.CONFORMANCE if symptom_of_it in CONFORMANCE_SYMPTOMS else Breaks.PROMISE


def test_every_broken_implementation_is_exposed():
    """Every entry has a script or a scenario, with a symptom of what it is said to break."""
    shown = {name: kind_of(found) for name, (found, _) in EXPOSED.items()}
    shown |= {name: kind_of(found) for name, (_, found) in BY_SCENARIO.items()}
    assert shown == {name: entry.breaks for name, entry in REGISTRY.items()}


@pytest.mark.parametrize("name", sorted(EXPOSED))
def test_defect_shows_and_only_the_defect(name):
    """The script of each implementation shows the symptom with the defect, and not without (txn.*, 618.12)."""
    found, _ = EXPOSED[name]
    assert found(played(name, REGISTRY[name].parts))
    assert not found(played(name, Parts()))


@pytest.mark.parametrize("name", sorted(BY_SCENARIO))
def test_defect_shows_in_its_scenario(name):
    """Implementations that are known bugs are exposed by the bug's own scenario."""
    bug, found = BY_SCENARIO[name]
    assert found(scenario(bug, True))
    assert not found(scenario(bug, False))


def test_broken_implementations_are_factories():
    """Each is reached by name and called with a config, as any implementation is; its own needs are the defaults."""
    system = broken.marker_retry_refused({"partitions": 3})
    assert (system.env.config.mode, system.env.config.partitions) == ("v2", 3)
    assert broken.unverified({}).env.config.mode == "v1-verified"


def test_unknown_names_are_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="epoch_before_pending"):
        broken.find("nonsense")
    with pytest.raises(AttributeError, match="epoch_before_pending"):
        broken.nonsense  # noqa: B018
