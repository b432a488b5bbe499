"""Leading a Connect cluster about: through everything once, to find out what it shows; and on from where it disagreed,
to find out what comes of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fencepost.properties.driving import Run
from fencepost.properties.roles import Named
from fencepost.properties.task_counts.driving.programs import Call

SMALL: Mapping[str, Any] = dict(
    seed=0, workers=2, connectors=1, max_tasks=2, protocol="eager", preemptive_stop=True, group_id="connect",
    heartbeat_ms=0, support="enabled",
)  # fmt: skip
"""A cluster on which everything can be tried."""


def tour(variant: str) -> list[Call]:
    """Calls that make every kind of event happen in an implementation that is right."""
    end, run, work = Call.within(SMALL, "finish"), Call("run"), Call("work")

    def configure(tasks: int, worker: int = 0) -> Call:
        return Call("configure", worker, 0, tasks)

    def until(operation: str) -> Call:
        return Call("run", operation)

    def step(operation: str, outcome: str = "ok") -> list[Call]:
        """Of each thread that waits for it."""
        return [
            Call("step", Named((operation, worker, connector, task)), outcome)
            for worker in (0, 1) for connector in (0, -1) for task in (-1, 0, 1)
        ]  # fmt: skip

    late = [
        configure(1), until("check_after"), configure(2, 1), until("write_count"), configure(1), *step("check_after"),
        run, work, end,
    ]  # fmt: skip
    zombie = [
        configure(2), run, work, Call("stall", 0), Call("expire", 0), run, configure(1, 1), run,
        Call("advance", 400_000), run, work, Call("resume", 0), work, run, work, end,
    ]  # fmt: skip
    failing = [
        configure(2), until("fence"), *step("fence", "failed"), end, configure(1), until("write_count"),
        *step("write_count", "lost"), end, configure(2), until("check_after"), *step("check_after", "failed"), end,
    ]  # fmt: skip
    others = [
        Call("crash", 1), Call("expire", 1), run, Call("restart_worker", 1), end, Call("restart_task", 0, 0, 0), run,
        Call("compact"), configure(2), Call("delete", 0, 0), run, configure(1), end, Call("stop_connector", 0, 0), end,
    ]  # fmt: skip
    return [run, configure(2), run, work, configure(1), run, work, *late, *zombie, *failing, *others]


def go_on(run: Run) -> Iterator[None]:
    """The faults are over, and everybody writes."""
    run.call(Call.within(run.config, "finish"))
    yield
    run.call(Call("work"))
    yield


def go_on_with_another_set(tasks: int, run: Run) -> Iterator[None]:
    """Every connector gets another set."""
    for connector in range(run.config["connectors"]):
        run.call(Call("configure", 0, connector, tasks))
    yield from go_on(run)


WAYS: Mapping[str, Callable[[Run], Iterator[None]]] = {
    "": go_on,
    "a set of one task": lambda run: go_on_with_another_set(1, run),
    "a set of three tasks": lambda run: go_on_with_another_set(3, run),
}
