"""Lives of a live Connect that are recorded, and what is shipped of them.

    python tests/script.py tests/live/connect/support/ship_connect.py life RELEASE LEVEL FOLDER
    python tests/script.py tests/live/connect/support/ship_connect.py removed RELEASE LEVEL FOLDER

run a cluster and write what a recorder is given into FOLDER: `node-1` (the broker's log directory, without what no
recorder reads), `seen.jsonl`, and `w0.log`, `w1.log`, … (the lines of which the recorder knows the text). Session keys
are replaced by zeros. LEVEL is the brokers' transaction.version.
"""

from __future__ import annotations

import re
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from crc32c import crc32c
from fencepost.proofs.recording import Recorded
from fencepost.proofs.recording.task_counts.recorder import record_task_counts
from fencepost.proofs.recording.task_counts.worker_logs import is_known
from fencepost.reference_impl.live.connect.cluster import ConnectCluster, archive
from fencepost.reference_impl.live.connect.control import Answer, Call, Instance, usual
from fencepost.reference_impl.live.connect.worker import LOGS

SETS = (2, 3, 1, 2)
PARTITIONS = 3
TOPICS = re.compile(r"(__transaction_state|__consumer_offsets|connect-configs|data)-\d+")
FILES = ("meta.properties", "replication-offset-checkpoint", "log-start-offset-checkpoint")
KEY = re.compile(rb'("key":")[^"]*(",?"algorithm")')
CRC = struct.Struct(">I")
CRC_AT, CRC_FROM, HEADER = 17, 21, struct.Struct(">qi")


def live(cluster: ConnectCluster, connector: str = "c") -> None:
    """A life without trouble: each set commits some records, and the next one has more tasks, or fewer."""
    cluster.control.answers = giving
    for tasks in SETS:
        cluster.configure(connector, tasks, partitions=PARTITIONS)
        for instance in cluster.wait_until_polled(connector).values():
            committed(cluster, instance)


def remove(cluster: ConnectCluster, connector: str = "c") -> None:
    """A worker that was away comes back, reads a set that has no more the task that it had, starts that task again,
    and the task commits. Needs three workers of which one leads and has no task."""
    cluster.control.answers = giving
    cluster.configure(connector, 2, partitions=2)
    before = cluster.wait_until_polled(connector)
    old, other = before[1], before[0]
    assert cluster.leads() not in (old.worker, other.worker), f"{cluster.leads()} leads, and {before} run; run it again"
    for instance in before.values():
        committed(cluster, instance)
    generation = cluster.watching[other.worker].generation
    cluster.pause(old.worker)
    cluster.expire(old.worker)
    there = [each for name, each in cluster.watching.items() if name != old.worker]
    cluster.wait_for("group without it", lambda: all(each.generation > generation for each in there))
    cluster.configure(connector, 1, worker=other.worker, partitions=2)
    for instance in cluster.wait_until_polled(connector).values():
        committed(cluster, instance)
    polls = cluster.control.hold(
        lambda call: call.name == "poll" and call.task == 1 and call.instance != old.name and call.worker == old.worker
    )
    beat = cluster.proxies[old.worker].hold_next("Heartbeat", client=old.worker)
    cluster.resume(old.worker)
    cluster.control.wait_for("stop", instance=old.name)  # it has read the new set
    beat.release()
    again = cluster.control.wait_for("poll", held=True, connector=connector, task=1)
    again.answer(records="1:1")
    cluster.control.wait_for("commitRecord", instance=again.instance)
    cluster.seen.wait_for("commit", lambda line: line["committed"], 60, again.line, api="EndTxn",
                          transactional_id=f"connect-{connector}-1", error=0)  # fmt: skip
    polls.end()
    cluster.wait_for("stop of the task", lambda: all(each.task != 1 for each in cluster.control.alive(connector)))
    for instance in cluster.wait_until_polled(connector).values():
        cluster.control.wait_for("commitRecord", instance=instance.name, since=again.line)


def giving(call: Call) -> Answer:
    """Each poll gives one record of a source partition, and takes a while."""
    return {"records": f"{call.task}:1", "pause": 300} if call.name == "poll" else usual(call)


def committed(cluster: ConnectCluster, instance: Instance) -> None:
    """Wait for two transactions of an instance."""
    first = cluster.control.wait_for("commitRecord", instance=instance.name)
    cluster.control.wait_for("commitRecord", instance=instance.name, since=first.line + 1)


def record(cluster: ConnectCluster, out: Path, *, logs: bool = True) -> Recorded:
    """Record a cluster whose workers have reported their steps."""
    folders = [worker.folder for worker in cluster.workers.values()] if logs else []
    return record_task_counts(
        cluster.kafka.log_dirs, out, seen=cluster.seen.file, worker_logs=folders, quiet_end=True
    )  # fmt: skip


# A task that is gone has time to start before the next rebalance.
SLOW = {"task.shutdown.graceful.timeout.ms": 10_000, "heartbeat.interval.ms": 500}


def give_own_topic(cluster: ConnectCluster, connector: str = "c") -> None:
    """A connector whose offsets are in the worker's topic gets a topic of its own, finds nothing, and begins anew."""
    polls = cluster.control.hold(lambda call: call.name == "poll")
    cluster.configure(connector, 1)
    commit(cluster, connector, 3)
    cluster.configure(connector, 1, offsets__storage__topic="c-offsets")
    commit(cluster, connector, 1)
    polls.end()


def take_own_topic(cluster: ConnectCluster, connector: str = "c") -> None:
    """The worker's topic has an offset of a transaction that is never committed, and the connector's own is taken away:
    its task begins behind records that are not in the output."""
    polls = cluster.control.hold(lambda call: call.name == "poll")
    cluster.configure(connector, 1, offsets__storage__topic="c-offsets")
    commit(cluster, connector, 1)
    end_of_transaction = cluster.proxies["w0"].hold_next("EndTxn", f"{cluster.group}-{connector}-0")
    cluster.control.wait_for("poll", held=True, task=0).answer(records="0:2")
    end_of_transaction.wait()
    (log,) = (folder / "connect-offsets-0" for folder in cluster.kafka.log_dirs)
    cluster.wait_for("copy", lambda: any(b'"n":3' in segment.read_bytes() for segment in log.glob("*.log")))
    cluster.kill("w0")
    cluster.start_worker("w0")
    cluster.wait_until_ready()
    cluster.wait_until_polled(connector)
    cluster.configure(connector, 1)
    commit(cluster, connector, 1)
    polls.end()


def overtake(cluster: ConnectCluster, connector: str = "c") -> None:
    """A task looks at the config topic while it is stopped in vain, and is refused when another has started."""
    polls = cluster.control.hold(lambda call: call.name == "poll")
    opening = cluster.proxies["w0"].hold_next("InitProducerId", f"{cluster.group}-{connector}-0")
    cluster.configure(connector, 1)
    opening.wait()
    cluster.configure(connector, 1, partitions=2)
    log = cluster.workers["w0"].folder / "out.txt"
    cluster.wait_for("stop of the task", lambda: f"Stopping task {connector}-0" in log.read_text(encoding="utf-8"))
    opening.release()
    commit(cluster, connector, 1)
    polls.end()


def commit(cluster: ConnectCluster, connector: str, count: int) -> None:
    """Have the task of the newest set poll so many records, and commit them."""
    instance = cluster.wait_until_polled(connector)[0]
    call = cluster.control.wait_for("poll", held=True, instance=instance.name)
    call.answer(records=f"0:{count}")
    cluster.control.wait_for("poll", held=True, instance=instance.name, since=call.line + 1)


LIVES: dict[str, tuple[Callable[[ConnectCluster], None], dict[str, object]]] = {
    "life": (live, {}),
    "own-topic-later": (give_own_topic, {"size": 1}),
    "own-topic-taken": (take_own_topic, {"size": 1}),
    "overtaken": (overtake, {"size": 1, "settings": {"task.shutdown.graceful.timeout.ms": 2_000}}),
    "removed": (remove, {"size": 3, "leader": "w2", "settings": SLOW}),
}


def end(cluster: ConnectCluster) -> None:
    """End the workers, so that the logs come to rest. This is after the recording, and no event of it."""
    for worker in cluster.workers.values():
        worker.kill()


def keep(cluster: ConnectCluster, out: Path) -> None:
    """Store what a recorder is given."""
    for number, source in enumerate(cluster.kafka.log_dirs, 1):
        target = out / f"node-{number}"
        target.mkdir(parents=True)
        for name in FILES:
            if (source / name).exists():
                shutil.copyfile(source / name, target / name)
        for folder in source.iterdir():
            if TOPICS.fullmatch(folder.name):
                (target / folder.name).mkdir()
                for segment in folder.glob("*.log"):
                    (target / folder.name / segment.name).write_bytes(blanked(segment.read_bytes()))
    shutil.copyfile(cluster.seen.file, out / "seen.jsonl")
    for name, worker in cluster.workers.items():
        lines = (worker.folder / "out.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        (out / f"{name}.log").write_text("".join(filter(is_known, lines)), encoding="utf-8")


def blanked(segment: bytes) -> bytes:
    """Return a segment with zeros for session keys, and the checksums that this takes."""
    content, at = bytearray(segment), 0
    while at + HEADER.size <= len(content):
        end = at + HEADER.size + HEADER.unpack_from(content, at)[1]
        batch = bytes(content[at:end])
        fresh = KEY.sub(
            lambda found: found[1] + b"0" * (len(found[0]) - len(found[1]) - len(found[2])) + found[2], batch
        )
        if fresh != batch:
            content[at:end] = fresh
            CRC.pack_into(content, at + CRC_AT, crc32c(bytes(content[at + CRC_FROM : end])))
        at = end
    return bytes(content)


def ship(what: str, release: str, level: str, out: Path) -> None:
    cache = Path(tempfile.gettempdir()) / "fencepost-connect"
    cache.mkdir(exist_ok=True)
    act, settings = LIVES[what]
    with tempfile.TemporaryDirectory() as scratch:
        archive(cache, Path(scratch) / "archive", release)
        features = {"transaction.version": int(level)}
        with ConnectCluster(cache, Path(scratch) / "it", release, features=features, logs=LOGS, **settings) as cluster:
            act(cluster)
            end(cluster)
            keep(cluster, out)


if __name__ == "__main__":
    ship(*sys.argv[1:4], Path(sys.argv[4]))
