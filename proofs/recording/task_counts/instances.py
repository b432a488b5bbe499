"""This module numbers the instances of tasks: each start of a task by a worker is another one.

Workers' logs reveal every start, and the connector's own reports those that came to run. A report is of the latest
start of that task on that worker before it. Which producer an instance has is known from its worker's log, from a
record that it signed with its name, or else as the one that its worker was given last before the connector's report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fencepost.proofs.recording.task_counts.ordering import Event
from fencepost.proofs.recording.task_counts.seen import TaskRun

_SIGNED = re.compile(rb'"instance":"([^"]+)"')


@dataclass(eq=False)
class Instance:
    """An `Instance` is one start of a task. `set` is -1 where it is not known; `events` are those of it so far."""

    number: int
    node: int
    connector: int
    task: int
    time_us: int
    set: int = -1
    request: int = -1  # that it asked for
    run: TaskRun | None = None
    producer: tuple[int, int] | None = None
    is_left: bool = False  # it did not stop in time
    marks: dict[str, Event] = field(default_factory=dict)  # the last event of it by what its worker's log says

    @property
    def columns(self) -> dict[str, int]:
        return {
            "node": self.node, "connector": self.connector, "task": self.task, "instance": self.number, "set": self.set,
        }  # fmt: skip


@dataclass
class Instances:
    """`Instances` has them all, by number."""

    all: list[Instance] = field(default_factory=list)

    def start(self, node: int, connector: int, task: int, time_us: int, set: int = -1) -> Instance:
        self.all.append(Instance(len(self.all), node, connector, task, time_us, set))
        return self.all[-1]

    def latest(self, node: int, connector: int, task: int, before_us: int | None = None) -> Instance | None:
        """Return the latest start of a task on a worker, before a time if one is given."""
        fitting = (
            each for each in reversed(self.all)
            if (each.node, each.connector, each.task) == (node, connector, task)
            and (before_us is None or each.time_us <= before_us)
        )  # fmt: skip
        return next(fitting, None)

    def of_run(self, run: TaskRun, node: int, connector: int, signed: tuple[int, int] | None) -> Instance:
        """Return the instance of which the connector reports, which is a new one if no log reveals it. One that polls
        has looked at the config topic with its producer open; a start that was left running may end without either."""
        fitting = [
            each for each in self.all
            if (each.node, each.connector, each.task) == (node, connector, run.task)
            and each.run is None and each.time_us <= run.started_us
        ]  # fmt: skip
        by_signature = [each for each in fitting if signed is not None and each.producer == signed]
        looked = [each for each in fitting if ("look" in each.marks) == (run.running_us >= 0)]
        looked = looked[-1:] if run.running_us >= 0 else looked[:1]
        found = next(iter(by_signature or looked or fitting[-1:]), None)
        found = found or self.start(node, connector, run.task, run.started_us)
        found.run, found.producer = run, found.producer or signed
        return found

    def by_producer(self) -> dict[tuple[int, int], Instance]:
        return {each.producer: each for each in self.all if each.producer is not None}


def signer(value: bytes) -> str:
    """Return the instance's name in a record's value, or an empty string."""
    found = _SIGNED.search(value)
    return found[1].decode() if found is not None else ""
