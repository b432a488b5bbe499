"""Known bugs as scenarios: the same steps with the defect and without, and with any implementation of the interface."""

from collections.abc import Mapping
from typing import Any

import pytest
from fencepost.reference_impl.simulation.scenarios import Known, Messages
from fencepost.reference_impl.transactions import reference as transactions
from fencepost.reference_impl.transactions.scenarios import known as of_transactions
from fencepost.reference_impl.transactions.system import build as build_transactions

PROTOCOLS: Mapping[str, tuple[Known[Any], Any, Any]] = {
    "transactions": (of_transactions.KNOWN, transactions, build_transactions),
}
ANYWHERE = [(p, name) for p, (known, _, _) in PROTOCOLS.items() for name in known if not known[name].reference]
OF_THE_REFERENCE = [(p, name) for p, (known, _, _) in PROTOCOLS.items() for name in known if known[name].reference]


class Plain:
    """An implementation of which nothing can be reached but what the interface has."""

    HIDDEN = frozenset({"env"})

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        if name in self.HIDDEN:
            raise AttributeError(name)
        return getattr(self.system, name)


@pytest.mark.parametrize(("protocol", "name"), ANYWHERE)
def test_a_scenario_plays_with_any_implementation(protocol: str, name: str) -> None:
    """One that has the defect shows the events of the reference that has it."""
    known, reference, build = PROTOCOLS[protocol]
    parts = known[name].broken.get("parts")

    def factory(config: dict[str, Any]) -> Plain:
        return Plain(reference(config) if parts is None else build(config, parts))

    assert known.play(name, factory) == known.scenario(name, broken=True)


def test_most_scenarios_need_nothing_but_the_interface() -> None:
    """By protocol, those that do and those that do not."""
    found = {p: [sum(p == q for q, _ in each) for each in (ANYWHERE, OF_THE_REFERENCE)] for p in PROTOCOLS}
    assert found == {
        "transactions": [20, 16],
    }


@pytest.mark.parametrize(("protocol", "name"), OF_THE_REFERENCE)
def test_what_needs_the_reference_is_refused(protocol: str, name: str) -> None:
    """Rather than fail somewhere in its middle."""
    known, reference, _ = PROTOCOLS[protocol]
    with pytest.raises(ValueError, match=f"{name} needs what only the reference lets a script do"):
        known.play(name, reference)


class Post:
    """Letters (number, kind, from, to) that are answered twice, and then no more."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.flying = [(0, "letter", "a", "b"), (1, "letter", "a", "c")]
        self.sent, self.events = 2, list[str]()

    def messages(self) -> list[tuple[int, str, str, str]]:
        return list(self.flying)

    def deliver(self, number: int, keep: bool = False) -> None:
        letter = next(each for each in self.flying if each[0] == number)
        self.events.append(f"{letter[1]} to {letter[3]}")
        if not keep:
            self.flying.remove(letter)
        if letter[1] == "letter":
            self.flying.append((self.sent, "answer", letter[3], letter[2]))
            self.sent += 1

    def drop(self, number: int) -> None:
        self.flying = [each for each in self.flying if each[0] != number]

    def drain_events(self) -> list[str]:
        shown, self.events = self.events, []
        return shown


class PostScript(Messages):
    """On letters."""

    SMALL: Mapping[str, Any] = {}


def test_what_is_held_up_arrives_when_it_is_released() -> None:
    """Everything else arrives before it, and what is lost never."""
    script = PostScript(factory=Post)
    late = script.hold("letter", "b")
    assert script.hold_next("answer") == [2]
    script.settle()
    assert script.told() == ["letter to c"]
    script.release(late)
    assert script.told() == ["letter to c", "letter to b", "answer to a"]
    script.lose("answer")
    script.release([])
    assert len(script.told()) == 3
    with pytest.raises(RuntimeError, match="no answer to any node is ever sent"):
        script.hold_next("answer")


def test_a_copy_is_held_up_when_the_first_arrives() -> None:
    """And comes when it is let in, with nothing that follows."""
    script = PostScript(factory=Post)
    late = script.copy("letter", "c")
    script.settle()
    script.let_in(late)
    assert script.told() == ["letter to c", "letter to b", "answer to a", "answer to a", "letter to c"]
    assert script.flying("answer") == [4]
