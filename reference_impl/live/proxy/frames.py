"""This module reads Kafka's frames as they pass through the proxy: headers at once, bodies only on demand.

A frame is a request or an answer without its four bytes of length. Requests that kio does not know stay bytes.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

LARGEST = 100 * 1024 * 1024  # bytes; Kafka's own default for socket.request.max.bytes
HEADER = struct.Struct(">hhi")  # API key, API version, correlation id
KEYS = {name.replace("_", ""): key for key, name in api_key_map.items()}
NAMES = {key: "".join(part.title() for part in name.split("_")) for key, name in api_key_map.items()}
_UNREAD = object()


def api_key(name: str) -> int:
    """Return the key of an API by Kafka's name, such as `EndTxn`. Raise ValueError for an unknown name."""
    try:
        return KEYS[name.replace("_", "").lower()]
    except KeyError:
        raise ValueError(f"no API is called {name!r}; names are Kafka's, such as EndTxn or InitProducerId") from None


def known_versions(key: int) -> range:
    """Return the versions of an API that kio can read; the range is empty for an API that it does not know."""
    versions = schema_name_map[api_key_map[key]] if key in api_key_map else {}
    return range(min(versions), max(versions) + 1) if versions else range(0)


class FrameBuffer:
    """A `FrameBuffer` cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames that are complete now. Raise ValueError if the stream is not Kafka's."""
        self._bytes += data
        while len(self._bytes) >= 4:
            (length,) = struct.unpack_from(">i", self._bytes)
            if not 4 <= length <= LARGEST:
                raise ValueError(f"a frame of {length} bytes is not Kafka's")
            if len(self._bytes) < 4 + length:
                return
            frame = bytes(self._bytes[4 : 4 + length])
            del self._bytes[: 4 + length]
            yield frame


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


@dataclass(slots=True)
class Request:
    """A `Request` is one request as the client sent it; ``payload`` is None where kio cannot read it."""

    frame: bytes
    api_key: int
    version: int
    correlation_id: int
    client_id: str
    _payload: Any = field(default=_UNREAD, repr=False)

    @classmethod
    def read(cls, frame: bytes) -> Request:
        """Read the header. Raise ValueError if there is none."""
        if len(frame) < 10:
            raise ValueError(f"a request of {len(frame)} bytes is not Kafka's")
        key, version, correlation_id = HEADER.unpack_from(frame)
        (length,) = struct.unpack_from(">h", frame, 8)
        client_id = frame[10 : 10 + length].decode(errors="replace") if length > 0 else ""
        return cls(frame, key, version, correlation_id, client_id)

    @property
    def name(self) -> str:
        return NAMES.get(self.api_key, f"api {self.api_key}")

    @property
    def is_known(self) -> bool:
        return self.version in known_versions(self.api_key)

    @property
    def payload(self) -> Any:
        if self._payload is _UNREAD:
            self._payload = None
            if self.is_known:
                schema = load_request_schema(self.api_key, self.version)
                try:
                    _, size = entity_reader(schema.__header_schema__)(self.frame, 0)
                    self._payload, _ = entity_reader(schema)(self.frame, size)
                except (SerialError, ValueError):
                    self._payload = None
        return self._payload

    @property
    def transactional_id(self) -> str | None:
        for name in ("transactional_id", "v3_and_below_transactional_id"):
            if (found := getattr(self.payload, name, None)) is not None:
                return str(found)
        return None

    def renumbered(self, correlation_id: int) -> bytes:
        return self.frame[:4] + struct.pack(">i", correlation_id) + self.frame[8:]


def correlation_of(frame: bytes) -> int:
    (number,) = struct.unpack_from(">i", frame)
    return int(number)


def decoded(request: Request, frame: bytes) -> Any:
    if not request.is_known:
        return None
    schema = load_response_schema(request.api_key, request.version)
    try:
        _, size = entity_reader(schema.__header_schema__)(frame, 0)
        return entity_reader(schema)(frame, size)[0]
    except (SerialError, ValueError):
        return None


def encoded(correlation_id: int, response: Any) -> bytes:
    header = type(response).__header_schema__
    out = io.BytesIO()
    entity_writer(header)(out, header(correlation_id=correlation_id))
    entity_writer(type(response))(out, response)
    return out.getvalue()
