"""How fast the doctor reads directories, here and on Spark, in megabytes a processor second.

    pytest -n 0 -s -m nightly tests/benchmarks/test_doctor_rates.py

The logs have batches of 16 records of 1 KB, in segments of 256 MB. Processor time is of the processes that read.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from fencepost.proofs.doctor.diagnosis import Examined, examine
from fencepost.proofs.doctor.source import DiskSource
from fencepost.proofs.scale.spark import Tasks
from fencepost.proofs.scale.units import SparkSettings
from large_logs import large_logs

PARTITIONS, SIZE = 4, 1 << 29
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]


class Workers:
    """What Spark's Python workers have used: seconds of a core, and at most so many bytes of their own memory."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}
        self.memory = 0

    def look(self) -> None:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                if b"pyspark.daemon" not in stat.with_name("cmdline").read_bytes():
                    continue
                own = [line for line in stat.with_name("status").read_text().splitlines() if "RssAnon" in line]
                if stat.with_name("environ").read_bytes().find(f"FENCEPOST_OF={os.getpid()}".encode()) < 0 or not own:
                    continue
                used = stat.read_text().rpartition(")")[2].split()[11:13]
            except OSError:
                continue
            self.seconds[int(stat.parent.name)] = sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
            self.memory = max(self.memory, int(own[0].split()[1]) * 1024)


@contextmanager
def watched() -> Iterator[Workers]:
    workers, over = Workers(), Event()

    def watch() -> None:
        while not over.wait(1):
            workers.look()

    thread = Thread(target=watch)
    thread.start()
    try:
        yield workers
    finally:
        over.set()
        thread.join()


def test_directories(benchmark: Any, tmp_path: Path) -> None:
    size = large_logs(tmp_path / "node", PARTITIONS, SIZE)
    made: list[tuple[Examined, float]] = []
    spark = SparkSettings("local[2]", {"spark.executorEnv.FENCEPOST_OF": str(os.getpid())})
    os.environ["FENCEPOST_OF"] = str(os.getpid())  # of local workers

    def run(**how: Any) -> None:
        began = time.thread_time()  # without the thread that watches
        made.append((examine(DiskSource([tmp_path / "node"]), **how), time.thread_time() - began))

    run()
    with watched() as workers:
        benchmark.pedantic(run, kwargs={"workers": partial(Tasks, spark)}, rounds=1)
    (alone, here), (found, driver) = made
    assert found == alone and [each.kind for each in alone.broken] == ["duplicate"]
    benchmark.extra_info |= {
        "MB": round(size / 1e6), "MB/s of a core, here": round(size / 1e6 / here),
        "MB/s of a core, workers": round(size / 1e6 / sum(workers.seconds.values())),
        "driver, seconds of a core": round(driver, 2), "MB of a worker's own memory": round(workers.memory / 1e6),
    }  # fmt: skip
