"""This module renames a part's variables and types for the composition, and composes a protocol of its parts.

Each variable, constant, budget and bound of the part ``ids`` is named by its path in the composition, as ``ids.next``;
a part of a part has a longer path. Every action of the composition names which actions of which parts it takes
(`Call`), at most one of each part, and no other assignment reaches a part's variables. Projected to a part, each step
of the composition is therefore one of the part's or leaves the part unchanged.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.specs import Action, Call, Outside, Presence, Spec
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import Term, local, rewrite, substitute, term
from fencepost.model.language.tree.types import (
    AtomsType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    Type,
)


@dataclass(frozen=True)
class PartSpec:
    """A `PartSpec` is a part as it was traced alone (``own``) with its role in the composition: its name, the actions
    that happen in joint steps only, and a map from its sorts and numbers to those of the composition with which they
    are identified."""

    name: str
    own: Spec
    joint: tuple[str, ...] = ()
    sorts: Mapping[Type, Type] = field(default_factory=dict)

    def path(self, name: str) -> str:
        return f"{self.name}.{name}"

    def has(self, variable: str) -> bool:
        """Return whether a variable of the composition belongs to the part."""
        return variable.startswith(f"{self.name}.")

    def bound(self, text: str) -> str:
        """Return the bound of a number or a sequence in the composition's names. The part's own bound is taken if it is
        given, else the composition's."""
        return re.sub(r"[A-Za-z_][\w.]*", lambda found: self.path(found.group()), text)

    def type(self, kind: Any) -> Any:
        if kind in self.sorts:
            return self.sorts[kind]
        match kind:
            case MapType(keys, value):
                return MapType(tuple(map(self.type, keys)), self.type(value))
            case SeqType(entry, bound):
                return SeqType(self.type(entry), self.bound(bound))
            case OptionType(of):
                return OptionType(self.type(of))
            case NumberType(name, upto, signed) if upto is not None:
                return NumberType(name, self.bound(upto), signed)
        return kind

    def type_within(self, kind: ScalarType) -> ScalarType:
        """Return the part's type of a value that the composition passes to one of the part's helpers."""
        if isinstance(kind, OptionType):
            return OptionType(self.type_within(kind.of))
        return next((mine for mine, there in self.sorts.items() if there == kind), kind)  # type: ignore[return-value]

    def term(self, root: Term) -> Term:
        """Return a term of the part in the composition's names."""
        return rewrite(root, self._node)

    def _node(self, node: Term) -> Term:
        data = node.data
        match node.op:
            case "state":
                data = (self.path(data[0]), data[1])
            case "constant":
                data = self.path(data)
            case "forall" | "exists":
                data = tuple((name, self.type(kind)) for name, kind in data)
            case "latest":
                data = (data[0], self.type(data[1]))
        return term(node.op, node.args, data, self.type(node.type))

    def update(self, u: Update) -> Update:
        bound = tuple((name, self.type(kind)) for name, kind in u.bound)
        keys = tuple(map(self.term, u.keys))
        return replace(u, variable=self.path(u.variable), value=self.term(u.value), keys=keys, bound=bound)

    def parameters(self, given: Iterable[tuple[str, ScalarType]]) -> tuple[tuple[str, ScalarType], ...]:
        return tuple((name, self.type(kind)) for name, kind in given)

    def action(self, a: Action) -> Action:
        """Return an action of the part as one that the composition takes by itself."""
        parameters = self.parameters(a.parameters)
        return replace(
            a,
            name=self.path(a.name),
            parameters=parameters,
            guards=tuple(replace(g, condition=self.term(g.condition)) for g in a.guards),
            limits=tuple(map(self.term, a.limits)),
            updates=tuple(map(self.update, a.updates)),
            budget=None if a.budget is None else self.path(a.budget),
            calls=(Call(self.name, a.name, tuple(local(n, kind) for n, kind in parameters)),),
            by=self.path(a.by) if a.by in self.own.types else a.by,
            to=self.path(a.to) if a.to in self.own.types else a.to,
        )

    def taken(self, call: Call) -> Action:
        """Return an action of the part with the arguments of the call in place of its parameters."""
        a = self.action(self.own.actions[call.action])
        given = dict(zip((name for name, _ in a.parameters), call.arguments, strict=True))

        def here(root: Term) -> Term:
            return substitute(root, given)

        def guard(g: Guard) -> Guard:
            return replace(g, condition=here(g.condition))

        def update(u: Update) -> Update:
            return replace(u, value=here(u.value), keys=tuple(map(here, u.keys)))

        return replace(
            a,
            guards=tuple(map(guard, a.guards)),
            limits=tuple(map(here, a.limits)),
            updates=tuple(map(update, a.updates)),
        )

    def with_own(self, change: Callable[[Spec], Spec]) -> "PartSpec":
        return replace(self, own=change(self.own))


def composed(own: Spec, parts: Mapping[str, PartSpec]) -> Spec:
    """Return the composition of ``own``, which is what it adds, and the parts, with each joint action spelled out."""
    spec = replace(own, parts=parts, own=own)
    actions: dict[str, Action] = {}
    for p in parts.values():
        inner = p.own
        spec = replace(
            spec,
            types=spec.types | {p.path(n): p.type(kind) for n, kind in inner.types.items()},
            constants=spec.constants | {p.path(n): p.type(kind) for n, kind in inner.constants.items()},
            ghosts=spec.ghosts | {p.path(n) for n in inner.ghosts},
            axioms=spec.axioms + tuple(map(p.term, inner.axioms)),
            initial=spec.initial + tuple(map(p.update, inner.initial)),
            presences={**spec.presences, **{p.path(n): _presence(p, n, it) for n, it in inner.presences.items()}},
        )
        actions |= {p.path(n): p.action(a) for n, a in inner.actions.items() if n not in p.joint}
    for name, a in own.actions.items():
        # A mutation may have taken the part's action out, and with it the joint one.
        if all(call.action in parts[call.part].own.actions for call in a.calls):
            actions[name] = joined(a, parts)
    spec = replace(spec, actions=actions)
    return replace(spec, outside=_outside(spec, own, parts))


def joined(action: Action, parts: Mapping[str, PartSpec]) -> Action:
    """Return one step with the action's own guards and updates and those of every action of a part that it takes."""
    taken = [parts[call.part].taken(call) for call in action.calls]
    return replace(
        action,
        guards=action.guards + tuple(g for a in taken for g in a.guards),
        limits=action.limits + tuple(t for a in taken for t in a.limits),
        updates=action.updates + tuple(u for a in taken for u in a.updates),
        dangers=tuple(dict.fromkeys((*action.dangers, *(d for a in taken for d in a.dangers)))),
    )


def _presence(p: PartSpec, name: str, it: Presence) -> Presence:
    return replace(it, name=p.path(name), term=p.term(it.term))


def _outside(spec: Spec, own: Spec, parts: Mapping[str, PartSpec]) -> dict[str, Outside]:
    """Return the dangers outside of the composition. A danger is outside if none of its parts has it. Where the parts
    give different reasons, the one that admits most is taken: an open hole of one part is one of the composition. The
    composition's own reasons come before those of its parts."""
    weight = {"excused": 3, "open": 2, "excluded by Kafka": 1, "not of this protocol": 0}
    found: dict[str, Outside] = {}
    for p in parts.values():
        for danger, item in p.own.outside.items():
            stated = replace(item, why=f"{p.name}: {item.why}")
            if danger not in found or weight[item.standing] > weight[found[danger].standing]:
                found[danger] = stated
    found |= own.outside
    return {danger: item for danger, item in found.items() if danger not in spec.dangers or item.standing == "excused"}


def helpers_of(parts: Mapping[str, PartSpec]) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for p in parts.values():
        found |= {p.path(name): helper for name, helper in {**p.own.helpers, **helpers_of(p.own.parts)}.items()}
    return found


def steps_taken(spec: Spec, part: str, action: str) -> tuple[str, ...]:
    """Return the actions of the composition that take this action of a part."""
    return tuple(a.name for a in spec.actions.values() if any((c.part, c.action) == (part, action) for c in a.calls))


def scalars(kind: Type) -> tuple[ScalarType, ...]:
    match kind:
        case MapType(keys, value):
            return tuple(s for k in (*keys, value) for s in scalars(k))
        case SeqType(entry, _):
            return scalars(entry)
        case OptionType(of):
            return scalars(of)
    return (kind,)


def sorts_of(spec: Spec) -> list[AtomsType | EnumType]:
    """Return every sort and enumeration that variables and parameters name, as the objects that their classes made."""
    kinds: list[Type] = [*spec.types.values(), *(k for a in spec.actions.values() for _, k in a.parameters)]
    return [s for kind in kinds for s in scalars(kind) if isinstance(s, AtomsType | EnumType)]
