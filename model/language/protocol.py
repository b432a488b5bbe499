"""Protocol: a class whose methods are run once, on symbols, and become the tree that every engine reads.

Annotations are state variables, ``@action`` methods are steps, ``init`` (optional) sets what does not start at zero, ``@axiom``
methods say what is known of the constants.  A subclass is a variant: it inherits all, overrides by name, and takes an action
out with ``name = None``.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .citing import check_rule
from .errors import ModelError, mistake
from .lint import check_source
from .recording import Guard, Recorder, StateProxy, Update, condition
from .symbols import Symbol
from .terms import Term, local
from .types import MapType, ScalarType, SeqType, Type, scalar, type_of

FAIRNESS = ("weak", "strong", "")


@dataclass(frozen=True)
class Action:
    """One step: enabled where all guards hold, then all updates happen at once, from the old state.

    ``fair`` is weak, strong or empty; ``budget`` names, for a fault, the bound on how often it may happen in exploration;
    ``rule`` is the mechanism that the action as a whole is, if it is one; ``dead`` says why no reachable state enables it, for a
    defence that only another's mistake would call up (which is then proved, and else a vacuous action is an error).
    """

    name: str
    parameters: tuple[tuple[str, ScalarType], ...]
    guards: tuple[Guard, ...]
    limits: tuple[Term, ...]
    updates: tuple[Update, ...]
    fair: str
    budget: str | None
    rule: str | None
    dead: str | None
    doc: str
    line: tuple[str, int]


@dataclass(frozen=True)
class Spec:
    """A protocol after tracing.  ``types`` in order of declaration; ``ghosts`` may be read by properties only."""

    name: str
    doc: str
    types: dict[str, Type]
    ghosts: frozenset[str]
    constants: dict[str, ScalarType]
    axioms: tuple[Term, ...]
    initial: tuple[Update, ...]
    actions: dict[str, Action]
    helpers: dict[str, Callable[..., Any]] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class ActionMethod:
    """What ``@action`` makes of a method; calling it runs the original body, so that a variant can build on it."""

    body: Callable[..., None]
    fair: str
    budget: str | None
    rule: str | None
    dead: str | None = None

    def __call__(self, s: Any, *parameters: Any) -> None:
        self.body(s, *parameters)


@dataclass(frozen=True)
class AxiomMethod:
    body: Callable[..., Any]


def action(
    body: Callable[..., None] | None = None, *, fair: str = "", rule: str | None = None, dead: str | None = None
) -> Any:
    """A step of the protocol.  ``fair="weak"``: taken in the end if it stays enabled; ``"strong"``: if it is enabled again and again."""
    if fair not in FAIRNESS:
        raise mistake(f"fairness {fair!r} is unknown", 'use fair="weak", fair="strong" or leave it out')
    if body is None:
        return lambda function: ActionMethod(function, fair, None, rule, dead)
    return ActionMethod(body, fair, None, rule, dead)


def fault(*, budget: str) -> Any:
    """A step that nobody owes and that the environment may take ``budget`` (a bound's name) times in exploration."""
    return lambda function: ActionMethod(function, "", budget, None)


def axiom(body: Callable[..., Any]) -> AxiomMethod:
    """A fact about the constants, such as ``s.size >= 1``; it may not read the state."""
    return AxiomMethod(body)


class Protocol:
    """Base of all protocols.  ``spec`` is the traced result; tracing happens, and fails, when the class is made."""

    spec: ClassVar[Spec]

    def __init_subclass__(cls) -> None:
        cls.spec = _trace(cls)


def _trace(cls: type[Protocol]) -> Spec:
    types: dict[str, Type] = {}
    ghosts: set[str] = set()
    constants: dict[str, ScalarType] = {}
    for base in reversed(cls.__mro__):
        if base is Protocol:
            continue
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            where = (inspect.getsourcefile(cls) or "?", inspect.getsourcelines(cls)[1])
            role = getattr(annotation, "role", "")
            try:
                if role == "constant":
                    constants[name] = scalar(annotation)
                else:
                    types[name] = type_of(annotation)
            except ModelError as error:
                raise mistake(f"variable {name} of {cls.__name__}: {error}", "mend the annotation", where) from None
            ghosts.update([name] if role == "ghost" else [])
    members = _members(cls)
    helpers = {n: m for n, m in members.items() if inspect.isfunction(m) and n != "init"}
    spec = Spec(cls.__name__, inspect.getdoc(cls) or "", types, frozenset(ghosts), constants, (), (), {}, helpers)
    for method in members.values():
        body = getattr(method, "body", method)
        if inspect.isfunction(body):
            check_source(body)
    initial = _initial(spec, members.get("init"))
    axioms = tuple(
        condition(m.body(StateProxy(spec, None)), f"axiom {n}") for n, m in members.items() if isinstance(m, AxiomMethod)
    )
    actions = {n: _action(spec, n, m) for n, m in members.items() if isinstance(m, ActionMethod)}
    return Spec(spec.name, spec.doc, types, frozenset(ghosts), constants, axioms, initial, actions, helpers)


def _members(cls: type) -> dict[str, Any]:
    """Class members of the whole lineage, base first in order of definition, overridden ones in their first place."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base not in (object, Protocol):
            found.update({n: m for n, m in vars(base).items() if not n.startswith("__")})
    return {n: m for n, m in found.items() if m is not None}


def _initial(spec: Spec, init: Any) -> tuple[Update, ...]:
    if init is None:
        return ()
    with Recorder(spec.types, frozenset(), None) as recorder:
        init(StateProxy(spec, recorder))
    if recorder.guards:
        raise mistake("init() has a guard", "initial values are assigned; describe constants with @axiom")
    return tuple(recorder.updates)


def _action(spec: Spec, name: str, method: ActionMethod) -> Action:
    where = (inspect.getsourcefile(method.body) or "?", inspect.getsourcelines(method.body)[1])
    if method.rule is not None:
        check_rule(method.rule)
    parameters: list[tuple[str, ScalarType]] = []
    for parameter in list(inspect.signature(method.body).parameters.values())[1:]:
        if parameter.annotation is inspect.Parameter.empty:
            raise mistake(f"parameter {parameter.name} of {name} has no sort", f"write {parameter.name}: Broker", where)
        parameters.append((parameter.name, scalar(parameter.annotation)))
    with Recorder(spec.types, spec.ghosts, None) as recorder:
        method.body(StateProxy(spec, recorder), *(Symbol(local(n, kind)) for n, kind in parameters))
    return Action(
        name, tuple(parameters), tuple(recorder.guards), tuple(recorder.limits), tuple(recorder.updates),
        method.fair, method.budget, method.rule, method.dead, inspect.getdoc(method.body) or "", where,
    )  # fmt: skip


__all__ = ["Action", "ActionMethod", "MapType", "Protocol", "SeqType", "Spec", "action", "axiom", "fault"]
