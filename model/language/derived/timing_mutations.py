"""This module makes mistakes of time about the state that a rule reads: an effect that comes later, a memory that is
lost, a step taken again.

A rule depends on the variables that its guards read, and on those of an `either` of its number within a guard. For each
such variable there are two mistakes:

- *later*: the one action that sets it leaves it unchanged, and a step of its own sets it, at any time after that;
- *forgotten*: it gets its initial value again, entry by entry, at any time.

One more mistake concerns actions:

- *once more*: an action with a guard of a rule happens a second time, for the same parameters and whatever its guards
  require: the same request, or answer, is handled again.

Each mistake is made once, under the first rule that depends on the variable. A mistake of time adds an action, and a
variable where an effect is still pending. Ghosts are never touched, since no rule depends on them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import (
    FALSE,
    TRUE,
    Term,
    boolean,
    local,
    state,
    substitute,
    subterms,
    term,
    variables,
    zero,
)
from fencepost.model.language.tree.types import BOOL, MapType, ScalarType, SeqType
from fencepost.model.rules import RULES

Change = Callable[[Spec], Spec]


def timing_changes(spec: Spec) -> Iterator[tuple[str, str, Change]]:
    """Yield the rule, name and change of each mistake of time."""
    for variable, rule in gone_by(spec).items():
        if not isinstance(spec.types[variable], SeqType):
            yield rule, f"{variable} forgotten", _forgotten(variable)
        setting = [a for a in spec.actions.values() if any(u.variable == variable for u in a.updates)]
        if len(setting) == 1 and not any(u.appends for u in setting[0].updates):
            yield rule, f"{setting[0].name}: {variable} later", _later(setting[0].name, variable)
    for a in spec.actions.values():
        rules = sorted({g.rule for g in a.guards if g.rule is not None}, key=list(RULES).index)
        if rules and a.updates and not a.calls:
            yield rules[0], f"{a.name}: once more", _once_more(a.name)


def gone_by(spec: Spec) -> dict[str, str]:
    """Return the variables that guards of rules read, each with the first rule that depends on it."""
    found: set[tuple[int, str]] = set()
    for a in spec.actions.values():
        for g in a.guards:
            if g.rule is not None:
                found |= {(list(RULES).index(g.rule), v) for v in variables(g.condition)}
            for node in subterms(g.condition):
                if node.op == "choice":
                    found |= {(list(RULES).index(node.data[0]), v) for v in variables(node)}
    written = {u.variable for a in spec.actions.values() for u in a.updates} - spec.ghosts
    order = sorted(found, reverse=True)
    first = {v: list(RULES)[number] for number, v in order if v in written}
    return {v: first[v] for v in spec.types if v in first}


def _later(name: str, variable: str) -> Change:
    def change(spec: Spec) -> Spec:
        a = spec.actions[name]
        to_come, is_to_come = _noted(spec, a, f"{name}_{variable}_to_come")
        effects = tuple(u for u in a.updates if u.variable == variable)
        rest = tuple(u for u in a.updates if u.variable != variable)
        doc = f"What {name} does to {variable}, later."
        after = replace(
            a, name=f"{name}_{variable}_later", guards=(_guard(a, is_to_come),), limits=(),
            updates=(*effects, _note(a, to_come, FALSE)), fair="weak", budget=None, rule=None, dead=None, doc=doc,
            dangers=(), calls=(),
        )  # fmt: skip
        return _with(spec, a, to_come, replace(a, updates=(*rest, _note(a, to_come, TRUE))), after)

    return change


def _once_more(name: str) -> Change:
    def change(spec: Spec) -> Spec:
        a = spec.actions[name]
        done, is_done = _noted(spec, a, f"{name}_done")
        again = replace(
            a, name=f"{name}_again", guards=(_guard(a, is_done),), updates=(*a.updates, _note(a, done, FALSE)), fair="",
            rule=None, dead=None, doc=f"What {name} did happens once more.",
        )  # fmt: skip
        return _with(spec, a, done, replace(a, updates=(*a.updates, _note(a, done, TRUE))), again)

    return change


def _forgotten(variable: str) -> Change:
    def change(spec: Spec) -> Spec:
        kind = spec.types[variable]
        sorts = kind.keys if isinstance(kind, MapType) else ()
        parameters = tuple((f"of{number}", sort) for number, sort in enumerate(sorts))
        keys = tuple(local(n, sort) for n, sort in parameters)
        line = next(u.line for a in spec.actions.values() for u in a.updates if u.variable == variable)
        first, now = _initial(spec, variable, keys), _entry(variable, spec, keys)
        doc = f"{variable} is what it was at the beginning."
        forgets = Action(
            f"forget_{variable}", parameters, (Guard(boolean("not", boolean("eq", now, first)), None, line),), (),
            (Update(variable, first, None, line, keys=keys),), "", None, None, None, doc, line,
        )  # fmt: skip
        return replace(spec, actions={**spec.actions, forgets.name: forgets})

    return change


def _initial(spec: Spec, variable: str, keys: tuple[Term, ...]) -> Term:
    kind = spec.types[variable]
    value = zero(kind.value if isinstance(kind, MapType) else kind)  # type: ignore[arg-type]
    for u in spec.initial:
        if u.variable == variable and u.bound:
            value = substitute(u.value, {n: key for (n, _), key in zip(u.bound, keys, strict=True)})
        elif u.variable == variable and not u.keys:
            value = u.value
    return value


def _entry(variable: str, spec: Spec, keys: tuple[Term, ...]) -> Term:
    kind = spec.types[variable]
    whole = state(variable, kind)
    return term("select", (whole, *keys), None, kind.value) if isinstance(kind, MapType) else whole


def _noted(spec: Spec, a: Action, name: str) -> tuple[tuple[str, MapType | ScalarType], Term]:
    """Return a new variable with a flag for each choice of an action's parameters, and the term that reads its flag."""
    sorts = tuple(sort for _, sort in a.parameters)
    kind = MapType(sorts, BOOL) if sorts else BOOL
    keys = tuple(local(n, sort) for n, sort in a.parameters)
    whole = state(name, kind)
    return (name, kind), term("select", (whole, *keys), None, BOOL) if sorts else whole


def _note(a: Action, noted: tuple[str, MapType | ScalarType], value: Term) -> Update:
    return Update(noted[0], value, None, a.line, keys=tuple(local(n, sort) for n, sort in a.parameters))


def _guard(a: Action, condition: Term) -> Guard:
    return Guard(condition, None, a.line)


def _with(spec: Spec, a: Action, noted: tuple[str, MapType | ScalarType], changed: Action, added: Action) -> Spec:
    actions = {n: changed if n == a.name else b for n, b in spec.actions.items()}
    return replace(spec, types={**spec.types, noted[0]: noted[1]}, actions={**actions, added.name: added})
