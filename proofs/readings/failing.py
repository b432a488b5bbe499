"""This module finds the instance in which a property is false: the members of sorts for which its quantifiers fail,
what is wrong with them in a sentence, which part of the formula is false of them, and the values that make it so."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.model.language.properties import Property
from fencepost.model.language.tree.terms import Term, free_locals, subterms
from fencepost.model.language.tree.types import INT, NAT, AtomsType, MapType, NumberType, ScalarType, SeqType
from fencepost.proofs.readings.plain import Plain, PlainError
from fencepost.proofs.readings.words import name_in_words, parameters_in_words, say, say_value, sort_in_words
from fencepost.proofs.results import State, Trace

_COMPARED = {
    "eq": ("", "", "not ", "not "),
    "lt": ("below ", "above ", "at least ", "at most "),
    "le": ("at most ", "at least ", "above ", "below "),
}
"""These words compare where it holds, where it holds and the sides are swapped, and likewise where it does not."""


@dataclass(frozen=True)
class Failing:
    """A `Failing` is one instance. ``sentence`` says what is wrong in words, ``members`` names the members of sorts
    that it is about, as ``transaction 1``, ``says`` has the part of the formula that fails, and ``values`` what its
    variables are there, a line each."""

    sentence: str
    members: tuple[str, ...]
    says: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        of = f" for {', '.join(self.members)}" if self.members else ""
        return f"What fails{of}: {self.says}. There {', '.join(self.values) or 'it reads no variable'}."


def failing(plain: Plain, asked: Property, trace: Trace, steps: int) -> Failing | None:
    """Return the instance that breaks a property after so many steps, or None for one that is not judged by states,
    steps or a run that never ends."""
    state, after = trace.states[steps], None
    term = asked.term
    if asked.kind == "step":
        if steps == 0:
            term = asked.initially or term
        else:
            state, after = trace.states[steps - 1], state
    elif asked.kind not in ("always", "eventually"):
        return None
    try:
        if asked.kind == "eventually":
            return _awaited(plain, asked, trace)
        found = _Search(plain, state, after).of(asked, term)
    except PlainError:  # a quantifier has no bound there
        return None
    if found.members or not steps:
        return found
    event = trace.events[steps - 1]
    by = f"{event.action}({parameters_in_words(plain.spec.actions[event.action], event)})"
    return replace(found, sentence=f"{found.sentence}, by step {steps}, {by}")


Chosen = dict[str, tuple[ScalarType, object]]
"""A `Chosen` has the sort and the value of each variable of a quantifier, and of each parameter."""


def _awaited(plain: Plain, asked: Property, trace: Trace) -> Failing | None:
    """Return the instance in which the second condition never holds after the first has."""
    first, then = asked.terms
    for values in itertools.product(*(plain.domain(kind) for _, kind in asked.parameters)):
        named = {name: value for (name, _), value in zip(asked.parameters, values, strict=True)}
        held = [place for place, state in enumerate(trace.states) if plain.evaluate(then, state, None, **named)]
        since = held[-1] + 1 if held else 0
        begun = next(
            (n for n in range(since, len(trace.states)) if plain.evaluate(first, trace.states[n], None, **named)), None
        )
        if begun is not None:
            chosen: Chosen = {name: (kind, named[name]) for name, kind in asked.parameters}
            search = _Search(plain, trace.states[-1], None)
            says = f"after step {begun}, {say(first)}, and never {say(then)}"
            of = _members(chosen)
            derived = f"{'for ' * bool(of)}{_counted(of)}{', ' * bool(of)}it never comes that {say(then)}"
            return Failing(
                _stated(asked, chosen) or derived, of, says, (*_others(chosen), *search.values(then, chosen))
            )
    return None


def _stated(asked: Property, chosen: Chosen) -> str:
    """Return the property's own sentence about an instance, or nothing where it has none."""
    return asked.broken.format_map(
        {name.partition(".")[0]: _called(value, kind) for name, (kind, value) in chosen.items()}
    )


def _called(value: object, kind: ScalarType) -> str:
    """Return ``transaction 1`` or ``epoch 2`` for a value of a named type."""
    named = isinstance(kind, AtomsType) or (isinstance(kind, NumberType) and kind not in (NAT, INT))
    return f"{sort_in_words(kind)} {value}" if named else say_value(value, kind)


def _members(chosen: Chosen) -> tuple[str, ...]:
    return tuple(_called(value, kind) for kind, value in chosen.values() if isinstance(kind, AtomsType))


def _others(chosen: Chosen) -> tuple[str, ...]:
    return tuple(
        f"{name_in_words(name.partition('.')[0])} is {say_value(value, kind)}"
        for name, (kind, value) in chosen.items() if not isinstance(kind, AtomsType)
    )  # fmt: skip


def _counted(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


@dataclass(frozen=True)
class _Search:
    plain: Plain
    state: State
    after: State | None

    def of(self, asked: Property, term: Term) -> Failing:
        chosen: Chosen = {}
        node, holds = self._inside(term, False, chosen)
        facts = ", and ".join(dict.fromkeys(self._facts(node, holds, chosen)))
        sentence = _stated(asked, chosen) or facts
        says = f"not ({say(node)})" if holds else say(node)
        return Failing(sentence, _members(chosen), says, (*_others(chosen), *self.values(node, chosen)))

    def _value(self, node: Term, chosen: Chosen) -> object:
        free = free_locals(node)
        return self.plain.evaluate(
            node, self.state, self.after, **{name: value for name, (_, value) in chosen.items() if name in free}
        )

    def _inside(self, node: Term, holds: bool, chosen: Chosen) -> tuple[Term, bool]:
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

    def _facts(self, node: Term, holds: bool, chosen: Chosen) -> Iterator[str]:
        """Yield in words what makes a term hold, or not: ``fate of transaction 1 and partition 0 is COMMITTED``."""
        node, holds = self._inside(node, holds, chosen)
        if node.op == ("and" if holds else "or"):
            for part in node.args:
                yield from self._facts(part, holds, chosen)
        elif node.op in ("forall", "exists"):
            yield f"{'it holds' if holds else 'it does not hold'} that {say(node)}"
        elif node.op in _COMPARED:
            a, b = node.args
            swapped = a.op == "const"
            words = _COMPARED[node.op][swapped if holds else 2 + swapped]
            if not a.op == b.op == "local":
                a, b = (b, a) if swapped else (a, b)
                yield f"{self._place(a, chosen)} is {words}{self._place(b, chosen)}"
        else:
            yield f"{self._place(node, chosen)} is {'yes' if holds else 'no'}"

    def _place(self, node: Term, chosen: Chosen) -> str:
        if node.op == "select" and node.args[0].op == "state":
            keys = [self._key(key, chosen) for key in node.args[1:]]
            return f"{name_in_words(say(node.args[0]))} of {_counted(keys)}"
        return self._key(node, chosen) if node.op == "local" else name_in_words(say(node))

    def _key(self, node: Term, chosen: Chosen) -> str:
        value = self._value(node, chosen)
        return _called(value, node.type) if not isinstance(node.type, MapType | SeqType) else say(node)

    def values(self, node: Term, chosen: Chosen) -> Iterator[str]:
        """Yield the values of the variables of a term that no quantifier in it is about."""
        named = {name: value for name, (_, value) in chosen.items()}
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
