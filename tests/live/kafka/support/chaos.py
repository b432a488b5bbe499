"""One run of a real cluster under fire: clients ask for producer ids while nodes are killed; the rest is recorded."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fencepost.proofs.recording import Observation, RecordedIds, collect_producer_ids, record, write_observations
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, kafka_version

# Small, so that a short run has several snapshots and segments of the metadata log (bytes).
METADATA = {"metadata.log.max.record.bytes.between.snapshots": 4096, "internal.metadata.log.segment.bytes": 8192}
# A node that comes back is let in when the session of the process before it has ended.
SESSIONS = {"broker.session.timeout.ms": 1500, "broker.heartbeat.interval.ms": 250}


@dataclass(frozen=True)
class Run:
    """What one run left behind: log directories, the clients' observations, and the history made of both."""

    log_dirs: list[Path]
    clients: Path
    out: Path
    observations: list[Observation]
    summary: RecordedIds


def run_under_fire(
    jars: Path, folder: Path, *, requests: int, seed: int, rounds: int, pace_s: float = 0.004, threads: int = 8
) -> Run:
    """Start three nodes, ask from `threads` threads, strike `rounds` times: in turn the controller, a follower, both,
    all three, both.

    When two die the quorum is lost, and no block can be granted until one of them is back.
    """
    with KafkaCluster(jars, folder / "cluster", settings=METADATA | SESSIONS) as cluster, ThreadPoolExecutor(1) as pool:
        over = threading.Event()
        asked = pool.submit(
            collect_producer_ids, cluster.bootstrap, requests, threads, seed, pace_s=pace_s, until=over, deadline_s=240
        )
        try:
            faults = _kill_and_restart(cluster, rounds, random.Random(seed))
        finally:
            over.set()
        observations = sorted([*asked.result(), *faults], key=lambda each: each.time_us)
        log_dirs = cluster.log_dirs
        cluster.stop()
    clients = folder / "clients.jsonl"
    write_observations(clients, observations)
    summary = record(log_dirs, clients, folder / "history", kafka_version=kafka_version())
    return Run(log_dirs, clients, folder / "history", observations, summary)


def _kill_and_restart(cluster: KafkaCluster, rounds: int, chance: random.Random) -> list[Observation]:
    faults = []
    for number in range(rounds):
        time.sleep(chance.uniform(0.5, 1.5))
        leader = cluster.active_controller()
        followers = [node for node in cluster.nodes if node != leader]
        one, two = [chance.choice(followers)], [leader, chance.choice(followers)]
        victims = ([leader], one, two, list(cluster.nodes), two)[number % 5]
        for node in victims:
            cluster.kill(node)
            faults.append(Observation(time.time_ns() // 1000, node, fault="killed"))
        time.sleep(chance.uniform(0.5, 2.5))  # short of a fail-over, or past it
        for node in victims:
            cluster.start(node)
        cluster.wait_until_ready()
    return faults
