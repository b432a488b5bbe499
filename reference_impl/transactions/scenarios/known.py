"""Known bugs of transactions as short scripts: each once with the defect, once without it.

    scenario("KAFKA-6119", broken=True)      # events in which a record of an aborted transaction is read
    scenario("KAFKA-6119", broken=False)     # the same deliveries, correct code: it never is
    play("KAFKA-6119", factory)              # the same deliveries with another implementation

Every script drives the plug, so that it also reads as a minimal history of the bug. Where the defect is an older
protocol as it was (v1, v1-verified), the correct code is the newer one.  Those that need what only the reference lets a
script do (parts of older clients, outages that no driver can bring about) say so.
"""

from dataclasses import replace

from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.scenarios import fail_over, markers, reading, sending
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    EXPIRY_MS,
    KNOWN,
    TXN_TIMEOUT_MS,
    Script,
)

MODULES = (fail_over, markers, reading, sending)
"""Each adds its own to `KNOWN`."""

OLDER_CLIENT = REGISTRY["abort_keeps_epoch"].parts
"""One from before KIP-360, which stays in its epoch after an abort."""


@KNOWN.shown("KAFKA-17754", {"mode": "v1"}, {"mode": "v2"})
@KNOWN.shown("KAFKA-17754-verified", {"mode": "v1-verified"}, {"mode": "v2"})
def late_end_decides_the_next_transaction(script: Script) -> None:
    """KAFKA-17754: before KIP-890 part 2 the transactions of one producer have no name of their own.

    EndTxn(commit) of the first is repeated after a time-out; its first copy commits the second one's record.  The
    second transaction is then aborted: its record stays visible.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    late = script.hold_next("end")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.release(late)
    script.read()
    script.abort(0)
    script.read()


@KNOWN.shown("KAFKA-14402", {"mode": "v1"}, {"mode": "v1-verified"})
def late_batch_hangs(script: Script) -> None:
    """KAFKA-14402: a batch that comes after its transaction's abort opens one that no client will ever end.

    v1 writes it: the last stable offset stands still. v1-verified asks the coordinator, and refuses it.
    """
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN.shown("KAFKA-14402-second", {"mode": "v1"}, {"mode": "v1-verified"})
def second_record_hangs(script: Script) -> None:
    """KAFKA-14402, with a record that is not its transaction's first: it comes after the abort, and opens one again.

    While its transaction was open the coordinator would not have been asked about it; now v1-verified asks, and
    refuses it.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN.shown(
    "KAFKA-14402-joins",
    {"parts": OLDER_CLIENT, "mode": "v1-verified"},
    {"parts": OLDER_CLIENT, "mode": "v2"},
    reference=True,
)
def second_record_joins(script: Script) -> None:
    """KAFKA-14402: the late record comes when the next transaction has the partition: the coordinator says yes.

    The client is one from before KIP-360, which stays in its epoch after an abort; v2 bumps the epoch at every end,
    whatever the client does.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    next_record = script.hold_next("produce")
    script.release(late)
    script.release(next_record)
    script.settle()
    script.commit(0)
    script.read()


@KNOWN.defect("KAFKA-14884", "not_rechecked")
def verified_before_the_abort(script: Script) -> None:
    """KAFKA-14884: between the coordinator's yes and the append comes the abort's marker; the append must look again.

    The yes arrives late, from before the marker: written on its strength, the batch hangs as in KAFKA-14402.
    """
    yes = verified_but_held_up(script)
    script.abort(0)
    script.release(yes)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN.shown(
    "KAFKA-14884-ABA",
    {"parts": replace(OLDER_CLIENT, log=REGISTRY["rechecked_by_state"].parts.log), "mode": "v1-verified"},
    {"parts": OLDER_CLIENT, "mode": "v1-verified"},
    reference=True,
)
def verified_for_another_transaction(script: Script) -> None:
    """KAFKA-14884, its first fix: "some question is open" is not "this question is open" (ABA).

    The old yes meets the question of the next transaction's batch: the aborted batch is written into it. The client
    is one from before KIP-360, which stays in its epoch after an abort; a newer one would get a fatal error instead.
    """
    yes = verified_but_held_up(script)
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    question = script.hold_next("check")
    script.release(yes)
    script.release(question)
    script.commit(0)
    script.read()


def verified_but_held_up(script: Script) -> list[int]:
    """Slot 0 has a transaction whose batch waits at partition 0; the coordinator's yes to it is held up."""
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    return script.hold_next("check_answer")


@KNOWN.defect("KAFKA-6119", "time_out_keeps_epoch")
def time_out_without_a_fence(script: Script) -> None:
    """KAFKA-6119: a transaction that took too long was aborted, but its producer could still write.

    What it writes afterwards belongs to no transaction, until the next instance's commit makes it visible.
    """
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)
    script.send(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@KNOWN.defect("KAFKA-5231", "fence_markers_keep_epoch")
def markers_without_the_fence(script: Script) -> None:
    """KAFKA-5231: InitProducerId aborts the open transaction with markers of the old epoch.

    So the partition has not heard of the fence: the fenced producer writes, and the next commit shows its record.
    """
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()


@KNOWN.defect("KAFKA-18575", "open_in_any_epoch")
def first_write_meets_the_old_marker(script: Script) -> None:
    """KAFKA-18575: the leader takes the old transaction, not ended there yet, for the new one's.

    The record is written without the coordinator knowing, and neither transaction ever ends. Correct: 51, ask again.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.begin(0, 0)
    script.release(marker)
    script.commit(0)
    script.read()


@KNOWN.defect("KAFKA-18464", "epoch_before_pending")
def empty_abort_right_after_a_commit(script: Script) -> None:
    """KAFKA-18464: the coordinator looked at the epoch before it looked whether something was pending.

    The completion of the first transaction is pending, so the pair just handed out looks like a wrong one: a producer
    that did nothing wrong is fenced. Correct: CONCURRENT_TRANSACTIONS, ask again.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.system.begin(0)
    script.system.send(0, 1)
    script.lose("produce")
    script.system.abort(0)
    script.settle()
    script.release(marker)


@KNOWN.defect("KAFKA-19367", "double_bump")
def fence_and_abort_bump_twice(script: Script) -> None:
    """KAFKA-19367: the fence takes the reserved last epoch, and the abort bumps once more: int16 overflows.

    No partition takes a marker of a negative epoch, so the transaction never ends.
    """
    script.at_the_last_epoch()
    script.settle(TXN_TIMEOUT_MS)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()


@KNOWN.defect("KAFKA-20090", "no_rotation_after_time_out")
def time_out_at_the_last_epoch(script: Script) -> None:
    """KAFKA-20090: a time-out at the last epoch brought no new producer id.

    The producer's own abort comes late, passes for a retry, and is answered with the reserved epoch.
    """
    script.at_the_last_epoch()
    script.settle(TXN_TIMEOUT_MS)
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.defect("KAFKA-19999", "marker_retry_refused")
def marker_is_sent_again(script: Script) -> None:
    """KAFKA-19999: the answer to a v2 marker is lost; sent again, the marker does not raise the epoch any more.

    Refused for that, it leaves the transaction in PrepareCommit for ever.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker_answer")
    script.lose("marker_answer")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.defect("KAFKA-18019", "invalid_mapping_recoverable")
def back_after_expiry(script: Script) -> None:
    """KAFKA-18019: when the transactional id has expired nothing remembers that the first producer was fenced.

    It meets INVALID_PRODUCER_ID_MAPPING, initialises again with its old pair, and writes once more.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.system.advance(EXPIRY_MS)
    script.settle()
    for _ in range(2):
        script.begin(0, 0)
        script.commit(0)
        script.abort(0)
    script.read()


@KNOWN.defect("Redpanda-5026", "window_outlives_epoch")
def duplicate_of_an_aborted_batch(script: Script) -> None:
    """Redpanda 5026: batches of an aborted transaction still answered duplicates.

    The next transaction's batch has the same sequence number: it is acknowledged, committed, and nowhere.
    """
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()


SCENARIOS = KNOWN
scenario, play = KNOWN.scenario, KNOWN.play
