"""Makes the recording that ships with the package, and the raw logs that the recorder's own tests read.

    python tests/script.py tests/live/kafka/support/ship.py recording properties/recorded/id-blocks-kraft-3-nodes
    python tests/script.py tests/live/kafka/support/ship.py logs tests/support/data/kraft-3-nodes

Both run a real cluster under fire (a minute or two; see chaos.py). What is killed, and when, follows from the seed;
what Kafka makes of it does not, so no two recordings are alike.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from chaos import Run, run_under_fire
from fencepost.reference_impl.live.clusters.kafka import fetch_kafka

KEPT = ("meta.properties", "__cluster_metadata-0/quorum-state", "__cluster_metadata-0/partition.metadata")


def ship_recording(folder: Path, out: Path) -> Run:
    """The history of 12,000 requests and more under nine kills."""
    run = run_under_fire(fetch_kafka(folder / "jars"), folder, requests=12_000, seed=730, rounds=5)
    shutil.copytree(run.out, out, dirs_exist_ok=True)
    return run


def ship_logs(folder: Path, out: Path) -> Run:
    """Logs, snapshots and clients' observations of a small run; indexes are left out, since nothing here reads them."""
    jars = fetch_kafka(folder / "jars")
    run = run_under_fire(jars, folder, requests=1_500, seed=18, rounds=3, pace_s=0.05, threads=2)
    for number, source in enumerate(run.log_dirs, 1):
        partition = source / "__cluster_metadata-0"
        kept = [source / name for name in KEPT] + [*partition.glob("*.log"), *partition.glob("*.checkpoint")]
        for file in kept:
            target = out / f"node-{number}" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    shutil.copyfile(run.clients, out / "clients.jsonl")
    return run


if __name__ == "__main__":
    what, where = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        print({"recording": ship_recording, "logs": ship_logs}[what](Path(scratch), Path(where)).summary)
