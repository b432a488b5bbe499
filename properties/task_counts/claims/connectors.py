"""This module states the claims about several connectors: connectors that share a leader, connectors with colliding
names, and deleted connectors.

The idea of the proof: a leader that writes a count still owns the config topic and has claimed it before it looked for
sets, for whichever connector, so no write for this connector has come in between. A round or a start touches only one
thing outside its own connector, a transactional id, which no other connector has.
"""

from fencepost.model.language import (
    Properties,
    exists,
    forall,
    implies,
    leads_to,
    lemma,
    promise,
    service,
    when,
    witness,
)
from fencepost.model.task_counts.abstract.core import Instance, Worker
from fencepost.model.task_counts.parts.collisions import CollidingNames
from fencepost.model.task_counts.parts.collisions import Stage as ClashStage
from fencepost.model.task_counts.parts.connectors import Connector, Connectors, Round, Stage
from fencepost.model.task_counts.parts.deletion import Deletion, TombstoneAfterFencing
from fencepost.model.task_counts.parts.deletion import Round as DeletionRound
from fencepost.model.task_counts.parts.deletion import Stage as DeleteStage


class ConnectorsProperties(Properties, of=Connectors):
    """`ConnectorsProperties` has the promises of each connector and what it notices of the others, followed by lemmas
    about rounds, counts and names."""

    def is_old(s, c, i):
        return s.of[c, i] < s.generation[c]

    @promise(rule="618.P1", broken="{i} of {c} can commit, and a task of a newer set polls")
    def no_zombie(s):
        """Once a task of a set polls, no producer of an earlier set of the same connector can commit."""
        return forall(Connector, Instance, lambda c, i: implies(s.can_commit(c, i), s.polled[c] <= s.of[c, i]))

    @promise(
        rule="618.P3",
        broken="{i} of {c} can commit, is of an older set, and has a task id that no round of the newest count fences",
    )
    def covered(s):
        """An instance that can commit is of its connector's newest set, or has a task id below its count."""
        return forall(
            Connector, Instance,
            lambda c, i: implies(s.can_commit(c, i), ~s.is_old(c, i) | (s.task[c, i] < s.count[c])),
        )  # fmt: skip

    @promise(rule="618.9", broken="{i} of {c} is fenced or shut out on behalf of another connector")
    def only_its_own(s):
        """No task is fenced or shut out on behalf of another connector."""
        return forall(Connector, Instance, lambda c, i: ~s.disturbed[c, i])

    @promise(rule="618.9", broken="a round of one connector fails because a write for another one has failed")
    def no_round_is_lost(s):
        """No round fails at the leader because a write for another connector has failed. In fact such rounds do fail,
        because the leader's producer is gone and comes back only at the next tick."""
        return ~s.lost

    @service(rule="618.2", broken="the newest set of {c} never gets its count")
    def counted_in_the_end(s, c: Connector):
        """The newest set of each connector that exists gets its count, whatever the other connectors do."""
        return leads_to(s.is_pending(c) & ~s.gone[c], ~s.is_pending(c) | s.gone[c])

    @witness(of="only_its_own")
    def rounds_side_by_side(s):
        """Two rounds of different connectors are under way, and each has an id to fence."""
        return exists(
            Worker, Connector, Connector,
            lambda w, c, d: (c != d) & (s.left[w, c] > 0) & (s.left[w, d] > 0),
        )  # fmt: skip

    @witness(of="no_round_is_lost")
    def producer_gone(s):
        """A leader has lost its producer and has a round under way."""
        return exists(Worker, Connector, lambda w, c: (s.leader == w) & ~s.opened[w] & (s.round[w, c] != Round.NONE))

    @witness(of="no_zombie")
    def fenced_beside_another_round(s):
        """A task was fenced in its connector's round, while another connector's task can commit in its own round."""
        return exists(
            Worker, Connector, Connector, Instance, Instance,
            lambda w, c, d, i, j: (c != d) & (s.stage[c, i] == Stage.RUNNING) & ~s.can_commit(c, i)
            & s.can_commit(d, j) & (s.round[w, c] != Round.NONE) & (s.round[w, d] != Round.NONE),
        )  # fmt: skip

    @witness(of="covered")
    def deleted_and_running(s):
        """A connector is deleted, and one of its tasks can commit."""
        return exists(Connector, Instance, lambda c, i: s.gone[c] & s.can_commit(c, i))

    @witness(of="covered")
    def one_is_covered(s):
        """A task of an earlier set can commit, and its id is below the count."""
        return exists(Connector, Instance, lambda c, i: s.can_commit(c, i) & s.is_old(c, i))

    @witness(of="covered")
    def claimed_back(s):
        """A former leader has claimed the topic back for one connector and has an outdated round for another one."""
        return exists(
            Worker, Connector,
            lambda w, c: s.leads[w] & (s.owner == w) & s.opened[w] & (s.leader != w) & (0 < s.fencing[w, c])
            & (s.fencing[w, c] < s.generation[c]),
        )  # fmt: skip

    def has_opened(s, c, i):
        return (s.stage[c, i] == Stage.OPENED) | (s.stage[c, i] == Stage.RUNNING)

    def is_the_only_one(s, c, i):
        return (s.size[c] == 1) & (s.task[c, i] == 0)

    @lemma
    def of_connectors_that_exist(s):
        """Sets, rounds and tasks belong to connectors that were created."""
        return forall(
            Connector,
            lambda c: implies(
                s.prefix[c] == None,  # noqa: E711  symbols have no `is`
                (s.generation[c] == 0) & (s.size[c] == 0) & ~s.gone[c]
                & forall(Worker, lambda w: s.round[w, c] == Round.NONE)
                & forall(Instance, lambda i: s.stage[c, i] == Stage.NONE),
            ),
        )  # fmt: skip

    @lemma
    def names_differ(s):
        """No two connectors have transactional ids with the same prefix."""
        return forall(
            Connector, Connector,
            lambda c, d: (c == d) | (s.prefix[c] == None) | (s.prefix[c] != s.prefix[d]),  # noqa: E711
        )  # fmt: skip

    @lemma
    def sets_in_order(s):
        """No task is ahead of the newest set, whose tasks have ids below its size and producers after its count."""
        return forall(
            Connector, Instance,
            lambda c, i: (s.of[c, i] <= s.generation[c])
            & implies((s.stage[c, i] != Stage.NONE) & ~s.is_old(c, i), s.task[c, i] < s.size[c])
            & implies(s.has_opened(c, i) & s.is_pending(c), s.is_old(c, i))
            & implies(s.stage[c, i] != Stage.NONE, 0 < s.of[c, i]),
        )  # fmt: skip

    @lemma
    def counts_of_the_newest(s):
        """A count record stands after a set that exists. A count after the newest set equals its size, and no task of a
        set polls before its count."""
        return forall(
            Connector,
            lambda c: (s.counted[c] <= s.generation[c]) & (s.polled[c] <= s.counted[c])
            & implies(s.generation[c] == 0, s.size[c] == 0)
            & implies(~s.is_pending(c) & (0 < s.counted[c]), s.count[c] == s.size[c]),
        )  # fmt: skip

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that exists, and a round for the newest set knows that set's size."""
        return forall(
            Worker, Connector,
            lambda w, c: implies(
                s.round[w, c] != Round.NONE,
                s.leads[w] & (0 < s.fencing[w, c]) & (s.fencing[w, c] <= s.generation[c])
                & implies(s.fencing[w, c] == s.generation[c], s.new[w, c] == s.size[c]),
            ),
        )  # fmt: skip

    @lemma
    def opened_later_shuts_out(s):
        """A task that opened its producer for a later set has shut out every earlier instance of the same task."""
        return forall(
            Connector, Instance, Instance,
            lambda c, i, j: implies(
                s.has_opened(c, i) & (s.of[c, j] < s.of[c, i]) & (s.task[c, i] == s.task[c, j]), ~s.can_commit(c, j)
            ),
        )  # fmt: skip

    @lemma
    def left_or_fenced(s):
        """While a round for the newest set goes on, an earlier set's instance that can commit is still to be fenced, or
        is the only one and has the only new task's id. When all ids are fenced, only the latter is possible."""
        return forall(
            Worker, Connector, Instance,
            lambda w, c, i: implies(
                (s.round[w, c] != Round.NONE) & (s.fencing[w, c] == s.generation[c]) & s.can_commit(c, i)
                & s.is_old(c, i),
                s.is_the_only_one(c, i) | ((s.round[w, c] == Round.FENCING) & (s.task[c, i] < s.left[w, c])),
            ),
        )  # fmt: skip

    @lemma
    def counted_is_fenced(s):
        """When the newest set is counted, an earlier set's instance that can commit has the id of its only task."""
        return forall(
            Connector, Instance,
            lambda c, i: implies(s.can_commit(c, i) & s.is_old(c, i) & ~s.is_pending(c), s.is_the_only_one(c, i)),
        )  # fmt: skip

    @lemma
    def writer_is_up_to_date(s):
        """A leader that is about to write a count, and may write, has a round for the newest set of that connector."""
        return forall(
            Worker, Connector,
            lambda w, c: implies(
                (s.round[w, c] == Round.CHECKED) & s.opened[w] & (s.owner == w), s.fencing[w, c] == s.generation[c]
            ),
        )  # fmt: skip


# These are the promises of connectors of several groups whose ids may collide (618.49), where fencing only shuts out
# more.


class CollidingNamesProperties(Properties, of=CollidingNames):
    """`CollidingNamesProperties` has the promises of each connector whose names may collide, the promise that is lost
    (no other connector fences a healthy task), and lemmas."""

    def is_old(s, c, i):
        return s.of[c, i] < s.generation[c]

    no_zombie = ConnectorsProperties.no_zombie

    covered = ConnectorsProperties.covered

    @promise(rule="618.49", broken="{i} of {c} is fenced or shut out on behalf of another connector")
    def only_its_own(s):
        """No producer is fenced, and no worker shut out, on behalf of another connector."""
        return forall(Connector, Instance, lambda c, i: ~s.disturbed[c, i])

    @witness(of="only_its_own")
    def they_fence_one_another(s):
        """Two healthy tasks of different connectors have shut each other out."""
        return exists(
            Connector, Connector, Instance, Instance,
            lambda c, d, i, j: (c != d) & s.disturbed[c, i] & s.disturbed[d, j] & ~s.is_old(c, i) & ~s.is_old(d, j),
        )  # fmt: skip

    @witness(of="no_zombie")
    def an_old_one_shut_out(s):
        """A task of an earlier set still runs but cannot commit."""
        return exists(
            Connector, Instance,
            lambda c, i: (s.stage[c, i] == ClashStage.RUNNING) & ~s.holds[c, i] & s.is_old(c, i) & (s.polled[c] > 0),
        )  # fmt: skip

    one_is_covered = ConnectorsProperties.one_is_covered

    def has_opened(s, c, i):
        return (s.stage[c, i] == ClashStage.OPENED) | (s.stage[c, i] == ClashStage.RUNNING)

    @lemma
    def sets_in_order(s):
        """No task is ahead of the newest set, whose tasks have ids below its size and producers after its count."""
        return forall(
            Connector, Instance,
            lambda c, i: (s.of[c, i] <= s.generation[c])
            & implies((s.stage[c, i] != ClashStage.NONE) & ~s.is_old(c, i), s.task[c, i] < s.size[c])
            & implies(s.has_opened(c, i) & s.pending[c], s.is_old(c, i)),
        ) & forall(
            Connector,
            lambda c: (s.polled[c] <= s.generation[c]) & implies(s.pending[c], s.polled[c] < s.generation[c]),
        )  # fmt: skip

    @lemma
    def counts_of_the_newest(s):
        """A count after the newest set equals its size."""
        return forall(Connector, lambda c: implies(~s.pending[c], s.count[c] == s.size[c]))

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that exists and fences no more ids than the count record covers."""
        return forall(
            Connector,
            lambda c: implies(s.round[c], (s.round_for[c] <= s.generation[c]) & (s.left[c] <= s.count[c]))
            & implies(
                s.round[c] & (s.round_for[c] == s.generation[c]), s.pending[c] & (s.round_size[c] == s.size[c])
            ),
        )  # fmt: skip

    opened_later_shuts_out = ConnectorsProperties.opened_later_shuts_out

    @lemma
    def old_ones_are_to_be_fenced(s):
        """An instance of an earlier set that can commit will be fenced in this round or a later one, or will be shut
        out by the single task of the newest set, of which no task has polled yet."""

        def single(c):
            return (s.count[c] == 1) & (s.size[c] == 1)

        def fenced_later(c, i):
            in_round = s.round[c] & (s.round_for[c] == s.generation[c])
            return (s.task[c, i] < s.count[c]) & implies(in_round, (s.task[c, i] < s.left[c]) | single(c))

        def shut_out_soon(c, i):
            return single(c) & (s.task[c, i] == 0) & (s.polled[c] < s.generation[c])

        return forall(
            Connector, Instance,
            lambda c, i: implies(
                s.can_commit(c, i) & s.is_old(c, i),
                implies(s.pending[c], fenced_later(c, i)) & implies(~s.pending[c], shut_out_soon(c, i)),
            ),
        )  # fmt: skip


# These properties must hold of a connector's tasks when it is deleted and created again.
#
# The idea of the proof: an instance that can commit and is not of the newest set has a task id below the count, and
# below what a round for the newest set has left to fence.


class DeletionProperties(Properties, of=Deletion):
    """`DeletionProperties` has the promises across deletions, followed by lemmas about the numbers of sets, rounds, and
    which tasks are covered."""

    def is_old(s, i):
        return s.of[i] < s.generation

    @promise(rule="618.P1", broken="{i} can commit, and a task of a newer set polls")
    def no_zombie(s):
        """Once a task of a set polls, no producer of an earlier set can commit, even with a deletion in between."""
        return forall(Instance, lambda i: implies(s.can_commit(i), s.polled <= s.of[i]))

    @promise(
        rule="618.P3",
        broken="{i} can commit, is of an older set, and has a task id that the known count does not cover",
    )
    def covered(s):
        """An instance that can commit is of the newest set, or has an id below the count that the leader knows."""
        return forall(
            Instance, lambda i: implies(s.can_commit(i), ~s.is_old(i) | (s.known & s.counted & (s.task[i] < s.count)))
        )

    @service(rule="618.2", broken="the newest set of a connector that exists never gets its count")
    def counted_in_the_end(s):
        """The newest set of a connector that exists gets its count."""
        return leads_to(s.pending & s.present, ~s.pending | ~s.present)

    @witness(of="no_zombie")
    def a_former_life_is_shut_out(s):
        """The connector was deleted and created again, and it has a task that polls while a task from before the
        deletion still runs but cannot commit."""
        return s.present & exists(
            Instance, Instance,
            lambda i, j: s.can_commit(i) & (s.stage[j] == DeleteStage.RUNNING) & ~s.can_commit(j) & (s.of[j] < s.of[i])
            & (s.task[i] != s.task[j]),
        )  # fmt: skip

    @witness(of="covered")
    def a_deleted_one_can_commit(s):
        """The connector is deleted and one of its tasks can commit, which only the count record still covers."""
        return ~s.present & exists(Instance, lambda i: s.can_commit(i) & (s.of[i] > 0))

    @lemma
    def numbers_are_the_same(s):
        """The number that a worker counts for a set equals the place of the set among all sets."""
        return (s.number == s.generation) & forall(
            Instance, lambda i: (s.saw[i] == s.of[i]) & (s.of[i] <= s.generation)
        )

    @lemma
    def memory_is_the_topic(s):
        """The leader knows of a count exactly if a count record exists."""
        return (s.known == s.counted) & implies(~s.counted, s.count == 0)

    @lemma
    def ids_below_the_size(s):
        """A task of the newest set has an id below its size."""
        return forall(
            Instance, lambda i: implies((s.stage[i] != DeleteStage.NONE) & ~s.is_old(i), s.task[i] < s.size)
        )  # fmt: skip

    def is_past_check(s, i):
        return (s.stage[i] != DeleteStage.NONE) & (s.stage[i] != DeleteStage.ASSIGNED)

    def has_opened(s, i):
        return (s.stage[i] == DeleteStage.OPENED) | (s.stage[i] == DeleteStage.RUNNING)

    @lemma
    def nobody_before_the_count(s):
        """While the newest set waits for its count, none of its tasks has passed the check, and none has polled."""
        return (s.polled <= s.generation) & implies(
            s.pending,
            (s.polled < s.generation) & forall(Instance, lambda i: implies(s.is_past_check(i), s.is_old(i))),
        )

    @lemma
    def counts_of_the_newest(s):
        """A count after the newest set equals its size."""
        return implies(~s.pending & s.counted, s.count == s.size) & implies(s.pending, s.generation > 0)

    @lemma
    def nothing_before_the_first(s):
        """Without a count record no instance can commit."""
        return implies(~s.counted, forall(Instance, lambda i: ~s.can_commit(i)) & s.has_no_count_to_expect())

    def has_no_count_to_expect(s):
        return (s.generation == 0) | s.pending

    @lemma
    def sets_from_1(s):
        """A connector that exists has a set, and every instance belongs to a set."""
        return implies(s.present, s.generation > 0) & forall(
            Instance, lambda i: implies(s.stage[i] != DeleteStage.NONE, s.of[i] > 0)
        )

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that exists and fences no more ids than the count record covers."""
        return (
            implies(s.round == DeletionRound.FENCING, s.round_for <= s.number)
            & implies(
                (s.round == DeletionRound.FENCING) & (s.round_for == s.number), s.pending & (s.round_size == s.size)
            )
            & implies(s.round != DeletionRound.NONE, s.left <= s.count)
        )

    @lemma
    def cleaning_up(s):
        """A deletion starts no round."""
        return s.round != DeletionRound.CLEANING

    @lemma
    def opened_later_shuts_out(s):
        """An instance that opened its producer for a later set has shut out every earlier instance with the same id."""
        return forall(
            Instance, Instance,
            lambda i, j: implies(
                s.has_opened(i) & (s.of[j] < s.of[i]) & (s.task[i] == s.task[j]), ~s.can_commit(j)
            ),
        )  # fmt: skip

    def is_shut_out_by_the_new_one(s):
        return (s.count == 1) & (s.size == 1)

    @lemma
    def old_ones_are_to_be_fenced(s):
        """An instance of an earlier set that can commit will be fenced in this round or a later one, or will be shut
        out by the single task of the newest set, of which no task has polled yet."""

        def fenced_later(i):
            in_round = (s.round == DeletionRound.FENCING) & (s.round_for == s.number)
            return (s.task[i] < s.count) & implies(in_round, (s.task[i] < s.left) | s.is_shut_out_by_the_new_one())

        def shut_out_soon(i):
            return s.is_shut_out_by_the_new_one() & (s.task[i] == 0) & (s.polled < s.generation)

        return forall(
            Instance,
            lambda i: implies(
                s.can_commit(i),
                implies(s.is_old(i) & s.pending, fenced_later(i))
                & implies(s.is_old(i) & ~s.pending, shut_out_soon(i)),
            ),
        )  # fmt: skip


class TombstoneAfterFencingProperties(DeletionProperties, of=TombstoneAfterFencing):
    """`TombstoneAfterFencingProperties` has the promises of a connector whose tasks are fenced when it is deleted, and
    the claims about what this fencing saves."""

    def has_no_count_to_expect(s):
        return s.pending | ~s.present

    @lemma
    def cleaning_up(s):
        """When a connector is deleted, each of its instances that can commit is still to be fenced in the round."""
        return implies(
            s.round == DeletionRound.CLEANING,
            ~s.present & forall(Instance, lambda i: implies(s.can_commit(i), s.task[i] < s.left)),
        )

    @lemma
    def fenced_before_it_is_removed(s):
        """While a count is being removed, each task that is not fenced yet is still to be fenced. When the count is
        removed, all of them are fenced."""
        counts = when(s.known, s.count, 0)
        return implies(s.round == DeletionRound.CLEANING, counts <= s.spent + s.left) & (s.removed <= s.spent)

    @lemma
    def spared_by_what_is_gone(s):
        """The number of fencings that were spared is at most the count that was removed."""
        return s.spared <= s.removed

    @promise(rule="618.38", broken="a creation is spared more fencing than the deletion before it has done")
    def nothing_saved(s):
        """What a creation does not have to fence is no more than what the deletion before it has fenced."""
        return s.spared <= s.spent

    @witness(of="nothing_saved")
    def fenced_for_nothing(s):
        """A connector was created again for one task, which would have shut out the former task without any fencing."""
        return (s.spared == 0) & (s.spent == 1) & s.present & s.counted
