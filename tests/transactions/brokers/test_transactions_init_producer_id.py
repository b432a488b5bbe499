"""These tests check which producer id and epoch InitProducerId gives, and which producers it fences."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_states import TransactionState as S
from txn_bench import V1, V2, VERIFIED, Bench

MODES = (V1, VERIFIED, V2)


def test_unknown_transactional_id_starts_at_epoch_0():
    """txn.1: An unknown transactional id gets a new producer id at epoch 0, and is recorded as Empty."""
    bench = Bench()
    assert bench.init() == (0, 0, 0)
    (logged,) = bench.events("txn_logged")
    assert (logged.state, logged.producer_id, logged.epoch) == (S.EMPTY, 0, 0)


def test_every_new_instance_bumps_the_epoch():
    """txn.1: Each InitProducerId without a pair bumps the epoch by one, under the same producer id."""
    bench = Bench()
    assert [bench.init() for _ in range(3)] == [(0, 0, 0), (0, 0, 1), (0, 0, 2)]


@pytest.mark.parametrize("mode", MODES)
def test_older_instance_is_refused_everywhere(mode):
    """txn.1: After the bump the older epoch may neither add a partition nor end a transaction."""
    bench = Bench(mode)
    bench.init()
    bench.init()
    assert bench.add(0, 0) == E.PRODUCER_FENCED
    assert bench.end(0, 0)[0] == E.PRODUCER_FENCED


def test_current_pair_bumps_once():
    """txn.2: A request with the current pair bumps the epoch."""
    bench = Bench()
    bench.init()
    assert bench.init(0, 0) == (0, 0, 1)


def test_retry_with_the_previous_epoch_gets_the_same_answer():
    """txn.2: A producer that missed the answer asks again with its old pair, and gets the same answer."""
    bench = Bench()
    bench.init()
    assert [bench.init(0, 0) for _ in range(3)] == [(0, 0, 1)] * 3


def test_anything_older_is_fenced():
    """txn.2: An epoch from before the last bump, or from the future, is PRODUCER_FENCED."""
    bench = Bench()
    for epoch in range(3):
        bench.init(0, epoch - 1) if epoch else bench.init()
    assert bench.init(0, 0) == (E.PRODUCER_FENCED, -1, -1)
    assert bench.init(0, 7) == (E.PRODUCER_FENCED, -1, -1)


def test_new_instance_erases_the_memory_of_retries():
    """txn.2: After another instance's request without a pair, the older one's retry is fenced."""
    bench = Bench()
    bench.init()
    bench.init(0, 0)
    bench.init()
    assert bench.init(0, 0)[0] == E.PRODUCER_FENCED


def test_foreign_producer_id_is_fenced():
    """txn.2: An expected producer id that is not this transactional id's is PRODUCER_FENCED."""
    bench = Bench()
    bench.init()
    assert bench.init(9, 0)[0] == E.PRODUCER_FENCED


def test_foreign_producer_id_cannot_end_a_transaction():
    """txn.2: A foreign producer id does not affect the open transaction, but an older epoch of the same id ends it."""
    bench = Bench()
    bench.init()
    bench.init()
    bench.add(0, 1)
    assert bench.init(9, 1)[0] == E.PRODUCER_FENCED
    assert bench.state == S.ONGOING
    assert bench.init(0, 0)[0] == E.CONCURRENT_TRANSACTIONS
    assert bench.state == S.COMPLETE_ABORT
    assert bench.init(0, 0)[0] == E.PRODUCER_FENCED


def test_id_without_epoch_takes_any_pair():
    """txn.20: After its id has expired a producer's old pair is treated like none (the hole of KAFKA-18019)."""
    assert Bench().init(9, 4) == (0, 0, 0)


def test_exhausted_epoch_rotates_the_producer_id():
    """txn.4: The last usable epoch is followed by epoch 0 of the next producer id."""
    bench = Bench(max_epoch=3)
    assert [bench.init()[1:] for _ in range(4)] == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_retry_after_rotation_gets_the_new_pair():
    """txn.2: A retry with (old id, last epoch) after the rotation gets (new id, 0) again."""
    bench = Bench(max_epoch=2)
    bench.init()
    bench.init()
    assert [bench.init(0, 1) for _ in range(3)] == [(0, 1, 0)] * 3
    assert bench.metadata.now.previous_producer_id == 0


def test_rotation_without_pair_leaves_no_retry():
    """txn.4: If another instance caused the rotation, the older one with the last epoch is fenced."""
    bench = Bench(max_epoch=2)
    for _ in range(3):
        bench.init()
    assert bench.init(0, 1) == (E.PRODUCER_FENCED, -1, -1)


def test_retry_that_led_to_the_last_epoch_fails():
    """txn.2: At the last epoch a request with another one gets -1, even from the producer that missed the answer."""
    bench = Bench(max_epoch=3)
    bench.init()
    bench.init(0, 0)
    assert bench.init(0, 1) == (0, 0, 2)
    assert [bench.init(0, epoch) for epoch in (1, 0)] == [(E.UNKNOWN_SERVER_ERROR, -1, -1)] * 2
    assert bench.init(0, 2) == (0, 1, 0)


def test_single_epoch_still_tells_a_retry_from_a_new_wish():
    """txn.2: With one epoch per id every bump rotates, and the old pair still gets the same answer twice."""
    bench = Bench(max_epoch=1)
    bench.init()
    assert [bench.init(0, 0) for _ in range(2)] == [(0, 1, 0)] * 2


def test_pending_transition_answers_51_before_any_epoch_check():
    """txn.5: While another InitProducerId is being recorded even a fenced pair gets CONCURRENT_TRANSACTIONS."""
    bench = Bench()
    bench.init()
    bench.init()
    first = bench.send("init", "coordinator", init_request())
    second = bench.send("init", "coordinator", init_request(0, 0))
    bench.flow()
    assert first not in bench.answers
    assert bench.answers[second].error_code == E.CONCURRENT_TRANSACTIONS
    bench.settle()
    assert bench.answers[first] == (0, 0, 2)


@pytest.mark.parametrize(("mode", "aborted_at"), [(V1, 1), (VERIFIED, 1), (V2, 2)])
def test_open_transaction_is_fenced_and_aborted_first(mode, aborted_at):
    """txn.3: InitProducerId answers 51 while a transaction is open, aborts it under a higher epoch, and then succeeds.
    The fence costs one epoch, and in v2 the abort another."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0, 1)
    number = bench.send("init", "coordinator", init_request())
    bench.flow()
    assert number not in bench.answers, "answered only after the Prepare record"
    bench.system.log_append()
    bench.flow("init_answer")
    assert bench.answers[number].error_code == E.CONCURRENT_TRANSACTIONS
    assert (bench.state, bench.metadata.now.producer_epoch) == (S.PREPARE_ABORT, aborted_at)
    assert bench.flying("marker")
    again = bench.send("init", "coordinator", init_request())
    bench.flow("init", "init_answer")
    assert bench.answers[again].error_code == E.CONCURRENT_TRANSACTIONS
    bench.settle()
    (marker,) = bench.events("marker_appended")
    assert (marker.epoch, marker.outcome, marker.partition) == (aborted_at, 0, 1)
    assert bench.init() == (0, 0, aborted_at + 1)


def test_failed_append_hands_out_nothing():
    """txn.8: If the record is not durable the answer is COORDINATOR_NOT_AVAILABLE, and the epoch stays."""
    bench = Bench()
    bench.init()
    number = bench.send("init", "coordinator", init_request())
    bench.flow()
    bench.system.log_append(ok=False)
    bench.flow()
    assert bench.answers[number] == (E.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert bench.init() == (0, 0, 1)


@pytest.mark.parametrize("mode", MODES)
def test_failed_fence_is_remembered_and_does_not_bump_again(mode):
    """txn.18: However often the abort's record fails, the epoch grows by one, and the old one stays fenced."""
    bench = Bench(mode)
    bench.init()
    bench.add(0, 0)
    for _ in range(3):
        bench.send("init", "coordinator", init_request())
        bench.flow()
        bench.system.log_append(ok=False)
        bench.flow()
        assert (bench.state, bench.metadata.now.producer_epoch) == (S.ONGOING, 1)
    assert bench.metadata.has_failed_epoch_fence
    assert bench.end(0, 0)[0] == E.PRODUCER_FENCED
    bench.init()
    assert not bench.metadata.has_failed_epoch_fence
    assert bench.metadata.now.producer_epoch == (2 if mode == V2 else 1)


@pytest.mark.parametrize("mode", MODES)
def test_fence_at_the_last_epoch_uses_the_reserved_one(mode):
    """txn.4: A transaction at the last epoch is fenced with the reserved epoch, which no client ever gets."""
    bench = Bench(mode, max_epoch=1)
    bench.init()
    bench.add(0, 0)
    assert bench.init()[0] == E.CONCURRENT_TRANSACTIONS
    assert [event.epoch for event in bench.events("marker_appended")] == [1]
    error, producer_id, epoch = bench.init()
    assert (error, epoch) == (0, 0)
    assert producer_id > 0


def test_without_transactional_id_every_request_gets_a_fresh_id():
    """txn.1: An idempotent producer gets a new id at epoch 0, which the coordinator does not store."""
    bench = Bench()
    assert [bench.init(txn_id=-1) for _ in range(2)] == [(0, 0, 0), (0, 1, 0)]
    assert not bench.system.coordinator.transactions
    assert not bench.system.log_append()


@pytest.mark.parametrize("pair", [(0, -1), (-1, 0)])
def test_half_a_pair_is_an_invalid_request(pair):
    """txn.2: A producer id without epoch, or an epoch without producer id, is INVALID_REQUEST."""
    assert Bench().init(*pair)[0] == E.INVALID_REQUEST


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
def test_timeout_out_of_range(timeout_ms):
    """txn.18: A transaction time-out must be above 0 and at most transaction.max.timeout.ms."""
    assert Bench().init(timeout_ms=timeout_ms)[0] == E.INVALID_TRANSACTION_TIMEOUT
    assert Bench().init(timeout_ms=900_000)[0] == 0


def test_permissions():
    """618.12: Without permission to write the answer is 53, or 31 for requests without a transactional id."""
    bench = Bench()
    bench.env.without_write |= {0, -1}
    assert bench.init()[0] == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert bench.init(txn_id=-1)[0] == E.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.rule("txn.22")
def test_fencing_an_unknown_id_creates_it_idle():
    """txn.22: A request without a pair from an admin leaves an Empty id, and the next instance gets a higher epoch."""
    bench = Bench()
    assert bench.init(timeout_ms=30_000) == (0, 0, 0)
    assert (bench.state, bench.metadata.now.txn_timeout_ms) == (S.EMPTY, 30_000)
    assert bench.init() == (0, 0, 1)


def init_request(producer_id=-1, epoch=-1):
    return InitProducerIdRequest(0, 60_000, producer_id, epoch)
