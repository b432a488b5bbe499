"""Histories of source tasks: exact on what was planted, silent on what is right, and not on what is wrong."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.necessity.killers import found_plants
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind
from fencepost.properties.source_commits.histories import BED, HISTORY, ONE_AT_A_TIME, PLANTS, PREDICTED
from fencepost.properties.source_commits.scenarios.known import COMMITTER, TASK, Script
from fencepost.properties.source_commits.variants import MISTAKES, OVERLAPPING, RIGHT, SIMULATORS
from fencepost.reference_impl.defects.source_commits import REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks
from fencepost.reference_impl.systems.source_commits import simulate

CONFIG = {"events": 400, "quiet_end": True}
HISTORIES, HISTORIES_CHECKED = 100, 40
MORE: dict[str, dict[str, Any]] = {
    "two_threads": OVERLAPPING, "late_callback_counts": {"delay": 0.3, "timeout_us": 20_000},
}  # fmt: skip
"""What brings two threads together, and what makes answers late."""
LEFT_TO_THE_MODEL = {"committer_updates", "final_commit_does_not_wait", "late_success_clears", "refused_goes_last"}
"""Defects of which nothing comes but another order of events, or in one history of thousands."""


def simulated(place: Path, variant: str, histories: int, **config: Any) -> ReplayReport:
    """The report on what the reference does, with all faults, until everything is committed."""
    function, usual = next((function, said) for name, function, said in SIMULATORS if name == variant)
    generate(
        place, function, histories=histories, seed=1, config={**usual, **config}, protocol="source-commits",
        variant=variant, cores=1,
    )  # fmt: skip
    return replay(place, cores=1)


def broken_in(histories: int, **config: Any) -> set[str]:
    """The properties that some of these histories violate, of those that their mode promises."""
    made = [(seed, simulate(seed, config)) for seed in range(histories)]
    findings, _ = HISTORY.check(columns_of(SOURCE_COMMITS, made), config={"mode": "proposed", **config})
    mode = str(config.get("mode", "proposed"))
    return {n for n, f in findings.items() if f.violations and HISTORY.properties[n].not_promised(mode) is None}


def test_the_example_keeps_every_promise() -> None:
    """And has something to say of each, but of tasks that fail."""
    findings, figures = HISTORY.check(BED.bent(""), config=BED.config)
    assert {name for name, found in findings.items() if found.violations} == set()
    assert {name for name, found in findings.items() if not found.judged} == {"fails_for_a_reason"}
    assert figures["instances"] == 4 and figures["offsets_told"] > 0


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_found_by_what_it_breaks_alone(name: str) -> None:
    """To the last violation."""
    findings, _ = HISTORY.check(BED.bent(name), config=BED.config)
    assert {n: found.violations for n, found in findings.items() if found.violations} == PLANTS[name].found


def test_every_property_can_fail() -> None:
    """There is a plant for each."""
    assert found_plants("source-commits").keys() == HISTORY.properties.keys()


@pytest.mark.parametrize("variant", RIGHT)
def test_no_alarm(variant: str, tmp_path: Path) -> None:
    """In what is right every promise holds, and the model follows."""
    assert simulated(tmp_path, variant, HISTORIES_CHECKED).violations == {}
    config = next(config for name, _, config in SIMULATORS if name == variant)
    columns = columns_of(SOURCE_COMMITS, [(seed, simulate(seed, config)) for seed in range(HISTORIES_CHECKED)])
    kernel = conformance_kernel(variant, config, "source-commits")
    assert kernel.misfits(columns) == []
    assert not kernel(columns).undecided


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


@pytest.mark.parametrize("variant", sorted(MISTAKES))
def test_a_mistake_breaks_what_it_is_known_for(variant: str) -> None:
    """And nothing else."""
    config = next(config for name, _, config in SIMULATORS if name == variant)
    broken = broken_in(HISTORIES, **config)
    assert broken and broken <= PREDICTED[variant]


@pytest.mark.parametrize(
    "name",
    sorted(REGISTRY.keys() - LEFT_TO_THE_MODEL),
)
def test_a_defect_is_in_few_histories(name: str) -> None:
    """Unless it breaks nothing."""
    defect = REGISTRY[name]
    broken = broken_in(HISTORIES, broken=name, **dict(defect.needs), **CONFIG, **MORE.get(name, {}))
    assert bool(broken) == (defect.breaks is not Breaks.NOTHING)


def test_modes_are_known_by_one_name() -> None:
    """In the properties, in what is driven, and in what is predicted."""
    assert {*RIGHT, *MISTAKES} == {name for name, _, _ in SIMULATORS}
    assert PREDICTED.keys() == MISTAKES
    assert {*ONE_AT_A_TIME, "told-by-two-threads", "shipped", "proposed-exactly-once"} == {*RIGHT, *MISTAKES}
