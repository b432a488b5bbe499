"""The zombie against Apache Kafka: paused in a transaction, fenced, resumed.  Recorded, and judged clean.

The same scenario against librdkafka's mock is judged broken (`tests/live/wire/proxy/test_proxy_zombie.py`).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from recorded import judge
from topics import create_topic
from zombie import LAST, OTHER, zombie

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

INVALID_PRODUCER_EPOCH, PRODUCER_FENCED = 47, 90
LIBRARIES = ("librdkafka", "kafka-python")
JUDGED = ("fenced_unread", "fenced_never_commit", "open_unread", "commits_kept", "init_bumps_epoch", "epochs_in_range")


def run(cluster: KafkaCluster, library: str, mode: str, folder: Path) -> None:
    """Only what the other client committed is there, the zombie was told why, and every promise that shows is kept."""
    topic = f"zombie-{library}-{mode}"
    create_topic(cluster.bootstrap, topic)
    ran = zombie(cluster.bootstrap, topic, topic, library)
    assert ran.read == [OTHER, LAST]
    sent, committed = ran.reported
    assert sent.code in (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED)
    assert (committed.code, committed.severity) == (PRODUCER_FENCED, "FATAL")
    judged = judge(ran.events, folder, mode)
    assert judged.violations == {}
    assert judged.judged(*JUDGED)


@pytest.mark.parametrize("library", LIBRARIES)
def test_zombie_v1(kafka_v1: KafkaCluster, library: str, tmp_path: Path) -> None:
    """transaction.version 0 without verification: the markers' epoch alone keeps the zombie out."""
    run(kafka_v1, library, "v1", tmp_path)


@pytest.mark.parametrize("library", LIBRARIES)
def test_zombie_verified(kafka_verified: KafkaCluster, library: str, tmp_path: Path) -> None:
    """transaction.version 1 with verification."""
    run(kafka_verified, library, "v1-verified", tmp_path)


@pytest.mark.parametrize("library", LIBRARIES)
def test_zombie_v2(kafka_v2: KafkaCluster, library: str, tmp_path: Path) -> None:
    """transaction.version 2, with clients that do not speak it themselves."""
    run(kafka_v2, library, "v1-verified", tmp_path)


@pytest.mark.parametrize("cluster", ["kafka_v1", "kafka_verified", "kafka_v2"])
def test_stuck_record_of_a_zombie(cluster: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A record that was on its way when its producer was fenced is refused when it arrives, and is never read."""
    kafka: KafkaCluster = request.getfixturevalue(cluster)
    topic = f"stuck-{cluster.replace('_', '-')}"
    create_topic(kafka.bootstrap, topic)
    ran = zombie(kafka.bootstrap, topic, topic, is_one_stuck=True)
    assert ran.stuck_error == INVALID_PRODUCER_EPOCH
    assert ran.read == [OTHER, LAST]
    judged = judge(ran.events, tmp_path, "v1" if cluster == "kafka_v1" else "v1-verified")
    assert judged.violations == {}
    assert judged.judged("open_unread", "commits_kept", "fenced_unread")
