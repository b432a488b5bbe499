"""Markers reach every partition, a partition accepts only some of them, and completion is recorded once."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnRequest,
    Batch,
    EndTxnRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from fencepost.reference_impl.kafka.transaction_states import TransactionState as S
from txn_bench import V1, V2, VERIFIED, Bench

MODES = (V1, VERIFIED, V2)


def ending(mode=V2, partitions=(0, 1)):
    """Return a bench whose transaction is committed, with the markers for these partitions in flight."""
    bench = Bench(mode, partitions=max(partitions, default=0) + 1)
    bench.init()
    for partition in partitions:
        bench.add(0, 0, partition)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, True))
    bench.flow()
    bench.system.log_append()
    bench.flow("end_answer")
    bench.events()
    return bench


@pytest.mark.parametrize("mode", MODES)
def test_markers_go_to_every_partition(mode):
    """txn.10: Each partition of the transaction gets one marker, before the Complete record is written."""
    bench = ending(mode, (0, 1, 2))
    assert len(bench.flying("marker")) == 3
    bench.settle()
    events = bench.events("marker_appended", "marker_acked", "txn_logged")
    assert sorted(e.partition for e in events if e.kind == "marker_appended") == [0, 1, 2]
    assert sorted(e.partition for e in events if e.kind == "marker_acked") == [0, 1, 2]
    assert (events[-1].kind, events[-1].state) == ("txn_logged", S.COMPLETE_COMMIT)


def test_completion_waits_for_the_last_partition():
    """txn.10: With one answer missing the transaction is not complete, and no new one may begin."""
    bench = ending()
    bench.system.deliver(bench.flying("marker")[0])
    bench.flow("marker_answer")
    assert not bench.system.log_append()
    assert bench.state == S.PREPARE_COMMIT
    assert bench.metadata.pending_state == S.COMPLETE_COMMIT


@pytest.mark.parametrize("lost", ["marker", "marker_answer"])
@pytest.mark.parametrize("mode", MODES)
def test_markers_are_sent_again_without_end(mode, lost):
    """txn.10: A lost marker is sent again every 30 s, and a second copy is accepted (KAFKA-19999)."""
    bench = ending(mode, (0,))
    for _ in range(5):
        bench.flow("marker" if lost == "marker_answer" else "nothing")
        for number in bench.flying(lost):
            bench.system.drop(number)
        bench.system.advance(30_000)
    bench.settle()
    assert bench.state == S.COMPLETE_COMMIT
    assert not bench.events("marker_refused")


def test_answered_markers_are_not_sent_again():
    """txn.10: After the answer the retry timer finds nothing to do."""
    bench = ending()
    bench.settle()
    bench.system.advance(120_000)
    assert not bench.system.messages()


def test_completion_is_recorded_once():
    """txn.10: Second copies of marker answers have no effect."""
    bench = ending()
    bench.flow("marker")
    for number in bench.flying("marker_answer"):
        bench.system.deliver(number, keep=True)
    bench.settle()
    assert [event.state for event in bench.events("txn_logged")] == [S.COMPLETE_COMMIT]


def test_late_answer_is_not_taken_for_the_next_transaction():
    """txn.10: An answer to a marker of the previous transaction does not count for the next one."""
    bench = ending(V2, (0,))
    bench.flow("marker")
    bench.system.deliver(bench.flying("marker_answer")[0], keep=True)
    bench.system.log_append()
    stale = bench.flying("marker_answer")
    bench.send("check", "coordinator", AddPartitionsToTxnRequest(0, 0, 1, 0))
    bench.flow("check")
    bench.system.log_append()
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 1, True))
    bench.flow("end")
    bench.system.log_append()
    assert bench.state == S.PREPARE_COMMIT
    bench.events()
    bench.system.deliver(stale[0])
    assert not bench.events("marker_acked")
    assert bench.system.coordinator.markers.rounds[0].unwritten == {0}


def test_failed_completion_is_appended_again():
    """txn.10: The Complete record is tried until it is durable, and the transaction stays pending meanwhile."""
    bench = ending()
    bench.flow()
    for _ in range(3):
        assert bench.system.log_append(ok=False)
        assert (bench.state, bench.metadata.pending_state) == (S.PREPARE_COMMIT, S.COMPLETE_COMMIT)
    bench.settle()
    assert bench.state == S.COMPLETE_COMMIT


@pytest.mark.parametrize(("epoch", "error"), [(5, 47), (0, 52)])
def test_overtaken_coordinator_leaves_the_transaction_alone(epoch, error):
    """txn.11: After an answer of 47 or 52 the coordinator stops and records nothing, and the next one continues."""
    bench = ending(V1, (0,))
    bench.log().write(newer_marker(bench, epoch, coordinator_epoch=5))
    bench.settle()
    bench.system.advance(120_000)
    bench.settle()
    (refused,) = bench.events("marker_refused")
    assert refused.error == error
    assert bench.state == S.PREPARE_COMMIT


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "error"),
    [
        (2, 1, E.NONE),
        (3, 1, E.NONE),
        (1, 1, E.INVALID_PRODUCER_EPOCH),
        (2, 0, E.TRANSACTION_COORDINATOR_FENCED),
        (1, 0, E.INVALID_PRODUCER_EPOCH),
        (2, 2, E.NONE),
    ],
)
def test_what_a_partition_accepts_before_v2(epoch, coordinator_epoch, error):
    """txn.11, txn.12: At epoch 2 and coordinator epoch 1, equal or higher is written, and lower is refused."""
    bench = Bench(V1)
    bench.marker(7, 2, coordinator_epoch=1)
    bench.produce(7, 2)
    assert bench.marker(7, epoch, coordinator_epoch=coordinator_epoch) == error
    assert len(bench.log().batches) == (2 if error else 3)


@pytest.mark.parametrize(
    ("open_here", "epoch", "error"),
    [
        (True, 0, E.INVALID_PRODUCER_EPOCH),
        (True, 1, E.INVALID_PRODUCER_EPOCH),
        (True, 2, E.NONE),
        (False, 0, E.INVALID_PRODUCER_EPOCH),
        (False, 1, E.NONE),
        (False, 2, E.NONE),
    ],
)
def test_what_a_partition_accepts_in_v2(open_here, epoch, error):
    """txn.11: A v2 marker must be above epoch 1, and may equal it only if no transaction is open (KIP-1228)."""
    bench = Bench(V1)
    bench.marker(7, 1)
    if open_here:
        bench.produce(7, 1)
    assert bench.marker(7, epoch, version=2) == error


def test_marker_raises_the_epoch():
    """txn.12: A marker with a higher epoch fences older batches, whether or not it ended a transaction."""
    bench = Bench(V1)
    bench.marker(7, 3)
    assert bench.produce(7, 2) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert bench.produce(7, 3) == (0, 1)


def test_marker_without_open_transaction_ends_nothing():
    """txn.11: The marker is written, moves no reader, and is not in the index of aborted transactions."""
    bench = Bench(V1)
    bench.produce(1, 0)
    assert bench.marker(7, 0, committed=False) == 0
    assert (bench.log().last_stable_offset(), bench.log().aborted) == (0, [])


def test_second_copy_of_a_v1_marker_ends_the_next_transaction():
    """txn.9: Before v2 the markers of two successive transactions cannot be distinguished (KIP-1228)."""
    bench = Bench(V1)
    bench.produce(7, 0, 0)
    bench.marker(7, 0)
    bench.produce(7, 0, 1)
    assert bench.marker(7, 0) == 0
    assert bench.log().last_stable_offset() == 4


def newer_marker(bench, epoch, coordinator_epoch):
    """Return the marker that another coordinator has written to partition 0."""
    return Batch(len(bench.log().batches), 0, epoch, -1, -1, True, 0, 0, 0, coordinator_epoch)


def test_second_copy_of_a_v2_marker_leaves_the_next_question_open():
    """txn.15: A marker's late copy is accepted as a retry. Its epoch is that of the new transaction, whose record waits
    for the coordinator's answer (KAFKA-18654)."""
    bench = Bench(V2)
    bench.init()
    bench.produce(0, 0)
    bench.end(0, 0)
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 1, 0, 1))
    bench.flow("produce")
    bench.send("marker", "partition-0", WriteTxnMarkersRequest(0, 1, True, 0, 0, 2))
    bench.settle()
    assert not bench.events("marker_refused")
    assert bench.answers[number].error_code == E.NONE


def test_marker_of_another_epoch_voids_the_question():
    """txn.15: A marker of another epoch ends the transaction that is being verified, in every version."""
    bench = Bench(V2)
    bench.init()
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 1))
    bench.flow("produce")
    bench.send("marker", "partition-0", WriteTxnMarkersRequest(0, 1, True, 0, 0, 2))
    bench.settle()
    assert bench.answers[number].error_code == E.INVALID_TXN_STATE
    assert not bench.log().verifying
