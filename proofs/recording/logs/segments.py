"""This module reads segment files of a partition: the headers of their batches as columns, and compressed records."""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from fencepost.proofs.recording.errors import RecordingError, require_no_pipe

# Walks one segment file of a partition: the headers of its record batches as columns, without reading their records.
#
# `read_segment(file, expected)` maps the file into memory and follows the batches' lengths from one to the next; all
# else, the checks too, is NumPy over the 61 bytes of each header, and one CRC-32C a batch. A file that ends inside a
# batch, or in zeros, is what a crash or a broker at work leaves behind: a `Tear`. Anything else is refused with a
# `RecordingError` that names the byte. A file that is cut short while it is mapped kills the process (SIGBUS): nodes
# that may still truncate, as a follower does when its leader changes, must be copied first.
#
# Source: Kafka's record batch format v2 (DefaultRecordBatch), and that of the older message sets for what to call them.

METADATA_LOG = "__cluster_metadata"
HEADER = np.dtype(
    [
        ("base_offset", ">i8"), ("length", ">i4"), ("leader_epoch", ">i4"), ("magic", "i1"), ("crc", ">u4"),
        ("attributes", ">i2"), ("last_delta", ">i4"), ("base_time", ">i8"), ("max_time", ">i8"),
        ("producer_id", ">i8"), ("epoch", ">i2"), ("base_sequence", ">i4"), ("count", ">i4"),
    ]
)  # fmt: skip
MAGIC_AT, CRC_FROM, LENGTH_AT = 16, 21, 8  # bytes from the start of a batch
BEFORE_LENGTH_COUNTS = 12
SHORTEST = HEADER.itemsize - BEFORE_LENGTH_COUNTS  # the least that `length` can be
CODEC, TRANSACTIONAL, CONTROL = 0x07, 0x10, 0x20  # bits of `attributes`
ZSTD = 4  # the last of the codecs
PORTION = 1 << 16  # headers gathered at once
CHANGED = "an offset was changed, which no checksum covers: copy the file again from the node"


@dataclass(frozen=True)
class Tear:
    """A `Tear` is where a segment ends inside a batch, or in zeros, at byte `position`; the next record would have
    `offset`."""

    file: Path
    position: int
    offset: int
    bytes_left: int


@dataclass(frozen=True)
class Segment:
    """A `Segment` is one file: its bytes, the places of its batches, and their headers (dtype `HEADER`), in order of
    offset."""

    file: Path
    content: np.ndarray  # uint8, a view of the mapped file
    positions: np.ndarray
    headers: np.ndarray
    tear: Tear | None

    @property
    def last_offsets(self) -> np.ndarray:
        last: np.ndarray = self.headers["base_offset"].astype(np.int64) + self.headers["last_delta"]
        return last


def read_segment(file: Path, expected: int, *, checksums: bool = True, mapped: bool = True) -> Segment:
    """Read a file whose first offset is `expected` or, where a cleaner has been at work, above it. Unless `mapped` is
    true, the file is read into memory. Raise `RecordingError` for a file that is not a segment, is of an older message
    format, or is damaged."""
    (segment,) = read_portions(file, expected, checksums=checksums, mapped=mapped)
    return segment


def read_portions(
    file: Path, expected: int, size: int | None = None, begin: int = 0, *, checksums: bool = True, mapped: bool = True
) -> Iterator[Segment]:
    """Yield what `read_segment` returns in portions, at least one, from byte `begin` on, where a batch begins. Each has
    the batches that begin in `size` bytes of the file, and is checked when it is asked for."""
    content = _content(file, mapped)
    epoch = -1
    while True:
        positions, end = walked(content, begin, size)
        headers = checked_headers(file, content, positions, expected, checksums=checksums, epoch=epoch)
        if len(headers):
            expected = int(headers["base_offset"][-1]) + int(headers["last_delta"][-1]) + 1
            epoch = int(headers["leader_epoch"][-1])
        if len(headers) and end < len(content) and size is not None and end >= begin + size:
            yield Segment(file, content, positions, headers, None)
            begin = end
            continue
        tear = None
        if end < len(content):
            _check_tail(file, content[end:], expected, end)
            tear = Tear(file, end, expected, len(content) - end)
        yield Segment(file, content, positions, headers, tear)
        return


def checked_headers(
    file: Path, content: np.ndarray, positions: np.ndarray, expected: int, *, checksums: bool = True, epoch: int = -1
) -> np.ndarray:
    """Return the headers of the batches at `positions`, the first offset of which is `expected` or above it, and the
    leader epoch `epoch` or above it. `file` names the content in the `RecordingError` for what is damaged."""
    headers = _headers(content, positions)
    _check_format(file, content, positions, headers)
    _check_order(file, positions, headers, expected, epoch)
    if checksums:
        _check_sums(file, content, positions, headers)
    return headers


def _content(file: Path, mapped: bool) -> np.ndarray:
    require_no_pipe(file)
    try:
        with file.open("rb") as opened:
            if not mapped or not file.stat().st_size:
                return np.frombuffer(opened.read(), np.uint8)
            return np.frombuffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", file, "copy the whole log directory") from None


def walked(content: np.ndarray, at: int = 0, within: int | None = None) -> tuple[np.ndarray, int]:
    """Return where complete batches begin, from byte `at` on and `within` so many bytes, and where the walk ended: at
    the end of that, at the end of the file, or before an incomplete batch."""
    places, view, length_at = array("q"), content.data, struct.Struct(">i").unpack_from
    size = len(content)
    last = size - HEADER.itemsize
    if within is not None:
        last = min(last, at + within - 1)
    while at <= last:
        (length,) = length_at(view, at + LENGTH_AT)
        end = at + BEFORE_LENGTH_COUNTS + length
        if length < SHORTEST or end > size:
            break
        places.append(at)
        at = end
    return np.frombuffer(places, np.int64) if places else np.zeros(0, np.int64), at


def _headers(content: np.ndarray, positions: np.ndarray) -> np.ndarray:
    if not len(positions):
        return np.zeros(0, HEADER)
    windows = np.lib.stride_tricks.sliding_window_view(content, HEADER.itemsize)
    gathered = np.empty((len(positions), HEADER.itemsize), np.uint8)
    for start in range(0, len(positions), PORTION):  # the file is read once, front to back
        gathered[start : start + PORTION] = windows[positions[start : start + PORTION]]
    return gathered.view(HEADER)[:, 0]


def _check_format(file: Path, content: np.ndarray, positions: np.ndarray, headers: np.ndarray) -> None:
    wrong = np.flatnonzero(headers["magic"] != 2)
    if len(wrong):
        raise _no_batch(file, int(headers["magic"][wrong[0]]), int(positions[wrong[0]]))
    strange = (headers["attributes"] & CODEC > ZSTD) | (headers["last_delta"] < 0) | (headers["count"] < 0)
    strange |= headers["count"] > headers["last_delta"].astype(np.int64) + 1
    for row in np.flatnonzero(strange)[:1]:
        text = ", ".join(f"{name} {headers[name][row]}" for name in ("attributes", "last_delta", "count"))
        what = f"the header of the batch at offset {headers['base_offset'][row]} contradicts itself ({text})"
        raise RecordingError(what, file, "the file is damaged: copy it again from the node", int(positions[row]))


def _no_batch(file: Path, magic: int, position: int) -> RecordingError:
    if magic in (0, 1) and file.suffix == ".log" and not file.parent.name.startswith(METADATA_LOG):
        what = f"a message of format version {magic} stands here, which knows no producers and no transactions"
        return RecordingError(what, file, "leave this topic out with --topic, which names those to record", position)
    what = "no Kafka record batch (format version 2) begins here"
    todo = "this is not a Kafka log, or it is damaged: copy it again from the node"
    return RecordingError(what, file, todo, position)


def _check_order(file: Path, positions: np.ndarray, headers: np.ndarray, expected: int, epoch: int) -> None:
    base, epochs = headers["base_offset"].astype(np.int64), headers["leader_epoch"]
    due = np.append(expected, base[:-1] + headers["last_delta"][:-1] + 1)[: len(base)]
    for row in np.flatnonzero(base < due)[:1]:
        upto = due[row - 1] + headers["last_delta"][row - 1] + 1 if row else 0
        if row and due[row - 1] < base[row - 1] and upto <= base[row]:  # without the one before all is in order
            what = f"a batch with offset {base[row - 1]} stands before one with offset {base[row]}"
            raise RecordingError(what, file, CHANGED, int(positions[row - 1]))
        what = f"a batch with offset {base[row]} stands where offset {due[row]} or more must follow"
        doubled = headers["crc"][row] in headers["crc"][:row]
        todo = "records are doubled: copy the file again" if doubled else CHANGED
        raise RecordingError(what, file, todo, int(positions[row]))
    before = np.append(epoch, epochs[:-1])[: len(epochs)]  # -1: no epoch is known; the CRC does not cover epochs
    for row in np.flatnonzero(epochs < before)[:1]:
        what = f"the batch at offset {base[row]} has leader epoch {epochs[row]} after epoch {before[row]}"
        todo = "epochs never go back: copy the file again from the node"
        raise RecordingError(what, file, todo, int(positions[row]))


def _check_sums(file: Path, content: np.ndarray, positions: np.ndarray, headers: np.ndarray) -> None:
    view, ends = content.data, positions + headers["length"] + BEFORE_LENGTH_COUNTS
    for portion in range(0, len(positions), PORTION):
        rows = slice(portion, portion + PORTION)
        bounds = zip((positions[rows] + CRC_FROM).tolist(), ends[rows].tolist(), strict=True)
        sums = np.array([crc32c(view[start:end]) for start, end in bounds], np.uint32)
        for row in portion + np.flatnonzero(sums != headers["crc"][rows])[:1]:
            offset, crc = headers["base_offset"][row], headers["crc"][row]
            what = f"the batch at offset {offset} fails its checksum (CRC-32C {crc:#010x})"
            raise RecordingError(what, file, "the file is damaged: copy it again from the node", int(positions[row]))


def _check_tail(file: Path, rest: np.ndarray, expected: int, position: int) -> None:
    """Raise unless what is left after the last complete batch is the beginning of the next one, or zeros."""
    if not rest.any():
        return
    if bytes(rest[:8]) != struct.pack(">q", expected)[: len(rest)]:
        magic = int(rest[MAGIC_AT]) if len(rest) > MAGIC_AT else -1
        raise _no_batch(file, magic, position)
    if len(rest) >= HEADER.itemsize:
        (head,) = np.frombuffer(rest[: HEADER.itemsize].tobytes(), HEADER)
        if head["magic"] != 2 or head["length"] < SHORTEST:
            raise _no_batch(file, int(head["magic"]), position)


# Undoes the compression of a batch's records: gzip, snappy, lz4 and zstd, as Kafka's clients and brokers write them.
#
# The codecs are Arrow's. Kafka's snappy is framed as by xerial's snappy-java: a header of 16 bytes, then blocks with a
# length in front; some clients (librdkafka among them) send one raw block instead, as Kafka allows.

GZIP, SNAPPY, LZ4, ZSTD_TYPE = 1, 2, 3, 4
NAMES = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD_TYPE: "zstd"}
XERIAL = b"\x82SNAPPY\x00"
XERIAL_HEADER = 16  # the magic, and two versions of four bytes


def decompressed(codec: int, content: memoryview) -> bytes:
    """Return the records of a batch whose attributes name `codec` (1 to 4). Raise ValueError where the records cannot
    be decompressed."""
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
    size = shift = 0
    for byte in content[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    block: bytes = pa.decompress(pa.py_buffer(content), decompressed_size=size, codec="snappy", asbytes=True)
    return block
