"""In Kafka, finished fencing rounds still answer requests; this module models them alone and together with claimed
tasks.

A round that fences is an entry of the leader's map, by connector. The herder's thread ends the round. The admin
client's thread answers the requests that wait for it and removes the entry, and wakes up for that on its own time. A
request that arrives in between, and for which ids have to be fenced, starts no round: it gets the outcome of the
finished round, whatever set that round was for (DistributedHerder.java: doFenceZombieSourceTasks, activeZombieFencings,
ZombieFencing). Where the round failed, the task fails as well, and fails again each time it is restarted, until the
entry is gone. A newer set that the leader reads fails a round that is under way, and does nothing to a finished one.

The core of this is `Lingering` in `abstract/as_shipped.py`, where the entry of a failed round is gone at once, since it
lets no task through.
"""

from fencepost.model.language import Enumeration, Map, action, danger, exists, length, require, when
from fencepost.model.task_counts.abstract.core import Instance, Stage, Worker
from fencepost.model.task_counts.detailed.asking import Shipped
from fencepost.model.task_counts.detailed.claiming import Claimed
from fencepost.model.task_counts.detailed.rebalancing import Rebalancing


class Entry(Enumeration):
    """The entry of a leader's map for the connector is nothing, a round that is under way, or a round that is over."""

    NONE, UNDER_WAY, SUCCEEDED, FAILED = range(4)


class Lingering(Shipped):
    """A round ends in one step, and its entry is removed from the leader's map in another."""

    entry: Map[Worker, Entry]

    @danger("two-threads")
    def another_thread_is_late(s):
        """A finished round stands in a leader's map although a newer set needs a round."""
        return exists(Worker, lambda w: s.leads[w] & s.is_over(w) & s.is_pending())

    def is_over(s, w):
        return (s.entry[w] == Entry.SUCCEEDED) | (s.entry[w] == Entry.FAILED)

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader starts a round; only a round that has ids to fence looks into the map and gets an entry there."""
        skips = s.needs_no_fencing(s.size(s.latest_set()))
        has_ids = s.to_fence(s.size(s.latest_set())) > 0
        require((s.entry[w] == Entry.NONE) | skips)
        Shipped.start_round(s, w)
        s.entry[w] = when(has_ids, Entry.UNDER_WAY, s.entry[w])

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The leader writes the count of its round before the other thread, which waits for that, has removed the
        entry."""
        Shipped.write_count(s, w)
        s.entry[w] = when(s.entry[w] == Entry.UNDER_WAY, Entry.SUCCEEDED, s.entry[w])

    def fail_those_who_asked(s, w, so):
        Shipped.fail_those_who_asked(s, w, so)
        s.entry[w] = when(so & (s.entry[w] == Entry.UNDER_WAY), Entry.FAILED, s.entry[w])

    @action
    def answer_by_round(s, k: Instance, v: Worker):
        """A request meets a finished round and gets its success or its failure. Kafka answers each request that waits
        for the entry before the entry is removed; here a request may also outlast the entry, like one that arrives
        later."""
        require((s.stage[k] == Stage.ASSIGNED) & (s.asked[k] == v) & s.is_awake(v))
        require(s.is_over(v) & s.is_pending() & ~s.needs_no_fencing(s.size(s.latest_set())))
        succeeded = s.entry[v] == Entry.SUCCEEDED
        s.read[v] = length(s.log)
        s.asked[k] = None
        s.refused[k] = ~succeeded
        s.stage[k] = when(succeeded, Stage.CHECKED, Stage.ASSIGNED)

    @action(fair="weak")
    def take_out(s, w: Worker):
        """The entry of a finished round is removed from the leader's map, because the other thread goes on or the
        worker goes down."""
        require(s.is_over(w) & s.is_awake(w))
        s.entry[w] = Entry.NONE


class LingeringEager(Lingering, Rebalancing):
    """This is Kafka with connect.protocol = eager, where no worker claims a task."""


class Released(Lingering, Claimed):
    """This is Kafka with its default of connect.protocol, where rounds linger and tasks are claimed."""
