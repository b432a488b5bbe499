"""This module reads a response by kio's schema, whatever its bytes are: it returns the response, or raises a ValueError
that states what is wrong.

    decode(DescribeTransactionsResponse, payload, offset)     # (the response, where it ends)

kio's own reader is not used for what brokers send, for three reasons. It refuses tagged fields that it does not know,
which Kafka's protocol asks every reader to skip (KIP-482); it refuses error codes that are newer than it; and where a
length in front of an array is too large for the memory, it ends the process. This module skips such a field, returns
such a code as an int, and rejects a length that the remaining bytes could not fill.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin
from uuid import UUID

from kio.schema.describe_transactions.v0 import response as kio_response
from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i64

LONGEST_VARINT = 5  # bytes of an unsigned number of 32 bits
PACKED = {
    "bool": struct.Struct(">?"), "int8": struct.Struct(">b"), "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"), "int32": struct.Struct(">i"), "uint32": struct.Struct(">I"),
    "int64": struct.Struct(">q"), "float64": struct.Struct(">d"), "error_code": struct.Struct(">h"),
    "timedelta_i32": struct.Struct(">i"), "timedelta_i64": struct.Struct(">q"), "datetime_i64": struct.Struct(">q"),
}  # fmt: skip
KNOWN_ERRORS: Mapping[int, ErrorCode] = {int(code): code for code in ErrorCode}


class Part(NamedTuple):
    """A `Part` is a field of a response. ``kind`` is Kafka's name of its type, or the class of its content."""

    name: str
    kind: Any
    is_array: bool
    is_nullable: bool
    default: Any


class Layout(NamedTuple):
    """A `Layout` describes a class of kio's schema: the fields in order, and those that have a tag."""

    parts: tuple[Part, ...]
    tagged: Mapping[int, Part]
    is_flexible: bool


class Cursor:
    """A `Cursor` reads the bytes of one response from the front."""

    def __init__(self, payload: bytes | bytearray, at: int) -> None:
        self.payload, self.at = memoryview(payload), at

    @property
    def left(self) -> int:
        return len(self.payload) - self.at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise ValueError(f"{count} bytes are announced at byte {self.at}, and {self.left} are left")
        taken = bytes(self.payload[self.at : self.at + count])
        self.at += count
        return taken

    def number(self, packed: struct.Struct) -> Any:
        return packed.unpack(self.take(packed.size))[0]

    def unsigned(self) -> int:
        found = 0
        for place in range(LONGEST_VARINT):
            byte = self.take(1)[0]
            found |= (byte & 0x7F) << 7 * place
            if not byte & 0x80:
                return found
        raise ValueError(f"a number at byte {self.at - LONGEST_VARINT} does not end")

    def length(self, is_flexible: bool, size: str) -> int:
        """Return the next length, or -1 for null. Raise ValueError for an invalid one."""
        found = self.unsigned() - 1 if is_flexible else int(self.number(PACKED[size]))
        if found < -1:
            raise ValueError(f"length {found} at byte {self.at}")
        return found


def decode(kind: Any, payload: bytes | bytearray, offset: int = 0) -> tuple[Any, int]:
    """Return a response, or a header, at `offset`, and the offset where it ends. Raise ValueError."""
    cursor = Cursor(payload, offset)
    return _entity(kind, cursor), cursor.at


def _entity(kind: Any, cursor: Cursor) -> Any:
    layout = _layout(kind)
    values = {part.name: part.default for part in layout.tagged.values()}
    for part in layout.parts:
        values[part.name] = _part(part, cursor, layout.is_flexible)
    if layout.is_flexible:
        for _ in range(cursor.unsigned()):
            tag, size = cursor.unsigned(), cursor.unsigned()
            known, inner = layout.tagged.get(tag), Cursor(cursor.take(size), 0)
            if known is not None:
                values[known.name] = _part(known, inner, True)
                if inner.left:
                    raise ValueError(f"the field {known.name} with tag {tag} has {inner.left} bytes more than it needs")
    return kind(**values)


def _part(part: Part, cursor: Cursor, is_flexible: bool) -> Any:
    if not part.is_array:
        return _value(part, cursor, is_flexible)
    length = cursor.length(is_flexible, "int32")
    if length > cursor.left:  # everything that can lie in an array takes a byte at least
        raise ValueError(f"{part.name} is to have {length} elements, and {cursor.left} bytes are left")
    if length < 0:
        return _null(part)
    return tuple(_value(part, cursor, is_flexible) for _ in range(length))


def _value(part: Part, cursor: Cursor, is_flexible: bool) -> Any:
    if is_dataclass(part.kind):
        # A structure that may be null is preceded by a byte that states whether it is (KIP-893).
        if part.is_nullable and not part.is_array and cursor.number(PACKED["int8"]) < 0:
            return None
        return _entity(part.kind, cursor)
    if part.kind in PACKED:
        return CONVERTED.get(part.kind, _as_it_is)(cursor.number(PACKED[part.kind]))
    if part.kind == "uuid":
        found = UUID(bytes=cursor.take(16))
        return found if found.int or not part.is_nullable else None
    length = cursor.length(is_flexible, "int16" if part.kind == "string" else "int32")
    if length < 0:
        return _null(part)
    taken = cursor.take(length)
    return taken.decode() if part.kind == "string" else taken


def _null(part: Part) -> None:
    if not part.is_nullable:
        raise ValueError(f"{part.name} is null, and must not be")


def _as_it_is(value: Any) -> Any:
    return value


def _moment(ms: int) -> datetime | None:
    """Return a time, or None for one before 1970, such as -1."""
    try:
        return None if ms < 0 else datetime.fromtimestamp(ms // 1000, UTC) + timedelta(milliseconds=ms % 1000)
    except (OverflowError, OSError) as error:
        raise ValueError(f"{ms} ms since 1970 is no time") from error


def _duration(ms: int) -> timedelta:
    try:
        return timedelta(milliseconds=ms)
    except OverflowError as error:
        raise ValueError(f"{ms} ms is no duration") from error


CONVERTED: Mapping[str, Callable[[Any], Any]] = {
    "error_code": lambda code: KNOWN_ERRORS.get(code, code),
    "timedelta_i32": _duration,
    "timedelta_i64": _duration,
    "datetime_i64": _moment,
}


@cache
def _layout(kind: Any) -> Layout:
    parts, tagged = [], {}
    for each in fields(kind):
        default = None if each.default is MISSING else each.default
        inner, is_nullable = _without_none(each.type)
        is_array = get_origin(inner) is tuple
        if is_array:
            inner, _ = _without_none(get_args(inner)[0])
        part = Part(each.name, each.metadata.get("kafka_type", inner), is_array, is_nullable, default)
        if "tag" in each.metadata:
            tagged[int(each.metadata["tag"])] = part
        else:
            parts.append(part)
    return Layout(tuple(parts), tagged, bool(kind.__flexible__))


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    inner = [each for each in get_args(hint) if each is not type(None)]
    return inner[0], len(inner) < len(get_args(hint))


# kio's schema reads these responses too strictly, so the field in question is declared as Kafka sends it:
# DescribeTransactions has -1 for the start of a transaction that has none, which kio takes for a time before 1970.


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState(kio_response.TransactionState):
    """A `TransactionState` is about one transactional id; the start is in milliseconds since 1970, or -1 for none."""

    transaction_start_time: i64 = field(metadata={"kafka_type": "int64"})  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse(kio_response.DescribeTransactionsResponse):
    """This class is the answer to DescribeTransactions with start times as plain numbers."""

    transaction_states: tuple[TransactionState, ...]


MENDED: dict[Any, Any] = {DescribeTransactionsRequest: DescribeTransactionsResponse}  # request class -> response class
