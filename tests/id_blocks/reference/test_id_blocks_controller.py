"""These tests check the controller's half of KIP-730, one rule at a time."""

import pytest
from block_bench import deliver_all, fetch_block, settle
from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import ProducerIdsRecord


def test_answer_waits_for_commit(cluster, kinds):
    """730.7: The controller commits the record of a block before it sends the answer."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    assert kinds(system.drain_events())[-1] == "block_recorded"
    assert system.messages() == []
    system.commit()
    assert kinds(system.drain_events()) == ["block_committed", "answer_sent"]


def test_record_holds_next_free_id(cluster):
    """730.7: The record names the broker id, the broker epoch and the exclusive end of the block."""
    system = cluster()
    fetch_block(system, 1)
    assert system.metadata_log.audit() == [ProducerIdsRecord(broker_id=1, broker_epoch=0, next_producer_id=10)]


def test_persisted_block_is_consumed_though_its_answer_is_lost(cluster):
    """730.7: A persisted block is consumed, whether or not its answer arrives."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    system.drop(system.messages()[0][0])
    fetch_block(system, 1)
    assert system.init_producer_id(1) == (0, 10)


def test_uncommitted_block_is_lost_with_its_leader_and_reused(cluster, only):
    """730.7: A deposed controller reverts to the last committed record, and no broker got the lost block."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.fail_over()
    system.commit()
    assert system.messages() == []
    fetch_block(system, 1)
    assert system.init_producer_id(1) == (0, 0)
    grants = [event.grant for event in only(system.drain_events(), "block_recorded")]
    assert grants == [0, 1]


def test_answer_owed_by_a_dead_leader_is_never_sent(cluster):
    """730.7: A controller that is elected again does not send the answers that it owed in an earlier term."""
    system = cluster(controllers=1)
    system.init_producer_id(0)
    deliver_all(system)
    system.fail_over()
    system.init_producer_id(1)
    settle(system)
    assert [system.init_producer_id(broker)[0] for broker in (0, 1)] == [IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0]


def test_committed_block_survives_fail_over(cluster):
    """730.7: Every later leader knows the records that a majority has."""
    system = cluster()
    fetch_block(system, 0)
    for _ in range(3):
        system.fail_over()
    fetch_block(system, 1)
    assert system.init_producer_id(1) == (0, 10)


def test_next_block_is_computed_from_memory_before_the_commit(cluster, only):
    """730.8: Two requests before any commit get two blocks."""
    system = cluster()
    for broker in (0, 1):
        system.init_producer_id(broker)
    settle(system)
    assert [event.first for event in only(system.drain_events(), "answer_sent")] == [0, 10]


def test_controller_owns_block_size(cluster):
    """730.8: Brokers take the length from the answer."""
    system = cluster(block_size=3)
    fetch_block(system, 0)
    assert [system.init_producer_id(0) for _ in range(3)] == [(0, 0), (0, 1), (0, 2)]
    assert system.init_producer_id(0) == (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)


@pytest.mark.rule("730.4")
def test_default_block_size_is_one_thousand(cluster, only):
    """730.4: The first block of the default size has the ids 0 to 999."""
    from fencepost.reference_impl.systems.id_blocks import reference

    system = reference({})
    fetch_block(system, 0)
    (answer,) = only(system.drain_events(), "answer_sent")
    assert (answer.first, answer.length) == (0, 1000)


@pytest.mark.rule("730.4")
def test_brokers_hand_out_what_the_answer_says(cluster, only):
    """730.4: Each broker hands out ids from the answer's first id, inclusive, as many as its length."""
    system = cluster(prefetch=0)
    for broker in (0, 1):
        fetch_block(system, broker)
        (answer,) = [e for e in only(system.drain_events(), "answer_sent") if e.broker == broker]
        given = [system.init_producer_id(broker) for _ in range(11)]
        assert given[:10] == [(0, answer.first + n) for n in range(answer.length)]
        assert given[10] == (14, -1)


def test_rpc_is_not_idempotent(cluster, only):
    """730.17: A second copy of a request gets a second block, and the broker installs only one of the two."""
    system = cluster()
    system.init_producer_id(0)
    system.deliver(0, keep=True)
    settle(system)
    events = system.drain_events()
    assert [event.first for event in only(events, "answer_sent")] == [0, 10]
    assert [event.first for event in only(events, "answer_taken")] == [0]
    assert len(only(events, "answer_dropped")) == 1


@pytest.mark.parametrize("controllers", [1, 2, 3, 5])
def test_snapshot_carries_next_free_id(cluster, only, controllers):
    """730.10: The snapshot carries the next free id, which suffices to go on from."""
    system = cluster(controllers=controllers)
    fetch_block(system, 0)
    system.snapshot()
    assert system.metadata_log.audit() == []
    assert system.metadata_log.committed_records() == [ProducerIdsRecord(-1, -1, 10)]
    system.fail_over()
    fetch_block(system, 1)
    events = system.drain_events()
    assert only(events, "snapshot_taken")[0].first == 10
    assert only(events, "answer_sent")[-1].first == 10


def test_snapshot_leaves_uncommitted_records_alone(cluster, only):
    """730.10: A snapshot has the committed state only. Records in flight are committed after it."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.snapshot()
    system.commit()
    events = system.drain_events()
    assert only(events, "snapshot_taken")[0].first == 0
    assert [event.first for event in only(events, "block_committed")] == [0]


def test_snapshot_before_any_block_says_nothing(cluster):
    """730.10: A snapshot that is taken before any block has no record, and ids start at 0."""
    system = cluster()
    system.snapshot()
    system.fail_over()
    assert system.metadata_log.committed_records() == []
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


def test_ids_end_with_an_error(cluster, only):
    """730.16: After the last block the controller answers with an error, and the broker retries for ever."""
    system = cluster(max_id=20, prefetch=0)
    for _ in range(2):
        fetch_block(system, 0)
        assert [system.init_producer_id(0)[0] for _ in range(10)] == [0] * 10
    for _ in range(3):
        fetch_block(system, 0)
        system.advance(50)
    assert [e.error for e in only(system.drain_events(), "answer_failed")] == [IdErrorCode.UNKNOWN_SERVER_ERROR] * 3


@pytest.mark.parametrize(("max_id", "blocks"), [(29, 2), (30, 3), (31, 3)])
def test_kraft_compares_the_first_id_of_the_next_block(cluster, only, max_id, blocks):
    """730.16: In KRaft a block fits if its first id is at most max - size."""
    system = cluster(max_id=max_id, prefetch=0)
    for _ in range(4):
        fetch_block(system, 0)
        system.restart_broker(0)
    assert len(only(system.drain_events(), "block_recorded")) == blocks


def test_real_limit_is_long_max(cluster):
    """730.16: With the default limit the last block may start at Long.MAX_VALUE - 1000."""
    system = cluster(max_id=2**63 - 1, block_size=1000)
    system.kraft[0].next_producer_id = 2**63 - 1 - 1000
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 2**63 - 1001)
    fetch_block(system, 1)
    assert system.init_producer_id(1) == (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)


def test_records_that_go_backwards_are_refused(cluster):
    """730.8: A controller that replays a record with ids already granted raises an error."""
    system = cluster()
    fetch_block(system, 0)
    with pytest.raises(RuntimeError, match="ids must increase"):
        system.kraft[0].replay(ProducerIdsRecord(0, 0, 10))


@pytest.mark.rule("730.9")
def test_records_are_an_audit_log(cluster):
    """730.9: The committed records name which broker, in which epoch, got which block."""
    system = cluster()
    fetch_block(system, 1)
    system.restart_broker(0)
    fetch_block(system, 0)
    audit = [(r.broker_id, r.broker_epoch, r.next_producer_id) for r in system.metadata_log.audit()]
    assert audit == [(1, 0, 10), (0, 1, 20)]
