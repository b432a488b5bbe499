"""This module records the calls of a protocol's own helpers, and the local names of its actions, which are the model's
names for its longer expressions.

Terms do not contain how they were written. The methods are therefore run once more on symbols, with helpers that record
their arguments and results. Equal terms are one object, so that each is found again wherever it occurs.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.properties import Properties, PropertyMethod
from fencepost.model.language.protocol import ActionMethod, DangerMethod, Protocol, Spec
from fencepost.model.language.tracing.composing import PartSpec
from fencepost.model.language.tracing.members import members
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.recording import Recorder
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import Term, free_locals, local, rewrite, substitute, subterms
from fencepost.model.language.tree.types import MapType, ScalarType, SeqType


@dataclass(frozen=True)
class Form:
    """A `Form` is a helper as it is called, with its path, the parameters that get symbols, and the term that it then
    returns. ``fixed`` has the arguments of the other parameters, as text, and ``doc`` the helper's sentence."""

    helper: str
    parameters: tuple[tuple[str, ScalarType], ...]
    fixed: tuple[str, ...]
    body: Term = field(compare=False)
    doc: str = field(compare=False, default="")

    @property
    def key(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return the key of the form. Forms of one key are one definition, whatever the types of their arguments."""
        return self.helper, tuple(name for name, _ in self.parameters), self.fixed

    def in_whole(self, part: PartSpec) -> "Form":
        return Form(
            part.path(self.helper), part.parameters(self.parameters), self.fixed, part.term(self.body), self.doc
        )


@dataclass(frozen=True)
class Called:
    """A `Called` is one call, with arguments in the order of the form's parameters, and the returned term."""

    form: Form
    arguments: tuple[Term, ...]
    returned: Term

    def changed(self, form: Form, change: Callable[[Term], Term]) -> "Called":
        return Called(form, tuple(map(change, self.arguments)), change(self.returned))


Locals = tuple[tuple[str, Term], ...]


@dataclass
class Notes:
    """A `Notes` has all calls of a protocol's methods, and the local names by action."""

    calls: list[Called] = field(default_factory=list)
    by_action: dict[str, list[Called]] = field(default_factory=dict)
    locals: dict[str, Locals] = field(default_factory=dict)


def notes_of(protocol: type[Protocol], spec: Spec, properties: type[Properties] | None = None) -> Notes:
    """Return the notes of a protocol and of its properties. ``spec`` is the settled protocol, as it is exported."""
    notes = _of_protocol(protocol, spec)
    if properties is not None:
        notes.calls += _of_properties(properties, spec)
    notes.calls += [call for calls in notes.by_action.values() for call in calls]
    return notes


class _Noting:
    def __init__(self, spec: Spec, further: Mapping[str, Callable[..., Any]] | None = None) -> None:
        helpers = {**spec.helpers, **(further or {})}
        self.owner = replace(spec, helpers={n: self._noting(n, body) for n, body in helpers.items()})
        self.calls: list[Called] = []

    def _noting(self, name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(body).parameters)[1:]

        def helper(s: Any, *given: Any) -> Any:
            returned = body(s, *given)
            if isinstance(returned, Symbol) and not isinstance(returned.term.type, MapType | SeqType):
                self._note(name, body, dict(zip(parameters, given, strict=False)), returned.term)
            return returned

        return helper

    def _note(self, name: str, body: Callable[..., Any], given: dict[str, Any], returned: Term) -> None:
        symbols = {n: settled_term(v.term) for n, v in given.items() if isinstance(v, Symbol)}
        kinds = {n: term.type for n, term in symbols.items()}
        if not all(isinstance(kind, ScalarType) for kind in kinds.values()):
            return
        if any(callable(value) for n, value in given.items() if n not in symbols):
            return  # a function may refer to locals that are bound around it
        free = {n: Symbol(local(n, kind)) for n, kind in kinds.items()}  # type: ignore[arg-type]
        try:
            general = body(StateProxy(self.owner, None), *(free.get(n, value) for n, value in given.items()))
        except ModelError:  # the helper examines its arguments
            return
        meaning, found = settled_term(general.term), settled_term(returned)
        if substitute(meaning, symbols) is found and free_locals(meaning) <= symbols.keys():
            fixed = tuple(f"{n}={value!r}" for n, value in given.items() if n not in symbols)
            form = Form(name, tuple(kinds.items()), fixed, meaning, inspect.getdoc(body) or "")  # type: ignore[arg-type]
            self.calls.append(Called(form, tuple(symbols.values()), found))

    def since(self, start: int) -> list[Called]:
        return self.calls[start:]


def _of_protocol(protocol: type[Protocol], spec: Spec) -> Notes:
    notes, noting = Notes(), _Noting(protocol.spec)
    codes = {m.body.__code__ for base in protocol.__mro__ for m in vars(base).values() if isinstance(m, ActionMethod)}
    for name, action in protocol.spec.actions.items():
        method, start = getattr(protocol, name, None), len(noting.calls)
        if isinstance(method, ActionMethod):
            with Recorder(protocol.spec.types, protocol.spec.ghosts) as recorder, _local_names(codes) as named:
                method.body(StateProxy(noting.owner, recorder), *_symbols(action.parameters))
            notes.locals[name] = tuple(named.items())
        notes.by_action[name] = noting.since(start)
    start = len(noting.calls)
    for name in protocol.spec.presences:
        method = getattr(protocol, name, None)
        if isinstance(method, DangerMethod):
            method.body(StateProxy(noting.owner, None))
    notes.calls += noting.since(start)
    for name, of in _part_classes(protocol).items():
        if name in spec.parts:
            _lift(notes, spec, spec.parts[name], _of_protocol(of, spec.parts[name].own))
    return notes


def _lift(notes: Notes, spec: Spec, part: PartSpec, inner: Notes) -> None:
    """Add the notes of a part to those of the whole: its own calls, and those in actions that take one of its."""
    notes.calls += [call.changed(call.form.in_whole(part), part.term) for call in inner.calls]
    for action in spec.actions.values():
        for taken in action.calls:
            if taken.part != part.name or taken.action not in part.own.actions:
                continue
            names = [n for n, _ in part.own.actions[taken.action].parameters]
            given = dict(zip(names, taken.arguments, strict=True))

            def here(root: Term, given: dict[str, Term] = given) -> Term:
                return substitute(part.term(root), given)

            calls = inner.by_action.get(taken.action, ())
            notes.by_action.setdefault(action.name, []).extend(c.changed(c.form.in_whole(part), here) for c in calls)
            named = tuple((n, here(root)) for n, root in inner.locals.get(taken.action, ()))
            notes.locals[action.name] = notes.locals.get(action.name, ()) + named


def _of_properties(stated: type[Properties], spec: Spec) -> list[Called]:
    found = members(stated, Properties, PropertyMethod)
    noting = _Noting(stated.protocol.spec, {n: m for n, m in found.items() if inspect.isfunction(m)})
    for name, method in found.items():
        if type(method) is PropertyMethod:
            try:
                method.traced(noting.owner, name)
            except ModelError:  # it uses a helper of a part's properties
                continue
    calls = list(noting.calls)
    for name, of in _part_classes(stated).items():
        part = spec.parts.get(name)
        if part is not None and isinstance(of, type) and issubclass(of, Properties):
            calls += [c.changed(c.form.in_whole(part), part.term) for c in _of_properties(of, part.own)]
    return [call for call in calls if _of_one_state(call.returned)]


def settled_term(root: Term) -> Term:
    """Return the term with every ``either`` replaced by what its rule states."""
    return rewrite(root, lambda node: node.args[0] if node.op == "choice" else node)


def _of_one_state(root: Term) -> bool:
    return not any(node.op == "state" and node.data[1] for node in subterms(root))


def _part_classes(cls: type) -> dict[str, Any]:
    """Return, for each part, the class that a protocol or its properties declares for it."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            if getattr(annotation, "role", "") == "part":
                found[name] = annotation.of
    return found


def _symbols(parameters: Iterable[tuple[str, Any]]) -> Iterator[Symbol]:
    return (Symbol(local(name, kind)) for name, kind in parameters)


@contextmanager
def _local_names(codes: set[Any]) -> Iterator[dict[str, Term]]:
    """Collect the local names that functions with this code have when they return, with the terms they represent."""
    found: dict[str, Term] = {}

    def returned(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code in codes:
            for name, value in frame.f_locals.items():
                if isinstance(value, Symbol) and not isinstance(value.term.type, MapType | SeqType):
                    found[name] = settled_term(value.term)

    before = sys.getprofile()
    sys.setprofile(returned)
    try:
        yield found
    finally:
        sys.setprofile(before)
