"""A partition checks epochs, sequence numbers, duplicates and the coordinator's consent before it appends."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.log import SEQUENCE_MAX
from fencepost.reference_impl.kafka.messages import (
    EndTxnRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from txn_bench import V1, V2, VERIFIED, Bench


def with_epoch(epoch, *sequences):
    """Return a v1 bench with these batches of producer 7 in partition 0, whose records are numbered like sequences."""
    bench = Bench(V1)
    for sequence in sequences:
        assert bench.produce(7, epoch, sequence, sequence)[0] == 0
    return bench


def transaction(mode, partition=0):
    """Return a bench whose producer (0, 0) may write to a partition, which is added before v2 and implicit in v2."""
    bench = Bench(mode)
    bench.init()
    if mode != V2:
        bench.add(0, 0, partition)
    return bench


# Epochs and sequence numbers


@pytest.mark.parametrize(("epoch", "error"), [(1, E.INVALID_PRODUCER_EPOCH), (2, E.NONE), (3, E.NONE)])
def test_lower_epoch_is_refused(epoch, error):
    """txn.12: An epoch below the one the partition knows is INVALID_PRODUCER_EPOCH."""
    bench = with_epoch(2, 0)
    assert bench.produce(7, epoch, 1 if epoch == 2 else 0)[0] == error


@pytest.mark.parametrize("sequence", [0, 1, 3, 5])
def test_sequence_numbers_follow_on(sequence):
    """txn.13: After 0, 1, 2 only 3 is next. A smaller number is a duplicate and a greater one a gap."""
    bench = with_epoch(0, 0, 1, 2)
    error, offset = bench.produce(7, 0, sequence)
    assert (error, offset) == {0: (0, 0), 1: (0, 1), 3: (0, 3), 5: (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)}[sequence]


@pytest.mark.parametrize(("sequence", "error"), [(0, E.NONE), (1, E.OUT_OF_ORDER_SEQUENCE_NUMBER)])
def test_new_epoch_starts_at_0(sequence, error):
    """txn.13: The first batch of a higher epoch must have number 0."""
    assert with_epoch(0, 0, 1, 2).produce(7, 1, sequence)[0] == error


@pytest.mark.parametrize(("sequence", "error"), [(0, E.NONE), (1, E.OUT_OF_ORDER_SEQUENCE_NUMBER)])
def test_epoch_known_from_a_marker_starts_at_0(sequence, error):
    """txn.13: Number 0 is required too if only a marker of the epoch was seen."""
    bench = with_epoch(0, 0, 1)
    bench.marker(7, 1)
    assert bench.produce(7, 1, sequence)[0] == error


def test_unknown_producer_may_start_anywhere():
    """txn.13: A partition that knows nothing of a producer accepts any first number."""
    assert Bench(V1).produce(7, 4, 99) == (0, 0)


def test_sequence_numbers_wrap():
    """txn.13: After the largest int32 comes 0."""
    bench = with_epoch(0, SEQUENCE_MAX)
    assert bench.produce(7, 0, 1)[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert bench.produce(7, 0, 0) == (0, 1)


def test_last_five_batches_answer_duplicates():
    """txn.14: Copies of the last five batches get their old offset without a write, and the sixth is a gap."""
    bench = with_epoch(0, *range(6))
    bench.events()
    assert [bench.produce(7, 0, sequence)[1] for sequence in range(1, 6)] == [1, 2, 3, 4, 5]
    assert bench.produce(7, 0, 0)[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(bench.log().batches) == 6
    duplicates = bench.events("batch_duplicate")
    assert [event.offset for event in duplicates] == [1, 2, 3, 4, 5]


def test_new_epoch_clears_the_window():
    """txn.14: Number 0 of a new epoch is no duplicate of number 0 of the old one."""
    bench = with_epoch(0, 0)
    assert bench.produce(7, 1, 0) == (0, 1)


def test_duplicate_of_an_old_epoch_is_fenced():
    """txn.14: After a bump a copy of an old batch is fenced."""
    bench = with_epoch(0, 0)
    bench.marker(7, 1)
    assert bench.produce(7, 0, 0) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_committed_batches_go_on_answering():
    """txn.14: A commit within an epoch does not clear the window, so that a late duplicate still gets its offset."""
    bench = with_epoch(0, 0, 1)
    bench.marker(7, 0)
    assert bench.produce(7, 0, 1) == (0, 1)
    assert bench.produce(7, 0, 2) == (0, 3)


def test_aborted_batches_do_not_answer():
    """txn.14: After an abort in the same epoch an old number is a gap, and the numbers continue."""
    bench = with_epoch(0, 0, 1)
    bench.marker(7, 0, committed=False)
    assert bench.produce(7, 0, 1) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert bench.produce(7, 0, 2) == (0, 3)


def test_transactional_and_other_batches_do_not_mix():
    """txn.15: A batch outside a transaction is INVALID_TXN_STATE while one is open, and accepted after it."""
    bench = with_epoch(0, 0)
    assert bench.produce(7, 0, 1, transactional=False) == (E.INVALID_TXN_STATE, -1)
    bench.marker(7, 0)
    assert bench.produce(7, 0, 1, transactional=False) == (0, 2)
    assert bench.log().last_stable_offset() == 3


@pytest.mark.parametrize("mode", [VERIFIED, V2])
def test_batches_outside_transactions_need_no_consent(mode):
    """txn.15: An idempotent producer's batches are appended without verification."""
    bench = Bench(mode)
    assert bench.produce(7, 0, transactional=False) == (0, 0)
    assert not bench.events("check_asked")


# Consent


@pytest.mark.parametrize("mode", [V1, VERIFIED, V2])
def test_leader_asks_before_the_first_append_only(mode):
    """txn.15: The leader verifies once per partition and transaction, and not at all before KIP-890."""
    bench = transaction(mode)
    assert [bench.produce(0, 0, sequence)[0] for sequence in range(3)] == [0, 0, 0]
    assert len(bench.events("check_asked")) == (0 if mode == V1 else 1)


def test_nothing_is_appended_before_the_answer():
    """txn.15: The log stays empty until the coordinator answers the verification."""
    bench = transaction(VERIFIED)
    bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.flow("produce")
    assert (bench.flying("check"), bench.log().batches) == ([bench.system.messages()[0][0]], [])


def test_partition_outside_the_transaction_is_refused():
    """txn.15: In v1-verified a batch of no transaction is TRANSACTION_ABORTABLE (KAFKA-14402)."""
    bench = transaction(VERIFIED, partition=0)
    assert bench.produce(0, 0, partition=1) == (E.TRANSACTION_ABORTABLE, -1)
    assert transaction(V1, partition=0).produce(0, 0, partition=1) == (0, 0)


@pytest.mark.parametrize("mode", [VERIFIED, V2])
def test_coordinators_fence_becomes_the_partitions(mode):
    """txn.15: The coordinator's PRODUCER_FENCED reaches the producer as INVALID_PRODUCER_EPOCH."""
    bench = transaction(mode)
    bench.end(0, 0)
    bench.init()
    assert bench.produce(0, 0) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_late_batch_of_an_aborted_transaction_is_refused():
    """txn.15: A batch that arrives after its transaction's abort opens no transaction (KAFKA-14402)."""
    bench = transaction(VERIFIED)
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, False))
    bench.flow("end")
    bench.system.log_append()
    bench.flow("end_answer", "marker", "marker_answer")
    bench.system.log_append()
    bench.settle()
    assert bench.answers[number].error_code == E.TRANSACTION_ABORTABLE
    assert bench.log().last_stable_offset() == len(bench.log().batches)


@pytest.mark.parametrize("next_asked", [False, True])
def test_answer_that_a_marker_overtook_is_void(next_asked):
    """txn.15: An answer that arrives after the abort finds no guard, or another one's, and nothing is appended. If the
    next transaction is being verified, only the guard's identity distinguishes the two (KAFKA-14884)."""
    bench = transaction(VERIFIED)
    first = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.flow("produce", "check")
    verified = bench.flying("check_answer")[0]
    bench.send("marker", "partition-0", WriteTxnMarkersRequest(0, 0, False, 0, 0))
    bench.flow("marker", "marker_answer")
    if next_asked:
        bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 1))
        bench.flow("produce")
    bench.system.deliver(verified)
    bench.flow("produce_answer")
    assert bench.answers[first].error_code == E.INVALID_TXN_STATE
    assert [batch.marker for batch in bench.log().batches] == [0]


def test_batches_waiting_together_share_the_guard():
    """txn.15: Batches in flight wait with one guard, and the first appended opens the transaction for all."""
    bench = transaction(VERIFIED)
    numbers = [bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, n, n)) for n in range(3)]
    bench.settle()
    assert [bench.answers[number] for number in numbers] == [(0, 0), (0, 1), (0, 2)]


def test_first_waiting_batch_must_come_first():
    """txn.13: If batches 0 and 1 wait for consent, 1 cannot be appended before 0."""
    bench = transaction(VERIFIED)
    zero, one = (bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, n, n)) for n in range(2))
    bench.flow("produce", "check")
    for number in reversed(bench.flying("check_answer")):
        bench.system.deliver(number)
    bench.flow()
    assert bench.answers[one].error_code == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert bench.answers[zero] == (0, 0)


@pytest.mark.parametrize(("mode", "error"), [(VERIFIED, E.NONE), (V2, E.OUT_OF_ORDER_SEQUENCE_NUMBER)])
def test_v2_transaction_of_an_unknown_producer_starts_at_0(mode, error):
    """txn.13: In v2 every transaction starts at 0, which even a partition without any state requires."""
    bench = transaction(mode)
    assert bench.produce(0, 0, sequence=4)[0] == error


def test_newer_transaction_waits_for_the_older_ones_marker():
    """txn.16: In v2 a batch of the next epoch is CONCURRENT_TRANSACTIONS until the marker has arrived (KAFKA-18575)."""
    bench = transaction(V2)
    bench.produce(0, 0)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 0, True))
    bench.flow("end")
    bench.system.log_append()
    bench.flow("end_answer")
    early = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 1, 0, 1))
    bench.flow("produce", "produce_answer")
    assert bench.answers[early].error_code == E.CONCURRENT_TRANSACTIONS
    assert not bench.flying("check")
    bench.settle()
    assert bench.produce(0, 1) == (0, 2)


@pytest.mark.parametrize("mode", [VERIFIED, V2])
def test_no_answer_is_a_retriable_error(mode):
    """txn.15: A lost verification ends after 30 s with NOT_ENOUGH_REPLICAS, and a late answer has no effect."""
    bench = transaction(mode)
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.flow("produce")
    bench.system.advance(30_000)
    bench.flow("produce_answer")
    assert bench.answers[number].error_code == E.NOT_ENOUGH_REPLICAS
    bench.settle()
    assert bench.log().batches == []


def test_loading_coordinator_is_a_retriable_error():
    """txn.15: COORDINATOR_LOAD_IN_PROGRESS reaches a producer as 19 and a group's offset commit as 14."""
    bench = transaction(V2)
    bench.system.coordinator.loading = True
    assert bench.produce(0, 0)[0] == E.NOT_ENOUGH_REPLICAS
    assert bench.commit_offset(0, 0)[0] == E.COORDINATOR_LOAD_IN_PROGRESS


def test_lost_question_of_an_offset_commit_is_14():
    """txn.21: A group coordinator that gets no answer responds COORDINATOR_LOAD_IN_PROGRESS."""
    bench = transaction(V2)
    number = bench.send("produce", "partition-2", TxnOffsetCommitRequest(0, 0, 0, 0, 0))
    bench.flow("produce")
    bench.system.advance(30_000)
    bench.flow("produce_answer")
    assert bench.answers[number].error_code == E.COORDINATOR_LOAD_IN_PROGRESS


# Leader change


def test_new_leader_has_forgotten_the_questions():
    """txn.15: Batches that wait at a former leader are lost, and the next one ignores their answer."""
    bench = transaction(VERIFIED)
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, 0, 0, 0, 0))
    bench.flow("produce", "check")
    bench.system.change_leader(0)
    bench.settle()
    assert number not in bench.answers
    assert bench.log().batches == []


@pytest.mark.parametrize("kind", ["replica", "restart"])
def test_new_leader_knows_what_the_log_tells(kind):
    """txn.P9: A new leader restores epochs, numbers and transactions, and a snapshot has one batch per producer."""
    bench = Bench(V1, leader_change=kind)
    for sequence in range(3):
        bench.produce(7, 2, sequence)
    bench.produce(8, 0)
    bench.marker(8, 1, committed=False, coordinator_epoch=3)
    old = bench.log()
    bench.system.change_leader(0)
    new = bench.log()
    assert (new.batches, new.open, new.aborted) == (old.batches, old.open, old.aborted)
    for producer_id, entry in old.producers.items():
        other = new.producers[producer_id]
        assert (other.epoch, other.coordinator_epoch, other.last_sequence) == (
            entry.epoch, entry.coordinator_epoch, entry.last_sequence,
        )  # fmt: skip
    assert bench.produce(7, 2, 2) == (0, 2)
    assert bench.produce(7, 2, 0) == ((0, 0) if kind == "replica" else (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1))
    assert bench.produce(7, 2, 3) == (0, 5)
