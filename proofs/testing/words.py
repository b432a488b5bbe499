"""This module writes false conditions with the values that made them false."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fencepost.model.language.tree.terms import Term, subterms
from fencepost.proofs.readings.words import say, say_value
from fencepost.proofs.results import State
from fencepost.properties.nearest import error_name, error_text

if TYPE_CHECKING:
    from fencepost.proofs.testing.readings import Driven

_COMPARISONS = frozenset({"eq", "lt", "le"})


def false_parts(node: Term, plain: "Driven", state: State, row: Mapping[str, Any]) -> Iterator[Term]:
    """Yield the false parts of a false condition: the false conjuncts, or the branch of a choice that counts."""

    def value(part: Term) -> Any:
        names = sorted({n.data for n in subterms(part) if n.op == "local" and n.data in row})
        return plain.value(part, state, **{n: row[n] for n in names})

    match node.op:
        case "and":
            for part in node.args:
                if not value(part):
                    yield from false_parts(part, plain, state, row)
        case "ite":
            yield from false_parts(node.args[1 if value(node.args[0]) else 2], plain, state, row)
        case _:
            yield node


def with_values(node: Term, plain: "Driven", state: State, row: Mapping[str, Any], errors: Collection[str] = ()) -> str:
    """Return a false condition as text, with the values of its columns and of its sides. Columns in ``errors`` have
    error codes of Kafka."""
    bare = node.args[0] if node.op == "not" else node
    used = sorted({n.data for n in subterms(bare) if n.op == "local" and n.data in row})
    parts = [_named(name, row[name], errors) for name in used]
    if bare.op in _COMPARISONS and not any(n.op in ("forall", "exists") for n in subterms(bare)):
        values = {name: row[name] for name in used}
        sides = [say_value(plain.value(side, state, **values), side.type) for side in bare.args]
        parts.append(f"{sides[0]} and {sides[1]}")
    says = say(node)
    for name in sorted(errors):
        says = re.sub(rf"\b({name}) (!?=) (-?\d+)\b", lambda m: f"{m[1]} {m[2]} {error_name(int(m[3]))}", says)
    return f"{says}  ({'; '.join(parts)})" if parts else says


def _named(name: str, value: Any, errors: Collection[str]) -> str:
    if name in errors and isinstance(value, int):
        return error_text(value)
    return f"{name} {'none' if value is None else value}"
