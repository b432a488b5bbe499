"""The connection and the collector against small servers of this test: right answers, and every way to have none."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from fencepost.proofs.recording import UNANSWERED, Connection, WireError, collect_producer_ids, init_producer_id
from fencepost.reference_impl.live.tcp.connection import parse_servers
from kio.schema.errors import ErrorCode
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse
from kio.schema.metadata.v12.response import MetadataResponse, MetadataResponseBroker
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import BrokerId, ProducerId
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta

METADATA, INIT_PRODUCER_ID = 3, 22
Answer = Callable[[int, int, int], bytes | None]  # (api key, correlation id, port) -> bytes to send; None: hang up
NO_WAIT = i32Timedelta.parse(timedelta(0))


@contextmanager
def server(answer: Answer) -> Iterator[int]:
    """Serve on a free port of 127.0.0.1 until the block ends; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve(client: socket.socket) -> None:
        with client, suppress(ConnectionError):
            while head := client.recv(4, socket.MSG_WAITALL):
                request = client.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL)
                key, _, correlation = struct.unpack_from(">hhi", request)
                reported = answer(key, correlation, port)
                if reported is None:
                    return
                client.sendall(reported)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield port
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def frame(correlation: int, response: Any) -> bytes:
    """A response as it goes over the wire."""
    out = io.BytesIO()
    entity_writer(ResponseHeader)(out, ResponseHeader(correlation_id=i32(correlation)))
    entity_writer(type(response))(out, response)
    return struct.pack(">i", out.tell()) + out.getvalue()


def given(correlation: int, error: ErrorCode, producer_id: int) -> bytes:
    """The answer to an InitProducerId."""
    response = InitProducerIdResponse(
        throttle_time=NO_WAIT, error_code=error, producer_id=ProducerId(producer_id), producer_epoch=i16(0)
    )
    return frame(correlation, response)


class Counting:
    """A broker that gives 0, 1, 2 …, refuses every fifth request with 14 and hangs up at every seventh."""

    def __init__(self) -> None:
        self.lock, self.asked, self.ids = threading.Lock(), 0, iter(range(10**6))

    def __call__(self, key: int, correlation: int, port: int) -> bytes | None:
        if key == METADATA:
            broker = MetadataResponseBroker(node_id=BrokerId(1), host="127.0.0.1", port=i32(port), rack=None)
            return frame(correlation, MetadataResponse(
                throttle_time=NO_WAIT, brokers=(broker,), cluster_id="c", controller_id=BrokerId(1), topics=()
            ))  # fmt: skip
        assert key == INIT_PRODUCER_ID
        with self.lock:
            self.asked += 1
            if self.asked % 7 == 0:
                return None
            if self.asked % 5 == 0:
                return given(correlation, ErrorCode.coordinator_load_in_progress, -1)
            return given(correlation, ErrorCode.none, next(self.ids))


def test_answers_and_refusals_are_told_apart() -> None:
    """An id comes with error 0; an error code comes with -1."""
    answers = iter([(ErrorCode.none, 4711), (ErrorCode.coordinator_load_in_progress, -1)])
    with server(lambda _, correlation, __: given(correlation, *next(answers))) as port:
        connection = Connection("127.0.0.1", port)
        assert init_producer_id(connection) == (0, 4711)
        assert init_producer_id(connection) == (14, -1)
        connection.close()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda *_: None, "the broker closed the connection"),
        (lambda *_: b"", "timed out"),
        (lambda *_: b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP, not Kafka"),
        (lambda _, correlation, __: given(correlation + 1, ErrorCode.none, 1), "the answer is to request 2, not to 1"),
        (lambda *_: struct.pack(">ii", 6, 1) + b"\x00\x00", "no answer that can be read to InitProducerIdRequest"),
    ],
    ids=["closed", "silent", "not-kafka", "another-request", "too-short"],
)
def test_no_answer_is_a_wire_error(answer: Answer, why: str) -> None:
    """A broker that hangs up, stays silent or talks nonsense is told by its address; the connection is then closed."""
    with server(answer) as port:
        connection = Connection("127.0.0.1", port, timeout_s=0.2)
        with pytest.raises(WireError, match=f"127.0.0.1:{port}: .*{why}"):
            init_producer_id(connection)
        with pytest.raises(WireError):
            init_producer_id(connection)


def test_nobody_there_is_a_wire_error() -> None:
    """A refused connection says so, and asks the question that helps."""
    with server(lambda *_: None) as port:
        pass
    with pytest.raises(WireError, match=r"cannot connect: .*; is the broker running\?"):
        Connection("127.0.0.1", port)
    with pytest.raises(WireError, match="no bootstrap server answered"):
        collect_producer_ids(f"127.0.0.1:{port}", 1)


def test_the_collector_keeps_every_answer_in_order() -> None:
    """300 answered requests of three threads: each id once, in the order of its thread; lost ones do not count."""
    broker = Counting()
    with server(broker) as port:
        seen = collect_producer_ids(f"127.0.0.1:{port}", 300, 3, seed=5)
    answered = [each for each in seen if each.error != UNANSWERED]
    assert len(answered) == 300
    assert [each.thread for each in seen] == sorted(each.thread for each in seen)
    assert {each.error for each in seen} == {0, 14, UNANSWERED}
    ids = [each.producer_id for each in answered if each.error == 0]
    assert len(ids) == len(set(ids))
    for thread in range(3):
        mine = [each for each in seen if each.thread == thread]
        assert [each.time_us for each in mine] == sorted(each.time_us for each in mine)
        assert sum(each.error != UNANSWERED for each in mine) == 100


def test_the_collector_goes_on_until_it_is_told() -> None:
    """With `until`, the requests are a least number; and a deadline ends with the counts."""
    until = threading.Event()
    with server(Counting()) as port:
        threading.Timer(0.3, until.set).start()
        assert len(collect_producer_ids(f"127.0.0.1:{port}", 1, 2, until=until)) > 10
        with pytest.raises(TimeoutError, match=r"of 1000000 requests answered in 0 s; 2 threads short"):
            collect_producer_ids(f"127.0.0.1:{port}", 1_000_000, 2, deadline_s=0.2)
    with pytest.raises(ValueError, match="must be at least 1"):
        collect_producer_ids("127.0.0.1:1", 0)


@pytest.mark.parametrize("servers", ["", "localhost", ":9092", "host:port", "a:1,b:70000"])
def test_malformed_bootstrap_servers_are_named(servers: str) -> None:
    """What is not host:port is told as it was given."""
    with pytest.raises(ValueError, match="is not host:port"):
        parse_servers(servers)
