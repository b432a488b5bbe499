"""This module has known bugs of source offsets, and holes in what KIP-618 specifies about them, as scenarios, and a
history in which every kind of event occurs.

    script.until(0, "commit")                # task 0 has sent its records and offsets
    script.system.stall(0)
    script.system.restart(0)
    script.go_on()                           # its successor, and every other task
    script.audit()

A scenario states where a task stands still, what happens meanwhile, and what fails. Without the bug, what an auditor
reads is the source, and a restart resumes where that ends.
"""

from types import MappingProxyType
from typing import Any

from fencepost.properties import machine
from fencepost.properties.machine import STEPS_MAX, KnownBugs
from fencepost.properties.source_offsets.scenarios import OWNER

AFTER_TRANSACTION_MS = 75_000  # longer than transaction.timeout.ms, and an interval of looking for it
STEP_MS = 5_000


class Script(machine.Script):
    """In a `Script` tasks go on until they wait for an operation and stand still there. By default there is one task
    with one source partition of four records, of which one poll returns one."""

    PROTOCOL = "source-offsets"
    SMALL = MappingProxyType({
        "seed": 0, "tasks": 1, "partitions": 1, "records": 4, "batch": 1, "separate": True, "boundary": "poll",
    })  # fmt: skip

    def threads(self, task: int) -> list[tuple[int, str, int, int]]:
        return [thread for thread in self.system.threads() if thread[2] == task and thread[0] not in self.held]

    def until(self, task: int, operation: str, times: int = 1) -> int:
        """Let the task's threads go on, oldest first, until one of them waits for this operation for the ``times``-th
        time, and return its number. Raise RuntimeError if none ever does."""
        for _ in range(STEPS_MAX):
            found = next((number for number, name, *_ in self.threads(task) if name == operation), None)
            if found is not None:
                times -= 1
                if not times:
                    return found
            if not self.walk(task):
                break
        raise RuntimeError(f"task {task} never comes to {operation}: {self.system.threads()}")

    def walk(self, task: int, steps: int = 1) -> bool:
        for _ in range(steps):
            threads = self.threads(task)
            if not threads:
                return False
            self.system.step(threads[0][0])
        return True

    def then(self, task: int, operation: str, outcome: str = "ok") -> None:
        self.system.step(self.until(task, operation), outcome)

    def hold(self, task: int, operation: str) -> int:
        """Hold the thread of the task that waits for this operation, and return its number."""
        number = self.until(task, operation)
        self.held.add(number)
        return number

    def release(self, number: int) -> None:
        self.held.discard(number)
        self.system.step(number)

    def go_on(self, *tasks: int) -> None:
        """Let these tasks, or all tasks without any named, do everything they can."""
        for _ in range(STEPS_MAX):
            ready = [thread for thread in self.system.threads() if thread[0] not in self.held]
            number = next((each[0] for each in ready if not tasks or each[2] in tasks), None)
            if number is None:
                return
            self.system.step(number)

    def audit(self) -> None:
        """Let everything go on and transactions time out, and then audit the output."""
        self.held.clear()
        self.go_on()
        for _ in range(0, AFTER_TRANSACTION_MS, STEP_MS):
            self.system.advance(STEP_MS)
            self.go_on()
        self.system.audit()


KNOWN_BUGS = KnownBugs(Script.on, **Script.SMALL)

TWO: dict[str, Any] = {"tasks": 2, "partitions": 2}
SWITCHED: dict[str, Any] = {"separate": False}
LATER, TAKEN = {"mode": "shipped-own-topic-later", **SWITCHED}, {"mode": "shipped-own-topic-taken"}
MIGRATION: dict[str, Any] = {"mode": "migration-sentinel", **SWITCHED}
OPERATED = {"downgrades": True, "records": 6}
TOMBSTONES: dict[str, Any] = {"rounds": 2, "records": 2}


@KNOWN_BUGS.bug("C22", defect="reads_to_the_last_stable", **TWO)
@KNOWN_BUGS.bug("one-look", defect="one_look", **TWO)
def open_transaction_of_another_task(script: Script) -> None:
    """C22: a task has its offsets in a transaction that is still open. What another task commits after it is not
    stable, and the successor of that task does not see it unless it waits."""
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


@KNOWN_BUGS.bug("isolation", defect="reads_uncommitted")
def aborted_offsets(script: Script) -> None:
    """A task dies before its commit, and its successor reads the offsets of the transaction, which was aborted."""
    script.until(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("618.18", defect="reads_first")
def predecessor_commits_late(script: Script) -> None:
    """The successor reads the offsets, and then the predecessor commits, before it is fenced."""
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


@KNOWN_BUGS.bug("C24", defect="offsets_in_another_transaction")
def crash_between_two_transactions(script: Script) -> None:
    """Records and offsets are committed one after the other, and the task dies in between."""
    script.until(0, "flush")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("618.27-flush", defect="committed_without_offsets")
def offsets_cannot_be_sent(script: Script) -> None:
    """The offsets of a transaction cannot be sent, so that nothing of it may be committed."""
    script.then(0, "flush", "failed")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("618.27-unsure", defect="sent_again_when_unsure")
def commit_is_not_answered(script: Script) -> None:
    """A commit succeeds and its answer is lost. A task that takes the commit for failed sends everything again."""
    script.then(0, "commit", "lost")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("618.27-dropped", defect="noted_before_sent", boundary="interval")
def stops_while_a_record_waits(script: Script) -> None:
    """The producer refuses a record for now, and before the next attempt the task ends and commits without it."""
    number = script.until(0, "send")
    script.system.stop(0)
    script.system.step(number, "failed")
    script.go_on()
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("618.19", defect="checked_first", **TWO)
@KNOWN_BUGS.bug("618.19-unchecked", defect="not_checked", **TWO)
def opens_its_producer_late(script: Script) -> None:
    """A task of an older set opens its producer when the set of one task, which has all partitions, already works."""
    script.until(1, "open")
    script.system.stall(1)
    script.system.kill(0)
    script.system.configure(1, True)
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.resume(1)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("618.7", defect="not_fenced", **TWO)
def commits_after_a_new_set(script: Script) -> None:
    """A task of an older set stands still before it sends its offsets. A set of one task, which has all partitions, has
    another transactional id, and finds nothing open to wait for in the offsets topic."""
    script.until(1, "flush")
    script.system.stall(1)
    script.system.kill(0)
    script.system.configure(1, True)
    script.until(0, "poll")
    script.system.resume(1)
    script.then(1, "flush")
    script.go_on()
    script.audit()


# 618.31: two offsets topics are read as one


@KNOWN_BUGS.bug("C26", defect="global_preferred")
def a_copy_is_late(script: Script) -> None:
    """An offset is not copied to the worker's topic, and a worker that prefers that topic goes back by one record."""
    script.then(0, "copy")
    script.then(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("7.9", LATER, SWITCHED)
def a_topic_of_its_own(script: Script) -> None:
    """The connector is given a topic of its own, which is still empty. As released, nulls from that topic hide what the
    worker's topic has, and the source is read again from its beginning."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.audit()


@KNOWN_BUGS.bug("618.31-partition", defect="all_or_nothing", **SWITCHED, tasks=1, partitions=2)
def one_partition_only(script: Script) -> None:
    """When the connector gets a topic of its own, only one of its source partitions is committed there yet, and the
    offset of the other one is still in the worker's topic."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.kill(0)
    script.system.configure(1, True)
    script.then(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("7.8-taken", TAKEN, {"taken": True}, followed=False)
def copied_and_taken(script: Script) -> None:
    """As released, the copy in the worker's topic is made before the commit. The transaction is aborted, and then the
    connector is configured without a topic of its own, so that a record is left out that was never committed."""
    script.then(0, "copy") if script.broken else None
    script.until(0, "commit")
    script.system.kill(0)
    script.system.configure(1, False)
    script.audit()


@KNOWN_BUGS.bug("7.8", {"mode": "falls-back-alone"}, {})
def copied_and_aborted(script: Script) -> None:
    """The copy in the worker's topic is made before the commit, and the transaction is aborted. A view that falls back
    on the worker's topic finds the copy, because the connector's own topic has nothing else of that partition."""
    script.then(0, "copy") if script.broken else None
    script.until(0, "commit")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


@KNOWN_BUGS.bug("KAFKA-15018", defect="tombstone_primary_first", **TOMBSTONES)
@KNOWN_BUGS.bug("B35", defect="tombstones_not_copied", **TOMBSTONES)
def tombstone_in_one_topic(script: Script) -> None:
    """B35: an offset is in both topics. Its tombstone is committed in the connector's own topic and does not reach the
    worker's, so that a restart finds the old offset there. With the worker's topic first, the flush fails, and nothing
    is committed."""
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


@KNOWN_BUGS.bug("KAFKA-15018-await", defect="flush_not_awaited", **TOMBSTONES)
def tombstone_is_not_awaited(script: Script) -> None:
    """The worker's producer is slow with a tombstone, and the task does not wait, commits no offset and dies."""
    script.then(0, "commit")
    script.then(0, "commit" if script.broken else "copy")
    script.system.kill(0)
    script.system.restart(0)
    script.audit()


# 618.30, 618.39, 618.45: offsets are copied to the separate topic


@KNOWN_BUGS.bug("H8", defect="owners_not_fenced", **MIGRATION)
def two_owners(script: Script) -> None:
    """H8: an owner of the Connector has found the topic empty and stands still. Another owner fills the topic, and
    tasks go on from there. Then the first owner fills it as well, with what was in the global topic at first."""
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


@KNOWN_BUGS.bug("C25", defect="looks_first", **MIGRATION)
def looked_before_it_fenced(script: Script) -> None:
    """C25: of two owners that fence each other the first has seen an empty topic and not opened its producer."""
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


@KNOWN_BUGS.bug("618.30", defect="copied_in_pieces", **MIGRATION, partitions=2, tasks=1)
def half_of_it(script: Script) -> None:
    """An owner fails when it has copied one of two offsets. Without a transaction the topic is not empty then, and the
    next owner leaves it incomplete."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.configure(1, True)
    if script.broken:
        script.then(OWNER, "migrate")
    script.then(OWNER, "migrate", "failed")
    script.system.start_owner()
    script.audit()


@KNOWN_BUGS.bug("618.45", defect="tasks_do_not_wait", **MIGRATION)
def before_it_is_filled(script: Script) -> None:
    """A task starts before its topic is filled, at the beginning of the source."""
    script.then(0, "commit")
    script.system.configure(1, True)
    script.go_on(0)
    script.audit()


@KNOWN_BUGS.bug("618.45-fence", defect="copied_before_fenced", **MIGRATION)
def old_set_goes_on(script: Script) -> None:
    """The topic is filled while the tasks of the old configuration still work with the global one."""
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


@KNOWN_BUGS.bug("618.39", defect="copied_by_tasks", **SWITCHED, tasks=2, partitions=2)
def copied_twice(script: Script) -> None:
    """The rejected alternative lets tasks copy: two tasks find the own topic empty, one copies and goes on, and then
    the other copies what was there at first. With the view of both topics nothing is copied, so nothing can be late."""
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


# 618.36: the feature is taken away and comes back


def used_and_downgraded(script: Script, hard: bool) -> None:
    """Two records are committed in the own topic, the feature is taken away, and more records are committed."""
    script.then(0, "commit")
    script.then(0, "commit")
    script.system.downgrade(hard)
    script.until(0, "send", 3)


@KNOWN_BUGS.bug("618.36", OPERATED, {**OPERATED, "separate": False}, followed=False)
def stale_topic(script: Script) -> None:
    """Software from before this feature goes on in the worker's topic. After the upgrade the connector's own topic,
    which is stale by then, has precedence. Without a topic of its own nothing is stale."""
    used_and_downgraded(script, hard=True)
    script.system.upgrade()
    script.audit()


@KNOWN_BUGS.bug("618.36-deleted", OPERATED, OPERATED, followed=False)
def stale_topic_deleted(script: Script) -> None:
    """A topic is stale after a hard downgrade, unless it was deleted before the upgrade, as the text requires."""
    used_and_downgraded(script, hard=True)
    if not script.broken:
        script.system.downgrade(False)
        script.system.configure(1, False)
        script.system.delete_topic()
        script.system.configure(1, True)
    script.system.upgrade()
    script.audit()


@KNOWN_BUGS.bug("618.36-soft", {**OPERATED, "implicit": True}, OPERATED, followed=False)
def soft_downgrade(script: Script) -> None:
    """With the feature switched off, a topic named in the connector's configuration stays in use and is not stale. A
    topic that was implied by another cluster of the connector's producer does not stay in use and becomes stale."""
    used_and_downgraded(script, hard=False)
    script.system.upgrade()
    script.audit()


@KNOWN_BUGS.bug("618.36-aborted", {**OPERATED, "separate": False}, {**OPERATED, "separate": True}, followed=False)
def reads_what_was_aborted(script: Script) -> None:
    """A task dies before its commit. With the feature switched off, the worker reads its topic with read_uncommitted
    and resumes after records that were aborted. A topic of the connector's own is still read with read_committed."""
    script.then(0, "commit")
    script.until(0, "commit")
    script.system.kill(0)
    script.system.downgrade(False)
    script.until(0, "run")
    script.audit()


EVERYTHING = {"tasks": 2, "partitions": 2, "records": 12, "batch": 2, "filtered": 5, "separate": False}


def rows() -> list[tuple[int, ...]]:
    """Return the rows of one history in which every kind of event occurs.

    Two tasks read two source partitions, first with their offsets in the worker's topic, then with a topic of their
    own. One stands still with its offsets sent and its transaction undecided, and the other one's successor has to wait
    for that. One is killed, one ends in order, one is of an older set and is fenced, a commit is not answered, and a
    record is dropped. Every promise holds, and at the end the source is in the output.
    """
    script = Script.of_reference(**EVERYTHING)
    system = script.system
    for task in (0, 1, 0, 1):
        script.then(task, "commit")
    system.audit()
    system.configure(2, True)  # what was at work is fenced
    for task in (0, 1):
        script.walk(task, 2)
        script.then(task, "commit")
    script.until(0, "commit")
    system.stall(0)
    script.then(1, "commit")
    system.kill(1)
    system.restart(1)
    script.go_on(1)  # waits for the transaction of task 0
    system.resume(0)
    script.then(0, "commit")
    script.then(1, "commit", "lost")
    system.restart(1)
    script.go_on(1)
    system.stop(0)
    script.then(0, "stop")
    system.restart(0)
    script.until(0, "send")
    system.stall(0)
    system.restart(0)
    script.go_on(0)
    system.resume(0)
    system.fail_over()
    system.change_leader(1)
    script.audit()
    made: list[tuple[int, ...]] = system.env.log.rows
    return made
