"""Properties state what must be true of a protocol; they are traced like its actions and stated in classes of their
own.

A *promise* is what users care about, a *lemma* makes the promises inductive, a *witness* is a state that must be
reachable (or the promises would hold vacuously), and *progress* states what happens eventually. Each property is one to
four sentences, then one expression.

``ids: Part[KraftProperties]`` states all properties of a part for the composition, as ``ids.no_id_twice``, and gives
the part's helpers to the composition's own properties.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import new_class
from typing import TYPE_CHECKING, Any, ClassVar

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.checks.lint import check_source
from fencepost.model.language.checks.refusals import written
from fencepost.model.language.checks.rule_references import check_rule
from fencepost.model.language.protocol import Decorator, Protocol
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.composing import PartSpec, steps_taken
from fencepost.model.language.tracing.deferring import traced
from fencepost.model.language.tracing.members import check_names, members
from fencepost.model.language.tracing.methods import check_headline, check_locals, condition, sorted_parameters
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.sources import attribute_line, line_of
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import Term, local
from fencepost.model.language.tree.types import Place, ScalarType

KINDS = {
    "promise": "always", "lemma": "always", "consequence": "always", "step": "step", "refinement": "step",
    "witness": "sometimes", "progress": "eventually",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A `Source` names the part of which a property is stated: the part's name, its protocol, and all properties of
    that protocol, so that a proof can be made or found."""

    part: str
    spec: Spec = field(repr=False)
    properties: "Mapping[str, Property]" = field(repr=False)


@dataclass(frozen=True)
class Property:
    """A `Property` has a ``role``: promise, lemma, consequence, step, refinement, witness or progress. A consequence
    holds in every state in which the promises and lemmas do, and no proof assumes it. The term of a step reads primed
    variables, the terms of a refinement are about every step and the initial state, and progress has two terms (from,
    to) and parameters. ``of`` names the property that a witness makes non-vacuous. ``serves`` marks a progress property
    that requires work to get done, and ``ceasing`` names actions that stop eventually. ``no_mutant`` states why no
    mutation of a rule can break the property, where it is true by construction. ``broken`` states what is so where the
    property fails, with its quantified variables in braces. ``source`` is the part of which it is stated, if any."""

    name: str
    role: str
    rule: str | None
    terms: tuple[Term, ...]
    parameters: tuple[tuple[str, ScalarType], ...]
    of: str | None
    doc: str
    serves: bool = field(default=False, kw_only=True)
    ceasing: tuple[str, ...] = field(default=(), kw_only=True)
    no_mutant: str | None = field(default=None, kw_only=True)
    broken: str = field(default="", kw_only=True, compare=False, repr=False)
    source: Source | None = field(default=None, kw_only=True, compare=False, repr=False)

    @property
    def kind(self) -> str:
        return KINDS[self.role]

    @property
    def term(self) -> Term:
        return self.terms[0]

    def by_stated_steps(self, action: str) -> Term | None:
        """Return a condition that implies ``term`` of a step of the action, and proves more easily, or None."""
        return None

    @property
    def initially(self) -> Term | None:
        """Return the condition that a property of steps states of the initial state, or None."""
        return self.terms[1] if self.role == "refinement" else None

    def of_whole(self, whole: Spec, source: Source) -> "Property":
        """Return the property of a part for the composition and its actions that take the part's actions."""
        part = whole.parts[source.part]
        return replace(
            self,
            name=part.path(self.name),
            terms=tuple(map(part.term, self.terms)),
            parameters=part.parameters(self.parameters),
            of=None if self.of is None else part.path(self.of),
            ceasing=tuple(taking for name in self.ceasing for taking in steps_taken(whole, part.name, name)),
            source=source,
        )

    @property
    def name_in_part(self) -> str:
        """Return the name under which the part states the property."""
        return self.name.partition(".")[2]


@dataclass(frozen=True)
class PropertyMethod:
    body: Callable[..., Any]
    role: str
    rule: str | None = None
    of: str | None = None
    serves: bool = field(default=False, kw_only=True)
    ceasing: tuple[str, ...] = field(default=(), kw_only=True)
    no_mutant: str | None = field(default=None, kw_only=True)
    broken: str = field(default="", kw_only=True)

    def __call__(self, *arguments: Any) -> Any:
        return self.body(*arguments)

    def traced(self, owner: Spec, name: str) -> Property:
        """Return the traced property. ``owner`` has the helpers of the properties too."""
        return _property(owner, name, self)


@written('(rule="…")')
def promise(*, rule: str, no_mutant: str | None = None, broken: str = "") -> Decorator:
    """Declare a property that holds in every reachable state and that users rely on. ``no_mutant`` states why no
    mutation of a rule can break it, for a promise that is true by construction. Without it a promise that no mutation
    is known to break is *vacuous*; with it, a mutation that breaks the promise is an error. ``broken`` is the headline
    of a counterexample, as in ``broken="{t} is committed in {p} unasked"``: braces have variables of its
    quantifiers. Without it the headline is derived from the formula."""
    return lambda body: PropertyMethod(body, "promise", rule, no_mutant=no_mutant, broken=broken)


@written("")
def lemma(body: Callable[..., Any]) -> PropertyMethod:
    """Declare a property that holds in every reachable state and helps to prove the promises."""
    return PropertyMethod(body, "lemma")


@written('(rule="…")')
def step(*, rule: str, no_mutant: str | None = None, broken: str = "") -> Decorator:
    """Declare a property of every step, from the state before to the state after. `promise` explains ``no_mutant`` and
    ``broken``."""
    return lambda body: PropertyMethod(body, "step", rule, no_mutant=no_mutant, broken=broken)


@written('(of="…")')
def witness(*, of: str) -> Decorator:
    """Declare a condition that holds in some reachable state, in which the property ``of`` is not vacuous."""
    return lambda body: PropertyMethod(body, "witness", None, of)


@written('(rule="…")')
def progress(*, rule: str, no_mutant: str | None = None, broken: str = "") -> Decorator:
    """Declare a method that returns leads_to(from, to): whenever the first condition holds, the second holds then or
    later, under fairness. `promise` explains ``no_mutant`` and ``broken``, in which braces have parameters."""
    return lambda body: PropertyMethod(body, "progress", rule, no_mutant=no_mutant, broken=broken)


@written('(rule="…")')
def service(
    *, rule: str, ceasing: tuple[str, ...] = (), no_mutant: str | None = None, broken: str = ""
) -> Decorator:  # fmt: skip
    """Declare progress that requires work to get done: what is requested happens. Without such a property a rule that
    stops all work would count as redundant, since where nothing happens no promise fails.

    ``ceasing`` names actions that stop eventually, as faults do: they are not owed, and no endless behaviour goes on
    taking them. A transaction that always ends by time-out is resolved but serves no client, and whatever waits until
    late copies have stopped coming is served. ``no_mutant`` and ``broken`` are as in `progress`.
    """
    return lambda body: PropertyMethod(
        body, "progress", rule, serves=True, ceasing=ceasing, no_mutant=no_mutant, broken=broken
    )


def leads_to(first: Any, then: Any) -> tuple[Any, Any]:
    """Return what a method of progress or service states: where the first condition holds, the second does then or
    later."""
    return first, then


class Properties:
    """`Properties` is the base of a protocol's properties, as in ``class KraftProperties(Properties, of=Kraft)``.
    ``properties`` is the traced result. ``KraftProperties.asked_of(Threads)`` returns the same properties stated of a
    variant of that protocol."""

    protocol: ClassVar[type[Protocol]]
    properties: ClassVar[dict[str, Property]]

    if TYPE_CHECKING:  # s and old and new in the methods: the protocol's variables and helpers

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, of: type[Protocol] | None = None) -> None:
        if of is not None:
            cls.protocol = of
            traced(cls, "properties", lambda: trace_properties(cls, of.spec))

    @classmethod
    def asked_of(cls, protocol: type[Protocol], *more: "type[Properties]") -> "type[Properties]":
        """Return these properties, and ``more``, stated of the given protocol."""
        return _asked_of(protocol, cls, *more)  # type: ignore[arg-type]  # mypy takes no class for hashable


@cache
def _asked_of(protocol: type[Protocol], *claims: type[Properties]) -> type[Properties]:
    """Return one class for all callers, so that the properties are traced once."""
    name, module = f"{protocol.__name__}{claims[0].__name__}", claims[0].__module__
    return new_class(name, claims, {"of": protocol}, lambda members: members.update(__module__=module))


def trace_properties(cls: type[Properties], spec: Spec) -> dict[str, Property]:
    """Return the properties of ``cls`` and its bases, traced on the variables of ``spec``."""
    found = members(cls, Properties, PropertyMethod)
    own = {n: m for n, m in found.items() if inspect.isfunction(m)}
    check_names(cls, own, {*spec.types, *spec.constants})
    helpers: dict[str, Callable[..., Any]] = {**spec.helpers, **own}
    for helper in own.values():
        check_source(helper, helpers)
    parts, lifted = _of_parts(cls, spec)
    owner = replace(spec, helpers=helpers, parts=parts)
    traced = {n: m.traced(owner, n) for n, m in found.items() if isinstance(m, PropertyMethod)}
    for item in traced.values():
        if item.of is not None and item.of not in traced and item.of not in lifted:
            raise mistake(
                f"witness {item.name} is of {item.of!r}, which is no property here",
                f"there are {', '.join((*traced, *lifted))}",
                line_of(found[item.name].body),
            )
    witnessed = {item.of for item in traced.values()}
    for item in traced.values():
        if item.role in ("promise", "step") and item.name not in witnessed:
            instead = f"add @witness(of={item.name!r}): a reachable state in which it bites"
            raise mistake(f"{cls.__name__}.{item.name} has no witness", instead, line_of(found[item.name].body))
    return lifted | traced


def _of_parts(cls: type[Properties], spec: Spec) -> tuple[dict[str, PartSpec], dict[str, Property]]:
    """Return the protocol's parts with the helpers of their properties, and those properties for the composition."""
    parts, lifted, places = dict(spec.parts), dict[str, Property](), dict[str, Place]()
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            if getattr(annotation, "role", "") != "part":
                continue
            stated, where = annotation.of, attribute_line(base, name)
            if not (isinstance(stated, type) and issubclass(stated, Properties) and hasattr(stated, "properties")):
                what = f"{name} is Part[{getattr(stated, '__name__', stated)}]"
                raise mistake(what, "name the properties of the part's protocol: Part[KraftProperties]", where)
            if name not in parts:
                has = f"its parts are {', '.join(parts)}" if parts else "it has no parts"
                raise mistake(f"{spec.name} has no part {name!r}", has, where)
            inner = parts[name].own
            if stated.protocol.spec is not inner:
                what = f"{name} has properties of {stated.protocol.__name__}, and the part is {inner.name}"
                raise mistake(what, "name properties of the part's own class", where)
            if name in places:
                raise mistake(f"the part {name} is given properties again", "leave one declaration", where)
            places[name] = where
            source = Source(name, inner, stated.properties)
            lifted |= {p.name: p for p in (item.of_whole(spec, source) for item in stated.properties.values())}
            more = {n: m for n, m in members(stated, Properties, PropertyMethod).items() if inspect.isfunction(m)}
            inner_parts, _ = _of_parts(stated, inner)
            known = replace(inner, helpers={**inner.helpers, **more}, parts=inner_parts)
            parts[name] = replace(parts[name], own=known)
    return parts, lifted


def _property(owner: Spec, name: str, method: PropertyMethod) -> Property:
    check_source(method.body, owner.helpers)
    where = line_of(method.body)
    doc = inspect.getdoc(method.body)
    if not doc:
        raise mistake(
            f"property {name} has no sentence", "say in a docstring what it means and where it does not hold", where
        )
    if method.rule is not None:
        check_rule(method.rule, where)
    if method.no_mutant is not None and not method.no_mutant.strip():
        raise mistake(
            f"property {name} has an empty no_mutant", "say why no mutation can break it, or leave it out", where
        )
    states = [StateProxy(owner, None)] + ([StateProxy(owner, None, primed=True)] if method.role == "step" else [])
    parameters = sorted_parameters(method.body, name, len(states))
    if parameters and method.role != "progress":
        raise mistake(f"property {name} takes parameters", "quantify inside: forall(Broker, lambda b: ...)", where)
    result = method.body(*states, *(Symbol(local(n, kind)) for n, kind in parameters))
    if method.role == "progress":
        if not isinstance(result, tuple) or len(result) != len(("from", "to")):
            raise mistake(f"progress property {name} returns no pair of conditions", "return leads_to(from, to)", where)
        terms = tuple(condition(part, f"property {name}", where) for part in result)
    else:
        terms = (condition(result, f"property {name}", where),)
    check_locals({n for n, _ in parameters}, *terms, where=where)
    unknown = [name for name in method.ceasing if name not in owner.actions]
    if unknown:
        there = ", ".join(owner.actions) or "no actions"
        raise mistake(f"{owner.name} has no action {unknown[0]!r}, which {name} leaves out", f"it has {there}", where)
    check_headline(name, method.broken, parameters, terms[0], where)
    return Property(
        name, method.role, method.rule, terms, parameters, method.of, doc,
        serves=method.serves, ceasing=method.ceasing, no_mutant=method.no_mutant, broken=method.broken,
    )  # fmt: skip
