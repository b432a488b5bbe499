"""This module is the words reading, which turns terms, steps and traces into text, for rule tables, explanations and
reports.

The module does not depend on any protocol. Names come from a protocol's variables, sentences from its docstrings, and
numbers from the rules its guards cite.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import (
    INT,
    NAT,
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    Type,
)
from fencepost.proofs.results import Event, Result, State, Trace
from fencepost.properties.nearest import TERMS

if TYPE_CHECKING:
    from fencepost.proofs.engines.obligations import Obligation

_INFIX = {"add": "+", "sub": "-", "monus": "-", "eq": "=", "lt": "<", "le": "<="}
_NEGATED = {"eq": "!=", "lt": ">=", "le": ">"}


def say(node: Term) -> str:
    """Return a term in words, such as ``first[r] + size <= committed`` or ``for every b: …``."""
    a = node.args
    match node.op:
        case "const":
            return say_value(node.data, node.type)
        case "local":
            return str(node.data).split(".", maxsplit=1)[0]
        case "constant":
            return str(node.data)
        case "state":
            name, primed = node.data
            return f"{name}'" if primed else str(name)
        case "select":
            return f"{say(a[0])}[{', '.join(map(say, a[1:]))}]"
        case "length":
            return f"length of {say(a[0])}"
        case "at":
            return f"{say(a[0])} at {say(a[1])}"
        case "latest":
            return f"latest {node.data[0].split('.')[0]} of {say(a[0])} up to {say(a[1])} with {say(a[2])}"
        case "some":
            return say(a[0])
        case "not" if a[0].op in _NEGATED:
            return f"{say(a[0].args[0])} {_NEGATED[a[0].op]} {say(a[0].args[1])}"
        case "not":
            return f"not {_inner(a[0])}"
        case "and":
            return " and ".join(map(_inner, a))
        case "or" if a[0].op == "not" and len(a) == 2:
            return f"if {say(a[0].args[0])} then {_inner(a[1])}"
        case "or":
            return " or ".join(map(_inner, a))
        case "ite":
            return f"({say(a[1])} if {say(a[0])}, else {say(a[2])})"
        case "forall" | "exists":
            names = ", ".join(str(n).split(".", maxsplit=1)[0] for n, _ in node.data)
            return f"{'for every' if node.op == 'forall' else 'for some'} {names}: {_inner(a[0])}"
        case "choice":
            return say(a[0])
    return f"{say(a[0])} {_INFIX[node.op]} {say(a[1])}"


def _inner(node: Term) -> str:
    text = say(node)
    return f"({text})" if node.op in ("and", "or", "forall", "exists") else text


def say_value(value: Any, kind: Type) -> str:
    """Return a single value as text, with members of enumerations by name, and none and truth values as words."""
    match kind:
        case OptionType(of):
            return "none" if value is None else say_value(value, of)
        case EnumType(_, members):
            return str(members[value])
        case BoolType():
            return "yes" if value else "no"
    return str(value)


def say_update(update: Update) -> str:
    if update.appends:
        return f"append {say(update.value)} to {update.variable}"
    if update.keys:
        return f"{update.variable}[{', '.join(map(say, update.keys))}] := {say(update.value)}"
    if update.bound:
        names = ", ".join(n.split(".")[0] for n, _ in update.bound)
        return f"{update.variable}[{names}] := {say(update.value)} for every {names}"
    return f"{update.variable} := {say(update.value)}"


def name_in_words(name: str) -> str:
    return name.replace("_", " ")


def leaning(result: Result) -> str:
    """Return what a verdict of ``not proved`` leans on, as `` (leans on granted is booked)``, or nothing."""
    names = ", ".join(map(name_in_words, result.evidence.get("leans_on", ())))
    return f" (leans on {names})" if names else ""


def sort_in_words(kind: Type) -> str:
    """Return the name of a type as it is printed: ``transaction`` of ``Txn``, ``broker epoch`` of ``BrokerEpoch``."""
    words = "".join(f" {c.lower()}" if c.isupper() and n else c.lower() for n, c in enumerate(str(kind)))
    return TERMS.get(words, words)


def parameters_in_words(action: Action, event: Event) -> str:
    """Return ``client 0, transaction 1, to epoch 2``: members by their sort, and numbers by the name of the parameter,
    where that is a word, and of its type."""
    words = []
    for name, kind in action.parameters:
        value = event.parameters[name]
        if isinstance(kind, AtomsType):
            words.append(f"{sort_in_words(kind)} {value}")
        elif isinstance(kind, EnumType):
            words.append(say_value(value, kind))
        elif isinstance(kind, NumberType) and kind not in (NAT, INT):
            of = sort_in_words(kind)
            words.append(f"{of if len(name) == 1 or name in of.split() else f'{name_in_words(name)} {of}'} {value}")
        else:
            words.append(f"{name_in_words(name)} {say_value(value, kind)}")
    return ", ".join(words)


def rule_tag(number: str | None) -> str:
    return f"  [{number}]" if number else ""


def say_action(action: Action) -> Iterator[str]:
    """Yield an action as a small table, with its sentence, and its guards and updates with the rules they encode."""
    parameters = ", ".join(f"{n}: {kind}" for n, kind in action.parameters)
    kind = f", {action.fair}ly fair" if action.fair else f", fault (at most {action.budget})" if action.budget else ""
    yield f"{action.name}({parameters}){kind}{rule_tag(action.rule)}"
    if action.doc:
        yield f"    {first_sentence(action.doc)}"
    for guard in action.guards:
        yield f"    needs  {say(guard.condition)}{rule_tag(guard.rule)}"
    for update in action.updates:
        yield f"    then   {say_update(update)}{rule_tag(update.rule)}"


def first_sentence(doc: str) -> str:
    text = " ".join(doc.split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def differences(spec: Spec, before: State, after: State) -> Iterator[str]:
    """Yield the changes of a step, one variable or entry a line: ``cursor[0]: 0 -> 2``."""
    for name, kind in spec.types.items():
        old, new = before[name], after[name]
        if old == new:
            continue
        if not isinstance(kind, MapType):
            if isinstance(old, tuple):
                yield f"{name}: {len(old)} -> {len(new)} entries"
            else:
                yield f"{name}: {say_value(old, kind)} -> {say_value(new, kind)}"
            continue
        zero = None if isinstance(kind.value, OptionType) else 0
        for key in sorted({*old, *new}):
            was, now = old.get(key, zero), new.get(key, zero)
            if was != now:
                entry = f"{name}[{', '.join(map(str, key))}]"
                yield f"{entry}: {say_value(was, kind.value)} -> {say_value(now, kind.value)}"


def say_trace(spec: Spec, trace: Trace, *, ghosts: bool = False) -> Iterator[str]:
    """Yield a trace step by step, with the event, its sentence, and what it changed."""
    for i, event in enumerate(trace.events):
        doc = first_sentence(spec.actions[event.action].doc) if event.action in spec.actions else ""
        yield f"{i + 1:3}  {event}" + (f"   {doc}" if doc else "")
        before, after = trace.states[i], trace.states[i + 1]
        for line in differences(spec, before, after):
            if ghosts or line.split("[")[0].split(":")[0] not in spec.ghosts:
                yield f"       {line}"
    if trace.loop is not None:
        again = f"from here again as after step {trace.loop}" if trace.loop < len(trace) else "so it stays"
        yield f"     and {again}, for ever"


def say_state(spec: Spec, state: State) -> Iterator[str]:
    """Yield the variables that differ from zero, one a line."""
    for name, kind in spec.types.items():
        value = state[name]
        if isinstance(kind, MapType):
            if value:
                yield f"{name}: " + ", ".join(
                    f"{', '.join(map(str, k))} is {say_value(v, kind.value)}" for k, v in sorted(value.items())
                )
        elif value:
            yield f"{name}: {value if isinstance(value, tuple) else say_value(value, kind)}"


def say_obligation(o: "Obligation") -> str:
    """Return an obligation as a sentence, such as ``allocate preserves disjoint blocks``."""
    subject = name_in_words(o.action)
    return {
        "initial": f"init satisfies {name_in_words(o.property)}",
        "preserved": f"{subject} preserves {name_in_words(o.property)}",
        "step": f"{subject} obeys {name_in_words(o.property)}",
        "follows": f"{name_in_words(o.property)} follows from the lemmas",
        "antecedent": f"{name_in_words(o.property)} is not vacuous",
        "enabled": f"{subject} can happen",
        "dead": f"{subject} never happens",
        "inherited": f"{subject} has {name_in_words(o.property)}",
    }[o.kind]
