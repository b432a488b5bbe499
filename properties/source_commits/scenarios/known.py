"""Known bugs of source tasks, and what the proposal leaves open, as scenarios; and a history of about everything.

script.begin()                      # the first instance has read its offsets
script.thread("polled")
script.arrive("record", nth=1)      # the second record is acknowledged, the first is still in flight
script.commit("told")               # the committer runs until then
"""

from types import MappingProxyType
from typing import Any

from fencepost.properties import machine
from fencepost.properties.machine import STEPS_MAX, KnownBugs
from fencepost.properties.source_commits.scenarios import COMMITTER, REQUESTS, TASK


class Script(machine.Script):
    """Threads and requests that go on one by one, and stand still where it matters."""

    PROTOCOL = "source-commits"
    SMALL = MappingProxyType({"seed": 0, "partitions": 1, "records": 6, "outputs": 2, "batch": 2})

    def waiting(self, *operations: str, thread: int = -1, instance: int = -1) -> list[tuple[Any, ...]]:
        """What waits, oldest first: before these operations (of this thread, of this instance)."""
        return [
            waiting
            for waiting in self.system.threads()
            if (not operations or waiting[1] in operations)
            and thread in (-1, waiting[3])
            and instance in (-1, waiting[2])
        ]

    def count(self, kind: str) -> int:
        """How often something of this kind has happened."""
        return len(self.kinds(kind))

    def begin(self) -> None:
        """An instance is started, and has read its offsets."""
        self.system.start()
        self.thread("resumed")

    def one(self, thread: int, outcome: str = "ok", instance: int = -1) -> bool:
        """One operation of a thread of the newest instance; False if it has to wait, or there is none."""
        waits = [w for w in self.waiting(thread=thread, instance=instance) if w[1] not in REQUESTS]
        return bool(waits) and bool(self.system.step(waits[-1][0], outcome))

    def thread(self, kind: str, thread: int = TASK, instance: int = -1, times: int = 1) -> None:
        """A thread goes on until something of this kind happens, so many times. Raises RuntimeError if it never
        does."""
        before = self.count(kind)
        for _ in range(STEPS_MAX):
            if self.count(kind) >= before + times:
                return
            if not self.one(thread, instance=instance):
                break
        raise RuntimeError(f"{kind} never happens: what waits is {self.system.threads()}")

    def before(self, operation: str, thread: int = TASK) -> None:
        """A thread goes on until it stands before this operation. Raises RuntimeError if it never does."""
        for _ in range(STEPS_MAX):
            if self.waiting(operation, thread=thread):
                return
            if not self.one(thread):
                break
        raise RuntimeError(f"thread {thread} never comes to {operation}: what waits is {self.system.threads()}")

    def arrive(self, what: str = "record", nth: int = 0, outcome: str = "ok") -> None:
        """A request comes to its broker: the nth of those that can."""
        self.system.step(self.waiting(what)[nth][0], outcome)

    def all_arrive(self, *what: str) -> None:
        """Everything in flight does."""
        while waits := self.waiting(*(what or REQUESTS)):
            self.system.step(waits[0][0])

    def commit(self, kind: str = "told") -> None:
        """The committer begins, and goes on until something of this kind happens; what it writes arrives."""
        self.system.commit_due()
        before = self.count(kind)
        for _ in range(STEPS_MAX):
            if self.count(kind) > before:
                return
            if not self.one(COMMITTER):
                self.all_arrive("offset")
                if not self.one(COMMITTER):
                    break
        raise RuntimeError(f"{kind} never happens: what waits is {self.system.threads()}")

    def poll(self, times: int = 1) -> None:
        """So many batches are polled and sent, and what became committable before is taken off the queues."""
        for _ in range(times):
            self.before("poll")
            self.one(TASK)
            self.before("update")
            self.one(TASK)

    def go_on(self) -> None:
        """Everything happens, until nothing is left to happen."""
        idle = 0
        while idle < 4:
            before = self.seen()[:]
            for number, *_ in self.system.threads():
                if any(number == each for each, *_ in self.system.threads()):
                    self.system.step(number)
            fresh = self.seen()[len(before) :]
            idle = 0 if any(event.kind != "told" for event in fresh) else idle + 1

    def crash(self) -> None:
        """The process is gone, and another instance goes on from what is stored; an auditor looks."""
        self.system.kill()
        self.begin()
        self.go_on()
        self.system.audit()


KNOWN_BUGS = KnownBugs(Script.on, **Script.SMALL)

PROPOSED: dict[str, Any] = {"mode": "proposed"}
SHIPPED: dict[str, Any] = {"mode": "shipped"}
MENDED: dict[str, Any] = {"mode": "shipped-mended"}
EXACTLY_ONCE: dict[str, Any] = {"mode": "proposed-exactly-once"}


LATE: dict[str, Any] = {**PROPOSED, "late_time_outs": True}


@KNOWN_BUGS.bug("KAFKA-15091", {"mode": "last-polled"}, MENDED)
@KNOWN_BUGS.bug("newest-acknowledged", {"mode": "newest-acknowledged"}, MENDED)
def crashes_with_a_record_in_flight(script: Script) -> None:
    """Of two records the second is acknowledged, and commit is called: who takes that for a promise about either has
    upstream forget the first (B42, B45a)."""
    script.begin()
    script.poll()
    script.arrive("record", 1)
    script.poll()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("ahead-of-the-flush", {"mode": "ahead-of-the-flush"}, MENDED)
def acknowledged_after_the_flush_began(script: Script) -> None:
    """Records are acknowledged while offsets before them are flushed (B45b)."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.system.commit_due()
    script.before("finish", COMMITTER)
    script.all_arrive("record")
    script.all_arrive("offset")
    script.thread("told", COMMITTER)
    script.crash()


@KNOWN_BUGS.bug("previous-snapshot", {"mode": "previous-snapshot"}, MENDED)
def acknowledged_before_the_flush_before(script: Script) -> None:
    """The task's thread is in its poll: what was acknowledged by the time of one call of commit is still in the queues
    at the next, so that the repair of B45b that connectors have does not hold either."""
    script.begin()
    script.poll()
    script.before("poll")
    script.all_arrive("record")
    script.commit()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("first-of-several", {"mode": "first-of-several"}, {**PROPOSED, "several": 2}, followed=False)
def crashes_between_two_of_one(script: Script) -> None:
    """Two records are of one thing upstream, and the first carries its offset already (B45c)."""
    script.begin()
    script.poll()
    script.arrive("record", 0)
    script.poll()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("KAFKA-14079", {"mode": "failure-not-acknowledged"}, {**PROPOSED, "tolerance": "all"})
def failure_is_tolerated(script: Script) -> None:
    """A record fails, which is tolerated, and its queue goes on, or does not (B43)."""
    script.begin()
    script.poll()
    script.arrive("record", 0, "failed")
    script.go_on()
    script.commit()
    script.system.audit()


@KNOWN_BUGS.bug("H7a", {"mode": "snapshot-only", "partitions": 2}, {**PROPOSED, "partitions": 2})
def flush_fails_and_the_next_does_not(script: Script) -> None:
    """What the flush writes is more than what was taken for it: the map says all of it."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.system.commit_due()
    script.before("finish", COMMITTER)
    script.one(COMMITTER, "failed")
    script.commit()


@KNOWN_BUGS.bug("late-time-out", LATE, PROPOSED)
def times_out_as_the_flush_ends(script: Script) -> None:
    """The wait for a flush runs out of time just as its callback has run: all of it is stored, nothing comes back, and
    the task is never told. What the map says is committed; what it does not say may be as well."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.system.commit_due()
    script.before("finish", COMMITTER)
    script.all_arrive("offset")
    script.one(COMMITTER, "failed")
    if script.waiting("tell", thread=COMMITTER):
        script.one(COMMITTER)
    script.commit()


@KNOWN_BUGS.bug("H7b", {"mode": "told-by-two-threads"}, PROPOSED)
def reported_late(script: Script) -> None:
    """The committer has finished its flush when the task is asked to stop, and calls commit after the final one has:
    one thread at a time may commit, from what it takes to the end of the call."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.system.commit_due()
    script.before("finish", COMMITTER)
    script.all_arrive()
    script.before("tell", COMMITTER)
    _last_commit(script)
    script.one(COMMITTER)
    script.go_on()


@KNOWN_BUGS.bug("put-late", SHIPPED, MENDED)
@KNOWN_BUGS.bug("put-late-and-told", {"mode": "told-by-two-threads"}, PROPOSED)
def handed_over_late(script: Script) -> None:
    """The committer has taken what is committable, and gives it to the writer when the final commit has written more:
    the stored offset goes back, behind what upstream has forgotten by then. Kafka has this today: what is taken under a
    lock is handed over without it (WorkerSourceTask.commitOffsets), and who stops the task cancels the committer
    without waiting for it (SourceTaskOffsetCommitter.remove)."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.all_arrive()
    script.system.commit_due()
    script.before("begin", COMMITTER)
    _last_commit(script)
    script.one(COMMITTER)
    script.all_arrive("offset")
    script.go_on()
    if not script.waiting(thread=TASK):
        script.begin()
        script.go_on()


def _last_commit(script: Script) -> None:
    """The task is asked to stop, and goes on as far as it comes, but does not end."""
    script.system.stop()
    while not script.waiting("close", thread=TASK):
        script.all_arrive()
        if not script.one(TASK):
            return


@KNOWN_BUGS.bug("H7c", {"mode": "empty-means-all"}, PROPOSED)
def nothing_was_flushed(script: Script) -> None:
    """commit is called with an empty map: nothing is stated anew, and not that nothing is left to be committed."""
    script.begin()
    script.poll()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("H7d", {**PROPOSED, "records": 4, "nulls": 4}, {**PROPOSED, "records": 4})
def null_offset(script: Script) -> None:
    """The newest record carries a null offset, and the stored one is erased: the map says so, too late for a connector
    that has reported the one before upstream. A task whose upstream forgets may have no records without an offset."""
    script.begin()
    for _ in range(2):
        script.poll()
        script.all_arrive()
        script.poll()
        script.all_arrive()
        script.commit()
    script.system.kill()
    script.begin()


@KNOWN_BUGS.bug("H7f", defect="told_of_aborted_batch", **EXACTLY_ONCE)
def batch_is_aborted(script: Script) -> None:
    """The connector has a batch aborted: its offsets are committed in a transaction of their own, and reported after
    that, not before."""
    script.begin()
    script.system.abort()
    script.before("commit")
    script.system.kill()
    script.begin()


@KNOWN_BUGS.bug("aborted-acknowledged", {**EXACTLY_ONCE, "aborted_acknowledged": True}, EXACTLY_ONCE)
def aborted_records_are_acknowledged(script: Script) -> None:
    """As in Kafka: commitRecord has metadata of records that no reader will see, since their transaction was aborted
    at the connector's own wish."""
    script.begin()
    script.before("send")
    script.system.abort()
    script.one(TASK)
    script.all_arrive()
    script.thread("told")


@KNOWN_BUGS.bug("KAFKA-9184", {"mode": "zombie"}, PROPOSED)
def left_behind(script: Script) -> None:
    """A worker is taken for dead with a flush under way, and that arrives when the next instance has committed more.
    Nothing of the proposal helps: there is no transaction, and so no fence."""
    script.begin()
    script.poll()
    script.all_arrive()
    script.poll()
    script.system.commit_due()
    script.before("finish", COMMITTER)
    late = [waiting[0] for waiting in script.waiting("offset")]
    if not script.system.start():  # where none is left behind, the process is gone before another one begins
        script.system.kill()
        script.system.start()
    newest = max(waiting[2] for waiting in script.waiting())
    script.thread("resumed", instance=newest)
    for _ in range(30):
        script.one(TASK, instance=newest)
        for waiting in script.waiting("record", instance=newest):
            script.system.step(waiting[0])
    script.system.commit_due()
    for _ in range(6):
        script.one(COMMITTER, instance=newest)
        for waiting in script.waiting("offset", instance=newest):
            script.system.step(waiting[0])
    for number in late:
        if any(number == waiting[0] for waiting in script.waiting()):
            script.system.step(number)


def rows() -> list[tuple[int, ...]]:
    """One history of a source task, with commit(map) as proposed, in which about everything happens once.

    Records of two source partitions are filtered, refused, given up and acknowledged in any order; a flush fails and
    comes back, an exception of commit is ignored, the final commit runs out of time, a process is gone. Every promise
    is stored, and at the end all that was acknowledged is stored.
    """
    config = {"mode": "proposed", "partitions": 2, "records": 12, "batch": 4, "tolerance": "all", "filtered": 5}
    script = Script.of_reference(**config)
    system = script.system
    script.begin()
    script.poll()
    script.arrive("record", 1)
    script.arrive("record", 0, "failed")  # it is tolerated
    script.all_arrive("record")
    script.before("send")
    script.one(TASK, "failed")  # the producer refuses the next record for now
    script.poll()
    system.commit_due()
    script.before("finish", COMMITTER)
    script.arrive("offset", 0)
    script.arrive("offset", 0, "failed")
    script.one(COMMITTER)  # the flush has failed
    script.all_arrive("record")
    script.poll()
    system.commit_due()
    script.before("finish", COMMITTER)
    script.all_arrive("offset")
    script.before("tell", COMMITTER)
    system.audit()
    script.one(COMMITTER, "failed")  # commit throws
    script.commit()
    script.all_arrive("record")
    system.stop()
    script.before("drain")
    script.all_arrive("record")
    script.before("finish")
    script.all_arrive("offset")
    script.thread("instance_stopped")
    system.audit()
    script.begin()
    script.before("send")
    script.one(TASK)
    system.kill()
    script.begin()
    script.poll()
    system.stop()
    script.before("drain")
    script.one(TASK, "failed")  # it does not wait for the records in flight
    script.all_arrive("record")
    script.thread("instance_stopped")
    script.begin()
    script.poll()
    script.all_arrive("record")
    script.poll()
    script.commit()
    script.all_arrive("record")
    script.poll()
    script.commit()
    system.audit()
    made: list[tuple[int, ...]] = system.env.log.rows
    return made
