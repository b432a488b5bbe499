"""Live clusters for tests, each started when first asked for, and shared by one worker's tests until the session ends.

Where Kafka cannot be had they skip with the reason, and fail under FENCEPOST_REQUIRE_KAFKA=1.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import ClusterError, KafkaCluster, archive_classes, fetch_kafka, kafka_version, reason_to_skip
from kafka_jars import POM


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Kafka's jars, fetched once a machine: it outlives the session, beside pytest's own folders."""
    reason = reason_to_skip()
    if reason is None:
        try:
            return _fetch(_cache(tmp_path_factory.getbasetemp()), tmp_path_factory.mktemp("archive"))
        except ClusterError as error:
            reason = str(error)
    if os.environ.get("FENCEPOST_REQUIRE_KAFKA") == "1":
        pytest.fail(f"FENCEPOST_REQUIRE_KAFKA=1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def kafka_v2(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node with transaction.version 2, Kafka's default."""
    with KafkaCluster(jars, tmp_path_factory.mktemp("kafka-v2"), size=1) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_v1(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node with transaction.version 0 and no verification: transactions as they were before KIP-890."""
    folder = tmp_path_factory.mktemp("kafka-v1")
    settings = {"transaction.partition.verification.enable": False}
    with KafkaCluster(jars, folder, size=1, features={"transaction.version": 0}, settings=settings) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_verified(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node with transaction.version 1 and verification: KIP-890, part 1."""
    folder = tmp_path_factory.mktemp("kafka-verified")
    with KafkaCluster(jars, folder, size=1, features={"transaction.version": 1}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def three_nodes(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three nodes with transaction.version 2, three replicas of everything; a test leaves all of them running."""
    with KafkaCluster(jars, tmp_path_factory.mktemp("three-nodes")) as cluster:
        yield cluster


def _cache(base: Path) -> Path:
    """One folder for each state of the pom, next to the numbered folders of pytest's sessions."""
    root = next((each for each in (base, *base.parents) if each.name.startswith("pytest-of-")), base)
    return root / f"fencepost-kafka-{kafka_version()}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:8]}"


def _fetch(folder: Path, scratch: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".archiving").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers: one fetches and archives, the other waits for it
        archive_classes(fetch_kafka(folder), scratch)
    return folder
