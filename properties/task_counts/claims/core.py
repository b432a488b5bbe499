"""KIP-618 promises about who may run that earlier generations are fenced and counts cover the tasks left."""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    progress,
    promise,
    service,
    step,
    witness,
)
from fencepost.model.task_counts.abstract.as_shipped import (
    Claiming,
    ClaimsRefused,
    ClaimsTaken,
    Lingering,
)
from fencepost.model.task_counts.abstract.core import Generation, Instance, Round, Stage, Worker
from fencepost.model.task_counts.abstract.cores import (
    ACore,
    BCore,
    MCore,
    ShippedCore,
)
from fencepost.model.task_counts.abstract.removed import Removed


class Promises(Properties):
    """`Promises` has the promises of one connector, whose instance can commit if it polls and is not fenced."""

    @promise(rule="618.P1", broken="{k} can commit, and a task of a newer generation polls")
    def no_zombie(s):
        """Once a task of one generation polls, no task of an earlier generation can commit."""
        return forall(Instance, lambda k: implies(s.can_commit(k), s.polled <= s.set_of(k)))

    @promise(
        rule="618.P3",
        broken="{k} can commit, is not of the newest set, and has a task id that the next round does not fence",
    )
    def all_covered(s):
        """An instance that can commit is of the newest set, or has a task id that the next round fences."""
        return forall(
            Instance,
            lambda k: implies(s.can_commit(k), (s.set_of(k) == s.generation) | (s.task[k] < s.count)),
        )

    @step(rule="618.26", broken="a count record is written after another set than the one that its round was for")
    def latest_leader_writes(old, new):
        """No count record is written after a set other than the set that its round was for."""
        written = old.counted != new.counted
        return implies(
            written, exists(Worker, lambda w: (old.owner == w) & (old.fencing[w] == old.generation) & old.leads[w])
        )

    @promise(rule="618.P1", broken="{j} and {k} are of one task, and both can commit")
    def one_of_each(s):
        """No two instances of one task can commit at the same time, whichever sets they are of."""
        return forall(
            Instance, Instance,
            lambda j, k: implies(s.can_commit(j) & s.can_commit(k) & (s.task[j] == s.task[k]), j == k),
        )  # fmt: skip

    @progress(rule="618.2", broken="no count record ever follows the newest set, so that its tasks never start")
    def counted_in_the_end(s):
        """A count record follows the newest set, so that its tasks may start."""
        return leads_to(s.counted < s.generation, s.counted == s.generation)

    @witness(of="no_zombie")
    def a_zombie_shut_out(s):
        """A task of an earlier set still runs but cannot commit, while a task of a later set can."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.RUNNING) & ~s.live[j] & s.can_commit(k) & (s.of[j] < s.of[k]),
        )

    @witness(of="one_of_each")
    def one_task_twice(s):
        """Two instances poll for one task of one set, and one of them cannot commit (KAFKA-9184)."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & (s.stage[k] == Stage.RUNNING) & (j != k) & (s.task[j] == s.task[k])
            & (s.of[j] == s.of[k]),
        )  # fmt: skip

    @witness(of="all_covered")
    def an_earlier_task_left(s):
        """A newer set exists, and a task of an earlier set can still commit."""
        return exists(Instance, lambda k: s.can_commit(k) & (s.of[k] < s.generation))

    @witness(of="all_covered")
    def fenced_by_its_successor(s):
        """The newest set is counted, and an earlier task can commit that is the only one and has the new task's id."""
        return (s.counted == s.generation) & exists(
            Instance, lambda k: s.can_commit(k) & (s.of[k] < s.generation) & (s.size == 1)
        )

    @witness(of="no_zombie")
    def woken_up_late(s):
        """A stalled start of an earlier set opens its producer at last and fences a task that polls."""
        return exists(
            Instance,
            Instance,
            lambda j, k: (s.stage[j] == Stage.PRODUCER) & s.live[j] & (s.of[j] < s.of[k]) & (s.task[j] == s.task[k])
            & (s.stage[k] == Stage.RUNNING) & ~s.live[k] & (s.of[k] == s.generation),
        )  # fmt: skip

    @witness(of="latest_leader_writes")
    def a_former_leader_about_to_write(s):
        """A former leader is about to write a count although a newer set already exists."""
        return exists(
            Worker,
            lambda w: (s.round[w] == Round.CHECKED) & s.leads[w] & (s.owner != w) & (s.fencing[w] < s.generation),
        )

    @witness(of="counted_in_the_end")
    def a_set_not_counted(s):
        """A set waits for its count record, after an earlier set that has one."""
        return (0 < s.counted) & (s.counted < s.generation)


# These properties state that tasks get to poll in the cores. Without them, a rule that stops all starts would count as
# redundant.


class Serving(Properties):
    """`Serving` has the liveness promises of starts that do not stop or fail and that no newer set overtakes."""

    @service(rule="618.P4", broken="{k} of the newest set is starting, and never polls nor stops")
    def polls_or_stops(s, k: Instance):
        """A task of the newest set that is starting polls in the end, unless it is stopped or a newer set comes."""
        return leads_to(
            s.is_starting(k) & (s.of[k] == s.generation),
            (s.stage[k] == Stage.RUNNING) | (s.stage[k] == Stage.NONE) | (s.of[k] < s.generation),
        )

    def is_starting(s, k):
        return (s.stage[k] != Stage.NONE) & (s.stage[k] != Stage.RUNNING)

    @witness(of="polls_or_stops")
    def starts_beside_an_earlier_one(s):
        """A task of the newest set is starting while a task of an earlier set can still commit."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & s.is_starting(k) & (s.of[j] < s.of[k]) & (s.of[k] == s.generation),
        )  # fmt: skip


# These lemmas state why the cores fulfil the promises, with any number of workers, instances, tasks and sets.
#
# The idea of the proof: between a set and its count none of its tasks polls. While a set is the newest, the number of
# instances that can commit therefore only falls during its round.


class CoreLemmas(Promises, Serving):
    """The lemmas of `CoreLemmas` hold of every core."""

    @lemma
    def counts_follow_sets(s):
        """The latest count record stands after an existing set, or there is no count record."""
        return s.counted <= s.generation

    @lemma
    def started_from_a_set(s):
        """Every instance was started from a set that exists."""
        return forall(Instance, lambda k: (s.of[k] <= s.generation) & implies(s.stage[k] != Stage.NONE, 0 < s.of[k]))

    @lemma
    def checked_is_counted(s):
        """An instance of the newest set has passed its check only if that set is counted."""
        return forall(
            Instance,
            lambda k: implies(
                (s.stage[k] != Stage.NONE) & (s.stage[k] != Stage.ASSIGNED) & (s.of[k] == s.generation),
                s.generation <= s.counted,
            ),
        )

    @lemma
    def id_of_the_set(s):
        """An instance of the newest set has an id below the set's size."""
        return forall(
            Instance,
            lambda k: implies((s.stage[k] != Stage.NONE) & (s.of[k] == s.generation), s.task[k] < s.size),
        )

    @lemma
    def count_covers_the_set(s):
        """A count after the newest set is at least the set's size."""
        return implies((s.counted == s.generation) & (0 < s.counted), s.size <= s.count)

    @lemma
    def first_count_first(s):
        """Before the first count record no instance polls."""
        return implies(s.counted == 0, forall(Instance, lambda k: s.stage[k] != Stage.RUNNING))

    @lemma
    def polled_is_past(s):
        """No instance polls before its set is committed and counted."""
        return s.polled <= s.counted

    @lemma
    def round_is_for_a_set(s):
        """A round is for a set that exists, and a round for the newest set knows that set's size."""
        return forall(
            Worker,
            lambda w: implies(
                s.round[w] != Round.NONE,
                (s.fencing[w] <= s.generation) & implies(s.fencing[w] == s.generation, s.new[w] == s.size),
            ),
        )

    @lemma
    def left_or_fenced(s):
        """While a round for the newest set goes on, an instance of an earlier set that can commit is still to be
        fenced, or is the only one and has the id of the only new task."""
        return forall(
            Worker,
            Instance,
            lambda w, k: implies(
                (s.round[w] == Round.FENCING)
                & (s.fencing[w] == s.generation)
                & s.can_commit(k)
                & (s.of[k] < s.generation),
                s.left[w, s.task[k]] | s.is_the_only_one(k),
            ),
        )

    @lemma
    def checked_is_fenced(s):
        """When a round for the newest set has fenced and checked, an instance of an earlier set that can commit is the
        only one and has the id of the only new task."""
        return forall(
            Worker,
            Instance,
            lambda w, k: implies(
                (s.round[w] == Round.CHECKED)
                & (s.fencing[w] == s.generation)
                & s.can_commit(k)
                & (s.of[k] < s.generation),
                s.is_the_only_one(k),
            ),
        )

    @lemma
    def counted_is_fenced(s):
        """When the newest set is counted, an earlier set's instance that can commit has the id of its only task."""
        return forall(
            Instance,
            lambda k: implies(
                (s.counted == s.generation) & s.can_commit(k) & (s.of[k] < s.generation), s.is_the_only_one(k)
            ),
        )

    def is_the_only_one(s, k):
        return (s.size == 1) & (s.task[k] == 0)

    @lemma
    def successor_has_the_id(s):
        """An instance that can commit is not of an earlier set than another that has opened a producer of its id."""
        return forall(
            Instance,
            Instance,
            lambda j, k: implies(s.can_commit(j) & s.has_opened(k) & (s.task[j] == s.task[k]), s.of[k] <= s.of[j]),
        )

    def has_opened(s, k):
        return (s.stage[k] == Stage.PRODUCER) | (s.stage[k] == Stage.RUNNING)

    @lemma
    def one_newest_epoch(s):
        """A producer that is not fenced was opened, and is the only unfenced producer of its id."""
        return forall(Instance, lambda k: implies(s.live[k], s.has_opened(k))) & forall(
            Instance, Instance, lambda j, k: implies(s.live[j] & s.live[k] & (s.task[j] == s.task[k]), j == k)
        )

    @lemma
    def writer_is_up_to_date(s):
        """A worker that may write its count has a round for the newest set."""
        return forall(
            Worker,
            lambda w: implies((s.round[w] == Round.CHECKED) & (s.owner == w), s.fencing[w] == s.generation),
        )

    @lemma
    def rounds_of_leaders(s):
        """A worker that has a round under way believes that it is the leader."""
        return forall(Worker, lambda w: implies(s.round[w] != Round.NONE, s.leads[w]))


class ALemmas(CoreLemmas, of=ACore):
    """`ALemmas` has the lemmas of revision A: rounds on the leader's only thread, with old views of the topic."""

    @lemma
    def covered_is_counted(s):
        """Every set that was counted when it was the newest has a count record."""
        return forall(Generation, lambda g: implies(s.covered[g], g <= s.counted))

    @lemma
    def busy_is_up_to_date(s):
        """A worker that is not shut out of the topic and has a round under way has it for the newest set."""
        return forall(
            Worker,
            lambda w: implies((s.round[w] != Round.NONE) & (s.owner == w), s.fencing[w] == s.generation),
        )


class MLemmas(CoreLemmas, of=MCore):
    """`MLemmas` has the lemmas of revision M: rounds in parallel to the leader's thread, with old views."""

    covered_is_counted = ALemmas.covered_is_counted


class BLemmas(CoreLemmas, of=BCore):
    """`BLemmas` has the lemmas of revision B, where every start asks for a round and reads to the topic's end."""

    @lemma
    def answered_is_counted(s):
        """An instance that has an answer is of a set that is counted, or is not of the newest set."""
        return forall(
            Instance,
            lambda k: implies(
                s.answered[k],
                (s.stage[k] == Stage.ASSIGNED) & implies(s.of[k] == s.generation, s.generation <= s.counted),
            ),
        )


class ShippedLemmas(CoreLemmas, of=ShippedCore):
    """`ShippedLemmas` has the lemmas of the shipped protocol, where every start asks for a round and waits."""


class LingeringLemmas(ShippedLemmas, of=Lingering):
    """`LingeringLemmas` has the lemmas of rounds that are over and still answer."""

    @lemma
    def over_is_counted(s):
        """The set of a round that is over was counted."""
        return forall(Worker, lambda w: s.over[w] <= s.counted)

    @witness(of="no_zombie")
    def met_after_a_newer_set(s):
        """A task of the newest set is starting, and a leader has a round of an earlier set that is over."""
        return exists(
            Worker,
            Instance,
            lambda w, k: s.leads[w] & (0 < s.over[w]) & (s.over[w] < s.generation) & (s.of[k] == s.generation)
            & (s.stage[k] == Stage.ASSIGNED),
        )  # fmt: skip


class ClaimingLemmas(ShippedLemmas, of=Claiming):
    """`ClaimingLemmas` has the lemmas of tasks that are claimed and started again."""

    @lemma
    def id_of_the_set(s):
        """An instance whose configuration is of the newest set has an id below its size."""
        return forall(
            Instance,
            lambda k: implies((s.stage[k] != Stage.NONE) & (s.configured[k] == s.generation), s.task[k] < s.size),
        )

    @lemma
    def polls_as_configured(s):
        """An instance that polls has the configuration of the set that it was started from, and no instance has the
        configuration of a later set."""
        return forall(
            Instance,
            lambda k: (s.configured[k] <= s.of[k]) & implies(s.stage[k] == Stage.RUNNING, s.configured[k] == s.of[k]),
        )

    @lemma
    def has_its_own_configuration(s):
        """An instance that starts from the newest set with an older configuration has a task that the set lacks."""
        return forall(
            Instance,
            lambda k: implies(
                (s.stage[k] != Stage.NONE) & (s.of[k] == s.generation) & (s.configured[k] < s.of[k]),
                s.size <= s.task[k],
            ),
        )

    def are_configured_as_started(s):
        return forall(Instance, lambda k: s.configured[k] == s.of[k])

    @witness(of="no_zombie")
    def a_task_that_is_no_more(s):
        """A worker has a task that the newest set does not have, while a task of that set polls."""
        return exists(
            Instance,
            Instance,
            lambda j, k: s.can_commit(j) & (s.of[j] == s.generation) & (s.stage[k] != Stage.NONE)
            & (s.of[k] < s.generation) & (s.size <= s.task[k]),
        )  # fmt: skip


class ClaimsTakenLemmas(ClaimingLemmas, of=ClaimsTaken):
    """`ClaimsTakenLemmas` has the lemmas for the case that the assignor takes claimed tasks into account."""

    @lemma
    def has_its_own_configuration(s):
        """A configuration is of the set that its instance was started from."""
        return s.are_configured_as_started()


class ClaimsRefusedLemmas(ClaimingLemmas, of=ClaimsRefused):
    """`ClaimsRefusedLemmas` has the lemmas for a worker that refuses to start the claimed task it was left with."""


class ClaimsRefusedMutantLemmas(ClaimsRefusedLemmas, of=ClaimsRefused):
    """The lemmas of `ClaimsRefusedMutantLemmas` are for mutants that refuse the claimed task in one place only. If that
    place is the start, the second check has nothing left to refuse."""

    @lemma
    def configured_as_started(s):
        """A configuration is of the set that its instance was started from."""
        return s.are_configured_as_started()


class RemovedLemmas(ClaimingLemmas, of=Removed):
    """`RemovedLemmas` has the lemmas of tasks that are started again by a set which their worker has read."""

    @lemma
    def sizes_are_known(s):
        """The newest set has as many tasks as its leader gave it."""
        return implies(0 < s.generation, s.tasks_of[s.generation] == s.size)

    @lemma
    def has_its_own_configuration(s):
        """An instance that has an older configuration than its set has a task which that set lacks."""
        return forall(
            Instance,
            lambda k: implies((s.stage[k] != Stage.NONE) & (s.configured[k] < s.of[k]), ~s.has_task(k, s.of[k])),
        )


class RepairedLemmas(RemovedLemmas, of=Removed):
    """`RepairedLemmas` has the lemmas of the repairs by which no task is started again that its set does not have."""

    @lemma
    def has_its_own_configuration(s):
        """A configuration is of the set that its instance was started from."""
        return s.are_configured_as_started()
