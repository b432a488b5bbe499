"""This module models a source task of the at-least-once runtime: the records that it submits, the offsets that it may
commit, and the calls of SourceTask.commit.

The records of each source partition are numbered from 1, and a source offset is the number of the last record that it
covers: 0 is none, and a restart that finds offset n goes on with record n + 1. The task's thread polls, submits and
collects what may be committed. A thread commits offsets now and then, and the task's own thread does so once more at
its end, perhaps at the same time. After a crash or an end the next instance resumes from the offsets topic. The
upstream system discards what `commit` reported as committed.

A write of offsets is on its way until it arrives, or never does, whatever has become of the flush that it belongs to.
Writes of one source partition arrive in the order in which they were sent.

The model follows SubmittedRecords, WorkerSourceTask and OffsetStorageWriter of Connect, and the proposed
`commit(offsets)`. It leaves out what is polled and where it is sent to, other tasks (which have other source
partitions), and when the committer is due.
"""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Set,
    Sort,
    action,
    danger,
    each,
    either,
    exists,
    fault,
    forall,
    implies,
    require,
    when,
)
from fencepost.model.source_commits.outside import OF_AT_LEAST_ONCE


class Partition(Sort, bound="partitions"):
    """A `Partition` is a source partition of the task."""


class Offset(Nat, upto="records"):
    """An `Offset` is the number of a record of its source partition, and the source offset that covers it and all
    records before it."""


class Thread(Sort, bound="threads"):
    """A `Thread` commits offsets: it is the committer, or the task's own thread."""


class Place(Enumeration):
    """A record is not in its queue, submitted and without an answer, acknowledged, or failed where that is not
    tolerated."""

    AWAY, WAITING, ACKED, FAILED = range(4)


class Stage(Enumeration):
    """A thread that commits is idle, has handed the collected offsets to the writer, has a flush under way, or has
    finished its flush and has yet to call the task's commit."""

    IDLE, READY, FLUSHING, WRITTEN = range(4)


class Life(Enumeration):
    """An instance polls, waits for its records in flight, makes its last commit, has made it while the committer may go
    on, or is gone."""

    RUNNING, STOPPING, LAST, OVER, GONE = range(5)


class AtLeastOnce(Protocol):
    """The at-least-once runtime has a source task, its offset writer, the offsets topic, and the upstream system."""

    actors = ("task", "broker", "worker", "source", "network", "operator")

    life: Life
    fails: Bool  # a record has failed where that is not tolerated, and the task's thread has yet to see it
    polled: Map[Partition, Offset]  # the last record that the task has polled, and submitted or filtered
    place: Map[Partition, Offset, Place]
    counted: Set[Partition, Offset]  # records that the wait at the end waits for; the runtime has their number
    merged: Map[Partition, Offset]  # collected, and not yet handed to the writer
    data: Map[Partition, Offset]  # the writer's: what the next flush writes
    flushing: Map[Partition, Offset]  # what the present flush writes
    stage: Map[Thread, Stage]
    permit: Option[Thread]  # the thread that flushes, or has flushed and has yet to call the task's commit
    ends: Option[Thread]  # the thread that makes the instance's last commit
    drained: Bool  # the wait at the end has seen every answer
    clean: Bool  # the instance is over, and its last commit was a success

    sent: Set[Partition, Offset]  # written to the offsets topic, and on its way
    stored: Map[Partition, Offset]  # what the offsets topic has
    told: Map[Partition, Offset]  # the offsets last reported to a task, of any instance
    released: Map[Partition, Offset]  # what the upstream system has discarded

    done: Ghost[Set[Partition, Offset]]  # delivered, filtered, or its failure was tolerated
    own: Ghost[Set[Partition, Offset]]  # submitted by the present instance
    resumed: Ghost[Map[Partition, Offset]]  # the offsets where the present instance began
    told_most: Ghost[Map[Partition, Offset]]  # the greatest offsets that were reported to any task

    outside = OF_AT_LEAST_ONCE

    # The task's thread

    @action(by="task", to="broker")
    def submit(s, p: Partition, i: Offset):
        """The task's next record is queued and sent."""
        s.is_next(p, i)
        s.polled[p] = i
        s.place[p, i] = Place.WAITING
        s.counted[p, i] = True
        s.own[p, i] = True

    @action
    def filter_out(s, p: Partition, i: Offset):
        """A transformation drops the next record, or its conversion fails and that is tolerated; the record has no
        offset."""
        s.is_next(p, i)
        s.polled[p] = i
        s.done[p, i] = True

    def is_next(s, p, i):
        require((s.life == Life.RUNNING) & (i == s.polled[p] + 1))

    @fault(budget="drops")
    def drop(s, p: Partition, i: Offset):
        """The producer refuses the last record at once with a retriable error, and the record leaves the queue and is
        submitted again."""
        require((s.life == Life.RUNNING) & (s.polled[p] == i) & (s.place[p, i] == Place.WAITING))
        s.polled[p] = i - 1
        s.place[p, i] = either("src.11", Place.AWAY, acknowledged=Place.ACKED)
        s.counted[p, i] = False
        s.own[p, i] = False

    @action(fair="weak")
    def collect(s, p: Partition, i: Offset):
        """The records of a queue that may be committed leave it, and the offset of the last of them is collected."""
        require((s.life == Life.RUNNING) | (s.life == Life.LAST))
        require(s.place[p, i] == Place.ACKED)
        require(either("src.3", s.is_prefix(p, i), newest_acknowledged=s.is_newest(p, i)))
        require(s.is_longest(p, i), rule="src.3")
        s.place = each(
            lambda q, j: when(either("src.3", (q == p) & (j <= i), left_in_the_queue=(q == p) & (j < i)),
                              Place.AWAY, s.place[q, j])
        )  # fmt: skip
        s.merged = each(lambda q: when(q == p, s.offset_of(p, i), either("src.2", s.merged[q], one_queue_for_all=0)))

    def offset_of(s, p, i):
        return i

    def is_prefix(s, p, i):
        """Return whether every record of the queue up to this one has been acknowledged."""
        return forall(Offset, lambda j: implies(j <= i, ~s.is_unanswered(p, j)))

    def is_unanswered(s, p, i):
        return (s.place[p, i] == Place.WAITING) | (s.place[p, i] == Place.FAILED)

    def is_newest(s, p, i):
        return forall(Offset, lambda j: implies(i < j, s.place[p, j] != Place.ACKED))

    def is_longest(s, p, i):
        """Return whether each later record that is acknowledged has a record before it that is not."""
        return forall(Offset, lambda j: implies((i < j) & (s.place[p, j] == Place.ACKED), ~s.is_prefix(p, j)))

    @action
    def stop(s):
        """The instance is asked to stop, and polls no more."""
        require(s.life == Life.RUNNING)
        s.life = Life.STOPPING

    @action(fair="weak")
    def hear_of_it(s):
        """The task's thread finds that a record has failed, and stops polling."""
        require((s.life == Life.RUNNING) & s.fails)
        s.life = Life.STOPPING

    @action(fair="weak")
    def await_all(s):
        """The ending task has waited until all records that it submitted are acknowledged."""
        require(s.life == Life.STOPPING)
        require(s.nothing_counted(), rule="src.12")
        s.life = Life.LAST
        s.drained = True

    def nothing_counted(s):
        return forall(Partition, Offset, lambda p, i: ~s.counted[p, i])

    @action(fair="weak", danger="time-out")
    def await_in_vain(s):
        """The ending task's wait for acknowledgements times out."""
        require(s.life == Life.STOPPING)
        s.life = Life.LAST

    # Kafka

    @action(fair="weak", by="broker", to="task")
    def acknowledge(s, p: Partition, i: Offset):
        """Kafka has stored the record: commitRecord is called, and then the record is acknowledged."""
        require(s.place[p, i] == Place.WAITING)
        s.place[p, i] = Place.ACKED
        s.counted[p, i] = False
        s.done[p, i] = True

    @fault(budget="repeats", danger="duplicate", by="broker", to="task")
    def acknowledge_again(s, p: Partition, i: Offset, q: Partition, j: Offset):
        """A record is acknowledged twice, which would make the number of unacknowledged records one too small if it
        were counted."""
        require((s.place[p, i] == Place.ACKED) & s.counted[q, j])
        s.counted[q, j] = either("src.2", s.counted[q, j], counted_twice=False)

    @fault(budget="failures", danger="loss", by="broker", to="task")
    def tolerate(s, p: Partition, i: Offset):
        """Kafka refuses the record, and the failure is tolerated (errors.tolerance)."""
        require(s.place[p, i] == Place.WAITING)
        s.place[p, i] = either("src.11", Place.ACKED, not_acknowledged=Place.FAILED)
        s.counted[p, i] = either("src.11", False, not_acknowledged=s.counted[p, i])
        s.done[p, i] = True

    @fault(budget="failures", danger="loss", by="broker", to="task")
    def fail(s, p: Partition, i: Offset):
        """Kafka refuses the record, and the task fails, which leads to a last commit as well."""
        require(s.place[p, i] == Place.WAITING)
        s.place[p, i] = Place.FAILED
        s.fails = True

    # Committing offsets

    @action(fair="weak")
    def take(s, t: Thread):
        """A thread hands the collected offsets to the writer in one atomic step, where a newer offset replaces an older
        one."""
        require((s.stage[t] == Stage.IDLE) & (s.ends != t) & (s.life != Life.GONE))
        s.hand_over(t)

    @action(fair="strong")
    def take_last(s, t: Thread):
        """The task's thread hands offsets to the writer for the last time, having collected all that its wait
        allowed."""
        require((s.stage[t] == Stage.IDLE) & (s.life == Life.LAST) & (s.ends == None))  # noqa: E711
        require(forall(Partition, Offset, lambda p, i: implies(s.drained, s.place[p, i] != Place.ACKED)))
        s.ends = t
        s.hand_over(t)

    def hand_over(s, t):
        s.data = each(
            lambda p: either("src.10", when(0 < s.merged[p], s.merged[p], s.data[p]),
                             older_wins=when(0 < s.data[p], s.data[p], s.merged[p]))
        )  # fmt: skip
        s.merged = each(lambda p: 0)
        s.stage[t] = Stage.READY

    @action(fair="strong")
    def begin(s, t: Thread):
        """The thread gets the writer's permit, and begins to write what the writer has, if there is anything. Between
        two turns of the committer there is time for another thread (offset.flush.interval.ms)."""
        require(s.stage[t] == Stage.READY)
        require(s.permit == None, rule="src.4")  # noqa: E711
        s.hold(t)
        s.stage[t] = when(s.has_nothing(), Stage.WRITTEN, Stage.FLUSHING)
        s.flushing = each(lambda p: s.data[p])
        s.sent = each(lambda p, v: s.sent[p, v] | ((0 < v) & (v == s.data[p])))
        s.data = each(lambda p: 0)

    @action(danger="time-out")
    def wait_in_vain(s, t: Thread):
        """The thread waits too long for the permit, which may be free just then, and the offsets that it took stay with
        the writer."""
        require(s.stage[t] == Stage.READY)
        s.stage[t] = Stage.IDLE
        s.life = when(s.ends == t, Life.OVER, s.life)

    def hold(s, t):
        """Give the permit to the thread until the flush has failed or the task's commit was called."""
        s.permit = t

    def has_nothing(s):
        return forall(Partition, lambda p: s.data[p] == 0)

    @action(fair="weak", by="broker")
    def arrive(s, p: Partition, v: Offset):
        """The offsets topic stores an offset; an offset that was sent earlier has arrived earlier, or never will."""
        require(s.sent[p, v])
        require(s.comes_first(p, v), rule="src.4")
        s.sent[p, v] = False
        s.stored[p] = v

    def comes_first(s, p, v):
        return forall(Offset, lambda w: implies(w < v, ~s.sent[p, w]))

    @action(by="network")
    def vanish(s, p: Partition, v: Offset):
        """A write of a flush that was given up, or of an instance that crashed, never arrives."""
        require(s.sent[p, v] & (s.flushing[p] != v))
        s.sent[p, v] = False

    @action(fair="weak")
    def succeed(s, t: Thread):
        """The flush succeeds, because all its offsets are in the offsets topic."""
        require(s.stage[t] == Stage.FLUSHING)
        require(forall(Partition, lambda p: ~s.sent[p, s.flushing[p]]), rule="src.4")
        s.stage[t] = Stage.WRITTEN

    @fault(budget="cancellations", danger=("time-out", "lost-answer"))
    def give_up(s, t: Thread):
        """The flush takes too long and is cancelled, though its writes may arrive or have arrived. The next flush
        writes the same offsets where there is nothing newer."""
        require(s.stage[t] == Stage.FLUSHING)
        s.end_flush(t)

    @fault(budget="cancellations", danger="failed-append")
    def be_refused(s, t: Thread, p: Partition):
        """The flush fails because the offsets topic refuses one of its offsets."""
        require((s.stage[t] == Stage.FLUSHING) & s.sent[p, s.flushing[p]])
        s.sent[p, s.flushing[p]] = False
        s.end_flush(t)

    def end_flush(s, t):
        """End the flush as failed, and return its offsets to the writer."""
        s.data = each(
            lambda p: either("src.10", when(0 < s.data[p], s.data[p], s.flushing[p]), forgotten=s.data[p],
                             older_wins=when(0 < s.flushing[p], s.flushing[p], s.data[p]))
        )  # fmt: skip
        s.flushing = each(lambda p: either("src.4", 0, told_all_the_same=s.flushing[p]))
        s.permit = either("src.4", None, told_all_the_same=s.permit)
        s.stage[t] = either("src.4", Stage.IDLE, told_all_the_same=Stage.WRITTEN)
        s.life = when(s.ends == t, Life.OVER, s.life)

    @action(fair="weak")
    def tell(s, t: Thread):
        """The task's commit is called with the offsets that the flush wrote, while no other thread flushes."""
        require(s.stage[t] == Stage.WRITTEN)
        s.call_commit(t)
        s.flushing = each(lambda p: 0)
        s.permit = None
        s.end_commit(t)

    def end_commit(s, t):
        """End the thread's commit, and the instance as well if this was its last commit."""
        s.stage[t] = Stage.IDLE
        s.clean = (s.ends == t) & either("src.12", s.drained, timed_out_all_the_same=s.drained | ~s.drained)
        s.life = when(s.ends == t, Life.OVER, s.life)

    def call_commit(s, t):
        s.told_most = each(lambda p: when(s.told_most[p] < s.reported_of(t, p), s.reported_of(t, p), s.told_most[p]))
        s.told = each(lambda p: s.reported_of(t, p))

    def reported_of(s, t, p):
        """Return the offset that the task takes to be committed for partition p, which stays as it was where the flush
        wrote none."""
        return when(
            0 < s.flushing[p],
            s.flushing[p],
            either("src.5", s.told[p], all_polled_if_empty=when(s.flushes_nothing(), s.polled[p], s.told[p])),
        )

    def flushes_nothing(s):
        return forall(Partition, lambda p: s.flushing[p] == 0)

    @action(by="source")
    def release(s, p: Partition):
        """The upstream system learns of a committed offset, and discards its records up to there."""
        require(s.released[p] < s.told[p])
        s.released[p] = s.told[p]

    # Instances

    @fault(budget="crashes", danger="client-crash")
    def crash(s):
        """The process crashes and loses all memory, while its writes on their way may still arrive."""
        require(s.life != Life.GONE)
        s.forget()
        s.polled = each(lambda p: 0)
        s.life = Life.GONE
        s.clean = False

    @action(by="worker", to="task")
    def restart(s):
        """The next instance starts when the former one is over, and resumes from the offsets topic with the records
        that the upstream system still has."""
        require((s.life == Life.OVER) | (s.life == Life.GONE))
        require(s.former_is_over())
        s.forget()
        s.life = Life.RUNNING
        s.clean = False
        s.resume()

    def resume(s):
        s.polled = each(lambda p: when(s.found(p) < s.released[p], s.released[p], s.found(p)))
        s.resumed = each(lambda p: s.stored[p])

    def found(s, p):
        return either("src.P2", s.stored[p], from_the_beginning=0)

    def former_is_over(s):
        """Return whether no thread of the former instance commits and none of its writes is on its way."""
        return forall(Thread, lambda t: s.stage[t] == Stage.IDLE) & forall(
            Partition, Offset, lambda p, v: ~s.sent[p, v]
        )

    def forget(s):
        """Clear the memory of the instance except for what it has polled."""
        s.place = each(lambda p, i: Place.AWAY)
        s.counted = each(lambda p, i: False)
        s.merged = each(lambda p: 0)
        s.data = each(lambda p: 0)
        s.flushing = each(lambda p: 0)
        s.stage = each(lambda t: Stage.IDLE)
        s.permit = None
        s.own = each(lambda p, i: False)
        s.ends = None
        s.fails = False
        s.drained = False

    # Dangers

    @danger("lost-answer")
    def outlives_its_flush(s):
        """A write is on its way although its flush was given up or its instance has crashed."""
        return exists(Partition, Offset, lambda p, v: s.sent[p, v] & (s.flushing[p] != v))

    @danger("reordering")
    def overtaken(s):
        """A record is acknowledged before one that was polled earlier."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.ACKED),
        )  # fmt: skip

    @danger("two-threads")
    def both_commit(s):
        """Both threads are in the middle of a commit."""
        return exists(
            Thread, Thread, lambda t, u: (t != u) & (s.stage[t] != Stage.IDLE) & (s.stage[u] != Stage.IDLE)
        )  # fmt: skip

    @danger("several-partitions")
    def some_arrive(s):
        """A flush that is under way has one offset in the topic, and another one that has not arrived."""
        return exists(
            Partition, Partition,
            lambda p, q: (0 < s.flushing[p]) & ~s.sent[p, s.flushing[p]]
            & (0 < s.flushing[q]) & s.sent[q, s.flushing[q]],
        )  # fmt: skip

    @danger("several-records")
    def several_in_a_queue(s):
        """Two records of one source partition are in flight."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.WAITING),
        )  # fmt: skip
