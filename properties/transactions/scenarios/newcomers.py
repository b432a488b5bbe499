"""Newcomers: many new producers, one after another, each given the transactional id and gone before the next one comes.

A broker that draws producer ids by lot repeats one only now and then (txn.P7): among 900,000 ids in half of all runs
of 1,100 newcomers, and in all but one in a million of 5,000.  And 32,767 newcomers lead past the last epoch of a
producer id (txn.4).  `newcomers` needs nothing but the interface, so that a pasted program can call it.
"""

from typing import Any, NamedTuple

from fencepost.properties.driving import Event, read
from fencepost.properties.transactions.driving.interface import System
from fencepost.properties.transactions.scenarios.settling import deliver_all

RETRY_MS, TRIES = 100, 50
"""A producer whose request is to be tried again waits so long, and tries so often."""


class Newcomers(NamedTuple):
    """What became of them.  ``pairs``: (producer id, epoch) of those who were given one, in their order; ``events``:
    everything that was shown meanwhile, in order; ``waited_ms``: virtual time that passed."""

    pairs: tuple[tuple[int, int], ...]
    events: tuple[Any, ...]
    waited_ms: int

    @property
    def repeats(self) -> bool:
        return len(set(self.pairs)) < len(self.pairs)

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} newcomers with {len(set(self.pairs))} pairs>"


def newcomers(system: System, count: int) -> Newcomers:
    """``count`` producers in slot 0, each a new instance with the same transactional id.  The last one stays."""
    pairs: list[tuple[int, int]] = []
    events: list[Event] = []
    waited_ms = 0
    for _ in range(count):
        system.restart_client(0)
        system.init(0)
        for _ in range(TRIES):
            deliver_all(system)
            shown = list(system.drain_events())
            events += shown
            given = [e for e in shown if read(e, "kind") == "init_taken" and not read(e, "error", 0)]
            if given:
                pairs.append((read(given[-1], "producer_id"), read(given[-1], "epoch")))
            if given or any(read(e, "kind") == "client_failed" for e in shown):
                break
            system.advance(RETRY_MS)
            waited_ms += RETRY_MS
    return Newcomers(tuple(pairs), tuple(events), waited_ms)
