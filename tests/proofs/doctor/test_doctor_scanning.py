"""Partitions that are read on workers, in cuts of segments, are judged as if they were read here, one after another."""

import shutil
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from checked_logs import data, mark
from command_line import fencepost
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor.diagnosis import examine
from fencepost.proofs.doctor.partition_checks import PartitionLedger
from fencepost.proofs.doctor.scanning import Cut, cuts, scan
from fencepost.proofs.doctor.source import DiskSource, Producers, Stored
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import INDEX, Place, each_segment, position_before
from prepared_stream import Stream, planted
from transaction_logs import checkpoint, real_logs, write_log

Workers = Callable[[int], Executor]


@pytest.fixture
def planted_logs(tmp_path: Path) -> Path:
    """Four segments of each partition, with a gap and a marker that lies, in the second one."""
    node, stream = tmp_path / "node-1", Stream(producers=60, partitions=3, logs=2, rounds=3)
    for number, chunk in enumerate(stream.chunks(4)):
        for place, content in planted(chunk) if number == 1 else chunk:
            write_log(node, str(place), [content], first=int.from_bytes(content[:8]))
    checkpoint(node, "replication-offset-checkpoint", {(p.topic, p.partition): end for p, end in stream.ends.items()})
    return node


def threads(number: int) -> Executor:
    return ThreadPoolExecutor(min(number, 3))


@pytest.mark.parametrize("cut", [1, 40_000, 1 << 30])
@pytest.mark.parametrize("since_ms", [-1, 1])
def test_the_same_in_any_cuts(planted_logs: Path, cut: int, since_ms: int) -> None:
    """Findings, counts, markers and open transactions, from segments one by one, in pairs, and all at once."""
    alone = examine(DiskSource([planted_logs]), since_ms=since_ms)
    assert {each.kind for each in alone.broken} == {"gap", "both_outcomes"}
    assert examine(DiskSource([planted_logs]), since_ms=since_ms, workers=threads, cut=cut) == alone


def test_the_same_from_recorded_logs(tmp_path: Path) -> None:
    logs = real_logs(tmp_path)
    alone = examine(DiskSource(logs))
    assert alone.batches and examine(DiskSource(logs), workers=threads, cut=1) == alone


def test_cuts_are_of_whole_segments(planted_logs: Path) -> None:
    source, place = DiskSource([planted_logs]), Place("t", 0)
    ones, end = cuts(source, place, size=1), source.ends(place)[2]
    assert [each.first for each in ones] == [0, *(each.until for each in ones[:-1])]
    assert (len(ones), ones[-1].until) == (4, end)
    assert [(each.first, each.until) for each in cuts(source, place)] == [(0, end)]


def test_a_segment_that_overlaps_the_cut_before_it(planted_logs: Path) -> None:
    """As within one cut: the error names the file."""
    files = sorted((planted_logs / "t-0").glob("*.log"))
    shutil.copyfile(files[1], files[1].with_name(f"{int(files[1].stem) - 1:020}.log"))
    files[1].unlink()
    with pytest.raises(RecordingError, match="two copies are mixed"):
        examine(DiskSource([planted_logs]), workers=threads, cut=1)


def test_a_worker_without_the_directory(tmp_path: Path) -> None:
    place = Place("t", 0)
    with pytest.raises(InputError, match=r"not on the worker .*: mount the directories there"):
        scan(Cut(place, Stored(tmp_path / "t-0", 0, 1), 0, 1, 0), PartitionLedger(place, 0, True), Producers(place))


def test_portions_are_the_segment(planted_logs: Path) -> None:
    """Whatever their size, from the beginning and from where the index says that an offset is."""
    folder = planted_logs / "t-0"
    whole = np.concatenate([each.headers for each in each_segment(folder)])
    for size in (1, 1000, 1 << 20):
        assert np.array_equal(np.concatenate([each.headers for each in each_segment(folder, size=size)]), whole)
    (first, *_) = each_segment(folder)
    rows = np.arange(3, len(first.headers), 4)
    entries = np.zeros(len(rows) + 5, INDEX)  # zeros follow, as a broker leaves them
    entries["offset"][: len(rows)], entries["position"][: len(rows)] = first.last_offsets[rows], first.positions[rows]
    first.file.with_suffix(".index").write_bytes(entries.tobytes())
    for offset in range(len(first.headers)):
        assert position_before(first.file, offset) == first.positions[max(0, (offset + 1) // 4 * 4 - 1)]
        (rest, *_) = each_segment(folder, since=offset)
        assert np.array_equal(rest.headers, first.headers[-len(rest.headers) :])
        assert rest.headers["base_offset"][0] <= offset
    assert len(next(each_segment(folder, since=len(first.headers) - 1)).headers) < 5
    with first.file.with_suffix(".index").open("r+b") as preallocated:
        preallocated.truncate(10 * 1024 * 1024)  # as a broker does for the last segment; no more is read than is there
    expected = [first.positions[max(0, (offset + 1) // 4 * 4 - 1)] for offset in range(len(first.headers))]
    tracemalloc.start()
    assert [position_before(first.file, offset) for offset in range(len(first.headers))] == expected
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    entries["position"] += 1
    first.file.with_suffix(".index").write_bytes(entries.tobytes())
    assert position_before(first.file, len(first.headers) - 1) == 0


@pytest.mark.nightly
def test_the_command_on_spark(planted_logs: Path) -> None:
    """The report is the same byte for byte, and of brokers and of a stream that is followed Spark reads nothing."""
    write_log(planted_logs, "u-0", [data(0, (900, 0), 0), mark(1, (900, 1), 1)])
    reports = []
    for options in ((), ("--master", "local[2]")):
        file = planted_logs.parent / f"report-{len(reports)}.json"
        ran = fencepost("doctor", "--logs", planted_logs, *options, "--json", file)
        assert ran.code == 1, ran.err
        reports.append((ran.out, file.read_bytes()))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("of", [("--bootstrap", "localhost:1"), ("--logs", "x", "--follow")])
def test_what_spark_does_not_read(of: tuple[str, ...]) -> None:
    ran = fencepost("doctor", *of, "--master", "local[2]")
    assert (
        ran.code,
        f"--master reads --logs DIR... on Spark, and is not for {of[-1 if len(of) > 2 else 0]}" in ran.err,
    ) == (2, True)
