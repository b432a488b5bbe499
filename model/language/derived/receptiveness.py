"""A protocol must never block a step of the part of its environment that a refinement maps to a core.

A refinement proves that the protocol does only what the core does. If the core stands for something that acts on its
own, such as a coordinator that fences a producer, the other direction counts as well: where the core may take such a
step, the protocol must be able to take it. Otherwise a property would be proved only of environments that are better
behaved than the real ones.
"""

import inspect
from dataclasses import dataclass

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.derived.refinements import Refinement, RefinementMethod
from fencepost.model.language.properties import Property, PropertyMethod
from fencepost.model.language.protocol import Decorator
from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tracing.mappings import (
    Bound,
    Mapped,
    Read,
    assigned,
    in_core,
    parameter,
    steps_of_action,
)
from fencepost.model.language.tracing.sources import line_of
from fencepost.model.language.tree.terms import Term, boolean, both, local, negation, state, term
from fencepost.model.language.tree.types import BOOL, MapType, SeqType


@dataclass(frozen=True)
class ReceptiveMethod(PropertyMethod):
    """A `ReceptiveMethod` names the steps of the refinement's core that the protocol has to follow."""

    of_refinement: RefinementMethod | None = None
    steps: tuple[str, ...] = ()

    def traced(self, owner: Spec, name: str) -> Property:
        assert self.of_refinement is not None
        item = self.of_refinement.traced(owner, name)
        where = line_of(self.body)
        for step in self.steps:
            if step not in item.core.actions:
                has = f"it has {', '.join(item.core.actions)}"
                raise mistake(f"{name} follows {step!r}, which {item.core.name} does not take", has, where)
        doc = inspect.getdoc(self.body) or ""
        as_read = settle(owner)
        root = both(*(_followed(as_read, item, item.core.actions[step]) for step in self.steps))
        return Property(name, "consequence", None, (root,), (), None, doc)


def receptive(of: RefinementMethod, *steps: str) -> Decorator:
    """State that these steps of a refinement's core are never blocked. Where the core may take one, in the view of any
    element, some action that the refinement maps to it is enabled and has that effect on the core. An action's
    parameters with the names of the view's parameters are the view's, and those with the names and sorts of the step's
    are the step's."""
    return lambda body: ReceptiveMethod(body, "consequence", None, None, of, steps)


def _followed(owner: Spec, item: Refinement, step: Action) -> Term:
    here = {name: _entry(owner, name) for name in owner.types}
    now = _view(item, here)
    each = tuple((parameter(n), kind) for n, kind in item.each)
    able = [
        _able(owner, item, action, step, here, now)
        for action in owner.actions.values()
        if step.name in item.hints.get(action.name, (action.name,))
    ]
    parameters, guards, _ = steps_of_action(item.core, step, now, now)
    follows = boolean("or", negation(both(*guards)), *able) if guards else boolean("or", *able)
    bound = each + parameters
    return term("forall", (follows,), bound, BOOL) if bound else follows


def _able(owner: Spec, item: Refinement, action: Action, step: Action, here: Read, now: Read) -> Term:
    """Return the condition that the action is enabled, for some choice of its own parameters, and is that step."""
    after = {name: _after(owner, name, action, here) for name in owner.types}
    _, _, effects = steps_of_action(item.core, step, now, _view(item, after))
    guards = (in_core(g.condition, here) for g in action.guards)
    body = both(*guards, *effects.values())
    known = {n for n, _ in item.each} | {p[0] for p in action.parameters if p in step.parameters}
    others: Bound = tuple((parameter(n), kind) for n, kind in action.parameters if n not in known)
    return term("exists", (body,), others, BOOL) if others else body


def _view(item: Refinement, read: Read) -> Read:
    return {name: Mapped(m.bound, in_core(m.value, read)) for name, m in item.mapping.items()}


def _entry(owner: Spec, name: str) -> Mapped:
    kind = owner.types[name]
    if not isinstance(kind, MapType):
        return Mapped((), state(name, kind))
    bound = tuple((f"key{i}.w", k) for i, k in enumerate(kind.keys, 1))
    keys = tuple(local(n, k) for n, k in bound)
    return Mapped(bound, term("select", (state(name, kind), *keys), None, kind.value))


def _after(owner: Spec, name: str, action: Action, here: Read) -> Mapped:
    updates = [u for u in action.updates if u.variable == name]
    entry = here[name]
    if not updates or isinstance(owner.types[name], SeqType):
        return entry
    keys = tuple(local(n, k) for n, k in entry.bound)
    return Mapped(entry.bound, assigned(updates, keys, entry.value, here))
