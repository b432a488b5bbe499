"""The monitor of KIP-618's promises has assumptions, reads the config, and judges with or without the events that only
a worker can report."""

from typing import Any

import pytest
from broken_lines import lines, reached
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Made, Run
from fencepost.properties.monitoring import Monitor
from fencepost.properties.task_counts.interface import Alone, Call, Finished
from fencepost.properties.task_counts.scenarios import agreement
from fencepost.properties.task_counts.scenarios.known import KNOWN_BUGS, Script
from fencepost.reference_impl.connect.rounds import Rounds
from fencepost.reference_impl.defects.task_counts import REGISTRY
from fencepost.reference_impl.systems.task_counts_cluster import Parts, build, reference


def scenario(name: str, broken: bool) -> list[Any]:
    """Return the events of a known bug's scenario, with or without the bug."""
    bug = KNOWN_BUGS[name]
    parts = REGISTRY[bug.defect].parts if broken else Parts()
    script = Script(build(bug.fixed, parts), **bug.fixed)
    bug.play(script)
    return script.seen()  # type: ignore[no-any-return]


EVENTS = scenario("618.40-shipped", True)
TASK_COUNTS = driven("task-counts")


def watching(events: Any, *, result: Any = None, expecting: frozenset[str] = frozenset(), **config: Any) -> Monitor:
    """Return a monitor that has seen these events, one call each, and a call with this result."""
    monitor = TASK_COUNTS.monitoring({"workers": 3, "connectors": 1, "mode": "shipped", **config}, expecting)
    for event in events:
        monitor.watch(Made(Call("run"), "", None, (event,), None), ())
    monitor.watch(Made(Call("finish", 2, 1, 2), "", result, (), None), ())
    return monitor


def found(**config: Any) -> str | None:
    """Return the rule that the monitor finds broken when a task's second check is left out."""
    broken = watching(EVENTS, **config).found
    return broken and broken.rule


@pytest.mark.parametrize("support", ["enabled", ["enabled"] * 3, ("enabled",) * 3])
def test_support_of_all_workers_is_one_value_or_one_of_each(support: Any) -> None:
    """A single word for all workers is not a list of its letters, and is judged as if the key were absent."""
    assert found() == "618.19"
    assert found(support=support) == "618.19"


@pytest.mark.parametrize("support", ["disabled", ["enabled", "disabled", "enabled"], ("enabled", "enabled", "none")])
def test_a_worker_without_support_ends_what_is_promised(support: Any) -> None:
    """618.33: If some worker is configured without support, nothing is promised about which tasks may run."""
    assert found(support=support) is None
    monitor = watching(EVENTS, support=support, expecting=frozenset({"618.19"}))
    assert [broken.rule for broken in monitor.predicted] == ["618.19"]


@pytest.mark.parametrize("name", sorted(KNOWN_BUGS))
def test_scripts_through_the_black_box(name: str) -> None:
    """Events of users, brokers and the config topic suffice to find each bug in its scenario, and nothing in the
    scenario without it."""
    for broken in (True, False):
        events = [e for e in scenario(name, broken) if e.kind in TASK_COUNTS.black_box]
        monitor = watching(events, mode=KNOWN_BUGS[name].fixed["mode"])
        monitor.observed = TASK_COUNTS.black_box
        assert (monitor.found is not None) == broken


def test_cluster_that_does_not_come_to_rest() -> None:
    """618.P4: When all faults are over events come to an end, and then every task of the newest set polls."""
    right = scenario("618.40-shipped", False)
    assert watching(right).found is None
    restless = watching(right, result=Finished(False, frozenset())).found
    assert (restless.rule, restless.check) == ("618.P4", "result.quiet")
    last = next(i for i in range(len(right) - 1, 0, -1) if right[i].kind == "set_written")
    starved = watching(right[: last + 1], result=Finished(True, frozenset())).found
    assert (starved.rule, starved.call, starved.event) == ("618.P4", last + 2, None)


SMALL = {
    "seed": 0, "workers": 2, "connectors": 1, "max_tasks": 2, "protocol": "eager", "support": "enabled",
    "mode": "shipped",
}  # fmt: skip
RESIZED = (Call("run"), Call("configure", 0, 0, 2), Call("run"), Call("configure", 0, 0, 1), Call("run"))


def driving(factory: Any, calls: Any) -> Monitor:
    """Return a monitor that has seen these calls on a cluster."""
    monitor = TASK_COUNTS.monitoring(SMALL, frozenset())
    monitor.observed = TASK_COUNTS.black_box
    run = Run(factory, SMALL, monitor)
    for call in calls:
        run.call(call)
    return monitor


@pytest.mark.parametrize("name", ["refused_at_first", "failed_round_goes_on"])
def test_tasks_that_nothing_went_wrong_for_start_at_once(name: str) -> None:
    """618.P4: Only a fault or haste justifies a restart. A round refused at first is found before any restart, and one
    refused after a fault only when all faults are over."""
    assert driving(reference, RESIZED).found is None
    found = driving(REGISTRY[name], RESIZED).found
    if name == "refused_at_first":
        assert (found.rule, found.event.kind, found.call) == ("618.P4", "task_failed", 3)
    else:
        assert found is None  # there was no failure
    for disturbing in (Call("stall", 1), Call("expire", 1), Call("advance", 90_000)):
        calls = [RESIZED[0], disturbing, *RESIZED[1:]]
        assert driving(REGISTRY[name], calls).found is None


def test_haste_is_a_reason() -> None:
    """A task of a newer set that joins the round of an older one is answered 409 with the others."""
    again = Call("configure", 0, 0, 1), Call("run", "fence")
    hasty = [*RESIZED[:3], *again, *again, Call("run")]
    monitor = driving(reference, hasty)
    assert "task_failed" in {event.kind for event in monitor._events}
    assert monitor.found is None


def test_what_failed_is_started_again_at_most_twice() -> None:
    """618.P4: When all faults are over, the second restart is enough."""
    right = scenario("618.40-shipped", False)
    assert watching(right, result=Finished(True, frozenset(), 2)).found is None
    again = watching(right, result=Finished(True, frozenset(), 3)).found
    assert (again.rule, again.check) == ("618.P4", "result.restarts <= 2")


def test_those_that_are_up_get_on_by_themselves() -> None:
    """618.P4: Before any restart every task of the newest set polls or has failed."""
    right = scenario("618.40-shipped", False)
    assert watching(right, result=Alone(True, frozenset({(0, 0)}))).found is None
    running = max(number for number, event in enumerate(right) if event.kind == "task_running")
    lacking = [event for event in right[:running] if event.kind != "task_failed"]
    alone = watching(lacking, result=Alone(True, frozenset())).found
    assert (alone.rule, alone.check) == ("618.P4", "(0, 0) in result.at_work")
    restless = watching(right, result=Alone(False, frozenset())).found
    assert (restless.rule, restless.check) == ("618.P4", "result.quiet")
    for kind in ("task_failed", "transaction_refused"):
        failed = [*lacking, right[running]._replace(kind=kind)]
        assert watching(failed, result=Alone(True, frozenset())).found is None


def test_a_task_is_started_where_it_is_assigned() -> None:
    """618.41: The rule is judged only if the assignments are reported."""
    starting = next(event for event in FOREIGN if event.kind == "task_starting")
    assert watching(FOREIGN[: FOREIGN.index(starting) + 1]).found.rule == "618.41"
    unseen = [event for event in FOREIGN if not event.kind.startswith(("task_assigned", "task_revoked"))]
    assert watching(unseen).found is None


RIGHT = scenario("618.40-shipped", False)
ASSIGNED = [event for event in RIGHT if event.kind == "task_assigned"]
FOREIGN = [*RIGHT[: RIGHT.index(ASSIGNED[0])], ASSIGNED[0]._replace(node=2), *RIGHT[RIGHT.index(ASSIGNED[0]) + 1 :]]
"""The first task is assigned to a worker that does not start it."""


def test_every_line_that_finds_something_has_a_witness() -> None:
    with reached(agreement) as bitten:
        for name in KNOWN_BUGS:
            watching(scenario(name, True))
        for finished in (Finished(False, frozenset()), Finished(True, frozenset(), 3)):
            watching(scenario("618.40-shipped", False), result=finished)
        watching(FOREIGN)
        watching(RIGHT[: RIGHT.index(ASSIGNED[0])], result=Alone(True, frozenset()))
        watching(RIGHT, result=Alone(False, frozenset()))
        driving(REGISTRY["refused_at_first"], RESIZED)
        driving(REGISTRY["no_second_rebalance"], RESIZED)
        driving(never_answers, RESIZED)
    assert bitten == lines(agreement)


def never_answers(config: Any) -> Any:
    """Return a cluster whose leader regards every round as already under way."""

    class Never(Rounds):
        def start(self, round: Any) -> None:
            round.over = True

        def conclude(self, round: Any) -> Any:
            yield from ()

    return build(config, Parts(rounds=Never))
