"""A live broker with its log cleaner on, as Kafka's default has it, and deleted records: what is left is judged."""

from __future__ import annotations

import shutil
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.recording import record_transactions
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import read_log_dir, read_segments
from fencepost.proofs.recording.transactions.client_events import write_seen
from fencepost.proofs.scale.replay import replay
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.reading import Patience
from recorded_runs import Run, clean
from transaction_logs import turned_round

pytestmark = [pytest.mark.kafka, pytest.mark.nightly, pytest.mark.timeout(300)]

CLEANING = {
    "log.cleaner.enable": True, "log.cleaner.backoff.ms": 300, "log.cleaner.min.cleanable.ratio": 0.01,
    "log.cleaner.delete.retention.ms": 200, "log.roll.ms": 1500, "log.segment.delete.delay.ms": 100,
}  # fmt: skip
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"}
ROUNDS = 30  # of transactions, until the cleaner has been in all three topics


def test_what_the_cleaner_leaves_is_judged(jars: Path, tmp_path: Path) -> None:
    """Offsets, transaction log and a topic of data compacted, a partition cut: no alarm, and a defect is found."""
    with KafkaCluster(jars, tmp_path / "kafka", size=1, settings=CLEANING) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("compacted", 1, 1, config=COMPACTED)])["compacted"].result()
        keyed = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "keyed", "log_level": 0})
        keyed.init_transactions(30)
        run = Run.start(cluster.bootstrap, 31)
        for number in range(ROUNDS):
            clean(run, 6)
            for commit in (True, False, True):
                keyed.begin_transaction()
                keyed.produce("compacted", b"%d" % number, key=b"k")
                (keyed.commit_transaction if commit else keyed.abort_transaction)(30)
            time.sleep(0.7)
            if len(_gone(cluster, tmp_path / f"try-{number}")) == 3 and number >= 4:
                break
        place = run.system.names.places[0]
        for deleted in admin.delete_records([TopicPartition(place.topic, place.partition, 5)]).values():
            deleted.result()
        clean(run, 3)
        _by_network(cluster, {"compacted", place.topic})
        write_seen(tmp_path / "seen.jsonl", run.system, quiet_end=True)
        cluster.stop()  # a broker writes down when it stops where its logs begin
    for clients in (tmp_path / "seen.jsonl", None):
        out = tmp_path / f"out-{clients is None}"
        recorded, report = record_transactions(cluster.log_dirs, clients, out), replay(out, cores=1)
        assert report.holds, report.violations
        assert set(recorded.decidable) == set(report.decided), report.unknown
        mixed = recorded.manifest.config["mode"] == "mixed"  # librdkafka speaks transaction.version 0
        assert len(report.decided) == (35 if clients else 7 if mixed else 9)
        assert len({cut["why"] for cut in recorded.manifest.config["cuts"]}) == (3 if clients else 4)
    worn = [Path(shutil.copytree(each, tmp_path / "turned" / each.parent.name)) for each in cluster.log_dirs]
    for each in worn:
        (each / "replication-offset-checkpoint").unlink()
    turned_round(worn, f"{place.topic}-{place.partition}")
    record_transactions(worn, None, tmp_path / "out-turned")
    assert set(replay(tmp_path / "out-turned", cores=1).violations) >= {"markers_as_prepared"}


def _by_network(cluster: KafkaCluster, topics: set[str]) -> None:
    """A client reads what the cleaner has left, with its holes, from the log start on, as it lies in the logs."""
    folders = read_log_dir(cluster.log_dirs[0]).partitions
    with closing(NetworkSource(cluster.bootstrap)) as source:
        for place in source.places({*topics, "__transaction_state", "__consumer_offsets"}):
            read, lying, holes = b"", b"another", 0
            for _ in Patience(20.0):
                with suppress(RecordingError, OSError):  # the cleaner is at work
                    lying, start = b"", source.ends(place)[0]
                    for segment in read_segments(folders[place], mapped=False):
                        first = int((segment.last_offsets < start).sum())
                        lying += b"".join(segment.content[at:].tobytes() for at in segment.positions[first:][:1])
                    segments = list(source.segments(place))
                    read = b"".join(segment.content.tobytes() for segment in segments)
                    bases = [base for segment in segments for base in segment.headers["base_offset"].tolist()]
                    lasts = [last for segment in segments for last in segment.last_offsets.tolist()]
                    holes = sum(base > last + 1 for last, base in zip(lasts, bases[1:], strict=False))
                    if read == lying:
                        break
            assert read == lying, place
            assert holes or place.topic not in ("compacted", "__transaction_state"), place


def _gone(cluster: KafkaCluster, out: Path) -> set[str]:
    """What of the logs is gone by now, of data and of both coordinators' topics; amid the cleaner's work all holds."""
    recorded, report = record_transactions(cluster.log_dirs, None, out), replay(out, cores=1)
    assert report.holds, report.violations
    return {cut["why"] for cut in recorded.manifest.config.get("cuts", ())}
