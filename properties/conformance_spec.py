"""This module defines what a protocol provides so that any implementation of it can be driven, monitored, and compared
with the model.

`proofs/testing` knows of no protocol. A protocol has one `Agreeing` object, in ``properties/<protocol>/scenarios.py``,
where `DRIVEN` finds it:

- its plug: the methods that it needs of an implementation (``missing``), and calls on it as data (its ``call``, see
  `calls`);
- ``machines``: Hypothesis machines, one per variant, that make calls through a `driving.Session`;
- the ``context`` that its monitor needs in addition to the events, which the monitor checks against the history
  properties of the protocol (see `fencepost.properties.monitoring`), or a ``monitor`` of its own;
- ``follow``: the model and its correspondence with events (`Followed`, with an `Interpreter` per system driven), or
  None where there is no model to follow, and then the monitor judges alone; ``parts``: the configurations with which
  one system is followed, where the model is one of a part of it, and several of them are followed at once;
- ``ways`` of going on after a disagreement, which find its consequences.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from fencepost.model.language.observations import Observation
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.deferring import deferred
from fencepost.model.language.tree.types import Bounds, ScalarType
from fencepost.properties.calls import Call
from fencepost.properties.driving import Event, Made, Message, Program, Run
from fencepost.properties.monitoring import HistoryMonitor, Monitor, RunContext
from fencepost.properties.registry import PROTOCOLS, Found, folder

State = dict[str, Any]
"""A `State` is a state of the model, by variable name."""

Row = Mapping[str, Any]
"""A `Row` has the columns of one event, known or guessed, and `UNKNOWN` where no event has them."""

Take = Callable[[State, str, Mapping[str, Any]], State | None]
"""A `Take` returns the state after an action of the model with these parameters, or None where the action is not
enabled."""


class _Unknown:
    """The value `UNKNOWN` is that of a column that no event has."""

    def __str__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


@dataclass(frozen=True)
class FalseConjunct:
    """A `FalseConjunct` is a condition that was not fulfilled. ``action`` is a step of the model, a call, or
    ``promise``; ``rule`` is its number or empty; ``text`` has the values in it."""

    action: str
    rule: str
    text: str

    def __str__(self) -> str:
        from fencepost.model.rules import RULES

        says = f"  [{self.rule}: {RULES[self.rule].says}]" if self.rule in RULES else ""
        return f"{self.action}: {self.text}{says}"


class Contradiction(Exception):
    """An event contradicts every state that the model may be in. ``kind`` is the event kind that the result of the call
    contradicts, where the contradiction is in the result."""

    def __init__(self, conjunct: FalseConjunct, kind: str = "") -> None:
        super().__init__(str(conjunct))
        self.conjunct, self.kind = conjunct, kind


class Beyond(Exception):
    """From here on the model cannot follow, because it leaves out what happens, which the text of the exception
    names."""


@dataclass(frozen=True)
class Allowed:
    """A call allows these events, observed or not: one of the kinds ``once`` (certainly if ``must``, else perhaps), and
    any number of the kinds ``often``."""

    once: tuple[str, ...] = ()
    often: tuple[str, ...] = ()
    must: bool = False


class Seen(Protocol):
    """A `Seen` is an event kind that the model knows: the columns that its conditions and steps need, and their
    actions."""

    @property
    def kind(self) -> str: ...
    @property
    def columns(self) -> frozenset[str]: ...
    @property
    def actions(self) -> tuple[str, ...]: ...


class Interpreter(Protocol):
    """An `Interpreter` translates the calls and events of one system into rows of the model. It tracks what the driver
    did: the time, the elections, the requests under way, and the numbers under which the model knows them.

    An interpreter may have ``is_idle(made, messages)``, which returns whether a call that returned False and emitted
    nothing left everything as it was, so that it can be ignored.
    """

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Record the effect of a call by itself; ``messages`` are in flight after it. Raise `Beyond` if the model
        leaves it out."""

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        """Return the events that a call allows; ``allowed`` has those of the table of calls."""

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield each observed event with its translation; a result may reveal as much as an event. Raise
        `Contradiction` if it is impossible."""

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """Return the columns that are known of an event which the system did not emit."""

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """Return the row that an event reveals; ``states`` are those that the model may be in. Raise `Contradiction` or
        `Beyond`."""

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """Yield the row with all open columns chosen, in every way."""

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return the reasons of the driver why an event is impossible now, such as that it is too early."""

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Return the reasons why a step of the model that needs a cause from outside has none."""

    def remember(self, memory: Any, kind: str, row: Row, before: State, state: State) -> Hashable:
        """Return the memory to store with a state after an event, such as the time since when a client waits.
        ``memory`` is that of the state before, and () at first."""

    def asked(self, made: Made) -> str:
        """Return which of the checks ``afterwards`` to make when this call returns."""

    def overdue(self, made: Made, memory: Any) -> tuple[FalseConjunct, ...]:
        """Return the conditions that should have been fulfilled by the time this call returns."""

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """Return the states without the messages that left the network, and the actions that this took, for
        coverage."""

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        """Return values worth trying for a parameter, for coverage."""


class PlainInterpreter:
    """A `PlainInterpreter` takes each event as it is, and other interpreters derive from it. ``columns`` are those of
    its rows."""

    columns: Mapping[str, Any]

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Record nothing of a call."""

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        return allowed

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        return ((event, event) for event in made.events)

    def row_of_call(self, made: Made) -> dict[str, Any]:
        return dict.fromkeys(self.columns, UNKNOWN)

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        yield row

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        return ()

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        return ()

    def remember(self, memory: Any, kind: str, row: Row, before: State, state: State) -> Any:
        return ()

    def asked(self, made: Made) -> str:
        return ""

    def overdue(self, made: Made, memory: Any) -> tuple[FalseConjunct, ...]:
        return ()

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        return states, []

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        return range(2)


@dataclass(frozen=True, eq=False)
class Followed:
    """A `Followed` is a variant of the model, as it is followed through systems of one size.

    ``columns`` are those of a row with their types, for ``observations`` (by event kind) and ``afterwards`` (by name of
    the check, with the words for it in ``says``). ``calls`` gives the events that each call allows. ``expected`` gives
    the event kinds that are missing where a call returns in a state in which it should not. ``ignored`` kinds are not
    interpreted; ``unguessed`` ones are never guessed, since another event reveals them. ``cleared`` has the actions
    that `Interpreter.clear_up` takes. If ``tired`` is set, the model stops following where too many states fit, which
    is no defect of an implementation that cannot report more. The columns in ``errors`` have error codes of Kafka.
    """

    variant: str
    spec: Spec
    constants: Mapping[str, int]
    bounds: Bounds
    columns: Mapping[str, Any]
    observations: tuple[Observation, ...]
    calls: Mapping[str, Allowed]
    interpreter: Callable[[], Interpreter]
    afterwards: tuple[Observation, ...] = ()
    says: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    unguessed: frozenset[str] = frozenset()
    cleared: frozenset[str] = frozenset()
    tired: bool = False
    errors: frozenset[str] = frozenset()

    @property
    def observable(self) -> frozenset[str]:
        """Return the actions that some event, check or call can be. No run is ever seen to take any other."""
        tables = (*self.observations, *self.afterwards)
        return self.cleared.union(step.action for each in tables for step in each.steps)


Steps = Sequence[tuple[str, Mapping[str, Any]]]
"""`Steps` are the actions of a run of a model, with their parameters."""

Turned = tuple[Mapping[str, Any], Sequence[Any], str]
"""`Turned` has keys of a configuration, calls, and the first step for which there is no call (empty if each has one).
"""

FOLLOWED = 0.95
"""A model must follow this share of the programs to their end, unless stated otherwise."""


@dataclass(frozen=True)
class Agreeing:
    """An `Agreeing` object has what agreement needs to know of a protocol.

    ``machines`` has one machine per variant, the first of which is the default. ``call`` is the type of calls on its
    systems, with what makes a program simpler and which dangers calls are. ``missing`` returns what an implementation
    lacks; its module defines what an implementation needs. ``implementation`` is the one that is driven where none is
    named, as module:factory (default: the reference of the protocol's folder). ``black_box`` has the event kinds that
    every implementation emits. ``small`` is a configuration on which everything can be tried, as ``tour`` does, to find
    out what an implementation emits. ``expecting`` has the promises that a variant is known to break, each excused only
    where the documents predict its cause. ``call_of`` returns the call that makes an implementation take a step of the
    model, by action and parameters. ``turn`` returns the size of a system, the calls that lead it along a run of some
    model, and the first step for which there is none (default: by ``call_of``). ``composite`` names calls that do so
    much that a program should not end with one if it need not. ``valid`` returns whether a program, from which calls
    were removed, still fulfils the assumptions of the promises.

    ``unfollowed`` names variants that have no model to follow though others do.

    ``ending`` names calls by which the machine ends a program and which do too much for the model to follow, so that
    only promises are checked on their events. ``followed`` gives by variant the least share of the programs that the
    model must follow to their end for agreement to be significant, where it is not `FOLLOWED`. ``compared`` gives the
    least share of the calls that are compared with the model, where there is one.

    ``lacking`` returns the optional abilities that an implementation lacks, in words; machines do without them, and the
    report names them.

    ``steps`` is the number of steps of the machine in an example, where the caller gives none: fewer where each does
    more. ``further`` is how many examples follow the first that fails, as one of them may have a shorter program;
    with 0 that one ends as soon as a promise is broken.

    Where the driven system has chance in it, ``tries`` is how often a program is run before it counts as one that does
    not fail, and ``replays`` how many runs shrinking may take. If not ``probed``, the system reveals the black box
    only. ``unrepeated`` are the columns of events that are otherwise each time a program is run, and that a pasted
    program does not compare. If ``between``, a program that communicates with the judged system stands between it and
    its driver, so that an exception out of a call is that program's and no finding; an AssertionError is a finding.
    Where rest is known ``by_silence``, which may have been too short, a promise that is broken only because nothing is
    left to happen has to be broken again in one of ``tries`` runs; else that program is inconclusive.
    With a ``recorder`` (as module:function), what it makes of a system's ``sources`` when a program is over is judged
    by the history properties and followed by the model. With ``calls_alone`` every step of a machine is one call, so
    that any calls are a program.
    """

    protocol: str
    says: str
    machines: Mapping[str, type[Any]]
    missing: Callable[[Any, str], list[str]]
    black_box: frozenset[str]
    small: Mapping[str, Any]
    tour: Callable[[str], Sequence[Any]]
    call: type[Call]
    ways: Mapping[str, Callable[[Run], Iterable[None]]]
    monitor: Callable[[Mapping[str, Any], frozenset[str]], Monitor] | None = None
    context: Callable[[Mapping[str, Any], frozenset[str]], RunContext] = RunContext
    follow: Callable[[str, Mapping[str, Any]], Followed] | None = None
    unfollowed: frozenset[str] = frozenset()
    parts: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]] = lambda config: (config,)
    call_of: Callable[[str, Mapping[str, Any]], Any] | None = None
    turn: Callable[[Steps], Turned] | None = None
    composite: frozenset[str] = frozenset()
    valid: Callable[[Program], bool] = lambda program: True
    ending: frozenset[str] = frozenset()
    followed: Mapping[str, float] = field(default_factory=dict)
    compared: Mapping[str, float] = field(default_factory=dict)
    expecting: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lacking: Callable[[Any], frozenset[str]] | None = None
    steps: int = 30
    further: int = 15
    tries: int = 1
    replays: int = 3_000
    probed: bool = True
    implementation: str = ""
    between: bool = False
    unrepeated: frozenset[str] = frozenset()
    recorder: str = ""
    by_silence: bool = False
    calls_alone: bool = False

    def monitoring(self, config: Mapping[str, Any], expecting: frozenset[str]) -> Monitor:
        """Return the monitor of a run of a system with this configuration; ``expecting`` has the rules that it is known
        to break."""
        if self.monitor is not None:
            return self.monitor(config, expecting)
        return HistoryMonitor(self.protocol, config, expecting, self.context)

    def turned(self, steps: Steps) -> Turned:
        """Return a run of some model of the protocol as calls. A step of the followed model without a call happens by
        itself."""
        if self.turn is not None:
            return self.turn(steps)
        if self.call_of is None or self.follow is None:
            return {}, (), steps[0][0]
        models = [self.follow(variant, {**self.small, "mode": variant}).spec for variant in self.variants]
        known = {action for model in models for action in model.actions}
        if lacking := next((action for action, _ in steps if action not in known), ""):
            return {}, (), lacking
        calls = (self.call_of(action, parameters) for action, parameters in steps)
        return {}, [call for call in calls if call is not None], ""

    @property
    def reference(self) -> str:
        """This implementation, as module:factory, is driven where none is named."""
        return self.implementation or f"fencepost.reference_impl.systems.{folder(self.protocol)}:reference"

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(self.machines)


def _derived(protocol: str) -> Agreeing:
    from fencepost.properties.derived import agreeing  # which derives objects of this module

    return agreeing(protocol)


DRIVEN: Found[Agreeing] = Found(
    ("scenarios.agreement", "scenarios"),
    write="class System(typing.Protocol) in interface.py",
    derived=(("interface",), "System", cache(_derived)),
)
"""Implementations of these protocols can be driven."""


def over_the_wire(protocol: str) -> Agreeing | None:
    """Return how brokers that run by themselves are driven, over TCP, or None where that is not supported. Where the
    driver is derived, ``LIVE`` of the interface names the factory, and its ``LIVE_VARIANTS`` the variants that brokers
    can have."""
    module = DRIVEN.module(protocol)
    found: Agreeing | None = getattr(module, "OVER_THE_WIRE", None)
    if found is None and hasattr(module, "LIVE"):
        own = driven(protocol)
        found = replace(
            own, implementation=module.LIVE, machines={name: own.machines[name] for name in module.LIVE_VARIANTS},
            lacking=None, tries=2, replays=20, probed=False, between=True,
        )  # fmt: skip
    return found


CLUSTERS: Found[Agreeing] = Found(("scenarios.agreement", "scenarios.cluster"), "ON_A_CLUSTER")
"""Of these protocols a cluster can be driven that is started for it."""


def on_a_cluster(protocol: str) -> Agreeing | None:
    """Return how a cluster is driven that is started for it, or None where that is not supported."""
    return CLUSTERS.get(protocol)


WITH_CHURN: Found[Callable[[Agreeing, int], Agreeing]] = Found(("scenarios.lives",), "with_churn")
"""These protocols can be driven with a given number of new producers that arrive one after another."""


def driven(protocol: str) -> Agreeing:
    """Return the `Agreeing` object of a protocol, and trace only the model that is followed. Raise KeyError if the
    protocol has none."""
    with deferred() if PROTOCOLS.get(protocol, "").startswith("fencepost.") else nullcontext():
        return DRIVEN[protocol]
