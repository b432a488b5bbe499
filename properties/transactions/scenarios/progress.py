"""Progress: from now on nothing is lost or late; does one producer get on?

It is driven by nothing but its own calls: what it has open is aborted, and then come a commit, an abort and another
commit, each of a transaction with something for every partition.  An abort comes between the two because it is after
one that a client must number its batches anew, or ask for its next epoch (txn.13, KIP-360).  Used by the machines, and
by the programs that they write, which is why `progress` needs nothing but the plug.
"""

from typing import Annotated, NamedTuple

from fencepost.properties.roles import FromConfig
from fencepost.properties.transactions.driving.interface import Slot, System
from fencepost.properties.transactions.scenarios.settling import RETRY_MS, WAIT_MS, deliver_all

Partitions = Annotated[int, FromConfig(lambda config: config["partitions"] + config.get("groups", 0))]

WANTED = (True, False, True)
"""How the transactions are to end: is it a commit?"""
SPARE = 5
"""So many more of them may fail: one may pay for what was lost before, and where the same error comes again and again
some further ones show it."""
RETRIES, WAITS = 10, 5
"""What cannot be done yet is tried again after a back-off (`RETRY_MS`), one partition after the other; what was lost
before is asked for again after request.timeout.ms, and a transaction that is left open is aborted after its time-out
and the next look at the clock: both within so many long waits (`WAIT_MS`), with back-offs before each."""
PAUSES = (*(*(RETRY_MS,) * RETRIES, WAIT_MS) * WAITS, *(RETRY_MS,) * RETRIES)
BOUND_MS = sum(PAUSES)
"""A call that has not come to its end after so much simulated time never does."""


class Progressed(NamedTuple):
    """What became of it.  ``ended``: how many of the `WANTED` transactions ended as wanted; ``tried``: how many were
    begun; ``waits``: the call that did not come to an end within `BOUND_MS`, or was not possible: empty where none is;
    ``waited_ms``: virtual time that passed."""

    ended: int
    tried: int
    waits: str
    waited_ms: int

    @property
    def through(self) -> bool:
        """Did all of them end as wanted?"""
        return self.ended == len(WANTED)


def progress(system: System, slot: Slot, partitions: Partitions) -> Progressed:
    """Drive the producer of a slot, which has been initialised, through the `WANTED` transactions."""
    ended, waited_ms, latest = 0, 0, "what came before"
    for tried in range(len(WANTED) + SPARE + 1):
        aborted, begun, passed_ms = _begun(system, slot)
        waited_ms += passed_ms
        ended += begun and tried > 0 and not aborted
        if not begun:
            return Progressed(ended, tried, "abort" if aborted else latest, waited_ms)
        if ended == len(WANTED) or tried == len(WANTED) + SPARE:
            break
        for partition in range(partitions):
            system.send(slot, partition)
        deliver_all(system)
        latest = "commit" if WANTED[ended] else "abort"
        getattr(system, latest)(slot)
    system.abort(slot)
    deliver_all(system)
    return Progressed(ended, tried, "", waited_ms)


def _begun(system: System, slot: int) -> tuple[bool, bool, int]:
    """Wait until a transaction can be begun.  Was another one aborted for that; has one begun; how long did it take?"""
    aborted, waited_ms = False, 0
    for wait_ms in (*PAUSES, 0):
        deliver_all(system)
        if system.begin(slot):
            return aborted, True, waited_ms
        if system.abort(slot):
            aborted = True
        elif wait_ms:
            system.advance(wait_ms)
            waited_ms += wait_ms
    return aborted, False, waited_ms
