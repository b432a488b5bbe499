"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.id_blocks.defects.broken:<name>`, a factory like `reference`, and by the
generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: some id is handed out twice (730.P1);
- CONFORMANCE: no id twice, but events that no correct implementation shows;
- PROGRESS: some broker asks for ever and gets nothing, though faults have stopped (730.P3);
- NOTHING: a control, harmless as long as everything else is right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.id_blocks.defects import blocks, broker, controller, takeovers
from fencepost.reference_impl.id_blocks.system import Parts, System, build
from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build(config, self.parts)


BRIDGE = (("mode", "bridge"),)
SMALL = (("max_id", 100),)
SMALL_BRIDGE = (*BRIDGE, *SMALL)
SHIFT = "every block is shifted alike, so the blocks stay disjoint; the id after the block is one nobody gave it"
STALE = "a block given to a broker's earlier life is lost with its answer; with an answer cache ids come twice"
GUARDED = "the copy is refused by 730.20 instead of dropped by 730.19: two guards, either is enough within one life"
LOSES = "the second answer overwrites the first block: ids are lost, none comes twice"
STUCK = "the broker refuses the repeated block (730.20), backs off, and gets the same block again"
REPAIR = "no id twice, no broker stuck; but two requests are answered from one record"

_BROKEN = (
    Broken("ids_shifted_everywhere", "730.4", Breaks.CONFORMANCE, Parts(ids=broker.ShiftedIds), why=SHIFT),
    Broken("ids_shifted_on_even_brokers", "730.4", Breaks.PROMISE, Parts(ids=broker.ShiftedIdsOnEvenBrokers)),
    Broken("stale_answer_installed", "730.19", Breaks.PROMISE, Parts(ids=broker.StaleAnswerInstalled)),
    Broken("duplicate_answer_taken", "730.19", Breaks.CONFORMANCE, Parts(ids=broker.DuplicateAnswerTaken), why=GUARDED),
    Broken("duplicate_answer_installed", "730.19", Breaks.PROMISE, Parts(ids=broker.DuplicateAnswerInstalled)),
    Broken("block_kept_over_restart", "730.3", Breaks.PROMISE, Parts(ids=broker.BlockKeptOverRestart)),
    Broken("overlap_by_one_accepted", "730.20", Breaks.NOTHING, Parts(ids=broker.OverlapByOneAccepted)),
    Broken("shared_claim_counter", "730.19", Breaks.PROMISE, Parts(ids=broker.SharedClaimCounter)),
    Broken("own_length", "730.8", Breaks.PROMISE, Parts(ids=broker.OwnLength)),
    Broken("in_flight_kept_on_error", "730.5", Breaks.PROGRESS, Parts(ids=broker.InFlightKeptOnError)),
    Broken("in_flight_kept_on_timeout", "730.5", Breaks.PROGRESS, Parts(ids=broker.InFlightKeptOnTimeout)),
    Broken("double_prefetch", "730.12", Breaks.CONFORMANCE, Parts(ids=broker.DoublePrefetch), why=LOSES),
    Broken("backoff_ignored", "730.5", Breaks.CONFORMANCE, Parts(ids=broker.BackoffIgnored)),
    Broken("backoff_never_over", "730.5", Breaks.PROGRESS, Parts(ids=broker.BackoffNeverOver)),
    Broken("uncoordinated", "730.17", Breaks.PROMISE, Parts(ids=broker.Uncoordinated)),
    Broken("answers_before_commit", "730.7", Breaks.PROMISE, Parts(controller=controller.AnswersBeforeCommit)),
    Broken("next_id_not_advanced", "730.8", Breaks.PROMISE, Parts(controller=controller.NextIdNotAdvanced)),
    Broken("advanced_one_too_little", "730.7", Breaks.PROMISE, Parts(controller=controller.AdvancedOneTooLittle)),
    Broken("snapshot_omits_next_id", "730.10", Breaks.PROMISE, Parts(controller=controller.SnapshotOmitsNextId)),
    Broken(
        "snapshot_writes_block_start", "730.10", Breaks.PROMISE, Parts(controller=controller.SnapshotWritesBlockStart)
    ),
    Broken(
        "forgets_log_behind_snapshot", "730.10", Breaks.PROMISE,
        Parts(controller=controller.ForgetsTheLogBehindTheSnapshot),
    ),
    Broken("idempotent_per_broker", "730.17", Breaks.PROMISE, Parts(controller=controller.IdempotentPerBroker)),
    Broken(
        "idempotent_per_broker_epoch", "730.17", Breaks.PROGRESS,
        Parts(controller=controller.IdempotentPerBrokerEpoch), why=STUCK,
    ),
    Broken(
        "idempotent_per_request", "730.17", Breaks.CONFORMANCE, Parts(controller=controller.IdempotentPerRequest),
        why=REPAIR,
    ),
    Broken(
        "stale_epoch_accepted", "730.18", Breaks.CONFORMANCE, Parts(controller=controller.StaleEpochAccepted), why=STALE
    ),
    Broken(
        "wrong_error_for_stale_epoch", "730.18", Breaks.CONFORMANCE,
        Parts(controller=controller.WrongErrorForStaleEpoch),
    ),
    Broken("no_exhaustion_check", "730.16", Breaks.PROMISE, Parts(controller=controller.NoExhaustionCheck), SMALL),
    Broken("length_one_too_long", "730.4", Breaks.PROMISE, Parts(controller=controller.LengthOneTooLong)),
    Broken("zk_write_ignores_version", "730.2", Breaks.PROMISE, Parts(block_node=controller.UnconditionalNode), BRIDGE),
    Broken("zk_no_reread", "730.2", Breaks.PROMISE, Parts(block_loop=controller.NoReread), BRIDGE),
    Broken(
        "migrates_from_block_start", "730.15", Breaks.PROMISE,
        Parts(migrated_next_id=lambda latest: max(0, latest.first)), BRIDGE,
    ),
    Broken(
        "migrates_from_inclusive_end", "730.15", Breaks.PROMISE,
        Parts(migrated_next_id=lambda latest: max(0, latest.last)), BRIDGE,
    ),
    Broken("migrates_before_upgrade", "730.14", Breaks.PROMISE, Parts(migrates_early=True), BRIDGE),
    # blocks and answers that are used again
    Broken("prefetched_block_stays", "730.12", Breaks.PROMISE, Parts(ids=blocks.PrefetchedBlockStays)),
    Broken("prefetched_block_saved", "730.3", Breaks.PROMISE, Parts(ids=blocks.PrefetchedBlockSaved)),
    Broken("numbers_begin_again", "730.19", Breaks.PROMISE, Parts(ids=blocks.NumbersBeginAgain)),
    # controllers that take over, or lose office
    Broken("old_memory_trusted", "730.8", Breaks.PROMISE, Parts(controller=takeovers.OldMemoryTrusted)),
    Broken(
        "lost_requests_answered_later", "730.7", Breaks.PROMISE, Parts(controller=takeovers.LostRequestsAnsweredLater)
    ),
    Broken(
        "resigning_controller_answers", "730.7", Breaks.PROMISE, Parts(controller=takeovers.ResigningControllerAnswers)
    ),
    Broken("blocks_begin_at_multiples", "730.8", Breaks.PROMISE, Parts(controller=takeovers.BlocksBeginAtMultiples)),
    Broken("snapshot_keeps_the_first", "730.10", Breaks.PROMISE, Parts(controller=takeovers.SnapshotKeepsTheFirst)),
    # races on ZooKeeper's node
    Broken(
        "lost_race_taken_for_won", "730.2", Breaks.PROMISE, Parts(block_loop=takeovers.LostRaceTakenForWon), BRIDGE
    ),
    Broken(
        "controller_remembers_its_block", "730.13", Breaks.PROMISE,
        Parts(block_loop=takeovers.ControllerRemembersItsBlock), BRIDGE,
    ),
    Broken(
        "begins_again_at_the_end", "730.16", Breaks.PROMISE, Parts(block_loop=takeovers.BeginsAgainAtTheEnd),
        SMALL_BRIDGE,
    ),
)  # fmt: skip

HARMLESS = {"overlap_by_one_accepted": ("kraft", "730.20", "take: guard 1 looser")}
"""Of what breaks nothing: the variant of the model that keeps every promise with the same mistake, and its mutation."""

DRIVEN = frozenset({"blocks_begin_at_multiples", "own_length"})
"""What shows only where a driver has controllers make blocks of another length: no simulated history has that."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
