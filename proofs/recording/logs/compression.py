"""Undoes the compression of a batch's records: gzip, snappy, lz4 and zstd, as Kafka's clients and brokers write them.

The codecs are Arrow's. Kafka's snappy is framed as by xerial's snappy-java: a header of 16 bytes, then blocks with a
length in front; some clients (librdkafka among them) send one raw block instead, as Kafka allows.
"""

from __future__ import annotations

import struct

import pyarrow as pa

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
NAMES = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}
XERIAL = b"\x82SNAPPY\x00"
XERIAL_HEADER = 16  # the magic, and two versions of four bytes


def decompressed(codec: int, content: memoryview) -> bytes:
    """The records of a batch whose attributes name `codec` (1 to 4). Raises ValueError where they cannot be had."""
    try:
        if codec == SNAPPY:
            return _snappy(content)
        with pa.input_stream(pa.py_buffer(content), compression=NAMES[codec]) as stream:
            whole: bytes = stream.read()
            return whole
    except (OSError, pa.ArrowException, struct.error) as error:
        raise ValueError(f"its records cannot be decompressed ({NAMES[codec]}): {error}") from None


def _snappy(content: memoryview) -> bytes:
    if bytes(content[: len(XERIAL)]) != XERIAL:
        return _snappy_block(content)
    parts, at = [], XERIAL_HEADER
    while at < len(content):
        (size,) = struct.unpack_from(">i", content, at)
        parts.append(_snappy_block(content[at + 4 : at + 4 + size]))
        at += 4 + size
    return b"".join(parts)


def _snappy_block(content: memoryview) -> bytes:
    """One raw block, which begins with its decompressed size as a varint."""
    size = shift = 0
    for byte in content[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    block: bytes = pa.decompress(pa.py_buffer(content), decompressed_size=size, codec="snappy", asbytes=True)
    return block
