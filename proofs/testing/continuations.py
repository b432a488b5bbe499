"""This module continues a program after a disagreement, to find out whether a promise is broken in the end.

The model rejects the first wrong event; a consequence for a user may appear much later."""

from collections.abc import Sequence

from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Factory, Made, Message, Program, Run
from fencepost.properties.monitoring import Monitor


class _Monitoring:
    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        if made.error is None:  # a system that has raised may go on raising, which breaks no promise
            self.monitor.watch(made, messages)


def going_on(
    agreeing: Agreeing, factory: Factory, program: Program, expecting: frozenset[str], observed: frozenset[str]
) -> str:
    """Return the promise that is broken when the program continues in one of the protocol's ways, or an empty string.
    ``observed`` has the kinds of event that are observed."""
    for name, way in agreeing.ways.items():
        watcher = _Monitoring(agreeing.monitoring(program.config, expecting))
        watcher.monitor.observed = observed
        run = Run(factory, program.config, watcher)
        for call in program.calls:
            run.call(call)
        for _ in way(run):
            if watcher.monitor.found is not None:
                return f"{f'after {name}, ' if name else ''}{watcher.monitor.found}"
    return ""
