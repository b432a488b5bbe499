"""Independence: steps that could as well be swapped, under which paths are one path."""

from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.model.language.protocol import Action
from fencepost.model.language.tree.terms import Term

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
