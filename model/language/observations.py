"""An observation defines which steps of a protocol an event of a history stands for, and what the event reports about
the state.

Observations are written once per protocol. The agreement machines read them (one history at a time, some events
unseen), and so does replay (many histories at once, all events seen).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.language.checks.errors import caller, mistake
from fencepost.model.language.checks.lint import check_source
from fencepost.model.language.checks.rule_references import check_rule
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.methods import condition
from fencepost.model.language.tracing.proxies import StateProxy
from fencepost.model.language.tracing.sources import line_of
from fencepost.model.language.tracing.symbols import Symbol
from fencepost.model.language.tree.terms import TRUE, Term, local
from fencepost.model.language.tree.types import NumberType, Place, ScalarType, scalar

Condition = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Do:
    """A `Do` is one step: an action with parameters from columns of the event, skipped where ``when`` is false."""

    action: str
    parameters: Mapping[str, str]
    when: Condition | None = None
    where: Place = field(default_factory=caller, compare=False, repr=False)


@dataclass(frozen=True)
class Observation:
    """An `Observation` interprets one kind of event: ``before`` must hold, then each step must be enabled in turn, then
    ``after`` must hold. ``rule`` is what ``before`` and ``after`` check; the guards of the steps cite their own rules.
    """

    kind: str
    steps: tuple[Do, ...] = ()
    before: Condition | None = None
    after: Condition | None = None
    rule: str | None = None


@dataclass(frozen=True)
class TracedStep:
    action: str
    columns: tuple[str, ...]
    when: Term


@dataclass(frozen=True)
class TracedObservation:
    """A `TracedObservation` is an observation over terms; columns of the event are locals of the same names."""

    kind: str
    steps: tuple[TracedStep, ...]
    before: Term
    after: Term
    rule: str | None


class _Row:
    def __init__(self, columns: Mapping[str, ScalarType]) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> Symbol:
        if name not in self._columns:
            raise mistake(f"an event has no column {name!r}", f"it has {', '.join(self._columns)}")
        return Symbol(local(name, self._columns[name]))


def trace_observations(
    spec: Spec,
    columns: Mapping[str, Any],
    observations: tuple[Observation, ...],
    helpers: Mapping[str, Any] | None = None,
) -> dict[str, TracedObservation]:
    """Return, by kind, the observations whose actions ``spec`` has. ``columns`` has the language's type of each column
    that a rule may read."""
    owner = Spec(
        spec.name, "", spec.types, spec.ghosts, spec.constants, (), (), {}, {**spec.helpers, **(helpers or {})}
    )
    s, e = StateProxy(owner, None), _Row({name: scalar(kind) for name, kind in columns.items()})

    def traced(function: Condition | None, role: str) -> Term:
        if function is None:
            return TRUE
        check_source(function, owner.helpers)
        return condition(function(s, e), role, line_of(function))

    found: dict[str, TracedObservation] = {}
    for o in observations:
        if o.rule is not None:
            check_rule(o.rule)
        if any(do.action not in spec.actions for do in o.steps):
            continue
        steps = []
        for do in o.steps:
            names = [n for n, _ in spec.actions[do.action].parameters]
            if set(names) != set(do.parameters):
                takes, gives = ", ".join(names) or "nothing", ", ".join(do.parameters) or "nothing"
                raise mistake(f"{do.action} takes {takes}", f"{o.kind} gives {gives}", do.where)
            for name, kind in spec.actions[do.action].parameters:
                _check_column(o.kind, do, name, kind, columns)
            steps.append(TracedStep(do.action, tuple(do.parameters[n] for n in names), traced(do.when, o.kind)))
        found[o.kind] = TracedObservation(
            o.kind, tuple(steps), traced(o.before, o.kind), traced(o.after, o.kind), o.rule
        )
    return found


def _check_column(event: str, do: Do, parameter: str, kind: ScalarType, columns: Mapping[str, Any]) -> None:
    """Raise ModelError unless a column has the sort of the parameter that is taken from it. Numbers match numbers, and
    their limits may differ."""
    column = do.parameters[parameter]
    taken = f"{event}: {do.action} takes {parameter}: {kind} from {column}"
    if column not in columns:
        raise mistake(f"{taken}, which is no column", f"there are {', '.join(columns)}", do.where)
    given = scalar(columns[column])
    if type(given) is not type(kind) or (not isinstance(kind, NumberType) and given != kind):
        raise mistake(f"{taken}, which is {given}", "name a column of its own sort", do.where)
