"""A real standalone cluster: what its workers generate and judge is what processes here do, one that dies included."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import process, read_json, untimed
from standalone import Cluster, cluster

HISTORIES = 2_000


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as started:
        yield started


def files(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def made(place: Path, *words: object) -> dict[str, bytes]:
    """Histories with violations, and their files."""
    defect = ("--config", "broken=next_id_not_advanced")
    ran = process("generate", "id-blocks/kraft", place, "--histories", HISTORIES, *defect, *words)
    assert ran.code == 0, ran.err
    return files(place)


def judged(place: Path, report: Path, *words: object) -> str:
    """The report as JSON, timings aside."""
    ran = process("replay", place, "--json", report, *words)
    assert ran.code == 1, ran.err
    return json.dumps(untimed(read_json(report)))


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_cluster_gives_the_same_files_and_the_same_report(tmp_path: Path, running: Cluster) -> None:
    """Byte for byte; and where a worker is killed in the middle of either, too."""
    here = made(tmp_path / "here", "--cores", 2)
    report = judged(tmp_path / "here", tmp_path / "here.json", "--cores", 2)
    there = made(tmp_path / "there", "--master", running.master)
    assert there == here
    assert judged(tmp_path / "there", tmp_path / "there.json", "--master", running.master) == report

    killed = threading.Event()

    def kill_when_it_works() -> None:
        """As soon as an executor runs, and has had some seconds."""
        while not list((tmp_path / "work").rglob("stderr")):
            time.sleep(0.1)
        time.sleep(6)
        running.kill(0)
        killed.set()

    for log in (tmp_path / "work").rglob("stderr"):
        log.unlink()
    killer = threading.Thread(target=kill_when_it_works, daemon=True)
    killer.start()
    assert made(tmp_path / "again", "--master", running.master) == here
    assert killed.is_set(), "the work was done before the worker died"
    assert judged(tmp_path / "again", tmp_path / "again.json", "--master", running.master) == report
