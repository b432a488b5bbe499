"""This module has known bugs of source tasks, and what the proposal leaves open, as scenarios, and a history in which
nearly every kind of event occurs.

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
    """A `Script` lets threads and requests go on one by one, and stops them where it matters."""

    PROTOCOL = "source-commits"
    SMALL = MappingProxyType({"seed": 0, "partitions": 1, "records": 6, "outputs": 2, "batch": 2})

    def waiting(self, *operations: str, thread: int = -1, instance: int = -1) -> list[tuple[Any, ...]]:
        return [
            waiting
            for waiting in self.system.threads()
            if (not operations or waiting[1] in operations)
            and thread in (-1, waiting[3])
            and instance in (-1, waiting[2])
        ]

    def count(self, kind: str) -> int:
        return len(self.kinds(kind))

    def begin(self) -> None:
        self.system.start()
        self.thread("resumed")

    def one(self, thread: int, outcome: str = "ok", instance: int = -1) -> bool:
        """Let a thread of the newest instance do one operation, and return False if it has to wait or there is none."""
        waits = [w for w in self.waiting(thread=thread, instance=instance) if w[1] not in REQUESTS]
        return bool(waits) and bool(self.system.step(waits[-1][0], outcome))

    def thread(self, kind: str, thread: int = TASK, instance: int = -1, times: int = 1) -> None:
        """Let a thread go on until an event of this kind has happened so often. Raise RuntimeError if it never does."""
        before = self.count(kind)
        for _ in range(STEPS_MAX):
            if self.count(kind) >= before + times:
                return
            if not self.one(thread, instance=instance):
                break
        raise RuntimeError(f"{kind} never happens: what waits is {self.system.threads()}")

    def before(self, operation: str, thread: int = TASK) -> None:
        """Let a thread go on until this operation is its next one. Raise RuntimeError if it never is."""
        for _ in range(STEPS_MAX):
            if self.waiting(operation, thread=thread):
                return
            if not self.one(thread):
                break
        raise RuntimeError(f"thread {thread} never comes to {operation}: what waits is {self.system.threads()}")

    def arrive(self, what: str = "record", nth: int = 0, outcome: str = "ok") -> None:
        """Let the nth request of those that can arrive at its broker do so."""
        self.system.step(self.waiting(what)[nth][0], outcome)

    def all_arrive(self, *what: str) -> None:
        while waits := self.waiting(*(what or REQUESTS)):
            self.system.step(waits[0][0])

    def commit(self, kind: str = "told") -> None:
        """Let the committer begin and go on until an event of this kind happens, while what it writes arrives."""
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
        """Poll and send that many batches, and take what became committable before off the queues."""
        for _ in range(times):
            self.before("poll")
            self.one(TASK)
            self.before("update")
            self.one(TASK)

    def go_on(self) -> None:
        """Let everything happen until nothing is left to happen."""
        idle = 0
        while idle < 4:
            before = self.seen()[:]
            for number, *_ in self.system.threads():
                if any(number == each for each, *_ in self.system.threads()):
                    self.system.step(number)
            fresh = self.seen()[len(before) :]
            idle = 0 if any(event.kind != "told" for event in fresh) else idle + 1

    def crash(self) -> None:
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
    """The second of two records is acknowledged, and commit is called. A connector that takes the call for a promise
    about either record lets upstream discard the first (B42, B45a)."""
    script.begin()
    script.poll()
    script.arrive("record", 1)
    script.poll()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("ahead-of-the-flush", {"mode": "ahead-of-the-flush"}, MENDED)
def acknowledged_after_the_flush_began(script: Script) -> None:
    """Records are acknowledged while the offsets before them are flushed (B45b)."""
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
    """The task's thread is in its poll: records that were acknowledged before one call of commit are still in the
    queues at the next one, so the connectors' own repair of B45b fails as well."""
    script.begin()
    script.poll()
    script.before("poll")
    script.all_arrive("record")
    script.commit()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("first-of-several", {"mode": "first-of-several"}, {**PROPOSED, "several": 2}, followed=False)
def crashes_between_two_of_one(script: Script) -> None:
    """Two records come from one upstream item, and the first one already carries its offset (B45c)."""
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
    """The flush writes more than what was taken for it, and the map contains all of it."""
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
    """The wait for a flush times out just as its callback has run: every offset is stored, none comes back, and the
    task is never notified. An offset in the map is committed, but one that is not in the map may be too."""
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
    """The committer has finished its flush when the task is asked to stop, and calls commit after the final commit has.
    Only one thread at a time may commit, from taking the offsets to the end of the call."""
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
    """The committer has taken what is committable and gives it to the writer when the final commit has written more, so
    that the stored offset goes back to before what upstream has discarded by then.

    Kafka behaves like this today: what is taken under a lock is handed over without it
    (WorkerSourceTask.commitOffsets), and the thread that stops the task cancels the committer without waiting for it
    (SourceTaskOffsetCommitter.remove).
    """
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
    """Ask the task to stop, and let it go on until it is about to end."""
    script.system.stop()
    while not script.waiting("close", thread=TASK):
        script.all_arrive()
        if not script.one(TASK):
            return


@KNOWN_BUGS.bug("H7c", {"mode": "empty-means-all"}, PROPOSED)
def nothing_was_flushed(script: Script) -> None:
    """commit is called with an empty map, which means that nothing new is committed, and not that everything is."""
    script.begin()
    script.poll()
    script.commit()
    script.crash()


@KNOWN_BUGS.bug("H7d", {**PROPOSED, "records": 4, "nulls": 4}, {**PROPOSED, "records": 4})
def null_offset(script: Script) -> None:
    """The newest record carries a null offset, and the stored offset is erased. The map reports it too late for a
    connector that has reported the offset before it upstream. A task whose upstream discards records may have no
    records without an offset."""
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
    """The connector has a batch aborted, whose offsets are committed in a transaction and only then reported."""
    script.begin()
    script.system.abort()
    script.before("commit")
    script.system.kill()
    script.begin()


@KNOWN_BUGS.bug("aborted-acknowledged", {**EXACTLY_ONCE, "aborted_acknowledged": True}, EXACTLY_ONCE)
def aborted_records_are_acknowledged(script: Script) -> None:
    """As in Kafka, commitRecord has metadata of records that no reader will see, since their transaction was aborted as
    the connector requested."""
    script.begin()
    script.before("send")
    script.system.abort()
    script.one(TASK)
    script.all_arrive()
    script.thread("told")


@KNOWN_BUGS.bug("KAFKA-9184", {"mode": "zombie"}, PROPOSED)
def left_behind(script: Script) -> None:
    """A worker is taken for dead with a flush under way, and that flush arrives when the next instance has committed
    more. The proposal cannot prevent this, because without a transaction there is no fencing."""
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
    """Return the rows of one history of a source task, with commit(map), in which nearly every kind of event happens
    once.

    Records of two source partitions are filtered, refused, given up and acknowledged in any order. A flush fails and
    its offsets come back, an exception of commit is ignored, the final commit times out, and a process is killed. Every
    promise holds, and at the end everything that was acknowledged is stored.
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
