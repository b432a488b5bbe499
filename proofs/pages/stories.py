"""This module turns a run into data for a page, with its lanes, its steps and their changes, and the standing of each
property."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.methods import keys_of
from fencepost.model.language.tree.terms import variables
from fencepost.model.language.tree.types import (
    AtomsType,
    Bounds,
    MapType,
    OptionType,
    ScalarType,
    bound_of,
)
from fencepost.model.rules import RULES
from fencepost.proofs.readings.failing import failing
from fencepost.proofs.readings.plain import Plain, PlainError
from fencepost.proofs.readings.words import differences, name_in_words, parameters_in_words, say_state, sort_in_words
from fencepost.proofs.results import Event, State, Trace

if TYPE_CHECKING:  # NumPy, which a browser's Python may lack
    from fencepost.properties.history.naming import Naming

# A lane is a process, which is a member of a sort that acts or has state of its own, such as a broker or a partition.
# Members of the sorts in `HANDED_OVER`, such as requests and transactions, are what processes hand to each other. A
# step is in the lane of the actor that the model names (`by`), or else of its first process, or in `CENTRE` of a
# protocol that names no actors. It reaches the actor that the model names (`to`), or else the other processes that the
# step names, and those whose entries it changes.

HANDED_OVER = frozenset({"Call", "Id", "Part", "Prefix", "Record", "Request", "Send", "Txn"})
"""Members of these sorts have no lane. Members of any other sort, also of the user's own protocol, are processes."""
CENTRE = "cluster"
"""This lane has steps in which no process is named, such as those of a coordinator, controller or log leader."""


@dataclass(frozen=True)
class Change:
    """A `Change` states that ``what`` was ``old`` and is ``new``. No rule reads a ``ghost``."""

    what: str
    old: str
    new: str
    ghost: bool


@dataclass(frozen=True)
class Step:
    """A `Step` is one step of a run. ``lane`` and ``reaches`` are indices of lanes, ``dangers`` has what goes wrong by
    this step, and ``rules`` the numbers of the rules that the action encodes."""

    action: str
    words: str
    says: str
    lane: int
    reaches: tuple[int, ...]
    dangers: tuple[str, ...]
    rules: tuple[str, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Standing:
    """A `Standing` states whether a property holds after each number of steps. ``broken_at`` is the first failure, and
    ``sentence`` what is wrong there."""

    name: str
    says: str
    rule: str
    role: str
    holds: tuple[bool, ...]
    broken_at: int | None
    sentence: str = ""


@dataclass(frozen=True)
class Story:
    """A `Story` is a run as it is reported. ``about`` has the lines that describe what was judged, and ``left_out``
    what the model does not have, which stands next to the verdict. ``states`` has, after each number of steps, what
    differs from zero, a line each. ``broken_at`` is the number of steps after which the property is broken, if a state
    or a step breaks it. ``rules`` has the text of each rule that a step follows. ``loop`` is the number of steps after
    which an endless run repeats itself."""

    title: str
    says: str
    asked: str
    asked_says: str
    verdict: str
    good: bool
    about: tuple[str, ...]
    left_out: tuple[str, ...]
    lanes: tuple[str, ...]
    steps: tuple[Step, ...]
    states: tuple[tuple[str, ...], ...]
    properties: tuple[Standing, ...]
    broken_at: int | None
    rules: Mapping[str, str]
    loop: int | None


@dataclass(frozen=True)
class Asked:
    """An `Asked` is the purpose for which a run was looked for. ``title`` names protocol and variant, and ``says``
    describes the variant. ``verdict`` is in words, and ``good`` if it is no trouble. ``about`` and ``left_out`` are as
    in `Story`."""

    title: str
    says: str
    of: Property
    verdict: str
    good: bool = False
    about: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def narrate(asked: Asked, spec: Spec, properties: Mapping[str, Property], bounds: Bounds, trace: Trace) -> Story:
    """Return a run within bounds as a story. ``properties`` has those whose standing is reported, after the one asked
    for.

    A property that cannot be judged state by state, such as progress, has no standing.
    """
    lanes = lanes_of(spec, trace)
    every = {asked.of.name: asked.of, **properties}
    steps = tuple(steps_of(spec, trace, lanes))
    plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, bounds)
    judged = {name: one for name, each in every.items() if (one := standing_of(plain, each, trace)) is not None}
    own = judged.get(asked.of.name)
    broken_at = own.broken_at if own is not None and asked.of.kind != "sometimes" else None
    endless = asked.of.kind == "eventually"
    found = failing(plain, asked.of, trace, broken_at or 0) if broken_at is not None or endless else None
    return Story(
        asked.title, asked.says, name_in_words(asked.of.name), one_line(asked.of.doc),
        f"{asked.verdict}: {found.sentence}" if found else asked.verdict,
        asked.good, (*([str(found)] if found else []), *asked.about), asked.left_out, tuple(lanes), steps,
        tuple(tuple(say_state(spec, state)) for state in trace.states),
        tuple(judged.values()),
        broken_at,
        rules_of(steps),
        trace.loop,
    )  # fmt: skip


def process(kind: ScalarType) -> str | None:
    """Return the name of the process that a value of this sort is, or None if it is not a process."""
    kind = kind.of if isinstance(kind, OptionType) else kind
    return sort_in_words(kind) if isinstance(kind, AtomsType) and kind.name not in HANDED_OVER else None


def _named(action: Action, event: Event) -> list[str]:
    found = ((process(kind), event.parameters[name]) for name, kind in action.parameters)
    return list(dict.fromkeys(f"{name} {number}" for name, number in found if name is not None))


def _acts(action: Action) -> bool:
    """Return whether a process takes the step, which is so if its first parameter of a sort is a process."""
    sorts = [kind for _, kind in action.parameters if isinstance(kind, AtomsType)]
    return bool(sorts) and process(sorts[0]) is not None


def lane_of(action: Action, event: Event) -> str:
    """Return the process of a step by its parameters alone."""
    return _named(action, event)[0] if _acts(action) else CENTRE


def _touched(spec: Spec, before: State, after: State) -> list[str]:
    found = []
    for variable, kind in spec.types.items():
        if variable in spec.ghosts or not isinstance(kind, MapType) or before[variable] == after[variable]:
            continue
        sorts = [process(sort) for sort in kind.keys]
        for key in sorted({*before[variable], *after[variable]}):
            if before[variable].get(key) != after[variable].get(key):
                found += [f"{n} {k}" for n, k in zip(sorts, key, strict=True) if n is not None]
    return list(dict.fromkeys(found))


def _actor(spec: Spec, action: Action, event: Event, before: State, word: str) -> str:
    """Return the lane of an actor that the model names."""
    kinds = dict(action.parameters)
    if word in kinds:
        return f"{sort_in_words(kinds[word])} {event.parameters[word]}"
    if (keys := keys_of(word, action.parameters, spec.types)) is None:
        return word
    kind = spec.types[word]
    assert isinstance(kind, MapType)
    return f"{sort_in_words(kind.value)} {before[word].get(tuple(event.parameters[key] for key in keys), 0)}"


def _looked_up(spec: Spec, action: Action, word: str) -> bool:
    """Return whether an actor is a member of a sort, which the step names, or a variable at what the step names."""
    return word in dict(action.parameters) or keys_of(word, action.parameters, spec.types) is not None


def others_of(spec: Spec) -> list[str]:
    """Return the lanes of no sort that steps of a protocol may be in, or reach."""
    found: dict[str, None] = {}
    for action in spec.actions.values():
        words = (action.by or ("" if _acts(action) else CENTRE), action.to or "")
        found |= {word: None for word in words if word and not _looked_up(spec, action, word)}
    return list(found)


def _route(spec: Spec, event: Event, before: State, after: State) -> tuple[str, list[str]]:
    """Return the lane of a step and those that it reaches."""
    action = spec.actions[event.action]
    own = _actor(spec, action, event, before, action.by) if action.by else lane_of(action, event)
    if action.to is None:
        reached = [*_named(action, event), *_touched(spec, before, after)]
    else:
        reached = [_actor(spec, action, event, before, action.to)] if action.to else []
    return own, [lane for lane in dict.fromkeys(reached) if lane != own]


def lanes_of(spec: Spec, trace: Trace) -> list[str]:
    """Return every lane that has a step or is reached by one, with those of no sort after the first sort."""
    routes = [_route(spec, event, *trace.states[place : place + 2]) for place, event in enumerate(trace.events)]
    seen = dict.fromkeys(lane for own, reached in routes for lane in (own, *reached)) or {CENTRE: None}
    numbered = [lane for lane in seen if lane.rpartition(" ")[2].isdigit()]
    return with_actors(numbered, [lane for lane in seen if lane not in numbered])


def with_actors(numbered: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return lanes in order of sort and number, with those of no sort after the first sort."""
    sorts = list(dict.fromkeys(lane.rpartition(" ")[0] for lane in numbered))
    lanes = sorted(numbered, key=lambda lane: (sorts.index(lane.rpartition(" ")[0]), int(lane.rpartition(" ")[2])))
    first = sum(lane.rpartition(" ")[0] == sorts[0] for lane in lanes)
    return [*lanes[:first], *others, *lanes[first:]]


def steps_of(spec: Spec, trace: Trace, lanes: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a run in lanes that include all of `lanes_of`."""
    places = {lane: place for place, lane in enumerate(lanes)}
    for place, event in enumerate(trace.events):
        action = spec.actions[event.action]
        before, after = trace.states[place], trace.states[place + 1]
        own, reached = _route(spec, event, before, after)
        yield Step(
            name_in_words(event.action), parameters_in_words(action, event), one_line(action.doc), places[own],
            tuple(places[lane] for lane in reached),
            action.dangers, _cited(action), tuple(_changes(spec, before, after)),
        )  # fmt: skip


def _cited(action: Action) -> tuple[str, ...]:
    rules = (action.rule, *(g.rule for g in action.guards), *(u.rule for u in action.updates))
    return tuple(dict.fromkeys(number for number in rules if number is not None))


def _changes(spec: Spec, before: State, after: State) -> Iterator[Change]:
    for line in differences(spec, before, after):
        what, _, values = line.partition(": ")
        old, _, new = values.partition(" -> ")
        yield Change(what, old, new, what.partition("[")[0] in spec.ghosts)


def standing_of(plain: Plain, one: Property, trace: Trace) -> Standing | None:
    """Return whether a property holds after each step, or None for one that cannot be judged so, such as progress."""
    if one.kind not in ("always", "step", "sometimes") or not variables(one.term) <= plain.spec.types.keys():
        return None
    try:
        holds = tuple(_holds(plain, one, trace))
    except PlainError:  # the property needs bounds that are not given
        return None
    broken = next((steps for steps, held in enumerate(holds) if not held), None)
    wrong = failing(plain, one, trace, broken) if broken is not None and one.kind != "sometimes" else None
    sentence = wrong.sentence if wrong is not None else ""
    return Standing(name_in_words(one.name), one_line(one.doc), one.rule or "", one.role, holds, broken, sentence)


def rules_of(steps: Iterable[Step]) -> dict[str, str]:
    return {number: RULES[number].says for step in steps for number in step.rules}


def _holds(plain: Plain, one: Property, trace: Trace) -> Iterator[bool]:
    for place, state in enumerate(trace.states):
        if one.kind != "step":
            yield plain.holds(one, state)
        elif place == 0:
            yield one.initially is None or plain.holds(one.initially, state)
        else:
            yield plain.holds(one, trace.states[place - 1], state)


def one_line(text: str) -> str:
    return " ".join(text.split())


# The lanes of events are the processes that their columns name. What an event fills is a mapping from its columns to
# their values, without those that do not apply to it.

Filled = Mapping[str, int]

PROCESSES = ("client", "node", "broker", "slot", "thread", "instance", "owner", "task", "connector", "partition")
"""Values of these columns have lanes. An event is in the lane of the first that it fills, and reaches the others."""


def event_lanes_of(filled: Filled) -> list[str]:
    """Return the lanes that an event names, its own first, or the centre if it names none."""
    return [f"{name} {filled[name]}" for name in PROCESSES if name in filled] or [CENTRE]


def in_order(named: Iterable[Sequence[str]]) -> list[str]:
    """Return all lanes, ordered by process and number, with the centre last."""
    seen = {lane for lanes in named for lane in lanes}
    ordered = sorted(seen - {CENTRE}, key=lambda lane: (PROCESSES.index(lane.split()[0]), int(lane.split()[1])))
    return [*ordered, *([CENTRE] if CENTRE in seen else [])]


def lane_name(lane: str, naming: "Naming") -> str:
    """Return a lane of events by the name that its process has, where it has one."""
    column, _, number = lane.partition(" ")
    return next(iter(naming.records({column: int(number)}))) if number else lane


def event_step(kind: str, filled: Filled, lanes: Sequence[str], naming: "Naming", says: str) -> Step:
    """Return an event as a step in its lane. ``says`` is a sentence about the event."""
    named = event_lanes_of(filled)
    own, *others = [lanes.index(lane) for lane in named]
    words = ", ".join(naming.records({name: value for name, value in filled.items() if name not in PROCESSES}))
    text = f"{says} It names {', '.join(lane_name(lane, naming) for lane in named)}."
    return Step(name_in_words(kind), words, text, own, tuple(others), (), (), ())
