"""How fast brokers' logs are recorded and judged, beside reading the file and beside other libraries: read the ratios.

    pytest -n 0 -s -m nightly tests/benchmarks/test_recording_rate.py

The segment repeats the bytes of batches that live Kafka wrote, with offsets and producer ids (and CRCs) of their own,
so that all of it is one log that holds. Times are CPU times of this process: other work on the machine does not count.
"""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crc32c import crc32c
from fencepost.proofs.recording import record_transactions
from fencepost.proofs.recording.logs.record_columns import records_of, records_one_by_one
from fencepost.proofs.recording.logs.segments import read_segment
from fencepost.proofs.scale.replay import replay
from kio.records.readers import read_batch
from transaction_logs import REAL, TOPIC, segment, starts, write_log

pytestmark = pytest.mark.nightly

SAMPLE = 20_000  # batches for what takes too long on all of them
SIZES = [pytest.param(12_000_000, id="12 MB"), pytest.param(110_000_000, id="110 MB")]


def repeated(unit: Path, size: int) -> bytes:
    """At least `size` bytes of a real segment's batches, over and over; the n-th time producer ids are n higher."""
    content, begins = unit.read_bytes(), np.array(starts(unit))
    records = read_segment(unit, 0).last_offsets[-1] + 1
    times = -(-size // len(content))
    whole = np.frombuffer(content * times, np.uint8).copy()
    at = (begins + np.arange(times)[:, None] * len(content)).ravel()
    again = np.repeat(np.arange(times), len(begins))
    for field, step in ((0, int(records)), (43, 1)):  # base offset and producer id, each of 8 bytes
        window = at[:, None] + field + np.arange(8)
        values = whole[window].view(">i8")[:, 0] + again * step
        whole[window] = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    view = memoryview(whole)
    ends = np.append(at[1:], len(whole))
    sums = [crc32c(view[begin + 21 : end]) for begin, end in zip(at.tolist(), ends.tolist(), strict=True)]
    whole[at[:, None] + 17 + np.arange(4)] = np.array(sums, ">u4").view(np.uint8).reshape(-1, 4)
    return whole.tobytes()


@pytest.fixture(scope="module", params=SIZES)
def log_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one partition of one segment."""
    directory = tmp_path_factory.mktemp("rates")
    write_log(directory, "t-0", [repeated(segment(REAL / "node-1", f"{TOPIC}-0"), request.param)])
    return directory


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the second run, which finds everything in memory; and its result."""
    work()
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def reported(what: str, seconds: float, size: int, events: int, unit: str) -> float:
    """Print one line of rates; returns things a second."""
    print(f"{what:<44} {size / 1e6 / seconds:8,.0f} MB/s {events / seconds:12,.0f} {unit}/s")
    return events / seconds


def test_headers_and_records(log_dir: Path) -> None:
    """Headers are walked more than ten times as fast as kio reads batches, and faster than kafka-python's headers."""
    file = segment(log_dir, "t-0")
    size = file.stat().st_size
    reading, content = spent(file.read_bytes)
    walking, walked = spent(lambda: read_segment(file, 0, checksums=False))
    batches = len(walked.headers)
    print(f"\n{batches:,} batches, {size:,} bytes")
    reported("reading the file, from memory", reading, size, batches, "batches")
    headers = reported("headers", walking, size, batches, "batches")
    checked, _ = spent(lambda: read_segment(file, 0))
    reported("headers and CRC-32C", checked, size, batches, "batches")
    rows = np.arange(batches)
    finding, records = spent(lambda: records_of(walked, rows))
    in_step = reported("keys and values of records", finding, size, len(records.batch), "records")

    few = rows[:SAMPLE]
    begins = walked.positions[few] + 61
    ends = np.append(walked.positions, size)[few + 1]
    counts = walked.headers["count"][few].astype(np.int64)
    singly, _ = spent(lambda: records_one_by_one(walked.content, begins, ends, counts, few))
    part = int(ends[-1])
    one_by_one = reported("the same, one by one", singly, part, int(counts.sum()), "records")
    kio, _ = spent(lambda: [read_batch(content[at : at + 400], 0) for at in walked.positions[few].tolist()])
    kios = reported("kio, whole batches", kio, part, SAMPLE, "batches")
    memory_records = pytest.importorskip("kafka.record.memory_records").MemoryRecords
    seconds, seen = spent(lambda: _headers_by_kafka_python(memory_records(content[:part])))
    assert seen == SAMPLE
    pythons = reported("kafka-python, headers", seconds, part, SAMPLE, "batches")
    assert headers > 10 * kios
    assert headers > pythons
    assert in_step > 1.5 * one_by_one


def _headers_by_kafka_python(records: Any) -> int:
    count = 0
    while records.has_next():
        batch = records.next_batch()
        count += batch.base_offset >= 0
    return count


def test_recording_and_replay(log_dir: Path, tmp_path: Path) -> None:
    """All of it, CRCs, records, and Parquet written, takes less than a third of what kio takes to read the batches."""
    file = segment(log_dir, "t-0")
    size, content = file.stat().st_size, file.read_bytes()
    outs = (tmp_path / f"out-{run}" for run in itertools.count())
    recording, recorded = spent(lambda: record_transactions([log_dir], None, next(outs)))
    events = sum(recorded.counts.values())
    print()
    whole = reported("recorded", recording, size, events, "events")
    judging, report = spent(lambda: replay(tmp_path / "out-1", cores=1))
    reported("replayed, all decidable properties", judging, size, events, "events")
    assert report.holds
    assert report.events == events == read_segment(file, 0, checksums=False).last_offsets[-1] + 1
    assert report.judged["sequences_follow_on"] == recorded.counts["batch_appended"]
    positions = read_segment(file, 0, checksums=False).positions[:SAMPLE].tolist()
    kio, _ = spent(lambda: [read_batch(content[at : at + 400], 0) for at in positions])
    assert whole > 3 * SAMPLE / kio


def test_the_segment_is_a_log_of_its_own(log_dir: Path) -> None:
    """Each repetition has producer ids of its own, and offsets follow on: nothing in it is there twice."""
    walked = read_segment(segment(log_dir, "t-0"), 0)
    base = walked.headers["base_offset"].astype(np.int64)
    assert (base[1:] == walked.last_offsets[:-1] + 1).all()
    per_unit = len(starts(segment(REAL / "node-1", f"{TOPIC}-0")))
    first = struct.unpack_from(">q", segment(REAL / "node-1", f"{TOPIC}-0").read_bytes(), 43)[0]
    assert walked.headers["producer_id"][::per_unit].tolist() == [first + n for n in range(len(base) // per_unit)]
