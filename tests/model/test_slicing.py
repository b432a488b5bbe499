"""Ghosts that nothing asked for reads are left out of what is searched, and verdicts stay as they are."""

from fencepost.model.language import (
    Ghost,
    Nat,
    Properties,
    Protocol,
    action,
    danger,
    fault,
    limit,
    promise,
    witness,
)
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.proofs.engines.explore import explore

BOUNDS = dict(most=4, resets=2)
VERDICTS = dict(within="holds", never_two="violated", came_back="holds", comes_near="holds")


class Count(Nat, upto="most"):
    """How much."""


class Counting(Protocol):
    """A number goes to and fro, and ghosts remember how far it has been."""

    at: Count
    furthest: Ghost[Count]  # read by no property, and part of the next one
    before: Ghost[Count]
    resets_seen: Ghost[Count]  # read by the danger
    steps: Ghost[Count]  # read by nothing

    def init(s):
        s.steps = 1

    @action
    def up(s, n: Count):
        """One more."""
        limit(n <= s.at + 1)
        s.before = s.furthest
        s.furthest = n
        s.steps = 3 - s.steps
        s.at = n

    @fault(budget="resets")
    def down(s):
        """Back to the start."""
        s.resets_seen = s.resets_seen + 1
        s.at = 0

    @danger("broker-restart")
    def was_reset(s):
        """It happened."""
        return 0 < s.resets_seen


class CountingPromises(Properties, of=Counting):
    """One holds, one does not, and a state is reached."""

    @promise(rule="730.8")
    def within(s):
        """Nothing is beyond the bound."""
        return s.before <= 4

    @promise(rule="730.8")
    def never_two(s):
        """The number is never 2."""
        return s.at != 2

    @witness(of="within")
    def came_back(s):
        """It was further before."""
        return s.at < s.before

    @witness(of="never_two")
    def comes_near(s):
        """The number is 1."""
        return s.at == 1


def test_what_is_read_is_recorded_with_what_it_is_made_of():
    asked = CountingPromises.properties
    assert without_unread_ghosts(Counting.spec, asked.values()).ghosts == {"furthest", "before", "resets_seen"}
    assert without_unread_ghosts(Counting.spec, [asked["never_two"]]).ghosts == {"resets_seen"}
    assert list(without_unread_ghosts(Counting.spec, []).types) == ["at", "resets_seen"]


def test_verdicts_are_the_same_in_fewer_states():
    asked = CountingPromises.properties
    whole = explore(Counting.spec, asked, BOUNDS)
    sliced = explore(without_unread_ghosts(Counting.spec, asked.values()), asked, BOUNDS)
    assert sliced.verdicts == whole.verdicts == VERDICTS
    assert {n: len(sliced.traces[n]) for n in sliced.traces} == {n: len(whole.traces[n]) for n in whole.traces}
    assert sliced.met == whole.met
    assert 0 < sliced.distinct < whole.distinct
