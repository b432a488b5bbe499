"""AddPartitionsToTxn, AddOffsetsToTxn and verification by leaders have guards with error codes."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_states import TransactionState as S
from txn_bench import V1, V2, VERIFIED, Bench


def opened(mode=V1, **config):
    """Return a bench whose id 0 is at epoch 1 with partition 0 in its open transaction."""
    bench = Bench(mode, **config)
    bench.init()
    bench.init()
    assert bench.add(0, 1, 0) == 0
    return bench


def test_first_partition_opens_the_transaction():
    """txn.6: The first partition makes the transaction Ongoing and starts its clock, which further ones do not."""
    bench = Bench(V1)
    bench.init()
    bench.system.advance(5)
    bench.add(0, 0, 0)
    bench.system.advance(5)
    bench.add(0, 0, 1)
    now = bench.metadata.now
    assert (now.state, now.topic_partitions, now.txn_start_timestamp) == (S.ONGOING, {0, 1}, 5)


def test_partition_that_is_in_already_is_not_written_again():
    """txn.6: A partition that is added twice succeeds without a record."""
    bench = opened()
    bench.events()
    assert bench.add(0, 1, 0) == 0
    assert not bench.events("txn_logged")


@pytest.mark.parametrize(
    ("producer_id", "epoch", "error"),
    [(0, 0, E.PRODUCER_FENCED), (0, 2, E.PRODUCER_FENCED), (5, 1, E.INVALID_PRODUCER_ID_MAPPING)],
)
def test_exact_pair_or_nothing(producer_id, epoch, error):
    """txn.6: An epoch too low or too high is 90, and a wrong producer id is 49, for adding and verifying alike."""
    bench = opened(VERIFIED)
    assert bench.add(producer_id, epoch, 1) == error
    assert bench.add_offsets(producer_id, epoch) == error
    assert bench.verify(producer_id, epoch, 0) == error
    assert bench.metadata.now.topic_partitions == {0}


def test_unknown_things():
    """txn.6: No transactional id is 42, an unknown one 49, an unknown partition or group 3."""
    bench = opened()
    assert bench.add(0, 1, txn_id=-1) == E.INVALID_REQUEST
    assert bench.add(0, 1, txn_id=9) == E.INVALID_PRODUCER_ID_MAPPING
    assert bench.verify(0, 1, txn_id=9) == E.INVALID_PRODUCER_ID_MAPPING
    assert bench.add(0, 1, 77) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert bench.add_offsets(0, 1, group=5) == E.UNKNOWN_TOPIC_OR_PARTITION


def test_without_permission():
    """txn.6: Without permission to write under the id every request for it gets 53."""
    bench = opened()
    bench.env.without_write.add(0)
    assert bench.add(0, 1) == bench.verify(0, 1) == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_offsets_partition_of_a_group_joins():
    """txn.21: AddOffsetsToTxn adds the group's offsets partition, whose number follows the data partitions."""
    bench = opened(groups=2)
    assert bench.add_offsets(0, 1, group=1) == 0
    assert bench.metadata.now.topic_partitions == {0, 3}


def test_pending_transition_comes_first():
    """txn.5: While a record is under way an add gets 51, even with a pair that is fenced."""
    bench = opened()
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 1, True))
    bench.flow()
    for pair in ((0, 1), (0, 0), (9, 9)):
        number = bench.send("add", "coordinator", AddPartitionsToTxnRequest(0, *pair, 1))
        bench.flow()
        assert bench.answers[number].error_code == E.CONCURRENT_TRANSACTIONS


def test_failed_append_adds_nothing():
    """txn.8: If the record is not durable the answer is 15, and the partition is not in the transaction."""
    bench = opened()
    number = bench.send("add", "coordinator", AddPartitionsToTxnRequest(0, 0, 1, 1))
    bench.flow()
    bench.system.log_append(ok=False)
    bench.flow()
    assert bench.answers[number].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert bench.metadata.now.topic_partitions == {0}
    (failed,) = bench.events("append_failed")
    assert (failed.state, failed.producer_id, failed.epoch) == (S.ONGOING, 0, 1)


def test_verification_says_whether_the_partition_is_in():
    """txn.15: Verification answers 0 for a partition in the open transaction, 120 for another one, and never adds."""
    bench = opened(VERIFIED)
    assert (bench.verify(0, 1, 0), bench.verify(0, 1, 1)) == (0, E.TRANSACTION_ABORTABLE)
    bench.end(0, 1)
    assert bench.verify(0, 1, 0) == E.TRANSACTION_ABORTABLE
    assert bench.state == S.COMPLETE_COMMIT


def test_verification_ignores_what_is_pending():
    """txn.15: The partition counts as added until Prepare is durable, and from then on the answer is 51."""
    bench = opened(VERIFIED)
    question = AddPartitionsToTxnRequest(0, 0, 1, 0, True)
    bench.send("end", "coordinator", EndTxnRequest(0, 0, 1, False))
    bench.flow()
    before = bench.send("check", "coordinator", question)
    bench.flow()
    bench.system.log_append()
    after = bench.send("check", "coordinator", question)
    bench.flow("check", "check_answer")
    answers = [bench.answers[number].error_code for number in (before, after)]
    assert answers == [E.NONE, E.CONCURRENT_TRANSACTIONS]


def test_question_of_a_v2_leader_adds():
    """txn.15: In v2 the leader's verification adds the partition to the transaction."""
    bench = Bench(V2)
    bench.init()
    assert bench.produce(0, 0, partition=1) == (0, 0)
    assert (bench.state, bench.metadata.now.topic_partitions) == (S.ONGOING, {1})
    (checked,) = bench.events("partition_checked")
    assert (checked.partition, checked.producer_id, checked.epoch, checked.error) == (1, 0, 0, 0)


def test_id_expires_only_when_idle():
    """txn.20: An idle id expires a week after its last change, but not one with an open transaction."""
    bench = Bench(V1, max_transaction_timeout_ms=10**10)
    bench.init(timeout_ms=10**10)
    bench.init(txn_id=1)
    bench.add(0, 0)
    bench.system.advance(8 * 24 * 3600 * 1000)
    bench.settle()
    assert [event.txn_id for event in bench.events("id_expired")] == [1]
    assert bench.add(1, 0, txn_id=1) == E.INVALID_PRODUCER_ID_MAPPING
    assert list(bench.system.transaction_log.replay()) == [0]


def test_id_is_kept_to_the_last_hour():
    """txn.20: The hourly check removes no id that has been idle for less than a week."""
    bench = Bench()
    bench.system.advance(1)
    bench.init()
    bench.system.advance(7 * 24 * 3600 * 1000 - 1)
    bench.settle()
    assert not bench.events("id_expired")
    bench.system.advance(3600 * 1000)
    bench.settle()
    assert bench.events("id_expired")


def test_failed_tombstone_keeps_the_id():
    """txn.20: An id whose tombstone is not durable still exists and can be used."""
    bench = Bench()
    bench.init()
    bench.system.advance(8 * 24 * 3600 * 1000)
    assert bench.metadata.pending_state == S.DEAD
    number = bench.send("init", "coordinator", InitProducerIdRequest(0, 60_000))
    bench.flow()
    assert bench.answers[number].error_code == E.CONCURRENT_TRANSACTIONS
    bench.system.log_append(ok=False)
    assert bench.init() == (0, 0, 1)
