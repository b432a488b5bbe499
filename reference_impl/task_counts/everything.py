"""One history of a Connect cluster, as text B of KIP-618 has it, in which about everything happens once.

Two tasks become one and two again, a worker with a task stands still and comes back as a zombie, then the leader does,
so that another worker leads; a connector is deleted and created again. Every promise is kept, and at the end every task
runs.
"""

from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.task_counts.parts import Parts
from fencepost.reference_impl.task_counts.script import AT_WORK, Script


def rows() -> list[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), mode="B", workers=3, connectors=2)
    system = script.system
    script.configure(0, tasks=2)
    script.work()
    script.configure(1, tasks=1)
    script.work()
    zombie = script.owner(0, 1)
    system.stall(zombie)
    script.configure(0, tasks=1)  # two tasks become one
    system.expire(zombie)
    round = script.until("fence")
    script.resume(zombie)
    for operation in AT_WORK:  # it may commit: the count of before still covers it
        for thread in script.threads(operation, zombie):
            system.step(thread.number)
    system.stall(zombie)
    script.go(round)  # both ids are fenced
    script.work()
    script.resume(zombie)
    script.work(zombie)  # refused
    script.work()
    former = script.leader()
    script.zombie(former)
    script.configure(1, tasks=1)  # one task stays one: nothing is fenced
    script.work()
    script.resume(former)
    script.settle()
    script.work()
    script.delete(1)
    for connector in (1, 0):
        script.configure(connector, tasks=2)
        script.work()
    made: list[Row] = system.env.log.rows
    return made
