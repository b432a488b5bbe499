"""The idempotent producer: every record once, an epoch that it raises by itself, and what it gives up."""

import pytest
from fencepost.properties.transactions.scenarios.known import CLIENT_TIMEOUT_MS, Script
from fencepost.reference_impl.kafka.clients.producer import IdempotentProducer
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.systems.transactions import Parts, build


def lose_answers(script, partition):
    """What is in flight to a partition is written, and the answers are lost."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")


@pytest.fixture
def script():
    """Slot 0 is an idempotent producer that is ready; leaders remember one batch when they start again."""
    script = Script(build({**Script.SMALL, "leader_change": "restart"}, Parts(producer=IdempotentProducer)))
    script.start(0)
    return script


def test_no_transactional_id_no_transaction(script):
    """It gets a producer id of its own, and none of the calls that belong to transactions does anything."""
    assert [(e.txn_id, e.epoch, e.error) for e in script.kinds("init_taken")] == [(-1, 0, 0)]
    assert not (script.system.begin(0) or script.system.commit(0) or script.system.abort(0))
    assert script.system.send(0, 0)
    assert not script.system.send(1, 0)


def test_a_lost_answer_is_asked_for_again(script):
    """txn.14: the leader knows the batch, and it is written once; no coordinator is asked."""
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.settle(CLIENT_TIMEOUT_MS)
    assert len(script.kinds("record_acked")) == len(script.kinds("batch_duplicate")) == 1
    assert script.kinds("check_asked") == []
    assert script.read() == [0]


def refused_after_a_restart(script):
    """Two records are written, unheard of, and the first of them is refused by the restarted leader."""
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)


def test_what_may_have_been_written_is_given_up(script):
    """txn.P6: both are told to be in doubt, neither is sent under another number; what is next has another epoch."""
    refused_after_a_restart(script)
    failed = script.kinds("record_failed")
    assert [(e.record, e.error) for e in failed] == [
        (0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), (1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ]  # fmt: skip
    script.send(0, 0)
    [last] = script.kinds("record_acked")
    assert (last.record, script.kinds("batch_appended")[-1].epoch) == (2, 1)
    assert script.read() == [0, 1, 2]


def test_the_epoch_waits_for_other_partitions(script):
    """txn.13: what is in flight elsewhere keeps its epoch and number until it has its answer; new records wait."""
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS - 10_000)
    script.system.send(0, 1)
    slow = script.hold_next("produce", "partition-1")
    script.settle(15_000)  # the first two are sent again, refused, and given up
    assert len(script.kinds("record_failed")) == 2
    script.send(0, 0)
    assert script.kinds("batch_appended")[2:] == []
    script.release(slow)
    assert [(e.partition, e.epoch, e.sequence) for e in script.kinds("batch_appended")[2:]] == [(1, 0, 0), (0, 1, 0)]
    assert sorted(script.read()) == [0, 1, 2, 3]
