"""What the full models promise of who may run, and how they map onto the cores.

`Promises` speaks of a protocol whose newest set, count and instances are told by helpers of one name in all variants.
"""

from fencepost.model.language import (
    Properties,
    each,
    exists,
    forall,
    implies,
    leads_to,
    length,
    promise,
    refinement,
    service,
    witness,
)
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.abstract.cores import ACore, BCore, MCore, ShippedCore
from fencepost.model.task_counts.detailed.asking import B, Shipped
from fencepost.model.task_counts.detailed.attending import Attended, LateFence, Unanswered, Unattended
from fencepost.model.task_counts.detailed.claiming import Claimed, Refused, Taken
from fencepost.model.task_counts.detailed.full import Full
from fencepost.model.task_counts.detailed.lingering import Entry, LingeringEager, Released
from fencepost.model.task_counts.detailed.own_view import A, M
from fencepost.model.task_counts.detailed.rebalancing import Cooperative, Rebalancing
from fencepost.model.task_counts.detailed.workers import Position


def of_the_core(s):
    """The core's variables that the topic tells, and those of rounds."""
    return dict(
        generation=s.latest_set(),
        size=s.size_of(s.latest_set()),
        counted=s.latest_set(s.latest_count()),
        count=s.count(),
        fencing=each(lambda w: s.fencing[w]),
        new=each(lambda w: s.size_of(s.fencing[w])),
        left=each(lambda w, i: i < s.left[w]),
        of=each(lambda k: s.of[k]),
        polled=s.polled,
    )


STEPS: dict[str, tuple[str, ...]] = {"poll": (), "fence_fails": ("fail_round",)}
"""What each action is to the core; those of the core's name are that action."""
CLUSTER_STEPS = STEPS | {
    "revoke": ("stop",),
    "notice": ("stop",),
    "assign_again": ("assign",),
}
ASKING_STEPS = CLUSTER_STEPS | {"ask": (), "fail": ("stop",)}

A_STEPS = CLUSTER_STEPS | {
    "hand_out": (), "hand_out_unfenced": (), "assign_late": ("assign",), "refuse": ("stop",),
}  # fmt: skip


class FullPromises(Properties):
    """The promises of one connector, whose config topic is a log."""

    @promise(rule="618.P1")
    def no_zombie(s):
        """Once a task of one generation polls, no task of an earlier generation can commit."""
        return forall(Instance, lambda k: implies(s.can_commit(k), s.polled <= s.set_of(k)))

    @promise(rule="618.P3")
    def all_covered(s):
        """An instance that can commit is of the newest set, or has a task id that the next round fences."""
        return forall(
            Instance, lambda k: implies(s.can_commit(k), (s.set_of(k) == s.latest_set()) | (s.task[k] < s.count()))
        )

    @promise(rule="618.P1")
    def one_of_each(s):
        """No two instances of one task can commit, of whatever sets."""
        return forall(
            Instance, Instance,
            lambda j, k: implies(s.can_commit(j) & s.can_commit(k) & (s.task[j] == s.task[k]), j == k),
        )  # fmt: skip

    @witness(of="no_zombie")
    def a_zombie_shut_out(s):
        """A task of an earlier set still runs, unable to commit, beside one that can."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & ~s.live[j] & s.can_commit(k) & (s.of[j] < s.of[k]),
        )

    @witness(of="no_zombie")
    def woken_up_late(s):
        """A stalled start of an earlier set opens its producer at last, and fences a task that polls (618.40)."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.PRODUCER) & s.live[j] & (s.of[j] < s.of[k]) & (s.task[j] == s.task[k])
            & (s.stage[k] == Stage.RUNNING) & ~s.live[k] & (s.of[k] == s.latest_set()),
        )  # fmt: skip

    @witness(of="one_of_each")
    def one_task_twice(s):
        """Two workers poll for the same task of the same set at once; one of them is fenced (KAFKA-9184)."""
        return exists(
            Instance, Instance,
            lambda j, k: (j != k) & (s.stage[j] == Stage.RUNNING) & (s.stage[k] == Stage.RUNNING)
            & (s.task[j] == s.task[k]) & (s.of[j] == s.of[k]) & (s.worker[j] != s.worker[k]),
        )  # fmt: skip

    @witness(of="one_of_each")
    def its_next_start(s):
        """A task can commit while another start of it is under way."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & (s.stage[k] != Stage.NONE) & (j != k) & (s.task[j] == s.task[k]),
        )  # fmt: skip

    @witness(of="all_covered")
    def an_earlier_task_left(s):
        """There is a newer set, and a task of an earlier one can still commit."""
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] < s.latest_set()))


class GrainPromises(FullPromises, of=Full):
    """The yardstick's, and the core's."""

    @promise(rule="618.P1")
    def one_generation(s):
        """All tasks that are able to commit are of one generation, as the yardstick says it."""
        return forall(Instance, Instance, lambda j, k: implies(s.can_commit(j) & s.can_commit(k), s.of[j] == s.of[k]))

    @promise(rule="618.P3")
    def counts_match(s):
        """Each count is of the set that it stands after, as the yardstick says it."""

        def matches(p):
            newest = s.latest_set(p)
            return implies(s.is_count(p), (newest > 0) & (s.size(newest) == s.size(p)))

        return forall(Position, matches)

    @witness(of="one_generation")
    def two_of_one_set(s):
        """Two tasks of one set can commit."""
        return exists(Instance, Instance, lambda j, k: (j != k) & s.can_commit(j) & s.can_commit(k))

    @witness(of="counts_match")
    def a_second_count(s):
        """Two counts stand in the topic, each after a set of its own."""
        return exists(
            Position,
            Position,
            lambda j, k: (j < k) & s.is_count(j) & s.is_count(k),
        )

    @refinement(
        of=ShippedCore,
        actions=STEPS | {"check_before": ("answer", "stop"), "check_after": ("check_after", "stop")},
    )
    def does_as_the_core(s):
        """What the topic says is the core's state; the answer of a leader is the end of waiting."""
        return of_the_core(s)


class ClusterPromises(FullPromises):
    """The promises of workers that tidy up, and of users that restart what failed."""

    @service(rule="618.P4")
    def polls_in_the_end(s, i: Task):
        """Every task of the newest set polls, and can commit."""
        return leads_to(s.is_wanted(i), ~s.is_wanted(i) | s.is_served(i))

    @witness(of="polls_in_the_end")
    def wanted(s):
        """A task is wanted and not running, after another set was served."""
        return exists(Task, lambda i: s.is_wanted(i) & ~s.is_served(i) & (s.polled > 0))


class BPromises(ClusterPromises, of=B):
    """The promises of revision B: each task's start asks for a round."""

    @refinement(of=BCore, actions=ASKING_STEPS | {"check_before": ("check_before", "stop")})
    def does_as_the_core(s):
        """What the topic says is the core's state; a start that was refused still waits."""
        return of_the_core(s)


class ShippedPromises(ClusterPromises, of=Shipped):
    """The promises of what shipped in Kafka 3.3."""

    @refinement(of=ShippedCore, actions=ASKING_STEPS)
    def does_as_the_core(s):
        """What the topic says is the core's state; a start that was refused still waits."""
        return of_the_core(s)


class APromises(ClusterPromises, of=A):
    """The promises of revision A: the leader fences during the rebalance."""

    @refinement(of=ACore, actions=A_STEPS)
    def does_as_the_core(s):
        """What the topic says is the core's state."""
        return of_the_core(s) | dict(covered=each(lambda g: s.covers(g, length(s.log))))


class MPromises(ClusterPromises, of=M):
    """The promises of revision M: the Connector's owner asks for the round."""

    @refinement(of=MCore, actions=CLUSTER_STEPS | {"ask": (), "restart": (), "answer": ()})
    def does_as_the_core(s):
        """What the topic says is the core's state."""
        return of_the_core(s) | dict(covered=each(lambda g: s.covers(g, length(s.log))))


class UnattendedPromises(ClusterPromises, of=Unattended):
    """The promises of what shipped, where failed tasks are never restarted."""


class LateFencePromises(ClusterPromises, of=LateFence):
    """The promises of what shipped, where a request to fence comes late, and failed tasks are never restarted."""


class UnansweredPromises(ClusterPromises, of=Unanswered):
    """The promises of what shipped, where a leader does not answer, and failed tasks are never restarted."""


class AttendedPromises(ClusterPromises, of=Attended):
    """The promises of what shipped, where failed tasks are restarted by a user."""


REBALANCING_STEPS = {a: s for a, s in ASKING_STEPS.items() if a != "assign_again"} | {
    **dict.fromkeys(("stall", "expire", "resume", "come_back", "rejoin", "leave_running", "time_out", "hand_out"), ()),
    "end_left": ("stop",),
}


class EagerPromises(ClusterPromises, of=Rebalancing):
    """Shipped, with eager rebalances."""

    @refinement(of=ShippedCore, actions=REBALANCING_STEPS)
    def does_as_the_core(s):
        """What the topic says is the core's state; who was given what is nothing to it."""
        return of_the_core(s)

    @witness(of="no_zombie")
    def left_running(s):
        """A task that its worker left behind can commit, and a newer set is there."""
        return exists(
            Instance,
            lambda k: s.can_commit(k) & (s.worker[k] == None) & (s.of[k] < s.latest_set()),  # noqa: E711
        )

    @witness(of="polls_in_the_end")
    def fell_out(s):
        """A worker that is no member has a start under way."""
        return exists(Instance, Worker, lambda k, w: (s.stage[k] == Stage.CHECKED) & (s.worker[k] == w) & ~s.member[w])


class CooperativePromises(EagerPromises, of=Cooperative):
    """Shipped, with cooperative rebalances."""

    @witness(of="polls_in_the_end")
    def runs_through(s):
        """A task runs on while members rejoin."""
        return exists(
            Instance, Worker, lambda k, w: s.can_commit(k) & (s.worker[k] == w) & s.joined[w] & (s.of[k] == s.based)
        )


class ClaimedPromises(CooperativePromises, of=Claimed):
    """Shipped, with cooperative rebalances as Kafka has them."""


class TakenPromises(CooperativePromises, of=Taken):
    """The same, where the assignor takes what the newest set does not have."""


class RefusedPromises(CooperativePromises, of=Refused):
    """The same, where a worker does not start that."""


class ReleasedEagerPromises(EagerPromises, of=LingeringEager):
    """Kafka with eager rebalances: rounds that are over answer until their thread takes them out."""

    @witness(of="polls_in_the_end")
    def let_through_uncounted(s):
        """A task of the newest set goes on to its producer, and no count stands after that set: a round that is over
        has answered."""
        return exists(Instance, lambda k: (s.stage[k] == Stage.CHECKED) & (s.of[k] == s.latest_set()) & s.is_pending())

    @witness(of="polls_in_the_end")
    def meets_a_failure(s):
        """A start of the newest set, which is not counted, waits with a leader whose last round is over and has
        failed."""
        newest = s.latest_set()
        return s.is_pending() & exists(
            Instance, Worker, lambda k, w: (s.asked[k] == w) & (s.entry[w] == Entry.FAILED) & (s.of[k] == newest)
        )


class ReleasedPromises(CooperativePromises, ReleasedEagerPromises, of=Released):
    """Kafka with its default of connect.protocol: what is claimed is started as well."""

    @witness(of="polls_in_the_end")
    def starts_a_claimed_task(s):
        """An instance has a producer, for a task that the newest set does not have, and by that set."""
        newest = s.latest_set()
        return exists(
            Instance,
            lambda k: (s.stage[k] == Stage.PRODUCER) & (s.of[k] == newest) & (s.size_of(newest) <= s.task[k]),
        )
