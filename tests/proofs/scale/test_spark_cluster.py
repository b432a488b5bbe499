"""A real standalone cluster: what its workers generate and judge is what processes here do, one that dies included."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import fencepost.properties.id_blocks
import pytest
from command_line import process, read_json, untimed
from standalone import Cluster, cluster

HISTORIES = 2_000
KEPT = Path(fencepost.properties.id_blocks.__path__[0]) / "kept"


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


def killed_when_it_works(running: Cluster, folder: Path, after_s: float) -> threading.Event:
    """Has a worker killed as soon as a new executor runs, and has had some seconds; the event says that it was."""
    killed = threading.Event()
    for log in (folder / "work").rglob("stderr"):
        log.unlink()

    def kill() -> None:
        while not list((folder / "work").rglob("stderr")):
            time.sleep(0.1)
        time.sleep(after_s)
        running.kill(0)
        killed.set()

    threading.Thread(target=kill, daemon=True).start()
    return killed


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_cluster_gives_the_same_files_and_the_same_report(tmp_path: Path, running: Cluster) -> None:
    """Byte for byte; and where a worker is killed in the middle of either, too."""
    here = made(tmp_path / "here", "--cores", 2)
    report = judged(tmp_path / "here", tmp_path / "here.json", "--cores", 2)
    there = made(tmp_path / "there", "--master", running.master)
    assert there == here
    assert judged(tmp_path / "there", tmp_path / "there.json", "--master", running.master) == report

    killed = killed_when_it_works(running, tmp_path, 6)
    assert made(tmp_path / "again", "--master", running.master) == here
    assert killed.is_set(), "the work was done before the worker died"
    assert judged(tmp_path / "again", tmp_path / "again.json", "--master", running.master) == report


SEARCHES = [("necessity", "id-blocks"), ("verify", "id-blocks"), ("dangers", "id-blocks/kraft")]


def searched(report: Path, *words: object) -> str:
    """The report as JSON, timings aside."""
    ran = process(*words, "--json", report, FENCEPOST_FRESH="1")
    assert ran.code == 0, ran.err
    return json.dumps(untimed(read_json(report)))


@pytest.mark.nightly(nights=4)
@pytest.mark.timeout(1800)
def test_a_cluster_does_the_jobs_of_searches(tmp_path: Path, running: Cluster) -> None:
    """Of the same report, where a worker is killed in the middle, too."""
    reports = [searched(tmp_path / "here.json", *words) for words in SEARCHES]
    there = [searched(tmp_path / "there.json", *words, "--master", running.master) for words in SEARCHES]
    assert there == reports
    killed = killed_when_it_works(running, tmp_path, 8)
    assert searched(tmp_path / "again.json", *SEARCHES[0], "--master", running.master) == reports[0]
    assert killed.is_set(), "the work was done before the worker died"


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_workers_read_what_is_recorded_with_the_models(tmp_path: Path, running: Cluster) -> None:
    """`mutants` finds there what is kept here, although what they import came to them packed, and changes nothing."""
    report = tmp_path / "kept.json"
    before = files(KEPT)
    ran = process("mutants", "id-blocks/kraft", "--write", "--json", report, "--master", running.master)
    assert ran.code == 0, ran.err
    assert "runs, 0 of them new" in ran.out
    assert files(KEPT) == before
