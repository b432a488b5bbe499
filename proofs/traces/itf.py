"""This module reads and writes traces in the Informal Trace Format (ITF) of Apalache and Quint.

Numbers are integers, members of enumerations their names, members of a sort ``"0_OF_BROKER"`` as Apalache names those
of an uninterpreted type. An Option is a variant as Quint has it (``{"tag": "Some", "value": …}``). A map is ``{"#map":
[[key, value], …]}`` with an entry for each key within the bounds, several keys are ``{"#tup": […]}``, and a sequence is
an array. The step that led to a state is in its ``#meta``; where a third-party trace has none, any step that leads
there is accepted."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    Bounds,
    EnumType,
    MapType,
    OptionType,
    SeqType,
    Type,
    bound_of,
)
from fencepost.proofs.readings.plain import Plain, zero_value
from fencepost.proofs.readings.solver.finite import scalar_values
from fencepost.proofs.readings.words import differences, say
from fencepost.proofs.results import Event, State, Trace

NONE: dict[str, Any] = {"tag": "None", "value": {"#tup": []}}
NUMBER = re.compile(r"-?\d{1,4000}", re.ASCII)
LARGE = 2**53
"""JSON readers lose digits of numbers from here on, so that such a number is written as text."""


class ItfError(InputError):
    """This error reports a file that is no ITF trace, or a trace of other variables than the model's; the message names
    the place."""


def to_itf(spec: Spec, bounds: Bounds, trace: Trace) -> dict[str, Any]:
    """Return a run as an ITF document. The document of an endless run has the field ``loop``."""
    states = []
    for place, state in enumerate(trace.states):
        meta: dict[str, Any] = {"index": place}
        if place:
            event = trace.events[place - 1]
            meta |= {"action": event.action, "parameters": event.parameters}
        states.append({"#meta": meta, **{n: _written(state[n], kind, bounds) for n, kind in spec.types.items()}})
    document: dict[str, Any] = {
        "#meta": {"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html"},
        "params": list(spec.constants), "vars": list(spec.types), "states": states,
    }  # fmt: skip
    return document if trace.loop is None else document | {"loop": trace.loop}


def _written(value: Any, kind: Type, bounds: Bounds) -> Any:
    match kind:
        case MapType(keys, of):
            zero = zero_value(of)
            every = itertools.product(*(scalar_values(k, bounds) for k in keys))
            return {"#map": [[_key(k, keys, bounds), _written(value.get(k, zero), of, bounds)] for k in every]}
        case SeqType(entry, _):
            return [_written(one, entry, bounds) for one in value]
        case OptionType(of):
            return NONE if value is None else {"tag": "Some", "value": _written(value, of, bounds)}
        case EnumType(_, members):
            return members[value]
        case AtomsType(name, _):
            return f"{value}_OF_{name.upper()}"
        case BoolType():
            return bool(value)
    return value if abs(value) < LARGE else {"#bigint": str(value)}


def _key(key: tuple[Any, ...], kinds: Sequence[Any], bounds: Bounds) -> Any:
    parts = [_written(part, kind, bounds) for part, kind in zip(key, kinds, strict=True)]
    return parts[0] if len(parts) == 1 else {"#tup": parts}


@dataclass(frozen=True)
class Misfit:
    """A `Misfit` is the first state that does not follow from the one before it. ``place`` is the index of that state,
    0 where the first state is not initial; ``why`` has one or more lines."""

    place: int
    why: tuple[str, ...]


def document_of(text: str) -> dict[str, Any]:
    """Return a text as an ITF document. Raise ItfError, with the place, if the text is no JSON object with states."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise ItfError("it is empty") from None
        place = f"line {error.lineno}, column {error.colno}"
        if error.msg == "Extra data":
            raise ItfError(f"{place}: something follows, and an ITF trace is one JSON object for all states") from None
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            raise ItfError(f"{place}: the JSON is cut off here ({error.msg})") from None
        raise ItfError(f"{place}: it is no JSON from here on ({error.msg})") from None
    except ValueError as error:  # of a number with thousands of digits
        raise ItfError(f"it is no JSON that can be read ({error})") from None
    states = document.get("states") if isinstance(document, dict) else None
    if not isinstance(states, list) or not states:
        raise ItfError("it has no states: an ITF trace is a JSON object with a list `states` that is not empty")
    return dict(document)


def read_itf(spec: Spec, document: Mapping[str, Any]) -> list[tuple[State, Event | None]]:
    """Return the states of an ITF document, each with the step that its metadata names. Variables that the model does
    not have are ignored. Errors: ItfError where a variable of the model is missing, or a value is not of its type."""
    states: list[Any] = document["states"]
    found = []
    for place, one in enumerate(states):
        if not isinstance(one, dict):
            raise ItfError(f"state {place} is no object")
        if missing := [name for name in spec.types if name not in one and name not in spec.ghosts]:
            there = ", ".join(sorted(one))
            raise ItfError(f"state {place} has no {missing[0]!r}, which {spec.name} has; it has {there}")
        state = {n: _read(one[n], kind, f"state {place}, {n}") for n, kind in spec.types.items() if n in one}
        found.append((state, _event_of(spec, one.get("#meta"))))
    return found


def _event_of(spec: Spec, meta: Any) -> Event | None:
    action = meta.get("action") if isinstance(meta, dict) else None
    if action not in spec.actions or not isinstance(meta.get("parameters"), dict):
        return None
    names = [name for name, _ in spec.actions[action].parameters]
    given = meta["parameters"]
    return Event(action, {n: given[n] for n in names}) if set(names) == set(given) else None


def _read(value: Any, kind: Type, where: str) -> Any:
    match kind:
        case MapType(keys, of):
            entries = value.get("#map") if isinstance(value, dict) else None
            if not isinstance(entries, list):
                raise ItfError(f'{where}: {value!r} is no map; write it as {{"#map": [[key, value], …]}}')
            found = {}
            for pair in entries:
                if not isinstance(pair, list) or len(pair) != 2:
                    raise ItfError(f"{where}: {pair!r} is no pair of a key and a value")
                key, entry = pair
                parts = key.get("#tup") if len(keys) != 1 and isinstance(key, dict) else [key]
                if not isinstance(parts, list) or len(parts) != len(keys):
                    raise ItfError(f"{where}: the key {key!r} has not the {len(keys)} parts that are wanted")
                read = tuple(_read(part, k, f"{where}, a key") for part, k in zip(parts, keys, strict=True))
                if (of_it := _read(entry, of, where)) != zero_value(of):
                    found[read] = of_it
            return found
        case SeqType(entry, _) if isinstance(value, list):
            return tuple(_read(one, entry, where) for one in value)
        case OptionType(of) if isinstance(value, dict) and value.get("tag") in ("None", "Some"):
            return None if value["tag"] == "None" else _read(value.get("value"), of, where)
        case EnumType(_, members) if value in members:
            return members.index(value)
        case AtomsType(name, _) if isinstance(value, str) and (known := _member(name).fullmatch(value)):
            return int(known[1])
        case BoolType() if isinstance(value, bool):
            return value
    number = value
    if isinstance(value, dict) and set(value) == {"#bigint"} and NUMBER.fullmatch(str(value["#bigint"])):
        number = int(value["#bigint"])
    plain = not isinstance(kind, (SeqType, OptionType, EnumType, AtomsType, BoolType))
    if plain and isinstance(number, int) and not isinstance(number, bool):
        return number
    raise ItfError(f"{where}: {value!r} is no {kind}")


def _member(sort: str) -> re.Pattern[str]:
    return re.compile(rf"(\d{{1,9}})_OF_{re.escape(sort.upper())}", re.ASCII)


def follow(spec: Spec, bounds: Bounds, given: Sequence[tuple[State, Event | None]]) -> Trace | Misfit:
    """Return the run of the model through these states, or the first state that the model cannot reach. Ghost variables
    that a trace lacks are computed."""
    plain = Plain(spec, {name: bound_of(bounds, name) for name in spec.constants}, bounds)
    state, first = plain.initial(), given[0][0]
    if not _same(state, first):
        return Misfit(0, ("it is no initial state:", *_apart(spec, state, first)))
    states, events = [state], list[Event]()
    for place, (wanted, given_event) in enumerate(given[1:], 1):
        found = _step(plain, state, wanted, given_event)
        if found is None:
            return Misfit(place, tuple(_nearest(plain, state, wanted)))
        event, state = found
        states.append(state)
        events.append(event)
    return Trace(tuple(states), tuple(events))


def _same(state: State, wanted: State) -> bool:
    return all(state[name] == value for name, value in wanted.items())


def _step(plain: Plain, state: State, wanted: State, given_event: Event | None) -> tuple[Event, State] | None:
    choices = itertools.chain(
        [given_event] if given_event is not None else [], *(plain.events(name) for name in plain.spec.actions)
    )
    for event in choices:
        after = plain.step(state, event) if plain.enabled(state, event) else None
        if after is not None and _same(after, wanted):
            return event, after
    return None


def _nearest(plain: Plain, state: State, wanted: State) -> list[str]:
    lines = list[str]()
    best: tuple[int, str, list[str]] | None = None
    for name, action in plain.spec.actions.items():
        for event in plain.events(name):
            after = plain.step(state, event)
            if after is None:
                continue
            if _same(after, wanted):
                false = [g for g in action.guards if not plain.holds(g.condition, state, None, **event.parameters)]
                lines += [f"{event} would lead there, and needs {say(g.condition)} [{g.rule}]" for g in false[:1]]
            elif plain.enabled(state, event):
                apart = list(_apart(plain.spec, after, wanted))
                if best is None or len(apart) < best[0]:
                    best = len(apart), str(event), apart
    if lines:
        return ["no enabled step leads there:", *lines]
    if best:
        return ["no step leads there; the nearest is", f"{best[1]}, after which", *best[2]]
    return ["no step is enabled in the state before"]


def _apart(spec: Spec, state: State, wanted: State) -> list[str]:
    lines = differences(spec, state, {**state, **wanted})
    return [line.replace(" -> ", " in the model, in the trace ") for line in lines]
