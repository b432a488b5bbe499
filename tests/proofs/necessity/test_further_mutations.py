"""Mistakes of time and of order about a rule: what they make of a protocol, and what `necessity` says of them."""

from importlib import import_module
from types import ModuleType

import pytest
from fencepost.model.language import Map, Nat, Protocol, Sort, action, require
from fencepost.model.language.derived.mutations import mutated, mutation, mutations
from fencepost.model.rules import RULES
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.necessity.search import judge, number_of_verdicts
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event
from fencepost.properties.catalogue import find
from fencepost.properties.registry import PROTOCOLS, folder

DERIVED = [
    # A leader that claims the topic late (618.24), which a table called harmless.
    ("task-counts", "core-shipped", "618.24", "elect: owner later", ("necessary", "all_covered", 13)),
    # A marker is handled a second time; a transaction is completed a second time.
    ("transactions", "core-v2", "txn.11", "mark: once more", ("necessary", "nothing_hangs", 14)),
    ("transactions", "core-v2", "txn.10", "complete: once more", ("necessary", "nothing_hangs", 13)),
    # A partition that forgets which epoch it knows.
    ("transactions", "core-v2", "txn.12", "known forgotten", ("necessary", "nothing_committed_unasked", 18)),
    ("transactions", "core-v1-prompt", "txn.12", "known forgotten", ("necessary", "nothing_hangs", 8)),
    # A broker that takes an answer twice.
    ("id-blocks", "kraft", "730.19", "take: once more", ("necessary", "no_id_twice", 10)),
]
MODULES = {name: import_module(f"fencepost.reference_impl.defects.{folder(name)}") for name in PROTOCOLS}
REGISTRIES = [
    (protocol, module) for protocol, module in MODULES.items()
    if not hasattr(module, "LAYERS") and find(protocol)[0].verified
]  # fmt: skip
"""Of the whole system the defects are those of its layers, each of which answers for its own. Of a protocol that
`verify` leaves out, no defect has the model's mistake next to it yet."""


@pytest.mark.parametrize(("protocol", "variant", "rule", "name", "verdict"), DERIVED)
def test_derived(protocol: str, variant: str, rule: str, name: str, verdict: tuple[str, str, int]) -> None:
    """Each of these is derived from the rule, and breaks a promise of another number."""
    chosen = find(protocol)[0].variant(variant)
    found = judge(chosen, mutation(chosen.properties.protocol.spec, rule, name), "smoke")
    assert (found.verdict, found.promise, found.steps) == verdict


@pytest.mark.parametrize(
    ("protocol", "usual", "further"), [("id-blocks", 50, 35), ("task-counts", 71, 33), ("transactions", 127, 73)]
)
def test_what_they_cost(protocol: str, usual: int, further: int) -> None:
    """Verdicts, of the protocol without its parts; the further ones are asked for apart."""
    entry = find(protocol)[0]
    assert (number_of_verdicts(entry), number_of_verdicts(entry, further=True)) == (usual, further)


@pytest.mark.parametrize(("protocol", "broken"), REGISTRIES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_called_harmless_is_proved_to_be(protocol: str, broken: ModuleType) -> None:
    """Each defect that breaks nothing has the model with the same mistake beside it, and every promise of that is
    proved; but for those of interface rules, which no model has and tests of the interface show."""
    nothing = {name for name, one in broken.REGISTRY.items() if one.breaks.value == "nothing"}
    harmless = {name: one.harmless for name, one in broken.REGISTRY.items() if one.harmless}
    assert set(harmless) == {name for name in nothing if RULES[broken.REGISTRY[name].rule].kind != "interface"}
    for name, (variant, rule, mistake) in harmless.items():
        chosen = find(protocol)[0].variant(variant)
        if mistake:
            assert broken.REGISTRY[name].rule == rule
            found = judge(chosen, mutation(chosen.properties.protocol.spec, rule, mistake), "smoke")
            assert (found.verdict, found.engine) == ("redundant", "induction")
        else:
            proof = prove(chosen.spec, chosen.promised, counterexamples=False)
            assert proof.failures == () and any(o.kind == "preserved" for o in proof.obligations)


class Box(Sort, bound="boxes"):
    """A box."""


class Number(Nat, upto="most"):
    """A number."""


class Shelf(Protocol):
    """Boxes are filled once, with the next number."""

    next: Number
    holds: Map[Box, Number]

    def init(s):
        s.next = 1

    @action
    def fill(s, b: Box):
        require(s.holds[b] == 0, rule="730.8")
        s.holds[b] = s.next

    @action
    def count(s):
        require(s.next <= 2, rule="730.16")
        s.next = s.next + 1


def taken(name: str, rule: str, *events: Event) -> dict[str, object] | None:
    """The state after some steps of a mutant; None if one is not enabled."""
    plain = Plain(mutation(Shelf.spec, rule, name).apply(), {}, {"boxes": 2, "most": 9})
    state = plain.initial()
    for event in events:
        if not plain.enabled(state, event):
            return None
        state = plain.step(state, event)
    return {name: dict(value) if isinstance(value, dict) else value for name, value in state.items()}


FILL, COUNT = Event("fill", {"b": 1}), Event("count", {})


def test_listed_on_request() -> None:
    """They are under their own names beside the usual ones, and found by name without being asked for."""
    usual, every = ({(m.rule, m.name) for m in mutations(Shelf.spec, f)} for f in (False, True))
    assert every - usual == {
        ("730.8", "fill: guard 1 at least"), ("730.8", "fill: guard 1 at most"), ("730.8", "fill: holds later"),
        ("730.8", "fill: once more"), ("730.8", "holds forgotten"),
        ("730.16", "count: next later"), ("730.16", "count: once more"), ("730.16", "next forgotten"),
    }  # fmt: skip
    assert (
        mutated(Shelf.spec, [("730.8", "fill: once more")]) == mutation(Shelf.spec, "730.8", "fill: once more").apply()
    )


def test_later() -> None:
    """The step changes nothing at first, and what it does is done once, with what is there by then."""
    later = Event("fill_holds_later", {"b": 1})
    after = taken("fill: holds later", "730.8", FILL, COUNT, later)
    assert after is not None and (after["holds"], after["next"]) == ({(1,): 2}, 2)
    assert taken("fill: holds later", "730.8", later) is None
    assert taken("fill: holds later", "730.8", FILL, later, later) is None


def test_forgotten() -> None:
    """What was there at the beginning is there again, of one entry."""
    other = Event("fill", {"b": 0})
    after = taken("holds forgotten", "730.8", FILL, other, Event("forget_holds", {"of0": 1}))
    assert after is not None and after["holds"] == {(0,): 1}
    assert taken("holds forgotten", "730.8", Event("forget_holds", {"of0": 1})) is None
    after = taken("next forgotten", "730.16", COUNT, Event("forget_next", {}))
    assert after is not None and after["next"] == 1


def test_once_more() -> None:
    """A step that was taken is taken again, against its guards, and one time only."""
    again = Event("fill_again", {"b": 1})
    after = taken("fill: once more", "730.8", FILL, COUNT, again)
    assert after is not None and after["holds"] == {(1,): 2}
    assert taken("fill: once more", "730.8", again) is None
    assert taken("fill: once more", "730.8", FILL, again, again) is None
