"""KIP-730 on ZooKeeper has the block node, two kinds of writers, the bridge and the migration."""

import json

import pytest
from block_bench import fetch_block
from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import AllocateProducerIdsResponse, Block, IdResponseBody
from fencepost.reference_impl.kafka.producer_ids.zookeeper import BlockNode, decode, encode
from fencepost.reference_impl.systems.id_blocks import next_id_after


def take_block(system, broker):
    while system.zk_step(broker):
        pass


def test_node_holds_strings_and_an_inclusive_end():
    """730.15: The node's JSON has start and end as strings, and the end is the last id of the block."""
    data = encode(3, Block(1000, 1000))
    assert json.loads(data) == {"version": 1, "broker": 3, "block_start": "1000", "block_end": "1999"}
    broker, block = decode(data)
    assert (broker, block.first, block.length, next_id_after(block)) == (3, 1000, 1000, 2000)


def test_write_needs_the_version_that_was_read():
    """730.2: A block is taken by compare-and-set on one node."""
    node = BlockNode()
    _, version = node.read()
    assert node.write("a", version)
    assert not node.write("b", version)
    assert node.read() == ("a", version + 1)


def test_direct_broker_has_its_block_at_once(cluster, kinds):
    """730.2: A direct broker takes a block with one read and one write, and sends no message."""
    system = cluster(mode="zookeeper")
    system.drain_events()
    take_block(system, 0)
    assert kinds(system.drain_events()) == ["zk_read", "zk_written"]
    assert system.init_producer_id(0) == (0, 0)
    assert system.messages() == []


def test_loser_reads_again_before_it_retries(cluster, kinds, only):
    """730.2: Every retry re-reads, so the loser of a race gets the next block."""
    system = cluster(mode="zookeeper")
    for broker in (0, 1, 0):
        system.zk_step(broker)
    system.drain_events()
    take_block(system, 1)
    events = system.drain_events()
    assert kinds(events) == ["zk_conflict", "zk_read", "zk_written"]
    assert only(events, "zk_written")[0].first == 10
    assert [system.init_producer_id(broker) for broker in (0, 1)] == [(0, 0), (0, 10)]


def test_direct_broker_takes_the_next_block_when_its_own_is_used_up(cluster, kinds):
    """730.2: Without prefetching, the client that finds the block used up is refused until the next is written."""
    system = cluster(mode="zookeeper")
    take_block(system, 0)
    assert [system.init_producer_id(0)[1] for _ in range(10)] == list(range(10))
    assert not system.zk_step(0)
    assert system.init_producer_id(0) == (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)
    system.drain_events()
    take_block(system, 0)
    assert kinds(system.drain_events()) == ["zk_read", "zk_written"]
    assert system.init_producer_id(0) == (0, 10)


def test_direct_broker_waits_for_no_answer(cluster, kinds):
    """730.19: A broker that writes to ZooKeeper itself has no request outstanding, whatever answer comes in."""
    system = cluster(mode="zookeeper")
    system.drain_events()
    system.brokers[0].ids.answer(IdResponseBody(7, AllocateProducerIdsResponse(0, 0, 50, 10), -1))
    assert kinds(system.drain_events()) == ["answer_dropped"]
    assert system.init_producer_id(0) == (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)


def test_restart_between_read_and_write_loses_only_time(cluster, only):
    """730.3: A restart loses what the broker read from ZooKeeper, and its next life reads again."""
    system = cluster(mode="zookeeper")
    system.zk_step(0)
    system.restart_broker(0)
    take_block(system, 0)
    assert [event.first for event in only(system.drain_events(), "zk_written")] == [0]


def test_direct_brokers_and_the_rpc_mix(cluster, only):
    """730.13: Direct brokers and the controller use the same compare-and-set, so they never take one block twice."""
    system = cluster(mode="bridge")
    system.upgrade_broker(1)
    system.init_producer_id(1)
    system.deliver(0)
    for worker in (0, -1, 0, -1):  # both read, broker 0 writes first, the controller's write loses
        system.zk_step(worker)
    system.zk_step(-1)
    system.zk_step(-1)
    system.deliver(system.messages()[0][0])
    assert [system.init_producer_id(broker) for broker in (0, 1)] == [(0, 0), (0, 10)]
    assert [event.broker for event in only(system.drain_events(), "zk_conflict")] == [-1]


def test_zookeeper_controller_forgets_requests_with_leadership(cluster, only):
    """730.5: A new controller knows nothing of the old one's requests, so the broker times out and asks again."""
    system = cluster(mode="zookeeper", inter_broker_protocol="3.0-IV0")
    system.init_producer_id(0)
    system.deliver(0)
    system.zk_step(-1)
    system.fail_over()
    assert not system.zk_step(-1)
    system.advance(1000)
    fetch_block(system, 0)
    assert [event.request for event in only(system.drain_events(), "answer_sent")] == [1]


def test_zookeeper_controller_that_comes_back_starts_afresh(cluster, kinds):
    """730.5: What a controller had queued and read before it lost leadership is gone when it is elected again."""
    system = cluster(mode="zookeeper", inter_broker_protocol="3.0-IV0", controllers=1)
    system.init_producer_id(0)
    system.deliver(0)
    system.zk_step(-1)
    system.fail_over()
    assert not system.zk_step(-1)
    system.init_producer_id(1)
    system.deliver(1)
    system.drain_events()
    system.zk_step(-1)
    assert kinds(system.drain_events()) == ["zk_read"]


@pytest.mark.parametrize(("max_id", "blocks"), [(28, 2), (29, 3), (30, 3)])
def test_zookeeper_compares_the_last_id_of_the_present_block(cluster, only, max_id, blocks):
    """730.16: ZooKeeper allows one block more than KRaft when max - size is the previous block's last id."""
    system = cluster(mode="zookeeper", max_id=max_id)
    for _ in range(4):
        take_block(system, 0)
        system.restart_broker(0)
    assert len(only(system.drain_events(), "zk_written")) == blocks


def test_block_that_only_zookeeper_allows_is_refused_by_an_rpc_broker(cluster, only):
    """730.16, 730.20: ZooKeeper's extra block ends at max itself, which the RPC broker refuses as malformed."""
    system = cluster(mode="zookeeper", inter_broker_protocol="3.0-IV0", max_id=29, prefetch=0)
    for _ in range(3):
        fetch_block(system, 0)
        for _ in range(10):
            system.init_producer_id(0)
    assert [event.first for event in only(system.drain_events(), "answer_refused")] == [20]


def test_zookeeper_controller_reports_exhaustion(cluster, only):
    """730.16: After the last block the controller answers UNKNOWN_SERVER_ERROR."""
    system = cluster(mode="zookeeper", inter_broker_protocol="3.0-IV0", max_id=10)
    fetch_block(system, 0)
    fetch_block(system, 1)
    assert [event.error for event in only(system.drain_events(), "request_refused")] == [-1]


def test_direct_broker_stops_trying_at_the_end(cluster, kinds):
    """730.16: A direct broker reads, finds no ids left, and reads again only for the next client."""
    system = cluster(mode="zookeeper", brokers=1, max_id=10)
    take_block(system, 0)
    system.restart_broker(0)
    system.drain_events()
    take_block(system, 0)
    assert kinds(system.drain_events()) == ["zk_read"]
    assert system.init_producer_id(0) == (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)
    system.drain_events()
    take_block(system, 0)
    assert kinds(system.drain_events()) == ["zk_read"]


def test_migration_waits_for_every_broker(cluster):
    """730.14: No migration to KRaft happens while one broker may still write to ZooKeeper."""
    system = cluster(mode="bridge")
    assert not system.migrate()
    system.upgrade_broker(0)
    assert not system.migrate()
    system.upgrade_broker(1)
    assert system.migrate()
    assert not system.migrate()


def test_kraft_starts_behind_the_inclusive_end(cluster, only):
    """730.15: After the migration the next free id is ZooKeeper's inclusive end + 1."""
    system = cluster(mode="bridge")
    take_block(system, 0)
    for broker in (0, 1):
        assert system.upgrade_broker(broker)
    system.migrate()
    fetch_block(system, 1)
    events = system.drain_events()
    assert only(events, "migrated")[0].first == 10
    assert only(events, "block_recorded")[0].first == 10


def test_migration_survives_fail_over_and_snapshot(cluster):
    """730.15, 730.10: The starting point of KRaft is committed state like any other."""
    system = cluster(mode="bridge", inter_broker_protocol="3.4")
    fetch_block(system, 0)
    system.migrate()
    system.fail_over()
    system.snapshot()
    system.fail_over()
    fetch_block(system, 1)
    assert system.init_producer_id(1) == (0, 10)


def test_migration_of_an_unused_cluster_starts_at_zero(cluster):
    """730.15: An empty block node means that no id was ever given out."""
    system = cluster(mode="bridge", inter_broker_protocol="3.4")
    assert system.migrate()
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


def test_answer_from_before_the_migration_is_still_good(cluster):
    """730.15: A block written to ZooKeeper lies below the migrated start, so its late answer may be used."""
    system = cluster(mode="bridge", inter_broker_protocol="3.4")
    system.init_producer_id(0)
    system.deliver(0)
    system.zk_step(-1)
    system.zk_step(-1)
    system.migrate()
    system.deliver(system.messages()[0][0])
    fetch_block(system, 1)
    assert [system.init_producer_id(broker) for broker in (0, 1)] == [(0, 0), (0, 10)]


def test_upgrade_restarts_the_broker_once(cluster, kinds):
    """730.21: An upgrade restarts the broker with a version that uses the RPC, and a second upgrade does nothing."""
    system = cluster(mode="zookeeper")
    system.drain_events()
    assert system.upgrade_broker(0)
    assert not system.upgrade_broker(0)
    assert kinds(system.drain_events()) == ["broker_stopped", "broker_started", "broker_upgraded"]
    assert not cluster(mode="kraft").upgrade_broker(0)
