"""Symmetries, under which paths are one path: elements that no term distinguishes, and steps that could as well be
swapped."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, subterms, variables
from fencepost.model.language.tree.types import AtomsType, EnumType, MapType, OptionType, ScalarType, SeqType


def interchangeable(spec: Spec, properties: Iterable[Term]) -> list[AtomsType]:
    """Sorts of which no term names an element and no variable starts at one, and that no read outside a bound can
    yield."""
    if any(variables(term) for update in spec.initial for term in (update.value, *update.keys)):
        return []  # what init() reads is zero, and zero is an element
    named = {
        node.type for root in _terms(spec, properties) for node in subterms(root) if node.op in ("const", "constant")
    }
    zeros = {kind for name in spec.types for kind in _zeros(spec, name)}
    return [sort for sort in _sorts(spec) if sort not in named and sort not in zeros]


def _terms(spec: Spec, properties: Iterable[Term]) -> Iterable[Term]:
    yield from properties
    updates = list(spec.initial)
    for action in spec.actions.values():
        yield from (guard.condition for guard in action.guards)
        yield from action.limits
        updates += action.updates
    for update in updates:
        yield update.value
        yield from update.keys


def _zeros(spec: Spec, name: str) -> list[ScalarType]:
    """The sort whose first element this variable can hold without having been given it."""
    kind = spec.types[name]
    if isinstance(kind, SeqType):
        return [kind.entry]
    if not isinstance(kind, MapType):
        return [kind] if all(u.variable != name for u in spec.initial) else []
    # Every key of these types is within its bound, so init() alone decides what is read.
    covered = any(u.variable == name and u.bound for u in spec.initial)
    bounded_keys = all(isinstance(_inner(key), AtomsType | EnumType) for key in kind.keys)
    return [] if covered and bounded_keys else [kind.value]


def _sorts(spec: Spec) -> list[AtomsType]:
    kinds: list[ScalarType] = [kind for action in spec.actions.values() for _, kind in action.parameters]
    return list(dict.fromkeys(kind for kind in kinds if isinstance(kind, AtomsType)))


def _inner(kind: ScalarType) -> ScalarType:
    return _inner(kind.of) if isinstance(kind, OptionType) else kind


Touched = frozenset[tuple[str, tuple[Any, ...] | None]]
"""Entries by variable and plain keys; without keys, the whole variable."""


def independent(one: tuple[Touched, Touched], other: tuple[Touched, Touched]) -> bool:
    """Do two steps, each given as what it reads and what it writes, lead to the same state in either order?"""
    return not any(
        _meet(writes, touched) for (reads, writes), (r, w) in ((one, other), (other, one)) for touched in (r, w)
    )


def _meet(a: Touched, b: Touched) -> bool:
    return any(
        name == other and (keys is None or others is None or keys == others) for name, keys in a for other, others in b
    )


def touches(action: Action, parameters: Mapping[str, Any]) -> tuple[Touched, Touched]:
    """The variables and places that an action with these plain parameters may read and write; some may be listed that
    it never touches."""
    conditions = [guard.condition for guard in action.guards] + list(action.limits)
    inside = [term for update in action.updates for term in (update.value, *update.keys)]
    reads = {entry for term in (*conditions, *inside) for entry in _reads(term, parameters)}
    writes = {
        (u.variable, None if u.bound or u.appends else tuple(_known(k, parameters) for k in u.keys))
        for u in action.updates
    }
    return frozenset(reads), frozenset((name, None if keys and None in keys else keys) for name, keys in writes)


def _reads(term: Term, parameters: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, ...] | None]]:
    if term.op == "select":
        keys = tuple(_known(key, parameters) for key in term.args[1:])
        yield term.args[0].data[0], None if None in keys else keys
        for key in term.args[1:]:
            yield from _reads(key, parameters)
    elif term.op == "state":
        yield term.data[0], None
    else:
        for part in term.args:
            yield from _reads(part, parameters)


def _known(key: Term, parameters: Mapping[str, Any]) -> Any:
    """The value of a key that no state decides; None if it is none such, or an empty Option."""
    return parameters.get(key.data) if key.op == "local" else key.data if key.op == "const" else None
