"""Histories of source tasks: exact on what was seeded, silent on what is right, and not on what is wrong."""

import pytest
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind
from fencepost.properties.source_commits.histories import ONE_AT_A_TIME, PREDICTED
from fencepost.properties.source_commits.scenarios.known import COMMITTER, TASK, Script
from fencepost.properties.source_commits.variants import MISTAKES, RIGHT, SIMULATORS


@pytest.mark.parametrize("taken", [1, 0])
@pytest.mark.parametrize("mode", ["proposed", "shipped-mended"])
def test_who_waits_in_vain_for_the_lock_takes_nothing(mode: str, taken: int) -> None:
    """The final commit is refused while the committer has its turn, which then writes what it took, if it took
    anything, and not what was collected since."""
    script = Script.of_reference(mode=mode, batch=1)
    script.begin()
    for collected in range(2):
        if collected == taken:
            script.system.commit_due()
            script.one(COMMITTER)
        script.thread("submitted")
        script.all_arrive("record")
        script.before("poll")
    script.system.stop()
    script.before("drain")
    script.all_arrive("record")
    script.before("snapshot")
    script.one(TASK, "failed")
    script.one(COMMITTER)
    script.go_on()
    events = script.seen()
    assert [event.entries for event in events if event.kind in ("flush_refused", "flush_begun")][:2] == [-1, taken]
    rows = [(step, 0, int(Kind[event.kind]), *event[3:]) for step, event in enumerate(events)]
    config = next(config for name, _, config in SIMULATORS if name == mode)
    assert conformance_kernel(mode, config, "source-commits").misfits(columns_of(SOURCE_COMMITS, [(0, rows)])) == []


def test_modes_are_known_by_one_name() -> None:
    """In the properties, in what is driven, and in what is predicted."""
    assert {*RIGHT, *MISTAKES} == {name for name, _, _ in SIMULATORS}
    assert PREDICTED.keys() == MISTAKES
    assert {*ONE_AT_A_TIME, "told-by-two-threads", "shipped", "proposed-exactly-once"} == {*RIGHT, *MISTAKES}
