"""Finding the right broker among three, again after it has moved; brokers that are gone; a cluster that is another."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost.reference_impl.kafka.environment import Config
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.tcp.brokers import connect
from fencepost.reference_impl.live.tcp.connection import Connection, NoAnswer
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.transactions.config import LONG_MS, WireConfig, transaction_timeout
from mock_cluster import END_TXN, INIT_PRODUCER_ID, PRODUCE, MockCluster
from wire_driving import reported, settle, transaction

BROKERS = (1, 2, 3)


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    with MockCluster(brokers=len(BROKERS)) as cluster:
        yield cluster


def started(mock: MockCluster, **config: Any) -> Any:
    """A system whose producer is initialised."""
    system = over_tcp({"mode": "v1", "clients": 1, "partitions": 4, "bootstrap": mock.bootstrap} | config)
    system.init(0)
    settle(system)
    system.drain_events()
    return system


def asked(mock: MockCluster, api: int) -> set[int]:
    """The brokers that got a request of this kind since tracking began."""
    return {broker for broker, key in mock.requests() if key == api}


@pytest.mark.parametrize("coordinator", BROKERS)
def test_each_request_goes_to_its_broker(mock: MockCluster, coordinator: int) -> None:
    """EndTxn goes to the coordinator of the transactional id, each record to its partition's leader."""
    system = over_tcp({"mode": "v1", "clients": 1, "partitions": 4, "bootstrap": mock.bootstrap})
    mock.move_coordinator(system.names.transactional_id(0), coordinator)
    for number, place in enumerate(system.names.places):
        mock.move_leader(place.topic, place.partition, 1 + number % 3)
    system.brokers.forget()
    mock.start_tracking()
    system.init(0)
    settle(system)
    transaction(system, 0, 0, 1)
    assert reported(system)[-1] == ("end_told", 0)
    assert asked(mock, INIT_PRODUCER_ID) == asked(mock, END_TXN) == {coordinator}
    assert asked(mock, PRODUCE) == {1, 2}


@pytest.mark.parametrize("collapse", [False, True])
def test_who_has_moved_is_found_again(mock: MockCluster, collapse: bool) -> None:
    """The first answer after a move says "not here"; the next request goes to the new place."""
    system = started(mock, collapse=collapse)
    name, place = system.names.transactional_id(0), system.names.places[0]
    transaction(system, 0, 0)
    before = (system.brokers.coordinator(1, name), system.brokers.leader(place.topic, place.partition))
    system.drain_events()
    after = tuple(broker % len(BROKERS) + 1 for broker in before)
    mock.move_coordinator(name, after[0])
    mock.move_leader(place.topic, place.partition, after[1])
    transaction(system, 0, 0)
    answers = reported(system)
    assert answers[-1] == ("end_told", 0)
    assert (("add_taken", 16) in answers) == (not collapse), "NOT_COORDINATOR"
    assert (system.brokers.coordinator(1, name), system.brokers.leader(place.topic, place.partition)) == after


def test_one_broker_of_three_is_down(mock: MockCluster) -> None:
    """Requests for it are not answered; what another broker leads goes on, and new systems are made."""
    system = started(mock)
    name = system.names.transactional_id(0)
    mock.move_coordinator(name, 1)
    for number, place in enumerate(system.names.places):
        mock.move_leader(place.topic, place.partition, 1 + number % 2)
    system.brokers.forget()
    mock.set_down(2)
    system.begin(0)
    system.send(0, 0)
    settle(system)
    assert reported(system)[-1] == ("record_acked", 0)
    system.send(0, 1)
    settle(system)
    assert system.line.unanswered > 0
    mock.set_up(2)
    system.advance(30_000)
    settle(system)
    system.commit(0)
    settle(system)
    assert reported(system)[-1] == ("end_told", 0)
    assert [record for _, record in system.read(0, 1)] == [1]


def test_another_cluster_is_looked_at_anew() -> None:
    """Connections are shared by all systems of a cluster, and not with the next one, wherever that is."""
    with MockCluster() as first:
        one = connect(first.bootstrap, 2)
        assert connect(first.bootstrap, 2) is one
        assert one.is_same()
    assert not one.is_same()
    with pytest.raises(NoAnswer):
        connect(one.bootstrap, 2)
    with MockCluster() as second:
        assert connect(second.bootstrap, 2) is not one


def test_patience_ends() -> None:
    """At least one try, more as long as there is time, and an end."""
    assert list(Patience(0)) == [0]
    before = time.monotonic()
    tries = list(Patience(0.05))
    assert 0.04 < time.monotonic() - before < 2
    assert tries == list(range(len(tries)))
    assert len(tries) > 2


@pytest.mark.parametrize(
    ("timeouts", "asked_ms", "reported_ms"),
    [(False, 60_000, LONG_MS), (True, 60_000, 600), (True, 10, 1), (False, 1_000_000, 1_000_000)],
)
def test_time_outs_asked_for(timeouts: bool, asked_ms: int, reported_ms: int) -> None:
    """As long as brokers allow, or a hundredth; what is too long for a broker is handed on, to be refused."""
    wire = WireConfig(bootstrap="host:1", timeouts=timeouts)
    assert transaction_timeout(Config(), wire, asked_ms) == reported_ms


def test_two_connections_to_a_broker_are_two(mock: MockCluster) -> None:
    """Where two copies of a request wait for their answers, that which is answered is taken out, and not its equal."""
    host, _, port = mock.bootstrap.partition(",")[0].rpartition(":")
    first, second = waiting = [Connection(host, int(port)) for _ in range(2)]
    waiting.remove(second)
    assert waiting[0] is first
    first.close(), second.close()
