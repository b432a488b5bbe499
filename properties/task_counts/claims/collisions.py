"""What connectors of several groups promise whose ids may collide (618.49): fencing then only shuts out more."""

from fencepost.model.language import Properties, exists, forall, implies, lemma, promise, witness
from fencepost.model.task_counts.abstract.core import Instance
from fencepost.model.task_counts.parts.collisions import CollidingNames, Stage
from fencepost.model.task_counts.parts.connectors import Connector


class CollidingNamesProperties(Properties, of=CollidingNames):
    """The promises of each connector, and what is lost: that no other one fences a healthy task; then lemmas."""

    def is_old(s, c, i):
        return s.of[c, i] < s.generation[c]

    @promise(rule="618.P1")
    def no_zombie(s):
        """Once a task of a set polls, no producer of an earlier set of that connector can commit."""
        return forall(Connector, Instance, lambda c, i: implies(s.can_commit(c, i), s.polled[c] <= s.of[c, i]))

    @promise(rule="618.P3")
    def covered(s):
        """Who can commit is of the newest set of its connector, or below its count."""
        return forall(
            Connector, Instance,
            lambda c, i: implies(s.can_commit(c, i), ~s.is_old(c, i) | (s.task[c, i] < s.count[c])),
        )  # fmt: skip

    @promise(rule="618.49")
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
        """A task of an earlier set still runs, unable to commit."""
        return exists(
            Connector, Instance,
            lambda c, i: (s.stage[c, i] == Stage.RUNNING) & ~s.holds[c, i] & s.is_old(c, i) & (s.polled[c] > 0),
        )  # fmt: skip

    @witness(of="covered")
    def one_is_covered(s):
        """A task of an earlier set can commit, and its id is below the count."""
        return exists(Connector, Instance, lambda c, i: s.can_commit(c, i) & s.is_old(c, i))

    def has_opened(s, c, i):
        return (s.stage[c, i] == Stage.OPENED) | (s.stage[c, i] == Stage.RUNNING)

    @lemma
    def sets_in_order(s):
        """No task is ahead of the newest set, whose tasks have ids below its size, and are up only after its count."""
        return forall(
            Connector, Instance,
            lambda c, i: (s.of[c, i] <= s.generation[c])
            & implies((s.stage[c, i] != Stage.NONE) & ~s.is_old(c, i), s.task[c, i] < s.size[c])
            & implies(s.has_opened(c, i) & s.pending[c], s.is_old(c, i)),
        ) & forall(
            Connector,
            lambda c: (s.polled[c] <= s.generation[c]) & implies(s.pending[c], s.polled[c] < s.generation[c]),
        )  # fmt: skip

    @lemma
    def counts_of_the_newest(s):
        """A count after the newest set is its size."""
        return forall(Connector, lambda c: implies(~s.pending[c], s.count[c] == s.size[c]))

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that there is, and fences no more than the count says."""
        return forall(
            Connector,
            lambda c: implies(s.round[c], (s.round_for[c] <= s.generation[c]) & (s.left[c] <= s.count[c]))
            & implies(
                s.round[c] & (s.round_for[c] == s.generation[c]), s.pending[c] & (s.round_size[c] == s.size[c])
            ),
        )  # fmt: skip

    @lemma
    def opened_later_shuts_out(s):
        """Who opened its producer for a later set has shut out who ran before as the same task."""
        return forall(
            Connector, Instance, Instance,
            lambda c, i, j: implies(
                s.has_opened(c, i) & (s.of[c, j] < s.of[c, i]) & (s.task[c, i] == s.task[c, j]), ~s.can_commit(c, j)
            ),
        )  # fmt: skip

    @lemma
    def old_ones_are_to_be_fenced(s):
        """Who can commit and is of an older set will be fenced in this round or a later one, or shut out by the single
        task of the newest set, of which none has polled yet."""

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
