"""This module decodes Kafka's primitive types within values of records, for the few messages that kio does not know.

Each function takes bytes and a position, and returns the value there and the position after it. IndexError or
struct.error is raised where the bytes end too early. Source: Kafka's protocol guide, "Protocol Primitive Types"."""

from __future__ import annotations

import struct
from typing import Any


def unsigned(value: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = value[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def string(value: bytes, at: int) -> tuple[str | None, int]:
    """Read a string with its length as int16; -1 is null."""
    (size,) = struct.unpack_from(">h", value, at)
    return _text(value, at + 2, size)


def compact_string(value: bytes, at: int) -> tuple[str | None, int]:
    """Read a string with its length plus one as a varint; 0 is null."""
    size, at = unsigned(value, at)
    return _text(value, at, size - 1)


def _text(value: bytes, at: int, size: int) -> tuple[str | None, int]:
    if size < 0:
        return None, at
    if at + size > len(value):
        raise IndexError(f"a string of {size} bytes in {len(value) - at}")
    return value[at : at + size].decode(), at + size


def bytes_of(value: bytes, at: int) -> tuple[bytes, int]:
    """Read bytes with their number as int32; null is read as empty."""
    (size,) = struct.unpack_from(">i", value, at)
    end = at + 4 + max(size, 0)
    if end > len(value):
        raise IndexError(f"{size} bytes in {len(value) - at - 4}")
    return value[at + 4 : end], end


Numbered = tuple[tuple[str, tuple[int, ...]], ...]


def numbered_names(value: bytes, at: int) -> tuple[Numbered, int]:
    """Read an array of names, each with an array of int32, as topics have partitions; null is read as empty."""
    (count,) = struct.unpack_from(">i", value, at)
    at, found = at + 4, []
    for _ in range(max(0, count)):
        name, at = string(value, at)
        (size,) = struct.unpack_from(">i", value, at)
        found.append((name or "", struct.unpack_from(f">{size}i", value, at + 4)))
        at += 4 + 4 * size
    return tuple(found), at


def compact_array(value: bytes, at: int, item: str) -> tuple[tuple[Any, ...], int]:
    """Read an array of one-field items, with their number plus one as a varint; null is read as empty."""
    count, at = unsigned(value, at)
    form = struct.Struct(item)
    items = tuple(form.unpack_from(value, at + number * form.size)[0] for number in range(max(0, count - 1)))
    return items, at + len(items) * form.size


def tagged_fields(value: bytes, at: int) -> dict[int, bytes]:
    """Return the tagged fields that end a flexible message, by tag."""
    count, at = unsigned(value, at)
    fields = {}
    for _ in range(count):
        tag, at = unsigned(value, at)
        size, at = unsigned(value, at)
        fields[tag] = value[at : at + size]
        at += size
    return fields
