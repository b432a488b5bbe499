"""Known bugs of transactions as short scripts: each once with the defect, once without it.

    scenario("KAFKA-6119", broken=True)      # events in which a record of an aborted transaction is read
    scenario("KAFKA-6119", broken=False)     # the same deliveries, correct code: it never is

Every script drives the plug, so that it also reads as a minimal history of the bug. Where the defect is an older
protocol as it was (v1, v1-verified), the correct code is the newer one.
"""

from collections.abc import Callable
from dataclasses import replace

from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.scenarios.fail_over import FAIL_OVER
from fencepost.reference_impl.transactions.scenarios.markers import MARKERS
from fencepost.reference_impl.transactions.scenarios.playing import (
    CLIENT_TIMEOUT_MS,
    EXPIRY_MS,
    TXN_TIMEOUT_MS,
    at_the_last_epoch,
    played,
)
from fencepost.reference_impl.transactions.scenarios.reading import READING
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.scenarios.sending import SENDING
from fencepost.reference_impl.transactions.system import Parts


def scenario(name: str, broken: bool) -> list[Event]:
    """The events of one scenario, with or without its defect. Raises KeyError with the known names."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario is called {name!r}: known are {', '.join(SCENARIOS)}")
    return SCENARIOS[name](broken)


def late_end_decides_the_next_transaction(mode: str) -> Callable[[bool], list[Event]]:
    """KAFKA-17754: before KIP-890 part 2 the transactions of one producer have no name of their own."""

    def play(broken: bool) -> list[Event]:
        """EndTxn(commit) of the first is repeated after a time-out; its first copy commits the second one's record.

        The second transaction is then aborted: its record stays visible.
        """
        script = Script(Parts(), mode=mode if broken else "v2")
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
        return script.told()

    return play


def late_batch_hangs(broken: bool) -> list[Event]:
    """KAFKA-14402: a batch that comes after its transaction's abort opens one that nobody will ever end.

    v1 writes it: the last stable offset stands still. v1-verified asks the coordinator, and refuses it.
    """
    script = Script(Parts(), mode="v1" if broken else "v1-verified")
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()
    return script.told()


def second_record_hangs(broken: bool) -> list[Event]:
    """KAFKA-14402, with a record that is not its transaction's first: it comes after the abort, and opens one again.

    While its transaction was open nobody would have been asked about it; now v1-verified asks, and refuses it.
    """
    script = Script(Parts(), mode="v1" if broken else "v1-verified")
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)
    script.settle(TXN_TIMEOUT_MS)
    script.read()
    return script.told()


def second_record_joins(broken: bool) -> list[Event]:
    """KAFKA-14402: the late record comes when the next transaction has the partition: the coordinator says yes.

    The client is one from before KIP-360, which stays in its epoch after an abort; v2 bumps the epoch at every end,
    whatever the client does.
    """
    script = Script(REGISTRY["abort_keeps_epoch"].parts, mode="v1-verified" if broken else "v2")
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
    return script.told()


def verified_before_the_abort(broken: bool) -> list[Event]:
    """KAFKA-14884: between the coordinator's yes and the append comes the abort's marker; the append must look again.

    The yes arrives late, from before the marker: written on its strength, the batch hangs as in KAFKA-14402.
    """
    script = played("not_rechecked", broken)
    yes = verified_but_held_up(script)
    script.abort(0)
    script.release(yes)
    script.settle(TXN_TIMEOUT_MS)
    script.read()
    return script.told()


def verified_for_another_transaction(broken: bool) -> list[Event]:
    """KAFKA-14884, its first fix: "some question is open" is not "this question is open" (ABA).

    The old yes meets the question of the next transaction's batch: the aborted batch is written into it. The client
    is one from before KIP-360, which stays in its epoch after an abort; a newer one would get a fatal error instead.
    """
    older_client = REGISTRY["abort_keeps_epoch"].parts
    log = REGISTRY["rechecked_by_state"].parts.log if broken else older_client.log
    script = Script(replace(older_client, log=log), mode="v1-verified")
    yes = verified_but_held_up(script)
    script.abort(0)
    script.system.begin(0)
    script.system.send(0, 0)
    question = script.hold_next("check")
    script.release(yes)
    script.release(question)
    script.commit(0)
    script.read()
    return script.told()


def verified_but_held_up(script: Script) -> list[int]:
    """Slot 0 has a transaction whose batch waits at partition 0; the coordinator's yes to it is held up."""
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    return script.hold_next("check_answer")


def time_out_without_a_fence(broken: bool) -> list[Event]:
    """KAFKA-6119: a transaction that took too long was aborted, but its producer could still write.

    What it writes afterwards belongs to no transaction, until the next instance's commit makes it visible.
    """
    script = played("time_out_keeps_epoch", broken)
    script.start(0)
    script.begin(0, 0)
    script.settle(TXN_TIMEOUT_MS)
    script.send(0, 0)
    script.start(1)
    script.begin(1, 0)
    script.commit(1)
    script.read()
    return script.told()


def markers_without_the_fence(broken: bool) -> list[Event]:
    """KAFKA-5231: InitProducerId aborts the open transaction with markers of the old epoch.

    So the partition has not heard of the fence: the fenced producer writes, and the next commit shows its record.
    """
    script = played("fence_markers_keep_epoch", broken)
    script.start(0)
    script.begin(0, 0)
    script.start(1)
    script.send(0, 0)
    script.begin(1, 0)
    script.commit(1)
    script.read()
    return script.told()


def first_write_meets_the_old_marker(broken: bool) -> list[Event]:
    """KAFKA-18575: the leader takes the old transaction, not ended there yet, for the new one's.

    The record is written without the coordinator knowing, and neither transaction ever ends. Correct: 51, ask again.
    """
    script = played("open_in_any_epoch", broken)
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    marker = script.hold_next("marker")
    script.settle()
    script.begin(0, 0)
    script.release(marker)
    script.commit(0)
    script.read()
    return script.told()


def empty_abort_right_after_a_commit(broken: bool) -> list[Event]:
    """KAFKA-18464: the coordinator looked at the epoch before it looked whether something was pending.

    The completion of the first transaction is pending, so the pair just handed out looks like a wrong one: a producer
    that did nothing wrong is fenced. Correct: CONCURRENT_TRANSACTIONS, ask again.
    """
    script = played("epoch_before_pending", broken)
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
    return script.told()


def fence_and_abort_bump_twice(broken: bool) -> list[Event]:
    """KAFKA-19367: the fence takes the reserved last epoch, and the abort bumps once more: int16 overflows.

    No partition takes a marker of a negative epoch, so the transaction never ends.
    """
    script = played("double_bump", broken)
    at_the_last_epoch(script)
    script.settle(TXN_TIMEOUT_MS)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()
    return script.told()


def time_out_at_the_last_epoch(broken: bool) -> list[Event]:
    """KAFKA-20090: a time-out at the last epoch brought no new producer id.

    The producer's own abort comes late, passes for a retry, and is answered with the reserved epoch.
    """
    script = played("no_rotation_after_time_out", broken)
    at_the_last_epoch(script)
    script.settle(TXN_TIMEOUT_MS)
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()
    return script.told()


def marker_is_sent_again(broken: bool) -> list[Event]:
    """KAFKA-19999: the answer to a v2 marker is lost; sent again, the marker does not raise the epoch any more.

    Refused for that, it leaves the transaction in PrepareCommit for ever.
    """
    script = played("marker_retry_refused", broken)
    script.start(0)
    script.begin(0, 0)
    script.system.commit(0)
    script.hold_next("marker_answer")
    script.lose("marker_answer")
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()
    return script.told()


def back_after_expiry(broken: bool) -> list[Event]:
    """KAFKA-18019: when the transactional id has expired nothing remembers that the first producer was fenced.

    It meets INVALID_PRODUCER_ID_MAPPING, initialises again with its old pair, and writes once more.
    """
    script = played("invalid_mapping_recoverable", broken)
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
    return script.told()


def duplicate_of_an_aborted_batch(broken: bool) -> list[Event]:
    """Redpanda 5026: batches of an aborted transaction still answered duplicates.

    The next transaction's batch has the same sequence number: it is acknowledged, committed, and nowhere.
    """
    script = played("window_outlives_epoch", broken)
    script.start(0)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce_answer")
    script.abort(0)
    script.begin(0, 0)
    script.commit(0)
    script.read()
    return script.told()


SCENARIOS: dict[str, Callable[[bool], list[Event]]] = {
    "KAFKA-17754": late_end_decides_the_next_transaction("v1"),
    "KAFKA-17754-verified": late_end_decides_the_next_transaction("v1-verified"),
    "KAFKA-14402": late_batch_hangs,
    "KAFKA-14402-second": second_record_hangs,
    "KAFKA-14402-joins": second_record_joins,
    "KAFKA-14884": verified_before_the_abort,
    "KAFKA-14884-ABA": verified_for_another_transaction,
    "KAFKA-6119": time_out_without_a_fence,
    "KAFKA-5231": markers_without_the_fence,
    "KAFKA-18575": first_write_meets_the_old_marker,
    "KAFKA-18464": empty_abort_right_after_a_commit,
    "KAFKA-19367": fence_and_abort_bump_twice,
    "KAFKA-20090": time_out_at_the_last_epoch,
    "KAFKA-19999": marker_is_sent_again,
    "KAFKA-18019": back_after_expiry,
    "Redpanda-5026": duplicate_of_an_aborted_batch,
    **FAIL_OVER,
    **MARKERS,
    **READING,
    **SENDING,
}
