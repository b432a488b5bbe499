"""A machine derived from an annotated interface: what it calls, with what arguments, and what scenarios add."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol

import pytest
from fencepost.properties import calls
from fencepost.properties.driving import Call, Made, Message, Run
from fencepost.properties.machine import CHANCES, Machine, redrawn, scenario, strategy, variants
from fencepost.properties.roles import Between, Fields, Index, InFlight, OneOf
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

Node = Annotated[int, Index("nodes")]
WAITING = InFlight((None, Index("nodes")), lambda message: str(message[1]))
Number = Annotated[int, WAITING]


class System(Protocol):
    """Nodes ask for a lock; an answer is a message."""

    def messages(self) -> list[tuple[int, str, int]]: ...
    def deliver(self, number: Number, keep: bool = False) -> None: ...
    def ask(self, node: Node, ms: Annotated[int, OneOf(10, 10, 500)]) -> bool: ...
    def crash(self) -> None: ...
    def is_up(self, node: Node) -> bool: ...
    def drain_events(self) -> list[Any]: ...


class Optional(Protocol):
    """What only some have."""

    def renew(self, node: Node) -> None: ...


class LockCall(calls.Call):
    """A call on it."""

    interface = (System, Optional)
    columns = ()


class Locks:
    """A system without `Optional`, which notes what is called."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.called: list[tuple[Any, ...]] = []
        self.answers: list[tuple[int, str, int]] = []

    def messages(self) -> list[tuple[int, str, int]]:
        return list(self.answers)

    def deliver(self, number: int, keep: bool = False) -> None:
        self.called.append(("deliver", number, keep))
        self.answers = [each for each in self.answers if keep or each[0] != number]

    def is_up(self, node: int) -> bool:
        self.called.append(("is_up", node))
        return True

    def ask(self, node: int, ms: int) -> bool:
        self.called.append(("ask", node, ms))
        self.answers.append((len(self.called), "grant", node))
        return node == 0

    def crash(self) -> None:
        self.called.append(("crash",))

    def drain_events(self) -> list[Any]:
        return []


class Watching:
    """A session that keeps every run."""

    def __init__(self) -> None:
        self.config: Mapping[str, Any] = {"mode": "plain"}
        self.runs: list[Run] = []

    def start(self, config: Mapping[str, Any]) -> Run:
        self.runs.append(Run(Locks, config, self))
        return self.runs[-1]

    def call(self, run: Run, call: Call) -> Made | None:
        return run.call(call)

    def watch(self, made: Made, messages: Any) -> None:
        assert made.error is None


class Plain(Machine):
    """Of a protocol that declares no scenarios."""

    call_type = LockCall
    sizes = st.fixed_dictionaries({"nodes": st.integers(1, 3)})


class Scenes(Machine, steps={"node_asks": "ask"}):
    """Of one that does, and that calls single methods under names of its own."""

    call_type = LockCall

    @scenario(when=lambda self: self.run.config["nodes"] > 1)
    def handed_on(self, node: Node, times: Annotated[list[bool], Between(1, 3)]) -> None:
        """A node asks and is answered, and then the next one."""
        for keep in times:
            self.call("ask", node, 10)
            for message in self.waiting("grant", node):
                self.send(message, keep=keep)
        self.call("ask", self.index("nodes", node + 1), 500)
        self.deliver_all()

    @scenario
    def once_more(self, message: Annotated[Message, WAITING], pair: tuple[bool, bool]) -> None:
        """One of the answers comes twice."""
        self.send(message, keep=True)
        self.send(message)


class Turns(NamedTuple):
    """Who asks, and how often."""

    times: Annotated[int, Between(1, 3)]
    ms: Annotated[int, OneOf(10, 500)]


class Chances(Machine, steps={}, weights={"asks": 3, "comes_twice": 1, "pauses": 0}):
    """Of a protocol whose scenarios take many arguments."""

    call_type = LockCall
    sizes = CHANCES

    def begin(self, drawn: int) -> None:
        self.start({"nodes": 1 + drawn % 3})

    def asks(self, node: Node, turns: Annotated[Turns, Fields(ms=OneOf(500))], fair: bool) -> None:
        """A node asks some times, with or without being answered."""
        for _ in range(turns.times):
            self.call("ask", node, turns.ms)
        if fair:
            self.deliver_all()

    def comes_twice(self, message: Annotated[Message, WAITING], pair: tuple[bool, bool]) -> None:
        """An answer comes twice."""
        for keep in pair:
            self.send(message, keep=keep)

    def pauses(self) -> None:
        """Is never drawn."""
        self.call("crash")


def driven(machine: type[Machine]) -> list[Locks]:
    """The systems of fifty examples."""
    session = Watching()
    chosen = settings(
        max_examples=50, stateful_step_count=20, deadline=None, database=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    made = type("OfTheSession", (machine,), {"session": session})
    run_state_machine_as_test(seed(1)(made), settings=chosen)
    return [run.system for run in session.runs]


def test_every_method_is_a_rule_and_gets_what_its_annotations_say() -> None:
    """What shows something is no rule, and neither is what the system lacks; messages are given by their numbers."""
    systems = driven(Plain)
    names = Counter(call[0] for system in systems for call in system.called)
    assert set(names) == {"ask", "deliver", "crash"} and min(names.values()) > 20
    for system in systems:
        assert system.config["mode"] == "plain"
        asked = [call for call in system.called if call[0] == "ask"]
        assert all(0 <= node < system.config["nodes"] and ms in (10, 500) for _, node, ms in asked)
    assert {call[2] for system in systems for call in system.called if call[0] == "deliver"} == {False, True}


def test_a_scenario_is_a_rule() -> None:
    """Where it can be played; its index is below the size, its message one that waits."""
    machine = variants(Scenes, {"v1": st.fixed_dictionaries({"nodes": st.integers(1, 2)})})["v1"]
    systems = driven(machine)
    alone = [system for system in systems if system.config["nodes"] == 1]
    calls_of_pairs = [call for system in systems if system not in alone for call in system.called]
    assert alone and ("ask", 1, 500) in calls_of_pairs and ("ask", 0, 500) in calls_of_pairs
    assert any(call[0] == "deliver" for system in alone for call in system.called), "once_more needs no second node"
    assert {name for name, *_ in calls_of_pairs} == {"ask", "deliver"}, "crash is not among the steps"


def test_a_scenario_may_be_part_of_another() -> None:
    """Called with any index."""
    session = Watching()
    machine = type("Handed", (Scenes,), {"session": session})()
    machine.start({"nodes": 2})
    machine.handed_on(5, [False])
    assert [call for call in session.runs[0].system.called if call[0] == "ask"] == [("ask", 1, 10), ("ask", 0, 500)]
    assert not machine.waiting() and machine.did("ask", 0, 10) and not machine.did("ask", 1, 10)


def test_one_rule_plays_scenarios_by_weight() -> None:
    """With arguments drawn by chance: of a tuple each field by its role, or by the one that takes its place; what is
    about a message is not played where none waits."""
    called = [call for system in driven(Chances) for call in system.called]
    assert {name for name, *_ in called} == {"ask", "deliver"}
    asked = {call for call in called if call[0] == "ask"}
    assert asked == {("ask", node, 500) for node in range(3)}
    assert {keep for name, *_, keep in called if name == "deliver"} == {False, True}


def test_a_scenario_is_drawn_in_another_way() -> None:
    """The same method, with other values for one parameter."""

    class Again(Scenes, steps={}):
        handed_on = redrawn(Scenes.handed_on, node=OneOf(1))
        sizes = st.just({"nodes": 2})

    asked = [call for system in driven(Again) for call in system.called if call[2:] == (10,)]
    assert {node for _, node, _ in asked} >= {1}
    assert redrawn(Scenes.handed_on, node=OneOf(1)) is not Scenes.handed_on


def test_what_is_held_up_is_not_delivered() -> None:
    """Until it is released, or everything is let go; what is gone is not released."""
    session = Watching()
    machine = type("Holding", (Scenes,), {"session": session})()
    machine.start({"nodes": 3})
    for node in range(3):
        machine.call("ask", node, 10)
    first, second, third = machine.waiting()
    machine.hold(first, second, None)
    machine.deliver_all()
    assert list(machine.waiting()) == [first, second]
    machine.release(second)
    machine.release(third)
    assert list(machine.waiting("grant")) == [first] and machine.first("grant", "other") == first
    machine.let_go()
    machine.deliver_all(without=("grant",))
    assert machine.send_first("grant", keep=True) and machine.something_waits()
    machine.deliver_all()
    assert not machine.send_first("grant")


def test_a_parameter_without_a_role_is_refused() -> None:
    """With its place and what to write."""
    with pytest.raises(TypeError, match=r"ask\(ms\): a machine cannot draw a value of .*int.*annotate it with Index"):
        strategy(int, "ask(ms)")
