"""One history of a consumer group, with KIP-447 as shipped, in which about everything happens once, and nothing goes
wrong.

Two instances join and copy; one stands still for longer than its session and commits as a zombie, which is refused; an
instance aborts, one is killed, one closed, one polls too late; each coordinator fails over. An auditor looks on.
"""

from fencepost.reference_impl.group_fencing.parts import Parts
from fencepost.reference_impl.group_fencing.script import AFTER_POLLS_MS, AFTER_SESSION_MS, Script
from fencepost.reference_impl.simulation.log import Row


def rows() -> list[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), inputs=2, records=9, max_poll_records=1, initial_delay_ms=3_000)
    system = script.system
    for _ in range(2):  # initTransactions(), and the first poll
        for slot in range(2):
            system.step(slot)
        script.settle(4_000)
    script.until(0, "end_told")
    script.until(1, "end_told")
    system.audit()
    script.until(0, "offset_sent")
    system.abort(0)
    script.until(0, "end_told")
    script.until(0, "consumed")
    system.pause(0)
    script.settle(AFTER_SESSION_MS)
    script.until(1, "assigned", times=2)
    script.until(1, "end_told")
    system.resume(0)
    script.until(0, "end_told")
    system.audit()
    system.move_group()
    system.fail_over()
    script.settle()
    script.until(1, "end_sent")
    end = script.hold("end")
    system.restart(1)
    script.go_on(0, ms=AFTER_SESSION_MS)
    script.release(end)
    script.go_on(0, 1)
    system.close(0)
    script.go_on(1)
    system.restart(0)
    script.go_on(0, 1)
    script.settle(AFTER_POLLS_MS)
    script.go_on(0, 1, ms=AFTER_SESSION_MS)
    script.audit()
    made: list[Row] = system.env.log.rows
    return made
