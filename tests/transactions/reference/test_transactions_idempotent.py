"""The idempotent producer writes each record once, raises its epoch by itself, and gives some records up."""

import pytest
from fencepost.properties.transactions.scenarios.known import CLIENT_TIMEOUT_MS, Script
from fencepost.reference_impl.kafka.clients.producer import IdempotentProducer
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.systems.transactions import Parts, build


def lose_answers(script, partition):
    """Write what is in flight to a partition, and lose the answers."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")


@pytest.fixture
def script():
    """Return a cluster with a ready idempotent producer, whose leaders remember one batch after a restart."""
    script = Script(build({**Script.SMALL, "leader_change": "restart"}, Parts(producer=IdempotentProducer)))
    script.start(0)
    return script


def test_no_transactional_id_no_transaction(script):
    assert [(e.txn_id, e.epoch, e.error) for e in script.kinds("init_taken")] == [(-1, 0, 0)]
    assert not (script.system.begin(0) or script.system.commit(0) or script.system.abort(0))
    assert script.system.send(0, 0)
    assert not script.system.send(1, 0)


def test_a_lost_answer_is_asked_for_again(script):
    """txn.14: The leader recognises the batch and writes it once, without any request to the coordinator."""
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.settle(CLIENT_TIMEOUT_MS)
    assert len(script.kinds("record_acked")) == len(script.kinds("batch_duplicate")) == 1
    assert script.kinds("check_asked") == []
    assert script.read() == [0]


def refused_after_a_restart(script):
    """Write two unanswered records, of which the restarted leader refuses the first."""
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)


def test_what_may_have_been_written_is_given_up(script):
    """txn.P6: Both records are reported as in doubt and never renumbered, and the next record has another epoch."""
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
    """txn.13: A record in flight elsewhere retains epoch and number until its answer, and new records wait."""
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
