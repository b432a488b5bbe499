"""Known bugs: each scenario fails with the bug, by the model or by a promise, and does not without it."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import pytest
from fencepost.proofs.testing.search import KNOWN_BUGS, played
from fencepost.properties.driving import Factory
from fencepost.properties.machine import Messages
from fencepost.properties.registry import folder


def cases() -> Iterator[Any]:
    """Every known bug; of those that one scenario finds in several modes or by several defects, one in every run."""
    for protocol, bugs in KNOWN_BUGS.items():
        first = {bug.play: name for name, bug in reversed(bugs.items())}
        for name, bug in bugs.items():
            yield pytest.param(protocol, name, marks=[] if first[bug.play] == name else pytest.mark.nightly(nights=12))


class Plain:
    """An implementation of which nothing can be reached but what the interface has."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        if name == "env":
            raise AttributeError(name)
        return getattr(self._system, name)


def reference(protocol: str, defect: str = "") -> Factory:
    """The reference of a protocol, or with one of its defects."""
    if not defect:
        system = import_module(f"fencepost.reference_impl.systems.{folder(protocol)}")
        return system.reference  # type: ignore[no-any-return]
    entry = import_module(f"fencepost.reference_impl.defects.{folder(protocol)}").REGISTRY[defect]

    def broken(config: Mapping[str, Any]) -> Plain:
        assert dict(entry.needs).keys() <= config.keys()
        return Plain(entry(config))

    return broken


@pytest.mark.parametrize(("protocol", "name"), list(cases()))
def test_a_known_bug_shows_and_only_the_bug(protocol: str, name: str) -> None:
    """With the bug the same steps fail, and without it they do not."""
    assert played(protocol, name, reference(protocol, KNOWN_BUGS[protocol][name].defect)) is not None
    failure = played(protocol, name, reference(protocol), broken=False)
    assert failure is None, failure.disagreed


def test_names_are_asked_for_by_name() -> None:
    """A wrong one is told the known ones."""
    with pytest.raises(KeyError, match="no bug is known as 'KAFKA-0'; known are KAFKA-15552"):
        played("id-blocks", "KAFKA-0", reference("id-blocks"))


class Post:
    """Letters (number, kind, from, to) that are answered twice, and then no more."""

    def __init__(self) -> None:
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
        observed, self.events = self.events, []
        return observed


class Letters(Messages):
    """On letters."""

    SMALL: Mapping[str, Any] = {}


def test_what_is_held_up_arrives_when_it_is_released() -> None:
    """Everything else arrives before it, and what is lost never."""
    script = Letters(Post())
    late = script.hold("letter", "b")
    assert script.hold_next("answer") == [2]
    script.settle()
    assert script.seen() == ["letter to c"]
    script.release(late)
    assert script.seen() == ["letter to c", "letter to b", "answer to a"]
    script.lose("answer")
    script.release([])
    assert len(script.seen()) == 3
    with pytest.raises(RuntimeError, match="no answer to any node is ever sent"):
        script.hold_next("answer")


def test_a_copy_is_held_up_when_the_first_arrives() -> None:
    """And comes when it is let in, with nothing that follows."""
    script = Letters(Post())
    late = script.copy("letter", "c")
    script.settle()
    script.let_in(late)
    assert script.seen() == ["letter to c", "letter to b", "answer to a", "answer to a", "letter to c"]
    assert script.flying("answer") == [4]
