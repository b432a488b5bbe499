"""This module locates the keys and values of records as columns, for all batches of a segment at once.

Records are of variable length, so that one can be found only after the one before it. `records_in_step` reads the first
record of every batch together, then every second one, and so on: a few NumPy passes a round instead of a loop a record.
If there are few batches, `records_one_by_one` reads them one by one, with the same result.

Source: Kafka's DefaultRecord: length, attributes, timestamp delta, offset delta, key, value, headers, as varints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.segments import BEFORE_LENGTH_COUNTS, CODEC, HEADER, Segment, decompressed

FEW = 24  # below so many batches a round of NumPy costs more than a loop
LONG = 8  # bytes of an int64, whose sign needs no care
LONGEST = 10  # bytes of a varint of 64 bits
NUMBER_DIGITS = 12


@dataclass(frozen=True)
class Records:
    """A `Records` has one row per record: its batch's row, its place, and the place of its key and value in `content`
    (length -1: null)."""

    content: np.ndarray  # uint8
    batch: np.ndarray
    delta: np.ndarray  # of the offset, and of the sequence number
    key: np.ndarray
    key_length: np.ndarray
    value: np.ndarray
    value_length: np.ndarray

    def key_of(self, row: int) -> bytes:
        """Return the bytes of one key, which are empty where it is null."""
        return self.content[self.key[row] : self.key[row] + max(0, self.key_length[row])].tobytes()

    def value_of(self, row: int) -> bytes | None:
        if self.value_length[row] < 0:
            return None
        return self.content[self.value[row] : self.value[row] + self.value_length[row]].tobytes()

    def has_key(self, key: bytes) -> np.ndarray:
        fits: np.ndarray = self.key_length == len(key)
        for place, byte in enumerate(key):
            fits[fits] = self.content[self.key[fits] + place] == byte
        return fits

    def signed(self, at: np.ndarray, size: int) -> np.ndarray:
        """Return the big-endian numbers of `size` bytes (8 at most) at these places."""
        number = np.zeros(len(at), np.int64)
        for place in range(size):
            number = number << 8 | self.content[at + place]
        return number if size == LONG else number - ((number >> (8 * size - 1)) << (8 * size))

    def numbers(self) -> np.ndarray:
        """Return the number that each value spells in ASCII digits, below 10^12 and without leading zeros, or -1 if it
        is none."""
        length = self.value_length
        fine = (length > 0) & (length <= NUMBER_DIGITS)
        number = np.zeros(len(length), np.int64)
        for place in range(int(length[fine].max()) if fine.any() else 0):
            has = fine & (place < length)
            digit = self.content[np.where(has, self.value + place, 0)].astype(np.int64) - ord("0")
            fine &= ~has | ((digit >= 0) & (digit <= 9)) & ~((place == 0) & (digit == 0) & (length > 1))
            number = np.where(has, number * 10 + digit, number)
        return np.where(fine, number, -1)


def records_of(segment: Segment, rows: np.ndarray) -> Records:
    """Return the records of the batches `rows` of a segment, in order. Raise `RecordingError` where a batch is
    malformed."""
    headers = segment.headers[rows]
    starts = segment.positions[rows] + HEADER.itemsize
    ends = segment.positions[rows] + BEFORE_LENGTH_COUNTS + headers["length"]
    packed = np.flatnonzero(headers["attributes"] & CODEC)
    content = segment.content
    if len(packed):
        content, starts, ends = _unpacked(segment, rows, packed, starts, ends)
    found, wrong = records_in_step(content, starts, ends, headers["count"].astype(np.int64))
    if wrong is not None:
        raise _malformed(segment, int(rows[wrong]), "its records do not end where it does")
    batch, delta, *rest = found
    return Records(content, rows[batch], delta, *rest)


def _unpacked(
    segment: Segment, rows: np.ndarray, packed: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns with the records of the `packed` batches decompressed, behind the segment's own bytes."""
    plain = np.setdiff1d(np.arange(len(rows)), packed)
    parts = [segment.content[starts[at] : ends[at]] for at in plain]  # copied, so that one array holds all
    for at in packed:
        codec = int(segment.headers["attributes"][rows[at]]) & CODEC
        try:
            content = decompressed(codec, segment.content[starts[at] : ends[at]].data)
        except ValueError as error:
            raise _malformed(segment, int(rows[at]), str(error)) from None
        parts.append(np.frombuffer(content, np.uint8))
    sizes = np.array([len(part) for part in parts], np.int64)
    place = np.empty_like(starts)
    order = np.concatenate([plain, packed])
    place[order] = np.cumsum(sizes) - sizes
    upto = place.copy()
    upto[order] += sizes
    return np.concatenate(parts), place, upto


def _malformed(segment: Segment, row: int, what: str) -> RecordingError:
    text = f"the batch at offset {segment.headers['base_offset'][row]} is malformed: {what}"
    return RecordingError(text, segment.file, "the file is damaged: copy it again", int(segment.positions[row]))


Found = tuple[list[np.ndarray], int | None]


def records_in_step(content: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray) -> Found:
    """Return columns (batch, offset delta, key, its length, value, its length) by batch; and a malformed batch, or
    None."""
    rounds: list[list[np.ndarray]] = []
    at, active, turn = starts.astype(np.int64), np.flatnonzero(counts > 0), 0
    while len(active) >= FEW:
        columns, after = _round(content, at[active], ends[active])
        if columns is None:
            return [], int(active[after[0]])
        rounds.append([active, *columns])
        at[active] = after
        turn += 1
        active = active[counts[active] > turn]
    rest, wrong = records_one_by_one(content, at, ends, counts - turn, active)
    if wrong is not None:
        return [], wrong
    joined = [np.concatenate(column) for column in zip(*rounds, rest, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    finished = at != ends
    finished[active] = False  # checked one by one
    if finished.any():
        return [], int(np.flatnonzero(finished)[0])
    return [column[order] for column in joined], None


def _round(content: np.ndarray, at: np.ndarray, ends: np.ndarray) -> tuple[list[np.ndarray] | None, np.ndarray]:
    """Return the record at each place, and the place of the next one; or None, and the places of malformed batches."""
    limit = len(content) - 1

    def varint(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        byte = content[np.minimum(at, limit)].astype(np.int64)
        value, at = byte & 0x7F, at + 1
        more, shift = np.flatnonzero(byte >= 0x80), 7
        while len(more) and shift < 7 * LONGEST:
            byte = content[np.minimum(at[more], limit)].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            at[more] += 1
            more, shift = more[byte >= 0x80], shift + 7
        return (value >> 1) ^ -(value & 1), at

    length, body = varint(at)
    after = body + length
    _, at = varint(body + 1)  # attributes, which are unused, and the timestamp
    delta, at = varint(at)
    key_length, key = varint(at)
    value_length, value = varint(key + np.maximum(key_length, 0))
    wrong = (after > ends) | (length < 0) | (value + np.maximum(value_length, 0) > after) | (delta < 0)
    wrong |= (key_length < -1) | (value_length < -1)
    if wrong.any():
        return None, np.flatnonzero(wrong)
    return [delta, key, key_length, value, value_length], after


def records_one_by_one(
    content: np.ndarray, at: np.ndarray, ends: np.ndarray, counts: np.ndarray, batches: np.ndarray
) -> Found:
    """Return the columns of the records of the few `batches` named, whose next `counts` records begin `at`."""
    found: list[tuple[int, ...]] = []
    view = content.data
    for batch in batches.tolist():
        place, end = int(at[batch]), int(ends[batch])
        for _ in range(int(counts[batch])):
            try:
                length, body = varint(view, place)
                _, here = varint(view, body + 1)
                delta, here = varint(view, here)
                key_length, key = varint(view, here)
                value_length, value = varint(view, key + max(key_length, 0))
            except IndexError:
                return [], batch
            place = body + length
            if place > end or length < 0 or value + max(value_length, 0) > place or delta < 0:
                return [], batch
            if key_length < -1 or value_length < -1:
                return [], batch
            found.append((batch, delta, key, key_length, value, value_length))
        if place != end:
            return [], batch
    columns = np.array(found, np.int64).reshape(-1, 6).T
    return list(columns), None


def varint(view: memoryview, at: int) -> tuple[int, int]:
    """Return the signed number at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = view[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 or shift >= 7 * LONGEST:
            return (value >> 1) ^ -(value & 1), at
