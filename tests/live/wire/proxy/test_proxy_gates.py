"""The proxy forges outcomes: a request is held by itself, refused without the broker, or its answer is replaced."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fake_kafka import FakeKafka
from fencepost.reference_impl.live.proxy.forging import forged
from fencepost.reference_impl.live.proxy.frames import Request, decoded
from fencepost.reference_impl.live.proxy.links import Exchange, Link
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.proxy.rules import Gated, Held, Meant
from fencepost.reference_impl.live.tcp.connection import Connection, parse_servers
from fencepost.reference_impl.live.tcp.reading import build, milliseconds

API_VERSIONS = 18
DENIED = 53
PATIENCE_S = 10.0


@pytest.fixture
def kafka() -> Iterator[FakeKafka]:
    with FakeKafka() as fake:
        yield fake


@pytest.fixture
def proxy(kafka: FakeKafka) -> Iterator[Proxy]:
    with Proxy(kafka.bootstrap, timeout_s=PATIENCE_S) as through:
        yield through


def init(name: str = "t") -> Any:
    return build(
        "init_producer_id", 4, transactional_id=name, transaction_timeout=milliseconds(60_000), producer_id=-1,
        producer_epoch=-1,
    )  # fmt: skip


class Client(Connection):
    """Sends several requests at once over one connection, and reads their answers in order."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(*parse_servers(proxy.bootstrap)[0], PATIENCE_S)
        self.frames: list[bytes] = []

    def send(self, *names: str) -> None:
        for number, name in enumerate(names, len(self.frames)):
            frame = self._frame(type(init()), init(name))
            frame = frame[:8] + struct.pack(">i", 1_000 + number) + frame[12:]
            self.frames.append(frame[4:])
            self._socket.sendall(frame)

    def error(self) -> tuple[int, int]:
        """The position of the request that is answered next, and the error code."""
        (length,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        frame = self._socket.recv(length, socket.MSG_WAITALL)
        number = struct.unpack_from(">i", frame)[0] - 1_000
        return number, int(decoded(Request.read(self.frames[number]), frame).error_code)


class Gate:
    """Holds every InitProducerId."""

    def __init__(self, proxy: Proxy) -> None:
        self.held: list[Gated] = []
        self.came = threading.Condition()
        self.proxy, proxy.gate = proxy, self.hold

    def hold(self, exchange: Exchange) -> Gated | None:
        if exchange.request.name != "InitProducerId":
            return None
        with self.came:
            self.held.append(self.proxy.gated(exchange))
            self.came.notify_all()
            return self.held[-1]

    def wait(self, count: int) -> list[Gated]:
        with self.came:
            assert self.came.wait_for(lambda: len(self.held) >= count, PATIENCE_S)
        for each in self.held:
            each.wait()
        return self.held


def test_requests_of_one_connection_are_held_one_by_one(kafka: FakeKafka, proxy: Proxy) -> None:
    """Only the first is next; one that was released before it passes right behind it, and the third stays."""
    gate = Gate(proxy)
    with Client(proxy) as client:
        client.send("a", "b", "c")
        first, second, third = gate.wait(3)
        assert [each.is_next for each in (first, second, third)] == [True, False, False]
        second.release()
        assert not kafka.epochs
        first.release()
        assert [client.error(), client.error()] == [(0, 0), (1, 0)]
        assert third.is_next
        assert set(kafka.epochs) == {"a", "b"}
        third.release()
        assert client.error() == (2, 0)


def test_a_refused_request_never_arrives(kafka: FakeKafka, proxy: Proxy) -> None:
    gate = Gate(proxy)
    with Client(proxy) as client:
        client.send("a", "b")
        first, second = gate.wait(2)
        first.refuse(DENIED)
        second.release()
        assert [client.error(), client.error()] == [(0, DENIED), (1, 0)]
        assert int(first.answer().error_code) == DENIED
    assert set(kafka.epochs) == {"b"}


def test_a_request_that_the_proxy_answers_itself_is_over(kafka: FakeKafka, proxy: Proxy) -> None:
    """A client that is newer than the proxy can read is refused, and no broker answers that."""
    over: list[bytes | None] = []
    done = threading.Event()

    def gate(exchange: Exchange) -> None:
        exchange.answered_by.append(lambda answer: (over.append(answer), done.set()))

    proxy.gate = gate
    with Client(proxy) as client:
        client._socket.sendall(struct.pack(">ihhih", 10, API_VERSIONS, 99, 7, -1))
        assert done.wait(PATIENCE_S)
    assert over == [None]


def test_what_a_gone_client_had_asked_is_over(kafka: FakeKafka, proxy: Proxy) -> None:
    """What is held stays, and what waits behind it is dropped."""
    gate, over = Gate(proxy), threading.Event()
    hold = proxy.gate

    def noted(exchange: Exchange) -> Gated | None:
        if exchange.request.name != "InitProducerId":
            exchange.answered_by.append(lambda answer: over.set())
        return hold(exchange)

    proxy.gate = noted
    with Client(proxy) as client:
        client.send("a")
        client._socket.sendall(struct.pack(">ihhih", 10, API_VERSIONS, 0, 8, -1))
        (held,) = gate.wait(1)
    assert over.wait(PATIENCE_S)
    held.release()
    assert int(held.answer().error_code) == 0


def test_a_refusal_waits_for_the_answers_before_it(kafka: FakeKafka, proxy: Proxy) -> None:
    """Clients take an answer for that to their oldest request."""
    slow = threading.Event()

    def late(api: str, version: int, answer: Any) -> Any:
        assert api != "init_producer_id" or slow.wait(PATIENCE_S)
        return answer

    kafka.mangle = late
    gate = Gate(proxy)
    with Client(proxy) as client:
        client.send("a", "b")
        first, second = gate.wait(2)
        first.release()
        second.refuse(DENIED)
        assert int(second.answer().error_code) == DENIED
        slow.set()
        assert [client.error(), client.error()] == [(0, 0), (1, DENIED)]


def test_a_lost_answer_is_replaced(kafka: FakeKafka, proxy: Proxy) -> None:
    """The broker has done what its client takes for failed."""
    gate = Gate(proxy)
    with Client(proxy) as client:
        client.send("a")
        (held,) = gate.wait(1)
        held.lose(DENIED)
        assert client.error() == (0, DENIED)
        assert int(held.answer().error_code) == 0
    assert set(kafka.epochs) == {"a"}


def test_the_next_request_is_refused_or_lost(kafka: FakeKafka, proxy: Proxy) -> None:
    refused, lost = proxy.refuse_next("InitProducerId", DENIED, "a"), proxy.lose_next("InitProducerId", DENIED, "b")
    with Client(proxy) as client:
        client.send("a", "b", "a", "b")
        assert [client.error()[1] for _ in range(4)] == [DENIED, DENIED, 0, 0]
    assert (int(refused.answer().error_code), int(lost.answer().error_code)) == (DENIED, 0)


def test_a_held_request_of_a_gone_client_can_arrive(kafka: FakeKafka, proxy: Proxy) -> None:
    """A request of a worker that was killed may be on its way."""
    gate = Gate(proxy)
    with Client(proxy) as client:
        client.send("a")
        (held,) = gate.wait(1)
    held.release()
    assert int(held.answer().error_code) == 0
    assert set(kafka.epochs) == {"a"}


def test_a_client_that_goes_before_the_broker_is_connected_leaves_what_is_held() -> None:
    """Its first request arrives as soon as it is connected, and rules are looked at when the broker is too."""
    for is_held in (True, False):
        decisions = SimpleNamespace(on_request=lambda *_, is_held=is_held: not is_held, closed=lambda *_: None)
        link = Link(0, decisions, ("127.0.0.1", 1))  # type: ignore[arg-type]
        link.asked.extend(Exchange(number, 0, Request.read(b"\0" * 10), 0) for number in range(2))
        link.client_lost()
        assert [each.number for each in link.asked] == [0] * is_held


@pytest.mark.parametrize("version", [9, 11, 13])
def test_a_produce_is_refused_partition_by_partition(version: int) -> None:
    """A client that finds no partition of its own in the answer would take the request for successful, or wait."""
    partition = build("produce", version, "PartitionProduceData", index=2, records=None)
    topic = {"partition_data": (partition,), "name": "out", "topic_id": None}
    known = ("name", "topic_id")
    request = build(
        "produce", version, transactional_id="t", acks=-1, timeout=milliseconds(1),
        topic_data=(build("produce", version, "TopicProduceData", known, **topic),),
    )  # fmt: skip
    with FakeKafka() as kafka, Connection(*parse_servers(kafka.bootstrap)[0]) as connection:
        read = Request.read(connection._frame(type(request), request)[4:])
    (answered,) = decoded(read, forged(read, 29)).responses
    assert [(int(p.index), int(p.error_code), int(p.base_offset)) for p in answered.partition_responses] == [
        (2, 29, -1)
    ]


def test_what_cannot_be_read_cannot_be_forged() -> None:
    with pytest.raises(ValueError, match="cannot be answered, as kio does not know it"):
        forged(Request(b"", 22, 99, 1, "c"), DENIED)


def test_what_is_released_before_the_broker_is_connected_arrives_without_its_client() -> None:
    """The loop may learn of the release before it learns that the client is gone, or after it."""
    for is_gated in (True, False):
        for steps in (("_release", "client_lost"), ("client_lost", "_release")):
            proxy = SimpleNamespace(timeout_s=PATIENCE_S)
            rule = (Gated if is_gated else Held)(proxy, Meant("InitProducerId"))  # type: ignore[arg-type]
            decisions = SimpleNamespace(on_request=lambda *_, rule=rule: rule.at_request(), closed=lambda *_: None)
            link = Link(0, decisions, ("127.0.0.1", 1))  # type: ignore[arg-type]
            link.asked.extend(Exchange(number, 0, Request.read(b"\0" * 10), 0) for number in range(2))
            rule.meet(link, link.asked[0])
            for step in steps:
                getattr(link if step == "client_lost" else rule, step)()
            sent: list[bytes] = []
            link.broker = SimpleNamespace(write=sent.append)  # type: ignore[assignment]
            link.push()
            assert sent == [b"\0" * 10], (is_gated, steps)
