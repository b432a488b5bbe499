"""This module implements Kafka's protocol with one broker over one TCP connection, as far as the recorder needs it.

`Connection.call(request)` sends any request of `kio.schema` and returns its response; `init_producer_id` and
`find_brokers` are the two most frequent requests. A connection is for one thread. It has no retries and no state but
the socket, so that requests and answers can be recorded one to one.
"""

from __future__ import annotations

import io
import math
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.tcp.decoding import MENDED, decode
from fencepost.reference_impl.live.tcp.security import Security
from kio.schema.api_versions.v0.response import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.metadata.v12.request import MetadataRequest
from kio.schema.sasl_authenticate.v1.request import SaslAuthenticateRequest
from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest
from kio.schema.types import ProducerId
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta

LARGEST_RESPONSE = 100 * 1024 * 1024  # bytes; Kafka's own default for socket.request.max.bytes
API_VERSIONS, UNSUPPORTED_VERSION = 18, 35
UNSUPPORTED = struct.pack(">h", UNSUPPORTED_VERSION)
MOST_PRINTED = 64  # bytes of an answer in a message
HTTP, TLS_ALERT, TLS_HANDSHAKE = b"HTTP", 0x15, 0x16
ASK_FOR = "name a file with --client-config that asks for"
EARLY = 0.85  # of a session: a broker closes the connection of one that is over
PLAINTEXT = Security()
HTTP_REQUEST, PROBED_S = b"GET / HTTP/1.0\r\n\r\n", 1.0


class WireError(Exception):
    """A `WireError` is raised when a request has no valid answer: the broker cannot be reached, closed the connection,
    was too slow, or did not speak Kafka's protocol.

    The request may nevertheless have been carried out.
    """


class NoAnswer(WireError):
    """A `NoAnswer` is raised when the connection could not be made, broke, or was silent for too long, because the
    broker is away or faulty.

    A `WireError` that is not a `NoAnswer` is about an answer that could not be understood.
    """


class Denied(WireError):
    """A `Denied` is raised where broker and client do not agree on TLS or SASL; asking again does not help."""


class Unreadable(WireError):
    """An `Unreadable` is raised, with request and answer in one line, for an answer that cannot be read."""


class Broker(NamedTuple):
    """A `Broker` is the address on which a broker listens."""

    id: int
    host: str
    port: int


class Given(NamedTuple):
    """A `Given` is the answer to one InitProducerId: a Kafka error code (0: none) and the id (-1 with an error)."""

    error: int
    producer_id: int


@dataclass(eq=False)  # two connections to one broker are two
class Connection:
    """A `Connection` is one connection to a broker; ``timeout_s`` bounds connecting and each wait for bytes. Raise
    NoAnswer where there is no broker, and `Denied` where there is, and TLS or SASL fail.

    After a WireError the connection is closed, because a late answer must never be taken for the next request's.
    """

    host: str
    port: int
    timeout_s: float = 5.0
    client_id: str = "fencepost"
    security: Security = PLAINTEXT

    def __post_init__(self) -> None:
        self._correlation = 0
        self._session_ends = math.inf
        try:
            self._socket = socket.create_connection((self.host, self.port), self.timeout_s)
        except OSError as error:
            raise NoAnswer(f"{self.host}:{self.port}: cannot connect: {error}; is the broker running?") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.security.tls is not None:
            self._wrap(self.security.tls)
        if self.security.mechanism:
            self._authenticate()

    def _wrap(self, tls: ssl.SSLContext) -> None:
        try:
            self._socket = tls.wrap_socket(self._socket, server_hostname=self.host)
        except OSError as error:
            self.close()
            where = f"{self.host}:{self.port}"
            if isinstance(error, ssl.SSLCertVerificationError):
                todo = "ssl.truststore.location names the authorities that are trusted"
                if "mismatch" in error.verify_message:
                    todo = "an empty ssl.endpoint.identification.algorithm turns this check off"
                raise Denied(f"{where}: its certificate is not accepted: {error.verify_message}; {todo}") from error
            kind = NoAnswer if isinstance(error, TimeoutError | ConnectionError | ssl.SSLEOFError) else Denied
            why = getattr(error, "reason", "") or error
            raise kind(f"{where}: no TLS handshake: {why}; is its listener one with TLS?") from error

    def _authenticate(self) -> None:
        """Log in, and again before the session ends (KIP-368)."""
        self._session_ends = math.inf
        where, mechanism, began = f"{self.host}:{self.port}", self.security.mechanism, time.monotonic()
        offer = self.call(SaslHandshakeRequest(mechanism=mechanism))
        offered = ", ".join(offer.mechanisms) or "nothing, since its listener asks for no login"
        why = f"it offers {offered}" if int(offer.error_code) else ""
        exchange = self.security.exchange()
        message: bytes | None = None if why else next(exchange)
        while message is not None:
            answer = self.call(SaslAuthenticateRequest(auth_bytes=message))
            if int(answer.error_code):
                why, message = answer.error_message or error_text(answer.error_code), None
            else:
                try:
                    message = exchange.send(bytes(answer.auth_bytes))
                except StopIteration:
                    lifetime_s = answer.session_lifetime.total_seconds()
                    self._session_ends = began + EARLY * lifetime_s if lifetime_s else math.inf
                    return
                except ValueError as error:
                    why, message = str(error), None
        self.close()
        raise Denied(f"{where}: no login with SASL {mechanism} as {self.security.username!r}: {why}")

    def call(self, request: Any) -> Any:
        """Send a request class of `kio.schema.<api>.v<n>.request` and return the response of the same version."""
        self.send(request)
        return self.receive(type(request))

    def send(self, request: Any) -> None:
        """Send a request, whose answer is to be received before the next one is sent."""
        if time.monotonic() > self._session_ends:
            self._authenticate()
        self._correlation += 1
        with self._closed_on_failure(type(request), []):
            self._socket.sendall(self._frame(type(request), request))

    def is_answered(self) -> bool:
        """Return whether bytes have arrived, so that `receive` does not wait long."""
        return bool(answered([self], 0))

    @property
    def is_buffered(self) -> bool:
        """Whether bytes have arrived that TLS has taken from the socket already."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self, kind: Any) -> Any:
        received: list[bytearray] = []
        with self._closed_on_failure(kind, received):
            start = bytes(self._read(4))
            if other := other_protocol(start):
                todo = "name the port of a Kafka listener" + (f", or {ASK_FOR} TLS" if other == "TLS" else "")
                raise WireError(f"{self.host}:{self.port}: speaks {other}, not Kafka; {todo}")
            (length,) = struct.unpack(">i", start)
            if not 4 <= length <= LARGEST_RESPONSE:
                raise ValueError(f"a response of {length} bytes is not Kafka's")
            received.append(self._read(length))
            return self._decode(kind, received[0])

    @contextmanager
    def _closed_on_failure(self, kind: Any, received: list[bytearray]) -> Iterator[None]:
        where = f"{self.host}:{self.port}"
        try:
            yield
        except OSError as error:
            self.close()
            if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
                todo = "; ssl.keystore.location names the client's certificate" if "CERT" in error.reason else ""
                raise Denied(f"{where}: no answer to {kind.__name__}: {error.reason}{todo}") from error
            plain = isinstance(error, ConnectionError) and self.security == PLAINTEXT
            todo = f"; if its listener asks for TLS or SASL, {ASK_FOR} them" if plain else ""
            raise NoAnswer(f"{where}: no answer to {kind.__name__}: {error or 'timed out'}{todo}") from error
        except ValueError as error:
            self.close()
            payload = b"".join(received)
            text = f"{payload[:MOST_PRINTED].hex()}{'…' if len(payload) > MOST_PRINTED else ''}" or "nothing"
            version = int(kind.__version__)
            raise Unreadable(
                f"{where}: no answer that can be read to {kind.__name__} version {version}: {error}; it is {text}"
            ) from error
        except BaseException:
            self.close()  # what was sent is answered, perhaps, and that must not be taken for another answer
            raise

    def close(self) -> None:
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

    def _decode(self, kind: Any, payload: bytearray) -> Any:
        response = _response_to(kind)
        header, offset = decode(response.__header_schema__, payload)
        if header.correlation_id != self._correlation:
            raise ValueError(f"the answer is to request {header.correlation_id}, not to {self._correlation}")
        if int(kind.__api_key__) == API_VERSIONS and payload[offset : offset + 2] == UNSUPPORTED:
            # The rest is of version 0, whichever was asked for (KIP-511), or of no version (librdkafka's mock), so it
            # is ignored.
            return ApiVersionsResponse(error_code=ErrorCode(UNSUPPORTED_VERSION), api_keys=())
        return decode(response, payload, offset)[0]  # bytes left over are not looked at, as in Kafka's clients

    def _read(self, count: int) -> bytearray:
        found, at = bytearray(count), 0
        with memoryview(found) as view:
            while at < count:
                size = self._socket.recv_into(view[at:])
                if not size:
                    raise ConnectionResetError("the broker closed the connection")
                at += size
        return found


@cache
def _response_to(kind: Any) -> Any:
    if kind in MENDED:
        return MENDED[kind]
    module = import_module(kind.__module__.rpartition(".")[0] + ".response")
    return getattr(module, kind.__name__.replace("Request", "Response"))


def answered(connections: Iterable[Connection], wait_s: float) -> list[Connection]:
    """Return the connections on which bytes have arrived, after a wait for the first of them."""
    buffered = [each for each in connections if each.is_buffered]
    return buffered or select.select(list(connections), [], [], wait_s)[0]


def init_producer_id(connection: Connection) -> Given:
    """Ask for a producer id without a transactional id; any broker answers this from the block that it holds."""
    answer = connection.call(
        InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout=i32Timedelta.parse(timedelta(minutes=1)),
            producer_id=ProducerId(-1),
            producer_epoch=i16(-1),
        )
    )
    return Given(int(answer.error_code), int(answer.producer_id))


def other_protocol(start: bytes) -> str:
    if start == HTTP:
        return "HTTP"
    return "TLS" if start[:1] in (bytes([TLS_ALERT]), bytes([TLS_HANDSHAKE])) and start[1:2] == b"\x03" else ""


def speaks_http(host: str, port: int) -> bool:
    """Return whether a server answers HTTP, for a server that waits silently for the end of a line."""
    try:
        with socket.create_connection((host, port), PROBED_S) as probe:
            probe.sendall(HTTP_REQUEST)
            return probe.recv(len(HTTP)) == HTTP
    except OSError:
        return False


def find_brokers(bootstrap: str, timeout_s: float = 5.0, security: Security = PLAINTEXT) -> list[Broker]:
    """Return the live brokers that the first reachable server of `host:port,host:port…` knows, by ascending id.

    Raise ValueError for a malformed list, WireError if none of the servers answers.
    """
    request = MetadataRequest(topics=(), allow_auto_topic_creation=False, include_topic_authorized_operations=False)
    answer = ask_bootstrap(bootstrap, request, timeout_s, security)
    return sorted(Broker(int(each.node_id), each.host, int(each.port)) for each in answer.brokers)


def ask_bootstrap(bootstrap: str, request: Any, timeout_s: float, security: Security = PLAINTEXT) -> Any:
    """Return the answer of the first server that gives one; the exceptions are those of `find_brokers`."""
    failures = []
    for host, port in parse_servers(bootstrap):
        try:
            with Connection(host, port, timeout_s, security=security) as connection:
                return connection.call(request)
        except Denied:
            raise
        except NoAnswer as error:
            http = f"{host}:{port}: speaks HTTP, not Kafka; name the port of a Kafka listener"
            failures.append(http if speaks_http(host, port) else str(error))
        except WireError as error:
            failures.append(str(error))
    raise NoAnswer("no bootstrap server answered: " + "; ".join(failures))


def parse_servers(bootstrap: str) -> list[tuple[str, int]]:
    servers = []
    for server in bootstrap.split(","):
        host, colon, port = server.strip().rpartition(":")
        if not (colon and host and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(f"bootstrap servers {bootstrap!r}: {server.strip()!r} is not host:port")
        servers.append((host.strip("[]"), int(port)))
    return servers
