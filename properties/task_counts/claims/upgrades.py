"""This module states what a cluster that is being upgraded to exactly-once sources promises, from when on, and why.

The idea of the proof: when the first worker asks for a round, every leader already writes with the transactional
producer, so counts are right from the first one on. When the last plain task has gone, the guarantee holds.
"""

from fencepost.model.language import Properties, exists, forall, implies, lemma, promise, witness
from fencepost.model.task_counts.abstract.core import Task, Worker
from fencepost.model.task_counts.parts.upgrades import Round, Support, Upgrades
from fencepost.model.task_counts.parts.upgrades_uncommitted import (
    Afterwards,
    UpgradesWithAborts,
)
from fencepost.model.task_counts.parts.upgrading_in_steps import Start, UpgradesInSteps


class UpgradesProperties(Properties, of=Upgrades):
    """`UpgradesProperties` has the promises from when they apply, and lemmas about upgrade stages and counts."""

    @promise(
        rule="618.P1",
        broken="the guarantee has begun, task {i} on {w} can commit, and a task of a newer set polls",
    )
    def no_zombie(s):
        """Once the guarantee has begun and a task of a set polls, no producer of an earlier set can commit."""
        return implies(
            s.promised(), forall(Worker, Task, lambda w, i: implies(s.can_commit(w, i), s.polled <= s.of[w, i]))
        )

    @promise(
        rule="618.P3",
        broken="the guarantee has begun, and task {i} on {w} can commit, is of an older set, and cannot be "
        "fenced by the newest count",
    )
    def covered(s):
        """Once the guarantee has begun, an instance that can commit is of the newest set or covered and fenceable."""
        return implies(
            s.promised(),
            forall(
                Worker, Task,
                lambda w, i: implies(
                    s.can_commit(w, i), (s.of[w, i] == s.generation) | (~s.plain[w, i] & (i < s.count))
                ),
            ),
        )  # fmt: skip

    @promise(rule="618.35", broken="{w} asks a leader for a round that does not know the request")
    def nobody_asks_in_vain(s):
        """A worker that asks for a round finds a leader that knows the request."""
        return forall(Worker, lambda w: ~s.failed[w])

    @witness(of="no_zombie")
    def old_ones_shut_out(s):
        """The guarantee has begun, and a task can commit while a task of an earlier set still runs but cannot."""
        return s.promised() & exists(
            Worker, Worker, Task, Task,
            lambda v, w, i, j: s.can_commit(v, i) & s.running[w, j] & ~s.can_commit(w, j) & (s.of[w, j] < s.of[v, i]),
        )  # fmt: skip

    @witness(of="covered")
    def one_is_covered(s):
        """A task of an earlier set can commit, and its id is below the count."""
        return s.promised() & exists(Worker, Task, lambda w, i: s.can_commit(w, i) & (s.of[w, i] < s.generation))

    @witness(of="nobody_asks_in_vain")
    def asked_before_all_are_enabled(s):
        """A round is under way while a worker has the feature off."""
        return exists(
            Worker, Worker, lambda v, w: (s.round[v] == Round.FENCED) & (s.support[w] == Support.READY)
        )  # fmt: skip

    def has_begun(s):
        return exists(Worker, lambda w: s.support[w] == Support.ENABLED)

    @lemma
    def on_only_where_all_are_ready(s):
        """While a worker has the old version, no other worker has the feature on."""
        return forall(
            Worker, Worker,
            lambda v, w: implies(s.support[v] == Support.ENABLED, s.support[w] != Support.NONE),
        )  # fmt: skip

    @lemma
    def plain_ones_are_elsewhere(s):
        """A worker with the feature on has no plain task."""
        return forall(Worker, Task, lambda w, i: implies(s.plain[w, i], s.support[w] != Support.ENABLED))

    @lemma
    def nothing_before_the_first_is_on(s):
        """Rounds, counts and transactional tasks exist only once a worker has the feature on."""
        nothing = (s.counted == 0) & (s.count == 0)
        nothing = nothing & forall(Worker, lambda w: s.round[w] == Round.NONE)
        nothing = nothing & forall(Worker, Task, lambda w, i: s.plain[w, i] | ~s.running[w, i])
        return s.has_begun() | nothing

    @lemma
    def numbers(s):
        """No set is counted, polled or run from that was not published."""
        return (
            (s.counted <= s.generation)
            & (s.polled <= s.generation)
            & forall(Worker, Task, lambda w, i: s.of[w, i] <= s.generation)
            & implies(s.is_pending(), (s.polled < s.generation))
            & implies(~s.promised(), s.polled == 0)
        )

    def is_fenceable(s, w, i):
        return s.can_commit(w, i) & ~s.plain[w, i]

    @lemma
    def counts_match(s):
        """A count after the newest set equals its size."""
        return implies(~s.is_pending() & (s.generation > 0), s.count == s.size)

    @lemma
    def fenceable_is_covered(s):
        """A task that can be fenced and has not been fenced has an id below the count. While no newer set waits for its
        count, it is of the newest set."""
        return forall(
            Worker, Task,
            lambda w, i: implies(
                s.is_fenceable(w, i), (i < s.count) & (s.is_pending() | (s.of[w, i] == s.generation))
            ),
        )  # fmt: skip

    @lemma
    def a_round_that_may_write_is_right(s):
        """A worker that has fenced and may still write does so for the newest set, and no producer is left to fence."""
        return forall(
            Worker,
            lambda w: implies(
                (s.round[w] == Round.FENCED) & (s.owner == w),
                s.is_pending()
                & (s.round_for[w] == s.generation)
                & (s.round_size[w] == s.size)
                & forall(Worker, Task, lambda v, i: ~s.is_fenceable(v, i)),
            ),
        )  # fmt: skip


class UpgradesInStepsProperties(UpgradesProperties, of=UpgradesInSteps):
    """`UpgradesInStepsProperties` has the promises where rounds and starts take several steps, so that an old start
    checks again and finds a newer set."""

    @witness(of="covered")
    def opened_too_late(s):
        """A task has opened its producer, and a newer set exists."""
        return s.promised() & exists(
            Worker, Task,
            lambda w, i: (s.start_of[w, i] == Start.OPENED) & (s.start_for[w, i] < s.generation) & (s.live[i] == w),
        )  # fmt: skip

    @lemma
    def nothing_before_the_first_is_on(s):
        """Rounds, counts and transactional tasks exist only once a worker has the feature on."""
        nothing = (s.counted == 0) & (s.count == 0)
        nothing = nothing & forall(Worker, lambda w: (s.round[w] == Round.NONE) & ~s.fencing[w])
        nothing = nothing & forall(Worker, Task, lambda w, i: s.plain[w, i] | ~s.running[w, i])
        return s.has_begun() | nothing

    @lemma
    def starts_are_of_counted_sets(s):
        """A task that is starting does not poll yet and is of a set that had its count."""
        return forall(
            Worker, Task,
            lambda w, i: implies(
                s.start_of[w, i] != Start.NONE,
                (0 < s.start_for[w, i]) & (s.start_for[w, i] <= s.counted) & (s.support[w] == Support.ENABLED)
                & ~s.running[w, i] & implies(s.start_for[w, i] == s.generation, i < s.size),
            ),
        )  # fmt: skip

    @lemma
    def a_round_under_way_is_right(s):
        """A round of a worker that may still write is for the newest set and has each fenceable producer to fence."""
        return forall(
            Worker,
            lambda w: implies(s.fencing[w], s.round[w] == Round.NONE) & implies(
                s.fencing[w] & (s.owner == w),
                s.is_pending()
                & (s.round_for[w] == s.generation)
                & (s.round_size[w] == s.size)
                & forall(Worker, Task, lambda v, i: implies(s.is_fenceable(v, i), i < s.left[w])),
            ),
        )  # fmt: skip


class UpgradesWithAbortsProperties(UpgradesProperties, of=UpgradesWithAborts):
    """`UpgradesWithAbortsProperties` has the promises where writes are aborted and workers read committed ones."""

    @witness(of="covered")
    def another_count_is_seen(s):
        """In read_uncommitted the newest set has its count, while the committed records indicate that it needs one."""
        return s.promised() & s.is_pending() & ~s.seen_pending


class AfterwardsProperties(UpgradesWithAbortsProperties, of=Afterwards):
    """`AfterwardsProperties` has the promises that remain from a later moment on, as Kafka reads the topic."""

    @lemma
    def counts_match(s):
        """Once the cluster is settled, a count after the newest set equals its size."""
        return (s.settled <= s.counted) & implies(
            (0 < s.settled) & ~s.is_pending(), s.all_are_on() & (s.count == s.size)
        )

    @lemma
    def fenceable_is_covered(s):
        """Once the cluster is settled, each later task that can be fenced and is not fenced is below the count."""
        return forall(
            Worker, Task,
            lambda w, i: implies(
                s.is_fenceable(w, i) & (0 < s.settled) & (s.settled <= s.of[w, i]),
                (i < s.count) & (s.is_pending() | (s.of[w, i] == s.generation)),
            ),
        )  # fmt: skip

    @lemma
    def ids_of_the_newest_set(s):
        """A task that was started from the newest set has an id below its size."""
        return forall(
            Worker, Task,
            lambda w, i: implies(s.running[w, i] & (0 < s.of[w, i]) & (s.of[w, i] == s.generation), i < s.size),
        )  # fmt: skip

    @lemma
    def renewed_ones_are_of_sets_since(s):
        """A worker that was restarted since the cluster settled runs only tasks of sets since then."""
        return forall(
            Worker, Task,
            lambda w, i: implies(
                s.renewed[w], (0 < s.settled) & implies(s.running[w, i], s.settled <= s.of[w, i])
            ),
        )  # fmt: skip

    @lemma
    def settled_when_all_are_on(s):
        """Once the cluster is settled, all workers have the feature on and leave it on."""
        return implies(0 < s.settled, s.all_are_on())

    @lemma
    def a_round_that_may_write_is_right(s):
        """A worker with the feature on that has fenced and may still write does so for the newest set. Once the cluster
        is settled, no producer of a set since then is left to fence."""
        return forall(
            Worker,
            lambda w: implies(
                (s.support[w] == Support.ENABLED) & (s.round[w] == Round.FENCED) & (s.owner == w),
                s.is_pending()
                & (s.round_for[w] == s.generation)
                & (s.round_size[w] == s.size)
                & forall(
                    Worker,
                    Task,
                    lambda v, i: ~(s.is_fenceable(v, i) & (0 < s.settled) & (s.settled <= s.of[v, i])),
                ),
            ),
        )
