"""Settling: a cluster is left alone until nothing is under way any more, and then everything is read, by readers that
have read nothing yet.

Used by the machines at the end of every example, and by the programs that they write, which is why these functions
need nothing but the plug.  `probe` then tries whether a new producer can still commit something that is read, on every
partition: if not, something hangs.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from fencepost.properties.roles import FromConfig
from fencepost.properties.transactions.driving.interface import System

Partitions = Annotated[int, FromConfig("partitions")]
Groups = Annotated[int, FromConfig("groups")]

RETRY_MS, WAIT_MS, WAITS = 100, 30_000, 4
"""What happened may be tried again after a moment; nothing may happen in so many long waits before the cluster counts
as quiet: transactions time out within 70 s."""
ROUNDS, DELIVERIES, STORMS = 150, 300, 2
"""More waits, more deliveries without one, or more often as many, and it counts as going on for ever."""
HOUR_MS, EXPIRY_HOURS = 3_600_000, 8 * 24
EXPIRY_MS = EXPIRY_HOURS * HOUR_MS
PROBE_READER = 500


class Settled(NamedTuple):
    """What became of it.  ``records``: (offset, record) by data partition, for read_committed readers; ``written``: for
    read_uncommitted ones; ``offsets``: (error, record) by offsets partition; ``waited_ms``: virtual time that passed.

    ``quiet``: False if something went on and on."""

    quiet: bool
    waited_ms: int
    records: tuple[tuple[tuple[int, int], ...], ...]
    written: tuple[tuple[tuple[int, int], ...], ...]
    offsets: tuple[tuple[int, int], ...]


class Probed(NamedTuple):
    """What became of a new producer in slot 0.  ``ready``: was it initialised?  ``unread``: partitions on which what it
    committed was not to be read."""

    ready: bool
    committed: bool
    unread: tuple[int, ...]
    waited_ms: int


def settle(system: System, reader: int, partitions: Partitions, groups: Groups) -> Settled:
    """Deliver everything and let time pass until nothing happens; then read.  ``reader`` and the next number must be
    new."""
    quiet, waited_ms = _rest(system)
    read, seen = (
        tuple(tuple(system.read(number, p, committed)) for p in range(partitions))
        for number, committed in ((reader, True), (reader + 1, False))
    )
    offsets = tuple(system.fetch_offset(reader, p) for p in range(partitions, partitions + groups))
    return Settled(quiet, waited_ms, read, seen, offsets)


def probe(system: System, partitions: Partitions, groups: Groups) -> Probed:
    """A new producer commits one transaction on every partition; is it read?"""
    system.restart_client(0)
    system.init(0)
    waited_ms = _rest(system)[1]
    ready = system.begin(0)
    old = _new_to_read(system, partitions, groups)
    for partition in range(partitions + groups if ready else 0):
        system.send(0, partition)
    deliver_all(system)
    committed = ready and system.commit(0)
    waited_ms += _rest(system)[1]
    new = _new_to_read(system, partitions, groups)
    unread = tuple(p for p in range(partitions + groups) if not new[p] or new[p] == old[p])
    return Probed(ready, committed, unread, waited_ms)


def expire(system: System) -> int:
    """Time passes until transactional ids are forgotten, as long as nothing is under way; how much (ms)?"""
    for hours in range(EXPIRY_HOURS):
        if system.messages():
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return EXPIRY_MS


def _new_to_read(system: System, partitions: int, groups: int) -> list[Sequence[Any]]:
    """What one reader has not read yet of each data partition, and the committed offset in each of the others."""
    offsets = range(partitions, partitions + groups)
    return [
        *(system.read(PROBE_READER, p) for p in range(partitions)),
        *(system.fetch_offset(PROBE_READER, p) for p in offsets),
    ]


def _rest(system: System) -> tuple[bool, int]:
    """Until nothing happens for a while; did that come, and how long did it take (ms)?"""
    idle = storms = waited_ms = 0
    for _ in range(ROUNDS):
        done = deliver_all(system)
        storms += done > DELIVERIES
        idle = 0 if done else idle + 1
        if idle > WAITS or storms > STORMS:
            return storms <= STORMS, waited_ms
        wait_ms = RETRY_MS if done else WAIT_MS
        system.advance(wait_ms)
        waited_ms += wait_ms
    return False, waited_ms


def deliver_all(system: System) -> int:
    """Deliver, oldest first, and append, until there is nothing to do; how much was there?"""
    for done in range(DELIVERIES + 1):
        messages = system.messages()
        if messages:
            system.deliver(messages[0][0])
        elif not system.log_append():
            return done
    return DELIVERIES + 1
