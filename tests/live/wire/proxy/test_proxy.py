"""The proxy between clients and librdkafka's mock brokers: it changes addresses and nothing else, until told to."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import Producer
from fencepost.reference_impl.live.proxy.links import Exchange
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, parse_servers
from kio.schema.api_versions.v0.request import ApiVersionsRequest
from kio.schema.find_coordinator.v2.request import FindCoordinatorRequest
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.types import ProducerId, TransactionalId
from kio.static.primitive import i8, i16, i32Timedelta
from mock_cluster import MockCluster

PATIENCE_S = 10.0


class Seen:
    """What passes, in order, as (word, name of the API)."""

    def __init__(self) -> None:
        self.passed: list[tuple[str, str]] = []

    def requested(self, exchange: Exchange) -> None:
        self.passed.append(("asked", exchange.request.name))

    def answered(self, exchange: Exchange, time_us: int) -> None:
        assert time_us >= exchange.time_us
        self.passed.append(("told", exchange.request.name))

    def lost(self, exchange: Exchange, time_us: int) -> None:
        self.passed.append(("lost", exchange.request.name))


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        cluster.create_topic("out", partitions=2)
        yield cluster


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def proxy(mock: MockCluster, seen: Seen) -> Iterator[Proxy]:
    with Proxy(mock.bootstrap, seen, timeout_s=PATIENCE_S) as proxy:
        yield proxy


def connected(proxy: Proxy, client_id: str = "raw") -> Connection:
    """A raw connection through the proxy."""
    ((host, port),) = parse_servers(proxy.bootstrap)
    return Connection(host, port, PATIENCE_S, client_id)


def init(txn_id: str, pair: tuple[int, int] = (-1, -1)) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=TransactionalId(txn_id),
        transaction_timeout=i32Timedelta.parse(timedelta(minutes=1)),
        producer_id=ProducerId(pair[0]),
        producer_epoch=i16(pair[1]),
    )


def a_producer(proxy: Proxy, client_id: str = "one") -> Producer:
    settings = {"bootstrap.servers": proxy.bootstrap, "transactional.id": "t", "client.id": client_id, "linger.ms": 0}
    return Producer(settings)


def test_a_transaction_through_the_proxy(proxy: Proxy, seen: Seen) -> None:
    """A real client commits as it would without the proxy, and everything it asked was seen before its answer."""
    producer = a_producer(proxy)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("out", b"1", partition=0)
    producer.commit_transaction(PATIENCE_S)
    for name in ("InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"):
        assert [word for word, api in seen.passed if api == name] == ["asked", "told"], name


def test_every_address_is_the_proxys() -> None:
    """Metadata and FindCoordinator of three brokers name ports of the proxy, and behind each is the same broker."""
    with MockCluster(brokers=3) as mock, Proxy(mock.bootstrap) as proxy:
        own = set(parse_servers(mock.bootstrap))
        through = {}
        for host, port in parse_servers(proxy.bootstrap):
            with Connection(host, port) as connection:
                metadata = connection.call(
                    MetadataRequest(
                        topics=(), allow_auto_topic_creation=False, include_topic_authorized_operations=False
                    )
                )
                through[port] = {int(each.node_id): (each.host, int(each.port)) for each in metadata.brokers}
                found = connection.call(FindCoordinatorRequest(key="t", key_type=i8(1)))
                assert (found.host, int(found.port)) in through[port].values()
        assert len(through) == 3
        assert {frozenset(each.items()) for each in through.values()} == {frozenset(through[port].items())}
        assert not own & {address for each in through.values() for address in each.values()}


def test_fewer_versions_are_offered(mock: MockCluster) -> None:
    """`at_most` lowers what ApiVersions offers; other APIs are offered as they are, or as far as kio knows them."""
    with Proxy(mock.bootstrap, at_most={"EndTxn": 0}) as proxy, connected(proxy) as through:
        offered = {int(each.api_key): int(each.max_version) for each in through.call(ApiVersionsRequest()).api_keys}
    with Connection(*mock.address) as connection:
        plainly = {int(each.api_key): int(each.max_version) for each in connection.call(ApiVersionsRequest()).api_keys}
    assert offered.pop(26) == 0
    assert plainly.pop(26) == 1
    assert offered == {key: offered[key] for key in plainly}
    assert all(offered[key] <= plainly[key] for key in plainly)


def test_a_request_is_held(proxy: Proxy) -> None:
    """A held request does not reach the broker, nor does the client go on, until it is released."""
    producer = a_producer(proxy)
    producer.init_transactions(PATIENCE_S)
    held = proxy.hold_next("EndTxn", "t")
    producer.begin_transaction()
    producer.produce("out", b"1", partition=0)
    committing = threading.Thread(target=producer.commit_transaction, args=(PATIENCE_S,))
    committing.start()
    assert held.wait().committed
    with pytest.raises(TimeoutError, match=r"no EndTxn t was answered within 0\.1 s"):
        held.answer(0.1)
    assert committing.is_alive()
    held.release()
    assert held.answer().error_code == 0
    committing.join(PATIENCE_S)
    assert not committing.is_alive()


def test_a_held_request_outlives_its_client(proxy: Proxy, seen: Seen) -> None:
    """What was held still reaches the broker when its client is long gone: so requests come late."""
    held = proxy.hold_next("InitProducerId", client="first")
    with connected(proxy, "first") as first:
        first._socket.sendall(first._frame(InitProducerIdRequest, init("t")))
        held.wait()
    with connected(proxy, "second") as second:
        before = second.call(init("t"))
    assert ("lost", "InitProducerId") in until(seen, ("lost", "InitProducerId"))
    held.release()
    assert held.answer().error_code == 0
    assert held.answer().producer_id != before.producer_id, "the mock gives every asker an id of its own"


def until(seen: Seen, wanted: tuple[str, str]) -> list[tuple[str, str]]:
    """What has passed, as soon as `wanted` has."""
    deadline = time.monotonic() + PATIENCE_S
    while wanted not in seen.passed and time.monotonic() < deadline:
        time.sleep(0.01)
    return seen.passed


def test_a_held_request_is_dropped(proxy: Proxy) -> None:
    """A dropped request is never answered, and the next one on the connection is."""
    dropped = proxy.hold_next("InitProducerId")
    with connected(proxy) as through:
        through.timeout_s = 0.3
        through._socket.settimeout(0.3)
        with pytest.raises(WireError):
            through.call(init("t"))
    dropped.drop()
    with connected(proxy) as through:
        assert through.call(init("t")).error_code == 0
    with pytest.raises(TimeoutError):
        dropped.answer(0.05)


def test_an_answer_is_held(proxy: Proxy) -> None:
    """The broker has done what was asked; the client learns it when the answer is released."""
    held = proxy.hold_next_answer("InitProducerId")
    reported = []
    with connected(proxy) as through:
        asking = threading.Thread(target=lambda: reported.append(through.call(init("t"))))
        asking.start()
        known = held.answer()
        assert not reported
        held.release()
        asking.join(PATIENCE_S)
    assert reported == [known]


def test_a_copy_comes_later(proxy: Proxy, seen: Seen) -> None:
    """The broker gets a copy after the original was answered; the client gets one answer only."""
    copied = proxy.copy_next("InitProducerId")
    with connected(proxy) as through:
        first = through.call(init("t"))
        second = copied.send()
        assert first.producer_id != second.producer_id, "the mock gives every asker an id of its own"
    assert [word for word, api in seen.passed if api == "InitProducerId"] == ["asked", "told"]


def test_the_right_request_is_meant(proxy: Proxy) -> None:
    """API, transactional id, client id and predicate all have to fit; a rule meets one request."""
    met = proxy.meet_next("InitProducerId", "b", client="two", where=lambda asked: int(asked.producer_id) == -1)
    with connected(proxy, "one") as one, connected(proxy, "two") as two:
        one.call(init("b"))
        two.call(init("a"))
        assert not met.has_come
        two.call(init("b"))
    assert met.wait().transactional_id == "b"
    assert met.answer().error_code == 0


def test_a_request_is_delayed(proxy: Proxy) -> None:
    """It arrives, and no sooner than told."""
    proxy.delay_next("InitProducerId", 0.2)
    with connected(proxy) as through:
        begun = time.monotonic()
        assert through.call(init("t")).error_code == 0
    assert time.monotonic() - begun >= 0.2


@pytest.mark.parametrize("is_before", [True, False])
def test_a_connection_is_cut(proxy: Proxy, is_before: bool) -> None:
    """The client sees its connection end; cut before, the broker has not answered, and cut after it has."""
    cut = (proxy.cut_before if is_before else proxy.cut_after)("InitProducerId")
    with connected(proxy) as through, pytest.raises(WireError):
        through.call(init("t"))
    if is_before:
        with pytest.raises(TimeoutError):
            cut.answer(0.05)
    else:
        assert cut.answer().error_code == 0
    with connected(proxy) as through:
        assert through.call(init("t")).error_code == 0


def test_a_real_client_survives_cuts(proxy: Proxy) -> None:
    """librdkafka asks again after its connection was cut before and after the broker got EndTxn."""
    producer = a_producer(proxy)
    producer.init_transactions(PATIENCE_S)
    for cut in (proxy.cut_before, proxy.cut_after):
        met = cut("EndTxn")
        producer.begin_transaction()
        producer.produce("out", b"1", partition=0)
        producer.commit_transaction(PATIENCE_S)
        assert met.has_come


def test_what_is_not_kafkas_ends_the_connection(proxy: Proxy) -> None:
    """A frame that cannot be one closes that connection, and no other."""
    with connected(proxy) as through:
        through._socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert through._socket.recv(1) == b""
    with connected(proxy) as through:
        assert through.call(init("t")).error_code == 0


def test_a_broker_that_is_down(proxy: Proxy) -> None:
    """Behind a port without a broker the client's connection ends, in bounded time."""
    with Proxy("127.0.0.1:1") as unreachable, connected(unreachable) as through, pytest.raises(WireError):
        through.call(init("t"))


def test_an_unknown_api_is_refused(proxy: Proxy) -> None:
    """A rule for an API that does not exist would never meet anything."""
    with pytest.raises(ValueError, match="no API is called 'EndTransaction'"):
        proxy.hold_next("EndTransaction")


def test_its_threads_end_with_it(mock: MockCluster) -> None:
    """After the block nothing of the proxy is left, whatever was held."""
    with Proxy(mock.bootstrap) as proxy:
        held = proxy.hold_next("InitProducerId")
        with connected(proxy) as through:
            through._socket.sendall(through._frame(InitProducerIdRequest, init("t")))
            held.wait()
    assert "fencepost-proxy" not in {thread.name for thread in threading.enumerate()}
    proxy.close()


def test_an_unknown_version_of_api_versions(proxy: Proxy) -> None:
    """A client that is newer than kio is answered as old brokers do: error 35, and the versions that are known."""
    with connected(proxy) as through:
        through._socket.sendall(struct.pack(">ihhihc", 11, 18, 99, 7, 1, b"x"))
        (length,) = struct.unpack(">i", through._read(4))
        correlation, error, count, key, low, high = struct.unpack(">ihihhh", through._read(length))
        assert (correlation, error, count, key, low) == (7, 35, 1, 18, 0)
        assert high >= 3
        assert through.call(init("t")).error_code == 0
