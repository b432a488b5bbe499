"""Which worker takes which tests, on which core, and in what order.

A worker takes a whole file, so that what a file computes once is computed once; and one takes all that need live
clusters, which then run once. The longest begin, so that none is begun when all the others are done: first those that
wait for live clusters, and beside them `verify`, which has work for both cores.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# What tests share lies in folders of this name, and is imported by its own.
sys.path += map(str, sorted(Path(__file__).parent.rglob("support")))

from fencepost.reference_impl.live.clusters.ending import CORES, cores
from garbage import Collecting
from nights import give_time, mark_long, night, of_other_nights

# Spark's JVM in tests lives for seconds, and compiles for the long run; what it does here is to plan and to hand on.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# What a test says of a verdict is of one that was computed for it.
os.environ.setdefault("FENCEPOST_FRESH", "1")

# Each worker has a core: what it starts begins no further processes there, each of which imports everything anew. What
# is not to be one of these has all cores of the whole run, which its workers inherit by the environment.
os.environ.setdefault(CORES, ",".join(map(str, cores())))
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.sched_setaffinity(0, {cores()[int(worker.removeprefix("gw")) % len(cores())]})

LIVE = ("tests/live/kafka", "tests/live/connect")
"""Folders of which each has clusters of its own."""

FIRST = ("tests/live/connect/", "tests/test_readme.py", "tests/live/kafka/")
"""Each worker takes one of the first two, and the one that is done first takes the third."""
LONGEST = (
    "test_wheel.py",
    "test_sql.py",
    "test_rekey.py",
    "test_pytest_plugin.py",
    "test_known_bugs.py",
    "test_readings_agree.py",
    "test_rules_held.py",
    "test_defects.py",
    "test_cli_processes.py",
    "test_agreement_remote.py",
    "test_group_conformance.py",
    "test_conformance_transactions.py",
    "test_tla_agreement.py",
    "test_transactions_replay.py",
    "test_tables.py",
    "test_whole_defects.py",
    "test_task_counts_full.py",
    "test_agreement_transactions.py",
    "test_golden_rows.py",
    "test_prompt.py",
    "test_guided.py",
)
"""As measured, longest first; a file that is not there any more, or not yet, does no harm."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Collecting())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files keep their tests together and in order; what other nights try is left to them."""
    mark_long(items)
    give_time(items)
    if others := of_other_nights(items, night()):
        config.hook.pytest_deselected(items=others)
        left = set(others)
        items[:] = [item for item in items if item not in left]
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (first(item.nodeid), place.get(item.path.name, len(LONGEST))))


def first(test: str) -> int:
    """The place among those that begin."""
    return next((number for number, name in enumerate(FIRST) if test.startswith(name)), len(FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whole files, but those of live clusters together."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            live = next(filter(nodeid.startswith, LIVE), None)
            return live or str(super()._split_scope(nodeid))

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="module")
def readme_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the README's DIR, LOG_DIR and FILE are."""
    from metadata_logs import real_logs

    folder = tmp_path_factory.mktemp("readme")
    real_logs(folder)
    return folder


@pytest.fixture(scope="module")
def mock_bootstrap() -> Iterator[str]:
    """The README's HOST:PORT: librdkafka's mock cluster."""
    from mock_cluster import MockCluster

    with MockCluster() as cluster:
        yield cluster.bootstrap
