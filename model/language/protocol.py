"""A protocol is a class whose methods are run once, on symbols, and become the tree that every engine reads.

Annotations are state variables, ``@action`` methods are steps, ``init`` (optional) sets what does not start at zero,
and ``@axiom`` methods state what is known of the constants. A subclass is a variant: it inherits everything, overrides
by name, and takes an action out with ``name = None``. ``@danger`` methods and ``outside`` declare which dangers the
protocol has, and which it leaves out (`fencepost.model.dangers`). `Part` composes it of other protocols
(`fencepost.model.language.tracing.parts`).
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import new_class
from typing import Any, ClassVar, overload

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.checks.lint import check_source
from fencepost.model.language.checks.refusals import written
from fencepost.model.language.checks.rule_references import check_dangers, check_rule
from fencepost.model.language.specs import Action, Outside, Presence, Spec
from fencepost.model.language.tracing.composing import PartSpec, composed, helpers_of
from fencepost.model.language.tracing.deferring import traced
from fencepost.model.language.tracing.members import check_names, members
from fencepost.model.language.tracing.methods import PASSIVE, check_actor, check_locals, condition, sorted_parameters
from fencepost.model.language.tracing.parts import PartOptions, check_parts
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.recording import Recorder, Update
from fencepost.model.language.tracing.sources import attribute_line, line_of
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import Term, local, variables
from fencepost.model.language.tree.types import AtomsType, Place, ScalarType, Type, described, scalar, type_of

FAIRNESS = ("weak", "strong", "")


@dataclass(frozen=True)
class ActionMethod:
    """An `ActionMethod` is a method under ``@action``; a call runs the original body, so that a variant can use it."""

    body: Callable[..., Any]
    fair: str
    budget: str | None
    rule: str | None
    dead: str | None = None
    dangers: tuple[str, ...] = ()
    by: str = ""
    to: str = ""

    def __call__(self, s: Any, *parameters: Any) -> None:
        self.body(s, *parameters)


@dataclass(frozen=True)
class AxiomMethod:
    body: Callable[..., Any]


@dataclass(frozen=True)
class DangerMethod:
    """A `DangerMethod` is a method under ``@danger``, which returns the condition in which that danger is present."""

    body: Callable[..., Any]
    danger: str


Decorator = Callable[[Callable[..., Any]], Any]
"""The result type is Any, since a variant may override an action with another signature or take it out with None."""


@overload
def action(body: Callable[..., Any]) -> Any: ...


@overload
def action(
    *, fair: str = "", rule: str | None = None, dead: str | None = None, danger: str | tuple[str, ...] = (),
    by: str = "", to: str = "",
) -> Decorator: ...  # fmt: skip


def action(
    body: Callable[..., Any] | None = None, *, fair: str = "", rule: str | None = None, dead: str | None = None,
    danger: str | tuple[str, ...] = (), by: str = "", to: str = "",
) -> Any:  # fmt: skip
    """Declare a step of the protocol. With ``fair="weak"`` it is taken eventually if it stays enabled, with
    ``"strong"`` if it is enabled again and again. ``danger`` names the dangers of `fencepost.model.dangers` that taking
    this step is. ``by`` says who takes the step, and ``to`` whom it reaches: ``by="owner", to="coordinator"`` names a
    variable that maps the parameter to a client, and one of the protocol's ``actors``. An action that overrides another
    one has that one's, unless it says otherwise. Without ``by`` the step is by the first parameter of a sort, where
    members of that sort act, or else by the first of ``actors``."""
    if fair not in FAIRNESS:
        raise mistake(f"fairness {fair!r} is unknown", 'use fair="weak", fair="strong" or leave it out')
    dangers = check_dangers(danger)
    if body is None:
        return lambda function: ActionMethod(function, fair, None, rule, dead, dangers, by, to)
    return ActionMethod(body, fair, None, rule, dead, dangers, by, to)


@written('(budget="…")')
def fault(*, budget: str, danger: str | tuple[str, ...] = (), by: str = "", to: str = "") -> Decorator:
    """Declare a step that is not owed, and that the environment may take ``budget`` (a bound) times in exploration."""
    dangers = check_dangers(danger)
    return lambda function: ActionMethod(function, "", budget, None, None, dangers, by, to)


@written('("…")')
def danger(name: str) -> Decorator:
    """Declare a condition on the state in which the danger of that name is present, as in
    ``@danger("several-partitions")``."""
    check_dangers(name)
    return lambda function: DangerMethod(function, name)


@written("")
def axiom(body: Callable[..., Any]) -> AxiomMethod:
    """Declare a fact about the constants, such as ``s.size >= 1``; it may not read the state."""
    return AxiomMethod(body)


class Protocol:
    """`Protocol` is the base of all protocols. ``spec`` is the traced result. Tracing happens, and fails, when the
    class is made, or within `deferred` when ``spec`` is first read. ``outside`` has the dangers that the protocol
    leaves out (`fencepost.model.language.derived.scope`), and ``actors`` those who act and are of no sort."""

    spec: ClassVar[Spec]
    outside: ClassVar[tuple[Outside | tuple[Outside, ...], ...]] = ()
    actors: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        traced(cls, "spec", lambda: _trace(cls))


@cache
def combined(*protocols: type[Protocol]) -> type[Protocol]:
    """Return the protocol that inherits from all of these, the first one overriding the later ones, as in
    ``combined(Dropping, MortalV2)``. All callers get one class, so that it is traced once."""
    name, module = "".join(each.__name__ for each in protocols), protocols[0].__module__
    return new_class(name, protocols, {}, lambda members: members.update(__module__=module))


def _trace(cls: type[Protocol]) -> Spec:
    types, constants, ghosts = _variables(cls)
    parts, places = _parts(cls, {*types, *constants})
    found = members(cls, Protocol, (ActionMethod, AxiomMethod, DangerMethod))
    check_names(cls, found, {*types, *constants})
    helpers = {n: m for n, m in found.items() if inspect.isfunction(m) and n != "init"}
    for method in found.values():
        body = getattr(method, "body", method)
        if inspect.isfunction(body):
            check_source(body, {**helpers, **helpers_of(parts)})
    for name, helper in helpers.items():
        _is_helper(name, helper)
    own = Spec(cls.__name__, inspect.getdoc(cls) or "", types, ghosts, constants, (), (), {}, helpers)
    spec = composed(own, parts) if parts else own
    axioms = tuple(_axiom(spec, n, m) for n, m in found.items() if isinstance(m, AxiomMethod))
    actions = {n: _action(cls, spec, n, m) for n, m in found.items() if isinstance(m, ActionMethod)}
    presences = {n: _presence(spec, n, m) for n, m in found.items() if isinstance(m, DangerMethod)}
    own = replace(own, axioms=axioms, initial=_initial(spec, found.get("init")), actions=actions, presences=presences)
    if not parts:
        return replace(own, outside=_outside(cls, own.dangers))
    check_parts(own, parts, places)
    tagged = composed(own, parts).dangers
    return composed(replace(own, outside=_outside(cls, tagged)), parts)


def _parts(cls: type[Protocol], others: set[str]) -> tuple[dict[str, PartSpec], dict[str, Place]]:
    parts: dict[str, PartSpec] = {}
    places: dict[str, Place] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            if getattr(annotation, "role", "") != "part":
                continue
            of, where, given = annotation.of, attribute_line(base, name), getattr(cls, name, PartOptions())
            if not (isinstance(of, type) and issubclass(of, Protocol) and of is not Protocol):
                raise mistake(f"{name} is Part[{getattr(of, '__name__', of)}]", "name a protocol: Part[Kraft]", where)
            if not isinstance(given, PartOptions):
                what = f"{name} is a part, and {given!r} is assigned to its name or a method has it"
                raise mistake(what, "say no more of a part than part(joint=..., sorts=...)", where)
            if name in parts or name in others:
                raise mistake(f"the part {name} is declared again in {base.__name__}", "leave one declaration", where)
            parts[name], places[name] = PartSpec(name, of.spec, given.joint, given.sorts), where
    return parts, places


def _variables(cls: type[Protocol]) -> tuple[dict[str, Type], dict[str, ScalarType], frozenset[str]]:
    types: dict[str, Type] = {}
    constants: dict[str, ScalarType] = {}
    ghosts: set[str] = set()
    for base in reversed(cls.__mro__):
        if base in (object, Protocol):
            continue
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            if getattr(annotation, "role", "") == "part":
                continue
            kind = described(annotation) or type_of(annotation, f"variable {name}", attribute_line(base, name))
            if name in types or name in constants:
                what = f"variable {name} is declared again in {base.__name__}"
                raise mistake(what, "leave one declaration", attribute_line(base, name))
            role = getattr(annotation, "role", "")
            if role == "constant":
                constants[name] = scalar(annotation)
            else:
                types[name] = kind
            ghosts.update([name] if role == "ghost" else [])
    return types, constants, frozenset(ghosts)


def _is_helper(name: str, helper: Callable[..., Any]) -> None:
    if any(p.annotation is not p.empty for p in inspect.signature(helper).parameters.values()):
        instead = "decorate it with @action or @fault; a helper's parameters have no sorts"
        raise mistake(f"{name} takes sorts like an action and is none", instead, line_of(helper))


def _initial(spec: Spec, init: Any) -> tuple[Update, ...]:
    if init is None:
        return ()
    with Recorder(spec.types, frozenset()) as recorder:
        init(StateProxy(spec, recorder))
    if recorder.calls:
        raise mistake("init() takes an action of a part", "a part starts as its own init() says", line_of(init))
    if recorder.guards or recorder.limits:
        raise mistake(
            "init() has a guard or a limit",
            "initial values are assigned; describe constants with @axiom",
            line_of(init),
        )
    return tuple(recorder.updates)


def _axiom(spec: Spec, name: str, method: AxiomMethod) -> Term:
    known = condition(method.body(StateProxy(spec, None)), f"axiom {name}", line_of(method.body))
    if read := variables(known):
        instead = "an axiom speaks of constants; state what holds of variables as a lemma"
        raise mistake(f"axiom {name} reads the variable {min(read)}", instead, line_of(method.body))
    return known


def _presence(spec: Spec, name: str, method: DangerMethod) -> Presence:
    known = condition(method.body(StateProxy(spec, None)), f"danger {name}", line_of(method.body))
    return Presence(name, method.danger, known, inspect.getdoc(method.body) or "")


def _outside(cls: type[Protocol], tagged: Sequence[str]) -> dict[str, Outside]:
    """Return the reasons that a class and its bases give for dangers that they leave out; the nearest class wins. A tag
    outweighs the reason of a base. A class that tags a danger and leaves it out contradicts itself, unless it has the
    danger under a condition."""
    found: dict[str, Outside] = {}
    for base in reversed(cls.__mro__):
        for item in vars(base).get("outside", ()):
            for each in item if isinstance(item, tuple) else (item,):
                found[each.danger] = each
    return {name: each for name, each in found.items() if name not in tagged or each.standing == "excused"}


def _action(cls: type[Protocol], spec: Spec, name: str, method: ActionMethod) -> Action:
    where = line_of(method.body)
    if method.rule is not None:
        check_rule(method.rule, where)
    parameters = sorted_parameters(method.body, name, 1)
    with Recorder(spec.types, spec.ghosts) as recorder:
        result: Any = method.body(StateProxy(spec, recorder), *(Symbol(local(n, kind)) for n, kind in parameters))
    if result is not None:
        raise mistake(f"action {name} returns a value, which nothing uses", "write require(...) for a guard", where)
    faults = [c for c in recorder.calls if spec.parts[c.part].own.actions[c.action].budget is not None]
    if faults and method.budget is None:
        what = f"action {name} takes the fault {faults[0].part}.{faults[0].action}, which would cost no budget"
        raise mistake(what, "make it a @fault with a budget", where)
    names = {n for n, _ in parameters}
    for u in recorder.updates:
        check_locals(names.union(n for n, _ in u.bound), u.value, *u.keys, where=u.line)
    for g in recorder.guards:
        check_locals(names, g.condition, where=g.line)
    return Action(
        name, parameters, tuple(recorder.guards), tuple(recorder.limits), tuple(recorder.updates),
        method.fair, method.budget, method.rule, method.dead, inspect.getdoc(method.body) or "", where, method.dangers,
        tuple(recorder.calls), *_actors(cls, spec, name, parameters),
    )  # fmt: skip


def _actors(
    cls: type[Protocol], spec: Spec, name: str, parameters: Sequence[tuple[str, ScalarType]]
) -> tuple[str, str | None]:
    """Return who takes an action and whom it reaches, as the nearest class says that says either. Where none does, a
    step whose first parameter of a sort is passive, or that has none, is taken by the first of the actors."""
    for base in cls.__mro__:
        method = vars(base).get(name)
        if isinstance(method, ActionMethod) and (method.by or method.to):
            for word in filter(None, (method.by, method.to)):
                check_actor(name, word, parameters, spec.types, cls.actors, line_of(method.body))
            return method.by, method.to
    sorts = [kind.name for _, kind in parameters if isinstance(kind, AtomsType)]
    return "" if sorts and sorts[0] not in PASSIVE else next(iter(cls.actors), ""), None


__all__ = ["Action", "ActionMethod", "Protocol", "Spec", "action", "axiom", "danger", "fault"]
