"""This module finds interchangeable sorts: their elements differ by name alone, so that states that differ only in the
names of elements are equivalent.

A protocol can compare elements of a sort only for equality and cannot count with them. Elements are distinguished only
where a constant or a variable's first value names one.
"""

from collections.abc import Iterable

from fencepost.model.language.specs import Spec
from fencepost.model.language.tree.terms import Term, subterms, variables
from fencepost.model.language.tree.types import AtomsType, EnumType, MapType, OptionType, ScalarType, SeqType


def interchangeable(spec: Spec, properties: Iterable[Term]) -> list[AtomsType]:
    """Return the sorts of which no term names an element, at whose elements no variable starts, and which no read
    outside a bound can yield."""
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
    """Return the sorts whose first element this variable can hold without an assignment."""
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
