"""In these clusters, which are being upgraded to exactly-once sources, some writes to the config topic are aborted.

A leader's write that fails, or that another leader's claim cuts off, leaves an aborted record in the topic. A reader in
read_committed does not see it. The KIP has all workers read so; KafkaConfigBackingStore.java sets isolation.level only
where the feature is on (setupAndCreateKafkaBasedLog: exactlyOnceSourceEnabled), so that a leader that is `preparing`
acts on aborted sets and counts, and answers by them.

The tasks that workers without the feature run by an aborted set are left out, since those tasks have ended when the
guarantee begins.
"""

from fencepost.model.language import Bool, Set, action, danger, either, exists, forall, require, rule, when
from fencepost.model.language import each as each_of
from fencepost.model.task_counts.abstract.core import Count, Task, Worker
from fencepost.model.task_counts.parts.upgrades import Generation, Round, Support, Upgrades


class UpgradesWithAborts(Upgrades):
    """Two rolling upgrades turn the feature on, and the topic is modelled both as it is committed and as it is read in
    read_uncommitted."""

    seen_size: Count  # the tasks of the newest set, committed or not
    seen_count: Count  # the number of tasks in the latest count, committed or not
    seen_pending: Bool  # the newest set stands after the latest count, committed or not

    @danger("isolation-level")
    def goes_by_what_was_aborted(s):
        """A leader takes an aborted record for the latest set or for the latest count."""
        differs = (s.seen_size != s.size) | (s.seen_count != s.count)
        return exists(Worker, lambda w: s.leads[w] & s.reads_all(w) & differs)

    def reads_all(s, w):
        return either("618.50", False, where_it_is_not_on=s.support[w] != Support.ENABLED)

    def finds_pending(s, w):
        """Return whether a set stands after the latest count, as this leader has read the topic."""
        return when(s.reads_all(w), s.seen_pending, s.is_pending())

    def publish(s, n):
        Upgrades.publish(s, n)
        s.seen_size = n
        s.seen_pending = True

    @action
    def set_aborted(s, w: Worker, n: Count):
        """A leader's set is written, and is aborted when this or another worker opens its producer anew."""
        require(s.may_write(w) & s.is_transactional(w) & (s.round[w] == Round.NONE) & (0 < n))
        s.seen_size = n
        s.seen_pending = True

    @action
    def count_aborted(s, w: Worker):
        """A round's count is written, and is aborted when this or another worker opens its producer anew."""
        require((s.round[w] == Round.FENCED) & s.may_write(w) & s.is_transactional(w))
        s.seen_count = s.round_size[w]
        s.seen_pending = False
        s.ends_round(w)

    @action
    def ask(s, v: Worker, w: Worker):
        """A worker asks for a round, and the leader fences by what it has read, which may have been aborted."""
        require((s.support[v] == Support.ENABLED) & s.leads[w] & s.serves(w))
        require(s.finds_pending(w) & (s.round[w] == Round.NONE))
        count = when(s.reads_all(w), s.seen_count, s.count)
        s.round[w] = Round.FENCED
        s.round_for[w] = s.generation
        s.round_size[w] = when(s.reads_all(w), s.seen_size, s.size)
        with rule("618.12"):
            s.live = each_of(lambda i: when(i < count, None, s.live[i]))

    @action
    def write_count(s, w: Worker):
        """The leader writes the count of its round, and the count is committed."""
        written = s.round_size[w]
        Upgrades.write_count(s, w)
        s.seen_count = written
        s.seen_pending = False

    @action
    def start(s, w: Worker, i: Task):
        """A worker with the feature on starts a task, because a leader answers that nothing is pending as far as it has
        read."""
        require((s.support[w] == Support.ENABLED) & s.may_start(w, i) & (s.generation > 0))
        answered = exists(Worker, lambda v: s.leads[v] & s.serves(v) & ~s.finds_pending(v))
        require(answered, rule="618.15")
        s.live[i] = w
        s.plain[w, i] = False
        s.polls(w, i)


class Afterwards(UpgradesWithAborts):
    """Workers read the topic as in Kafka, and the guarantee begins later: a count was written when all workers had the
    feature on, and each of them was restarted once more after that."""

    settled: Generation  # the set of the first count that was written when all had it on; 0: there is none
    renewed: Set[Worker]  # workers that were restarted since

    def reads_all(s, w):
        return s.support[w] != Support.ENABLED

    def all_are_on(s):
        return forall(Worker, lambda w: s.support[w] == Support.ENABLED)

    def promised(s):
        return s.all_are_on() & (0 < s.settled) & forall(Worker, lambda w: s.renewed[w])

    def is_renewal(s):
        """Return whether a restart counts as the one that the guarantee needs."""
        return 0 < s.settled

    @action(danger="client-crash")
    def restart(s, w: Worker, support: Support):
        """A worker is restarted, perhaps for the once more that the guarantee needs."""
        renewed = s.renewed[w] | s.is_renewal()
        Upgrades.restart(s, w, support)
        s.renewed[w] = renewed

    @action
    def write_count(s, w: Worker):
        """The leader writes a count, perhaps the first since all workers have the feature on."""
        settled = when((s.settled == 0) & s.all_are_on(), s.generation, s.settled)
        UpgradesWithAborts.write_count(s, w)
        s.settled = settled


class RestartedOnly(Afterwards):
    """The guarantee is claimed when each worker was restarted once more, without a new set and its count."""

    def promised(s):
        return s.all_are_on() & forall(Worker, lambda w: s.renewed[w])

    def is_renewal(s):
        return s.all_are_on()


class CountedOnly(Afterwards):
    """The guarantee is claimed when a count was written, without another restart of the workers."""

    def promised(s):
        return s.all_are_on() & (0 < s.settled)
