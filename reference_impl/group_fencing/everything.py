"""One history of a consumer group, as KIP-447 shipped, in which about everything happens once.

Two members copy two partitions. One stands still with its offsets sent and its transaction undecided: its successor has
to wait for them, and has its partition then; what the first goes on with is refused. One leaves, one is killed, the
group moves to another broker, and so do the transactions. Every promise is kept, and at the end all of the input is
copied.
"""

from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.script import AFTER_SESSION_MS, TICK_MS, Script
from fencepost.reference_impl.simulation.log import Row

LINES_MAX = 1_000


def rows() -> list[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), members=2, inputs=2, records=10, max_poll_records=1, heartbeat_ms=300)
    system = script.system

    def together(slot: int, kind: str) -> None:
        """Both go on, line by line, until something of this kind happens to one of them."""
        before = script.count(slot, kind)
        for _ in range(LINES_MAX):
            if script.count(slot, kind) > before:
                return
            for each in (0, 1):
                system.step(each)
                script.deliver()
            system.advance(TICK_MS)
        raise RuntimeError(f"{kind} never happens to slot {slot}: in flight {system.messages()}")

    together(0, "consumed")
    together(1, "consumed")
    system.audit()
    script.until(0, "end_sent")
    end = script.hold("end")  # what it has sent is pending
    system.pause(0)
    system.advance(AFTER_SESSION_MS)
    script.until(1, "assigned", 2)
    script.go_on(1, ms=500)  # held: it cannot begin there
    script.release(end)
    system.resume(0)
    together(0, "consumed")
    together(1, "consumed")
    script.until(0, "offset_sent")
    system.pause(0)
    system.advance(AFTER_SESSION_MS)
    script.until(1, "consumed", 2)
    system.resume(0)
    together(0, "assigned")
    script.until(0, "txn_begun")
    system.abort(0)
    together(0, "consumed")
    system.close(1)
    system.restart(1)
    system.move_group()
    together(1, "consumed")
    system.restart(0)
    system.fail_over()
    script.go_on(0, 1, ms=60_000)
    script.audit()
    made: list[Row] = system.env.log.rows
    return made
