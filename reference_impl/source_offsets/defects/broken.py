"""Implementations with one thing wrong each: what an auditor must find, and (controls) what it must not.

Each is reachable as `fencepost.reference_impl.source_offsets.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, a record is in the output twice or
never, or a restart would resume elsewhere than the output ends; PROGRESS, something stays undone for ever, though
faults have stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry
from fencepost.reference_impl.source_offsets.defects import going_on, migrating, reading, starting, storing, working
from fencepost.reference_impl.source_offsets.parts import Parts
from fencepost.reference_impl.source_offsets.system import System, build


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken connectors."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.PROGRESS, Breaks.NOTHING
OWN = (("separate", True),)
SWITCHED = (("separate", False),)
TOMBSTONES = (("rounds", 2), *OWN)
ONE_TOPIC_WITH_TOMBSTONES = (("mode", "shipped"), ("rounds", 2))
MIGRATION = (("mode", "migration-sentinel"), *SWITCHED)
AT_INTERVALS = (("boundary", "interval"),)
BY_CONNECTOR = (("boundary", "connector"),)
SOME_DROPPED = (("filtered", 2), ("batch", 1))
AS_WELL_AS_CAN_BE = "copies in the worker's topic are made as well as can be; whoever has a topic of its own reads that"
SAME_AGAIN = "a dropped record is dropped again by whoever polls it; whether its offset is stored changes nothing"

_AFTER_A_FAULT = (
    # After something was refused or aborted, and when nothing is left to be read
    Broken("retried_from_the_first", "618.P2", PROMISE, Parts(runtime=going_on.RetriedFromTheFirst), (("batch", 3),)),
    Broken(
        "refusal_forgets_boundary", "618.P5", PROGRESS, Parts(runtime=going_on.RefusalForgetsBoundary), BY_CONNECTOR
    ),
    Broken("last_commit_notes_the_rest", "618.P2", PROMISE, Parts(runtime=going_on.LastCommitNotesTheRest)),
    Broken("abort_forgets_offsets", "618.27", PROGRESS, Parts(runtime=going_on.AbortForgetsOffsets), BY_CONNECTOR),
    Broken("empty_commit_fails", "618.28", PROGRESS, Parts(runtime=going_on.EmptyCommitFails), SOME_DROPPED),
    Broken("not_due_while_idle", "618.P5", PROGRESS, Parts(runtime=going_on.NotDueWhileIdle), AT_INTERVALS),
    Broken("copies_when_refused", "618.31", PROMISE, Parts(runtime=going_on.CopiesWhenRefused), OWN),
    Broken("opens_again_when_fenced", "618.P1", PROMISE, Parts(runtime=going_on.OpensAgainWhenFenced)),
    Broken("null_is_no_entry", "618.31", PROMISE, Parts(reader=going_on.NullIsNoEntry), ONE_TOPIC_WITH_TOMBSTONES),
    Broken(
        "fails_on_a_null",
        "618.P5",
        PROGRESS,
        Parts(reader=going_on.RemembersNulls, instance=going_on.FailsOnANull),
        ONE_TOPIC_WITH_TOMBSTONES,
    ),
    Broken("stops_one_early", "618.32", PROMISE, Parts(reader=going_on.StopsOneEarly)),
    Broken("fences_the_new_count", "618.P1", PROMISE, Parts(connector=going_on.FencesTheNewCount)),
)

_BROKEN = (
    # 618.27: one transaction
    Broken(
        "offsets_in_another_transaction",
        "618.27",
        PROMISE,
        Parts(runtime=working.OffsetsInAnotherTransaction),
    ),
    Broken("offsets_first", "618.27", PROMISE, Parts(runtime=working.OffsetsFirst)),
    Broken("noted_before_sent", "618.27", PROMISE, Parts(runtime=working.NotedBeforeSent), AT_INTERVALS),
    Broken("last_offsets_left_out", "618.27", PROMISE, Parts(runtime=working.LastOffsetsLeftOut), AT_INTERVALS),
    Broken("committed_without_offsets", "618.27", PROMISE, Parts(runtime=working.CommittedWithoutOffsets)),
    Broken("sent_again_when_unsure", "618.27", PROMISE, Parts(runtime=working.SentAgainWhenUnsure)),
    Broken("abort_ignored", "618.27", PROMISE, Parts(runtime=working.AbortIgnored), BY_CONNECTOR),
    Broken("never_due", "618.P4", PROGRESS, Parts(runtime=working.NeverDue), AT_INTERVALS),
    # 618.28: batches that are dropped whole
    Broken("empty_batch_forgotten", "618.28", PROMISE, Parts(runtime=working.EmptyBatchForgotten), SOME_DROPPED),
    Broken(
        "filtered_noted",
        "618.28",
        NOTHING,
        Parts(runtime=working.FilteredNoted),
        SOME_DROPPED,
        SAME_AGAIN,
    ),
    # 618.32, 618.18: reading to the end
    Broken("reads_to_the_last_stable", "618.32", PROMISE, Parts(reader=reading.ToTheLastStable)),
    Broken("one_look", "618.32", PROMISE, Parts(reader=reading.OneLook)),
    Broken("reads_uncommitted", "618.32", PROMISE, Parts(reader=reading.Uncommitted)),
    Broken("reads_first", "618.18", PROMISE, Parts(instance=reading.ReadsFirst, store=reading.ReadOnce)),
    # 618.31: two topics as one
    Broken("global_preferred", "618.31", PROMISE, Parts(store=reading.GlobalPreferred), OWN),
    Broken("all_or_nothing", "618.31", PROMISE, Parts(store=reading.AllOrNothing), SWITCHED),
    Broken(
        "never_copied", "618.31", NOTHING, Parts(store=storing.NeverCopied), (("rounds", 1), *OWN), AS_WELL_AS_CAN_BE
    ),
    Broken("tombstone_primary_first", "618.31", PROMISE, Parts(store=storing.TombstonePrimaryFirst), TOMBSTONES),
    Broken("tombstones_not_copied", "618.31", PROMISE, Parts(store=storing.TombstonesNotCopied), TOMBSTONES),
    Broken("tombstones_left_out", "618.31", PROMISE, Parts(store=storing.TombstonesLeftOut), TOMBSTONES),
    Broken("flush_not_awaited", "618.27", PROMISE, Parts(store=storing.FlushNotAwaited), TOMBSTONES),
    # 618.39: what was rejected
    Broken("copied_by_tasks", "618.39", PROMISE, Parts(store=reading.CopiedByTasks), SWITCHED),
    # 618.6, 618.7, 618.19: who may write
    Broken("own_id", "618.6", PROMISE, Parts(instance=starting.OwnId)),
    Broken("not_fenced", "618.7", PROMISE, Parts(connector=starting.NotFenced)),
    Broken("not_checked", "618.19", PROMISE, Parts(instance=starting.NotChecked)),
    Broken("checked_first", "618.19", PROMISE, Parts(instance=starting.CheckedFirst)),
    *_AFTER_A_FAULT,
    # 618.30, 618.45: the earlier text
    Broken("owners_not_fenced", "618.30", PROMISE, Parts(owner=migrating.OwnersNotFenced), MIGRATION),
    Broken("looks_first", "618.30", PROMISE, Parts(owner=migrating.LooksFirst), MIGRATION),
    Broken("filled_anyway", "618.30", PROMISE, Parts(owner=migrating.FilledAnyway), MIGRATION),
    Broken("copied_in_pieces", "618.30", PROMISE, Parts(owner=migrating.InPieces), MIGRATION),
    Broken("no_sentinel", "618.30", PROGRESS, Parts(owner=migrating.NoSentinel), MIGRATION),
    Broken("tasks_do_not_wait", "618.45", PROMISE, Parts(instance=migrating.DoNotWait), MIGRATION),
    Broken("copied_before_fenced", "618.45", PROMISE, Parts(connector=migrating.CopiedBeforeFenced), MIGRATION),
)

AFTER_A_FAULT = frozenset(defect.name for defect in _AFTER_A_FAULT)
"""Defects of what comes after something failed, was refused or aborted."""

HARMLESS = {
    "filtered_noted": ("text-merged-view", "618.28", "noted"),
    "never_copied": ("text-merged-view", "618.31", "never_copied"),
}
"""Of what breaks nothing: the model with the same mistake, which keeps every promise."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
