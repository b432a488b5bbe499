"""Known bugs of source tasks, and what the proposal leaves open, as short scripts: each once as it goes wrong, once as
it goes right.

    scenario("KAFKA-15091", broken=True)      # events in which upstream forgets what a restart asks for
    scenario("KAFKA-15091", broken=False)     # the same operations, with a connector that does it right
    play("KAFKA-15091", factory)              # the same operations with another implementation

Every script drives the plug, so that it also reads as a minimal history of the bug.
"""

from typing import Any

from fencepost.reference_impl.source_commits.script import COMMITTER, KNOWN, TASK, Script

PROPOSED: dict[str, Any] = {"mode": "proposed"}
SHIPPED: dict[str, Any] = {"mode": "shipped"}
MENDED: dict[str, Any] = {"mode": "shipped-mended"}
EXACTLY_ONCE: dict[str, Any] = {"mode": "proposed-exactly-once"}


LATE: dict[str, Any] = {**PROPOSED, "late_time_outs": True}


def _mode(name: str, **more: Any) -> dict[str, Any]:
    """What goes wrong has a mode of its own."""
    return {"mode": name, **more}


@KNOWN.shown("KAFKA-15091", _mode("last-polled"), MENDED)
@KNOWN.shown("newest-acknowledged", _mode("newest-acknowledged"), MENDED)
def crashes_with_a_record_in_flight(script: Script) -> None:
    """Of two records the second is acknowledged, and commit is called: who takes that for a promise about either has
    upstream forget the first (B42, B45a)."""
    script.begin()
    script.poll()
    script.arrive("record", 1)
    script.poll()
    script.commit()
    script.crash()


@KNOWN.shown("ahead-of-the-flush", _mode("ahead-of-the-flush"), MENDED)
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


@KNOWN.shown("previous-snapshot", _mode("previous-snapshot"), MENDED)
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


@KNOWN.shown("first-of-several", _mode("first-of-several"), {**PROPOSED, "several": 2})
def crashes_between_two_of_one(script: Script) -> None:
    """Two records are of one thing upstream, and the first carries its offset already (B45c)."""
    script.begin()
    script.poll()
    script.arrive("record", 0)
    script.poll()
    script.commit()
    script.crash()


@KNOWN.shown("KAFKA-14079", _mode("failure-not-acknowledged"), {**PROPOSED, "tolerance": "all"})
def failure_is_tolerated(script: Script) -> None:
    """A record fails, which is tolerated, and its queue goes on, or does not (B43)."""
    script.begin()
    script.poll()
    script.arrive("record", 0, "failed")
    script.go_on()
    script.commit()
    script.system.audit()


@KNOWN.shown("H7a", _mode("snapshot-only", partitions=2), {**PROPOSED, "partitions": 2})
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


@KNOWN.shown("late-time-out", LATE, PROPOSED)
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


@KNOWN.shown("H7b", _mode("told-by-two-threads"), PROPOSED)
def told_late(script: Script) -> None:
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


@KNOWN.shown("put-late", SHIPPED, MENDED)
@KNOWN.shown("put-late-and-told", _mode("told-by-two-threads"), PROPOSED)
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


@KNOWN.shown("H7c", _mode("empty-means-all"), PROPOSED)
def nothing_was_flushed(script: Script) -> None:
    """commit is called with an empty map: nothing is said anew, and not that nothing is left to be committed."""
    script.begin()
    script.poll()
    script.commit()
    script.crash()


@KNOWN.shown("H7d", {**PROPOSED, "records": 4, "nulls": 4}, {**PROPOSED, "records": 4})
def null_offset(script: Script) -> None:
    """The newest record carries a null offset, and the stored one is erased: the map says so, too late for a connector
    that has told upstream of the one before. A task whose upstream forgets may have no records without an offset."""
    script.begin()
    for _ in range(2):
        script.poll()
        script.all_arrive()
        script.poll()
        script.all_arrive()
        script.commit()
    script.system.kill()
    script.begin()


@KNOWN.defect("H7f", "told_of_aborted_batch")
def batch_is_aborted(script: Script) -> None:
    """The connector has a batch aborted: its offsets are committed in a transaction of their own, and told of after
    that, not before."""
    script.begin()
    script.system.abort()
    script.before("commit")
    script.system.kill()
    script.begin()


@KNOWN.shown("aborted-acknowledged", {**EXACTLY_ONCE, "aborted_acknowledged": True}, EXACTLY_ONCE)
def aborted_records_are_acknowledged(script: Script) -> None:
    """As in Kafka: commitRecord has metadata of records that no reader will see, since their transaction was aborted
    at the connector's own wish."""
    script.begin()
    script.before("send")
    script.system.abort()
    script.one(TASK)
    script.all_arrive()
    script.thread("told")


@KNOWN.shown("KAFKA-9184", _mode("zombie"), PROPOSED)
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


scenario, play, SCENARIOS = KNOWN.scenario, KNOWN.play, KNOWN
