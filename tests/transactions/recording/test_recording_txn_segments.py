"""A segment is read to its last batch, or is refused in one line with the reason, the place and a remedy."""

import random
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from fencepost.proofs.recording import RecordingError
from fencepost.proofs.recording.logs.record_columns import records_in_step, records_of, records_one_by_one
from fencepost.proofs.recording.logs.segments import HEADER, read_segment
from kio.records.readers import read_batch
from transaction_logs import REAL, batch, record, segment, sent, starts, varint, write_log

P = (7, 0)


def refusal(file: Path, expected: int = 0) -> str:
    """Return the one-line message with which the file is refused."""
    with pytest.raises(RecordingError) as refused:
        read_segment(file, expected)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(file))
    return str(refused.value)


def everything(file: Path) -> list[tuple[int, bytes, bytes | None]]:
    """Return (offset, key, value) of all records."""
    walked = read_segment(file, 0)
    records = records_of(walked, np.arange(len(walked.headers)))
    offsets = walked.headers["base_offset"][records.batch] + records.delta
    return [(int(offset), records.key_of(row), records.value_of(row)) for row, offset in enumerate(offsets)]


@pytest.mark.parametrize("partition", ["__transaction_state-0", "__consumer_offsets-0", "fencepost-2aa327cb-topic-0-0"])
def test_real_segments_read_as_kio_reads_them(partition: str) -> None:
    """An independent library reads the same header fields, and the same offset, key and value of each record."""
    file = segment(REAL / "node-1", partition)
    content, at, theirs = file.read_bytes(), 0, []
    walked = read_segment(file, 0)
    assert walked.positions.tolist() == starts(file)
    for header in walked.headers:
        reported, size = read_batch(content[at:], 0)
        at += size
        assert (header["base_offset"], header["producer_id"], header["epoch"], header["base_sequence"]) == (
            reported.base_offset, reported.producer_id, reported.producer_epoch, reported.base_sequence,
        )  # fmt: skip
        assert (header["crc"], header["leader_epoch"]) == (reported.crc, reported.partition_leader_epoch)
        theirs += [(int(each.offset), each.key or b"", each.value) for each in reported.records]
    assert at == len(content)
    assert everything(file) == theirs
    assert walked.tear is None


def test_an_empty_segment_holds_nothing(tmp_path: Path) -> None:
    walked = read_segment(write_log(tmp_path, "t-0", []), 0)
    assert (len(walked.headers), walked.tear) == (0, None)


def test_a_tear_is_reported_with_its_place(tmp_path: Path) -> None:
    """A cut anywhere within the last batch, down to its first byte, loses that batch only."""
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1", b"2"), sent(2, P, 2, b"3")])
    content, (_, last) = file.read_bytes(), starts(file)
    for end in range(last + 1, len(content)):
        file.write_bytes(content[:end])
        walked = read_segment(file, 0)
        assert walked.tear is not None
        assert (walked.tear.position, walked.tear.offset, walked.tear.bytes_left) == (last, 2, end - last)
        assert len(walked.headers) == 1


def test_zeros_at_the_end_are_a_tear(tmp_path: Path) -> None:
    """A power failure leaves a tail that was allocated and never written."""
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1"), bytes(500)])
    tear = read_segment(file, 0).tear
    assert tear is not None
    assert tear.bytes_left == 500


@pytest.mark.parametrize("back", [1, 20, 39])
def test_a_flipped_bit_is_refused(tmp_path: Path, back: int) -> None:
    """The CRC detects every change of what it covers, and the error names the byte at which the batch begins."""
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1"), sent(1, P, 1, b"2"), sent(2, P, 2, b"3")])
    content, begins = bytearray(file.read_bytes()), starts(file)
    content[begins[2] - back] ^= 4
    file.write_bytes(content)
    assert f"byte {begins[1]}: the batch at offset 1 fails its checksum" in (line := refusal(file))
    assert "copy it again" in line


@pytest.mark.parametrize("magic", [0, 1])
def test_older_message_formats_are_named(tmp_path: Path, magic: int) -> None:
    """A topic from before Kafka 0.11 has no transactions, and the message explains how to leave it out."""
    message = struct.pack(">qiIbb", 0, 60, 0, magic, 0) + bytes(54)
    line = refusal(write_log(tmp_path, "t-0", [message]))
    assert f"byte 0: a message of format version {magic}" in line
    assert "--topic" in line


@pytest.mark.parametrize("content", [b"not a log at all, but words, and enough of them to hold a header of 61 bytes",
                                     b"PAR1", b"\x89PNG\r\n\x1a\n" + bytes(range(1, 200))])  # fmt: skip
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "byte 0: no Kafka record batch (format version 2) begins here" in refusal(
        write_log(tmp_path, "t-0", [content])
    )


def test_doubled_records_are_refused(tmp_path: Path) -> None:
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1"), sent(0, P, 0, b"1")])
    line = refusal(file)
    assert f"byte {starts(file)[1]}: a batch with offset 0 stands where offset 1" in line
    assert "records are doubled" in line


@pytest.mark.parametrize(
    ("number", "at", "text"),
    [
        (1, 5, "a batch with offset 65537 stands before one with offset 2"),
        (2, 7, "a batch with offset 0 stands where offset 2 or more must follow"),
    ],
)
def test_an_offset_that_was_changed_is_named(tmp_path: Path, number: int, at: int, text: str) -> None:
    """No checksum covers the offset, which may seem later than the next batch's, or too early."""
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1"), sent(1, P, 1, b"2"), sent(2, P, 2, b"3")])
    content, begins = bytearray(file.read_bytes()), starts(file)
    content[begins[number] + at] ^= {5: 1, 7: 2}[at]
    file.write_bytes(content)
    line = refusal(file)
    assert f"byte {begins[number]}: {text}; an offset was changed" in line
    assert "doubled" not in line


def test_falling_leader_epochs_are_refused(tmp_path: Path) -> None:
    file = write_log(tmp_path, "t-0", [sent(0, P, 0, b"1", epoch=4), sent(1, P, 1, b"2", epoch=3)])
    assert f"byte {starts(file)[1]}: the batch at offset 1 has leader epoch 3 after epoch 4" in refusal(file)


def test_records_beyond_their_batch_are_refused(tmp_path: Path) -> None:
    rows = [
        sent(0, P, 0, b"1"),
        batch(1, [(None, b"x")], producer=P, records=varint(99) + b"\x00"),
        sent(2, P, 1, b"2"),
    ]
    for some in (rows, [*rows, *(sent(3 + more, P, 2 + more, b"9") for more in range(40))]):
        file = write_log(tmp_path, "t-0", some)
        walked = read_segment(file, 0)
        with pytest.raises(RecordingError, match="byte 69: the batch at offset 1 is malformed"):
            records_of(walked, np.arange(len(walked.headers)))


def packed(codec: int, content: bytes) -> bytes:
    """Compress the content as Kafka's clients do."""
    if codec == 2:
        blocks = [content[:100], content[100:]]
        framed = [pa.compress(block, codec="snappy", asbytes=True) for block in blocks]
        return b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" + b"".join(
            struct.pack(">i", len(block)) + block for block in framed
        )
    name = {1: "gzip", 3: "lz4", 4: "zstd"}[codec]
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, name) as out:
        out.write(content)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_compressed_records_are_read(tmp_path: Path, codec: int) -> None:
    entries = [(b"key", f"{number}".encode()) for number in range(50)]
    content = b"".join(record(delta, *entry) for delta, entry in enumerate(entries))
    squeezed = packed(codec, content)
    rows = [sent(0, P, 0, b"a"), batch(1, entries, attributes=codec, records=squeezed), sent(51, P, 1, b"b")]
    found = everything(write_log(tmp_path, "t-0", rows))
    assert [value for _, _, value in found] == [b"a", *(value for _, value in entries), b"b"]
    assert [offset for offset, _, _ in found] == list(range(52))
    broken = batch(1, entries, attributes=codec, records=squeezed[: len(squeezed) // 2] + bytes(9))
    with pytest.raises(RecordingError, match="the batch at offset 1 is malformed"):
        everything(write_log(tmp_path, "t-0", [rows[0], broken]))


def test_an_unknown_codec_is_refused(tmp_path: Path) -> None:
    assert "contradicts itself (attributes 6" in refusal(
        write_log(tmp_path, "t-0", [batch(0, [(None, b"x")], attributes=6)])
    )


@pytest.mark.parametrize("seed", range(8))
def test_reading_in_step_is_reading_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    content, begins, ends, counts = bytearray(), [], [], []
    for _ in range(chance.choice([1, 5, 60, 200])):
        begins.append(len(content))
        counts.append(chance.choice([0, 1, 1, 2, 7, 70]))
        for delta in range(counts[-1]):
            sizes = [chance.choice([None, 0, 1, 63, 64, 200, 9000]) for _ in range(2)]
            content += record(delta, *(None if size is None else chance.randbytes(size) for size in sizes))
        ends.append(len(content))
    arrays = [np.array(values, np.int64) for values in (begins, ends, counts)]
    whole = np.frombuffer(bytes(content), np.uint8)
    together, wrong = records_in_step(whole, *arrays)
    alone, also_wrong = records_one_by_one(whole, *arrays, np.arange(len(begins)))
    assert wrong is None
    assert also_wrong is None
    for mine, theirs in zip(together, alone, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert len(together[0]) == sum(counts)


def test_values_that_are_numbers(tmp_path: Path) -> None:
    """A number has up to twelve ASCII digits without a leading zero."""
    values = [b"0", b"7", b"999999999999", b"1000000000000", b"007", b"", b"-1", b"1a", b"\xff", b"12 "]
    walked = read_segment(write_log(tmp_path, "t-0", [sent(0, P, 0, *values)]), 0)
    numbers = records_of(walked, np.arange(1)).numbers().tolist()
    assert numbers == [0, 7, 999_999_999_999, -1, -1, -1, -1, -1, -1, -1]


def test_a_header_is_sixty_one_bytes() -> None:
    """Kafka's constant is DefaultRecordBatch.RECORD_BATCH_OVERHEAD."""
    assert HEADER.itemsize == 61
