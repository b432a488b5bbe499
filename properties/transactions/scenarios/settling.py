"""Settling: a cluster is left alone until nothing is under way any more, and then everything is read, by readers that
have read nothing yet.

Used by the machines at the end of every example, and by the programs that they write, which is why these functions
need nothing but the plug.  `probe` then tries whether a new producer can still commit something that is read, on every
partition: if not, something hangs.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from fencepost.properties.roles import Between, FromConfig
from fencepost.properties.transactions.driving.interface import System

Partitions = Annotated[int, FromConfig("partitions")]
Groups = Annotated[int, FromConfig("groups")]
Ids = Annotated[int, FromConfig(lambda config: min(config.get("ids", 1), config["clients"]))]
"""Of so many transactional ids there are clients."""
Keys = Annotated[int, FromConfig(lambda config: config.get("keys", 1))]

RETRY_MS, WAIT_MS, WAITS = 100, 30_000, 4
"""What happened may be tried again after a moment; nothing may happen in so many long waits before the cluster counts
as quiet: transactions time out within 70 s."""
ROUNDS, DELIVERIES, STORMS = 150, 300, 2
"""More waits, more deliveries without one, or more often as many, and it counts as going on for ever."""
HOUR_MS, EXPIRY_HOURS = 3_600_000, 8 * 24
EXPIRY_MS = EXPIRY_HOURS * HOUR_MS
FORGOTTEN_HOURS = 26
"""Producers are forgotten after a day (producer.id.expiration.ms), and looked for every ten minutes."""
PIECES, FEW_PIECES = 60, 3
"""Fetches of a reader in pieces at most; and where there seems to be nothing to read."""
PROBE_READER = 500


class Settled(NamedTuple):
    """What became of it.  ``records``: (offset, record) by data partition, for read_committed readers; ``written``: for
    read_uncommitted ones; ``offsets``: (error, record) by offsets partition; ``waited_ms``: virtual time that passed.

    ``quiet``: False if something went on and on.  Where a commit has several offsets, ``offsets`` has the one that is
    not known, if there is one, or else the first."""

    quiet: bool
    waited_ms: int
    records: tuple[tuple[tuple[int, int], ...], ...]
    written: tuple[tuple[tuple[int, int], ...], ...]
    offsets: tuple[tuple[int, int], ...]


class Probed(NamedTuple):
    """What became of new producers, one for each transactional id (id n in slot n).  ``ready``: were all initialised?
    ``unread``: partitions on which what one of them committed was not to be read."""

    ready: bool
    committed: bool
    unread: tuple[int, ...]
    waited_ms: int


def settle(system: System, reader: int, partitions: Partitions, groups: Groups, keys: Keys = 1) -> Settled:
    """Deliver everything and let time pass until nothing happens; then read.  ``reader`` and the next number must be
    new."""
    quiet, waited_ms = _rest(system)
    read, seen = (
        tuple(tuple(system.read(number, p, committed)) for p in range(partitions))
        for number, committed in ((reader, True), (reader + 1, False))
    )
    offsets = tuple(_offset_of(system, reader, p, keys) for p in range(partitions, partitions + groups))
    return Settled(quiet, waited_ms, read, seen, offsets)


def probe(system: System, partitions: Partitions, groups: Groups, ids: Ids = 1, keys: Keys = 1) -> Probed:
    """A new producer of each transactional id commits one transaction on every partition; is it read?"""
    found = [_probe(system, slot, partitions, groups, keys) for slot in range(ids)]
    return Probed(
        all(one.ready for one in found),
        all(one.committed for one in found),
        tuple(sorted({partition for one in found for partition in one.unread})),
        sum(one.waited_ms for one in found),
    )


def _probe(system: System, slot: int, partitions: int, groups: int, keys: int) -> Probed:
    system.restart_client(slot)
    system.init(slot)
    waited_ms = _rest(system)[1]
    ready = system.begin(slot)
    old = _new_to_read(system, partitions, groups, keys)
    for partition in range(partitions + groups if ready else 0):
        system.send(slot, partition)
    deliver_all(system)
    committed = ready and system.commit(slot)
    waited_ms += _rest(system)[1]
    new = _new_to_read(system, partitions, groups, keys)
    unread = tuple(p for p in range(partitions + groups) if not new[p] or new[p] == old[p])
    return Probed(ready, committed, unread, waited_ms)


def expire(system: System, held: Annotated[int, Between(0, 1)] = 0) -> int:
    """Time passes until transactional ids are forgotten, as long as nothing is under way but so many messages that are
    ``held`` up; how much (ms)?"""
    for hours in range(EXPIRY_HOURS):
        if len(system.messages()) > held:
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return EXPIRY_MS


def forget(system: System) -> int:
    """Time passes until partitions forget producers that write nothing, as long as nothing is under way; how much
    (ms)?"""
    for hours in range(FORGOTTEN_HOURS):
        if system.messages():
            return hours * HOUR_MS
        system.advance(HOUR_MS)
    return FORGOTTEN_HOURS * HOUR_MS


def in_pieces(system: System, reader: int, partition: int, most: int, offset: int = 0) -> tuple[tuple[int, int], ...]:
    """What a read_committed reader gets of a data partition, ``most`` batches a fetch, from an offset on.  ``reader``
    and the next number must be new: the next one takes all at once, to know how far there is something to read."""
    from_there: dict[str, Any] = {"offset": offset} if offset else {}
    whole = list(system.read(reader + 1, partition, **from_there))
    found: list[tuple[int, int]] = []
    for _ in range(PIECES if whole else FEW_PIECES):
        found += system.read(reader, partition, **from_there, most=most)
        if whole and found and found[-1][0] >= whole[-1][0]:
            break
    return tuple(found)


def _offset_of(system: System, reader: int, partition: int, keys: int) -> tuple[int, int]:
    """Of the offsets in a group's commits one that is not known, or else the first."""
    found = [
        system.fetch_offset(reader, partition),
        *(system.fetch_offset(reader, partition, k) for k in range(1, keys)),
    ]
    return next((each for each in found if each[0]), found[0])


def _new_to_read(system: System, partitions: int, groups: int, keys: int) -> list[Sequence[Any]]:
    """What one reader has not read yet of each data partition, and the committed offset in each of the others."""
    offsets = range(partitions, partitions + groups)
    return [
        *(system.read(PROBE_READER, p) for p in range(partitions)),
        *([_offset_of(system, PROBE_READER, p, keys) for p in offsets]),
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
