"""The variant shipped-by-requests refines what shipped even with late requests and answers, and six mistakes of a
coordinator, a leader or a member break the refinement within the variant's bounds."""

from typing import Any

import pytest
from fencepost.model.group_fencing.by_requests import Phase, ShippedByRequests
from fencepost.model.group_fencing.classic import Shipped
from fencepost.model.group_fencing.core import Member, Offset, Partition, Stage
from fencepost.model.language import action, each, exists, require, when
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.engines.explore import explore
from fencepost.properties.catalogue import features_of, find
from fencepost.properties.group_fencing.claims.core import ByRequests

_, VARIANT = find("group-fencing/shipped-by-requests")
NAME = "does_as_shipped"
BOUNDS = features_of(VARIANT, "smoke")


class AnswersAnyGeneration(ShippedByRequests):
    """This coordinator answers a SyncGroup of an old generation like one of the newest."""

    @action
    def give(s, m: Member):
        """The coordinator answers SyncGroup whatever generation it names."""
        require((0 < s.syncing[m]) & (s.phase == Phase.STABLE) & s.known[m])
        some = s.has_a_target(m)
        s.owner = each(lambda p: when(s.target[p] == m, m, s.owner[p]))
        s.epoch[m] = when(some, s.syncing[m], s.epoch[m])
        s.answered[m] = when(some, s.syncing[m], s.answered[m])
        s.nothing[m] = when(some, s.nothing[m], s.syncing[m])
        s.gets = each(lambda n, p: when((n == m) & some, s.target[p] == m, s.gets[n, p]))


class TakesTheGenerationBefore(ShippedByRequests):
    """This coordinator accepts commits of the old generation until the newest has its assignment."""

    def takes_of(s, m, p, e):
        return s.known[m] & ((s.newest == e) | ((s.newest == e + 1) & (s.phase == Phase.COMPLETING)))


class FetchesUnstableOffsets(ShippedByRequests):
    """This coordinator answers OffsetFetch whatever is pending."""

    @action
    def fetch(s, m: Member, p: Partition):
        """The coordinator answers OffsetFetch at once."""
        require(s.asked[m, p] & ~s.says[m, p] & s.is_up(m))
        s.says[m, p] = True
        s.offset[m, p] = s.committed[p]


class HearsOldOffsets(ShippedByRequests):
    """This member accepts an answer to OffsetFetch after it has given its positions up and asked again."""

    @action
    def join(s, m: Member):
        """The member joins without forgetting its outstanding fetches."""
        require((s.stage[m] == Stage.POLLING) & ~s.crashed[m] & ~s.joining[m] & (s.syncing[m] == 0))
        s.idle[m] = True
        s.joining[m] = True


class WorksOnAsItJoins(ShippedByRequests):
    """This member begins another transaction with its old partitions after it has asked to join."""

    @action
    def process(s, m: Member, p: Partition, i: Offset):
        """The member processes a record whether or not it is idle."""
        require(~exists(Partition, lambda q: s.asked[m, q]))
        Shipped.process(s, m, p, i)


class GivesOneToTwo(ShippedByRequests):
    """This leader assigns one partition to two members."""

    @action
    def choose(s, m: Member, p: Partition):
        """The leader assigns a partition again."""
        require((s.phase != Phase.PREPARING) & s.known[m])
        s.target[p] = m


WRONG = [
    AnswersAnyGeneration, TakesTheGenerationBefore, FetchesUnstableOffsets, HearsOldOffsets, WorksOnAsItJoins,
    GivesOneToTwo,
]  # fmt: skip


class ForgetsWhomItKnows(ShippedByRequests):
    """This coordinator accepts a removed member's commit until the next generation begins, before which its partitions
    have no other owner."""

    def takes_of(s, m, p, e):
        return (s.newest == e) & (s.phase != Phase.COMPLETING)


def refines(protocol: Any) -> str:
    """Return the verdict on the refinement over all features: violated, holds, or unknown."""
    asked = type("Asked", (ByRequests,), {"__module__": __name__, "__doc__": "The same."}, of=protocol)
    verdicts = [
        explore(settle(protocol.spec), {NAME: asked.properties[NAME]}, bounds, stop_when_violated=True).verdicts[NAME]
        for bounds in BOUNDS.values()
    ]
    return "violated" if "violated" in verdicts else "holds" if set(verdicts) == {"holds"} else "unknown"


@pytest.mark.parametrize("protocol", WRONG, ids=lambda protocol: protocol.__name__)
def test_a_mistake_is_noticed(protocol: Any) -> None:
    assert refines(protocol) == "violated"


def test_what_harms_nobody() -> None:
    """Without the check of member ids the refinement still holds within the bounds of every feature."""
    assert refines(ForgetsWhomItKnows) == "holds"
