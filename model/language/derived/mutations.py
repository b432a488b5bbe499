"""A mutation is what a protocol becomes when one rule is left out, shifted by one, or read differently.

``settle(spec)`` is the protocol as the rules state it. ``mutations(spec)`` lists every way to get one rule wrong: each
guard dropped, each marked update dropped, each comparison and sum under a rule shifted by one, each action that is a
mechanism taken out, and each alternative written down with ``either``. On request it lists further ones: an effect that
comes later, a memory that is lost, a step taken again (`timing_changes`), and numbers that have to be equal compared by
order. ``mutated(spec, names)`` has several of them at once. Bounds are never mutated, since a bound is no rule.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.derived.timing_mutations import timing_changes
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.composing import composed
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import TRUE, Term, boolean, constant, rewrite, subterms, term
from fencepost.model.language.tree.types import NAT, NumberType
from fencepost.model.rules import RULES


@dataclass(frozen=True)
class Mutation:
    """A `Mutation` is one rule got wrong; ``apply()`` returns the settled protocol with this mistake. ``name`` is
    unique within the protocol, ``change`` makes the mistake in a protocol that is not settled, and ``written`` marks an
    alternative that the protocol itself names with ``either``."""

    rule: str
    name: str
    spec: Spec = field(repr=False)
    change: Callable[[Spec], Spec] = field(repr=False)
    written: bool = False

    def apply(self) -> Spec:
        return settle(self.change(self.spec))


def map_terms(spec: Spec, change: Callable[[Term], Term]) -> Spec:
    """Return the protocol with ``change`` applied to every node of every guard, limit, update, initial value, danger
    condition, and argument of a part's action."""
    return _map_roots(spec, lambda root: rewrite(root, change))


def _map_roots(spec: Spec, changed: Callable[[Term], Term]) -> Spec:
    def update(u: Update) -> Update:
        return replace(u, value=changed(u.value), keys=tuple(map(changed, u.keys)))

    def whole(a: Action) -> Action:
        guards = tuple(replace(g, condition=changed(g.condition)) for g in a.guards)
        left = tuple(g for g in guards if g.condition is not TRUE)
        calls = tuple(replace(c, arguments=tuple(map(changed, c.arguments))) for c in a.calls)
        return replace(
            a, guards=left, limits=tuple(map(changed, a.limits)), updates=tuple(map(update, a.updates)), calls=calls
        )

    return replace(
        spec, initial=tuple(map(update, spec.initial)), actions={n: whole(a) for n, a in spec.actions.items()},
        presences={n: replace(p, term=changed(p.term)) for n, p in spec.presences.items()},
    )  # fmt: skip


def settle(spec: Spec, rule: str | None = None, name: str | None = None) -> Spec:
    """Replace every ``either`` by what its rule states, or by the alternative ``name`` where ``rule`` offers it."""
    return _map_roots(spec if rule is None or name is None else _instead(rule, name)(spec), _settled)


def settled(protocol: Any) -> Spec:
    """Return the settled tree of a protocol, which is the same object at every call."""
    found: Spec = _of_protocol(protocol)
    return found


@functools.cache
def _of_protocol(protocol: Any) -> Spec:
    return settle(protocol.spec)


@functools.cache  # mutants differ from their protocol in a term or two
def _settled(root: Term) -> Term:
    return rewrite(root, lambda node: node.args[0] if node.op == "choice" else node)


def mutations(spec: Spec, further: bool = False) -> list[Mutation]:
    """Return all single mistakes about the rules that a protocol cites, in order of rule number. A mistake about a rule
    of a part is made in the part, and so in every joint action that takes the part's action. With ``further`` the list
    also has mistakes of time (`timing_changes`) and numbers that have to be equal compared by order."""
    if spec.own is None:
        return _mutations(spec, further)
    found = [replace(m, spec=spec, change=_in_own(m.change)) for m in _mutations(spec.own, further)]
    for p in spec.parts.values():
        inner = mutations(p.own, further)
        found += [replace(m, name=p.path(m.name), spec=spec, change=_in_part(p.name, m.change)) for m in inner]
    return sorted(found, key=lambda m: (list(RULES).index(m.rule), m.name))


def _in_own(change: Callable[[Spec], Spec]) -> Callable[[Spec], Spec]:
    def made(spec: Spec) -> Spec:
        assert spec.own is not None
        return composed(change(spec.own), spec.parts)

    return made


def _in_part(name: str, change: Callable[[Spec], Spec]) -> Callable[[Spec], Spec]:
    def made(spec: Spec) -> Spec:
        assert spec.own is not None
        return composed(spec.own, {**spec.parts, name: spec.parts[name].with_own(change)})

    return made


def _mutations(spec: Spec, further: bool) -> list[Mutation]:
    found = {(m.rule, m.name): m for m in _alternatives(spec)}  # one name in several places is one mistake
    late = tuple(Mutation(rule, name, spec, change) for rule, name, change in (timing_changes(spec) if further else ()))
    for m in [*_dropped_actions(spec), *_guards(spec, further), *_updates(spec), *late]:
        same = sum(rule == m.rule and name.split(" (")[0] == m.name for rule, name in found)
        named = replace(m, name=f"{m.name} ({same + 1})") if same else m
        found[named.rule, named.name] = named
    return sorted(found.values(), key=lambda m: (list(RULES).index(m.rule), m.name))


def mutation(spec: Spec, rule: str, name: str) -> Mutation:
    """Return the mutation of that name. Raise ModelError that lists the available ones if there is none."""
    return _chosen(spec, mutations(spec), rule, name)


def _further(spec: Spec, rule: str, name: str) -> Mutation | None:
    return next((m for m in mutations(spec, further=True) if (m.rule, m.name) == (rule, name)), None)


def mutated(spec: Spec, names: Iterable[tuple[str, str]], known: list[Mutation] | None = None) -> Spec:
    """Return the settled protocol with several mistakes, each given by its rule and its name in ``spec``. Raise
    ModelError if there is no such mistake, or if one leaves nothing for another to change. ``known`` has the mutations
    of ``spec``, if they have been listed already."""
    every = mutations(spec) if known is None else known
    chosen = {(m.rule, m.name): m for m in (_chosen(spec, every, rule, name) for rule, name in names)}
    made = spec
    # Guards and updates are found as they stand in the protocol, so what rewrites terms comes last.
    for _, one in sorted(chosen.items(), key=lambda item: (item[1].written, item[0])):
        after = one.change(made)
        if (after.initial, after.actions) == (made.initial, made.actions):
            instead = "leave out either, or the one that takes away what this one changes"
            raise mistake(f"{one.rule} {one.name} changes nothing in {spec.name} beside the other mutations", instead)
        made = after
    return settle(made)


def _chosen(spec: Spec, every: list[Mutation], rule: str, name: str) -> Mutation:
    for candidate in every:
        if (candidate.rule, candidate.name) == (rule, name):
            return candidate
    if (found := _further(spec, rule, name)) is not None:
        return found
    near = [f"{m.rule} {m.name}" for m in every if m.rule == rule] or [f"{m.rule} {m.name}" for m in every]
    raise mistake(f"{spec.name} has no mutation {name!r} of rule {rule}", f"there are: {'; '.join(near)}")


def _alternatives(spec: Spec) -> Iterator[Mutation]:
    written = [*spec.initial, *(u for a in spec.actions.values() for u in a.updates)]
    roots = [g.condition for a in spec.actions.values() for g in a.guards]
    roots += [t for a in spec.actions.values() for c in a.calls for t in c.arguments]
    for root in [*roots, *(t for u in written for t in (*u.keys, u.value))]:
        for node in subterms(root):
            if node.op == "choice":
                number, names = node.data
                for name in names:
                    yield Mutation(number, name, spec, _instead(number, name), written=True)


def _instead(rule: str, name: str) -> Callable[[Spec], Spec]:
    def choose(node: Term) -> Term:
        if node.op != "choice":
            return node
        number, names = node.data
        return node.args[1 + names.index(name)] if number == rule and name in names else node

    return lambda spec: map_terms(spec, choose)


def _dropped_actions(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        if a.rule is not None:
            yield Mutation(a.rule, f"{a.name}: never", spec, _without(a.name))


def _without(action: str) -> Callable[[Spec], Spec]:
    return lambda spec: replace(spec, actions={n: b for n, b in spec.actions.items() if n != action})


def _guards(spec: Spec, further: bool) -> Iterator[Mutation]:
    """Yield the mutations of guards. A guard that several actions share through a helper is changed in all of them."""
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
            yield Mutation(rule, f"{names[0]}: guards dropped together", spec, _guarded(names, tuple(terms), None))
    numbers: dict[tuple[str, str], int] = {}
    for (rule, _line, term_), names in shared.items():
        number = numbers[rule, names[0]] = numbers.get((rule, names[0]), 0) + 1
        changes: dict[str, Term | None] = {"dropped": None, **shifted(term_)}
        changes |= ordered(term_) if further else {}
        for way, instead in changes.items():
            yield Mutation(rule, f"{names[0]}: guard {number} {way}", spec, _guarded(names, (term_,), instead))


def _guarded(names: list[str], conditions: tuple[Term, ...], instead: Term | None) -> Callable[[Spec], Spec]:
    def guards(a: Action) -> Iterator[Guard]:
        for g in a.guards:
            if g.condition not in conditions:
                yield g
            elif instead is not None:
                yield replace(g, condition=instead)

    return _with_actions(names, lambda a: replace(a, guards=tuple(guards(a))))


def _with_actions(names: list[str], change: Callable[[Action], Action]) -> Callable[[Spec], Spec]:
    return lambda spec: replace(spec, actions={n: change(a) if n in names else a for n, a in spec.actions.items()})


def _updates(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        for u in a.updates:
            if u.rule is None:
                continue
            values: dict[str, tuple[Update, ...]] = {"not updated": ()}
            if isinstance(u.value.type, NumberType):
                for way, op in (("one more", "add"), ("one less", "monus")):
                    values[way] = (replace(u, value=term(op, (u.value, constant(1, NAT)), None, u.value.type)),)
            for way, instead in values.items():
                yield Mutation(u.rule, f"{a.name}: {u.variable} {way}", spec, _updated(a.name, u, instead))


def _updated(action: str, update: Update, instead: tuple[Update, ...]) -> Callable[[Spec], Spec]:
    def change(a: Action) -> Action:
        return replace(a, updates=tuple(v for u in a.updates for v in (instead if u is update else (u,))))

    return _with_actions([action], change)


def shifted(condition: Term) -> dict[str, Term]:
    """Return the comparison off by one in either direction, as "looser" and "stricter"."""
    if condition.op == "not":
        inner = shifted(condition.args[0])
        other = {"looser": "stricter", "stricter": "looser"}
        return {other[way]: boolean("not", t) for way, t in inner.items()}
    if condition.op not in ("lt", "le"):
        return {}
    a, b = condition.args
    if condition.op == "lt":
        return {"looser": boolean("le", a, b), "stricter": boolean("lt", _one_more(a), b)}
    return {"looser": boolean("le", a, _one_more(b)), "stricter": boolean("lt", a, b)}


def ordered(condition: Term) -> dict[str, Term]:
    """Return an equality of numbers compared by order instead, as "at least" and "at most"."""
    if condition.op != "eq" or not isinstance(condition.args[0].type, NumberType):
        return {}
    a, b = condition.args
    return {"at least": boolean("le", b, a), "at most": boolean("le", a, b)}


def _one_more(number: Term) -> Term:
    return term("add", (number, constant(1, NAT)), None, number.type)
