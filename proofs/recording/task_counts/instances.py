"""This module numbers the instances of tasks: each start of a task by a worker is another one.

Workers' logs reveal every start, and the connector's own reports those that came to run. A report is of the latest
start of that task on that worker before it. Which producer an instance has is known from its worker's log, from a
record that it signed with its name, or else as the one that its worker was given last before the connector's report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.proofs.recording.task_counts.ordering import Event
from fencepost.properties.task_counts.events import Kind

Pair = tuple[int, int]  # producer id and epoch


@dataclass(eq=False)
class Run:
    """A `Run` is one instance of a task, as its connector reports it. It runs from its first poll on: a task that has
    to stop before its producer is opened is started and stopped without one. Times are in microseconds, and -1 for what
    did not happen."""

    started_us: int
    running_us: int = -1
    stopped_us: int = -1


@dataclass(eq=False)
class Instance:
    """An `Instance` is one start of a task. `set` is -1 where it is not known, and `request` where it asked for none.
    `marks` has the last event of it by kind."""

    number: int
    node: int
    connector: int
    task: int
    time_us: int
    set: int = -1
    request: int = -1
    run: Run | None = None
    producer: Pair | None = None
    marks: dict[Kind, Event] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, int]:
        return {
            "node": self.node, "connector": self.connector, "task": self.task, "instance": self.number, "set": self.set,
        }  # fmt: skip


class Instances(list[Instance]):
    """`Instances` are all, by number."""

    def start(self, node: int, connector: int, task: int, time_us: int, set: int = -1) -> Instance:
        self.append(Instance(len(self), node, connector, task, time_us, set))
        return self[-1]

    def of(self, node: int, connector: int, task: int, upto_us: int | None = None) -> Iterator[Instance]:
        """Yield the starts of a task on a worker, up to a time if one is given, the latest first."""
        return (
            each for each in reversed(self)
            if (each.node, each.connector, each.task) == (node, connector, task)
            and (upto_us is None or each.time_us <= upto_us)
        )  # fmt: skip

    def of_run(self, run: Run, node: int, connector: int, task: int, signed: Pair | None) -> Instance:
        """Return the instance of which the connector reports, which is a new one if no log reveals it. One that polls
        has looked at the config topic with its producer open; a start that was left running may end without either."""
        fitting = [each for each in self.of(node, connector, task, run.started_us) if each.run is None]
        by_signature = [each for each in fitting if signed is not None and each.producer == signed]
        ran = run.running_us >= 0
        looked = [each for each in fitting if (Kind.task_checked_again in each.marks) == ran]
        found = next(iter(by_signature[-1:] or (looked[:1] if ran else looked[-1:]) or fitting), None)
        found = found or self.start(node, connector, task, run.started_us)
        found.run, found.producer = run, found.producer or signed
        return found

    def by_producer(self) -> dict[Pair, Instance]:
        return {each.producer: each for each in self if each.producer is not None}
