"""What a protocol brings so that any implementation of it can be driven, watched, and held against the model.

`proofs/testing` knows of no protocol.  A protocol has one `Agreeing` object, in
``properties/<protocol>/scenarios.py``, where `DRIVEN` finds it:

- its plug: what it needs of an implementation (``missing``), and calls on it as data (its ``call``, see `calls`);
- ``machines``: Hypothesis machines, one per variant, that make calls through a `driving.Session`;
- what its monitor must know ``context`` the events, which it holds against the history properties of the protocol (see
  `fencepost.properties.monitoring`); or a ``monitor`` of its own;
- ``follow``: the model and its correspondence with events (`Followed`, with an `Interpreter` per system driven); None
  where there is no model to follow, and then the monitor judges alone; ``parts``: the configurations with which one
  system is followed, where the model is one of a part of it, and several of them are followed at once;
- ``ways`` of going on after a disagreement, which find out what comes of it.
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
"""A state of the model by variable name."""

Row = Mapping[str, Any]
"""The columns of one event, known or guessed; `UNKNOWN` where no event has them."""

Take = Callable[[State, str, Mapping[str, Any]], State | None]
"""The state after an action of the model with these parameters; None where it is not enabled."""


class _Unknown:
    """The value of a column that no event has."""

    def __str__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


@dataclass(frozen=True)
class FalseConjunct:
    """A condition that was not fulfilled.  ``action``: a step of the model, a call, or ``promise``; ``rule`` is its
    number or empty; ``text`` has the values in it."""

    action: str
    rule: str
    text: str

    def __str__(self) -> str:
        from fencepost.model.rules import RULES

        says = f"  [{self.rule}: {RULES[self.rule].says}]" if self.rule in RULES else ""
        return f"{self.action}: {self.text}{says}"


class Contradiction(Exception):
    """What an event says can't be, whatever state the model is in.  ``kind``: the event kind that the result of the
    call contradicts, where it is the result that does."""

    def __init__(self, conjunct: FalseConjunct, kind: str = "") -> None:
        super().__init__(str(conjunct))
        self.conjunct, self.kind = conjunct, kind


class Beyond(Exception):
    """From here on the model cannot follow: it leaves out what happens.  The text says what that is."""


@dataclass(frozen=True)
class Allowed:
    """What a call lets happen, seen or unseen: one of the event kinds ``once`` (``must``: certainly, else perhaps), and
    any number of ``often``."""

    once: tuple[str, ...] = ()
    often: tuple[str, ...] = ()
    must: bool = False


class Seen(Protocol):
    """An event kind that the model knows: the columns that its conditions and steps need, and the actions of those."""

    @property
    def kind(self) -> str: ...
    @property
    def columns(self) -> frozenset[str]: ...
    @property
    def actions(self) -> tuple[str, ...]: ...


class Interpreter(Protocol):
    """Reads the calls and events of one system as rows of the model.  Knows what the driver did: the time, who was
    elected, which requests are under way, and under which number the model knows them.

    ``is_idle(made, messages)``, if it has that: has a call that returned False, and showed nothing, left everything as
    it was, so that no note need be taken of it?"""

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Take note of what a call does by itself; ``messages`` are in flight after it.  Raises `Beyond`."""

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        """Return what a call lets happen; ``allowed``: as the table of calls says."""

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Yield what was observed, each with what it says; a result may say as much as an event.  Raises
        `Contradiction`."""

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """The columns that are known of an event which the system did not emit."""

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """Return what an event says.  ``states``: those that the model may be in.  Raises `Contradiction` or
        `Beyond`."""

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """The row with everything that is a matter of choice chosen, in every way."""

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Why an event can't be now, for reasons that are the driver's: too early, say."""

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Why a step of the model that needs a reason from outside has none."""

    def remember(self, memory: Any, kind: str, row: Row, before: State, state: State) -> Hashable:
        """Return what to keep with a state after an event, such as since when a client waits; ``memory`` is what was
        stored with the one before, and () at first."""

    def asked(self, made: Made) -> str:
        """Return which of the checks ``afterwards`` to make when this call returns."""

    def overdue(self, made: Made, memory: Any) -> tuple[FalseConjunct, ...]:
        """Return what should have happened by now, when this call returns."""

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """The states without what left the network; and the actions that this took, for coverage."""

    def some(self, kind: ScalarType, state: State) -> Sequence[Any]:
        """Values worth trying for a parameter, for coverage."""


class PlainInterpreter:
    """Adds nothing to what events say: what other interpreters begin from.  ``columns``: of its rows."""

    columns: Mapping[str, Any]

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Nothing is noted of a call."""

    def allows(self, made: Made, allowed: Allowed) -> Allowed:
        """As the table of calls says."""
        return allowed

    def reported(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """Each event says what it says."""
        return ((event, event) for event in made.events)

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """Nothing is known of an event that is not observed."""
        return dict.fromkeys(self.columns, UNKNOWN)

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """The row as it is: nothing is a matter of choice."""
        yield row

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Nothing is for the driver's reasons."""
        return ()

    def uncalled_for(self, action: str, row: Row) -> tuple[FalseConjunct, ...]:
        """No step needs a reason from outside."""
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
        """Values worth trying for a parameter, for coverage."""
        return range(2)


@dataclass(frozen=True, eq=False)
class Followed:
    """A variant of the model, as it is followed through systems of one size.

    ``columns``: what a row has, with its types, for ``observations`` (by event kind) and ``afterwards`` (by name of the
    check, with the words for it in ``says``).  ``calls``: what each call lets happen.  ``expected``: the event kinds
    that are missing where a call returns in a state in which it should not.  ``ignored`` kinds say nothing;
    ``unguessed`` ones are never guessed, since another event reveals them.  ``tired``: where too many states fit, the
    model does not follow any more, and that is no defect of the implementation, which can't show more.
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
    tired: bool = False


Steps = Sequence[tuple[str, Mapping[str, Any]]]
"""Of a run of a model: actions with their parameters."""

Turned = tuple[Mapping[str, Any], Sequence[Any], str]
"""Keys of a configuration, calls, and the first step for which there is none (empty if each has one)."""

FOLLOWED = 0.95
"""The share of programs that a model must follow to their end, where nothing else is stated."""


@dataclass(frozen=True)
class Agreeing:
    """What agreement must know of a protocol.

    ``machines``: per variant (the first is the default); ``call``: on its systems, with what makes a program simpler
    and which dangers calls are; ``missing``: what an implementation lacks, in the module that says what it needs;
    ``implementation``: the one that is driven where none is named, as module:factory (default: the reference of the
    protocol's folder); ``black_box``: event kinds that every implementation emits; ``small``: a configuration on which
    everything can be tried, as ``tour`` does, to find out what an implementation emits;
    ``expecting``: promises that a variant is known to break, each excused only where what breaks it is what the
    documents predict; ``call_of``: the call that makes an implementation take a step of the model, by action and
    parameters; ``turn``: the size of a system, the calls that lead it along a run of some model, and the first step for
    which there is none (default: by ``call_of``); ``composite``: names of calls that do so much that a program should
    not end with one if it need not; ``valid``: whether a program, from which calls were taken out, still has what the
    promises take for granted.

    ``unfollowed``: variants that have no model to follow though others do.

    ``ending``: calls by which the machine ends a program and which do too much for the model to follow: promises are
    held against what they show.  ``followed``: by variant, the least share of the programs that the model must follow
    to their end for agreement to mean something, where it is not `FOLLOWED`; ``compared``: the least share of the calls
    that are held against the model, where there is one.

    ``lacking``: which optional abilities an implementation lacks, in words; machines do without them, and the report
    says so.

    ``steps``: of the machine in an example, where the caller does not say how many: fewer where each does more.

    Where what is driven has chance in it: ``tries``, how often a program is run before it counts as one that does not
    fail; ``replays``, how many runs shrinking may take.  Not ``probed``: it reveals the black box, and no more.
    ``between``: between what is judged and its driver is a program that speaks to it, so that an exception out of a
    call is that program's, and says nothing of what is judged; an AssertionError is a finding.
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
    tries: int = 1
    replays: int = 3_000
    probed: bool = True
    implementation: str = ""
    between: bool = False

    def monitoring(self, config: Mapping[str, Any], expecting: frozenset[str]) -> Monitor:
        """The monitor of a run of a system with this configuration; ``expecting``: rules that it is known to break."""
        if self.monitor is not None:
            return self.monitor(config, expecting)
        return HistoryMonitor(self.protocol, config, expecting, self.context)

    def turned(self, steps: Steps) -> Turned:
        """A run of some model of the protocol as calls.  A step of the model that is followed, for which there is no
        call, comes about by itself."""
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
        """The implementation that is driven where none is named."""
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
"""By protocol: those of which implementations can be driven."""


def over_the_wire(protocol: str) -> Agreeing | None:
    """Return how brokers that run by themselves are driven, over TCP; None where that is not provided for.  Where the
    driver is derived, ``LIVE`` of the interface names the factory, and its ``LIVE_VARIANTS`` what brokers can be."""
    module = DRIVEN.module(protocol)
    found: Agreeing | None = getattr(module, "OVER_THE_WIRE", None)
    if found is None and hasattr(module, "LIVE"):
        own = driven(protocol)
        found = replace(
            own, implementation=module.LIVE, machines={name: own.machines[name] for name in module.LIVE_VARIANTS},
            lacking=None, tries=2, replays=20, probed=False, between=True,
        )  # fmt: skip
    return found


WITH_CHURN: Found[Callable[[Agreeing, int], Agreeing]] = Found(("scenarios.lives",), "with_churn")
"""By protocol that has them: how so many new producers come into it, one after another."""


def driven(protocol: str) -> Agreeing:
    """The `Agreeing` object of a protocol.  Raises KeyError.  Of its models one is followed, and of ours no other is
    traced."""
    with deferred() if PROTOCOLS.get(protocol, "").startswith("fencepost.") else nullcontext():
        return DRIVEN[protocol]
