"""Makes the recordings of transactions that ship with the package, and the raw logs that the recorder's tests read.

    python tests/script.py tests/live/kafka/support/ship_transactions.py recordings properties/recorded
    python tests/script.py tests/live/kafka/support/ship_transactions.py logs tests/support/data/transactions-3-nodes

Both run real clusters, for a minute or two. What is driven follows from the seeds; ids and times do not.
The dumps beside the logs are of Kafka's own tool, by hand: it is in kafka-tools, which no test fetches.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from fencepost.proofs.recording import RecordedTransactions, record_transactions
from fencepost.proofs.recording.transactions.client_events import write_seen
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, fetch_kafka, kafka_version
from recorded_runs import Run, clean, killed, zombies

CHECKPOINTS = ("replication-offset-checkpoint", "log-start-offset-checkpoint")
KEPT = ("meta.properties", *CHECKPOINTS, "__cluster_metadata-0/quorum-state")
PATTERNS = ("*/*.log", "*/partition.metadata", "*/*.checkpoint")
KILLS = 4


def ship_recordings(jars: Path, folder: Path, out: Path) -> list[RecordedTransactions]:
    """Clean and with zombies on one node, and with three nodes of which one at a time is killed."""
    made = []
    with KafkaCluster(jars, folder / "one", size=1) as cluster:
        for name, seed, drive in (
            ("clean", 1, lambda run: clean(run, 60)),
            ("zombie", 2, lambda run: zombies(run, 20)),
        ):
            run = Run.start(cluster.bootstrap, seed)
            drive(run)
            write_seen(folder / f"{name}.jsonl", run.system, quiet_end=True)
            made.append(_record(cluster, folder / f"{name}.jsonl", out / f"transactions-kafka-{name}"))
    with KafkaCluster(jars, folder / "three") as cluster:
        run = Run.start(cluster.bootstrap, 3)
        killed(run, cluster, KILLS)
        write_seen(folder / "sigkill.jsonl", run.system, quiet_end=True, faults={"killed": KILLS})
        made.append(_record(cluster, folder / "sigkill.jsonl", out / "transactions-kafka-sigkill"))
    return made


def ship_logs(jars: Path, folder: Path, out: Path) -> list[RecordedTransactions]:
    """Log directories of three nodes after a kill, and what the clients saw; indexes are left out."""
    with KafkaCluster(jars, folder / "three") as cluster:
        run = Run.start(cluster.bootstrap, 18, partitions=2)
        killed(run, cluster, 1)
        write_seen(folder / "clients.jsonl", run.system, quiet_end=True, faults={"killed": 1})
        cluster.stop()
    made = _record(cluster, folder / "clients.jsonl", folder / "made")
    for number, source in enumerate(cluster.log_dirs, 1):
        for file in [source / name for name in KEPT] + [file for each in PATTERNS for file in source.glob(each)]:
            target = out / f"node-{number}" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    shutil.copyfile(folder / "clients.jsonl", out / "clients.jsonl")
    return [made]


def _record(cluster: KafkaCluster, clients: Path, out: Path) -> RecordedTransactions:
    return record_transactions(cluster.log_dirs, clients, out, kafka_version=kafka_version())


if __name__ == "__main__":
    what, where = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        there = fetch_kafka(Path(scratch) / "jars")
        for recorded in {"recordings": ship_recordings, "logs": ship_logs}[what](there, Path(scratch), Path(where)):
            print(recorded)
