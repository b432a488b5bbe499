"""Where a core may take a step by itself, a protocol over it has to be able to follow: a guard of its own in the way,
or an action that does something else, is found by every engine that checks states."""

import pytest
from fencepost.model.language import (
    Bool,
    ModelError,
    Properties,
    Protocol,
    Set,
    Sort,
    action,
    receptive,
    refinement,
    require,
    when,
)  # fmt: skip
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.induction_counterexamples import narrate
from fencepost.proofs.engines.run_engines import run_induction
from fencepost.properties.catalogue import ProtocolEntry, Variant

BOUNDS = dict(rooms=2)


class Room(Sort, bound="rooms"):
    """A room with a lamp."""


class Lamp(Protocol):
    """One lamp, which is switched on, and goes out by itself."""

    lit: Bool

    @action
    def switch_on(s):
        """A reader wants light."""
        require(~s.lit)
        s.lit = True

    @action
    def go_out(s):
        """It is used up, or the power fails."""
        require(s.lit)
        s.lit = False


class House(Protocol):
    """A lamp in each room, and a person who reads there."""

    light: Set[Room]
    reading: Set[Room]

    @action
    def read(s, r: Room):
        """With the light switched on."""
        require(~s.light[r])
        s.light[r] = True
        s.reading[r] = True

    @action
    def finish(s, r: Room):
        """The light stays."""
        require(s.reading[r])
        s.reading[r] = False

    @action
    def go_out(s, r: Room):
        """Whether the person reads or not."""
        require(s.light[r])
        s.light[r] = False


class NeverWhileReading(House):
    """The mistake: a lamp that waits until the person has finished."""

    @action
    def go_out(s, r: Room):
        """Not while the person reads."""
        require(s.light[r] & ~s.reading[r])
        s.light[r] = False


class StaysLit(House):
    """The mistake: the action is there, and the lamp burns on while the person reads."""

    @action
    def go_out(s, r: Room):
        """If the person does not read."""
        require(s.light[r])
        s.light[r] = when(s.reading[r], True, False)


class Lamps(Properties):
    @refinement(of=Lamp, actions=dict(read=["switch_on"]))
    def each_lamp(s, r: Room):
        """Of a room."""
        return dict(lit=s.light[r])

    @receptive(each_lamp, "go_out")
    def goes_out_at_any_time(s):
        """No lamp asks whether it may."""


class HouseLamps(Lamps, of=House):
    """Of a house."""


class WaitingLamps(Lamps, of=NeverWhileReading):
    """Of lamps that wait."""


class LitLamps(Lamps, of=StaysLit):
    """Of lamps that burn on."""


def test_a_step_that_is_followed() -> None:
    """Proved once, in any state in which the lemmas hold; explored like any state property."""
    proof = prove(House.spec, HouseLamps.properties)
    (found,) = (o for o in proof.obligations if o.property == "goes_out_at_any_time" and o.kind == "follows")
    assert found.verdict == "holds" and proof.verdict() == "holds"
    made = explore(House.spec, HouseLamps.properties, BOUNDS)
    assert made.verdicts == {"each_lamp": "holds", "goes_out_at_any_time": "holds"} and made.distinct == 16


@pytest.mark.parametrize("properties", [WaitingLamps, LitLamps], ids=lambda p: p.__name__)
def test_a_step_that_is_hindered(properties: type[Properties]) -> None:
    """The refinement alone does not tell: all that these do is what a lamp may do."""
    spec = properties.protocol.spec
    proof = prove(spec, properties.properties)
    (failed,) = proof.failures
    assert next(narrate(spec, properties.properties, failed)) == (
        "a state of the invariant breaks goes out at any time: No lamp asks whether it may."
    )
    assert (proof.verdict("each_lamp"), proof.verdict("goes_out_at_any_time")) == ("holds", "violated")
    made = explore(spec, properties.properties, BOUNDS)
    assert made.verdicts == {"each_lamp": "holds", "goes_out_at_any_time": "violated"}
    assert [event.action for event in made.traces["goes_out_at_any_time"].events] == ["read"]


def test_what_it_rests_on_is_reported() -> None:
    """It has a verdict of its own beside the lemmas."""
    variant = Variant("house", HouseLamps, "a house")
    entry = ProtocolEntry("house", "Lamps.", (variant,), {})
    found = {r.property: r.verdict for r in run_induction(entry, variant)}
    assert found["goes_out_at_any_time"] == "holds"


def test_a_step_that_the_core_does_not_take() -> None:
    """Is named, with those that there are."""
    with pytest.raises(ModelError, match="follows 'explode', which Lamp does not take; it has switch_on, go_out"):

        class Exploding(Properties, of=House):
            each_lamp = Lamps.each_lamp

            @receptive(each_lamp, "explode")
            def goes_off(s):
                """It should not."""
