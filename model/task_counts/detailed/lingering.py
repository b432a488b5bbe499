"""Rounds of fencing that are over and still answer, as Kafka has them, alone and with tasks that are claimed.

A round that fences is an entry of the leader's map, by connector.  The herder's thread ends it; requests that wait for
it are answered, and the entry taken out, by the admin client's thread, which wakes up for that on its own time.  A
request that comes in between, and for which ids have to be fenced, starts no round: it gets the outcome of the one that
is over, whatever set that was for (DistributedHerder.java: doFenceZombieSourceTasks, activeZombieFencings,
ZombieFencing).  Where the round failed, the task fails as well, and again each time it is restarted, until the entry is
gone.  A newer set that the leader takes in fails a round that is under way, and does nothing to one that is over.

The core of this is `Lingering` in `abstract/as_shipped.py`, where the entry of a round that failed is gone at once,
since it lets no task through.
"""

from fencepost.model.language import Enumeration, Map, action, danger, exists, length, require, when
from fencepost.model.task_counts.abstract.core import Instance, Stage, Worker
from fencepost.model.task_counts.detailed.asking import Shipped
from fencepost.model.task_counts.detailed.claiming import Claimed
from fencepost.model.task_counts.detailed.rebalancing import Rebalancing


class Entry(Enumeration):
    """What a leader's map has for the connector: nothing, a round that is under way, or one that is over."""

    NONE, UNDER_WAY, SUCCEEDED, FAILED = range(4)


class Lingering(Shipped):
    """A round is over in one step, and gone in another."""

    entry: Map[Worker, Entry]

    @danger("two-threads")
    def another_thread_is_late(s):
        """A round that is over stands in a leader's map, and a newer set needs one."""
        return exists(Worker, lambda w: s.leads[w] & s.is_over(w) & s.is_pending())

    def is_over(s, w):
        return (s.entry[w] == Entry.SUCCEEDED) | (s.entry[w] == Entry.FAILED)

    @action(fair="weak")
    def start_round(s, w: Worker):
        """Only what has ids to fence looks into the map, and has an entry there; where the count is 0 no other thread
        has anything to do."""
        skips = s.needs_no_fencing(s.size(s.latest_set()))
        has_ids = s.to_fence(s.size(s.latest_set())) > 0
        require((s.entry[w] == Entry.NONE) | skips)
        Shipped.start_round(s, w)
        s.entry[w] = when(has_ids, Entry.UNDER_WAY, s.entry[w])

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The other thread, which waits for that, has not woken up yet."""
        Shipped.write_count(s, w)
        s.entry[w] = when(s.entry[w] == Entry.UNDER_WAY, Entry.SUCCEEDED, s.entry[w])

    def fail_those_who_asked(s, w, so):
        """They are answered before the entry is taken out."""
        Shipped.fail_those_who_asked(s, w, so)
        s.entry[w] = when(so & (s.entry[w] == Entry.UNDER_WAY), Entry.FAILED, s.entry[w])

    @action
    def answer_by_round(s, k: Instance, v: Worker):
        """A request meets a round that is over: its success or its failure.  Kafka answers each that waits for
        the entry before that is taken out; here it may also outlast the entry, like one that comes later."""
        require((s.stage[k] == Stage.ASSIGNED) & (s.asked[k] == v) & s.is_awake(v))
        require(s.is_over(v) & s.is_pending() & ~s.needs_no_fencing(s.size(s.latest_set())))
        succeeded = s.entry[v] == Entry.SUCCEEDED
        s.read[v] = length(s.log)
        s.asked[k] = None
        s.refused[k] = ~succeeded
        s.stage[k] = when(succeeded, Stage.CHECKED, Stage.ASSIGNED)

    @action(fair="weak")
    def take_out(s, w: Worker):
        """The other thread goes on, or the worker goes down."""
        require(s.is_over(w) & s.is_awake(w))
        s.entry[w] = Entry.NONE


class LingeringEager(Lingering, Rebalancing):
    """Kafka with connect.protocol = eager: no worker claims a task."""


class Released(Lingering, Claimed):
    """Kafka with its default of connect.protocol."""
