"""Mutations: what a protocol becomes when one rule is left out, shifted by one, or read differently.

``settle(spec)`` is the protocol as the rules say it; ``mutations(spec)`` lists every way to get one rule wrong: each
guard dropped, each marked update dropped, each comparison and sum under a rule shifted by one, each action that is a
mechanism taken out, and each alternative written down with ``either``.  Bounds are never mutated, since a bound is no
rule.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..rules import RULES
from .errors import mistake
from .protocol import Action, Spec
from .recording import Guard, Update
from .terms import TRUE, Term, boolean, constant, rewrite, subterms, term
from .types import NAT, NumberType


@dataclass(frozen=True)
class Mutation:
    """One rule got wrong: ``apply`` gives the settled protocol with this mistake.  ``name`` is unique within the
    protocol."""

    rule: str
    name: str
    apply: Callable[[], Spec]


def _choice(node: Term, rule: str | None, name: str | None) -> Term:
    if node.op != "choice":
        return node
    number, names = node.data
    return node.args[1 + names.index(name)] if number == rule and name in names else node.args[0]


def map_terms(spec: Spec, change: Callable[[Term], Term]) -> Spec:
    """The protocol with ``change`` applied to every node of every guard, limit, update, initial value and condition of
    a danger."""

    def update(u: Update) -> Update:
        return replace(u, value=rewrite(u.value, change), keys=tuple(rewrite(k, change) for k in u.keys))

    def whole(a: Action) -> Action:
        guards = tuple(replace(g, condition=rewrite(g.condition, change)) for g in a.guards)
        kept = tuple(g for g in guards if g.condition is not TRUE)
        limits = tuple(rewrite(t, change) for t in a.limits)
        return replace(a, guards=kept, limits=limits, updates=tuple(map(update, a.updates)))

    return replace(
        spec, initial=tuple(map(update, spec.initial)), actions={n: whole(a) for n, a in spec.actions.items()},
        presences={n: replace(p, term=rewrite(p.term, change)) for n, p in spec.presences.items()},
    )  # fmt: skip


def settle(spec: Spec, rule: str | None = None, name: str | None = None) -> Spec:
    """Every ``either`` decided for what its rule says; those of ``rule`` that offer ``name``, for that alternative."""
    return map_terms(spec, lambda node: _choice(node, rule, name))


def mutations(spec: Spec) -> list[Mutation]:
    """All single mistakes about the rules that a protocol cites, in order of rule number."""
    found = {(m.rule, m.name): m for m in _alternatives(spec)}  # one name in several places is one mistake
    for m in [*_dropped_actions(spec), *_guards(spec), *_updates(spec)]:
        same = sum(rule == m.rule and name.split(" (")[0] == m.name for rule, name in found)
        named = replace(m, name=f"{m.name} ({same + 1})") if same else m
        found[named.rule, named.name] = named
    return sorted(found.values(), key=lambda m: (list(RULES).index(m.rule), m.name))


def mutation(spec: Spec, rule: str, name: str) -> Mutation:
    """The mutation of that name; ModelError naming those there are if there is none."""
    every = mutations(spec)
    for candidate in every:
        if (candidate.rule, candidate.name) == (rule, name):
            return candidate
    near = [f"{m.rule} {m.name}" for m in every if m.rule == rule] or [f"{m.rule} {m.name}" for m in every]
    raise mistake(f"{spec.name} has no mutation {name!r} of rule {rule}", f"there are: {'; '.join(near)}")


def _alternatives(spec: Spec) -> Iterator[Mutation]:
    written = [*spec.initial, *(u for a in spec.actions.values() for u in a.updates)]
    roots = [g.condition for a in spec.actions.values() for g in a.guards]
    for root in [*roots, *(t for u in written for t in (*u.keys, u.value))]:
        for node in subterms(root):
            if node.op == "choice":
                number, names = node.data
                for name in names:
                    yield Mutation(number, name, lambda r=number, n=name: settle(spec, r, n))  # type: ignore[misc]


def _dropped_actions(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        if a.rule is not None:
            rest = {n: b for n, b in spec.actions.items() if n != a.name}
            yield Mutation(a.rule, f"{a.name}: never", lambda rest=rest: settle(replace(spec, actions=rest)))  # type: ignore[misc]


def _changed(spec: Spec, actions: dict[str, Action]) -> Spec:
    return settle(replace(spec, actions=spec.actions | actions))


Change = Callable[[Guard], tuple[Guard, ...]]


def _guards(spec: Spec) -> Iterator[Mutation]:
    """A guard that several actions share through one helper is one guard: it is changed in all of them."""
    shared: dict[tuple[str, tuple[str, int], Term], list[str]] = {}
    for a in spec.actions.values():
        for g in a.guards:
            if g.rule is not None:
                shared.setdefault((g.rule, g.line, g.condition), []).append(a.name)
    lines: dict[tuple[str, tuple[str, int]], list[Term]] = {}
    for rule, line, term_ in shared:
        lines.setdefault((rule, line), []).append(term_)
    for (rule, line), terms in lines.items():
        if len(terms) > 1:
            names = shared[rule, line, terms[0]]
            yield Mutation(
                rule,
                f"{names[0]}: guards dropped together",
                lambda names=names, terms=tuple(terms): _with_guard(spec, names, terms, lambda g: ()),  # type: ignore[misc]
            )
    numbers: dict[tuple[str, str], int] = {}
    for (rule, _line, term_), names in shared.items():
        number = numbers[rule, names[0]] = numbers.get((rule, names[0]), 0) + 1
        changes: dict[str, Change] = {"dropped": lambda g: ()}
        for way, shifted in _shifted(term_).items():
            changes[way] = lambda g, shifted=shifted: (replace(g, condition=shifted),)  # type: ignore[misc]
        for way, change in changes.items():
            yield Mutation(
                rule,
                f"{names[0]}: guard {number} {way}",
                lambda names=names, t=term_, change=change: _with_guard(spec, names, (t,), change),  # type: ignore[misc]
            )


def _with_guard(spec: Spec, names: list[str], conditions: tuple[Term, ...], change: Change) -> Spec:
    def guards(a: Action) -> tuple[Guard, ...]:
        return tuple(h for g in a.guards for h in (change(g) if g.condition in conditions else (g,)))

    return _changed(spec, {n: replace(spec.actions[n], guards=guards(spec.actions[n])) for n in names})


def _updates(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        for i, u in enumerate(a.updates):
            if u.rule is None:
                continue
            values: dict[str, tuple[Update, ...]] = {"not updated": ()}
            if isinstance(u.value.type, NumberType):
                for way, op in (("one more", "add"), ("one less", "monus")):
                    values[way] = (replace(u, value=term(op, (u.value, constant(1, NAT)), None, u.value.type)),)
            for way, instead in values.items():
                changed = replace(a, updates=a.updates[:i] + instead + a.updates[i + 1 :])
                yield Mutation(
                    u.rule,
                    f"{a.name}: {u.variable} {way}",
                    lambda changed=changed: _changed(spec, {changed.name: changed}),  # type: ignore[misc]
                )


def _shifted(condition: Term) -> dict[str, Term]:
    """A comparison off by one, in either direction: looser and stricter."""
    if condition.op == "not":
        inner = _shifted(condition.args[0])
        other = {"looser": "stricter", "stricter": "looser"}
        return {other[way]: boolean("not", t) for way, t in inner.items()}
    if condition.op not in ("lt", "le"):
        return {}
    a, b = condition.args
    if condition.op == "lt":
        return {"looser": boolean("le", a, b), "stricter": boolean("lt", _one_more(a), b)}
    return {"looser": boolean("le", a, _one_more(b)), "stricter": boolean("lt", a, b)}


def _one_more(number: Term) -> Term:
    return term("add", (number, constant(1, NAT)), None, number.type)
