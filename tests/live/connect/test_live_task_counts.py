"""A live Connect is recorded: everything is decided, and holds in a life without trouble."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.task_counts.histories.properties import HISTORY
from fencepost.reference_impl.live.connect.cluster import BROKERS, ConnectCluster
from fencepost.reference_impl.live.connect.install import Installed
from fencepost.reference_impl.live.connect.worker import LOGS
from ship_connect import SETS, end, live, record

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]
RELEASES = ("3.3.2", "3.9.1", "4.4.0")


def recorded(cache: Path, folder: Path, release: str, level: int) -> None:
    """618.P1 and all others, in the release's own order of events: the brokers run while they are recorded."""
    with ConnectCluster(cache, folder, release, features={"transaction.version": level}, logs=LOGS) as cluster:
        live(cluster)
        end(cluster)
        recorded = record(cluster, folder / "out")
    assert [*recorded.undecidable] == []
    assert recorded.counts["set_written"] == len(SETS)
    report = replay(folder / "out", cores=1, further={"conformance": conformance_of(recorded.manifest)})
    assert {name: str(broken["first"]) for name, broken in report.violations.items()} == {}
    assert set(report.judged) >= {*recorded.decidable, "conformance"}
    assert len(recorded.decidable) == len(HISTORY.properties) - len(recorded.not_promised)


def test_a_life_is_recorded(cache: Path, installed: Callable[[str], Installed], tmp_path: Path) -> None:
    installed(BROKERS)
    recorded(cache, tmp_path / "connect", BROKERS, 2)


@pytest.mark.nightly
@pytest.mark.parametrize("release", RELEASES)
def test_a_life_of_each_release(
    cache: Path, installed: Callable[[str], Installed], tmp_path: Path, release: str
) -> None:
    installed(BROKERS), installed(release)
    recorded(cache, tmp_path / "connect", release, 0)
