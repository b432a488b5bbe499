"""Calls at random through an interface: histories, tours and ways of going on that no protocol writes."""

from collections import Counter
from itertools import islice
from typing import Annotated, Any, Protocol

import pytest
from fencepost.properties import calls, free_run
from fencepost.properties.driving import Run
from fencepost.properties.history import HistoryError
from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary
from fencepost.properties.roles import Between, FromConfig, Index, InFlight, OneOf

Node = Annotated[int, Index("nodes", additional=("spares",))]
Waiting = Annotated[int, InFlight((None, Index("nodes")), lambda message: "")]
SIZES = {"nodes": 2, "spares": 1, "room": 7}


class System(Protocol):
    """Every kind of parameter."""

    def messages(self) -> list[tuple[int, str, int]]: ...
    def ask(self, node: Node, force: bool = False) -> bool: ...
    def wait(self, ms: Annotated[int, OneOf(10, 200)], room: Annotated[int, FromConfig("room")]) -> None: ...
    def order(self, turns: Annotated[list[bool], Between(1, 3)], pair: tuple[Node, bool]) -> None: ...
    def deliver(self, number: Waiting, keep: bool = False) -> None: ...
    def gone(self) -> None: ...
    def drain_events(self) -> list[dict[str, Any]]: ...


class Kind(EventKind):
    """What happened."""

    asked = 1, "node"
    delivered = 2, "node"


NODES = Vocabulary("nodes", Kind, (Column("node", "int32", "which"),))


class Call(calls.Call):
    """On a system of nodes."""

    interface = (System,)
    columns = NODES.names


class Nodes:
    """A system that lacks a method, and keeps what it was called with."""

    def __init__(self, config: Any) -> None:
        self.config, self.flying, self.sent, self.events = config, [], 0, []
        self.heard: list[tuple[Any, ...]] = []

    def messages(self) -> list[tuple[int, str, int]]:
        return self.flying

    def ask(self, node: int, force: bool = False) -> bool:
        self.heard.append(("ask", node, force))
        self.sent += 1
        self.flying.append((self.sent, "ask", node))
        self.events.append({"kind": "asked", "node": node})
        return True

    def wait(self, ms: int, room: int) -> None:
        self.heard.append(("wait", ms, room))

    def order(self, turns: list[bool], pair: tuple[int, bool]) -> None:
        self.heard.append(("order", len(turns), *pair))

    def deliver(self, number: int, keep: bool = False) -> None:
        (message,) = (m for m in self.flying if m[0] == number)
        self.heard.append(("deliver", keep))
        self.flying.remove(message)
        self.events.append({"kind": "delivered", "node": message[2]})

    def drain_events(self) -> list[dict[str, Any]]:
        fresh, self.events = self.events, []
        return fresh


class Watching:
    """Has nothing to object."""

    def watch(self, made: Any, messages: Any) -> None:
        """Nothing is noted."""


def test_every_method_is_called_with_all_that_its_parameters_may_be() -> None:
    """But for one that the system lacks; and nothing is delivered that does not wait."""
    run = Run(Nodes, SIZES, Watching())
    for call in islice(free_run.at_random(Call, run.system, SIZES, 0), 600):
        assert run.call(call) is not None
    heard = Counter(run.system.heard)
    assert all(made.error is None for made in run.made)
    assert {h[1:] for h in heard if h[0] == "ask"} == {(node, force) for node in range(3) for force in (False, True)}
    assert {h[1:] for h in heard if h[0] == "wait"} == {(10, 7), (200, 7)}
    assert {h[1:] for h in heard if h[0] == "order"} == {
        (n, m, b) for n in (1, 2, 3) for m in range(3) for b in (False, True)
    }
    assert {h[1:] for h in heard if h[0] == "deliver"} == {(False,), (True,)}


def several(system: Nodes, node: Node, times: Annotated[int, Between(1, 2)] = 1) -> None:
    """A function that makes several calls."""
    for _ in range(times):
        system.ask(node)


class WithHelper(Call):
    """The same, with that as a call of its own."""

    helpers = (several,)


def test_functions_are_called_as_methods_are() -> None:
    """With all that their parameters may be."""
    run = Run(Nodes, SIZES, Watching())
    calls_ = list(islice(free_run.at_random(WithHelper, run.system, SIZES, 0), 400))
    assert {call.get("times") for call in calls_ if call.name == "several"} == {1, 2}
    before = len(run.system.heard)
    run.call(WithHelper("several", 1, 2))
    assert run.system.heard[before:] == [("ask", 1, False)] * 2


def test_a_history_is_the_same_for_a_seed() -> None:
    """As many events as asked for, in rows of the vocabulary; and another one for another seed."""
    config = {**SIZES, "events": 25}
    made = free_run.simulate(Call, NODES, Nodes, 3, config)
    assert made == free_run.simulate(Call, NODES, Nodes, 3, config) != free_run.simulate(Call, NODES, Nodes, 4, config)
    assert [row[0] for row in made] == list(range(25))
    assert {row[2] for row in made} == {1, 2} and {row[3] for row in made} == {0, 1, 2}
    assert [row[1] for row in made] == sorted(row[1] for row in made)


def test_what_a_simulated_implementation_must_not_do() -> None:
    """An event of no kind is refused, with those that there are; an error is its author's to see; and one that shows
    nothing ends all the same."""

    class Strange(Nodes):
        def wait(self, ms: int, room: int) -> None:
            self.events.append({"kind": "waited"})

    class Broken(Nodes):
        def wait(self, ms: int, room: int) -> None:
            raise ZeroDivisionError("by 0")

    class Silent(Nodes):
        def drain_events(self) -> list[dict[str, Any]]:
            return []

    with pytest.raises(HistoryError, match="wait shows an event 'waited'; nodes has asked, delivered"):
        free_run.simulate(Call, NODES, Strange, 0, SIZES)
    with pytest.raises(ZeroDivisionError, match="by 0"):
        free_run.simulate(Call, NODES, Broken, 0, SIZES)
    assert free_run.simulate(Call, NODES, Silent, 0, SIZES) == []


def test_a_tour_shows_what_there_is_and_going_on_goes_on() -> None:
    """The calls of a tour can be made on another system of the same configuration."""
    run = Run(Nodes, SIZES, Watching())
    for call in free_run.tour(Call, Nodes, SIZES):
        run.call(call)
    assert {event["kind"] for made in run.made for event in made.events} == set(NODES.codes)
    before = len(run.made)
    looks = [len(run.made) for _ in free_run.go_on(Call, run)]
    assert looks == [before + free_run.FURTHER * n for n in range(1, free_run.ROUNDS + 1)]
