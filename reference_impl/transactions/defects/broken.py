"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.transactions.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: one of txn.P1 to txn.P9 fails for clients and readers;
- CONFORMANCE: every promise holds, but there are events that no correct implementation shows;
- PROGRESS: something stays unresolved, or a client never gets on, though faults have stopped (txn.P10, txn.P11);
- NOTHING: a control, harmless as long as everything else is right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry
from fencepost.reference_impl.transactions.defects import (
    appends,
    bookkeeping,
    client,
    coordinator,
    ending,
    mingling,
    outages,
    partition,
    retries,
    sending,
    several,
    stalling,
    successors,
    together,
    whose,
)
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
GROUP_V1 = (("mode", "v1"), ("groups", 1))
SMALL = (("mode", "v2"), ("max_epoch", 3))
SMALL_V1 = (("mode", "v1"), ("max_epoch", 3))
RESTARTS = (("leader_change", "restart"),)
IDS = (("ids", 2), ("clients", 2))
IDS_V1 = (("mode", "v1"), ("ids", 2), ("clients", 3))
IDS_GROUP = (*IDS, ("groups", 1))
KEYS = (("groups", 1), ("keys", 2))
RESTARTS_V1 = (("mode", "v1"), ("leader_change", "restart"))
GROUPS = (("mode", "v1"), ("groups", 2))
EXPIRING = (("expiration_ms", 20_000), ("expiration_check_ms", 5_000))
ADDS_LATE = "the fence holds at the coordinator: nothing can be added before the transaction is complete"
SKIPS = "an epoch is skipped at every failed attempt; the last one is never handed out all the same"
REORDERS = "the record that was overtaken fails, and its transaction can only be aborted"
ASKS_TWICE = "the coordinator says CONCURRENT_TRANSACTIONS as long as the marker is missing: two guards, one is enough"
ABORTS_MORE = "the transaction of a producer that only repeated itself fails, but as a whole"
READS_PAST = "what is visible is committed; who starts from it repeats what the pending transaction will commit (447.9)"
HOLE = "a partition that has not heard of the fence takes the record, and the next marker decides its fate"

_BROKEN = (
    # who may write
    Broken("init_keeps_epoch", "txn.1", PROMISE, Parts(coordinator=coordinator.InitKeepsEpoch)),
    Broken("idle_ids_not_fenced", "txn.22", PROMISE, Parts(coordinator=coordinator.IdleIdsNotFenced)),
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
    Broken("end_takes_larger_epoch", "txn.7", PROMISE, Parts(coordinator=ending.EndTakesLargerEpoch), V2),
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
    Broken("equal_epoch_marker_accepted", "txn.23", PROMISE, Parts(log=partition.EqualEpochMarkerAccepted), V2),
    Broken("version_unchecked", "txn.24", PROMISE, Parts(log=partition.VersionUnchecked), V2),
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
    # appends that fail, or are not waited for
    Broken(
        "init_answers_before_durable", "txn.1", PROMISE, Parts(coordinator=appends.InitAnsweredBeforeDurable)
    ),
    Broken("init_answered_unrecorded", "txn.1", PROMISE, Parts(coordinator=appends.InitAnsweredThoughNotRecorded)),
    Broken("failed_add_remembered", "txn.6", PROMISE, Parts(coordinator=appends.FailedAddRemembered), V1),
    Broken("end_answered_unrecorded", "txn.8", PROMISE, Parts(coordinator=appends.EndAnsweredThoughNotRecorded)),
    Broken("failed_end_bumps", "txn.9", PROMISE, Parts(coordinator=appends.FailedEndBumps), V2),
    Broken("failed_append_stays_pending", "txn.5", PROGRESS, Parts(coordinator=appends.FailedAppendStaysPending)),
    Broken(
        "failed_fence_never_forgotten", "txn.18", PROMISE, Parts(coordinator=appends.FailedFenceNeverForgotten), V1
    ),
    Broken(
        "failed_completion_not_repeated", "txn.10", PROGRESS, Parts(coordinator=appends.FailedCompletionNotRepeated)
    ),
    Broken("completed_again", "txn.10", PROMISE, Parts(coordinator=appends.CompletedAgain)),
    # whose retry it is
    Broken("zombie_init_renewed", "txn.2", PROMISE, Parts(coordinator=retries.ZombieInitIsRenewed), V1),
    Broken("init_retry_by_arithmetic", "txn.2", PROMISE, Parts(coordinator=retries.InitRetryByArithmetic), V1),
    Broken("added_to_what_is_ending", "txn.5", PROMISE, Parts(coordinator=retries.AddedToWhatIsEnding), V1),
    Broken("abort_of_nothing_keeps_epoch", "txn.9", PROMISE, Parts(coordinator=retries.AbortOfNothingKeepsEpoch), V2),
    Broken("abort_of_the_fenced_is_a_retry", "txn.7", PROMISE, Parts(coordinator=retries.AbortOfTheFencedIsARetry), V2),
    Broken("any_older_end_is_a_retry", "txn.7", PROMISE, Parts(coordinator=retries.AnyOlderEndIsARetry), V2),
    Broken("end_retry_forgets_rotation", "txn.7", PROMISE, Parts(coordinator=retries.EndRetryForgetsRotation), SMALL),
    Broken("end_retry_told_the_old_pair", "txn.9", PROMISE, Parts(coordinator=retries.EndRetryToldTheOldPair), V2),
    # whose transaction, id or partition it is
    Broken("last_epoch_not_fenced", "txn.4", PROMISE, Parts(coordinator=whose.LastEpochIsNotFenced), SMALL_V1),
    Broken(
        "rotation_markers_name_the_next_id", "txn.4", PROMISE, Parts(coordinator=whose.RotationMarkersNameTheNextId),
        SMALL,
    ),
    Broken(
        "completion_keeps_partitions", "txn.15", PROMISE, Parts(coordinator=whose.CompletionKeepsPartitions), VERIFIED
    ),
    Broken("unknown_id_verified", "txn.15", PROMISE, Parts(coordinator=whose.UnknownIdIsVerified), VERIFIED),
    Broken("offsets_of_the_first_group", "txn.21", PROGRESS, Parts(coordinator=whose.OffsetsOfTheFirstGroup), GROUPS),
    # taking over, and looking at the clock
    Broken("reload_forgets_partitions", "txn.25", PROMISE, Parts(coordinator=successors.ReloadForgetsPartitions)),
    Broken("reload_forgets_the_clock", "txn.19", PROGRESS, Parts(coordinator=successors.ReloadForgetsTheClock)),
    Broken("reload_resends_commits_only", "txn.19", PROGRESS, Parts(coordinator=successors.ReloadResendsCommitsOnly)),
    Broken(
        "markers_without_coordinator_epoch", "txn.11", PROMISE,
        Parts(coordinator=successors.MarkersWithoutCoordinatorEpoch), V1,
    ),
    Broken("time_outs_looked_for_once", "txn.18", PROGRESS, Parts(coordinator=successors.TimeOutsLookedForOnce)),
    Broken("expired_id_gets_its_old_pair", "txn.20", PROMISE, Parts(coordinator=successors.ExpiredIdGetsItsOldPair)),
    Broken("rebuilt_without_marker_epochs", "txn.12", PROMISE, Parts(log=successors.RebuiltWithoutMarkerEpochs), V1),
    Broken("rebuilt_without_open", "txn.17", PROMISE, Parts(log=successors.RebuiltWithoutOpenTransactions)),
    Broken("rebuilt_without_aborted_index", "txn.17", PROMISE, Parts(log=successors.RebuiltWithoutAbortedIndex)),
    Broken(
        "rebuilt_without_coordinator_epochs", "txn.11", PROMISE, Parts(log=successors.RebuiltWithoutCoordinatorEpochs),
        V1,
    ),
    Broken(
        "snapshot_keeps_the_oldest_batch", "txn.13", PROMISE, Parts(log=successors.SnapshotKeepsTheOldestBatch),
        RESTARTS,
    ),
    Broken("waiting_survive_the_change", "txn.15", PROMISE, Parts(leader=successors.WaitingSurviveTheChange), V2),
    Broken(
        "pending_offsets_in_memory_only", "txn.21", PROMISE,
        Parts(offsets_log=successors.PendingOffsetsInMemoryOnly), GROUP,
    ),
    # what partitions keep
    Broken("refused_batch_answers_duplicates", "txn.14", PROMISE, Parts(log=bookkeeping.RefusedBatchAnswersDuplicates)),
    Broken("marker_of_nothing_skipped", "txn.12", PROMISE, Parts(leader=bookkeeping.MarkerOfNothingIsSkipped), V1),
    Broken("markers_teach_no_epoch", "txn.12", PROMISE, Parts(log=bookkeeping.MarkersTeachNoEpoch), V1),
    Broken("open_at_the_latest_record", "txn.17", PROMISE, Parts(log=bookkeeping.OpenAtTheLatestRecord)),
    Broken("one_aborted_entry_per_producer", "txn.17", PROMISE, Parts(log=bookkeeping.OneAbortedEntryPerProducer)),
    Broken("verified_once_for_all", "txn.15", PROMISE, Parts(log=bookkeeping.VerifiedOnceForAll), VERIFIED),
    Broken("abort_forgets_the_offset", "txn.21", PROMISE, Parts(offsets_log=bookkeeping.AbortForgetsTheOffset), GROUP),
    Broken(
        "first_offset_kept", "txn.21", PROMISE, Parts(offsets_log=bookkeeping.FirstOffsetOfTheTransactionKept), GROUP
    ),
    Broken(
        "fenced_offsets_accepted", "txn.12", PROMISE, Parts(offsets_log=bookkeeping.FencedOffsetsAccepted), GROUP_V1
    ),
    # what only several of something show
    Broken("youngest_open_counts", "txn.17", PROMISE, Parts(log=together.YoungestOpenCounts)),
    Broken("aborted_of_the_piece_only", "txn.17", PROMISE, Parts(log=together.AbortedOfThePieceOnly)),
    Broken("reader_skips_all_producers", "txn.17", PROMISE, Parts(reader=together.SkipsAllProducers)),
    Broken("partitions_of_any_id", "txn.6", PROGRESS, Parts(coordinator=together.PartitionsOfAnyId), V2),
    Broken("idle_ids_are_compacted", "txn.19", PROMISE, Parts(coordinator=together.IdleIdsAreCompacted)),
    Broken("batches_numbered_by_the_first", "txn.13", CONFORMANCE, Parts(log=together.BatchesNumberedByTheFirst),
        why=ABORTS_MORE),
    Broken("producer_counts_batches", "txn.13", CONFORMANCE, Parts(producer=together.NumbersByBatch), why=ABORTS_MORE),
    Broken("one_offset_of_a_commit", "txn.21", PROMISE, Parts(offsets_log=together.OneOffsetOfACommit), GROUP),
    Broken("aborted_are_forgotten", "txn.17", PROMISE, Parts(log=together.AbortedAreForgotten)),
    Broken("forgotten_start_anew", "txn.13", CONFORMANCE, Parts(log=together.ForgottenStartAnew), V1, ABORTS_MORE),
    # where readers are
    Broken("reader_position_by_count", "txn.17", PROMISE, Parts(reader=sending.PositionByCount)),
    # several ids
    Broken("reload_knows_the_latest_id", "txn.19", PROMISE, Parts(coordinator=several.ReloadKnowsTheLatestId), IDS),
    Broken("producer_ids_counted_anew", "txn.19", PROMISE, Parts(coordinator=several.ProducerIdsCountedAnew), IDS),
    Broken("time_out_takes_all", "txn.18", PROMISE, Parts(coordinator=several.TimeOutTakesAll), IDS),
    Broken(
        "time_outs_stop_at_the_first_idle", "txn.18", PROGRESS, Parts(coordinator=several.TimeOutsStopAtTheFirstIdle),
        IDS,
    ),
    Broken("markers_by_partition_only", "txn.10", PROMISE, Parts(coordinator=several.MarkersByPartitionOnly), IDS),
    Broken("marker_ends_every_transaction", "txn.10", PROMISE, Parts(log=mingling.MarkerEndsEveryTransaction), IDS),
    Broken(
        "refused_batch_holds_readers_up", "txn.17", PROMISE, Parts(log=mingling.RefusedBatchHoldsReadersUp), IDS_V1
    ),
    Broken("list_as_it_comes", "txn.17", PROMISE, Parts(reader=mingling.ListAsItComes), IDS),
    Broken(
        "one_pending_commit_per_group", "txn.21", PROMISE, Parts(offsets_log=mingling.OnePendingCommitPerGroup),
        IDS_GROUP,
    ),
    # several records and keys, pieces, restarts, partitions away
    Broken("aborted_from_the_last_record", "txn.17", PROMISE, Parts(log=mingling.AbortedFromTheLastRecord)),
    Broken("list_of_what_ends_in_the_piece", "txn.17", PROMISE, Parts(log=mingling.ListOfWhatEndsInThePiece)),
    Broken("list_cut_with_the_piece", "txn.17", PROMISE, Parts(log=mingling.ListCutWithThePiece), IDS),
    Broken("first_key_committed", "txn.21", PROMISE, Parts(offsets_log=mingling.FirstKeyCommitted), KEYS),
    Broken(
        "refused_offset_stays_pending", "txn.21", PROMISE, Parts(offsets_log=mingling.RefusedOffsetStaysPending),
        GROUP_V1,
    ),
    Broken(
        "restart_forgets_idle_producers", "txn.12", PROMISE, Parts(log=mingling.RestartForgetsIdleProducers),
        RESTARTS_V1,
    ),
    Broken("leaderless_taken_for_deleted", "txn.26", PROMISE, Parts(coordinator=outages.TakesLeaderlessForDeleted)),
    # clients that never get on again
    Broken("renumbers_the_latest_partition", "txn.13", PROGRESS, Parts(producer=stalling.RenumbersTheLatest)),
    Broken("numbers_go_on", "txn.13", PROGRESS, Parts(producer=stalling.NeverRenumbers)),
    Broken("lost_batches_stay_lost", "txn.14", PROGRESS, Parts(producer=stalling.SendsOnce)),
    Broken("sleeps_while_others_are_added", "txn.6", PROGRESS, Parts(producer=stalling.AddsWithoutWaking), V1),
    Broken("coordinator_asked_once", "txn.2", PROGRESS, Parts(producer=stalling.AsksOnce)),
    Broken("back_off_not_set", "txn.5", PROGRESS, Parts(producer=stalling.TriesNothingAgain)),
    Broken("waits_after_an_abort", "txn.2", PROGRESS, Parts(producer=stalling.WaitsForAnEpoch)),
    Broken("latch_opens_once", "txn.2", PROGRESS, Parts(producer=stalling.LatchOpensOnce)),
    Broken("second_offsets_conflict", "txn.21", PROMISE, Parts(offsets_log=stalling.SecondCommitIsAConflict), GROUP),
    Broken("snapshot_loses_the_name", "txn.10", PROGRESS, Parts(leader=stalling.WaitsForANameLost), RESTARTS),
)  # fmt: skip

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
