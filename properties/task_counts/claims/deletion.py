"""What has to stay true of a connector's tasks when it is deleted and created again, and why it does.

The idea of the proof: an instance that can commit and is not of the newest set has a task id below the count, and below
what a round for the newest set has left to fence.
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
from fencepost.model.task_counts.abstract.core import Instance
from fencepost.model.task_counts.parts.deletion import Deletion, LateFences, Round, Stage, TombstoneAfterFencing


class DeletionProperties(Properties, of=Deletion):
    """The promises across deletions; then lemmas about names of sets, rounds, and who is covered."""

    def is_old(s, i):
        return s.of[i] < s.generation

    @promise(rule="618.P1")
    def no_zombie(s):
        """Once a task of a set polls, no producer of an earlier one can commit, even if the connector was deleted in
        between."""
        return forall(Instance, lambda i: implies(s.can_commit(i), s.polled <= s.of[i]))

    @promise(rule="618.P3")
    def covered(s):
        """Who can commit is of the newest set, or below the count that the leader knows."""
        return forall(
            Instance, lambda i: implies(s.can_commit(i), ~s.is_old(i) | (s.known & s.counted & (s.task[i] < s.count)))
        )

    @service(rule="618.2")
    def counted_in_the_end(s):
        """The newest set of a connector that exists gets its count."""
        return leads_to(s.pending & s.present, ~s.pending | ~s.present)

    @witness(of="no_zombie")
    def a_former_life_is_shut_out(s):
        """The connector was deleted and created again, with a task that polls beside one of its former life that can't
        commit."""
        return s.present & exists(
            Instance, Instance,
            lambda i, j: s.can_commit(i) & (s.stage[j] == Stage.RUNNING) & ~s.can_commit(j) & (s.of[j] < s.of[i])
            & (s.task[i] != s.task[j]),
        )  # fmt: skip

    @witness(of="covered")
    def a_deleted_one_can_commit(s):
        """The connector is gone, and a task of it can commit: the count is all that tells of it."""
        return ~s.present & exists(Instance, lambda i: s.can_commit(i) & (s.of[i] > 0))

    @lemma
    def numbers_are_the_same(s):
        """What a worker counts is the place of a set among all of them."""
        return (s.number == s.generation) & forall(
            Instance, lambda i: (s.saw[i] == s.of[i]) & (s.of[i] <= s.generation)
        )

    @lemma
    def memory_is_the_topic(s):
        """The leader knows of a count exactly if there is one."""
        return (s.known == s.counted) & implies(~s.counted, s.count == 0)

    @lemma
    def ids_below_the_size(s):
        """A task of the newest set has an id below its size."""
        return forall(
            Instance, lambda i: implies((s.stage[i] != Stage.NONE) & ~s.is_old(i), s.task[i] < s.size)
        )  # fmt: skip

    def is_past_check(s, i):
        return (s.stage[i] != Stage.NONE) & (s.stage[i] != Stage.ASSIGNED)

    def has_opened(s, i):
        return (s.stage[i] == Stage.OPENED) | (s.stage[i] == Stage.RUNNING)

    @lemma
    def nobody_before_the_count(s):
        """While the newest set waits for its count, none of its tasks has passed the check, and none has polled."""
        return (s.polled <= s.generation) & implies(
            s.pending,
            (s.polled < s.generation) & forall(Instance, lambda i: implies(s.is_past_check(i), s.is_old(i))),
        )

    @lemma
    def counts_of_the_newest(s):
        """A count after the newest set is its size."""
        return implies(~s.pending & s.counted, s.count == s.size) & implies(s.pending, s.generation > 0)

    @lemma
    def nothing_before_the_first(s):
        """Without a count no instance can commit."""
        return implies(~s.counted, forall(Instance, lambda i: ~s.can_commit(i)) & s.has_no_count_to_expect())

    def has_no_count_to_expect(s):
        return (s.generation == 0) | s.pending

    @lemma
    def sets_from_1(s):
        """A connector that exists has a set, and a task is of one."""
        return implies(s.present, s.generation > 0) & forall(
            Instance, lambda i: implies(s.stage[i] != Stage.NONE, s.of[i] > 0)
        )

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that there is, and fences no more than the count says."""
        return (
            implies(s.round == Round.FENCING, s.round_for <= s.number)
            & implies((s.round == Round.FENCING) & (s.round_for == s.number), s.pending & (s.round_size == s.size))
            & implies(s.round != Round.NONE, s.left <= s.count)
        )

    @lemma
    def cleaning_up(s):
        """A deletion starts no round."""
        return s.round != Round.CLEANING

    @lemma
    def opened_later_shuts_out(s):
        """Who opened its producer for a later set has shut out who ran before under the same id."""
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
        """Who can commit and is of an older set will be fenced in this round or a later one, or shut out by the single
        task of the newest set, of which none has polled yet."""

        def fenced_later(i):
            in_round = (s.round == Round.FENCING) & (s.round_for == s.number)
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


class LateFencesProperties(DeletionProperties, of=LateFences):
    """The promises where requests to fence come late, which shut out a task too many, and never spare one."""


class TombstoneAfterFencingProperties(DeletionProperties, of=TombstoneAfterFencing):
    """The promises of a connector that is fenced when it is deleted, and what this fencing saves."""

    def has_no_count_to_expect(s):
        return s.pending | ~s.present

    @lemma
    def cleaning_up(s):
        """A connector that is being deleted is gone, and who can commit is still to be fenced."""
        return implies(
            s.round == Round.CLEANING,
            ~s.present & forall(Instance, lambda i: implies(s.can_commit(i), s.task[i] < s.left)),
        )

    @lemma
    def fenced_before_it_is_removed(s):
        """While a count is being removed, the tasks not fenced yet are still to be; when it is gone, all are fenced."""
        counts = when(s.known, s.count, 0)
        return implies(s.round == Round.CLEANING, counts <= s.spent + s.left) & (s.removed <= s.spent)

    @lemma
    def spared_by_what_is_gone(s):
        """No more is spared than the count said that was removed."""
        return s.spared <= s.removed

    @promise(rule="618.38")
    def nothing_saved(s):
        """What a creation does not have to fence, the deletion before it has fenced, and no less."""
        return s.spared <= s.spent

    @witness(of="nothing_saved")
    def fenced_for_nothing(s):
        """A connector was created again for one task, which would have shut out the former one without any fencing."""
        return (s.spared == 0) & (s.spent == 1) & s.present & s.counted
