"""Live clusters for tests, each started when first asked for, and shared by all tests of this folder."""

from __future__ import annotations

import fcntl
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.scope import live
from fencepost.proofs.testing import AgreementReport
from fencepost.reference_impl.live.clusters.jars import POM
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, archive_classes, fetch_kafka, kafka_version
from fencepost.reference_impl.live.clusters.properties import SHORT_SESSIONS
from fetched import Running, cache, or_skip


@pytest.fixture(scope="session")
def jars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Kafka's jars, fetched once a machine: it outlives the session, beside pytest's own folders."""
    return _jars("", tmp_path_factory)


@pytest.fixture(scope="session")
def jars_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Such a folder for each release, fetched when it is first asked for; "" is the pom's."""
    return functools.cache(lambda release: _jars(release, tmp_path_factory))


RUNNING: Running[KafkaCluster] = Running()


@pytest.hookimpl(trylast=True)  # what a test uses is let go before
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """After the last test of this folder, or before others come in between."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        RUNNING.stop()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Also where the session was interrupted."""
    RUNNING.stop()
    file = session.config.getoption("keep_live", None)
    if file is not None and KEPT:
        live.write(Path(file), sorted(KEPT, key=lambda run: (run.protocol, run.variant, run.test)))


def pytest_addoption(parser: pytest.Parser) -> None:
    says = "write to this file how often live brokers met each danger (proofs/verdicts/live.json)"
    parser.addoption("--keep-live", metavar="FILE", default=None, help=says)


KEPT: list[live.LiveRun] = []


@pytest.fixture
def keep_live(request: pytest.FixtureRequest) -> Callable[[AgreementReport], None]:
    """Takes note of what a run that found nothing has met."""

    def keep(report: AgreementReport) -> None:
        KEPT.append(live.run_of(report, f"Apache Kafka {kafka_version()}", request.node.nodeid.removeprefix("tests/")))

    return keep


def _shared(name: str, about: str, **cluster: Any) -> Any:
    @pytest.fixture(scope="module", name=name)
    def fixture(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> KafkaCluster:
        return RUNNING.get(name, lambda: KafkaCluster(jars, tmp_path_factory.mktemp(name), **cluster))

    fixture.__doc__ = about
    return fixture


kafka_v2 = _shared("kafka_v2", "One node with transaction.version 2, Kafka's default.", size=1)
kafka_v1 = _shared(
    "kafka_v1", "One node with transaction.version 0 and no verification: transactions as they were before KIP-890.",
    size=1, features={"transaction.version": 0}, settings={"transaction.partition.verification.enable": False},
)  # fmt: skip
kafka_verified = _shared(
    "kafka_verified", "One node with transaction.version 1 and verification: KIP-890, part 1.",
    size=1, features={"transaction.version": 1},
)  # fmt: skip
kafka_groups = _shared(
    "kafka_groups", "One node with transaction.version 2 that gives members up after a second and a half.",
    size=1, settings=SHORT_SESSIONS,
)  # fmt: skip
three_nodes = _shared(
    "three_nodes",
    "Three nodes with transaction.version 2, three replicas of everything; a test leaves all running.",
    features={"transaction.version": 2},
)


def _jars(release: str, factory: pytest.TempPathFactory) -> Path:
    folder = cache(factory.getbasetemp(), f"kafka-{kafka_version(release)}", [POM])
    return or_skip(lambda: _fetch(folder, factory.mktemp("archive"), release))


def _fetch(folder: Path, scratch: Path, release: str) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(folder.name + ".archiving").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers: one fetches and archives, the other waits for it
        archive_classes(fetch_kafka(folder, release=release), scratch)
    return folder
