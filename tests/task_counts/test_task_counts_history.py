"""Each property of task count histories finds what is seeded against it, at that place only."""

from typing import Any

import numpy as np
import pytest
from fencepost.properties.task_counts.events import SUPPORT, Kind
from fencepost.properties.task_counts.histories.properties import HISTORY as task_counts
from fencepost.properties.task_counts.histories.properties import SEEDED_HISTORY
from task_count_story import TaskCountStory

CONFIG = {"mode": "B", "quiet_end": True}


def violated(columns: dict[str, np.ndarray], **config: Any) -> dict[str, int]:
    """Return the number of violations of each violated property."""
    findings, _ = task_counts.check(columns, config=CONFIG | config)
    return {name: found.violations for name, found in findings.items() if found.violations}


def test_the_example_keeps_every_promise() -> None:
    findings, _ = task_counts.check(SEEDED_HISTORY.history.columns(), config=CONFIG)
    assert {name for name, found in findings.items() if found.violations or not found.judged} == set()


def test_the_first_witness_in_words() -> None:
    columns = SEEDED_HISTORY.edited("a zombie commits")
    first = task_counts.check(columns, ["no_zombie_commits"], CONFIG)[0]["no_zombie_commits"].first
    assert first is not None
    assert (first.history, columns["kind"][first.step]) == (0, Kind.transaction_committed)
    assert first.told == (
        "transaction committed at step 170 (producer id 2 epoch 0, connector 0 task 1, node 1, instance 1, set 8): "
        "though a newer set polls since "
        "task running at step 164 (producer id 1 epoch 2, connector 0 task 0, node 0, instance 3, set 24)"
    )


def test_the_shortcut_is_for_one_task_alone() -> None:
    """618.5: A round may fence nothing from 1 task to 1 and without a count, but not from 1 to 2 or from 2 to 1."""
    for before, after, found in ((1, 1, 0), (1, 2, 1), (2, 1, 1)):
        story = TaskCountStory()
        story.lead(0)
        for size in (before, after):
            story.configure(0, tasks=size)
            story.round(0, story.sets[0][0], ids=0, request=size)
        expected = {"rounds_fence_the_count": found, "fenced_before_count": found} if found else {}
        assert violated(story.columns()) == expected | {"newest_set_polls": 1}


def test_a_deleted_connector_still_counts() -> None:
    """B34: The count stays, so that the deleted connector's tasks are fenced later, which a tombstone prevents."""
    for tombstone in (False, True):
        story = TaskCountStory()
        story.lead(0)
        story.configure(0, tasks=2)
        zombie = story.run(1, 0, 1)
        story.delete(0)
        if tombstone:
            story.write(Kind.count_tombstoned, 0)
        story.configure(0, tasks=1)
        story.round(0, story.sets[0][0], ids=0 if tombstone else 2, request=99)
        story.commit(story.run(0, 0, 0))
        if tombstone:
            story.commit(zombie)
        else:
            story.refuse(zombie)
        expected = {"no_zombie_commits": 1, "producers_covered": 1} if tombstone else {}
        assert violated(story.columns()) == expected


@pytest.mark.parametrize(("mode", "support", "found"), [
    ("B", "disabled", 1), ("B", "none", 0), ("A", "disabled", 0), ("A", "enabled", 1),
    ("shipped", "disabled", 0), ("shipped", "preparing", 1),
])  # fmt: skip
def test_who_does_not_write_in_transactions_yet(mode: str, support: str, found: int) -> None:
    """618.24, 618.35: A worker writes plainly until it has the support with which its version claims the topic."""
    story = TaskCountStory(workers=1)
    story.rows[0]["support"] = SUPPORT[support]
    story.emit(Kind.connector_written, node=0, connector=0, offset=0)
    expected = {"writes_by_latest_claimant": 1, "writes_while_leading": 1} if found else {}
    assert violated(story.columns(), mode=mode) == expected


def with_a_slow_reader() -> TaskCountStory:
    """Return a story in which a set is written after worker 1 has read to the end of the topic."""
    story = TaskCountStory()
    story.lead(0)
    story.configure(0, tasks=1)
    story.ask(0, 0, 0)
    story.emit(Kind.topic_read, node=1, offset=story.end)
    story.configure(0, tasks=1)
    return story


@pytest.mark.parametrize("mode", ["A", "M"])
def test_what_a_worker_has_not_read_does_not_stop_it(mode: str) -> None:
    """618.14, 618.44: The first check uses the worker's own view, except in B, which reads the topic itself."""
    story = with_a_slow_reader()
    story.emit(Kind.task_checked, node=1, connector=0, task=0, instance=0, set=4, status=200)
    assert "checked_with_count" not in violated(story.columns(), mode=mode)
    assert "checked_with_count" in violated(story.columns(), mode="B")
    story.emit(Kind.topic_read, node=1, offset=story.end)
    story.emit(Kind.task_checked, node=1, connector=0, task=0, instance=1, set=4, status=200)
    assert violated(story.columns(), mode=mode)["checked_with_count"] == 1


@pytest.mark.parametrize("mode", ["A", "M"])
def test_what_was_compacted_away_does_not_stop_a_worker(mode: str) -> None:
    """618.16: A worker that was slow to read finds neither the set nor the records that a newer set has replaced."""
    story = with_a_slow_reader()
    between = story.end
    story.configure(0, tasks=1)
    edited = [story.columns()]
    for compacts in (False, True):
        if compacts:
            story.emit(Kind.compacted, offset=story.end)
        story.emit(Kind.topic_read, node=1, offset=between)
        story.emit(Kind.task_checked, node=1, connector=0, task=0, instance=0, set=4, status=200)
        edited.append(story.columns())
    assert [violated(columns, mode=mode).get("checked_with_count", 0) for columns in edited] == [0, 1, 1]
    story.emit(Kind.topic_read, node=1, offset=story.end)
    story.emit(Kind.task_checked, node=1, connector=0, task=0, instance=1, set=4, status=200)
    assert violated(story.columns(), mode=mode)["checked_with_count"] == 2


def test_figures_count_what_became_of_sets_and_tasks() -> None:
    """The expected figures of the example history were counted by hand."""
    assert task_counts.check(SEEDED_HISTORY.history.columns(), [])[1] == {
        "sets": 6, "counts": 6, "claims": 2, "started": 11, "running": 11, "abandoned": 0, "failed": 1, "committed": 21,
        "refused": 1, "ids_fenced": 4,
    }  # fmt: skip
