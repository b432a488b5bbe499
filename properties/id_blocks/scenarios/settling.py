"""Settling: no faults any more, everything arrives, and a client of every broker asks for ids again and again.

Used by the machines at the end of every example, and by the programs that they write, which is why it needs nothing but
the plug.
"""

from collections import Counter
from typing import Annotated, NamedTuple

from fencepost.properties.id_blocks.driving.interface import CONTROLLER, BridgeSystem, System
from fencepost.properties.roles import FromConfig

PATIENCE_MS = 150_000
"""Back-offs are over then, and requests that are not answered are given up."""
ROUNDS, FEW_IDS, USED_UP = 5, 200, 60
"""In so many rounds a broker must get an id; with so few ids there are more, until no id is given any more, or so many
rounds were."""
ASKS = 24
"""Of the clients of a broker in one round, at most."""
OPERATIONS = 40
"""Deliveries in one round, or steps of one broker in ZooKeeper, at most: more, and it counts as going on for ever."""


class Settled(NamedTuple):
    """What became of it.  ``quiet``: False if something went on and on; ``starving``: brokers whose clients got no id
    after the first round, however often they asked; ``asked_for``: how many blocks may have been asked for."""

    quiet: bool
    starving: tuple[int, ...]
    asked_for: int


def settle(
    system: System,
    brokers: Annotated[int, FromConfig("brokers")],
    ids: Annotated[int, FromConfig("max_id")],
    zookeeper: Annotated[bool, FromConfig(lambda config: config.get("mode", "kraft") != "kraft")] = False,
) -> Settled:
    """Every broker may ask the controller; everything arrives, is committed and written, and time passes; and clients
    ask until there is nothing left, in each of some rounds."""
    permit = getattr(system, "set_cluster_action", None)
    if callable(permit):
        for broker in range(brokers):
            permit(broker, True)
    quiet, asked_for, given = True, 0, Counter[int]()
    for number in range(USED_UP):
        got = [next((n for n in range(ASKS) if system.init_producer_id(b)[0]), ASKS) for b in range(brokers)]
        if number >= ROUNDS and (ids > FEW_IDS or not any(got)):
            break
        given.update(dict(enumerate(got)) if 0 < number < ROUNDS else {})
        for _ in range(2):  # an answer may have to wait for the commit
            rests, requests = _deliver(system, brokers, zookeeper)
            quiet, asked_for = quiet and rests, asked_for + requests
            system.commit()
        system.advance(PATIENCE_MS)
    return Settled(quiet, tuple(broker for broker in range(brokers) if not given[broker]), asked_for)


def _deliver(system: System, brokers: int, zookeeper: bool) -> tuple[bool, int]:
    """Everything arrives, and is written to ZooKeeper; does that end, and how many blocks may have been asked for?"""
    asked_for = 0
    for _ in range(OPERATIONS):
        waiting = system.messages()
        if waiting:
            asked_for += waiting[0][1] == "request"
            system.deliver(waiting[0][0])
        elif not zookeeper or not sum(_step(system, one) for one in (CONTROLLER, *range(brokers))):
            return True, asked_for
        else:
            asked_for += brokers
    return False, asked_for


def _step(system: System, broker: int) -> bool:
    """One operation of this broker in ZooKeeper, if it has one to do."""
    assert hasattr(system, "zk_step"), BridgeSystem.__doc__
    return bool(system.zk_step(broker))
