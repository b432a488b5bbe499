"""What connectors of one group promise that share a leader, its thread and its producer; and why.

The idea of the proof: who writes a count still has the topic, and has claimed it before it looked, for whatever
connector; so nothing of this connector has come in between.  And all that a round or a start touches outside of its own
connector is an id, which no other connector has.
"""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, lemma, promise, service, witness
from fencepost.model.task_counts.abstract.core import Instance, Worker
from fencepost.model.task_counts.parts.connectors import Connector, Connectors, Round, Stage


class ConnectorsProperties(Properties, of=Connectors):
    """The promises of each connector, and what of the others it feels; then lemmas about rounds, counts and names."""

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

    @promise(rule="618.9")
    def only_its_own(s):
        """No task is fenced or shut out on behalf of another connector."""
        return forall(Connector, Instance, lambda c, i: ~s.disturbed[c, i])

    @promise(rule="618.9")
    def no_round_is_lost(s):
        """No round fails at the leader because a write for another connector has failed.  It does: the producer is
        gone, and comes back at the next tick only."""
        return ~s.lost

    @service(rule="618.2")
    def counted_in_the_end(s, c: Connector):
        """The newest set of each connector that is there gets its count, whatever the others do."""
        return leads_to(s.is_pending(c) & ~s.gone[c], ~s.is_pending(c) | s.gone[c])

    @witness(of="only_its_own")
    def rounds_side_by_side(s):
        """Two rounds are under way, each with an id to fence."""
        return exists(
            Worker, Connector, Connector,
            lambda w, c, d: (c != d) & (s.left[w, c] > 0) & (s.left[w, d] > 0),
        )  # fmt: skip

    @witness(of="no_round_is_lost")
    def producer_gone(s):
        """A leader has lost its producer, and has a round under way."""
        return exists(Worker, Connector, lambda w, c: (s.leader == w) & ~s.opened[w] & (s.round[w, c] != Round.NONE))

    @witness(of="no_zombie")
    def fenced_beside_another_round(s):
        """A task was fenced in its connector's round, while a task of another connector can commit during a round of
        its own."""
        return exists(
            Worker, Connector, Connector, Instance, Instance,
            lambda w, c, d, i, j: (c != d) & (s.stage[c, i] == Stage.RUNNING) & ~s.can_commit(c, i)
            & s.can_commit(d, j) & (s.round[w, c] != Round.NONE) & (s.round[w, d] != Round.NONE),
        )  # fmt: skip

    @witness(of="covered")
    def deleted_and_running(s):
        """A connector is gone, and a task of it can commit."""
        return exists(Connector, Instance, lambda c, i: s.gone[c] & s.can_commit(c, i))

    @witness(of="covered")
    def one_is_covered(s):
        """A task of an earlier set can commit, and its id is below the count."""
        return exists(Connector, Instance, lambda c, i: s.can_commit(c, i) & s.is_old(c, i))

    @witness(of="covered")
    def claimed_back(s):
        """A former leader has claimed the topic back for one connector, and has a round for another that is late."""
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
        """Sets, rounds and tasks are of connectors that were created."""
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
        """No two connectors have ids that begin alike."""
        return forall(
            Connector, Connector,
            lambda c, d: (c == d) | (s.prefix[c] == None) | (s.prefix[c] != s.prefix[d]),  # noqa: E711
        )  # fmt: skip

    @lemma
    def sets_in_order(s):
        """No task is ahead of the newest set, whose tasks have ids below its size, and are up only after its count."""
        return forall(
            Connector, Instance,
            lambda c, i: (s.of[c, i] <= s.generation[c])
            & implies((s.stage[c, i] != Stage.NONE) & ~s.is_old(c, i), s.task[c, i] < s.size[c])
            & implies(s.has_opened(c, i) & s.is_pending(c), s.is_old(c, i))
            & implies(s.stage[c, i] != Stage.NONE, 0 < s.of[c, i]),
        )  # fmt: skip

    @lemma
    def counts_of_the_newest(s):
        """A count stands after a set that there is; after the newest one it is its size, and nothing polls before."""
        return forall(
            Connector,
            lambda c: (s.counted[c] <= s.generation[c]) & (s.polled[c] <= s.counted[c])
            & implies(s.generation[c] == 0, s.size[c] == 0)
            & implies(~s.is_pending(c) & (0 < s.counted[c]), s.count[c] == s.size[c]),
        )  # fmt: skip

    @lemma
    def rounds_are_for_a_set(s):
        """A round is for a set that there is, and if it is the newest, it knows its size."""
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
        """Who opened its producer for a later set has shut out who ran before as the same task."""
        return forall(
            Connector, Instance, Instance,
            lambda c, i, j: implies(
                s.has_opened(c, i) & (s.of[c, j] < s.of[c, i]) & (s.task[c, i] == s.task[c, j]), ~s.can_commit(c, j)
            ),
        )  # fmt: skip

    @lemma
    def left_or_fenced(s):
        """While a round for the newest set goes on, who can commit of an earlier one is still to be fenced, or is the
        only one, whose id the only new task has; when the round is over, that is all."""
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
        """When the newest set is counted, an instance of an earlier set that can commit has the id of its only task."""
        return forall(
            Connector, Instance,
            lambda c, i: implies(s.can_commit(c, i) & s.is_old(c, i) & ~s.is_pending(c), s.is_the_only_one(c, i)),
        )  # fmt: skip

    @lemma
    def writer_is_up_to_date(s):
        """Who is about to write, and may, has a round for the newest set of that connector."""
        return forall(
            Worker, Connector,
            lambda w, c: implies(
                (s.round[w, c] == Round.CHECKED) & s.opened[w] & (s.owner == w), s.fencing[w, c] == s.generation[c]
            ),
        )  # fmt: skip
