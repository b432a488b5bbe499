"""In these clusters, which are being upgraded to exactly-once sources, rounds and task starts take several steps.

A round fences one id after the other, reads to the end again, and may fail at any of these steps. A task asks, opens
its producer and checks the topic once more before it polls; meanwhile sets, rounds and upgrades go on. A request to
fence may arrive late, or twice, because the network loses none.
"""

from fencepost.model.language import Enumeration, Map, Set, action, danger, each, exists, require, rule, when
from fencepost.model.task_counts.abstract.core import Count, Task, Worker
from fencepost.model.task_counts.parts.upgrades import Generation, Round, Support, Upgrades


class Start(Enumeration):
    """A `Start` is how far a worker has come with a task that does not poll yet."""

    NONE, CHECKED, OPENED = range(3)


class UpgradesInSteps(Upgrades):
    """Two rolling upgrades turn the feature on, while rounds and task starts take several steps."""

    fencing: Set[Worker]  # its round has ids left to fence, or has yet to read
    left: Map[Worker, Count]  # the round still has to fence the ids below this one
    asked: Set[Task]  # a request to fence this id was sent once

    start_of: Map[Worker, Task, Start]
    start_for: Map[Worker, Task, Generation]  # the newest set when the task was assigned

    @danger("empty-set")
    def no_tasks(s):
        """The newest set of task configurations is empty."""
        return (s.generation > 0) & (s.size == 0)

    @danger("zombie")
    def goes_on_late(s):
        """A start of an earlier set is still under way while a task of the newest set polls."""
        return exists(
            Worker, Worker, Task, Task,
            lambda v, w, i, j: (s.start_of[v, i] != Start.NONE) & (s.start_for[v, i] < s.generation)
            & s.running[w, j] & (s.of[w, j] == s.generation),
        )  # fmt: skip

    @danger("rebalance")
    def starts_in_a_round(s):
        """A task has opened its producer while a leader fences."""
        return exists(Worker, lambda w: s.fencing[w]) & exists(
            Worker, Task, lambda w, i: s.start_of[w, i] == Start.OPENED
        )

    # Rounds

    @action
    def ask(s, v: Worker, w: Worker):
        """A worker asks the leader for a round, which begins."""
        require((s.support[v] == Support.ENABLED) & s.leads[w] & s.serves(w))
        require(s.is_pending() & (s.round[w] == Round.NONE) & ~s.fencing[w])
        s.fencing[w] = True
        s.round_for[w] = s.generation
        s.round_size[w] = s.size
        s.left[w] = s.count
        s.asked = each(lambda i: s.asked[i] | (i < s.count))

    @action
    def fence(s, w: Worker):
        """The leader fences the next transactional id, whose former holder can't commit any more."""
        require(s.fencing[w] & (0 < s.left[w]))
        with rule("618.12"):
            s.live[s.left[w] - 1] = None
        s.left[w] = s.left[w] - 1

    @action(danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """A request to fence an id arrives late, or once more, and fences the present holder of the id."""
        require(s.asked[i])
        s.live[i] = None

    @action
    def check_round(s, w: Worker):
        """The leader has fenced all ids, and finds no newer set."""
        require(s.fencing[w] & (s.round_for[w] == s.generation))
        require(s.left[w] == 0, rule="618.7")
        s.fencing[w] = False
        s.round[w] = Round.FENCED

    @action(danger=("loss", "lost-answer", "time-out"))
    def fail_round(s, w: Worker):
        """A round fails because a request is not answered in time, or because there is a newer set."""
        require(s.fencing[w])
        s.ends_round(w)

    def ends_round(s, w):
        Upgrades.ends_round(s, w)
        s.fencing[w] = False
        s.left[w] = 0

    def falls_silent(s, w):
        Upgrades.falls_silent(s, w)
        s.start_of = each(lambda v, i: when(v == w, Start.NONE, s.start_of[v, i]))
        s.start_for = each(lambda v, i: when(v == w, 0, s.start_for[v, i]))

    @action
    def elect(s, w: Worker):
        """The group has another leader, which has no round under way."""
        require(~s.fencing[w])
        Upgrades.elect(s, w)

    @action
    def reconfigure(s, w: Worker, n: Count):
        """A leader whose thread has nothing else to do publishes a set of n tasks, perhaps of none."""
        require(s.may_write(w) & (s.round[w] == Round.NONE) & ~s.fencing[w])
        s.publish(n)

    # Starts

    def may_start(s, w, i):
        return Upgrades.may_start(s, w, i) & (s.start_of[w, i] == Start.NONE)

    @action
    def begin_start(s, w: Worker, i: Task):
        """A worker has asked the leader, finds that the newest set has its count, and begins to start a task."""
        require((s.support[w] == Support.ENABLED) & s.may_start(w, i) & (s.generation > 0))
        require(s.counted == s.generation, rule="618.15")
        s.start_of[w, i] = Start.CHECKED
        s.start_for[w, i] = s.generation

    @action
    def open_producer(s, w: Worker, i: Task):
        """A starting task opens its producer, which has the newest epoch of the id."""
        require(s.start_of[w, i] == Start.CHECKED)
        s.start_of[w, i] = Start.OPENED
        s.live[i] = w

    @action
    def start(s, w: Worker, i: Task):
        """A starting task checks the topic once more, and polls if its set is still the newest."""
        require(s.start_of[w, i] == Start.OPENED)
        require(s.start_for[w, i] == s.generation, rule="618.16")
        s.start_of[w, i] = Start.NONE
        s.start_for[w, i] = 0
        s.plain[w, i] = False
        s.polls(w, i)

    @action
    def give_up(s, w: Worker, i: Task):
        """A task start fails, or is revoked."""
        require(s.start_of[w, i] != Start.NONE)
        s.start_of[w, i] = Start.NONE
        s.start_for[w, i] = 0
        s.live[i] = when(s.live[i] == w, None, s.live[i])
