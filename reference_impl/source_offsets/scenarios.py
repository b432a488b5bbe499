"""Known bugs of source offsets, and holes in what KIP-618 says of them, each played twice: with it, and without it.

    events = scenario("KAFKA-15018", broken=True)

A scenario says what a task stands still before, what happens meanwhile, and what fails; everything else goes on by
itself. With the correct parts what an auditor reads is the source, and a restart resumes where that ends.
"""

from fencepost.reference_impl.source_offsets.script import KNOWN, OWNER, Script

TWO = {"tasks": 2, "partitions": 2}
SWITCHED = {"separate": False}
LATER, TAKEN = {"mode": "shipped-own-topic-later"}, {"mode": "shipped-own-topic-taken"}
MIGRATION = {"mode": "migration-sentinel", **SWITCHED}
OPERATED = {"downgrades": True, "records": 6}
TOMBSTONES = {"rounds": 2, "records": 2}


@KNOWN.defect("C22", "reads_to_the_last_stable", **TWO)
@KNOWN.defect("one-look", "one_look", **TWO)
def open_transaction_of_another_task(script: Script) -> None:
    """C22: a task has its offsets in a transaction that is still open; what another task commits behind it is not
    stable, and the successor of that one does not see it, unless it waits."""
    script.until(1, "poll")
    script.until(0, "commit")
    script.system.stall(0)
    script.then(1, "commit")
    script.system.kill(1)
    script.system.restart(1)
    script.go_on(1)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("isolation", "reads_uncommitted")
def aborted_offsets(script: Script) -> None:
    """A task dies before its commit, and its successor reads the offsets of the transaction that it has aborted."""
    script.until(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.18", "reads_first")
def predecessor_commits_late(script: Script) -> None:
    """Offsets are read, and then the predecessor commits, before it is fenced."""
    script.until(0, "send")
    script.system.stall(0)
    script.system.restart(0)
    script.until(0, "open")
    late = script.until(0, "open")
    script.held.add(late)
    script.system.resume(0)
    script.then(0, "commit")
    script.held.discard(late)
    script.audit()


@KNOWN.defect("C24", "offsets_in_another_transaction")
def crash_between_two_transactions(script: Script) -> None:
    """Records and offsets are committed one after the other, and the task dies in between."""
    script.until(0, "flush")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.27-flush", "committed_without_offsets")
def offsets_cannot_be_sent(script: Script) -> None:
    """The offsets of a transaction cannot be sent: nothing of it may be committed."""
    script.then(0, "flush", "failed")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.27-unsure", "sent_again_when_unsure")
def commit_is_not_answered(script: Script) -> None:
    """A commit is done, and its answer is lost: whoever takes it for not done sends everything again."""
    script.then(0, "commit", "lost")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.27-dropped", "noted_before_sent")
def stops_while_a_record_waits(script: Script) -> None:
    """The producer does not take a record now; before it is tried again, the task ends in order, and commits what it
    has, without that one."""
    number = script.until(0, "send")
    script.system.stop(0)
    script.system.step(number, "failed")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.19", "checked_first", **TWO)
@KNOWN.defect("618.19-unchecked", "not_checked", **TWO)
def opens_its_producer_late(script: Script) -> None:
    """A task of an older set opens its producer when the set of one task is at work, which has all partitions."""
    script.until(1, "open")
    script.system.stall(1)
    script.system.kill(0)
    script.system.configure(1, True)
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.resume(1)
    script.go_on(1)
    script.audit()


@KNOWN.defect("618.7", "not_fenced", **TWO)
def commits_after_a_new_set(script: Script) -> None:
    """A task of an older set stands still before it sends its offsets; a set of one task, which has all partitions, has
    another transactional id, and nothing open to wait for in the offsets topic."""
    script.until(1, "flush")
    script.system.stall(1)
    script.system.kill(0)
    script.system.configure(1, True)
    script.until(0, "poll")
    script.system.resume(1)
    script.then(1, "flush")
    script.go_on()
    script.audit()


# 618.31: two offsets topics as one


@KNOWN.defect("C26", "global_preferred")
def a_copy_is_late(script: Script) -> None:
    """The copy of an offset in the worker's topic is not made; whoever prefers that topic goes back by one."""
    script.then(0, "copy")
    script.then(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.shown("7.9", LATER, SWITCHED)
def a_topic_of_its_own(script: Script) -> None:
    """The connector is given a topic of its own, in which there is nothing yet. As released, nulls of that one hide
    what the worker's topic has, and the source is read again from its beginning."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.audit()


@KNOWN.defect("618.31-partition", "all_or_nothing", **SWITCHED, tasks=1, partitions=2)
def one_partition_only(script: Script) -> None:
    """When the connector has a topic of its own, only one of its source partitions is committed there as yet: what is
    known of the other one is still in the worker's topic."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.kill(0)
    script.system.configure(1, True)
    script.then(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.shown("7.8-taken", TAKEN, {"taken": True})
def copied_and_taken(script: Script) -> None:
    """As released, the copy in the worker's topic is made before the commit; the transaction is aborted, and then the
    connector is configured without a topic of its own: a record is left out that was never committed."""
    script.then(0, "copy") if script.broken else None
    script.until(0, "commit")
    script.system.kill(0)
    script.system.configure(1, False)
    script.audit()


@KNOWN.shown("7.8", {"mode": "falls-back-alone"}, {})
def copied_and_aborted(script: Script) -> None:
    """The same with a view that falls back on the worker's topic: the own one has nothing else of that partition, and
    need not be taken away."""
    script.then(0, "copy") if script.broken else None
    script.until(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("KAFKA-15018", "tombstone_primary_first", **TOMBSTONES)
@KNOWN.defect("B35", "tombstones_not_copied", **TOMBSTONES)
def tombstone_in_one_topic(script: Script) -> None:
    """B35: an offset is in both topics; its tombstone is committed in the own one, and does not get to the worker's:
    a restart finds the old offset there. With the worker's topic first, the flush fails, and nothing is committed."""
    script.then(0, "copy")
    while not any(event.offset == 2 for event in script.kinds("polled")):
        script.walk(0)
    if script.broken:
        script.then(0, "commit")
        if script.threads(0) and any(name == "copy" for _, name, *_ in script.threads(0)):
            script.then(0, "copy", "failed")
    else:
        script.then(0, "copy", "failed")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("KAFKA-15018-await", "flush_not_awaited", **TOMBSTONES)
def tombstone_is_not_awaited(script: Script) -> None:
    """The worker's producer is slow with a tombstone; the task, which does not wait for it, commits its records without
    any offset, and dies."""
    script.then(0, "commit")
    script.then(0, "commit" if script.broken else "copy")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.shown("late-copy", {**TOMBSTONES, "mode": "late-copies"}, {**TOMBSTONES, "rounds": 1})
def a_copy_comes_behind_a_tombstone(script: Script) -> None:
    """The worker's producer still has the copy of an offset when its task has gone to another worker, which writes a
    tombstone; then the copy comes, beside any transaction, and nothing fences it."""
    copy = script.hold(0, "copy")
    script.system.stop(0)
    script.then(0, "stop")
    script.system.restart(0)
    script.then(0, "commit")
    script.release(copy)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


# 618.30, 618.39, 618.45: to copy


@KNOWN.defect("H8", "owners_not_fenced", **MIGRATION)
def two_owners(script: Script) -> None:
    """H8: an owner of the Connector has found the topic empty, and stands still; another one fills it, and tasks go on
    from there; then the first one fills it as well, with what was there at first."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.until(OWNER, "migrate")
    script.system.stall_owner()
    script.system.start_owner()
    script.go_on(OWNER)
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.resume_owners()
    script.go_on(OWNER)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("C25", "looks_first", **MIGRATION)
def looked_before_it_fenced(script: Script) -> None:
    """The same with owners that fence one another: the first one has looked, and not yet opened its producer."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.until(OWNER, "open")
    script.system.stall_owner()
    script.system.start_owner()
    script.go_on(OWNER)
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.resume_owners()
    script.go_on(OWNER)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN.defect("618.30", "copied_in_pieces", **MIGRATION, partitions=2, tasks=1)
def half_of_it(script: Script) -> None:
    """An owner fails when it has copied one of two offsets: without a transaction the topic is not empty, and the next
    one leaves it at that."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.configure(1, True)
    if script.broken:
        script.then(OWNER, "migrate")
    script.then(OWNER, "migrate", "failed")
    script.system.start_owner()
    script.audit()


@KNOWN.defect("618.45", "tasks_do_not_wait", **MIGRATION)
def before_it_is_filled(script: Script) -> None:
    """A task starts before its topic is filled, at the beginning of the source."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.go_on(0)
    script.audit()


@KNOWN.defect("618.45-fence", "copied_before_fenced", **MIGRATION)
def old_set_goes_on(script: Script) -> None:
    """The topic is filled while the tasks of the old configuration are still at work in the global one."""
    script.then(0, "commit")
    script.system.stall(0)
    script.system.configure(1, True)
    script.go_on(OWNER)
    script.until(0, "open")
    late = script.until(0, "open")
    script.held.add(late)
    script.system.resume(0)
    script.go_on(0)
    script.held.discard(late)
    script.audit()


@KNOWN.defect("618.39", "copied_by_tasks", **SWITCHED, tasks=2, partitions=2)
def copied_twice(script: Script) -> None:
    """The rejected alternative: two tasks find the own topic empty; one copies, and goes on; then the other copies what
    was there at first. Nothing is copied in the view of both, so that nothing can be late."""
    script.then(0, "commit")
    script.then(1, "commit")
    script.system.configure(2, True)
    first, second = ("migrate", "migrate") if script.broken else ("run", "run")
    script.until(1, second)
    script.system.stall(1)
    script.until(0, first)
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.resume(1)
    script.go_on(1)
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


# 618.36: away, and back


def used_and_downgraded(script: Script, hard: bool) -> None:
    """Two records are committed in the own topic, and the feature is taken away; then there are more."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.downgrade(hard)
    script.until(0, "send", 3)


@KNOWN.shown("618.36", OPERATED, {**OPERATED, "separate": False})
def stale_topic(script: Script) -> None:
    """Software from before this feature goes on in the worker's topic; back with the feature, the own topic, which is
    stale by then, has precedence. Without a topic of its own nothing is stale."""
    used_and_downgraded(script, hard=True)
    script.system.upgrade()
    script.audit()


@KNOWN.shown("618.36-deleted", OPERATED, OPERATED)
def stale_topic_deleted(script: Script) -> None:
    """The same; the fixed way is to delete the own topic before, as the text says."""
    used_and_downgraded(script, hard=True)
    if not script.broken:
        script.system.downgrade(False)
        script.system.configure(1, False)
        script.system.delete_topic()
        script.system.configure(1, True)
    script.system.upgrade()
    script.audit()


@KNOWN.shown("618.36-soft", {**OPERATED, "implicit": True}, OPERATED)
def soft_downgrade(script: Script) -> None:
    """With the feature switched off, a topic that the connector's configuration names is used on, and nothing is stale;
    one that was implied by another cluster of its producer is not, and is."""
    used_and_downgraded(script, hard=False)
    script.system.upgrade()
    script.audit()


@KNOWN.shown("618.36-aborted", {**OPERATED, "separate": False}, {**OPERATED, "separate": True})
def reads_what_was_aborted(script: Script) -> None:
    """A task dies before its commit; with the feature switched off the worker reads its topic with read_uncommitted,
    and resumes behind records that were aborted. A topic of the connector's own is read with read_committed still."""
    script.then(0, "commit")
    script.until(0, "commit")
    script.system.kill(0)
    script.system.downgrade(False)
    script.until(0, "run")
    script.audit()


scenario, play, SCENARIOS = KNOWN.scenario, KNOWN.play, KNOWN
