"""Makes the recordings of the copying application that ship with the package, and the raw logs that tests read.

    python tests/script.py tests/live/kafka/copying/support/ship_copying.py recordings properties/recorded
    python tests/script.py tests/live/kafka/copying/support/ship_copying.py logs tests/support/data/copying

Each runs on a cluster of its own, for some seconds: members of both protocols under fire, and a zombie that leaves its
group's metadata out of its offsets. What becomes of them differs from run to run.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from copiers import Job
from copy_recording import audit_and_replay
from copy_settings import AT_POLL, AT_SEND, CLASSIC, CONSUMER, LEFT_OUT
from copying_under_fire import Fire
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, fetch_kafka
from fencepost.reference_impl.live.clusters.properties import SHORT_SESSIONS

PARTITIONS, FED = 2, 6
KEPT = ("meta.properties", "__consumer_offsets-0/partition.metadata", "__consumer_offsets-0/*.log")


def under_fire(cluster: KafkaCluster, protocol: str, metadata: str) -> Job:
    """Members are held, stopped, killed, and leave."""
    job = Job.create(cluster.bootstrap, f"fire-{protocol}", PARTITIONS, 0)
    members = {"library": "librdkafka", "protocol": protocol, "metadata": metadata}
    settings = {**members, "batch": 3, "pace_s": 0.05, "poll_interval_ms": 2_000}
    Fire(job, random.Random(1), settings, fed=FED).burn()
    return job


def left_out(cluster: KafkaCluster) -> Job:
    """One member is late with its poll, and goes on when the other has copied what it holds."""
    job = Job.create(cluster.bootstrap, "left-out", PARTITIONS, FED)
    settings = {"library": "librdkafka", "protocol": CLASSIC, "metadata": LEFT_OUT, "batch": 4 * FED}
    with job.member("zombie", poll_interval_ms=2_000, **settings) as zombie:
        zombie.hold("sent")
        zombie.until("at")
        with job.member("owner", **settings) as owner:
            job.until_done()
            zombie.go()
            zombie.until("committed")
            zombie.finish()
            owner.finish()
    return job


RUNS: dict[str, Callable[[KafkaCluster], Job]] = {
    "classic": lambda cluster: under_fire(cluster, CLASSIC, AT_SEND),
    "consumer": lambda cluster: under_fire(cluster, CONSUMER, AT_POLL),
    "left-out": left_out,
}
OF = {"recordings": ("classic", "consumer"), "logs": ("classic", "left-out")}


def ship(jars: Path, scratch: Path, name: str, raw: Path | None, out: Path | None) -> None:
    """Keep the logs of a run in `raw`, and its history in `out`."""
    with KafkaCluster(jars, scratch / name, size=1, settings=SHORT_SESSIONS) as cluster:
        job = RUNS[name](cluster)
        audited, report = audit_and_replay(cluster, job, scratch / name / "recorded")
        cluster.stop()
    print(name, "clean" if audited.clean else f"{len(audited.twice)} twice", report.violations, report.judged)
    if out is not None:
        shutil.copytree(scratch / name / "recorded" / "out", out)
    if raw is not None:
        (source,) = cluster.log_dirs
        for file in [file for pattern in KEPT for file in source.glob(pattern)]:
            target = raw / "node-1" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        shutil.copyfile(scratch / name / "recorded" / "clients.jsonl", raw / "clients.jsonl")


if __name__ == "__main__":
    what, where = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        there = fetch_kafka(Path(folder) / "jars")
        for each in OF[what]:
            if what == "logs":
                ship(there, Path(folder), each, where / each, None)
            else:
                ship(there, Path(folder), each, None, where / f"group-fencing-kafka-{each}")
