"""A node's log directory is read to the last batch, or refused in one line that says what, where and what to do."""

import re
import shutil
import struct
from pathlib import Path

import pytest
from crc32c import crc32c
from fencepost.proofs.recording import RecordingError
from fencepost.proofs.recording.id_blocks.records import read_facts
from fencepost.proofs.recording.logs.log import TOPIC, read_node
from metadata_logs import NOOP, elected, positions, real_logs, replace, segment, write_log


def refusal(directory: Path) -> str:
    """The one line with which the directory is refused."""
    with pytest.raises(RecordingError) as refused:
        read_node(directory)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_real_log_is_read_whole(tmp_path: Path) -> None:
    """Node 1's two segments follow on from offset 0, and its snapshot is found; the path may end in the partition."""
    directory = real_logs(tmp_path)[0]
    log = read_node(directory)
    assert (log.node, log.start, log.tear, log.voters) == (1, 0, None, frozenset({1, 2, 3}))
    offsets = [(batch.base_offset, batch.last_offset) for batch in log.batches]
    assert [base for base, _ in offsets] == [0, *(last + 1 for _, last in offsets[:-1])]
    assert [snapshot.end_offset for snapshot in log.snapshots] == [108]
    assert read_node(directory / TOPIC) == log


def test_a_tear_at_the_end_is_reported_with_its_place(tmp_path: Path) -> None:
    """Cutting the last batch anywhere, down to its first byte, gives the same tear and loses that batch only."""
    directory = real_logs(tmp_path)[0]
    file, whole = segment(directory), read_node(directory)
    content, last = file.read_bytes(), positions(segment(directory))[-1]
    for end in range(last + 1, len(content)):
        file.write_bytes(content[:end])
        torn = read_node(directory)
        assert torn.tear is not None
        assert (torn.tear.position, torn.tear.bytes_left) == (last, end - last)
        assert torn.batches == whole.batches[:-1]


def test_zeros_at_the_end_are_a_tear(tmp_path: Path) -> None:
    """A tail that was allocated and never written, as a power failure leaves it, is a tear."""
    directory = real_logs(tmp_path)[0]
    with segment(directory).open("ab") as out:
        out.write(bytes(500))
    tear = read_node(directory).tear
    assert tear is not None
    assert tear.bytes_left == 500


def test_a_cut_in_an_earlier_segment_is_refused(tmp_path: Path) -> None:
    """Only the last segment can be cut by a crash."""
    directory = real_logs(tmp_path)[0]
    file = segment(directory, 0)
    at = positions(file)[-1]
    file.write_bytes(file.read_bytes()[: at + 30])
    line = refusal(directory)
    assert f"{file} byte {at}: a record batch is cut in half (30 bytes left) although a later segment follows" in line
    assert "copy this one again" in line


@pytest.mark.parametrize("back", [1, 40, 61])
def test_a_flipped_bit_is_refused(tmp_path: Path, back: int) -> None:
    """Any change to what the CRC covers is told with file and position, in the last batch as in any other."""
    directory = real_logs(tmp_path)[0]
    file = segment(directory)
    for at, end in list(zip(positions(file), [*positions(file)[1:], file.stat().st_size], strict=True))[::5]:
        content = bytearray(file.read_bytes())
        content[max(end - back, at + 21)] ^= 4
        damaged = shutil.copytree(directory, tmp_path / f"damaged-{at}")
        segment(damaged).write_bytes(content)
        assert f"{segment(damaged)} byte {at}: the batch at offset" in (line := refusal(damaged))
        assert "fails its checksum" in line


def test_a_missing_segment_is_refused(tmp_path: Path) -> None:
    """A gap between segments is reported with the offsets that are missing."""
    directory = real_logs(tmp_path)[0]
    file = segment(directory, 0)
    at = positions(file)[-1]
    file.write_bytes(file.read_bytes()[:at])
    assert re.search(r"offsets \d+ to 80 are missing", refusal(directory))


def test_a_batch_twice_is_refused(tmp_path: Path) -> None:
    """A batch that does not follow on from the one before is refused at its position."""
    directory = real_logs(tmp_path)[0]
    file = segment(directory)
    content, last = file.read_bytes(), positions(file)[-1]
    file.write_bytes(content + content[last:])
    assert f"{file} byte {len(content)}: a batch with offset" in refusal(directory)


def test_an_epoch_below_none_is_refused(tmp_path: Path) -> None:
    """The CRC does not cover a batch's leader epoch: the sign bit of the very first one is missed by nothing else."""
    directory = write_log(tmp_path, 1, [(1, None, NOOP)])
    content = bytearray(segment(directory).read_bytes())
    content[12] ^= 0x80
    segment(directory).write_bytes(content)
    assert "the batch at offset 0 has leader epoch -2147483647 after epoch -1" in refusal(directory)


def test_what_is_no_kafka_log_is_refused(tmp_path: Path) -> None:
    """Text, however short, is not taken for a torn log."""
    directory = real_logs(tmp_path)[0]
    for text in ("x", "hello, world", "2026-01-01 12:00:00 INFO a log, but not of this kind\n" * 9):
        segment(directory, 0).write_text(text)
        line = refusal(directory)
        assert "byte 0: no Kafka record batch (format version 2) begins here; this is not a Kafka log" in line


def test_a_compressed_batch_is_refused(tmp_path: Path) -> None:
    """The metadata log is never compressed: a compressed batch is another topic's."""
    directory = write_log(tmp_path, 1, [(1, None, NOOP)])
    attributes_and_delta = b"\x00\x00" + bytes(4)
    assert replace(segment(directory), attributes_and_delta + b"\x00\x00\x01", b"\x00\x02" + bytes(4) + b"\x00\x00\x01")
    assert "is compressed" in refusal(directory)


def test_missing_directories_and_files_are_named(tmp_path: Path) -> None:
    """No directory, no metadata partition, no segment, no meta.properties, no quorum-state: each is told by name."""
    nowhere = tmp_path / "nowhere"
    assert f"{nowhere}: no such directory; name a controller's metadata.log.dir" in refusal(nowhere)
    (tmp_path / "orders-0").mkdir()
    assert f"holds no {TOPIC}" in refusal(tmp_path / "orders-0")
    for name in ("meta.properties", f"{TOPIC}/quorum-state"):
        directory = real_logs(tmp_path / name.replace("/", "-"))[0]
        (directory / name).unlink()
        assert f"{directory / name}: cannot be read: No such file or directory" in refusal(directory)
    directory = real_logs(tmp_path / "bare")[0]
    for file in (directory / TOPIC).glob("*.log"):
        file.unlink()
    assert "holds no segment" in refusal(directory)


def test_another_topics_partition_is_refused(tmp_path: Path) -> None:
    """A renamed folder of another topic is known by the topic id in it."""
    directory = real_logs(tmp_path)[0]
    (directory / TOPIC / "partition.metadata").write_text("version: 0\ntopic_id: 5vJ0Q3mDRkK1yQe5o0n5bA")
    assert f"is another topic's, not {TOPIC}'s" in refusal(directory)


def test_a_damaged_quorum_state_is_refused(tmp_path: Path) -> None:
    """So is one that is older than the log beside it."""
    directory = real_logs(tmp_path)[0]
    state = directory / TOPIC / "quorum-state"
    state.write_text("{")
    assert f"{state}: is not Kafka's quorum state" in refusal(directory)
    state.write_text('{"leaderEpoch": 1}')
    assert "says leader epoch 1, but the log beside it has records of epoch" in refusal(directory)


def test_half_a_snapshot_is_refused(tmp_path: Path) -> None:
    """Kafka renames snapshots when they are whole, so half of one is a bad copy."""
    directory = real_logs(tmp_path)[0]
    (file,) = (directory / TOPIC).glob("*.checkpoint")
    file.write_bytes(file.read_bytes()[:-10])
    assert "the snapshot is cut in half" in refusal(directory)


def test_a_record_that_is_not_the_controllers_is_refused(tmp_path: Path) -> None:
    """With its checksum right: headers, a length that is not its own, and a message of an election that is none."""
    for name, entry, back, byte in (
        ("headers", (1, None, NOOP), 1, 2),
        ("length", (1, None, NOOP), len(NOOP) + 2, 2 * (len(NOOP) - 1)),
        ("no election", (1, elected(1, 1)[1], b"\0\0\x01\x7f"), 1, 0),
    ):
        file = segment(write_log(tmp_path / name, 1, [entry]))
        content = bytearray(file.read_bytes())
        content[-back] = byte
        struct.pack_into(">I", content, 17, crc32c(bytes(content[21:])))
        file.write_bytes(content)
        (batch,) = read_node(file.parent).batches
        with pytest.raises(RecordingError, match="the batch at offset 0 is not the metadata log's: "):
            list(read_facts([batch]))
