"""The mock cluster answers as it was told to: what the tests of clients rest on, asked through a raw connection."""

import pytest
from fencepost.reference_impl.live.tcp.connection import (
    Broker,
    Connection,
    WireError,
    find_brokers,
    init_producer_id,
)
from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.types import TopicName
from kio.static.primitive import i8
from mock_cluster import CUT, INIT_PRODUCER_ID, METADATA, MockCluster

TRANSACTION = i8(1)


@pytest.fixture
def mock():
    """Two brokers with a topic of three partitions."""
    with MockCluster(brokers=2) as cluster:
        cluster.create_topic("out", partitions=3)
        yield cluster


@pytest.fixture
def connection(mock):
    """To the first broker."""
    with Connection(*mock.address) as opened:
        yield opened


def metadata(connection, topic):
    """The partitions of a topic, as (number, leader), in order."""
    asked = MetadataRequestTopic(topic_id=None, name=TopicName(topic))
    answer = connection.call(
        MetadataRequest(
            topics=(asked,), allow_auto_topic_creation=True, include_topic_authorized_operations=False
        )
    )  # fmt: skip
    [found] = answer.topics
    return sorted((int(each.partition_index), int(each.leader_id)) for each in found.partitions)


def coordinator(connection, transactional_id):
    """The number of the broker that coordinates it."""
    return int(connection.call(FindCoordinatorRequest(key=transactional_id, key_type=TRANSACTION)).node_id)


def test_brokers_are_where_the_mock_says(mock):
    """Every broker listens at its place in the list, and any of them names them all."""
    listed = [address.rpartition(":") for address in mock.bootstrap.split(",")]
    expected = [Broker(number, host, int(port)) for number, (host, _, port) in enumerate(listed, 1)]
    assert find_brokers(mock.bootstrap) == expected
    assert find_brokers(mock.bootstrap.split(",")[1]) == expected


def test_topics(connection):
    """A topic has the partitions that it was made with; one that is asked for is made, of four."""
    assert [number for number, _ in metadata(connection, "out")] == [0, 1, 2]
    assert len(metadata(connection, "unheard-of")) == 4


def test_errors_pushed_are_answered_in_order(mock, connection):
    """Each is answered once, at any broker, and then requests are answered as usual."""
    mock.push_errors(INIT_PRODUCER_ID, 51, 15, 0, 47)
    answers = [init_producer_id(connection) for _ in range(5)]
    assert [answer.error for answer in answers] == [51, 15, 0, 47, 0]
    assert [answer.producer_id >= 0 for answer in answers] == [False, False, True, False, True]


def test_errors_are_of_one_kind_of_request_and_can_be_cleared(mock, connection):
    """What is pushed for one kind of request no other gets, and what is cleared none."""
    mock.push_errors(INIT_PRODUCER_ID, 51, 51)
    assert metadata(connection, "out")
    assert init_producer_id(connection).error == 51
    mock.clear_errors(INIT_PRODUCER_ID)
    assert init_producer_id(connection).error == 0


def test_cut_connection_is_no_answer(mock, connection):
    """The request gets no answer and the connection is gone; the next one is answered."""
    mock.push_errors(INIT_PRODUCER_ID, CUT)
    with pytest.raises(WireError, match="no answer to InitProducerIdRequest"):
        init_producer_id(connection)
    with Connection(*mock.address) as again:
        assert init_producer_id(again).error == 0


def test_coordinator_moves(mock, connection):
    """FindCoordinator names the broker that was set."""
    for broker in (2, 1, 2):
        mock.move_coordinator("T", broker)
        assert coordinator(connection, "T") == broker


def test_leader_moves_and_may_be_missing(mock, connection):
    """Metadata names the leader that was set, or none."""
    for leader in (2, 1, -1):
        mock.move_leader("out", 1, leader)
        assert dict(metadata(connection, "out"))[1] == leader


def test_broker_that_is_down(mock):
    """It takes no connections, the other one does; and it comes back."""
    first, second = find_brokers(mock.bootstrap)
    mock.set_down(second.id)
    with pytest.raises(WireError), Connection(second.host, second.port, timeout_s=1) as refused:
        init_producer_id(refused)
    with Connection(first.host, first.port) as taken:
        assert init_producer_id(taken).error == 0
    mock.set_up(second.id)
    with Connection(second.host, second.port) as taken:
        assert init_producer_id(taken).error == 0


def test_slow_answer_runs_into_the_time_limit(mock):
    """A round trip longer than the limit is no answer."""
    mock.set_round_trip(2_000)
    with (
        pytest.raises(WireError, match="timed out"),
        Connection(*mock.address, timeout_s=0.1) as impatient,
    ):
        init_producer_id(impatient)


def test_requests_are_noted(mock, connection):
    """Who was asked what, in order, from when tracking began."""
    init_producer_id(connection)
    mock.start_tracking()
    metadata(connection, "out")
    init_producer_id(connection)
    assert mock.requests() == [(1, METADATA), (1, INIT_PRODUCER_ID)]


def test_refusal_is_an_error(mock):
    """What librdkafka does not know is said, with its reason."""
    with pytest.raises(RuntimeError, match="broker_set_down"):
        mock.set_down(7)


def test_cluster_is_gone_when_the_block_ends():
    """No process listens there any more."""
    with MockCluster() as cluster:
        address = cluster.address
    with pytest.raises(WireError, match="cannot connect"):
        Connection(*address, timeout_s=1)
