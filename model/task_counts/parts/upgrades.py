"""In these clusters not every worker supports exactly-once sources, because an upgrade is under way or for good.

There is one connector. A worker that does not take part writes to the config topic with a plain producer, which cannot
be fenced, or runs its tasks with plain producers, which cannot be fenced either. Fencing all ids is one step here, and
so is a task start with its checks; `upgrading_in_steps.py` has the steps in between. A worker is upgraded by a restart,
which ends its tasks.
"""

from fencepost.model.language import (
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    not_of_this,
    open_hole,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Task, Worker
from fencepost.model.task_counts.outside import (
    BROKERS,
    COMPACTION,
    NOT_OF_CONNECT,
    OTHERS,
    READS,
    STEPS,
    TO_STAY,
    TOPIC,
)


class Generation(Nat, upto="sets"):
    """A `Generation` is a set of task configurations, from 1; 0 is before the first."""


class Support(Enumeration):
    """A worker has an old version, the new one with the feature off (as shipped: preparing), or the new one with the
    feature on."""

    NONE, READY, ENABLED = range(3)


class Round(Enumeration):
    """A leader's fencing round is in one of two states: there is none, or all ids are fenced, the topic is read and the
    count is about to be written."""

    NONE, FENCED = range(2)


class Upgrades(Protocol):
    """Two rolling upgrades turn the feature on: every worker gets the new version, and when all have it, the feature is
    enabled on each."""

    actors = ("coordinator", "operator", "user")

    support: Map[Worker, Support]
    leads: Set[Worker]  # the worker believes itself the leader, perhaps wrongly
    leader: Option[Worker]  # the leader of the group
    owner: Option[Worker]  # the worker whose producer has the newest epoch on the config topic

    generation: Generation  # the newest set
    size: Count
    counted: Generation  # the newest set when the latest count was written
    count: Count  # the number of tasks in the latest count

    round: Map[Worker, Round]
    round_for: Map[Worker, Generation]
    round_size: Map[Worker, Count]

    running: Set[Worker, Task]
    plain: Set[Worker, Task]  # the task has a producer that can't be fenced
    of: Map[Worker, Task, Generation]
    live: Map[Task, Option[Worker]]  # the worker whose producer has the newest epoch of the task's transactional id
    failed: Set[Worker]  # the worker asked a leader that does not support the request, and waits for a user

    polled: Ghost[Generation]  # the newest set of which a task has polled since the guarantee began

    outside = (
        *BROKERS,
        *STEPS,
        *TOPIC,
        *NOT_OF_CONNECT,
        *READS,
        *COMPACTION,
        *OTHERS,
        *TO_STAY,
        *open_hole("ids do not collide: names-may-collide has tasks whose ids do, leader-id-shared the leader's",
                   "id-collision"),
        *open_hole("fencing all ids is one step, which fails or is answered: two-rolling-upgrades-in-steps has its "
                   "parts", "late-copy", "duplicate", "loss", "lost-answer", "time-out"),
        *open_hole("a task start is one step with its checks, so that none goes on late: "
                   "two-rolling-upgrades-in-steps has its parts",
                   "zombie", "rebalance"),
        *open_hole("a set has a task at least: two-rolling-upgrades-in-steps has empty ones", "empty-set"),
        *not_of_this("fencing is never skipped here, with one task or several", "one-task"),
    )  # fmt: skip

    @danger("worker-without-support")
    def some_are_not_on(s):
        """A worker without the feature leads or runs tasks while another worker has the feature on."""
        return exists(Worker, lambda w: s.support[w] == Support.ENABLED) & exists(
            Worker, Task, lambda w, i: (s.support[w] != Support.ENABLED) & (s.leads[w] | s.running[w, i])
        )

    @danger("mixed-clients")
    def versions_differ(s):
        """Some workers have the old version and others the new one."""
        return exists(
            Worker, Worker, lambda v, w: (s.support[v] == Support.NONE) & (s.support[w] != Support.NONE)
        )  # fmt: skip

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """The group has another leader than the worker that has a round under way."""
        return exists(Worker, lambda w: (s.leader != w) & (s.round[w] != Round.NONE))

    @danger("several-tasks")
    def several_to_fence(s):
        """A set that needs a round follows a count of several tasks."""
        return s.is_pending() & (s.count > 1)

    @danger("several-ids")
    def several_producers(s):
        """Tasks of several transactional ids can commit."""
        return exists(Task, Task, lambda i, j: (i != j) & (s.live[i] != None) & (s.live[j] != None))  # noqa: E711

    # The support of workers

    def promised(s):
        """Return whether the guarantee has begun, which it does when the last worker has finished the second
        upgrade."""
        return forall(Worker, lambda w: s.support[w] == Support.ENABLED)

    def is_transactional(s, w):
        """Return whether this worker, as a leader, writes with the transactional producer."""
        support = s.support[w]
        return either("618.24", support != Support.NONE, only_with_the_feature_on=support == Support.ENABLED)

    def serves(s, w):
        """Return whether this worker, as a leader, answers requests for a round."""
        support = s.support[w]
        return either("618.10", support != Support.NONE, only_with_the_feature_on=support == Support.ENABLED)

    def may_write(s, w):
        return s.leads[w] & (~s.is_transactional(w) | (s.owner == w))

    def may_restart_with(s, w, support):
        """Return whether a restart may give the worker this support: what it had, or the next step of an upgrade."""
        everywhere = forall(Worker, lambda v: s.support[v] != Support.NONE)
        next = when(support == Support.ENABLED, everywhere, True)
        forward = (s.support[w] == Support.NONE) | (support != Support.NONE)
        forward = forward & implies(s.support[w] == Support.ENABLED, support == Support.ENABLED)
        return forward & either("618.35", next, in_one_upgrade=True)

    @action(danger="client-crash")
    def restart(s, w: Worker, support: Support):
        """The worker's process ends together with its tasks, and another one begins, perhaps upgraded."""
        require(s.may_restart_with(w, support))
        s.support[w] = support
        s.falls_silent(w)

    def falls_silent(s, w):
        s.leads[w] = False
        s.leader = when(s.leader == w, None, s.leader)
        s.owner = when(s.owner == w, None, s.owner)
        s.failed[w] = False
        s.ends_round(w)
        s.live = each(lambda i: when(s.live[i] == w, None, s.live[i]))
        s.running = each(lambda v, i: s.running[v, i] & (v != w))
        s.plain = each(lambda v, i: s.plain[v, i] & (v != w))
        s.of = each(lambda v, i: when(v == w, 0, s.of[v, i]))

    @action
    def elect(s, w: Worker):
        """The group has another leader, while the former one may not know of it yet."""
        require((s.leader != w) & (s.round[w] == Round.NONE))
        s.leads[w] = True
        s.leader = w
        s.owner = when(s.is_transactional(w), w, s.owner)

    @action
    def depose(s, w: Worker):
        """A former leader learns that it no longer leads, and its round ends."""
        require(s.leads[w] & (s.leader != w))
        s.leads[w] = False
        s.ends_round(w)

    def is_pending(s):
        return s.counted < s.generation

    def publish(s, n):
        s.generation = s.generation + 1
        s.size = n

    @action
    def reconfigure(s, w: Worker, n: Count):
        """A leader publishes a set of n tasks."""
        require(s.may_write(w) & (s.round[w] == Round.NONE) & (0 < n))
        s.publish(n)

    @action
    def ask(s, v: Worker, w: Worker):
        """A worker asks the leader for a round, which fences all ids that the latest count covers, and finds no newer
        set afterwards."""
        require((s.support[v] == Support.ENABLED) & s.leads[w] & s.serves(w))
        require(s.is_pending() & (s.round[w] == Round.NONE))
        s.round[w] = Round.FENCED
        s.round_for[w] = s.generation
        s.round_size[w] = s.size
        with rule("618.12"):
            s.live = each(lambda i: when(i < s.count, None, s.live[i]))

    @action(dead="every worker knows the question before one of them asks it")
    def ask_in_vain(s, v: Worker, w: Worker):
        """The leader does not support requests for a round, and so the Connector or the task has failed until a user
        restarts it."""
        require((s.support[v] == Support.ENABLED) & (s.leader == w) & ~s.serves(w) & s.is_pending())
        s.failed[v] = True

    @action
    def write_count(s, w: Worker):
        require((s.round[w] == Round.FENCED) & s.may_write(w))
        s.counted = s.generation
        s.count = s.round_size[w]
        s.ends_round(w)

    @action
    def write_refused(s, w: Worker):
        require((s.round[w] == Round.FENCED) & ~s.may_write(w))
        s.ends_round(w)

    def ends_round(s, w):
        s.round[w] = Round.NONE
        s.round_for[w] = 0
        s.round_size[w] = 0

    def may_start(s, w, i):
        return ~s.running[w, i] & ~s.failed[w] & (i < s.size)

    def polls(s, w, i):
        s.running[w, i] = True
        s.of[w, i] = s.generation
        counts = either("618.35", s.promised(), polls_before_it_as_well=True)
        s.polled = when(counts, s.generation, s.polled)

    @action
    def start(s, w: Worker, i: Task):
        """A worker with the feature on starts a task of the newest set, which has its count."""
        require((s.support[w] == Support.ENABLED) & s.may_start(w, i) & (s.generation > 0))
        require(s.counted == s.generation, rule="618.15")
        s.live[i] = w
        s.plain[w, i] = False
        s.polls(w, i)

    @action
    def start_plain(s, w: Worker, i: Task):
        """A worker without the feature starts a task of the newest set with a plain producer, and does not ask for a
        round."""
        require((s.support[w] != Support.ENABLED) & s.may_start(w, i) & (s.generation > 0))
        s.plain[w, i] = True
        s.polls(w, i)

    @action
    def stop(s, w: Worker, i: Task):
        require(s.running[w, i])
        s.running[w, i] = False
        s.plain[w, i] = False
        s.of[w, i] = 0
        s.live[i] = when(s.live[i] == w, None, s.live[i])

    def can_commit(s, w, i):
        return s.running[w, i] & (s.plain[w, i] | (s.live[i] == w))


class ClaimedEarly(Upgrades):
    """The guarantee is claimed once every worker has the new version and one of them has the feature on."""

    def promised(s):
        ready = forall(Worker, lambda w: s.support[w] != Support.NONE)
        return ready & exists(Worker, lambda w: s.support[w] == Support.ENABLED)


class MassUpgrade(Upgrades):
    """All workers are stopped, upgraded, and started again."""

    @action(danger="client-crash")
    def restart(s, w: Worker, support: Support):
        require(s.support[w] == support)
        s.falls_silent(w)

    @action(by="operator")
    def upgrade_all(s):
        require(forall(Worker, lambda w: s.support[w] == Support.NONE))
        s.support = each(lambda w: Support.ENABLED)
        s.leads = each(lambda w: False)
        s.leader = None
        s.running = each(lambda w, i: False)
        s.plain = each(lambda w, i: False)
        s.of = each(lambda w, i: 0)


class Strangers(Upgrades):
    """Every worker has the feature on, and faults add a worker without it, a writer to the topic that is no leader, or
    a task of another cluster whose id is the leader's. The guarantee is claimed all the same."""

    def init(s):
        s.support = each(lambda w: Support.ENABLED)

    def promised(s):
        return s.generation == s.generation

    restart = MassUpgrade.restart

    @fault(budget="without_support", danger="worker-without-support")
    def comes_without(s, w: Worker):
        """A worker is started with an old version, or with the feature off."""
        require(s.support[w] == Support.ENABLED)
        s.falls_silent(w)
        s.support[w] = Support.NONE

    @fault(budget="foreign_sets", by="user")
    def foreign_set(s, n: Count):
        """A follower, or a user's own program, writes a set of task configurations."""
        require(0 < n)
        s.publish(n)

    @fault(budget="foreign_counts", by="user")
    def foreign_count(s, n: Count):
        s.counted = s.generation
        s.count = n

    @fault(budget="shared_ids", danger="id-collision")
    def takes_the_leaders_id(s, w: Worker):
        """A task whose transactional id is that of the leader opens its producer, so that the leader's next write
        fails."""
        require(s.owner == w)
        s.owner = None

    @action
    def claim_again(s, w: Worker):
        """A leader whose write failed opens its producer anew, and fences the task that had its id."""
        require((s.leader == w) & (s.owner != w) & (s.round[w] == Round.NONE))
        s.owner = w
