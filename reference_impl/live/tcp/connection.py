"""Speaks Kafka's protocol to one broker over one TCP connection: what the recorder needs, and no more.

`Connection.call(request)` sends any request of `kio.schema` and returns its response; `init_producer_id` and
`find_brokers` are the two questions asked most. A connection is for one thread; it has no retries and no state beyond
the socket, so that what was asked and what was answered can be recorded one to one.
"""

from __future__ import annotations

import io
import socket
import struct
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

from fencepost.reference_impl.live.tcp.mended import MENDED
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.types import ProducerId
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i16, i32, i32Timedelta

LARGEST_RESPONSE = 100 * 1024 * 1024  # bytes; Kafka's own default for socket.request.max.bytes


class WireError(Exception):
    """No answer was had: the broker cannot be reached, closed the connection, was too slow, or did not speak Kafka.

    The request may nevertheless have been carried out.
    """


class NoAnswer(WireError):
    """The connection could not be had, broke, or was silent for too long: the broker is away, or not as it should be.

    A `WireError` that is not this one is an answer that could not be understood.
    """


class Broker(NamedTuple):
    """Where a broker listens."""

    id: int
    host: str
    port: int


class Given(NamedTuple):
    """The answer to one InitProducerId: a Kafka error code (0: none) and the id (-1 with an error)."""

    error: int
    producer_id: int


@dataclass
class Connection:
    """One connection; `timeout_s` bounds connecting and each wait for bytes.

    After a WireError the connection is closed: a late answer must never be taken for the next request's.
    """

    host: str
    port: int
    timeout_s: float = 5.0
    client_id: str = "fencepost"

    def __post_init__(self) -> None:
        self._correlation = 0
        try:
            self._socket = socket.create_connection((self.host, self.port), self.timeout_s)
        except OSError as error:
            raise NoAnswer(f"{self.host}:{self.port}: cannot connect: {error}; is the broker running?") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, request: Any) -> Any:
        """Send a request class of `kio.schema.<api>.v<n>.request` and return the response of the same version."""
        kind = type(request)
        self._correlation += 1
        try:
            self._socket.sendall(self._frame(kind, request))
            (length,) = struct.unpack(">i", self._read(4))
            if not 4 <= length <= LARGEST_RESPONSE:
                raise ValueError(f"a response of {length} bytes is not Kafka's")
            return self._decode(kind, self._read(length))
        except (OSError, ValueError, SerialError) as error:
            self.close()
            failure = NoAnswer if isinstance(error, OSError) else WireError
            raise failure(f"{self.host}:{self.port}: no answer to {kind.__name__}: {error or 'timed out'}") from error

    def close(self) -> None:
        """Close the socket; safe to repeat."""
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _frame(self, kind: Any, request: Any) -> bytes:
        header = kind.__header_schema__
        fields: dict[str, Any] = {
            "request_api_key": kind.__api_key__,
            "request_api_version": kind.__version__,
            "correlation_id": i32(self._correlation),
        }
        if "client_id" in header.__dataclass_fields__:
            fields["client_id"] = self.client_id
        body = io.BytesIO()
        entity_writer(header)(body, header(**fields))
        entity_writer(kind)(body, request)
        return struct.pack(">i", body.tell()) + body.getvalue()

    def _decode(self, kind: Any, payload: bytes) -> Any:
        response = _response_to(kind)
        header, offset = entity_reader(response.__header_schema__)(payload, 0)
        if header.correlation_id != self._correlation:
            raise ValueError(f"the answer is to request {header.correlation_id}, not to {self._correlation}")
        return entity_reader(response)(payload, offset)[0]

    def _read(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise ConnectionResetError("the broker closed the connection")
            parts += part
        return bytes(parts)


@cache
def _response_to(kind: Any) -> Any:
    module = import_module(kind.__module__.rpartition(".")[0] + ".response")
    return MENDED.get(kind) or getattr(module, kind.__name__.replace("Request", "Response"))


def init_producer_id(connection: Connection) -> Given:
    """Ask for a producer id without a transactional id: any broker answers, from the block that it holds."""
    answer = connection.call(
        InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout=i32Timedelta.parse(timedelta(minutes=1)),
            producer_id=ProducerId(-1),
            producer_epoch=i16(-1),
        )
    )
    return Given(int(answer.error_code), int(answer.producer_id))


def find_brokers(bootstrap: str, timeout_s: float = 5.0) -> list[Broker]:
    """The live brokers that the first reachable server of `host:port,host:port…` knows, by ascending id.

    Raises ValueError for a malformed list, WireError when none of the servers answers.
    """
    failures = []
    for host, port in parse_servers(bootstrap):
        try:
            with Connection(host, port, timeout_s) as connection:
                answer = connection.call(
                    MetadataRequest(
                        topics=(), allow_auto_topic_creation=False, include_topic_authorized_operations=False
                    )
                )
                return sorted(Broker(int(each.node_id), each.host, int(each.port)) for each in answer.brokers)
        except WireError as error:
            failures.append(str(error))
    raise NoAnswer("no bootstrap server answered: " + "; ".join(failures))


def parse_servers(bootstrap: str) -> list[tuple[str, int]]:
    """`host:port,host:port…` as pairs."""
    servers = []
    for server in bootstrap.split(","):
        host, colon, port = server.strip().rpartition(":")
        if not (colon and host and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"bootstrap servers {bootstrap!r}: {server.strip()!r} is not host:port")
        servers.append((host.strip("[]"), int(port)))
    return servers
