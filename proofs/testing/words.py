"""This module writes false conditions with the values that made them false."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fencepost.model.language.tree.terms import Term, subterms
from fencepost.proofs.readings.words import say, say_value
from fencepost.proofs.results import State

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


def with_values(node: Term, plain: "Driven", state: State, row: Mapping[str, Any]) -> str:
    """Return a false condition as text, with the values of its columns and of its sides."""
    bare = node.args[0] if node.op == "not" else node
    used = sorted({n.data for n in subterms(bare) if n.op == "local" and n.data in row})
    parts = [f"{name} {'none' if row[name] is None else row[name]}" for name in used]
    if bare.op in _COMPARISONS and not any(n.op in ("forall", "exists") for n in subterms(bare)):
        values = {name: row[name] for name in used}
        sides = [say_value(plain.value(side, state, **values), side.type) for side in bare.args]
        parts.append(f"{sides[0]} and {sides[1]}")
    return f"{say(node)}  ({'; '.join(parts)})" if parts else say(node)
