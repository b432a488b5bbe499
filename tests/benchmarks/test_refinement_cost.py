"""What a refinement costs the explorer, beside a plain step property of the same protocol in the same run.

The worst case is a protocol that refines itself: every step is a step of the core, and none leaves it alone.
"""

import time

import pytest
from fencepost.model.id_blocks.brokers import Broker, Id
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import Constant, Ghost, Map, Nat, Properties, Protocol, Set, action, refinement, require
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.explore import coverage, explore
from fencepost.properties.id_blocks.claims import KraftProperties

BOUNDS = dict(
    brokers=2, requests=2, ids=2, size=1, restarts=1, fail_overs=1, snapshots=1,
    copies=0, time_outs=0, losses=0, errors=0,
)  # fmt: skip
STEPS = 1_101_844
AT_MOST = 5.0  # measured: 1.1 for the small core, 2.0 for itself


class Blocks(Protocol):
    """Blocks are booked, granted, held and handed out, by whatever way."""

    size: Constant[Nat]
    booked: Id
    cursor: Map[Broker, Id]
    end: Map[Broker, Id]
    given: Ghost[Set[Id]]

    @action
    def book(s, to: Id):
        require((s.booked < to) & (to <= s.booked + s.size))
        s.booked = to

    @action
    def install(s, b: Broker, first: Id):
        require((s.cursor[b] == s.end[b]) & (first + s.size <= s.booked))
        s.cursor[b] = first
        s.end[b] = first + s.size

    @action
    def hand_out(s, b: Broker):
        require(s.cursor[b] < s.end[b])
        s.given[s.cursor[b]] = True
        s.cursor[b] = s.cursor[b] + 1

    @action
    def restart(s, b: Broker):
        s.cursor[b] = 0
        s.end[b] = 0


class OfBlocks(Properties, of=Kraft):
    """A small core, which most steps leave alone."""

    @refinement(of=Blocks)
    def core(s):
        """What is committed is booked."""
        return dict(booked=s.committed)


class OfItself(Properties, of=Kraft):
    """A core that every step changes."""

    @refinement(of=Kraft)
    def core(s):
        """Everything is itself."""
        return {}


def seconds(asked: dict[str, Property]) -> float:
    """Processor time of a search on one thread, the shortest of three."""
    spec, spent = settle(Kraft.spec), []
    for _ in range(3):
        start = time.process_time()
        made = explore(spec, asked, BOUNDS, threads=1)
        spent.append(time.process_time() - start)
        assert made.generated == STEPS and set(made.verdicts.values()) == {"holds"}
    return min(spent)


@pytest.mark.parametrize("properties", [OfBlocks, OfItself], ids=lambda p: p.__name__)
def test_it_costs_little_more_than_a_step_property(properties: type[Properties]) -> None:
    """1.1 million steps, each found to be a step of the core or to leave it alone.  (About 5 s.)"""
    plain = seconds({"used_up_for_ever": KraftProperties.properties["used_up_for_ever"]})
    ratio = seconds(dict(properties.properties)) / plain
    assert ratio < AT_MOST, f"{ratio:.1f} times as long as with a step property; was the machine busy?"


def test_the_small_core_is_covered() -> None:
    """It is checked in earnest: all its steps occur."""
    made = explore(settle(Kraft.spec), OfBlocks.properties, BOUNDS)
    assert coverage(made, "core") == {
        "book": ("commit",), "install": ("install",), "hand_out": ("hand_out",), "restart": ("restart",),
    }  # fmt: skip
