"""One history of a source connector, as KIP-618 has it, in which about everything happens once.

Two tasks read two source partitions, first with their offsets in the worker's topic, then with a topic of their own.
One stands still with its offsets sent and its transaction undecided; the other one's successor has to wait for that.
One is killed, one ends in order, one is of an older set and is fenced, a commit is not answered, a record is dropped.
Every promise is kept, and at the end the source is in the output.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.source_offsets.parts import Parts
from fencepost.reference_impl.source_offsets.script import Script

CONFIG: Mapping[str, Any] = {"tasks": 2, "partitions": 2, "records": 12, "batch": 2, "filtered": 5, "separate": False}


def rows() -> Sequence[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), **CONFIG)
    system = script.system
    for task in (0, 1, 0, 1):
        script.then(task, "commit")
    system.audit()
    system.configure(2, True)  # what was at work is fenced
    for task in (0, 1):
        script.walk(task, 2)
        script.then(task, "commit")
    script.until(0, "commit")
    system.stall(0)
    script.then(1, "commit")
    system.kill(1)
    system.restart(1)
    script.go_on(1)  # waits for the transaction of task 0
    system.resume(0)
    script.then(0, "commit")
    script.then(1, "commit", "lost")
    system.restart(1)
    script.go_on(1)
    system.stop(0)
    script.then(0, "stop")
    system.restart(0)
    script.until(0, "send")
    system.stall(0)
    system.restart(0)
    script.go_on(0)
    system.resume(0)
    system.fail_over()
    system.change_leader(1)
    script.audit()
    made: Sequence[Row] = system.env.log.rows
    return made
