"""A Connect cluster is judged by what its topics hold now, here of stored brokers, some doctored."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from fencepost.proofs.recording.task_counts.foreign import Looked, config_topic_of, look
from transaction_logs import compacted, rewritten, starts

STORED = Path(__file__).parents[2] / "support" / "data" / "connect"
TOPIC = "connect-configs"


def unpacked(name: str, folder: Path) -> Path:
    """The log directory of a stored broker."""
    with tarfile.open(STORED / f"{name}.tar.xz") as stored:
        stored.extractall(folder, filter="data")
    return folder / "node-1"


def looked(log_dir: Path, brokers: int = 1) -> Looked:
    return look(log_dir, TOPIC, {"c": {"tasks": [{"id": 0, "state": "RUNNING"}]}}, brokers, log_dir.parent / "scratch")


@pytest.mark.parametrize("name", ["life-3.3.2", "life-4.3.1", "life-4.3.1-tv0"])
def test_a_life_without_trouble(name: str, tmp_path: Path) -> None:
    """What holds, and of everything else which sources it takes."""
    log_dir = unpacked(name, tmp_path)
    assert config_topic_of(log_dir) == TOPIC
    found = looked(log_dir)
    assert found.violated == {}
    assert {each.partition(" ")[0] for each in found.holds} >= {"618.3", "618.P3", "counts_are_sizes", "epochs_grow"}
    assert "--seen" in found.undecided["no_zombie_commits"]
    assert "--worker-logs" in found.undecided["sets_whole"] and "--worker-logs" in found.undecided["newest_set_polls"]
    assert "connector c: set of 2 at" in str(found) and "REST has task 0 RUNNING" in str(found)


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_removed_task_commits(brokers: int, tmp_path: Path) -> None:
    """F1 by brokers alone; with several, by their clocks."""
    found = looked(unpacked("removed-4.3.1", tmp_path), brokers)
    assert list(found.violated) == ["618.P3"]
    assert "task 1 of c commits at" in found.violated["618.P3"]


def doctored(log_dir: Path, old: bytes, new: bytes) -> None:
    """Change the last record of the config topic that has a text, and its checksum."""
    (file,) = (log_dir / f"{TOPIC}-0").glob("*.log")
    at = file.read_bytes().rindex(old)
    row = max(row for row, start in enumerate(starts(file)) if start < at)
    rewritten(file, row, at - starts(file)[row], new)


def test_a_count_of_another_size(tmp_path: Path) -> None:
    log_dir = unpacked("life-4.3.1", tmp_path)
    doctored(log_dir, b'"task-count":2', b'"task-count":3')
    assert "not the size of" in looked(log_dir).violated["counts_are_sizes"]


def test_a_topic_that_was_compacted(tmp_path: Path) -> None:
    """No recorder has its life any more, but what stands is judged."""
    log_dir = unpacked("life-4.3.1", tmp_path)
    doctored(log_dir, b'"task-count":2', b'"task-count":3')
    compacted([log_dir], f"{TOPIC}-0", 1)
    found = looked(log_dir)
    assert "stands after the set of 2" in found.violated["618.42"]
    assert "record before it is compacted" in found.undecided["no_zombie_commits"]
    assert "checked_with_count" not in found.undecided


def test_a_set_that_is_not_whole(tmp_path: Path) -> None:
    log_dir = unpacked("life-4.3.1", tmp_path)
    doctored(log_dir, b'{"tasks":2}', b'{"tasks":9}')
    assert "has no configuration of task 3" in looked(log_dir).violated["618.3"]


def test_without_the_transaction_log(tmp_path: Path) -> None:
    """Not everyone may read it."""
    log_dir = unpacked("removed-4.3.1", tmp_path)
    shutil.rmtree(log_dir / "__transaction_state-0")
    found = looked(log_dir)
    assert [each.partition(" ")[0] for each in found.holds] == ["618.3", "618.42"]
    assert "__transaction_state was not read" in found.undecided["618.P3"]
    assert "holds no transaction log" in found.undecided["no_zombie_commits"]
