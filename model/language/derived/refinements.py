"""A refinement states that every step of a protocol is, under a mapping of its state, a step of a smaller protocol, or
leaves the smaller one's state unchanged.

What is proved of the smaller protocol, the *core*, then holds of the larger one. The mapping gives each variable of the
core as an expression of the larger protocol's state. From the mapping and the core's own terms a step property is made
(`Refinement`), which every engine that checks steps checks. Budgets of faults and limits are bounds of exploration and
no part of the core's steps.

Promises of the core about variables that the mapping leaves out are not carried over.

A refinement may have parameters, ``def as_one(s, c: Client)``. The core is then a view of one element, such as one
client's transactions, and every step of the protocol is, in the view of each element, a step of the core or none.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.checks.lint import check_source
from fencepost.model.language.checks.rule_references import check_rule
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property, PropertyMethod, Source
from fencepost.model.language.protocol import Action, Decorator, Protocol, Spec
from fencepost.model.language.tracing.composing import steps_taken
from fencepost.model.language.tracing.mappings import (
    Bound,
    Mapped,
    in_core,
    initially,
    is_unchanged,
    map_state,
    mapped_variable,
    parameter,
    steps_of_action,
)
from fencepost.model.language.tracing.methods import check_locals, sorted_parameters
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.sources import line_of
from fencepost.model.language.tracing.symbols import Symbol, coerce
from fencepost.model.language.tree.terms import (
    Term,
    boolean,
    both,
    free_locals,
    local,
    substitute,
    term,
    variables,
)
from fencepost.model.language.tree.types import BOOL, Place, ScalarType


@dataclass(frozen=True)
class CoreStep:
    """A `CoreStep` is an action of the core, stated over the larger protocol's states before and (primed) after. It has
    the guards and, for each variable of the core, what must hold of it afterwards. Its parameters are locals."""

    action: Action
    parameters: tuple[tuple[str, ScalarType], ...]
    guards: tuple[Term, ...]
    effects: dict[str, Term]

    @property
    def term(self) -> Term:
        """Return the condition that the step is this one for some choice of the parameters."""
        body = both(*self.guards, *self.effects.values())
        return term("exists", (body,), self.parameters, BOOL) if self.parameters else body


@dataclass(frozen=True)
class Refinement(Property):
    """A `Refinement` is the traced property; its ``terms`` are the condition on every step and the one on the initial
    state. ``core`` is settled, without bounds of exploration and without the variables left out. ``mapping`` has an
    entry for each of the others, and ``unchanged`` the condition that it does not change. ``steps`` are the core's.
    ``hints`` names for an action the actions of the core that are tried first. ``each`` has the parameters of the view,
    which are free in the mapping, in ``unchanged`` and in ``steps``. ``stated`` has for an action those steps of the
    core whose parameters are stated, as conditions in which the parameters of the view and of the action are free."""

    core: Spec = field(compare=False)
    mapping: dict[str, Mapped] = field(compare=False)
    unchanged: dict[str, Term] = field(compare=False)
    steps: dict[str, CoreStep] = field(compare=False)
    hints: dict[str, tuple[str, ...]] = field(compare=False)
    each: Bound = field(compare=False, default=())
    stated: dict[str, tuple[Term, ...]] = field(compare=False, default_factory=dict)

    def by_stated_steps(self, action: str) -> Term | None:
        """Return the condition that a step of the action is one of the stated steps or leaves the core unchanged. It
        implies ``term``, in which some choice of parameters is claimed. Return None if none is stated."""
        cases = self.stated.get(action, ())
        if not cases:
            return None
        root = boolean("or", both(*self.unchanged.values()), *cases)
        return term("forall", (root,), self.each, BOOL) if self.each else root

    def of_whole(self, whole: Spec, source: Source) -> "Refinement":
        """Return a part's refinement of its core as one of the composition, where stated steps are left out that name
        parameters of the part's action."""
        part = whole.parts[source.part]

        def mapped(m: Mapped) -> Mapped:
            return Mapped(part.parameters(m.bound), part.term(m.value))

        def renamed(terms: Mapping[str, Term]) -> dict[str, Term]:
            return {name: part.term(root) for name, root in terms.items()}

        def core_step(s: CoreStep) -> CoreStep:
            guards = tuple(map(part.term, s.guards))
            return CoreStep(s.action, part.parameters(s.parameters), guards, renamed(s.effects))

        hints = {n: steps for a, steps in self.hints.items() for n in steps_taken(whole, part.name, a)}
        view = {name for name, _ in self.each}
        cases = {a: tuple(part.term(t) for t in ts if free_locals(t) <= view) for a, ts in self.stated.items()}
        stated = {n: ts for a, ts in cases.items() if ts for n in steps_taken(whole, part.name, a)}
        made = super().of_whole(whole, source)
        assert isinstance(made, Refinement)
        return replace(
            made,
            mapping={name: mapped(m) for name, m in self.mapping.items()},
            unchanged=renamed(self.unchanged),
            steps={name: core_step(s) for name, s in self.steps.items()},
            hints=hints,
            each=part.parameters(self.each),
            stated=stated,
        )


@dataclass(frozen=True)
class StatedStep:
    """A `StatedStep` is an action of the core, with a function that returns values of its parameters."""

    action: str
    values: Callable[..., Any]


Steps = StatedStep | Iterable[str | StatedStep]


def with_parameters(action: str, values: Callable[..., Any]) -> StatedStep:
    """State the parameters of an action of the core, in ``actions`` of a refinement. The function is given the state
    before the step, and parameters of the view or of the larger protocol's action by their names (the view's, where
    both have one of that name). It returns a dict with values of some of the core's parameters. A proof tries this
    choice first. Where it does not prove the step, because it is wrong, any choice is tried."""
    return StatedStep(action, values)


@dataclass(frozen=True)
class RefinementMethod(PropertyMethod):
    core: type[Protocol] | None = None
    leaves_out: tuple[str, ...] = ()
    actions: Mapping[str, Steps] = field(default_factory=dict)

    def traced(self, owner: Spec, name: str) -> Refinement:
        assert self.core is not None
        where = line_of(self.body)
        doc = inspect.getdoc(self.body)
        if not doc:
            raise mistake(f"refinement {name} has no sentence", "say in a docstring what the mapping is", where)
        if self.rule is not None:
            check_rule(self.rule, where)
        check_source(self.body, owner.helpers)
        each = sorted_parameters(self.body, name, 1)
        core = settle(self.core.spec)
        check_constants(core, owner, where)
        given = self.body(StateProxy(owner, None), *(Symbol(local(n, kind)) for n, kind in each))
        mapping = trace_mapping(core, owner, self, given, frozenset(n for n, _ in each))
        hints = check_hints(name, core, owner, self.actions, where)
        made = refine(name, core, mapping, self.rule, doc, hints, each)
        return replace(made, stated=trace_stated(made, owner, self.actions, where))


def refine(
    name: str, settled: Spec, mapping: dict[str, Mapped], rule: str | None, doc: str,
    hints: dict[str, tuple[str, ...]], each: Bound = (),
) -> Refinement:  # fmt: skip
    """Return the property that each step is, under the mapping, one of the core's or a stutter, that the initial state
    is one of the core's, and that the core's axioms hold."""
    core = without_bounds(settled, mapping.keys())
    now, later = map_state(mapping, primed=False), map_state(mapping, primed=True)
    remaining = {v: is_unchanged(core, v, now, later) for v in mapping}
    steps = {a.name: CoreStep(a, *steps_of_action(core, a, now, later)) for a in core.actions.values()}
    step = boolean("or", both(*remaining.values()), *(s.term for s in steps.values()))
    start = both(*(initially(core, v, now) for v in mapping), *(in_core(axiom, now) for axiom in core.axioms))
    terms = tuple(term("forall", (root,), each, BOOL) if each else root for root in (step, start))
    return Refinement(name, "refinement", rule, terms, (), None, doc, core, mapping, remaining, steps, hints, each)


def refinement(
    *,
    of: type[Protocol],
    rule: str | None = None,
    leaves_out: Iterable[str] = (),
    actions: Mapping[str, Steps] | None = None,
) -> Decorator:
    """Decorate a method that maps the state to one of the protocol ``of``. The method returns a dict with an entry for
    each of that protocol's variables.

    An entry is a value, or for a map ``each(lambda key: ...)`` or a map of the same type; for a sequence it is one of
    the same type. Variables that both protocols have under one name and type are mapped to themselves unless the dict
    has them, and constants are shared by name. Parameters after the state, each with its sort, make the mapping a view
    of one element. ``leaves_out`` has variables, such as ghosts, on which no mapped variable depends. ``actions``
    names, for actions of the larger protocol, the core's actions that each implements, or none where it only leaves the
    mapped state unchanged; `with_parameters` also states the parameters of one. No verdict that is decided depends on
    ``actions``, but `verify` reports which explored steps were something else.
    """
    if not (isinstance(of, type) and issubclass(of, Protocol) and of is not Protocol):
        raise mistake(f"refinement of {of!r}, which is no protocol", "name the core's class: refinement(of=Core)")
    return lambda body: RefinementMethod(body, "refinement", rule, None, of, tuple(leaves_out), dict(actions or {}))


def trace_mapping(
    core: Spec, owner: Spec, method: RefinementMethod, given: Any, known: frozenset[str]
) -> dict[str, Mapped]:
    """Return the mapping that the method returned, checked and completed. ``known`` has the parameters of the view."""
    where, left = line_of(method.body), method.leaves_out
    if not isinstance(given, dict):
        raise mistake(f"the mapping to {core.name} is {given!r}", "return dict(variable=value, ...)", where)
    for name in (*given, *left):
        if name not in core.types:
            raise mistake(f"{core.name} has no variable {name!r}", f"it has {', '.join(core.types)}", where)
        if name in given and name in left:
            raise mistake(f"{name} is mapped and left out", "do one of the two", where)
    mapping: dict[str, Mapped] = {}
    for name, kind in core.types.items():
        if name in left:
            continue
        if name in given:
            mapping[name] = mapped_variable(name, kind, given[name], where, known)
        elif owner.types.get(name) == kind:
            mapping[name] = mapped_variable(name, kind, getattr(StateProxy(owner, None), name), where)
        else:
            has = f"; {owner.name}.{name} is {owner.types[name]}" if name in owner.types else ""
            raise mistake(
                f"the mapping says nothing of {core.name}.{name}, which is {kind}{has}",
                f"add {name}=..., or leaves_out=({name!r},) if nothing kept depends on it",
                where,
            )
    if not mapping:
        raise mistake(f"the mapping to {core.name} leaves out all its variables", "map those that matter", where)
    _check_left_out(core, set(left), where)
    return mapping


def without_bounds(core: Spec, remaining: Iterable[str]) -> Spec:
    """Return the core without limits and budgets, and with the mapped variables only."""
    types = {name: core.types[name] for name in remaining}
    actions = {
        name: replace(a, limits=(), budget=None, updates=tuple(u for u in a.updates if u.variable in types))
        for name, a in core.actions.items()
    }
    initial = tuple(u for u in core.initial if u.variable in types)
    return replace(core, types=types, ghosts=core.ghosts & types.keys(), initial=initial, actions=actions)


def _check_left_out(core: Spec, left: set[str], where: Place) -> None:
    """Raise ModelError if a mapped part of the core depends on a variable that is left out."""
    for action in core.actions.values():
        for guard in action.guards:
            if read := variables(guard.condition) & left:
                what = f"{min(read)} is left out, and a guard of {core.name}.{action.name} reads it"
                raise mistake(what, "map it", where)
        for u in action.updates:
            read = left & {v for t in (u.value, *u.keys) for v in variables(t)}
            if read and u.variable not in left:
                what = f"{min(read)} is left out, and {core.name}.{action.name} computes {u.variable} from it"
                raise mistake(what, f"map it, or leave out {u.variable} as well", where)


def check_constants(core: Spec, owner: Spec, where: Place) -> None:
    for name, kind in core.constants.items():
        if owner.constants.get(name) != kind:
            has = f"there is {owner.constants[name]}" if name in owner.constants else "there is none"
            what = f"{core.name} has the constant {name}, {kind}, and in {owner.name} {has} of that name"
            raise mistake(what, "declare it there as well: both protocols share their constants", where)


def check_hints(
    name: str, core: Spec, owner: Spec, given: Mapping[str, Steps], where: Place
) -> dict[str, tuple[str, ...]]:
    """Return the hints, each checked to name existing actions. A string is refused, since it is no list of names."""
    found: dict[str, tuple[str, ...]] = {}
    for action, steps in given.items():
        if action not in owner.actions:
            raise mistake(
                f"refinement {name} names the action {action!r}, which {owner.name} does not have",
                f"it has {', '.join(owner.actions)}",
                where,
            )
        listed = (steps,) if isinstance(steps, str | StatedStep) else tuple(steps)
        named = tuple(step.action if isinstance(step, StatedStep) else step for step in listed)
        for step in named:
            if step not in core.actions:
                raise mistake(
                    f"refinement {name} takes {action} for {step!r}, which {core.name} does not have",
                    f"it has {', '.join(core.actions)}",
                    where,
                )
        found[action] = named
    return found


def trace_stated(
    item: Refinement, owner: Spec, given: Mapping[str, Steps], where: Place
) -> dict[str, tuple[Term, ...]]:
    """Return, for an action, the conditions that its step is one of the core's with the parameters stated. A parameter
    of which nothing is stated may be any."""
    found: dict[str, tuple[Term, ...]] = {}
    for action, steps in given.items():
        listed = [steps] if isinstance(steps, StatedStep) else steps
        if stated := [step for step in listed if isinstance(step, StatedStep)]:
            known = {**dict(owner.actions[action].parameters), **dict(item.each)}
            found[action] = tuple(_case(item, owner, action, step, known, where) for step in stated)
    return found


def _case(
    item: Refinement, owner: Spec, action: str, step: StatedStep, known: Mapping[str, ScalarType], where: Place
) -> Term:
    what = f"{item.name}, of {action} as {step.action},"
    names = list(inspect.signature(step.values).parameters)[1:]
    if unknown := [name for name in names if name not in known]:
        has = f"there are {', '.join(known)}" if known else "neither has any"
        raise mistake(f"{what} names {unknown[0]!r}, which is no parameter of the view or of {action}", has, where)
    values = step.values(StateProxy(owner, None), *(Symbol(local(name, known[name])) for name in names))
    core = item.steps[step.action]
    kinds = {name.partition(".")[0]: kind for name, kind in core.parameters}
    if not isinstance(values, dict) or not values or (unknown := [name for name in values if name not in kinds]):
        has = f"return dict(parameter=value, ...) of {', '.join(kinds) or 'none, as it has no parameters'}"
        raise mistake(f"{what} is given {unknown[0] if isinstance(values, dict) and values else values!r}", has, where)
    given = {parameter(n): coerce(v, kinds[n], f"{what} the parameter {n}") for n, v in values.items()}
    check_locals(set(names), *given.values(), where=where)
    body = substitute(both(*core.guards, *core.effects.values()), given)
    rest = tuple((name, kind) for name, kind in core.parameters if name not in given)
    return term("exists", (body,), rest, BOOL) if rest else body
