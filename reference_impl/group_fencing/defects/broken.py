"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.group_fencing.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, some input is copied twice or
never; PROGRESS, something stays unresolved for ever, though faults have stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.group_fencing.defects import clients, initialising, loading, members, offsets, rebalances
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import System, build
from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, PROGRESS, NOTHING, CONFORMANCE = Breaks.PROMISE, Breaks.PROGRESS, Breaks.NOTHING, Breaks.CONFORMANCE
LONG = (("transaction_timeout_ms", 1_500),)  # longer than a rebalance takes in a free-running history
STRICT = (("mode", "new-protocol"),)
RELAXED = (("mode", "new-protocol-relaxed"),)
AT_POLL = (*RELAXED, ("metadata_at", "poll"), ("listener", False))
AT_SEND = ("metadata_at", "send")
NO_LISTENER = (*STRICT, ("listener", False), AT_SEND)
DRAFT = (("mode", "draft"),)
REPAIRED = (("mode", "draft-repaired-by-assignment"),)
REPAIRED_V1 = (*REPAIRED, ("transactions", "v1"))
PER_PARTITION = (*LONG, ("group_aware", False))
SAME_INSTANCE = (("static", True), ("identities", 2), ("stable_ids", False))
BY_GENERATION = (("mode", "draft-repaired-by-generation"),)
STATIC = (("static", True),)
AWAY = (*STATIC, ("session_timeout_ms", 1_500), ("max_poll_ms", 1_000))  # no rebalance waits as long as a session
TURNS = (("fetch_records", 1),)  # a poll has records of several partitions
GROUP_ID_ONLY = (("mode", "group-id-only"),)  # where two producers have offsets of one partition pending
MIXED = (*DRAFT, ("old", 1))
MEMBER_IS_ENOUGH = "a member id is never given twice, and a member takes the newest generation as it polls"
FENCED_BY_TURNS = "no two of them commit the same, but members of three generations fence one another for ever"
REGAINED = "what a member has lost and has again is its own, whenever it polled what it commits"

_BROKEN = (
    # 447.16: commits are held against the group
    Broken("any_generation_commits", "447.16", PROMISE, Parts(classic_group=members.AnyGenerationCommits)),
    Broken(
        "generation_unchecked",
        "447.16",
        NOTHING,
        Parts(classic_group=members.GenerationUnchecked),
        (),
        MEMBER_IS_ENOUGH,
    ),
    Broken("instance_unchecked", "447.16", PROMISE, Parts(classic_group=members.MemberUnchecked), SAME_INSTANCE),
    Broken("judged_too_early", "447.16", PROMISE, Parts(coordinator=offsets.JudgedTooEarly)),
    Broken("group_stored_once", "447.16", PROMISE, Parts(classic_group=members.NeverStoredAgain)),
    Broken("sessions_last", "447.P3", PROGRESS, Parts(classic_group=members.SessionsLast)),
    Broken("refusal_ignored", "447.16", PROMISE, Parts(producer=clients.RefusalIgnored)),
    Broken("metadata_left_out", "447.16", PROMISE, Parts(), (("metadata", False),)),
    # 447.9: fetches wait for what is pending
    Broken("pending_ignored", "447.9", PROMISE, Parts(coordinator=offsets.PendingIgnored), LONG),
    Broken("consumer_does_not_wait", "447.9", PROMISE, Parts(classic_consumer=clients.DoesNotWait), LONG),
    Broken("pending_forgotten", "447.9", PROMISE, Parts(offsets=offsets.PendingForgotten), LONG),
    Broken("expiry_ignores_pending", "447.9", PROMISE, Parts(offsets=offsets.ExpiryIgnoresPending)),
    Broken("abort_keeps_pending", "447.9", PROMISE, Parts(offsets=offsets.AbortKeepsPending)),
    Broken("abort_commits_offsets", "447.9", PROMISE, Parts(offsets=offsets.AbortCommitsOffsets)),
    Broken("old_clients_not_held", "447.9", PROMISE, Parts(coordinator=offsets.OldClientsNotHeld), (*MIXED, *LONG)),
    # 447.18 and the loop
    Broken("offsets_outside", "447.18", PROMISE, Parts(), (("offsets_inside", False),)),
    Broken("no_seek_back", "447.18", PROMISE, Parts(application=clients.NoSeekBack)),
    Broken("positions_kept", "447.17", PROMISE, Parts(classic_consumer=clients.PositionsKept)),
    Broken("assigned_twice", "447.P2", PROMISE, Parts(classic_consumer=clients.AssignedTwice)),
    # 447.5, 447.6, 447.17, 447.19: the draft, repaired by assignment
    Broken("others_left_alone", "447.5", PROMISE, Parts(transactions=initialising.OthersLeftAlone), REPAIRED),
    Broken("found_by_id", "447.3", PROMISE, Parts(transactions=initialising.FoundByTransactionalId), REPAIRED),
    Broken("same_set_only", "447.5", PROMISE, Parts(transactions=initialising.SameSetOnly), REPAIRED),
    Broken("idle_keep_epoch", "447.5", PROMISE, Parts(transactions=initialising.IdleKeepEpoch), REPAIRED),
    Broken(
        "aborts_without_fencing", "447.5", PROMISE, Parts(transactions=initialising.AbortsWithoutFencing), REPAIRED_V1
    ),
    Broken("assignments_forgotten", "447.6", PROMISE, Parts(transactions=initialising.AssignmentsForgotten), REPAIRED),
    Broken("keyed_by_group", "447.6", PROMISE, Parts(transactions=initialising.KeyedByGroup), REPAIRED),
    Broken(
        "older_generation_taken",
        "447.19",
        PROGRESS,
        Parts(transactions=initialising.OlderGenerationTaken),
        REPAIRED,
        FENCED_BY_TURNS,
    ),
    Broken("fetches_before_init", "447.17", PROMISE, Parts(application=initialising.FetchesBeforeInit), PER_PARTITION),
    Broken("ongoing_only", "447.5", PROMISE, Parts(), DRAFT),
    Broken("reverse_map_forgotten", "447.8", PROMISE, Parts(coordinator=offsets.ReverseMapForgotten), MIXED),
    Broken(
        "undefined_generation_passes", "447.8", PROMISE, Parts(coordinator=offsets.UndefinedGenerationPasses), MIXED
    ),
    # 447.21: the new protocol
    Broken("any_epoch_commits", "447.21", PROMISE, Parts(modern_group=members.AnyEpochCommits), AT_POLL),
    Broken(
        "others_partitions_covered", "447.21", PROMISE, Parts(modern_group=members.OthersPartitionsCovered), AT_POLL
    ),
    Broken("assignment_epoch_ignored", "447.21", PROMISE, Parts(modern_group=members.AssignmentEpochIgnored), AT_POLL),
    Broken(
        "assignment_epochs_not_stored",
        "447.21",
        PROMISE,
        Parts(modern_group=members.AssignmentEpochsNotStored),
        AT_POLL,
    ),
    Broken("assigns_before_revoked", "447.21", PROMISE, Parts(modern_group=members.AssignsBeforeRevoked), RELAXED),
    Broken("no_listener", "447.21", PROMISE, Parts(), NO_LISTENER),
    Broken("revokes_in_background", "447.21", PROMISE, Parts(modern_consumer=clients.RevokesInBackground), NO_LISTENER),
    Broken(
        "acknowledges_too_early",
        "447.21",
        PROMISE,
        Parts(modern_consumer=clients.AcknowledgesTooEarly),
        (*STRICT, AT_SEND),
    ),
    Broken("ownership_checked", "447.21", PROMISE, Parts(modern_group=members.OwnershipChecked), NO_LISTENER, REGAINED),
    # A coordinator that takes over
    Broken("takeover_unstored", "447.16", PROMISE, Parts(classic_group=loading.TakeoverUnstored), STATIC),
    Broken("one_offset_loaded", "447.9", PROMISE, Parts(offsets=loading.OneOffsetLoaded), (*TURNS, *LONG)),
    Broken("openness_not_loaded", "447.9", PROMISE, Parts(offsets=loading.OpennessNotLoaded), LONG),
    Broken("marker_taken_while_loading", "447.P3", PROGRESS, Parts(coordinator=loading.MarkerTakenWhileLoading)),
    Broken("second_commit_fails", "447.P4", PROMISE, Parts(coordinator=loading.SecondCommitFails)),
    Broken("loading_is_unexpected", "447.P4", PROMISE, Parts(coordinator=loading.LoadingIsUnexpected)),
    Broken("members_loaded_for_ever", "447.P3", PROGRESS, Parts(classic_group=loading.MembersLoadedForEver)),
    Broken("epochs_loaded_for_ever", "447.P3", PROGRESS, Parts(modern_group=loading.EpochsLoadedForEver), STRICT),
    Broken("target_not_loaded", "447.P3", PROGRESS, Parts(modern_group=loading.TargetNotLoaded), STRICT),
    # Where one generation follows another
    Broken("session_ends_quietly", "447.P3", PROGRESS, Parts(classic_group=rebalances.SessionEndsQuietly)),
    Broken("epoch_ends_quietly", "447.P3", PROGRESS, Parts(modern_group=rebalances.EpochEndsQuietly), STRICT),
    Broken(
        "generation_before_commits", "447.16", PROMISE, Parts(classic_group=rebalances.GenerationBeforeCommits), AWAY
    ),
    Broken("followers_first", "447.P2", PROMISE, Parts(classic_group=rebalances.FollowersFirst)),
    Broken("any_leaders_assignment", "447.P3", PROGRESS, Parts(classic_group=rebalances.AnyLeadersAssignment)),
    Broken("any_generation_lives", "447.P3", PROGRESS, Parts(classic_group=rebalances.AnyGenerationLives), AWAY),
    Broken("any_members_epoch", "447.21", PROMISE, Parts(modern_group=rebalances.AnyMembersEpoch), AT_POLL),
    Broken(
        "first_partition_covered",
        "447.21",
        PROMISE,
        Parts(modern_group=rebalances.FirstPartitionCovered),
        (*AT_POLL, *TURNS),
    ),
    Broken(
        "generation_before_in_draft",
        "447.8",
        PROMISE,
        Parts(coordinator=rebalances.GenerationBeforeInDraft),
        BY_GENERATION,
    ),
    # Several partitions in one transaction, and several producers at one partition
    Broken("one_of_several_commits", "447.18", PROMISE, Parts(offsets=offsets.OneOfSeveralCommits), TURNS),
    Broken("first_error_counts", "447.9", PROMISE, Parts(classic_consumer=clients.FirstErrorCounts), LONG),
    Broken("goes_back_in_one", "447.18", PROMISE, Parts(application=clients.GoesBackInOne), TURNS),
    Broken("abort_deletes", "447.9", PROMISE, Parts(offsets=offsets.AbortDeletes)),
    Broken("last_marker_counts", "txn.21", CONFORMANCE, Parts(offsets=offsets.LastMarkerCounts), GROUP_ID_ONLY),
    # An error that a client repeats
    Broken("keeps_its_id", "447.P3", PROGRESS, Parts(classic_consumer=clients.KeepsItsId)),
    Broken("asks_as_before", "447.P3", PROGRESS, Parts(modern_consumer=clients.AsksAsBefore), STRICT),
)

HARMLESS = {
    "generation_unchecked": ("shipped", "447.16", "member_alone"),
}
"""Of what breaks nothing: the variant of the model that keeps every promise with the same mistake, and its mutation."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
