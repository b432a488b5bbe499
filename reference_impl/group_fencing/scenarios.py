"""Known bugs and holes of exactly-once consumer groups as short scripts: each once with the defect, once without it.

    scenario("H1", broken=True)      # events in which a record is copied twice: KIP-447's draft as its text reads
    scenario("H1", broken=False)     # the same operations, with the draft repaired
    play("H1", factory)              # the same operations with another implementation

Every script drives the plug, so that it also reads as a minimal history of the bug. Where there is no defect in the
code, `broken` is a configuration in which the guarantee ends.
"""

from typing import Any

from fencepost.reference_impl.group_fencing.script import AFTER_SESSION_MS, KNOWN, Script

DRAFT: dict[str, Any] = {"mode": "draft"}
REPAIRED: dict[str, Any] = {"mode": "draft-repaired"}
SHIPPED: dict[str, Any] = {"mode": "shipped"}
STRICT: dict[str, Any] = {"mode": "new-protocol", "listener": False}
RELAXED: dict[str, Any] = {"mode": "new-protocol-relaxed", "listener": False}
AT_POLL: dict[str, Any] = {**RELAXED, "inputs": 2, "metadata_at": "poll", "request_timeout_ms": 2_000}
OPEN_FOR_LONG: dict[str, Any] = {"transaction_timeout_ms": 120_000}
TWO: dict[str, Any] = {"records": 2, "max_poll_records": 1}
OWNERSHIP = KNOWN.registry["ownership_checked"].parts
SAME_INSTANCE: dict[str, Any] = {"static": True, "identities": 1, "stable_ids": False}
PER_PARTITION: dict[str, Any] = {"group_aware": False}


@KNOWN.shown("H1", DRAFT, REPAIRED)
@KNOWN.shown("H1-generation", DRAFT, {**REPAIRED, "repair": "generation"})
@KNOWN.shown("B38", {**SHIPPED, "metadata": False}, SHIPPED)
@KNOWN.shown("B38-new-protocol", {**STRICT, "metadata": False}, {**STRICT, "metadata_at": "poll"})
@KNOWN.defect("any-generation", "any_generation_commits")
@KNOWN.defect("idle-zombie", "idle_keep_epoch")
@KNOWN.defect("447.3", "found_by_id")
@KNOWN.shown("447.12-old", {**SHIPPED, "old": 1}, {**SHIPPED, "old": 2})
@KNOWN.shown("447.12-old-draft", {**DRAFT, "old": 1}, {**DRAFT, "old": 2})
def zombie_commits_first(script: Script) -> None:
    """A member that has stood still commits what it polled, before its successor has committed anything.

    Draft: there is no ongoing transaction to be aborted, and no earlier commit to be held against (H1). Shipped without
    metadata: it passes for an old client (B38); an old client with a producer per partition is only fenced by another
    such.
    """
    script.taken_over()
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN.defect("fail-over", "group_stored_once")
def next_coordinator_knows_the_zombie(script: Script) -> None:
    """The group's coordinator fails over after a rebalance that was not stored: the generation before is current."""
    script.taken_over()
    script.until(1, "end_told")
    script.system.move_group()
    script.system.resume(0)
    script.go_on(0)
    script.audit()


@KNOWN.defect("447.8", "undefined_generation_passes", old=1, records=2, max_poll_records=1)
def old_zombie_commits_last(script: Script) -> None:
    """An old client in the draft's upgrade commits after its successor has: the reverse map knows the later one."""
    script.until(0, "offset_sent")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN.defect("447.8-fail-over", "reverse_map_forgotten", old=1, records=2, max_poll_records=1)
def next_coordinator_does_not_know_who_committed(script: Script) -> None:
    """As before, but the group's coordinator fails over in between."""
    script.until(0, "offset_sent")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.move_group()
    script.system.resume(0)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN.defect("447.9-old", "old_clients_not_held", **OPEN_FOR_LONG)
@KNOWN.shown("447.9-shipped", {**SHIPPED, "old": 1}, SHIPPED)
def old_client_reads_below_a_pending_commit(script: Script) -> None:
    """An old client follows a new one whose commit is on its way: the draft tells it to wait by an error that it knows,
    and what was shipped lets it read on."""
    script.until(1, "end_sent")
    held = script.hold("end")
    script.system.pause(1)
    script.system.advance(AFTER_SESSION_MS)
    script.go_on(0, ms=60_000)
    script.release(held)
    script.go_on(0)
    script.audit()


@KNOWN.shown("447.12-stuck", {**DRAFT, **TWO, "old": 1}, {**SHIPPED, **TWO, "old": 1})
def partition_returns_to_an_old_client(script: Script) -> None:
    """In the draft's upgrade a partition comes back from a new client to an old one, whose commits have no generation:
    they are refused for ever, although nobody else has the partition."""
    script.until(1, "end_told")
    script.system.close(1)
    script.go_on(0, ms=AFTER_SESSION_MS)
    script.audit()


@KNOWN.shown("H2", {**DRAFT, **SAME_INSTANCE}, {**REPAIRED, **SAME_INSTANCE})
@KNOWN.shown("H2-shipped", {**DRAFT, **SAME_INSTANCE}, {**SHIPPED, **SAME_INSTANCE})
def same_generation_by_another_producer(script: Script) -> None:
    """A static member is replaced while it stands still: no generation begins, and its producer has an id of its own.

    The draft's reverse map refuses smaller generations only: the zombie commits after its successor has. As shipped
    it is refused by its instance id."""
    script.until(0, "consumed")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.resume(0)
    script.go_on(0)
    script.audit()


@KNOWN.shown("447.21-strict", STRICT, {**STRICT, "metadata_at": "poll"})
@KNOWN.shown("447.21-relaxed", RELAXED, {**RELAXED, "metadata_at": "poll"})
@KNOWN.shown("447.21-listener", RELAXED, {**RELAXED, "listener": True})
@KNOWN.shown("447.21-classic", RELAXED, SHIPPED)
@KNOWN.shown("447.21-ownership", RELAXED, {**RELAXED, "parts": OWNERSHIP})
def comes_back_with_a_new_epoch(script: Script) -> None:
    """A member is fenced while its application works, and joins again under the same id in the background.

    Its groupMetadata() has the new epoch when it sends its offsets; the current epoch may commit any partition, also
    one that another member has meanwhile.
    """
    script.until(0, "consumed")
    script.cut_off(0)
    script.until(1, "consumed")
    script.settle(AFTER_SESSION_MS)
    script.go_on(0)
    script.go_on(1)
    script.audit()


@KNOWN.defect("B39", "pending_ignored", **OPEN_FOR_LONG)
@KNOWN.defect("KAFKA-9346", "consumer_does_not_wait", **OPEN_FOR_LONG)
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


@KNOWN.defect("expiry", "expiry_ignores_pending")
def expires_what_is_pending(script: Script) -> None:
    """A group without members is old enough for its offsets to be deleted, while a transaction with the only one of
    them is still to be committed."""
    script.until(0, "end_sent")
    held = script.hold("end")
    script.system.pause(0)
    script.system.advance(AFTER_SESSION_MS)
    script.system.expire_offsets()
    script.release(held)
    script.go_on(1)
    script.audit()


@KNOWN.defect("447.17", "fetches_before_init", **OPEN_FOR_LONG)
def fetches_before_its_predecessor_is_out(script: Script) -> None:
    """447.17: offsets are fetched, and then the predecessor commits, before it is fenced."""
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


@KNOWN.defect("judged-early", "judged_too_early", request_timeout_ms=100_000)
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


@KNOWN.shown("late-commit-v1", {**TWO, "transactions": "v1"}, TWO)
@KNOWN.shown("late-commit-verified", {**TWO, "transactions": "v1-verified"}, TWO)
def late_commit_joins_the_next_transaction(script: Script) -> None:
    """Before KIP-890's second part a late copy of a commit is written into the producer's next transaction, and takes
    the group's offset back: commits have no sequence numbers."""
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


@KNOWN.shown("447.21-regained", {**RELAXED, "parts": OWNERSHIP}, {**RELAXED, "metadata_at": "poll"})
@KNOWN.defect("KIP-1251-epochs", "assignment_epoch_ignored")
@KNOWN.defect("KIP-1251-stored", "assignment_epochs_not_stored")
def regains_what_it_had(script: Script) -> None:
    """A member has a partition again that another one had meanwhile: what it polled before is older than that.

    Whoever looks at the current epoch, and at who has the partition now, takes it (447.21-regained)."""
    script.until(0, "consumed")
    script.cut_off(0)
    script.until(1, "end_told")
    script.settle(AFTER_SESSION_MS)
    script.system.close(1)
    script.settle(AFTER_SESSION_MS)
    script.system.move_group()
    script.go_on(0)
    script.audit()


@KNOWN.shown("447.21-epoch-again", {**AT_POLL, "assignment_interval_ms": 60_000}, AT_POLL)
def has_its_epoch_again(script: Script) -> None:
    """A member is removed, and joins again in the background, before the group that it was in is assigned anew: it is
    in the epoch that it had when it polled, and another member has a partition of its by the time it commits."""
    script.until(0, "consumed")
    script.until(1, "joined")
    script.cut_off(0, ms=46_000)
    script.settle(ms=4_000)  # a heartbeat, and the member has joined again
    script.cut_off(0, ms=14_000)
    script.until(1, "end_told")
    script.go_on(0)
    script.audit()


@KNOWN.shown("447.11", {**DRAFT, "old_brokers": True}, {**DRAFT, "old_brokers": True, **PER_PARTITION})
@KNOWN.shown("447.11-shipped", {**SHIPPED, "old_brokers": True}, {**SHIPPED, "old_brokers": True, **PER_PARTITION})
def brokers_are_older(script: Script) -> None:
    """447.11: what the new client sends is unknown to brokers from before; it works with the switch off."""
    script.go_on(0, ms=10_000)
    script.audit()


@KNOWN.shown("848-static-join", {**STRICT, "static": True}, STRICT)
def answer_to_a_static_join_is_lost(script: Script) -> None:
    """A static member of the new protocol that repeats its first heartbeat is refused its own instance id, and fails.
    (GroupMetadataManager.throwIfInstanceIdIsUnreleased)"""
    script.system.step(0)
    script.deliver()
    while not script.flying("group_heartbeat_answer", "consumer-0"):
        script.system.step(0)
        number = next((m[0] for m in script.system.messages()), None)
        if number is None:
            script.system.log_append()
        else:
            script.system.deliver(number)
    script.lose("group_heartbeat_answer", "consumer-0")
    script.go_on(0, ms=35_000)
    script.audit()


scenario, play, SCENARIOS = KNOWN.scenario, KNOWN.play, KNOWN
