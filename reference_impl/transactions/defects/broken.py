"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.transactions.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: one of txn.P1 to txn.P9 fails for clients and readers;
- CONFORMANCE: every promise holds, but there are events that no correct implementation shows;
- PROGRESS: something stays unresolved for ever, though faults have stopped (txn.P10);
- NOTHING: a control, harmless as long as everything else is right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry
from fencepost.reference_impl.transactions.defects import client, coordinator, ending, partition
from fencepost.reference_impl.transactions.system import Parts, System, build


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, CONFORMANCE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.CONFORMANCE, Breaks.PROGRESS, Breaks.NOTHING
V1 = (("mode", "v1"),)
VERIFIED = (("mode", "v1-verified"),)
V2 = (("mode", "v2"),)
GROUP = (("groups", 1),)
SMALL = (("mode", "v2"), ("max_epoch", 3))
EXPIRING = (("expiration_ms", 20_000), ("expiration_check_ms", 5_000))
ADDS_LATE = "the fence holds at the coordinator: nothing can be added before the transaction is complete"
NO_SUCH_EPOCH = "nobody holds an epoch above the coordinator's: what was handed out is durable, and never goes down"
SKIPS = "an epoch is skipped at every failed attempt; the last one is never handed out all the same"
REORDERS = "the record that was overtaken fails, and its transaction can only be aborted"
ASKS_TWICE = "the coordinator says CONCURRENT_TRANSACTIONS as long as the marker is missing: two guards, one is enough"
ABORTS_MORE = "the transaction of a producer that only repeated itself fails, but as a whole"
READS_PAST = "what is visible is committed; who starts from it repeats what the pending transaction will commit (447.9)"
HOLE = "a partition that has not heard of the fence takes the record, and the next marker decides its fate"

_BROKEN = (
    # who may write
    Broken("init_keeps_epoch", "txn.1", PROMISE, Parts(coordinator=coordinator.InitKeepsEpoch)),
    Broken("init_takes_new_id", "txn.1", PROMISE, Parts(coordinator=coordinator.InitTakesNewId), V1),
    Broken(
        "init_leaves_transaction_open", "txn.3", PROMISE, Parts(coordinator=coordinator.InitLeavesTransactionOpen), V1
    ),
    Broken(
        "init_answers_before_completion", "txn.3", CONFORMANCE,
        Parts(coordinator=coordinator.InitAnswersBeforeCompletion), why=ADDS_LATE,
    ),
    Broken("init_retry_is_fenced", "txn.2", PROMISE, Parts(coordinator=coordinator.InitRetryIsFenced), V1),
    Broken("exhausted_one_late", "txn.4", PROMISE, Parts(coordinator=coordinator.ExhaustedOneLate), SMALL),
    Broken("open_ids_expire", "txn.20", PROGRESS, Parts(coordinator=coordinator.OpenIdsExpire), EXPIRING),
    # partitions of a transaction
    Broken("add_overwrites", "txn.10", PROMISE, Parts(coordinator=coordinator.AddOverwrites), V1),
    Broken("add_takes_older_epoch", "txn.6", PROMISE, Parts(coordinator=coordinator.AddTakesOlderEpoch), V1, HOLE),
    Broken("verifies_any_partition", "txn.15", PROMISE, Parts(coordinator=coordinator.VerifiesAnyPartition), VERIFIED),
    # the end of a transaction
    Broken(
        "end_takes_larger_epoch", "txn.7", NOTHING, Parts(coordinator=ending.EndTakesLargerEpoch), why=NO_SUCH_EPOCH
    ),
    Broken("end_takes_older_epoch", "txn.7", PROMISE, Parts(coordinator=ending.EndTakesOlderEpoch)),
    Broken("end_keeps_epoch", "txn.9", PROMISE, Parts(coordinator=ending.EndKeepsEpoch), V2),
    Broken("epoch_before_pending", "txn.5", PROMISE, Parts(coordinator=ending.EpochBeforePending), V2),
    Broken("lost_commit_told_ok", "txn.8", PROMISE, Parts(coordinator=ending.LostCommitToldOk)),
    Broken("end_answers_before_durable", "txn.8", PROMISE, Parts(coordinator=ending.EndAnswersBeforeDurable)),
    Broken("time_out_keeps_epoch", "txn.18", PROMISE, Parts(coordinator=coordinator.TimeOutKeepsEpoch), V1),
    Broken(
        "failed_fence_bumps_again", "txn.18", CONFORMANCE, Parts(coordinator=coordinator.FailedFenceBumpsAgain),
        why=SKIPS,
    ),
    Broken("no_rotation_after_time_out", "txn.4", PROMISE, Parts(coordinator=ending.NoRotationAfterTimeOut), SMALL),
    Broken("double_bump", "txn.4", PROGRESS, Parts(coordinator=ending.DoubleBump), SMALL),
    # markers, and fail-over
    Broken("fence_markers_keep_epoch", "txn.3", PROMISE, Parts(coordinator=ending.FenceMarkersKeepEpoch), V1),
    Broken("markers_by_key_only", "txn.10", PROMISE, Parts(coordinator=ending.MarkersByKeyOnly), V1),
    Broken("completes_at_first_marker", "txn.10", PROMISE, Parts(coordinator=ending.CompletesAtFirstMarker), V1),
    Broken("markers_not_repeated", "txn.10", PROGRESS, Parts(coordinator=ending.MarkersNotRepeated)),
    Broken("last_partition_forgotten", "txn.10", PROMISE, Parts(coordinator=ending.LastPartitionForgotten), V1),
    Broken("reload_forgets_prepare", "txn.19", PROGRESS, Parts(coordinator=ending.ReloadForgetsPrepare)),
    Broken("reload_reopens_prepared", "txn.8", PROMISE, Parts(coordinator=ending.ReloadReopensPrepared)),
    Broken("reload_forgets_rotation", "txn.19", PROMISE, Parts(coordinator=ending.ReloadForgetsRotation), SMALL),
    # partitions
    Broken("older_epoch_accepted", "txn.12", PROMISE, Parts(log=partition.OlderEpochAccepted), V1),
    Broken("unverified", "txn.15", PROMISE, Parts(log=partition.Unverified), VERIFIED),
    Broken("not_rechecked", "txn.15", PROMISE, Parts(log=partition.NotRechecked), VERIFIED),
    Broken("rechecked_by_state", "txn.15", PROMISE, Parts(log=partition.RecheckedByState), VERIFIED),
    Broken("marker_retry_refused", "txn.10", PROGRESS, Parts(log=partition.MarkerRetryRefused), V2),
    Broken("equal_epoch_marker_accepted", "txn.11", PROMISE, Parts(log=partition.EqualEpochMarkerAccepted), V2),
    Broken("older_coordinator_accepted", "txn.11", PROMISE, Parts(log=partition.OlderCoordinatorAccepted), V1),
    Broken("sequence_unchecked", "txn.13", PROMISE, Parts(log=partition.SequenceUnchecked)),
    Broken("new_epoch_continues", "txn.13", PROGRESS, Parts(log=partition.NewEpochContinues)),
    Broken(
        "new_epoch_takes_any_sequence", "txn.13", CONFORMANCE, Parts(log=partition.NewEpochTakesAnySequence),
        why=REORDERS,
    ),
    Broken("window_of_four", "txn.14", CONFORMANCE, Parts(log=partition.WindowOfFour), why=ABORTS_MORE),
    Broken("window_outlives_epoch", "txn.14", PROMISE, Parts(log=partition.WindowOutlivesEpoch), V2),
    Broken("open_in_any_epoch", "txn.16", PROGRESS, Parts(log=partition.OpenInAnyEpoch), V2),
    Broken(
        "not_waiting_for_marker", "txn.16", CONFORMANCE, Parts(leader=partition.NotWaitingForMarker), V2, ASKS_TWICE
    ),
    Broken("stable_offset_inclusive", "txn.17", PROMISE, Parts(log=partition.StableOffsetInclusive)),
    Broken("reads_to_the_end", "txn.17", PROMISE, Parts(log=partition.ReadsToTheEnd)),
    Broken("aborted_list_cut_short", "txn.17", PROMISE, Parts(log=partition.AbortedListCutShort)),
    Broken("aborted_index_misses_fences", "txn.17", PROMISE, Parts(log=partition.AbortedIndexMissesFences)),
    Broken("offsets_applied_at_once", "txn.21", PROMISE, Parts(offsets_log=partition.OffsetsAppliedAtOnce), GROUP),
    Broken(
        "abort_keeps_pending_offset", "txn.21", PROGRESS, Parts(offsets_log=partition.AbortKeepsPendingOffset), GROUP
    ),
    Broken("abort_commits_offset", "txn.21", PROMISE, Parts(offsets_log=partition.AbortCommitsOffset), GROUP),
    Broken(
        "pending_offsets_visible", "txn.21", CONFORMANCE, Parts(offsets_log=partition.PendingOffsetsVisible), GROUP,
        why=READS_PAST,
    ),
    # clients
    Broken("invalid_mapping_recoverable", "txn.20", PROMISE, Parts(producer=client.InvalidMappingRecoverable)),
    Broken("fenced_continues", "txn.1", PROMISE, Parts(producer=client.FencedContinues)),
    Broken("sequence_reused", "txn.13", PROMISE, Parts(producer=client.ReusesSequence)),
    Broken("retry_numbered_anew", "txn.14", PROMISE, Parts(producer=client.NumbersRetriesAnew)),
    Broken("six_in_flight", "txn.14", CONFORMANCE, Parts(producer=client.SendsSix), why=ABORTS_MORE),
    Broken("commits_early", "txn.8", PROMISE, Parts(producer=client.CommitsEarly)),
    Broken("produces_before_add", "txn.6", PROMISE, Parts(producer=client.ProducesBeforeAdd), V1),
    Broken("abort_keeps_epoch", "txn.2", PROMISE, Parts(producer=client.AbortKeepsEpoch), VERIFIED),
    Broken("older_answers_taken", "txn.8", PROMISE, Parts(producer=client.BelievesOlderAnswers)),
    Broken("reader_pops_wrong_entry", "txn.17", PROMISE, Parts(reader=client.PopsWrongEntry)),
    Broken("reader_skips_for_ever", "txn.17", PROMISE, Parts(reader=client.SkipsForEver)),
    Broken("fence_takes_any_answer", "618.12", PROMISE, Parts(admin=client.TakesErrorsForFenced)),
    Broken("fence_gives_up", "618.12", CONFORMANCE, Parts(admin=client.GivesUpFencing)),
)  # fmt: skip

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
