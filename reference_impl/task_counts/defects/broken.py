"""Implementations with one thing wrong each: what a suite must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.task_counts.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show:

- PROMISE: 618.P1 fails: a producer of an older set commits after a task of a newer one ran;
- CONFORMANCE: every promise holds, but there are events that no correct implementation shows;
- PROGRESS: some task does not run, though faults have stopped and users restart what failed, or fails where there was
  no fault (618.P4);
- NOTHING: a control, harmless as long as everything else is right.

`as_released` is Kafka as it is shipped (3.3.2 to 4.4.0): both mistakes that it has, which the correct one has mended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry
from fencepost.reference_impl.task_counts.defects import (
    answering,
    covering,
    rebalancing,
    refusing,
    removed,
    rounds,
    settling,
    task,
    topic,
    workers,
)
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.system import System, build


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken clusters."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, CONFORMANCE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.CONFORMANCE, Breaks.PROGRESS, Breaks.NOTHING
B = (("mode", "B"),)
SHIPPED = (("mode", "shipped"),)
TWO_CONNECTORS = (("mode", "shipped"), ("connectors", 2))
FENCED_ANYWAY = "what runs on is fenced by the round, or by its successor (C29)"
WAITS = "a start that does not see the count record waits for the next rebalance, which nothing brings about"
NEVER_HALF = "what is missing of a set was compacted away or overtaken: its tasks can only fail to start"
INTERFACE = "no topic shows it; tests of the interface do"
STANDS = "who asks gets no answer, or a failure, again and again, and no older set is let go on by that"
LOST = "somebody has a task of the newest set that does not run, and no fault or rebalance is to come"
NONE_RAN = "no task of the set that was fenced for has run when a newer one is counted by the same leader"
MENDED = "a task fails for which nothing went wrong; who starts it again has it run"

_BROKEN = (
    # rounds
    Broken("no_fencing", "618.7", PROMISE, Parts(rounds=rounds.NoFencing)),
    Broken("fence_new_count", "618.6", PROMISE, Parts(rounds=rounds.FenceNewCount)),
    Broken("fence_one_less", "618.6", PROMISE, Parts(rounds=rounds.FenceOneLess)),
    Broken("fence_from_one", "618.6", PROMISE, Parts(rounds=rounds.FenceFromOne)),
    Broken("record_before_fencing", "618.7", PROMISE, Parts(rounds=rounds.RecordBeforeFencing), B),
    Broken("answers_before_record", "618.2", PROMISE, Parts(rounds=rounds.AnswersBeforeRecord), SHIPPED),
    Broken("partial_failure_ignored", "618.7", PROMISE, Parts(rounds=rounds.PartialFailureIgnored)),
    Broken("shortcut_new_is_one", "618.5", PROMISE, Parts(rounds=rounds.ShortcutNewIsOne)),
    Broken("shortcut_old_is_one", "618.5", PROMISE, Parts(rounds=rounds.ShortcutOldIsOne)),
    Broken("shortcut_equal", "618.5", PROMISE, Parts(rounds=rounds.ShortcutEqual)),
    Broken("counts_one_less", "618.1", PROMISE, Parts(rounds=rounds.CountsOneLess)),
    Broken("record_old_count", "618.42", PROMISE, Parts(rounds=rounds.RecordOldCount)),
    Broken("no_round_check", "618.43", PROMISE, Parts(rounds=rounds.NoRoundCheck), B),
    Broken("reclaim_in_between", "618.43", PROMISE, Parts(rounds=rounds.ReclaimInBetween), B),
    Broken(
        "no_count_when_nothing_to_fence", "618.42", PROMISE, Parts(rounds=rounds.NoCountWhenNothingToFence), SHIPPED
    ),
    Broken("joins_any_round", "618.9", PROMISE, Parts(rounds=rounds.JoinsAnyRound), TWO_CONNECTORS),
    Broken("answers_for_any_set", "618.4", PROMISE, Parts(rounds=rounds.AnswersForAnySet), SHIPPED),
    Broken("fences_as_worker", "618.47", NOTHING, Parts(rounds=rounds.FencesAsWorker), why=INTERFACE),
    # starts of tasks
    Broken("does_not_ask", "618.15", PROMISE, Parts(task=task.DoesNotAsk), SHIPPED),
    Broken("no_check_before", "618.16", PROMISE, Parts(task=task.NoCheckBefore), (("mode", "A"),)),
    Broken("no_check_after", "618.19", PROMISE, Parts(task=task.NoCheckAfter)),
    Broken("check_after_before_producer", "618.19", PROMISE, Parts(task=task.CheckAfterBeforeProducer)),
    Broken("check_after_stale_view", "618.19", PROMISE, Parts(task=task.CheckAfterStaleView)),
    Broken("check_after_count_only", "618.19", PROMISE, Parts(task=task.CheckAfterCountOnly)),
    Broken("mismatch_ignored", "618.19", PROMISE, Parts(task=task.MismatchIgnored)),
    Broken("plain_task_producer", "618.18", PROMISE, Parts(task=task.PlainTaskProducer)),
    Broken("fenced_task_goes_on", "618.18", PROMISE, Parts(task=task.FencedTaskGoesOn)),
    Broken(
        "starts_removed_tasks", "618.52", PROMISE,
        Parts(herder=removed.AsReleased, task=removed.OfItsConfiguration, state=removed.RemembersSets), SHIPPED,
    ),
    Broken(
        "as_released", "618.53", PROMISE,
        Parts(
            rounds=rounds.AnswersForAnySet, herder=removed.AsReleased, task=removed.OfItsConfiguration,
            state=removed.RemembersSets,
        ), SHIPPED,
    ),
    # herders
    Broken("no_preemptive_stop", "618.22", NOTHING, Parts(herder=task.NoPreemptiveStop), why=FENCED_ANYWAY),
    Broken(
        "assignment_offset_ignored", "618.8", PROGRESS, Parts(herder=task.AssignmentOffsetIgnored), (("mode", "A"),),
        WAITS,
    ),
    # who writes to the config topic, and how
    Broken("plain_leader_producer", "618.24", PROMISE, Parts(privilege=topic.PlainLeaderProducer), B),
    Broken("claims_again_at_once", "618.26", PROMISE, Parts(privilege=topic.ClaimsAgainAtOnce), B),
    Broken("claims_late", "618.24", PROMISE, Parts(privilege=topic.ClaimsLate), SHIPPED),
    Broken(
        "followers_write", "618.34", PROMISE,
        Parts(herder=task.FollowersWrite, writes=task.AnybodyWrites, privilege=topic.PlainFollowers), B,
    ),
    # what its records mean
    Broken("deletion_clears_count", "618.38", PROMISE, Parts(state=topic.DeletionClearsCount)),
    Broken("set_without_commit", "618.3", PROMISE, Parts(state=topic.SetWithoutCommit)),
    Broken("commit_incomplete", "618.3", CONFORMANCE, Parts(state=topic.CommitIncomplete), why=NEVER_HALF),
    Broken("any_record_counts", "618.2", PROMISE, Parts(state=topic.AnyRecordCounts)),
    Broken("order_inverted", "618.2", PROMISE, Parts(state=topic.OrderInverted), SHIPPED),
    Broken("oldest_count", "618.6", PROMISE, Parts(state=topic.OldestCount)),
    Broken("compaction_keeps_first", "618.2", PROMISE, Parts(topic=topic.CompactionKeepsFirst)),
    Broken("unsigned_fence_requests", "618.10", NOTHING, Parts(endpoint=topic.UnsignedFenceRequests), why=INTERFACE),
    # rounds that cover too little, or are taken for done
    Broken("fences_what_members_own", "618.6", PROMISE, Parts(rounds=covering.FencesWhatMembersOwn)),
    Broken("fences_each_id_once", "618.6", PROMISE, Parts(rounds=covering.FencesEachIdOnce)),
    Broken("counts_who_asked", "618.42", PROMISE, Parts(rounds=covering.CountsWhoAsked), SHIPPED),
    Broken("failed_record_is_success", "618.2", PROMISE, Parts(rounds=covering.FailedRecordIsSuccess), SHIPPED),
    Broken("unauthorized_passed_over", "618.7", PROMISE, Parts(rounds=covering.UnauthorizedPassedOver)),
    Broken(
        "failed_round_goes_on", "618.4", PROGRESS, Parts(rounds=covering.FailedRoundGoesOn), SHIPPED, STANDS
    ),
    Broken("refused_for_ever", "618.4", PROGRESS, Parts(rounds=refusing.RefusedForEver), SHIPPED, STANDS),
    Broken("refused_at_first", "618.4", PROGRESS, Parts(rounds=refusing.RefusedAtFirst), SHIPPED, MENDED),
    Broken("gives_up_on_51", "618.12", PROGRESS, Parts(rounds=refusing.GivesUpOn51), why=MENDED),
    # records that settle too much
    Broken(
        "count_settles_every_connector", "618.4", PROMISE, Parts(state=settling.CountSettlesEveryConnector),
        TWO_CONNECTORS,
    ),
    Broken("shrunk_set_keeps_its_tasks", "618.3", PROMISE, Parts(state=settling.ShrunkSetKeepsItsTasks)),
    Broken("deletion_tombstones_the_count", "618.38", PROMISE, Parts(writes=settling.DeletionTombstonesTheCount)),
    Broken("own_id_of_every_leader", "618.24", PROMISE, Parts(privilege=settling.OwnIdOfEveryLeader), B),
    # workers
    Broken(
        "generation_taken_at_the_producer", "618.19", PROMISE, Parts(task=workers.GenerationTakenAtTheProducer), B
    ),
    Broken(
        "restart_does_not_ask", "618.15", PROMISE,
        Parts(herder=workers.RestartDoesNotAsk, task=workers.AsksUnlessRestarted), SHIPPED,
    ),
    Broken(
        "fenced_leader_never_claims", "618.26", PROGRESS, Parts(herder=workers.FencedLeaderNeverClaims), why=STANDS
    ),
    Broken("no_second_rebalance", "618.41", PROGRESS, Parts(herder=workers.NoSecondRebalance), why=STANDS),
    # who runs what after a rebalance
    Broken(
        "restarts_anywhere", "618.41", CONFORMANCE,
        Parts(herder=rebalancing.RestartsAnywhere, task=rebalancing.OwnershipNotCompared), SHIPPED,
        "the task that it fences is one that failed, which a user starts again",
    ),
    Broken(
        "starts_for_its_connectors", "618.41", PROGRESS,
        Parts(herder=rebalancing.StartsForItsConnectors, task=rebalancing.OwnershipNotCompared), SHIPPED, MENDED,
    ),
    Broken("claims_grow", "618.41", PROGRESS, Parts(herder=rebalancing.ClaimsGrow), SHIPPED, STANDS),
    Broken("takes_former_assignment", "618.41", PROGRESS, Parts(herder=rebalancing.TakesFormerAssignment), why=LOST),
    Broken("takes_nothing", "618.41", PROGRESS, Parts(herder=rebalancing.TakesNothing), why=LOST),
    Broken("catches_up_or_not", "618.8", PROGRESS, Parts(herder=rebalancing.CatchesUpOrNot), why=LOST),
    Broken("disputed_is_nobodys", "618.41", PROGRESS, Parts(herder=rebalancing.DisputedIsNobodys), why=LOST),
    Broken(
        "skips_the_first_record", "618.50", PROGRESS, Parts(herder=rebalancing.SkipsTheFirstRecord), SHIPPED, STANDS,
    ),
    Broken("failed_stays_failed", "618.2", PROGRESS, Parts(herder=rebalancing.FailedStaysFailed), SHIPPED, LOST),
    # who answers, and what counts
    Broken("not_leading_is_fine", "618.15", PROMISE, Parts(endpoint=answering.NotLeadingIsFine), SHIPPED),
    Broken("asks_the_first_leader", "618.15", PROGRESS, Parts(task=answering.AsksTheFirstLeader), SHIPPED, STANDS),
    Broken("key_of_the_start", "618.15", PROGRESS, Parts(state=answering.KeyOfTheStart), SHIPPED, STANDS),
    Broken("fences_once_for_a_count", "618.6", PROMISE, Parts(rounds=answering.FencesOnceForACount)),
    Broken(
        "counts_for_the_newest", "618.43", CONFORMANCE, Parts(rounds=answering.CountsForTheNewest), SHIPPED, NONE_RAN,
    ),
    Broken("stop_counts_nothing", "618.7", PROMISE, Parts(writes=answering.StopCountsNothing), SHIPPED),
    Broken(
        "refusal_after_a_stop", "618.7", PROMISE,
        Parts(rounds=answering.RefusalAfterAStop, state=answering.RemembersStops), SHIPPED,
    ),
)  # fmt: skip

HARMLESS = {"no_preemptive_stop": ("core-shipped", "", "")}
"""Of what breaks nothing: the variant of the model that keeps every promise with the same mistake, and its mutation.
No step of that model waits until a task has stopped, so that it has the mistake as it is.  What no topic shows
(`INTERFACE`) is of rules that are in no model, and its harm is shown by the tests of the interface."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
