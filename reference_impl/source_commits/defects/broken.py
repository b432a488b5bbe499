"""Implementations with one thing wrong each: what histories must show, and (controls) what they must not.

Each is reachable as `fencepost.reference_impl.source_commits.defects.broken:<name>`, a factory like `reference`, and by
the generator's config key `broken`. `breaks` says what its defect can show: PROMISE, an offset that is told, stored or
forgotten upstream too early; CONFORMANCE, a step that the rules do not have, though nothing is lost by it; PROGRESS,
something that stays tracked for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fencepost.reference_impl.simulation.defects import Breaks, Defect, Registry
from fencepost.reference_impl.source_commits import config as keys
from fencepost.reference_impl.source_commits.defects import committing, flushing, going_on, tracking
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.runtime.exactly_once import TransactionThread
from fencepost.reference_impl.source_commits.system import System, build


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A factory of broken tasks."""

    def __call__(self, config: Mapping[str, Any]) -> System:
        return build({**dict(self.needs), **config}, self.parts)


PROMISE, CONFORMANCE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.CONFORMANCE, Breaks.PROGRESS, Breaks.NOTHING
TOLERANT = (("tolerance", "all"),)
EXACTLY_ONCE = (("mode", keys.EXACTLY_ONCE),)
TWO_PARTITIONS = (("partitions", 2),)
ONCE_MORE = "what was not committed is polled again by the next instance, and arrives twice"
BETTER = "what is acknowledged may be committed, whoever takes it off the queue while no other thread does"


def _upstream(policy: str) -> tuple[tuple[str, Any], ...]:
    return (("upstream", policy),)


def _thread(transaction_thread: type[TransactionThread]) -> Parts:
    return Parts(transaction_thread=transaction_thread)


_AFTER_A_FAULT = (
    # A flush that failed, took too long or was cut off
    Broken("last_put_back_only", "src.10", PROGRESS, Parts(writer=flushing.PutsBackTheLastOnly), TWO_PARTITIONS),
    Broken("polled_put_back", "src.10", PROMISE, Parts(committer=flushing.PutsBackWhatIsPolled)),
    Broken("late_success_clears", "src.10", PROGRESS, Parts(writer=flushing.LateSuccessClears)),
    Broken("timed_out_not_put_back", "src.10", PROGRESS, Parts(committer=flushing.TimedOutIsOnItsWay)),
    Broken("committer_interrupted", "src.P3", PROGRESS, Parts(committer=flushing.InterruptedByTheStop)),
    Broken("committer_dies", "src.7", PROGRESS, Parts(committer=flushing.DiesOfAnException)),
    Broken("time_out_acknowledges", "src.12", PROMISE, Parts(thread=flushing.TimeOutAcknowledges)),
    Broken("last_commit_takes_over", "src.P1", PROMISE, Parts(task=flushing.LastCommitTakesOver)),
    # A task that goes on
    Broken("refused_goes_last", "src.2", PROMISE, Parts(thread=going_on.RefusedGoesLast)),
    Broken("rest_of_batch_dropped", "src.P2", PROMISE, Parts(thread=going_on.RestOfBatchDropped)),
    Broken("never_tried_again", "src.P4", PROGRESS, Parts(thread=going_on.NeverTriedAgain)),
    Broken("poll_error_is_the_last", "src.P4", PROGRESS, Parts(thread=going_on.PollErrorIsTheLast)),
    Broken("still_registered", "src.P4", PROGRESS, Parts(thread=going_on.StillRegistered)),
    Broken("refused_is_noted", "src.P2", PROMISE, Parts(exactly_once=going_on.RefusedIsNoted), EXACTLY_ONCE),
    Broken("abort_forgets_offsets", "src.P3", PROGRESS, Parts(exactly_once=going_on.AbortForgetsOffsets), EXACTLY_ONCE),
    Broken(
        "one_writer_for_all", "src.P2", PROMISE, Parts(exactly_once=going_on.OneWriterForAll),
        (*EXACTLY_ONCE, *TWO_PARTITIONS),
    ),
    Broken("commits_before_its_records", "src.P2", PROMISE, _thread(going_on.CommitsBeforeItsRecords), EXACTLY_ONCE),
)  # fmt: skip

_BROKEN = (
    # src.1: what commitRecord says
    Broken("acknowledged_twice", "src.1", CONFORMANCE, Parts(task=tracking.ToldTwice)),
    Broken("failure_has_metadata", "src.1", CONFORMANCE, Parts(task=tracking.FailureIsMetadata), TOLERANT),
    Broken(
        "aborted_acknowledged", "src.1", CONFORMANCE, Parts(), (*EXACTLY_ONCE, ("aborted_acknowledged", True)),
        "Kafka does so: records of a transaction that the connector had aborted are acknowledged with the next",
    ),
    Broken("newest_callback_told", "src.1", PROMISE, Parts(), _upstream(keys.NEWEST)),
    # src.2, src.3: what is committable
    Broken("one_queue", "src.2", PROGRESS, Parts(records=tracking.OneQueue)),
    Broken(
        "acknowledgements_counted_twice", "src.2", CONFORMANCE,
        Parts(records=tracking.TwiceCounted, task=tracking.AcknowledgesTwice),
    ),
    Broken("newest_committable", "src.3", PROMISE, Parts(records=tracking.NewestAcknowledged)),
    Broken("heads_left", "src.3", CONFORMANCE, Parts(records=tracking.HeadsLeft), (), "what is tracked only grows"),
    # src.4: when commit is called
    Broken("told_at_once", "src.4", PROMISE, Parts(committer=committing.ToldAtOnce)),
    Broken("told_anyway", "src.4", PROMISE, Parts(committer=committing.ToldAnyway)),
    Broken("last_polled_told", "src.4", PROMISE, Parts(), _upstream(keys.LAST_POLLED)),
    Broken("acknowledged_told", "src.4", PROMISE, Parts(), _upstream(keys.PREFIX)),
    Broken("previously_acknowledged_told", "src.4", PROMISE, Parts(), _upstream(keys.LAST_PREFIX)),
    Broken("told_of_failed_transaction", "src.4", PROMISE, _thread(committing.ToldOfTheFailed), EXACTLY_ONCE),
    # src.5: what the map says
    Broken("map_of_snapshot", "src.5", CONFORMANCE, Parts(), (("map_of", keys.SNAPSHOT),)),
    Broken("empty_is_all", "src.5", PROMISE, Parts(), _upstream(keys.EMPTY_IS_ALL)),
    Broken("told_of_aborted_batch", "src.5", PROMISE, _thread(committing.ToldOfTheAborted), EXACTLY_ONCE),
    Broken("first_of_several", "src.5", PROMISE, Parts(), (("several", 2), ("stamped", "first"))),
    Broken("offsets_without_records", "src.P2", PROMISE, _thread(committing.OffsetsFirst), EXACTLY_ONCE),
    # src.7
    Broken("exception_fails", "src.7", CONFORMANCE, Parts(task=committing.ExceptionFails)),
    # src.10: what comes of a flush that failed
    Broken("failed_flush_forgotten", "src.10", PROGRESS, Parts(writer=committing.EarlierForgotten)),
    Broken("late_callback_counts", "src.10", CONFORMANCE, Parts(writer=committing.LateCallbackCounts)),
    # src.11: what an acknowledgement is
    Broken("drop_acknowledges", "src.11", PROMISE, Parts(records=tracking.DropAcknowledges)),
    Broken("failure_not_acknowledged", "src.11", PROGRESS, Parts(), (*TOLERANT, ("failures_acknowledged", False))),
    # src.12, and the two threads
    Broken("final_commit_does_not_wait", "src.12", CONFORMANCE, Parts(thread=committing.DoesNotWait), (), ONCE_MORE),
    Broken("time_out_is_success", "src.12", CONFORMANCE, Parts(thread=committing.TimeOutIsSuccess), (), ONCE_MORE),
    Broken("two_threads", "src.P1", PROMISE, Parts(), (("serial", False),)),
    *_AFTER_A_FAULT,
    # Controls
    Broken("no_final_commit", "src.12", NOTHING, Parts(thread=committing.NoFinalCommit), (), ONCE_MORE),
    Broken("committer_updates", "src.3", CONFORMANCE, Parts(committer=committing.CommitterUpdates), (), BETTER),
)  # fmt: skip

AFTER_A_FAULT = frozenset(defect.name for defect in _AFTER_A_FAULT)
"""Defects of what comes after something failed, was refused, or took too long."""

OF_THE_LIST = {
    "O01": "newest_committable", "O02": "one_queue", "O04": "heads_left", "O06": "drop_acknowledges",
    "O07": "failure_not_acknowledged", "O08": "told_at_once", "O09": "told_anyway", "O11": "failed_flush_forgotten",
    "O13": "two_threads", "O14": "newest_callback_told", "O15": "empty_is_all", "O16": "final_commit_does_not_wait",
    "O17": "acknowledgements_counted_twice", "O18": "time_out_is_success", "O19": "told_of_aborted_batch",
}  # fmt: skip
"""Defects by the number that the list of mistakes in this area has for them."""

HARMLESS = {"no_final_commit": ("proposed", "src.12", "")}
"""Of what breaks nothing: the variant of the model that keeps every promise with it.  There an instance may be gone at
any moment, and so also before its last commit."""

REGISTRY = Registry(_BROKEN)
find = REGISTRY.find
__getattr__ = partial(REGISTRY.attribute, __name__)
