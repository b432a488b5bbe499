"""One history of a cluster in v2 in which about everything happens once, and nothing goes wrong.

Two producers in turn: commits, an abort, a record that arrives twice, a take-over amid a transaction, a client that is
never answered about the outcome, a fence by an administrator. A reader follows, and one at read_uncommitted at the end.
"""

from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts

OFFSETS = 2  # the offsets partition of the only group


def rows() -> list[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), mode="v2", groups=1)
    system = script.system

    def read_all() -> None:
        system.read(0, 0)
        system.read(0, 1)
        system.fetch_offset(0, OFFSETS)

    script.start(0)
    for end in (script.commit, script.abort, script.commit):
        script.begin(0, 0, 1, 0, OFFSETS)
        end(0)
        read_all()
    script.begin(0, 0)
    script.start(1)
    system.begin(1)
    system.send(1, 1)
    script.hold_next("produce")
    late = script.held.copy()
    for number in late:
        system.deliver(number, keep=True)
    script.settle()
    script.release(late)
    script.send(1, 0)
    system.commit(1)
    script.hold_next("end_answer")
    script.deliver()
    read_all()
    system.fence()
    script.settle()
    system.restart_client(0)
    script.start(0)
    for _ in range(2):
        script.begin(0, 0, 1, OFFSETS)
        script.commit(0)
    read_all()
    system.read(1, 0, committed=False)
    made: list[Row] = system.env.log.rows
    return made
