"""Histories of task counts are checked against the core in two readings, which name each misfit, and the core does not
decide what it leaves out."""

import numpy as np
import pytest
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.task_counts.events import SUPPORT, TASK_COUNTS, Kind
from fencepost.properties.task_counts.histories.properties import SEEDED_HISTORY
from fencepost.reference_impl.systems.task_counts import simulate
from task_count_story import TaskCountStory

KERNEL = conformance_kernel("B", {"mode": "B"}, "task-counts")


def readings(columns: dict[str, np.ndarray]) -> list[tuple[int, str]]:
    """Return row and failed check of each misfit, on which both readings agree."""
    plainly = [(misfit.row, misfit.check.says) for misfit in KERNEL.misfits_plainly(columns)]
    assert [(misfit.row, misfit.check.says) for misfit in KERNEL.misfits(columns)] == plainly
    return plainly


def test_both_readings_agree_on_what_is_exchanged_at_random() -> None:
    rng = np.random.default_rng(1)
    copies = [SEEDED_HISTORY.history.columns(history) for history in range(60)]
    for columns in copies:
        for _ in range(int(rng.integers(1, 4))):
            pair = rng.integers(0, len(columns["kind"]), 2)
            for name in columns.keys() - {"history", "step", "time_us"}:
                columns[name][pair] = columns[name][pair[::-1]]
    found = readings({name: np.concatenate([copy[name] for copy in copies]) for name in copies[0]})
    assert 10 < len(found) < 60


def test_a_zombie_is_explained() -> None:
    reported = KERNEL.explain(SEEDED_HISTORY.edited("a zombie commits"))
    assert "first misfit: transaction committed at step 170 (producer id 2 epoch 0, connector 0 task 1, " in reported
    assert "must hold: live[instance] (618.P1)" in reported
    assert "in the model of connector 0: 1 is set 8, 2 is set 24, 3 is set 56" in reported


def deleted(*, foreign: bool = False, stale: bool = False) -> TaskCountStory:
    """Return a story in which a connector is deleted and created again, and a round begins before it has a set."""
    story = TaskCountStory()
    story.lead(0)
    story.configure(0, tasks=2)
    story.run(1, 0, 0)
    story.delete(0)
    if foreign:
        story.emit(Kind.set_written, node=-1, connector=0, set=50, offset=50, count=1)
    story.write(Kind.connector_written, 0)
    if stale:
        story.lead(1)
        story.leader = 0
    story.sets[0] = (-1, 0)
    story.round(0, -1, ids=2, request=9)
    return story


def test_a_round_without_a_set_counts_nothing() -> None:
    """618.38: The round fences the deleted connector's tasks, and the count is 0."""
    assert readings(deleted().columns()) == []


def test_who_is_not_followed() -> None:
    story = TaskCountStory(workers=1)
    story.rows[0]["support"] = SUPPORT["disabled"]
    reasons = [
        next(iter(KERNEL(story.columns()).undecided)) for story in (deleted(stale=True), deleted(foreign=True), story)
    ]
    assert ["since its deletion" in reasons[0], "618.34" in reasons[1], "618.33" in reasons[2]] == [True] * 3


@pytest.mark.parametrize("deletes", [True, False])
def test_a_set_of_a_deleted_connector_is_as_if_absent(deletes: bool) -> None:
    """A leader that has not read the deletion yet commits a set, which has no effect on any start."""
    story = TaskCountStory()
    story.lead(0)
    story.configure(0, tasks=1)
    story.commit(story.run(1, 0, 0))
    if deletes:
        story.delete(0)
    story.write(Kind.set_written, 0, count=1, set=story.end)
    story.commit(story.run(0, 0, 0))
    assert (readings(story.columns()) == []) == deletes


@pytest.mark.parametrize("connector", [0, -1, 1])
def test_a_refused_count_ends_its_round(connector: int) -> None:
    """So that the worker may claim the topic again, also where it is not recorded of which connector the count was."""
    story = TaskCountStory()
    story.lead(0)
    for tasks in (2, 1):
        story.configure(0, tasks)
        story.round(0, story.sets[0][0], ids=2 // tasks, request=tasks)
    assert story.rows.pop()["kind"] == Kind.count_written
    story.lead(1)
    story.emit(Kind.write_refused, node=0, connector=connector, error=90)
    story.lead(0)
    assert (readings(story.columns()) == []) == (connector < 1)


def test_an_id_fenced_unseen_is_allowed_for() -> None:
    """A fence whose answer was lost leaves a gap in the epochs, and without a gap there was no fence."""
    for epoch, fits in ((2, True), (1, False)):
        story = TaskCountStory()
        story.lead(0)
        story.configure(0, tasks=1)
        story.refuse(story.run(1, 0, 0))
        again = story.run(0, 0, 0)
        for row in story.rows:
            if row.get("instance") == again.number and "epoch" in row:
                row["epoch"] = epoch
        assert (readings(story.columns()) == []) == fits


def test_an_older_round_fails_while_one_that_fences_nothing_is_under_way() -> None:
    """A worker may have two rounds at a time if the second waits for no fence, and its count conforms."""
    rows = list(simulate(seed_of(1, 167), {"mode": "shipped", "events": 300, "quiet_end": True}))
    columns = columns_of(TASK_COUNTS, [(0, rows)])
    rounds = np.isin(columns["kind"], (Kind.round_started, Kind.round_failed, Kind.count_written))
    requests = columns["request"][rounds & (columns["step"] > 200) & (columns["step"] < 250)]
    assert requests.tolist() == [4, 8, 4, -1]
    assert conformance_kernel("shipped", {"mode": "shipped"}, "task-counts").misfits(columns) == []
