"""Mutations: what a protocol becomes when one rule is left out, shifted by one, or read differently.

``settle(spec)`` is the protocol as the rules say it; ``mutations(spec)`` lists every way to get one rule wrong: each guard dropped,
each marked update dropped, each comparison and sum under a rule shifted by one, each action that is a mechanism taken out, and
each alternative written down with ``either``.  Bounds are never mutated, since a bound is no rule.
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
    """One rule got wrong: ``apply`` gives the settled protocol with this mistake.  ``name`` is unique within the protocol."""

    rule: str
    name: str
    apply: Callable[[], Spec]


def _choice(node: Term, rule: str | None, name: str | None) -> Term:
    if node.op != "choice":
        return node
    number, names = node.data
    return node.args[1 + names.index(name)] if number == rule and name in names else node.args[0]


def map_terms(spec: Spec, change: Callable[[Term], Term]) -> Spec:
    """The protocol with ``change`` applied to every node of every guard, limit, update and initial value."""

    def update(u: Update) -> Update:
        return replace(u, value=rewrite(u.value, change), keys=tuple(rewrite(k, change) for k in u.keys))

    def whole(a: Action) -> Action:
        guards = tuple(replace(g, condition=rewrite(g.condition, change)) for g in a.guards)
        kept = tuple(g for g in guards if g.condition is not TRUE)
        limits = tuple(rewrite(t, change) for t in a.limits)
        return replace(a, guards=kept, limits=limits, updates=tuple(map(update, a.updates)))

    return replace(
        spec, initial=tuple(map(update, spec.initial)), actions={n: whole(a) for n, a in spec.actions.items()}
    )


def settle(spec: Spec, rule: str | None = None, name: str | None = None) -> Spec:
    """Every ``either`` decided for what its rule says; those of ``rule`` that offer ``name``, for that alternative."""
    return map_terms(spec, lambda node: _choice(node, rule, name))


def mutations(spec: Spec) -> list[Mutation]:
    """All single mistakes about the rules that a protocol cites, in order of rule number."""
    found = [*_alternatives(spec), *_dropped_actions(spec), *_guards(spec), *_updates(spec)]
    names: dict[tuple[str, str], Mutation] = {}
    for mutation in found:
        names.setdefault((mutation.rule, mutation.name), mutation)
    return sorted(names.values(), key=lambda m: (list(RULES).index(m.rule), m.name))


def mutation(spec: Spec, rule: str, name: str) -> Mutation:
    """The mutation of that name; ModelError naming those there are if there is none."""
    every = mutations(spec)
    for candidate in every:
        if (candidate.rule, candidate.name) == (rule, name):
            return candidate
    near = [f"{m.rule} {m.name}" for m in every if m.rule == rule] or [f"{m.rule} {m.name}" for m in every]
    raise mistake(f"{spec.name} has no mutation {name!r} of rule {rule}", f"there are: {'; '.join(near)}")


def _alternatives(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        for root in [g.condition for g in a.guards] + [u.value for u in a.updates]:
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


def _with_action(spec: Spec, changed: Action) -> Spec:
    return settle(replace(spec, actions=spec.actions | {changed.name: changed}))


def _guards(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        numbers: dict[str, int] = {}
        for i, g in enumerate(a.guards):
            if g.rule is None:
                continue
            numbers[g.rule] = numbers.get(g.rule, 0) + 1
            label = f"{a.name}: guard {numbers[g.rule]}"
            rest = a.guards[:i] + a.guards[i + 1 :]
            yield Mutation(g.rule, f"{label} dropped", lambda a=a, rest=rest: _with_action(spec, replace(a, guards=rest)))  # type: ignore[misc]
            if (shifted := _shift_comparison(g.condition)) is not None:
                changed = replace(a, guards=(*a.guards[:i], Guard(shifted, g.rule, g.line), *a.guards[i + 1 :]))
                yield Mutation(g.rule, f"{label} shifted", lambda changed=changed: _with_action(spec, changed))  # type: ignore[misc]


def _updates(spec: Spec) -> Iterator[Mutation]:
    for a in spec.actions.values():
        for i, u in enumerate(a.updates):
            if u.rule is None:
                continue
            label = f"{a.name}: {u.variable}"
            rest = a.updates[:i] + a.updates[i + 1 :]
            yield Mutation(u.rule, f"{label} not updated", lambda a=a, rest=rest: _with_action(spec, replace(a, updates=rest)))  # type: ignore[misc]
            if isinstance(u.value.type, NumberType):
                for name, op in (("one more", "add"), ("one less", "monus")):
                    value = term(op, (u.value, constant(1, NAT)), None, u.value.type)
                    changed = replace(a, updates=(*a.updates[:i], replace(u, value=value), *a.updates[i + 1 :]))
                    yield Mutation(u.rule, f"{label} {name}", lambda changed=changed: _with_action(spec, changed))  # type: ignore[misc]


def _shift_comparison(condition: Term) -> Term | None:
    """``a < b`` becomes ``a <= b`` and the reverse: the off-by-one of a guard."""
    if condition.op in ("lt", "le"):
        return boolean("le" if condition.op == "lt" else "lt", *condition.args)
    if condition.op == "not" and condition.args[0].op in ("lt", "le"):
        inner = _shift_comparison(condition.args[0])
        return None if inner is None else boolean("not", inner)
    return None
