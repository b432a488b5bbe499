"""This module explains in words why a history does not fit the model: the event, the false condition with its rule, and
the steps that were allowed."""

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.types import scalar
from fencepost.model.rules import RULES
from fencepost.proofs.readings.words import first_sentence, say_state
from fencepost.proofs.results import Event, State
from fencepost.proofs.traces.interpreted import Stop
from fencepost.proofs.traces.observed import Check
from fencepost.properties.history import Vocabulary
from fencepost.properties.history.naming import Naming
from fencepost.properties.history.properties_of import HISTORIES, NO_CONFIG, properties_of
from fencepost.properties.trace_spec import Conforming

NEAREST = 5


def event_in_words(vocabulary: Vocabulary, event: Mapping[str, int], config: Mapping[str, Any] = NO_CONFIG) -> str:
    """Return an event in words: ``id handed out at step 7 (broker 1, producer id 12)``. ``config`` has the names."""
    if event["kind"] not in set(vocabulary.kinds):
        return f"kind {event['kind']} at step {event['step']}"
    name = vocabulary.kinds(event["kind"]).name
    named = properties_of(vocabulary.protocol).values if vocabulary.protocol in HISTORIES else {}
    naming = Naming(vocabulary, config, named)
    return naming.event(name, event["step"], vocabulary.filled(name, event.__getitem__))


def check_in_words(check: Check) -> str:
    """Return a failed check in words: ``allocate needs registered[broker] = asker_epoch[slot] (730.18)``."""
    rule = f" ({check.rule})" if check.rule else ""
    match check.role:
        case "guard" | "member":
            return f"{check.action} needs {check.says}{rule}"
        case "after":
            return f"afterwards must hold: {check.says}{rule}"
        case "kind":
            return "the protocol has no such event"
    return f"must hold: {check.says}{rule}"


def explanation(
    conforming: Conforming,
    spec: Spec,
    event: Mapping[str, int],
    stop: Stop,
    values: Mapping[str, int],
    allowed: Sequence[Event],
    text: str,
) -> str:
    """Return lines with the first event that does not fit, what is false, the model's state, and the nearest allowed
    steps. ``text`` has what the model's numbers stand for, if they are not those of the history."""
    lines = [
        f"history {event['history']} does not fit the model {spec.name}",
        f"  first misfit: {event_in_words(conforming.vocabulary, event)}",
    ]
    lines.append(f"  {check_in_words(stop.check)}")
    if stop.check.rule in RULES:
        lines.append(f"  rule {stop.check.rule}: {RULES[stop.check.rule].says}")
    if text:
        lines.append(f"  {text}")
    lines.append("  the model's state before it, where it is not as at the start:")
    lines += [f"    {line}" for line in say_state(spec, _changed(stop.state, stop.initial))]
    nearest = _nearest(conforming, spec, stop.check, values, allowed)
    lines.append(
        f"  allowed instead ({len(nearest)} nearest of {len(allowed)} steps):" if allowed else "  no step was allowed"
    )
    lines += [f"    {step}: {first_sentence(spec.actions[step.action].doc)}".rstrip(": ") for step in nearest]
    return "\n".join(lines)


def _changed(state: State, initial: State) -> State:
    changed: State = {}
    for name, value in state.items():
        was = initial[name]
        if isinstance(value, dict):
            changed[name] = {key: entry for key, entry in value.items() if was.get(key) != entry}
        else:
            changed[name] = type(value)() if value == was else value
    return changed


def _nearest(
    conforming: Conforming, spec: Spec, check: Check, values: Mapping[str, int], allowed: Sequence[Event]
) -> list[Event]:
    named: dict[str, set[int]] = {}  # members of each sort that the event names
    for column, declared in conforming.columns.items():
        named.setdefault(str(scalar(declared)), set()).add(values[column])

    def distance(numbered: tuple[int, Event]) -> tuple[bool, int, bool, int]:
        place, step = numbered
        action = spec.actions[step.action]
        differing = sum(step.parameters[name] not in named.get(str(kind), ()) for name, kind in action.parameters)
        return step.action != check.action, differing, action.budget is not None, place

    return [step for _, step in sorted(enumerate(allowed), key=distance)[:NEAREST]]
