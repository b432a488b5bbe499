"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.group_fencing.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, some input is copied twice or
never; PROGRESS, something stays unresolved for ever, though faults have stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.group_fencing.defects import clients, initialising, members, offsets
from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.system import System, build
from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.PROGRESS, Breaks.NOTHING
LONG = (("transaction_timeout_ms", 1_500),)  # longer than a rebalance takes in a free-running history
STRICT = (("mode", "new-protocol"),)
RELAXED = (("mode", "new-protocol-relaxed"),)
AT_POLL = (*RELAXED, ("metadata_at", "poll"), ("listener", False))
NO_LISTENER = (*STRICT, ("listener", False))
DRAFT = (("mode", "draft"),)
REPAIRED = (("mode", "draft-repaired"),)
REPAIRED_V1 = (*REPAIRED, ("transactions", "v1"))
PER_PARTITION = (*LONG, ("group_aware", False))
SAME_INSTANCE = (("static", True), ("identities", 2), ("stable_ids", False))
MIXED = (*DRAFT, ("old", 1))
MEMBER_IS_ENOUGH = "a member id is never given twice, and a member takes the newest generation as it polls"
FENCED_ANYWAY = "the newer one is fenced, and begins anew; no two of them make progress"
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
        NOTHING,
        Parts(transactions=initialising.OlderGenerationTaken),
        REPAIRED,
        FENCED_ANYWAY,
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
    Broken("acknowledges_too_early", "447.21", PROMISE, Parts(modern_consumer=clients.AcknowledgesTooEarly), STRICT),
    Broken("ownership_checked", "447.21", PROMISE, Parts(modern_group=members.OwnershipChecked), NO_LISTENER, REGAINED),
)

HARMLESS = {
    "generation_unchecked": ("shipped", "447.16", "member_alone"),
    "older_generation_taken": ("draft-repaired-by-assignment", "447.19", "abort_for: guard 1 dropped"),
}
"""Of what breaks nothing: the variant of the model that keeps every promise with the same mistake, and its mutation."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
