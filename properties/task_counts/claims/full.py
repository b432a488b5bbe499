"""This module states the claims about the full models, sets that are written record by record, and compaction.

The full models fulfil KIP-618's promises of who may run, and refine the cores. `Promises` applies to any protocol whose
helpers name the newest set, the count and the instances alike in all variants.
"""

from fencepost.model.language import (
    Properties,
    each,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    length,
    promise,
    refinement,
    service,
    witness,
)
from fencepost.model.task_counts.abstract.core import Instance, Stage, Task, Worker
from fencepost.model.task_counts.abstract.cores import ACore, BCore, MCore, ShippedCore
from fencepost.model.task_counts.detailed.asking import B, Shipped
from fencepost.model.task_counts.detailed.full import Full
from fencepost.model.task_counts.detailed.lingering import Entry, LingeringEager, Released
from fencepost.model.task_counts.detailed.own_view import A, M
from fencepost.model.task_counts.detailed.rebalancing import Cooperative, Rebalancing
from fencepost.model.task_counts.detailed.workers import Position
from fencepost.model.task_counts.parts.compaction import ConfigTopic
from fencepost.model.task_counts.parts.compaction import Position as CompactionPosition
from fencepost.model.task_counts.parts.writing import Call, Part, Writing
from fencepost.properties.task_counts.claims.core import Promises as CorePromises


def of_the_core(s):
    """Return the core's variables as the topic and the rounds determine them."""
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
"""`STEPS` maps each action to the core's actions that it stands for, by default the action of the same name."""
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
    """`FullPromises` has the promises of one connector whose config topic is a log."""

    no_zombie = CorePromises.no_zombie

    @promise(rule="618.P3", broken="{k} can commit, is not of the newest set, and no round will fence its task id")
    def all_covered(s):
        """An instance that can commit is of the newest set, or has a task id that the next round fences."""
        return forall(
            Instance, lambda k: implies(s.can_commit(k), (s.set_of(k) == s.latest_set()) | (s.task[k] < s.count()))
        )

    one_of_each = CorePromises.one_of_each

    a_zombie_shut_out = CorePromises.a_zombie_shut_out

    @witness(of="no_zombie")
    def woken_up_late(s):
        """A stalled start of an earlier set opens its producer at last and fences a task that polls (618.40)."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.PRODUCER) & s.live[j] & (s.of[j] < s.of[k]) & (s.task[j] == s.task[k])
            & (s.stage[k] == Stage.RUNNING) & ~s.live[k] & (s.of[k] == s.latest_set()),
        )  # fmt: skip

    @witness(of="one_of_each")
    def one_task_twice(s):
        """Two workers poll for the same task of the same set at once, and one of them is fenced (KAFKA-9184)."""
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
        """A newer set exists, and a task of an earlier set can still commit."""
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] < s.latest_set()))


class GrainPromises(FullPromises, of=Full):
    """`GrainPromises` has the promises of the yardstick and of the core."""

    @promise(rule="618.P1", broken="{j} and {k} can commit, and are of different generations")
    def one_generation(s):
        """All tasks that are able to commit are of one generation, as the yardstick states it."""
        return forall(Instance, Instance, lambda j, k: implies(s.can_commit(j) & s.can_commit(k), s.of[j] == s.of[k]))

    @promise(rule="618.P3", broken="the count at {p} of the config topic is not the size of the set before it")
    def counts_match(s):
        """Each count equals the size of the set that it stands after, as the yardstick states it."""

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
        """The topic has two count records, each after a set of its own."""
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
        """The content of the topic determines the core's state, and a leader's answer ends the waiting of a start."""
        return of_the_core(s)


class ClusterPromises(FullPromises):
    """`ClusterPromises` has the promises of workers that clean up, with users that restart what failed."""

    @service(rule="618.P4", broken="task {i} of the newest set never polls")
    def polls_in_the_end(s, i: Task):
        """Every task of the newest set polls in the end and can commit."""
        return leads_to(s.is_wanted(i), ~s.is_wanted(i) | s.is_served(i))

    @witness(of="polls_in_the_end")
    def wanted(s):
        """A task of the newest set is wanted and does not run, after another set was served."""
        return exists(Task, lambda i: s.is_wanted(i) & ~s.is_served(i) & (s.polled > 0))


class BPromises(ClusterPromises, of=B):
    """`BPromises` has the promises of revision B, in which each task's start asks for a round."""

    @refinement(of=BCore, actions=ASKING_STEPS | {"check_before": ("check_before", "stop")})
    def does_as_the_core(s):
        """The content of the topic determines the core's state, and a start that was refused still waits."""
        return of_the_core(s)


class ShippedPromises(ClusterPromises, of=Shipped):
    """`ShippedPromises` has the promises of the protocol that shipped in Kafka 3.3."""

    @refinement(of=ShippedCore, actions=ASKING_STEPS)
    def does_as_the_core(s):
        """The content of the topic determines the core's state, and a start that was refused still waits."""
        return of_the_core(s)


class APromises(ClusterPromises, of=A):
    """`APromises` has the promises of revision A, in which the leader fences during the rebalance."""

    @refinement(of=ACore, actions=A_STEPS)
    def does_as_the_core(s):
        """The content of the topic determines the core's state."""
        return of_the_core(s) | dict(covered=each(lambda g: s.covers(g, length(s.log))))


class MPromises(ClusterPromises, of=M):
    """`MPromises` has the promises of revision M, in which the Connector's owner asks for the round."""

    @refinement(of=MCore, actions=CLUSTER_STEPS | {"ask": (), "restart": (), "answer": ()})
    def does_as_the_core(s):
        """The content of the topic determines the core's state."""
        return of_the_core(s) | dict(covered=each(lambda g: s.covers(g, length(s.log))))


REBALANCING_STEPS = {a: s for a, s in ASKING_STEPS.items() if a != "assign_again"} | {
    **dict.fromkeys(("stall", "expire", "resume", "come_back", "rejoin", "leave_running", "time_out", "hand_out"), ()),
    "end_left": ("stop",),
}


class EagerPromises(ClusterPromises, of=Rebalancing):
    """`EagerPromises` has the promises of the shipped protocol with eager rebalances."""

    @refinement(of=ShippedCore, actions=REBALANCING_STEPS)
    def does_as_the_core(s):
        """The content of the topic determines the core's state, which does not depend on assignments."""
        return of_the_core(s)

    @witness(of="no_zombie")
    def left_running(s):
        """A task that its worker left behind can commit, and a newer set exists."""
        return exists(
            Instance,
            lambda k: s.can_commit(k) & (s.worker[k] == None) & (s.of[k] < s.latest_set()),  # noqa: E711
        )

    @witness(of="polls_in_the_end")
    def fell_out(s):
        """A worker that is no member of the group has a start under way."""
        return exists(Instance, Worker, lambda k, w: (s.stage[k] == Stage.CHECKED) & (s.worker[k] == w) & ~s.member[w])


class CooperativePromises(EagerPromises, of=Cooperative):
    """`CooperativePromises` has the promises of the shipped protocol with cooperative rebalances."""

    @witness(of="polls_in_the_end")
    def runs_through(s):
        """A task runs on while members rejoin."""
        return exists(
            Instance, Worker, lambda k, w: s.can_commit(k) & (s.worker[k] == w) & s.joined[w] & (s.of[k] == s.based)
        )


class ReleasedEagerPromises(EagerPromises, of=LingeringEager):
    """`ReleasedEagerPromises` has the promises of Kafka with eager rebalances, where rounds that are over answer until
    their thread removes them."""

    @witness(of="polls_in_the_end")
    def let_through_uncounted(s):
        """A task of the newest set has passed its check without a count, because a round that is over answered."""
        return exists(Instance, lambda k: (s.stage[k] == Stage.CHECKED) & (s.of[k] == s.latest_set()) & s.is_pending())

    @witness(of="polls_in_the_end")
    def meets_a_failure(s):
        """A start of the newest set, which is not counted, waits with a leader whose last round is over and failed."""
        newest = s.latest_set()
        return s.is_pending() & exists(
            Instance, Worker, lambda k, w: (s.asked[k] == w) & (s.entry[w] == Entry.FAILED) & (s.of[k] == newest)
        )


class ReleasedPromises(CooperativePromises, ReleasedEagerPromises, of=Released):
    """`ReleasedPromises` has the promises of Kafka by default (connect.protocol), which starts claimed tasks too."""

    @witness(of="polls_in_the_end")
    def starts_a_claimed_task(s):
        """An instance started from the newest set has opened a producer for a task that the set does not have."""
        newest = s.latest_set()
        return exists(
            Instance,
            lambda k: (s.stage[k] == Stage.PRODUCER) & (s.of[k] == newest) & (s.size_of(newest) <= s.task[k]),
        )


# The set in effect is what one call of one leader wrote, whatever other calls wrote before, at the same time or after.


class WritingPromises(Properties, of=Writing):
    """`WritingPromises` has the promises about the sets of task configurations that are in effect."""

    @promise(rule="618.P2", broken="a part of the source is read by no task of the set in effect, or by two")
    def each_part_has_one_reader(s):
        """While a set is in effect, each part of the source is read by exactly one of its tasks. With two readers each
        offset would appear twice, and with none it would be missing."""
        return forall(
            Part, Task, Task, lambda x, i, j: implies(s.is_read_by(x, i) & s.is_read_by(x, j), i == j)
        ) & implies(0 < s.tasks, forall(Part, lambda x: exists(Task, lambda i: s.is_read_by(x, i))))

    def is_read_by(s, x, i):
        return (i < s.tasks) & exists(Call, lambda c: (s.applied[i] == c) & (s.reader[c, x] == i))

    @service(rule="618.3", broken="{c} of {w}, the leader, never ends with its set in effect")
    def in_effect_in_the_end(s, w: Worker, c: Call):
        """A call of the leader ends with its set in effect, unless it is given up or another leader takes over."""
        return leads_to(
            (s.call[w] == c) & (s.owner == w), (s.newest == c) | (s.call[w] != c) | (s.owner != w)
        )  # fmt: skip

    @lemma
    def newest_is_divided(s):
        """The set in effect was divided among as many tasks as it has."""
        return implies(
            0 < s.tasks,
            exists(Call, lambda c: (s.newest == c) & s.begun[c] & (s.size[c] == s.tasks)),
        ) & forall(Call, Part, lambda c, x: implies(s.begun[c] & (0 < s.size[c]), s.reader[c, x] < s.size[c]))

    @lemma
    def whole_sets(s):
        """Every task of the set in effect has a configuration of the call whose commit record came last."""
        return forall(Task, lambda i: implies(i < s.tasks, s.applied[i] == s.newest))

    @lemma
    def call_has_begun(s):
        """A call that a leader is writing has begun."""
        return forall(Worker, Call, lambda w, c: implies(s.call[w] == c, s.begun[c]))

    @lemma
    def written_is_there(s):
        """While a call may still be written, every configuration it sent is open or was read last for its task."""
        return forall(
            Worker,
            Task,
            lambda w, i: implies(
                (s.owner == w) & (s.call[w] != None) & (i < s.written[w]),  # noqa: E711
                s.open[w, i] | (s.kept[i] == s.call[w]),
            ),
        )

    @witness(of="each_part_has_one_reader")
    def left_over(s):
        """A set is in effect, and one configuration of a call that was never finished has been read since."""
        return exists(Task, Call, lambda i, c: (0 < s.tasks) & (s.kept[i] == c) & s.is_nobodys(c))

    def is_nobodys(s, c):
        return forall(Worker, lambda w: s.call[w] != c)

    @witness(of="each_part_has_one_reader")
    def divided_otherwise(s):
        """Two sets of two tasks were in effect, and a part of the source has changed its reader."""
        return exists(
            Call, Call, Part,
            lambda c, d, x: (s.newest == d) & (1 < s.tasks) & s.begun[c] & (1 < s.size[c])
            & (s.reader[c, x] != s.reader[d, x]) & s.is_nobodys(c),
        )  # fmt: skip

    @witness(of="each_part_has_one_reader")
    def two_sets(s):
        """The set of one call is in effect, and a call by a leader for another set of several tasks is under way."""
        return exists(Worker, Call, Call, lambda w, c, d: (s.newest == c) & (s.call[w] == d) & (1 < s.tasks))


# These are the promises of the config topic's records to their readers, whatever compaction has removed.
#
# The latest commit and the latest count are never removed and stay in order, so each worker that has read to the end
# agrees on whether tasks may run and how many ids are to be fenced. Some configurations of a set may be removed if a
# later set was begun and not committed. The readers of such a set run nothing until there is a new set.


class ConfigTopicProperties(Properties, of=ConfigTopic):
    """`ConfigTopicProperties` has the promises to workers that have read the config topic to the end."""

    @promise(
        rule="618.P1",
        broken="{w} may run tasks, and not every task of earlier sets was fenced for the newest set",
    )
    def runs_what_was_fenced_for(s):
        """A worker that may run tasks is right: every task of earlier sets has been fenced for the newest set."""
        return forall(Worker, lambda w: implies(s.may_run(w), s.fenced))

    @promise(
        rule="618.P1",
        broken="{w} may run tasks, and runs task {i} by another configuration than that of the newest committed set",
    )
    def runs_that_set(s):
        """A worker that may run tasks runs exactly the configurations of the newest committed set."""
        return forall(Worker, Task, lambda w, i: implies(s.may_run(w), s.applied[w, i] == s.of_newest_set(i)))

    @promise(
        rule="618.P1",
        broken="a task start on {w} finds the set number that it began with, and is not of the newest set",
    )
    def starts_from_the_newest(s):
        """A task that finds the set number it began with, after its worker read to the end, is of the newest set."""
        return forall(
            Worker,
            lambda w: implies(
                (s.saw[w] > 0) & s.has_read_all(w) & (s.saw[w] == s.number[w]), s.from_set[w] == s.newest
            ),
        )  # fmt: skip

    @promise(
        rule="618.P3",
        broken="a producer of task {i} may be alive, and the count that {w} has read does not cover it",
    )
    def covered(s):
        """Every producer that may be alive has an id below the count known to each worker that has read to the end."""
        return forall(Worker, Task, lambda w, i: implies(s.has_read_all(w) & s.alive[i], i < s.count[w]))

    @witness(of="runs_what_was_fenced_for")
    def runs_a_second_set(s):
        """A worker runs tasks of its second set, and compaction has removed a record of the topic."""
        return exists(Worker, lambda w: s.may_run(w) & (s.number[w] > 1)) & exists(
            CompactionPosition, lambda p: (0 < p) & (p < s.end) & ~s.kept[p]
        )

    @witness(of="runs_that_set")
    def incomplete_from_the_start(s):
        """A worker that read the topic to the end lacks a configuration of the newest set, which another one runs."""
        return exists(Worker, Worker, lambda v, w: s.may_run(v) & s.has_read_all(w) & s.incomplete[w])

    @witness(of="starts_from_the_newest")
    def numbers_differ(s):
        """Two workers run the same set under different numbers."""
        return exists(Worker, Worker, lambda v, w: s.may_run(v) & s.may_run(w) & (s.number[v] < s.number[w]))

    @witness(of="covered")
    def fewer_than_before(s):
        """The latest count is smaller than an earlier one."""
        return exists(
            CompactionPosition, Worker,
            lambda p, w: (p < s.end) & s.may_run(w) & s.is_count(s.record[p])
            & (s.count[w] < s.says(s.record[p])),
        )  # fmt: skip
