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
