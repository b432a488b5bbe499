"""Live clusters of Kafka Connect, each started when first asked for, and shared by all tests of this folder."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from connect_classes import POM, SOURCES, Classes, compiled
from connect_probe import PATIENT, Probe
from fencepost.reference_impl.live.clusters.jars import fetch_jars, kafka_version
from fencepost.reference_impl.live.connect.cluster import BROKERS, ConnectCluster
from fencepost.reference_impl.live.connect.install import Installed, fetch, install
from fencepost.reference_impl.live.connect.worker import LOGS
from fetched import Running, or_skip, root
from fetched import cache as folder_of

RUNNING: Running[ConnectCluster] = Running()
NAMES = (f"c{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where releases are installed, once a machine: it outlives the session, next to pytest's own folders."""
    return root(tmp_path_factory.getbasetemp()) / "fencepost-connect"


@pytest.fixture(scope="session")
def installed(cache: Path) -> Callable[[str], Installed]:
    """A release, installed when it is first asked for."""
    return functools.cache(lambda release: or_skip(lambda: install(cache, release)))


@pytest.fixture(scope="session")
def classes(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Classes:
    """The programs on Connect's own classes, compiled once a machine for each release."""
    release = kafka_version()
    base = tmp_path_factory.getbasetemp()
    mocks = folder_of(base, "mocks", [POM])
    jars = [or_skip(lambda: fetch(cache, release)), or_skip(lambda: fetch_jars(mocks, POM, release))]
    folder = folder_of(base, f"connect-classes-{release}", (POM, *SOURCES))
    return Classes(or_skip(lambda: compiled(folder, jars)), jars)


@pytest.fixture
def connect(
    cache: Path, installed: Callable[[str], Installed], tmp_path_factory: pytest.TempPathFactory
) -> ConnectCluster:
    """One broker and two workers of the same release; a test leaves them running, and deletes its connectors."""
    release = installed(kafka_version(BROKERS)).release

    def make() -> ConnectCluster:
        return ConnectCluster(cache, tmp_path_factory.mktemp("connect"), release, broker_release="")

    return RUNNING.get("connect", make)


@pytest.fixture
def connector(connect: ConnectCluster) -> Iterator[str]:
    """A name that no connector has had; the connector is deleted when the test ends. The next test has another cluster
    where this one has failed and left a worker that is down or paused."""
    name = next(NAMES)
    yield name
    if not all(worker.is_awake for worker in connect.workers.values()):
        RUNNING.stop()
        return
    if name in connect.sets:
        connect.delete(name)
    connect.wait_until_over(name)


@pytest.fixture(scope="module")
def patient(
    request: pytest.FixtureRequest,
    cache: Path,
    installed: Callable[[str], Installed],
    tmp_path_factory: pytest.TempPathFactory,
) -> ConnectCluster:
    """One broker and three workers of the release that the module names as RELEASE. Their group expires
    none of them within a minute, so that only what a test does takes effect."""
    release = kafka_version(getattr(request.module, "RELEASE", BROKERS))
    installed(release), installed(BROKERS)
    folder = tmp_path_factory.mktemp("patient")
    return RUNNING.get(
        f"patient {release}", lambda: ConnectCluster(cache, folder, release, size=3, settings=PATIENT, logs=LOGS)
    )


@pytest.fixture
def probe(patient: ConnectCluster) -> Iterator[Probe]:
    """A connector of a name that none has had, which is deleted when the test ends."""
    probe = Probe(patient, next(NAMES))
    try:
        yield probe
    finally:
        probe.end()


@pytest.fixture
def special(cache: Path, installed: Callable[[str], Installed], tmp_path: Path) -> Iterator[Callable[..., Probe]]:
    """A probe on a cluster of its own, which is started with the settings that are given."""
    release = kafka_version(BROKERS)
    installed(release), installed(BROKERS)
    RUNNING.stop()
    with ExitStack() as stack:

        def start(**settings: Any) -> Probe:
            cluster = ConnectCluster(cache, tmp_path, release, **{"settings": PATIENT, "logs": LOGS} | settings)
            return Probe(stack.enter_context(cluster), next(NAMES))

        yield start


@pytest.hookimpl(trylast=True)  # what a test uses is let go before
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """After the last test of this folder, or before others come in between."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        RUNNING.stop()


def pytest_sessionfinish() -> None:
    """Also where the session was interrupted."""
    RUNNING.stop()
