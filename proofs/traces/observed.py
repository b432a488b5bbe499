"""This module turns an observation and the actions it stands for into conditions to check and updates to make, in
phases.

A phase is evaluated in one state: all its conditions hold, then all its updates happen at once. Both readings that
replay histories run the same phases: `vectorised.py` many histories at once, `interpreted.py` one."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from fencepost.model.language.observations import Observation, TracedObservation, TracedStep, trace_observations
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import TRUE, Term, conjuncts, local, substitute, subterms
from fencepost.model.language.tree.types import AtomsType, ScalarType, scalar
from fencepost.proofs.readings.words import say

Role = Literal["before", "guard", "after", "member", "kind"]


@dataclass(frozen=True)
class Check:
    """A `Check` is one condition for an event to fit, with the rule behind it. ``role`` is that the event itself
    demands it (before, after), that it is a guard of ``action``, that a parameter is a ``member`` of its sort, or that
    the protocol has such a ``kind`` of event at all."""

    role: Role
    says: str
    rule: str | None = None
    action: str | None = None


@dataclass(frozen=True)
class Phase:
    """A `Phase` applies to the events where ``when`` holds: ``conditions``, one for each of ``checks``, then
    ``updates``. ``members`` has the columns that are parameters of a sort, by name, each with the check that it names a
    member."""

    when: Term
    conditions: tuple[Term, ...]
    checks: tuple[Check, ...]
    updates: tuple[Update, ...] = ()
    members: tuple[tuple[str, AtomsType, Check], ...] = ()
    action: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the event that the phase reads, sorted."""
        roots = [self.when, *self.conditions, *(t for u in self.updates for t in (u.value, *u.keys))]
        return tuple(
            sorted(
                {str(n.data) for root in roots for n in subterms(root) if n.op == "local"} - _bound(roots, self.updates)
            )
        )


def phases_by_kind(
    spec: Spec, columns: Mapping[str, Any], observations: tuple[Observation, ...]
) -> dict[str, tuple[Phase, ...]]:
    """Return the phases of each kind of event that the settled ``spec`` knows, by the kind's name. An event that is no
    step has none."""
    kinds = {name: scalar(kind) for name, kind in columns.items()}
    traced = trace_observations(spec, columns, observations)
    return {name: tuple(_phases(spec, kinds, o)) for name, o in traced.items()}


def _phases(spec: Spec, kinds: Mapping[str, ScalarType], o: TracedObservation) -> list[Phase]:
    phases = [Phase(TRUE, *_checked(o.before, "before", o.rule))] if o.before is not TRUE else []
    for step in o.steps:
        phase = _phase_of(spec, kinds, step)
        if len(phases) == 1 and phases[0].action is None and phase.when is TRUE:
            # The check of an event and its first step see the same state: one phase computes what they share only once.
            first = phases.pop()
            phase = replace(phase, conditions=first.conditions + phase.conditions, checks=first.checks + phase.checks)
        phases.append(phase)
    if o.after is not TRUE:
        phases.append(Phase(TRUE, *_checked(o.after, "after", o.rule)))
    return phases


def _checked(condition: Term, role: Role, rule: str | None) -> tuple[tuple[Term, ...], tuple[Check, ...]]:
    parts = tuple(c for c in conjuncts(condition) if c is not TRUE)
    return parts, tuple(Check(role, say(c), rule) for c in parts)


def _phase_of(spec: Spec, kinds: Mapping[str, ScalarType], step: TracedStep) -> Phase:
    action = spec.actions[step.action]
    parameters = tuple((name, column) for (name, _), column in zip(action.parameters, step.columns, strict=True))
    given = {name: local(column, kinds[column]) for name, column in parameters}
    members = []
    for column in dict.fromkeys(step.columns):
        sort = kinds[column]
        if isinstance(sort, AtomsType):
            members.append(
                (
                    column,
                    sort,
                    Check("member", f"a {sort} as its {column}, and the event names none", None, action.name),
                )
            )
    return Phase(
        step.when,
        tuple(substitute(g.condition, given) for g in action.guards),
        tuple(Check("guard", say(substitute(g.condition, given)), g.rule, action.name) for g in action.guards),
        tuple(
            replace(u, value=substitute(u.value, given), keys=tuple(substitute(k, given) for k in u.keys))
            for u in action.updates
            if u.variable not in spec.ghosts
        ),
        tuple(members),
        action.name,
        parameters,
    )


def _bound(roots: list[Term], updates: tuple[Update, ...]) -> set[str]:
    names = {n for u in updates for n, _ in u.bound}
    for root in roots:
        names.update(n for node in subterms(root) if node.op in ("forall", "exists") for n, _ in node.data)
    return names
