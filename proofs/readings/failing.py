"""This module finds the instance in which a property is false: the members of sorts for which its quantifiers fail,
what is false of them, and the values that make it so."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import Term, free_locals, subterms
from fencepost.model.language.tree.types import AtomsType, MapType, ScalarType, SeqType
from fencepost.proofs.readings.plain import Plain, PlainError
from fencepost.proofs.readings.words import name_in_words, say, say_value, sort_in_words
from fencepost.proofs.results import State, Trace

_QUANTIFIERS = ("forall", "exists")


@dataclass(frozen=True)
class Failing:
    """A `Failing` is one instance. ``members`` names the members of sorts that it is about, as ``transaction 1``,
    ``says`` has the part of the formula that fails, and ``values`` what its variables are there, a line each."""

    members: tuple[str, ...]
    says: str
    values: tuple[str, ...]

    @property
    def headline(self) -> str:
        """Return ``, for transaction 1 and partition 0``, or nothing where the property names no member."""
        *others, last = self.members or ("",)
        return f", for {', '.join(others)} and {last}" if others else f", for {last}" if last else ""

    def __str__(self) -> str:
        of = f" for {', '.join(self.members)}" if self.members else ""
        return f"What fails{of}: {self.says}. There {', '.join(self.values) or 'it reads no variable'}."


def failing(plain: Plain, asked: Property, trace: Trace, steps: int) -> Failing | None:
    """Return the instance that breaks a property after so many steps, or None for one that is not judged by states or
    steps."""
    state, after = trace.states[steps], None
    term = asked.term
    if asked.kind == "step":
        if steps == 0:
            term = asked.initially or term
        else:
            state, after = trace.states[steps - 1], state
    elif asked.kind != "always":
        return None
    try:
        return _Search(plain, state, after).of(term)
    except PlainError:  # a quantifier has no bound there
        return None


@dataclass(frozen=True)
class _Search:
    plain: Plain
    state: State
    after: State | None

    def of(self, term: Term) -> Failing:
        chosen: dict[str, tuple[ScalarType, object]] = {}
        node, holds = self._inside(term, False, chosen)
        named = {name: value for name, (_, value) in chosen.items()}
        of_sorts = [(kind, value) for kind, value in chosen.values() if isinstance(kind, AtomsType)]
        members = tuple(f"{sort_in_words(kind)} {value}" for kind, value in of_sorts)
        others = tuple(
            f"{_plainly(name)} is {say_value(value, kind)}"
            for name, (kind, value) in chosen.items() if not isinstance(kind, AtomsType)
        )  # fmt: skip
        return Failing(members, f"not ({say(node)})" if holds else say(node), (*others, *self._values(node, named)))

    def _value(self, node: Term, chosen: dict[str, tuple[ScalarType, object]]) -> object:
        free = free_locals(node)
        return self.plain.evaluate(
            node, self.state, self.after, **{name: value for name, (_, value) in chosen.items() if name in free}
        )

    def _inside(self, node: Term, holds: bool, chosen: dict[str, tuple[ScalarType, object]]) -> tuple[Term, bool]:
        """Return the innermost part that decides that a term holds, or does not, and whether that part holds. The
        members that the quantifiers on the way are about are added to ``chosen``."""
        if node.op == "not":
            return self._inside(node.args[0], not holds, chosen)
        if node.op == ("or" if holds else "and"):
            part = next(part for part in node.args if bool(self._value(part, chosen)) is holds)
            return self._inside(part, holds, chosen)
        if node.op == ("exists" if holds else "forall"):
            [body], names = node.args, node.data
            for values in itertools.product(*(self.plain.domain(kind) for _, kind in names)):
                here = {name: (kind, value) for (name, kind), value in zip(names, values, strict=True)}
                if bool(self._value(body, chosen | here)) is holds:
                    chosen |= here
                    return self._inside(body, holds, chosen)
        return node, holds

    def _values(self, node: Term, named: dict[str, object]) -> Iterator[str]:
        """Yield the values of the variables of a term that no quantifier in it is about."""
        for part in subterms(node):
            reads = part.op == "select" or (part.op == "state" and not isinstance(part.type, MapType | SeqType))
            free = free_locals(part)
            if reads and free <= named.keys():
                value = self.plain.evaluate(part, self.state, self.after, **{name: named[name] for name in free})
                keys = ", ".join(
                    str(self.plain.evaluate(key, self.state, self.after, **{n: named[n] for n in free_locals(key)}))
                    for key in part.args[1:]
                )
                text = f"{say(part.args[0])}[{keys}]" if keys else say(part)
                yield f"{text} is {say_value(value, part.type)}"


def _plainly(name: str) -> str:
    return name_in_words(name.partition(".")[0])
