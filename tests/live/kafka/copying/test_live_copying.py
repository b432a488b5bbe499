"""The copying application under fire on Apache Kafka: each input record is in the committed output once, and the
group's offsets agree, whatever becomes of the members."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from copiers import Job
from copy_audit import Audit
from copy_recording import audit_and_replay
from copy_settings import AT_POLL, AT_SEND, CLASSIC, CONSUMER, LEFT_OUT
from copying_under_fire import KILLED, STOPPED, Fire
from fencepost.proofs.scale.replay import ReplayReport
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.clusters.properties import SHORT_SESSIONS
from nights import night

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

SEED = 447
PARTITIONS = 4
PATIENCE_S = 15.0  # until members go on after their broker was away
MEMBERS: dict[str, dict[str, Any]] = {
    "librdkafka-classic": {"library": "librdkafka", "protocol": CLASSIC, "metadata": AT_SEND},
    "librdkafka-consumer": {"library": "librdkafka", "protocol": CONSUMER, "metadata": AT_SEND},
    # With metadata of the time of the send it copies twice: `test_live_zombies_of_groups.py`.
    "kafka-python-classic": {"library": "kafka-python", "protocol": CLASSIC, "metadata": AT_POLL},
}
IN_EACH_RUN = "librdkafka-consumer"
"""The new protocol; the others are under fire at night."""
UNFENCED: dict[str, dict[str, Any]] = {
    "librdkafka-classic-none": {"library": "librdkafka", "protocol": CLASSIC, "metadata": LEFT_OUT},
    "librdkafka-consumer-none": {"library": "librdkafka", "protocol": CONSUMER, "metadata": LEFT_OUT},
    "kafka-python-classic-send": {"library": "kafka-python", "protocol": CLASSIC, "metadata": AT_SEND},
}
TAKING_TURNS = {
    "min.insync.replicas": 1,
    "transaction.state.log.min.isr": 1,
    "leader.imbalance.check.interval.seconds": 2,
}
COMMON = {"batch": 5, "pace_s": 0.05, "poll_interval_ms": 2_000}


def burn(
    kafka: KafkaCluster, folder: Path, name: str, members: Mapping[str, Any], seed: int, **fire: Any
) -> tuple[Fire, Audit, ReplayReport]:
    """What has become of it, and what the replay of its history says; there have been members whose work was in vain,
    and offsets that were refused."""
    job = Job.create(kafka.bootstrap, name, PARTITIONS, 0, replicas=kafka.size)
    burning = Fire(job, random.Random(seed), {**COMMON, **members}, **fire)
    burning.burn()
    audited, report = audit_and_replay(kafka, job, folder)
    committed, everything = job.outputs(), job.outputs(committed=False)
    assert set(committed) < set(everything)
    assert burning.struck[f"{STOPPED} in a transaction"] > 0 < burning.struck[f"{KILLED} in a transaction"]
    print(name, seed, dict(burning.struck), dict(burning.failures()), burning.transactions(), len(everything))
    print(report.events, report.judged, report.figures)
    return burning, audited, report


def keeps(kafka: KafkaCluster, folder: Path, name: str, members: str, seed: int, **fire: Any) -> None:
    """The promise. Raises AssertionError."""
    burning, audited, report = burn(kafka, folder, name, MEMBERS[members], seed, **fire)
    assert audited.clean, (seed, burning.struck, burning.failures(), audited)
    assert report.violations == {}, (seed, burning.struck, burning.failures())
    assert burning.failures()["send_offsets"] > 0


@pytest.mark.parametrize(
    "members", [pytest.param(m, marks=[] if m == IN_EACH_RUN else pytest.mark.nightly) for m in MEMBERS]
)
def test_under_fire(kafka_groups: KafkaCluster, tmp_path: Path, members: str) -> None:
    """Eight faults."""
    keeps(kafka_groups, tmp_path, f"fire-{members}", members, SEED)


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("members", MEMBERS)
def test_under_fire_for_longer(kafka_groups: KafkaCluster, tmp_path: Path, members: str) -> None:
    """Forty faults."""
    keeps(kafka_groups, tmp_path, f"long-{members}", members, night() or SEED, faults=40)


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("members", UNFENCED)
def test_the_same_fire_finds_who_is_not_fenced(kafka_groups: KafkaCluster, tmp_path: Path, members: str) -> None:
    """Members whose offsets name no member of the group copy records twice."""
    _, audited, report = burn(kafka_groups, tmp_path, f"unfenced-{members}", UNFENCED[members], SEED, faults=16)
    assert audited.twice
    assert {"nothing_twice", "newest_owner_commits"} <= report.violations.keys()


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("members", MEMBERS)
def test_while_its_broker_is_killed(jars: Path, tmp_path: Path, members: str) -> None:
    """The one broker is killed and started again, after every third fault: both coordinators load their logs."""
    with KafkaCluster(jars, tmp_path, size=1, settings=SHORT_SESSIONS) as kafka:
        keeps(
            kafka, tmp_path / "recorded", f"restarted-{members}", members, night() or SEED, patience_s=PATIENCE_S,
            also=lambda number: _restart(kafka, number, 1),
        )  # fmt: skip


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("members", MEMBERS)
def test_while_a_broker_fails_over(jars: Path, tmp_path: Path, members: str) -> None:
    """One of two brokers, not the controller, is killed and started again after every third fault: the other one takes
    over what it led, and gives it back."""
    with KafkaCluster(jars, tmp_path, size=2, controllers=1, settings={**SHORT_SESSIONS, **TAKING_TURNS}) as kafka:
        keeps(
            kafka, tmp_path / "recorded", f"failover-{members}", members, night() or SEED, patience_s=PATIENCE_S,
            also=lambda number: _restart(kafka, number, 2),
        )  # fmt: skip


def _restart(kafka: KafkaCluster, fault: int, node: int) -> bool:
    if fault % 3 == 0:
        kafka.kill(node)
        kafka.start(node)
        kafka.wait_until_ready()
    return fault % 3 == 0
