"""This module has known bugs and holes of exactly-once groups as scenarios, and a history with every kind of event.

    script.until(0, "consumed")              # slot 0 has joined the group, and polled a record
    script.system.pause(0)
    script.until(1, "consumed")              # its session is over: slot 1 has its partition now
    script.system.resume(0)
    script.go_on(0, 1)                       # a zombie, and its successor
    script.system.audit()

Where there is no defect in the code, `broken` is a configuration in which the guarantee ends.
"""

from types import MappingProxyType
from typing import Any

from fencepost.properties import machine
from fencepost.properties.machine import STEPS_MAX, KnownBugs

TICK_MS = 100
AFTER_SESSION_MS = 50_000  # longer than session.timeout.ms
AFTER_POLLS_MS = 310_000  # longer than max.poll.interval.ms
AFTER_TRANSACTION_MS = 140_000  # longer than the scripts' transaction.timeout.ms, and an interval of looking for it
PATIENCE_MS = 3_000


class Script(machine.Messages):
    """In a `Script` instances go on line by line, by default with one partition of one record."""

    PROTOCOL = "group-fencing"
    SMALL = MappingProxyType({
        "seed": 0, "members": 2, "inputs": 1, "records": 1, "transaction_timeout_ms": 120_000, "initial_delay_ms": 0,
    })  # fmt: skip

    def otherwise(self) -> bool:
        """Let an append to the transaction log succeed, and return whether there was one."""
        return bool(self.system.log_append())

    def tick(self, slots: tuple[int, ...]) -> None:
        if not any(self.system.step(slot) for slot in slots) and not self.step():
            self.system.advance(TICK_MS)

    def until(self, slot: int, kind: str, times: int = 1) -> None:
        """Let the instance go on until an event of this kind has happened to it that many times, while everything else
        arrives. Raise RuntimeError if it never does."""
        before = self.count(slot, kind)
        for _ in range(STEPS_MAX):
            if self.count(slot, kind) >= before + times:
                return
            self.tick((slot,))
        raise RuntimeError(f"{kind} never happens to slot {slot}: in flight {self.system.messages()}")

    def count(self, slot: int, kind: str) -> int:
        return sum(event.slot == slot for event in self.kinds(kind))

    def go_on(self, *slots: int, ms: int = PATIENCE_MS) -> None:
        """Let these instances go on for a while. An instance that fails has no successor."""
        for _ in range(0, ms, TICK_MS):
            for _ in range(STEPS_MAX):
                if not any(self.system.step(slot) for slot in slots) and not self.step():
                    break
            self.system.advance(TICK_MS)

    def cut_off(self, slot: int, ms: int = AFTER_SESSION_MS) -> None:
        """Lose what the instance's consumer sends for a while, without the instance acting; all else arrives."""
        for _ in range(0, ms, TICK_MS):
            for number, _, source, *_ in list(self.system.messages()):
                if source == f"consumer-{slot}":
                    self.system.drop(number)
            self.deliver()
            self.system.advance(TICK_MS)

    def hold_from(self, kind: str, source: str) -> list[int]:
        """Hold such a message of this node up, and let all else arrive. Raise RuntimeError if none is sent."""
        while not (found := [m[0] for m in self.system.messages() if m[1:3] == (kind, source)]):
            if not self.step():
                raise RuntimeError(f"{source} never sends {kind}: in flight {self.system.messages()}")
        self.held.update(found)
        return found

    def audit(self) -> None:
        """Let an auditor read the output when no transaction can be open any more."""
        self.held.clear()
        self.settle(AFTER_TRANSACTION_MS)
        self.system.audit()

    def taken_over(self) -> None:
        """Let slot 0 poll a record and stand still, and let slot 1 get its partition and poll the same record."""
        self.until(0, "consumed")
        self.system.pause(0)
        self.until(1, "consumed")


KNOWN_BUGS = KnownBugs(Script.on, **Script.SMALL)

DRAFT: dict[str, Any] = {"mode": "draft"}
REPAIRED: dict[str, Any] = {"mode": "draft-repaired-by-assignment"}
SHIPPED: dict[str, Any] = {"mode": "shipped"}
STRICT: dict[str, Any] = {"mode": "new-protocol", "listener": False}
RELAXED: dict[str, Any] = {"mode": "new-protocol-relaxed", "listener": False}
AT_POLL: dict[str, Any] = {**RELAXED, "inputs": 2, "metadata_at": "poll", "request_timeout_ms": 2_000}
OPEN_FOR_LONG: dict[str, Any] = {"transaction_timeout_ms": 120_000}
TWO: dict[str, Any] = {"records": 2, "max_poll_records": 1}
PER_PARTITION: dict[str, Any] = {"group_aware": False}


@KNOWN_BUGS.bug("H1", DRAFT, REPAIRED)
@KNOWN_BUGS.bug("H1-generation", DRAFT, {"mode": "draft-repaired-by-generation"})
@KNOWN_BUGS.bug("B38", {**SHIPPED, "metadata": False}, SHIPPED)
@KNOWN_BUGS.bug("B38-new-protocol", {**STRICT, "metadata": False}, {**STRICT, "metadata_at": "poll"})
@KNOWN_BUGS.bug("any-generation", defect="any_generation_commits")
@KNOWN_BUGS.bug("idle-zombie", defect="idle_keep_epoch", **REPAIRED)
@KNOWN_BUGS.bug("447.3", defect="found_by_id", **REPAIRED)
@KNOWN_BUGS.bug("447.12-old", {**SHIPPED, "old": 1}, {**SHIPPED, "old": 2})
@KNOWN_BUGS.bug("447.12-old-draft", {**DRAFT, "old": 1}, {**DRAFT, "old": 2})
def zombie_commits_first(script: Script) -> None:
    """A member that has stood still commits what it polled, before its successor has committed anything.

    In the draft there is no ongoing transaction to abort and no earlier commit with which to compare (H1). In what
    shipped, a member without metadata passes for an old client (B38). An old client with a producer per partition is
    fenced only by another such client.
    """
    script.taken_over()
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("fail-over", defect="group_stored_once")
def next_coordinator_knows_the_zombie(script: Script) -> None:
    """The group's coordinator fails over after a rebalance that was not stored: the old generation is current."""
    script.taken_over()
    script.until(1, "end_told")
    script.system.move_group()
    script.system.resume(0)
    script.go_on(0)
    script.audit()


@KNOWN_BUGS.bug("447.8", defect="undefined_generation_passes", **DRAFT, old=1, records=2, max_poll_records=1)
def old_zombie_commits_last(script: Script) -> None:
    """An old client in the draft's upgrade commits after its successor has, and the reverse map knows the later one."""
    script.until(0, "offset_sent")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("447.8-fail-over", defect="reverse_map_forgotten", **DRAFT, old=1, records=2, max_poll_records=1)
def next_coordinator_does_not_know_who_committed(script: Script) -> None:
    """An old client in the draft's upgrade commits after its successor, with a fail-over of the group between."""
    script.until(0, "offset_sent")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.move_group()
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("447.9-shipped", {**SHIPPED, "old": 1}, SHIPPED)
def old_client_reads_below_a_pending_commit(script: Script) -> None:
    """An old client follows a new one whose commit is on its way, and what shipped lets it read on."""
    script.until(1, "end_sent")
    held = script.hold("end")
    script.system.pause(1)
    script.system.advance(AFTER_SESSION_MS)
    script.go_on(0, ms=60_000)
    script.release(held)
    script.go_on(0)
    script.audit()


@KNOWN_BUGS.bug("447.12-stuck", {**DRAFT, **TWO, "old": 1}, {**SHIPPED, **TWO, "old": 1})
def partition_returns_to_an_old_client(script: Script) -> None:
    """In the draft's upgrade a partition comes back from a new client to an old one, whose commits have no generation.
    They are refused forever, although no other member has the partition."""
    script.until(1, "end_told")
    script.system.close(1)
    script.go_on(0, ms=AFTER_SESSION_MS)
    script.audit()


@KNOWN_BUGS.bug("447.21-strict", STRICT, {**STRICT, "metadata_at": "poll"})
@KNOWN_BUGS.bug("447.21-relaxed", RELAXED, {**RELAXED, "metadata_at": "poll"})
@KNOWN_BUGS.bug("447.21-listener", RELAXED, {**RELAXED, "listener": True})
@KNOWN_BUGS.bug("447.21-classic", RELAXED, SHIPPED)
def comes_back_with_a_new_epoch(script: Script) -> None:
    """A member is fenced while its application works, and joins again under the same id in the background.

    Its groupMetadata() has the new epoch when it sends its offsets. The current epoch may commit any partition, also
    one that another member has meanwhile.
    """
    script.until(0, "consumed")
    script.cut_off(0)
    script.until(1, "consumed")
    script.settle(AFTER_SESSION_MS)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("B39", defect="pending_ignored", **OPEN_FOR_LONG)
@KNOWN_BUGS.bug("KAFKA-9346", defect="consumer_does_not_wait", **OPEN_FOR_LONG)
def reads_below_a_pending_commit(script: Script) -> None:
    """B39: the successor begins at an offset that a commit on its way is about to change."""
    script.until(0, "end_sent")
    held = script.hold("end")
    script.system.pause(0)
    script.system.advance(AFTER_SESSION_MS)
    script.go_on(1, ms=60_000)
    script.release(held)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("expiry", defect="expiry_ignores_pending")
def expires_what_is_pending(script: Script) -> None:
    """A group without members is old enough for its offsets to be deleted, while a transaction with the only one of
    them is still to be committed."""
    script.until(0, "end_sent")
    held = script.hold("end")
    script.system.pause(0)
    script.system.advance(AFTER_SESSION_MS)
    script.system.expire_pending()
    script.release(held)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("447.17", defect="fetches_before_init", **PER_PARTITION, **OPEN_FOR_LONG)
def fetches_before_its_predecessor_is_out(script: Script) -> None:
    """447.17: the successor fetches offsets, and then the predecessor commits, before it is fenced."""
    script.until(0, "consumed")
    script.system.pause(0)
    script.until(1, "assigned")
    script.system.step(1)
    init = script.hold_next("init")
    script.go_on(1)
    script.system.resume(0)
    script.until(0, "end_told")
    script.release(init)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("judged-early", defect="judged_too_early", request_timeout_ms=100_000)
def judged_before_the_rebalance(script: Script) -> None:
    """A commit passes the group's check, waits for the transaction coordinator, and is written generations later."""
    script.until(0, "offset_sent")
    check = script.hold_from("check", "partition-1")
    script.system.pause(0)
    script.until(1, "consumed")
    script.release(check)
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN_BUGS.bug("late-commit-v1", {**TWO, "transactions": "v1"}, TWO)
@KNOWN_BUGS.bug("late-commit-verified", {**TWO, "transactions": "v1-verified"}, TWO)
def late_commit_joins_the_next_transaction(script: Script) -> None:
    """Before KIP-890's second part a late copy of a commit is written into the producer's next transaction and takes
    the group's offset back, because commits have no sequence numbers."""
    script.until(0, "offset_sent")
    late = script.hold_next("produce", "partition-1")
    for number in late:
        script.system.deliver(number, keep=True)
    script.until(0, "end_told")
    script.until(0, "end_sent")
    end = script.hold("end")
    script.let_in(late)
    script.release(end)
    script.go_on(0)
    script.system.restart(0)
    script.go_on(0, ms=AFTER_SESSION_MS)
    script.audit()


@KNOWN_BUGS.bug(
    "447.21-regained", {**STRICT, "metadata_at": "send"}, {**STRICT, "metadata_at": "poll"}, defect="ownership_checked"
)
@KNOWN_BUGS.bug("KIP-1251-epochs", defect="assignment_epoch_ignored", **RELAXED, metadata_at="poll")
@KNOWN_BUGS.bug("KIP-1251-stored", defect="assignment_epochs_not_stored", **RELAXED, metadata_at="poll")
def regains_what_it_had(script: Script) -> None:
    """A member has a partition again that another one had meanwhile, so that what it polled before is older than that.

    A coordinator that checks only the current epoch and owner of the partition accepts the commit (447.21-regained).
    """
    script.until(0, "consumed")
    script.cut_off(0)
    script.until(1, "end_told")
    script.settle(AFTER_SESSION_MS)
    script.system.close(1)
    script.settle(AFTER_SESSION_MS)
    script.system.move_group()
    script.go_on(0)
    script.audit()


@KNOWN_BUGS.bug("447.21-epoch-again", {**AT_POLL, "assignment_interval_ms": 60_000}, AT_POLL)
def has_its_epoch_again(script: Script) -> None:
    """A member is removed, and joins again in the background before its former group is assigned anew. It then has the
    same epoch as when it polled, and another member has one of its partitions by the time it commits."""
    script.until(0, "consumed")
    script.until(1, "joined")
    script.cut_off(0, ms=46_000)
    script.settle(ms=4_000)  # a heartbeat, and the member has joined again
    script.cut_off(0, ms=14_000)
    script.until(1, "end_told")
    script.go_on(0)
    script.audit()


@KNOWN_BUGS.bug("447.11", {**DRAFT, "old_brokers": True}, {**DRAFT, "old_brokers": True, **PER_PARTITION})
@KNOWN_BUGS.bug("447.11-shipped", {**SHIPPED, "old_brokers": True}, {**SHIPPED, "old_brokers": True, **PER_PARTITION})
def brokers_are_older(script: Script) -> None:
    """447.11: brokers from before do not know what the new client sends, which works with the switch off."""
    script.go_on(0, ms=10_000)
    script.audit()


LINES_MAX = 1_000


def rows() -> list[tuple[int, ...]]:
    """Return the rows of a group's history, as KIP-447 shipped, in which nearly every kind of event happens once.

    Two members copy two partitions. One stands still with its offsets sent and its transaction undecided. Its successor
    has to wait for these offsets and then has its partition, and what the first one sends afterwards is refused. One
    member leaves, one is killed, the group moves to another broker, and so do the transactions. Every promise holds,
    and at the end all of the input is copied.
    """
    script = Script.of_reference(members=2, inputs=2, records=10, max_poll_records=1, heartbeat_ms=300)
    system = script.system

    def together(slot: int, kind: str) -> None:
        before = script.count(slot, kind)
        for _ in range(LINES_MAX):
            if script.count(slot, kind) > before:
                return
            for each in (0, 1):
                system.step(each)
                script.deliver()
            system.advance(TICK_MS)
        raise RuntimeError(f"{kind} never happens to slot {slot}: in flight {system.messages()}")

    together(0, "consumed")
    together(1, "consumed")
    system.audit()
    script.until(0, "end_sent")
    end = script.hold("end")  # what it has sent is pending
    system.pause(0)
    system.advance(AFTER_SESSION_MS)
    script.until(1, "assigned", 2)
    script.go_on(1, ms=500)  # held: it cannot begin there
    script.release(end)
    system.resume(0)
    together(0, "consumed")
    together(1, "consumed")
    script.until(0, "offset_sent")
    system.pause(0)
    system.advance(AFTER_SESSION_MS)
    script.until(1, "consumed", 2)
    system.resume(0)
    together(0, "assigned")
    script.until(0, "txn_begun")
    system.abort(0)
    together(0, "consumed")
    system.close(1)
    system.restart(1)
    system.move_group()
    together(1, "consumed")
    system.restart(0)
    system.fail_over()
    script.go_on(0, 1, ms=60_000)
    script.audit()
    made: list[tuple[int, ...]] = system.env.log.rows
    return made
