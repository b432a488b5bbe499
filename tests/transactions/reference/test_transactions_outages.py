"""These outages are beyond the plug: absent partitions, leaders that forget, coordinators that overlap, and
unreplicated records."""

import pytest
from fencepost.properties.transactions.scenarios.known import CLIENT_TIMEOUT_MS, TXN_TIMEOUT_MS, Script
from fencepost.reference_impl.kafka.log import PRODUCER_EXPIRATION_MS
from fencepost.reference_impl.kafka.transaction_states import TransactionState
from fencepost.reference_impl.systems.transactions import (
    DEPOSED,
    abort_hanging,
    depose,
    elect_unclean,
    expire_producers,
    fail_over_uncovered,
    misdirect,
    raise_version,
)

MODES = ("v1", "v1-verified", "v2")


def opened(mode="v2"):
    """Return a cluster in which slot 0 has a transaction with a record at each partition."""
    script = Script.of_reference(mode=mode)
    script.start(0)
    script.begin(0, 0, 1)
    return script


def states(script):
    return [event.state for event in script.kinds("txn_logged")]


@pytest.mark.parametrize("mode", MODES)
def test_a_marker_waits_for_its_partition(mode):
    """txn.10: A marker to a partition without a leader is lost, and sent again until the leader is back."""
    script = opened(mode)
    script.system.leave(0)
    script.commit(0)
    script.settle(CLIENT_TIMEOUT_MS)
    assert states(script)[-1] == TransactionState.PREPARE_COMMIT
    script.system.come_back(0)
    script.settle(CLIENT_TIMEOUT_MS)
    assert states(script)[-1] == TransactionState.COMPLETE_COMMIT
    assert script.read() == [0, 1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("commit", [True, False])
def test_an_operator_aborts_what_hangs_without_its_marker(mode, commit):
    """txn.P3, txn.P10: A leader that lacks the marker has the transaction open again, whatever its outcome. An
    operator's abort hides it, and the next transaction is not affected."""
    script = opened(mode)
    (script.commit if commit else script.abort)(0)
    log = script.system.leaders[0].log
    abort_hanging(script.system, 0)  # there is nothing to abort
    assert (len(log.batches), log.last_stable_offset()) == (2, 2)
    elect_unclean(script.system, 0, 1)
    log = script.system.leaders[0].log
    assert (len(log.batches), log.last_stable_offset()) == (1, 0)
    script.settle(TXN_TIMEOUT_MS)
    assert log.last_stable_offset() == 0
    abort_hanging(script.system, 0)
    assert (len(log.batches), log.last_stable_offset()) == (2, 2)
    assert script.kinds("stable_moved")[-1].upto == 2
    script.begin(0, 0)
    script.commit(0)
    assert script.read() == ([2, 1] if commit else [2])


def test_an_operator_leaves_alone_what_the_coordinator_has():
    script = opened()
    script.send(0, 0)
    elect_unclean(script.system, 0, 1)
    abort_hanging(script.system, 0)
    assert [batch.marker for batch in script.system.leaders[0].log.batches] == [-1]


def test_a_log_ends_between_batches():
    script = opened()
    script.commit(0)
    script.system.begin(0)
    script.system.send(0, 0, 2)
    script.settle()
    with pytest.raises(ValueError, match="within one"):
        elect_unclean(script.system, 0, 3)


def test_idle_producers_are_forgotten():
    """txn.26: A producer is forgotten after an idle day, but never with an open transaction."""
    script = opened("v1")
    script.system.send(0, 0)
    late = script.hold_next("produce")
    script.abort(0)
    script.release(late)  # behind the marker, as in KAFKA-14402
    logs = [leader.log for leader in script.system.leaders]
    for day_ms, known in ((PRODUCER_EXPIRATION_MS - 10_000, [1, 1]), (10_000, [1, 0])):
        script.system.advance(day_ms)
        expire_producers(script.system, 0)
        expire_producers(script.system, 1)
        assert [len(log.producers) for log in logs] == known


@pytest.mark.parametrize("durable", [True, False])
def test_a_coordinator_waits_until_its_log_is_covered(durable):
    """txn.19: A coordinator does not act on a Prepare record that may still be lost."""
    script = opened()
    script.system.commit(0)
    script.let_in(script.hold_next("end"))
    fail_over_uncovered(script.system)
    assert script.system.coordinator.loading
    assert script.flying("marker") == []
    script.system.log_append(durable)
    assert not script.system.coordinator.loading
    assert len(script.flying("marker")) == (2 if durable else 0)
    script.settle(CLIENT_TIMEOUT_MS)  # the client asks again
    assert script.read() == [0, 1]


@pytest.mark.parametrize("mode", MODES)
def test_a_deposed_coordinator_writes_nothing(mode):
    """txn.19: A request that needs a record gets no answer from the deposed coordinator, and its successor takes the
    retry."""
    script = opened(mode)
    depose(script.system)
    script.system.commit(0)
    end = script.hold_next("end")
    before = states(script)
    misdirect(script.system, end)
    script.release(end)
    assert states(script) == before
    assert script.system.env.network.nodes[DEPOSED] is not script.system.coordinator
    script.settle(CLIENT_TIMEOUT_MS)
    assert script.read() == [0, 1]


def test_after_the_upgrade_every_end_bumps():
    """txn.9, txn.24: The first end in v2 has the version of v2, and the epoch of the next transaction."""
    script = opened("v1-verified")
    script.commit(0)
    raise_version(script.system)
    script.begin(0, 0)
    script.commit(0)
    assert [event.epoch for event in script.kinds("end_told")] == [0, 1]
    assert script.system.transaction_log.records[-1].value.client_transaction_version == 2
    assert script.read() == [0, 2, 1]
