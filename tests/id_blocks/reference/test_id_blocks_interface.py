"""These tests check the visible interface of KIP-730: fields, error codes, throttling and versions."""

from dataclasses import asdict, fields

import pytest
from block_bench import deliver_all, fetch_block
from fencepost.reference_impl.kafka import messages
from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.producer_ids.controller import Quota
from fencepost.reference_impl.kafka.producer_ids.environment import protocol_version


def names(message_type):
    return [field.name for field in fields(message_type)]


def test_request_and_response_fields():
    """730.4: AllocateProducerIds(brokerId, brokerEpoch) is answered with (errorCode, start, length)."""
    assert asdict(messages.AllocateProducerIdsRequest(3)) == {"broker_id": 3, "broker_epoch": -1}
    assert names(messages.AllocateProducerIdsResponse) == [
        "throttle_time_ms", "error_code", "producer_id_start", "producer_id_len",
    ]  # fmt: skip
    assert names(messages.ProducerIdsRecord) == ["broker_id", "broker_epoch", "next_producer_id"]


def test_start_is_inclusive():
    """730.4: A block of start 0 and length 1000 has the ids 0 to 999."""
    block = messages.Block(0, 1000)
    assert [block.claim() for _ in range(1001)] == [*range(1000), -1]
    assert (block.last, block.next_first) == (999, 1000)


def test_empty_block_lies_below_every_id():
    """730.20: A broker without a block holds -1 as its last id, so that id 0 may be the first."""
    empty = messages.empty_block()
    assert (empty.last, empty.claim()) == (-1, -1)


def refused(system, only):
    """Return the error codes of refused requests, which equal those of the answers that follow them."""
    events = system.drain_events()
    refusals = [event.error for event in only(events, "request_refused")]
    assert refusals == [event.error for event in only(events, "answer_sent") if event.error]
    return refusals


def test_stale_and_unknown_brokers_are_told_77(cluster, only):
    """730.18: KRaft refuses an unregistered broker id and a different epoch alike with STALE_BROKER_EPOCH."""
    system = cluster()
    system.init_producer_id(0)
    system.restart_broker(0)
    deliver_all(system)
    assert refused(system, only) == [IdErrorCode.STALE_BROKER_EPOCH]
    system.unregister_broker(1)
    fetch_block(system, 1)
    assert refused(system, only) == [IdErrorCode.STALE_BROKER_EPOCH]


def test_zookeeper_controller_tells_unknown_from_stale(cluster, only):
    """730.18: ZooKeeper mode answers 102 for an unknown broker, 77 for a wrong epoch."""
    system = cluster(mode="zookeeper", inter_broker_protocol="3.0-IV0")
    system.unregister_broker(1)
    fetch_block(system, 1)
    system.init_producer_id(0)
    system.restart_broker(0)
    deliver_all(system)
    assert refused(system, only) == [IdErrorCode.BROKER_ID_NOT_REGISTERED, IdErrorCode.STALE_BROKER_EPOCH]


@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
def test_stale_controller_answers_41(cluster, only, mode):
    """730.5: A controller that is no longer active answers NOT_CONTROLLER, and the broker then asks the new one."""
    system = cluster(mode=mode, inter_broker_protocol="3.0-IV0", controller_discovery="at_sending")
    system.init_producer_id(0)
    system.fail_over()
    deliver_all(system)
    assert refused(system, only) == [IdErrorCode.NOT_CONTROLLER]
    system.advance(50)
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


def test_exhaustion_is_an_unknown_server_error(cluster, only):
    """730.16: Exhausted ids are answered with UNKNOWN_SERVER_ERROR."""
    system = cluster(max_id=5)
    fetch_block(system, 0)
    assert refused(system, only) == [IdErrorCode.UNKNOWN_SERVER_ERROR]


@pytest.mark.rule("730.5")
def test_missing_permission_is_31_and_retried_as_shipped(cluster, only):
    """730.5: Without CLUSTER_ACTION the answer is CLUSTER_AUTHORIZATION_FAILED, and shipped brokers just retry."""
    system = cluster()
    system.set_cluster_action(0, allowed=False)
    fetch_block(system, 0)
    assert refused(system, only) == [IdErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    system.set_cluster_action(0, allowed=True)
    system.advance(50)
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


@pytest.mark.rule("730.5")
def test_missing_permission_terminates_the_broker_by_the_kip(cluster, kinds):
    """730.5: According to the KIP, CLUSTER_AUTHORIZATION_FAILED is fatal and the broker stops."""
    system = cluster(authorization_error="fatal")
    system.set_cluster_action(0, allowed=False)
    fetch_block(system, 0)
    assert kinds(system.drain_events())[-2:] == ["answer_failed", "broker_stopped"]
    assert system.init_producer_id(0) == (IdErrorCode.NETWORK_EXCEPTION, -1)
    system.set_cluster_action(0, allowed=True)
    system.restart_broker(0)
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


@pytest.mark.parametrize("setting", ["retried", "fatal"])
@pytest.mark.rule("730.5")
def test_every_other_error_is_retried(cluster, setting):
    """730.5: A stale epoch never terminates a broker, whatever CLUSTER_AUTHORIZATION_FAILED does."""
    system = cluster(authorization_error=setting)
    system.unregister_broker(0)
    fetch_block(system, 0)
    assert system.brokers[0].running


def test_error_codes_have_kafkas_numbers():
    """730.5: The error codes that no other protocol uses have Kafka's numbers."""
    codes = IdErrorCode.NOT_CONTROLLER, IdErrorCode.STALE_BROKER_EPOCH, IdErrorCode.BROKER_ID_NOT_REGISTERED
    assert codes == (41, 77, 102)


@pytest.mark.rule("730.6")
def test_rpc_is_throttled(cluster, only):
    """730.6: Beyond its quota a broker gets a throttle time, and its channel delays requests for so long."""
    system = cluster(quota_per_second=2, prefetch=0)
    for _ in range(4):
        fetch_block(system, 0)
        for _ in range(10):
            system.init_producer_id(0)
    assert len(only(system.drain_events(), "request_sent")) == 3
    system.advance(499)
    fetch_block(system, 0)
    assert not only(system.drain_events(), "request_sent")
    system.advance(1)
    fetch_block(system, 0)
    assert len(only(system.drain_events(), "request_sent")) == 1


def test_quota_refills_with_time():
    """730.6: One second's worth may be a burst, then one token comes per 1/rate seconds, and rate 0 is no limit."""
    quota = Quota(4)
    assert [quota.throttle_ms(0, 0) for _ in range(6)] == [0, 0, 0, 0, 250, 500]
    assert quota.throttle_ms(1, 0) == 0
    assert quota.throttle_ms(0, 10_000_000) == 0
    assert Quota(0).throttle_ms(0, 0) == 0


@pytest.mark.parametrize(
    ("mode", "version", "uses_rpc"),
    [
        ("zookeeper", "2.8-IV1", False), ("zookeeper", "3.0-IV0", True), ("zookeeper", "3.0", True),
        ("zookeeper", "2.8", False), ("zookeeper", "3.10-IV2", True), ("bridge", "2.8-IV1", False),
        ("bridge", "3.4-IV0", True), ("kraft", "2.8-IV1", True),
    ],
)  # fmt: skip
@pytest.mark.rule("730.21")
def test_version_decides_whether_the_rpc_is_used(cluster, mode, version, uses_rpc):
    """730.21: In ZooKeeper mode the RPC is used from 3.0-IV0 on, and in KRaft always."""
    system = cluster(mode=mode, inter_broker_protocol=version)
    system.init_producer_id(0)
    assert bool(system.messages()) is uses_rpc
    assert system.zk_step(0) is not uses_rpc


def test_versions_compare_by_number():
    """730.21: 3.10 is later than 3.9, and a bare version stands for its last revision."""
    assert protocol_version("3.10") > protocol_version("3.9-IV7") > protocol_version("3.0-IV0")
    assert protocol_version("2.8") < protocol_version("3.0-IV0") < protocol_version("3.0")
