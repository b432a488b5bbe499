"""A mapping reads the terms of one protocol in the states of another, whose expressions stand for its variables.

A map of the core is a body with a local for each key; where the core reads the map at some keys, they replace the
locals. The locals that a mapping binds have names that the core's terms do not use, so that no variable is captured.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fencepost.model.language.checks.errors import ModelError, mistake, moved
from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tracing.methods import check_locals
from fencepost.model.language.tracing.symbols import Symbol, coerce
from fencepost.model.language.tracing.vocabulary import Each, abstract
from fencepost.model.language.tree.terms import (
    Term,
    boolean,
    both,
    conditional,
    constant,
    local,
    rewrite,
    state,
    substitute,
    term,
    with_args,
    zero,
)
from fencepost.model.language.tree.types import (
    BOOL,
    NAT,
    MapType,
    NumberType,
    Place,
    ScalarType,
    SeqType,
    Type,
)

Bound = tuple[tuple[str, ScalarType], ...]


@dataclass(frozen=True)
class Mapped:
    """A `Mapped` is a variable of the core in the larger protocol's state: a value, with a local in ``bound`` for each
    key of a map. For a sequence it is the variable that stands for it."""

    bound: Bound
    value: Term

    def at(self, keys: tuple[Term, ...]) -> Term:
        return substitute(self.value, {name: key for (name, _), key in zip(self.bound, keys, strict=True)})


def mapped_variable(name: str, kind: Type, given: Any, where: Place, known: frozenset[str] = frozenset()) -> Mapped:
    """Return the mapping's value of one variable, checked against its type. ``known`` has the locals of the view."""
    role = f"the value of {name}"
    if isinstance(kind, SeqType):
        if not isinstance(given, Symbol) or given.term.type != kind:
            raise mistake(f"{role} is {given!r} where {kind} is meant", "name a sequence of the same type", where)
        return Mapped((), given.term)
    try:
        if not isinstance(kind, MapType):
            if isinstance(given, Each):
                raise mistake(f"{name} is {kind}, not a map", "give it a single value", where)
            bound: Bound = ()
            value = coerce(given, kind, role)
        elif isinstance(given, Each):
            bound, body = abstract(given.body, list(kind.keys))
            value = coerce(body, kind.value, f"an entry of {name}")
        elif isinstance(given, Symbol) and isinstance(given.term.type, MapType):
            bound, body = abstract_entry(given, kind)
            value = coerce(body, kind.value, f"an entry of {name}")
        else:
            raise mistake(f"{role} is {given!r} where {kind} is meant", "write each(lambda key: ...)", where)
    except ModelError as error:
        raise moved(error, where) from None
    check_locals({n for n, _ in bound} | known, value, where=where)
    return apart(Mapped(bound, value))


def abstract_entry(given: Symbol, kind: MapType) -> tuple[Bound, Symbol]:
    """Return an entry of a map of the larger protocol at keys of the core's sorts."""
    bound = tuple((f"key{i}.1", k) for i, k in enumerate(kind.keys, 1))
    return bound, given[tuple(Symbol(local(name, k)) for name, k in bound)]


def apart(mapped: Mapped) -> Mapped:
    """Return the mapping with its locals renamed to names that no term of a protocol has. Locals of protocols are named
    by depth, as in ``b.2``."""

    def name_apart(name: str) -> str:
        return name.replace(".", ".m")

    def change(node: Term) -> Term:
        if node.op == "local":
            return local(name_apart(node.data), node.type)  # type: ignore[arg-type]
        if node.op in ("forall", "exists"):
            return term(node.op, node.args, tuple((name_apart(n), kind) for n, kind in node.data), node.type)
        if node.op == "latest":
            return term(node.op, node.args, (name_apart(node.data[0]), node.data[1]), node.type)
        return node

    return Mapped(tuple((name_apart(n), kind) for n, kind in mapped.bound), rewrite(mapped.value, change))


Read = dict[str, Mapped]


def map_state(mapping: dict[str, Mapped], *, primed: bool) -> Read:
    """Return the core's variables in the state before a step, or (primed) after it."""
    if not primed:
        return mapping

    def later(node: Term) -> Term:
        return state(node.data[0], node.type, primed=True) if node.op == "state" else node

    return {name: Mapped(m.bound, rewrite(m.value, later)) for name, m in mapping.items()}


def in_core(root: Term, read: Read) -> Term:
    """Return a term of the core with its variables read in a state of the larger protocol. An action's parameter ``b``
    becomes the local ``b.0``."""
    done: dict[Term, Term] = {}

    def visit(node: Term) -> Term:
        if node not in done:
            done[node] = changed(node)
        return done[node]

    def changed(node: Term) -> Term:
        if node.op == "local":
            return node if "." in node.data else local(parameter(node.data), node.type)  # type: ignore[arg-type]
        if node.op == "state":
            return read[node.data[0]].value
        if node.op == "select":
            return read[node.args[0].data[0]].at(tuple(map(visit, node.args[1:])))
        return with_args(node, tuple(map(visit, node.args)))

    return visit(root)


def parameter(name: str) -> str:
    return f"{name}.0"


def steps_of_action(
    core: Spec, action: Action, now: Read, later: Read
) -> tuple[Bound, tuple[Term, ...], dict[str, Term]]:
    """Return an action of the core between two states of the larger protocol: its parameters as locals, its guards, and
    for each mapped variable the condition that its value afterwards is the one that the action assigns."""
    parameters = tuple((parameter(n), kind) for n, kind in action.parameters)
    guards = tuple(in_core(g.condition, now) for g in action.guards)
    written = {u.variable for u in action.updates}
    effects = {
        v: _becomes(core, v, action, now, later) if v in written else is_unchanged(core, v, now, later) for v in now
    }
    return parameters, guards, effects


def is_unchanged(core: Spec, variable: str, now: Read, later: Read) -> Term:
    """Return the condition that a variable of the core is the same after the step."""
    if isinstance(core.types[variable], SeqType):
        return _same_sequence(core, variable, now, later, None)
    return everywhere(core, variable, lambda keys: boolean("eq", later[variable].at(keys), now[variable].at(keys)))


def everywhere(core: Spec, variable: str, holds: Callable[[tuple[Term, ...]], Term]) -> Term:
    """Return a condition on all entries of a map, or on a single value."""
    kind = core.types[variable]
    if not isinstance(kind, MapType):
        return holds(())
    bound = tuple((f"key{i}.k", k) for i, k in enumerate(kind.keys, 1))
    return term("forall", (holds(tuple(local(n, k) for n, k in bound)),), bound, BOOL)


def _becomes(core: Spec, variable: str, action: Action, now: Read, later: Read) -> Term:
    updates = [u for u in action.updates if u.variable == variable]
    if isinstance(core.types[variable], SeqType):
        return _same_sequence(core, variable, now, later, in_core(updates[0].value, now))

    def holds(keys: tuple[Term, ...]) -> Term:
        return boolean("eq", later[variable].at(keys), assigned(updates, keys, now[variable].at(keys), now))

    return everywhere(core, variable, holds)


def assigned(updates: Any, keys: tuple[Term, ...], before: Term, now: Read) -> Term:
    """Return the entry at these keys after some updates of one variable. Where keys coincide the later update wins."""
    result = before
    for u in updates:
        value = in_core(u.value, now)
        if u.keys:
            hits = both(*(boolean("eq", key, in_core(k, now)) for key, k in zip(keys, u.keys, strict=True)))
            result = conditional(hits, value, result)
        elif u.bound:
            result = substitute(value, {n: key for (n, _), key in zip(u.bound, keys, strict=True)})
        else:
            result = value
    return result


def _same_sequence(core: Spec, variable: str, now: Read, later: Read, appended: Term | None) -> Term:
    kind = core.types[variable]
    assert isinstance(kind, SeqType)
    old, new = now[variable].value, later[variable].value
    position = local("position.k", NumberType("position", kind.bound))

    def entry(of: Term) -> Term:
        return term("at", (of, position), None, kind.entry)

    length, expected = term("length", (old,), None, NAT), entry(old)
    if appended is not None:
        length = term("add", (length, constant(1, NAT)), None, NAT)
        expected = conditional(boolean("eq", position, length), appended, expected)
    entries = term("forall", (boolean("eq", entry(new), expected),), ((position.data, position.type),), BOOL)
    return both(boolean("eq", term("length", (new,), None, NAT), length), entries)


def initially(core: Spec, variable: str, now: Read) -> Term:
    """Return the condition that a variable of the core has its initial value; what the core's init() reads is zero."""
    kind = core.types[variable]
    updates = [replace(u, value=_of_zero(u.value), keys=tuple(map(_of_zero, u.keys)))
               for u in core.initial if u.variable == variable]  # fmt: skip
    if isinstance(kind, SeqType):
        read = now[variable].value
        length = boolean("eq", term("length", (read,), None, NAT), constant(len(updates), NAT))
        entries = (term("at", (read, constant(i, NAT)), None, kind.entry) for i in range(1, len(updates) + 1))
        return both(length, *(boolean("eq", e, u.value) for e, u in zip(entries, updates, strict=True)))
    value = kind.value if isinstance(kind, MapType) else kind

    def holds(keys: tuple[Term, ...]) -> Term:
        return boolean("eq", now[variable].at(keys), assigned(updates, keys, zero(value), {}))

    return everywhere(core, variable, holds)


def _of_zero(root: Term) -> Term:
    def change(node: Term) -> Term:
        if node.op in ("select", "at") or (node.op == "state" and not isinstance(node.type, MapType | SeqType)):
            return zero(node.type)  # type: ignore[arg-type]
        return constant(0, NAT) if node.op in ("length", "latest") else node

    return rewrite(root, change)
