"""What is committed is computed from all replicas and their checkpoints, and contradictory copies are refused."""

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

import metadata_logs
import pytest
from fencepost.proofs.recording import RecordingError
from fencepost.proofs.recording.logs.log import TOPIC as METADATA
from fencepost.proofs.recording.logs.log_dirs import Place, read_log_dir, read_replica
from fencepost.proofs.recording.logs.replicas import Committed, committed_part
from fencepost.proofs.recording.transactions.cluster_logs import ClusterLogs, read_cluster
from transaction_logs import TOPIC, batch, checkpoint, marker, real_logs, segment, sent, starts, write_log

P = (7, 0)
FIVE = [sent(0, P, 0, b"1"), sent(1, P, 1, b"2"), sent(2, P, 2, b"3"), sent(3, P, 3, b"4"), marker(4, P, True)]


def nodes(folder: Path, *logs: Sequence[bytes], marks: Sequence[int] = ()) -> list[Path]:
    """Return one directory for each log of partition t-0, with the high watermarks that the nodes recorded."""
    found = []
    for number, log in enumerate(logs, 1):
        write_log(folder / str(number), "t-0", log, node=number)
        found.append(folder / str(number))
    for directory, mark in zip(found, marks, strict=False):
        checkpoint(directory, "replication-offset-checkpoint", {("t", 0): mark})
    return found


def read(paths: Sequence[Path]) -> ClusterLogs:
    return read_cluster(paths, lambda place: True)


def committed(paths: Sequence[Path]) -> Committed:
    """Return the one data partition in these directories."""
    (part,) = read(paths).data
    return part


def refusal(paths: Sequence[Path]) -> str:
    """Return the one-line message with which the directories are refused."""
    with pytest.raises(RecordingError) as refused:
        read(paths)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_one_replica_is_committed_whole(tmp_path: Path) -> None:
    assert committed(nodes(tmp_path, FIVE, marks=[2])).end == 5


def test_what_all_replicas_hold_is_committed(tmp_path: Path) -> None:
    """A tail that one replica lacks is left out and noted, and the longest copy is read."""
    part = committed(nodes(tmp_path, FIVE[:3], FIVE, FIVE[:4]))
    assert (part.end, part.replica.node) == (3, 2)
    assert "t-0: offsets 3 to 4 are not on all replicas in sync and count as uncommitted" in part.notes


def test_a_high_watermark_commits_beyond_a_lagging_replica(tmp_path: Path) -> None:
    """A replica that is not in sync delays nothing, since any node's checkpoint is a lower bound for all."""
    assert committed(nodes(tmp_path, FIVE[:1], FIVE, FIVE[:4], marks=[1, 2, 4])).end == 4


T_0 = struct.pack(">i", 0) + bytes(15) + b"\x09"  # a partition's number and its topic's id, as records have them
TOPIC_T = (1, None, b"\x01\x02\x00" + b"\x02t" + T_0[4:] + b"\x00")


def ids(*numbers: int) -> bytes:
    """Encode a compact array of nodes."""
    return bytes([len(numbers) + 1]) + b"".join(struct.pack(">i", number) for number in numbers)


def partition_t(*in_sync: int) -> metadata_logs.Entry:
    """Encode partition t-0 with replicas on nodes 1 to 3, of which these are in sync."""
    value = T_0 + ids(1, 2, 3) + ids(*in_sync) + ids() + ids() + struct.pack(">iii", 1, 0, 0) + b"\x00"
    return (1, None, b"\x01\x03\x00" + value)


def change_t(*in_sync: int) -> metadata_logs.Entry:
    """Encode a change of the replicas in sync of partition t-0."""
    changed = ids(*in_sync)
    return (1, None, b"\x01\x05\x00" + T_0 + b"\x01\x00" + bytes([len(changed)]) + changed)


def give_metadata(directory: Path, entries: Sequence[metadata_logs.Entry], start: int = 0) -> Path:
    """Put a metadata log of one voter into a log directory, and return the arguments of `write_snapshot`."""
    made = metadata_logs.write_log(
        directory.parent / "metadata", 1, [metadata_logs.elected(1, 1, [1]), *entries], start=start
    )
    shutil.copytree(made / METADATA, directory / METADATA)
    return directory


@pytest.mark.parametrize(("nodes_in_sync", "later", "end"), [
    ([1, 2, 3], None, 3), ([1, 2], None, 4), ([1, 2, 3], [1, 2], 4), ([2], [2, 1, 3], 3), ([2], None, 5), ([], None, 3),
])  # fmt: skip
def test_only_replicas_in_sync_are_asked(
    tmp_path: Path, nodes_in_sync: Sequence[int], later: Sequence[int] | None, end: int
) -> None:
    """A replica that lags, as after a restart, delays nothing if the metadata log has it as not in sync."""
    directories = nodes(tmp_path, FIVE[:4], FIVE, FIVE[:3])
    changes = [] if later is None else [change_t(*later)]
    give_metadata(directories[0], [TOPIC_T, partition_t(*nodes_in_sync), *changes])
    assert committed(directories).end == end


def test_a_snapshot_tells_who_is_in_sync(tmp_path: Path) -> None:
    """A snapshot replaces the deleted start of the metadata log, which continues from it."""
    directories = nodes(tmp_path, FIVE[:4], FIVE, FIVE[:3])
    give_metadata(directories[0], [change_t(1, 2)], start=7)
    metadata_logs.write_snapshot(directories[0], 7, 1, [TOPIC_T, partition_t(1, 2, 3)])
    assert committed(directories).end == 4
    assert "has replicas on nodes 1, 2, 3, but node 3's" in refusal(directories[:2])


def test_one_metadata_log_that_cannot_be_read_is_no_loss(tmp_path: Path) -> None:
    """An unreadable metadata log is refused only if no other one has the same content."""
    directories = nodes(tmp_path, FIVE[:4], FIVE, FIVE[:3])
    for directory in directories[:2]:
        shutil.rmtree(tmp_path / "metadata", ignore_errors=True)
        give_metadata(directory, [TOPIC_T, partition_t(1, 2)])
    (directories[0] / METADATA / "quorum-state").write_text("rubbish")
    assert committed(directories).end == 4
    (directories[1] / METADATA / "quorum-state").write_text("rubbish")
    assert "is not Kafka's quorum state" in refusal(directories)


def test_who_comes_into_sync_meanwhile_holds_nothing_up(tmp_path: Path) -> None:
    """Of two readings of the replicas in sync, before and after the logs are read, the one that commits more counts."""
    directories = nodes(tmp_path, FIVE[:4], FIVE, FIVE[:3])
    copies = [read_replica(read_log_dir(directory), Place("t", 0)) for directory in directories]
    both, all_of_them = frozenset({1, 2}), frozenset({1, 2, 3})
    assert committed_part(copies, [both, all_of_them]).end == 4
    assert committed_part(copies, [all_of_them, both]).end == 4
    assert committed_part(copies, [all_of_them]).end == 3


def test_a_deposed_leaders_tail_is_left_out(tmp_path: Path) -> None:
    old, new = [*FIVE[:3], sent(3, P, 3, b"9"), sent(4, P, 4, b"9")], [*FIVE[:3], sent(3, P, 3, b"4", epoch=1)]
    part = committed(nodes(tmp_path, old, new))
    assert (part.end, part.replica.node) == (3, 2)
    assert "t-0 on node 1: offsets 3 to 4 are a deposed leader's" in part.notes


def test_one_offset_with_two_contents_is_refused(tmp_path: Path) -> None:
    line = refusal(nodes(tmp_path, FIVE, [*FIVE[:2], sent(2, P, 2, b"8")]))
    assert "offset 2 of leader epoch 0 is not the batch that" in line


def test_copies_that_part_below_a_high_watermark_are_refused(tmp_path: Path) -> None:
    """Such copies need an unclean election, or were made at different times."""
    other = [*FIVE[:2], sent(2, P, 2, b"8", epoch=1), sent(3, P, 3, b"8", epoch=1)]
    line = refusal(nodes(tmp_path, FIVE, other, marks=[4, 2]))
    assert "at offset 2, though all below offset 4 is committed" in line


def test_a_high_watermark_beyond_every_copy_is_refused(tmp_path: Path) -> None:
    line = refusal(nodes(tmp_path, FIVE[:2], FIVE[:3], marks=[2, 5]))
    assert "all below offset 5 is committed, but no copy goes beyond offset 2" in line


def test_a_torn_tail_is_noted(tmp_path: Path) -> None:
    """A running or killed broker leaves a torn tail in the last segment, and everything before it counts."""
    part = committed(nodes(tmp_path, [*FIVE[:4], FIVE[4][:30]]))
    assert part.end == 4
    assert (
        "t-0 on node 1: 00000000000000000000.log ends inside the batch at offset 4 (30 bytes of it left)" in part.notes
    )


def test_a_cut_before_a_later_segment_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, "t-0", [FIVE[0], FIVE[1][:40]])
    file = write_log(tmp_path, "t-0", FIVE[2:], first=2)
    line = refusal([tmp_path])
    assert f"{segment(tmp_path, 't-0')} byte {len(FIVE[0])}: a record batch is cut in half (40 bytes left)" in line
    assert "although a later segment follows" in line
    assert file.exists()


def test_a_missing_segment_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, "t-0", FIVE[:1])
    write_log(tmp_path, "t-0", FIVE[3:], first=3)
    assert f"{tmp_path / 't-0'}: offsets 1 to 2 are missing" in refusal([tmp_path])


def test_a_cleaned_topic_has_gaps(tmp_path: Path) -> None:
    write_log(tmp_path, "t-0", [FIVE[0], FIVE[3], FIVE[4]])
    checkpoint(tmp_path, "cleaner-offset-checkpoint", {("t", 0): 4})
    part = committed([tmp_path])
    assert (part.end, part.whole) == (5, False)
    assert part.whole_from(3)
    assert part.missing == "t-0 is compacted between offsets 1 and 3"


def test_deleted_records_are_noted(tmp_path: Path) -> None:
    """Retention removes whole segments, and DeleteRecords moves the log's start within one."""
    write_log(tmp_path, "t-0", FIVE[1:], first=1)
    checkpoint(tmp_path, "log-start-offset-checkpoint", {("t", 0): 2})
    part = committed([tmp_path])
    assert (part.replica.start, part.whole) == (2, False)
    assert part.missing == "t-0 begins at offset 2, as what was before is deleted"
    assert (part.begins(), part.begins(4), part.whole_from(1), part.whole_from(3)) == (2, 4, False, True)


def test_what_is_deleted_within_a_batch_takes_all_of_it(tmp_path: Path) -> None:
    """DeleteRecords may name any offset, and the log is complete from the next batch on."""
    write_log(tmp_path, "t-0", [batch(0, [(None, b"x")] * 3), batch(3, [(None, b"x")] * 2)])
    checkpoint(tmp_path, "log-start-offset-checkpoint", {("t", 0): 2})
    part = committed([tmp_path])
    assert (part.replica.start, part.begins(), part.begins(4)) == (2, 3, 5)


def test_what_is_set_aside_is_no_partition(tmp_path: Path) -> None:
    write_log(tmp_path, "t-0", FIVE)
    for word in ("delete", "future", "stray"):
        write_log(tmp_path, f"t-0.{'0' * 32}-{word}", [b"rubbish that nobody reads"])
    assert committed([tmp_path]).end == 5


def test_real_logs_are_of_one_length(tmp_path: Path) -> None:
    logs = read(real_logs(tmp_path))
    assert logs.nodes == (1, 2, 3)
    assert [part.place.topic for part in logs.transaction_log] == ["__transaction_state"]
    assert len(logs.data) == 8
    assert all(part.whole and part.end == part.replica.end for part in logs.all)
    assert not logs.notes
    assert not logs.changed


def test_a_missing_node_is_refused(tmp_path: Path) -> None:
    line = refusal(real_logs(tmp_path)[:2])
    assert "has replicas on nodes 1, 2, 3, but node 3's is not among the directories" in line


@pytest.mark.parametrize(("in_sync", "end"), [([1, 2], 4), ([2], 5), ([1, 2, 3], None), ([], None)])
def test_a_lost_replica_matters_if_it_was_in_sync(tmp_path: Path, in_sync: Sequence[int], end: int | None) -> None:
    """A partition whose commits only a lost replica decides counts as absent if the caller declares the loss."""
    directories = nodes(tmp_path, FIVE[:4], FIVE)
    give_metadata(directories[0], [TOPIC_T, partition_t(*in_sync)])
    assert "has replicas on nodes 1, 2, 3, but node 3's" in refusal(directories)
    logs = read_cluster(directories, lambda place: True, incomplete=True)
    assert [part.end for part in logs.data] == ([] if end is None else [end])
    assert logs.absent == ((Place("t", 0),) if end is None else ())


def test_a_partition_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    directories = real_logs(tmp_path)
    for directory in directories:
        shutil.rmtree(directory / f"{TOPIC}-1")
    assert f"the metadata log knows {TOPIC}-1, but none of the directories holds it" in refusal(directories)


def test_without_a_metadata_log_nothing_is_missing(tmp_path: Path) -> None:
    """Directories of pure brokers do not name the other replicas, which is noted."""
    logs = read(nodes(tmp_path, FIVE))
    assert "no metadata log among the directories: whether a replica is missing cannot be told" in logs.notes


def test_two_clusters_are_refused(tmp_path: Path) -> None:
    first, second = nodes(tmp_path, FIVE, FIVE)
    (second / "meta.properties").write_text("node.id=2\ncluster.id=another\n")
    assert f"{second}: belongs to cluster another, but {first} to cluster" in refusal([first, second])


def test_one_replica_twice_is_refused(tmp_path: Path) -> None:
    (first,) = nodes(tmp_path, FIVE)
    again = Path(shutil.copytree(first, tmp_path / "again"))
    assert f"{again}: holds node 1's copy of t-0, as does {first}" in refusal([first, again])


def test_what_is_no_log_directory_is_refused(tmp_path: Path) -> None:
    (directory,) = nodes(tmp_path, FIVE)
    assert "no such directory" in refusal([tmp_path / "nowhere"])
    assert "holds no meta.properties" in refusal([tmp_path])
    assert f"name the log directory that it is in, {directory}" in refusal([directory / "t-0"])
    (directory / "log-start-offset-checkpoint").write_text("0\n2\nt 0 1\n")
    assert "is not a checkpoint of offsets: 2 entries promised, 1 there" in refusal([directory])
    (directory / "log-start-offset-checkpoint").write_text("0\n0\n")
    segment(directory, "t-0").unlink()
    assert "holds no segment (*.log)" in refusal([directory])
    (directory / "meta.properties").write_text("version=1\n")
    assert "lacks node.id or cluster.id" in refusal([directory])


def test_a_topic_made_anew_is_not_mixed_up(tmp_path: Path) -> None:
    """Copies of different times may have two topics of one name, with different ids."""
    directories = nodes(tmp_path, FIVE, FIVE)
    for number, directory in enumerate(directories):
        (directory / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: id-{number}\n")
    assert "t-0 is of another topic (id id-0) than in another directory (id id-1)" in refusal(directories)


def test_a_damaged_batch_names_file_and_byte(tmp_path: Path) -> None:
    directories = real_logs(tmp_path)
    file = segment(directories[1], f"{TOPIC}-0")
    content, at = bytearray(file.read_bytes()), starts(file)[3]
    content[at + 40] ^= 1
    file.write_bytes(content)
    assert f"{file} byte {at}: the batch at offset 3 fails its checksum" in refusal(directories)


def test_compaction_within_a_batch_is_a_gap(tmp_path: Path) -> None:
    write_log(
        tmp_path, "__transaction_state-0", [batch(0, [(None, b"1"), (None, b"3")], last=2), batch(3, [(None, b"4")])]
    )
    (part,) = read([tmp_path]).transaction_log
    assert (part.end, part.whole) == (4, False)
    assert part.replica.gaps == ((0, 3),)
