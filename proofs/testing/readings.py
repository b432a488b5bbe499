"""This module prepares a variant of the model to be followed through a system of given size."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from fencepost.model.language.observations import TracedObservation, trace_observations
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import Term, conjuncts, subterms
from fencepost.model.language.tree.types import AtomsType, Bounds, ScalarType, scalar
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.sparse import Sparse
from fencepost.proofs.results import State
from fencepost.properties.conformance_spec import UNKNOWN, Followed


class Driven(Plain):
    """A `Driven` is a plain reading in which nothing is out of range: sizes are needed for quantifiers only."""

    def __init__(self, spec: Spec, constants: Mapping[str, int], bounds: Bounds) -> None:
        super().__init__(spec, dict(constants), bounds, ghosts=False)
        self._values: dict[tuple[Term, tuple[str, ...]], Callable[..., Any]] = {}
        self._outcomes: dict[str, Callable[..., set[tuple[bool, ...]]]] = {}
        self._holding: dict[int, tuple[tuple[Conjunct, ...], Callable[..., bool]]] = {}
        self._namespace["UNKNOWN"] = UNKNOWN

    def within(self, state: State) -> bool:
        return True

    def places(self, variables: Sequence[tuple[str, ScalarType]], term: Term) -> str:
        """Return loops over existing entries only, because ranges are far larger than what one system fills."""
        return Sparse(dict(variables), self.text, self.domain).loops(term)

    def value(self, node: Term, state: State, **row: Any) -> Any:
        """Return the value of any term. Each term and list of names has one compiled function."""
        key = node, tuple(row)
        if key not in self._values:
            names = "".join(f", {n}_" for n in row)
            self._values[key] = eval(f"lambda S{names}: {self.text(node)}", self._namespace)
        return self._values[key](state, *row.values())

    def outcomes(self, action: Action, state: State, choices: Sequence[tuple[Any, ...]]) -> set[tuple[bool, ...]]:
        """Return which guards of an action hold together, for these choices of its parameters in order. All choices are
        evaluated at once, because coverage needs very many."""
        if action.name not in self._outcomes:
            names = "".join(f"{name}_, " for name, _ in action.parameters)
            parts = "".join(f"bool({self.text(guard.condition)})," for guard in action.guards)
            self._outcomes[action.name] = eval(f"lambda S, V: {{({parts}) for ({names}) in V}}", self._namespace)
        return self._outcomes[action.name](state, choices)

    def holding(self, conditions: "tuple[Conjunct, ...]") -> Callable[[State, Mapping[str, Any]], bool]:
        """Return a function of a state and a row that decides whether these conditions hold, as far as their columns
        are known."""
        if id(conditions) not in self._holding:
            columns = dict.fromkeys(c for each in conditions for c in each.columns)
            lines = ["def function(S, R):", *(f"    {c}_ = R[{c!r}]" for c in columns)]
            for each in conditions:
                unknown = "".join(f"{c}_ is UNKNOWN or " for c in each.columns)
                lines.append(f"    if not ({unknown}{self.text(each.term)}): return False")
            self._holding[id(conditions)] = conditions, self._compile("\n".join([*lines, "    return True", ""]))
        return self._holding[id(conditions)][1]

    def taken(self, action: str, state: State, values: Sequence[Any]) -> State | None:
        """Return the state after a step with these parameters in order, or None where it is not enabled."""
        if not self._guards[action](state, *values):
            return None
        after: State | None = self._steps[action](state, *values)
        assert after is not None
        return after


@dataclass(frozen=True)
class Conjunct:
    """A `Conjunct` is one condition over a state and the columns of an event."""

    term: Term
    columns: tuple[str, ...]

    def holds(self, plain: Driven, state: State, row: Mapping[str, Any]) -> bool:
        return bool(plain.value(self.term, state, **{c: row[c] for c in self.columns}))


@dataclass(frozen=True)
class Step:
    """A `Step` is one step of an observation. ``members`` has the columns that have to name a member of a sort, with
    the sort."""

    action: str
    names: tuple[str, ...]  # of the action's parameters
    columns: tuple[str, ...]
    when: tuple[Conjunct, ...]
    members: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Observed:
    """An `Observed` is an observation split into conjuncts, so that each can be left out or be named."""

    kind: str
    steps: tuple[Step, ...]
    before: tuple[Conjunct, ...]
    after: tuple[Conjunct, ...]
    rule: str

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(step.action for step in self.steps)

    @cached_property
    def columns(self) -> frozenset[str]:
        conditions = [*self.before, *self.after, *(w for s in self.steps for w in s.when)]
        return frozenset(c for k in conditions for c in k.columns) | {c for s in self.steps for c in s.columns}


@dataclass(frozen=True)
class Reading:
    """A `Reading` is a variant with its observations by kind, and its checks by name."""

    followed: Followed
    plain: Driven
    observations: Mapping[str, Observed]
    checks: Mapping[str, Observed]


def conjuncts_of(term: Term, columns: Iterable[str]) -> tuple[Conjunct, ...]:
    known = frozenset(columns)
    remaining = [part for part in conjuncts(term) if not (part.op == "const" and part.data is True)]
    return tuple(
        Conjunct(part, tuple(sorted({n.data for n in subterms(part) if n.op == "local" and n.data in known})))
        for part in remaining
    )


def _apart(traced: TracedObservation, followed: Followed) -> Observed:
    columns, actions = followed.columns, followed.spec.actions
    steps = tuple(
        Step(
            s.action,
            tuple(n for n, _ in actions[s.action].parameters),
            s.columns,
            conjuncts_of(s.when, columns),
            tuple((c, kind.name) for c in s.columns if isinstance(kind := scalar(columns[c]), AtomsType)),
        )
        for s in traced.steps
    )
    before, after = conjuncts_of(traced.before, columns), conjuncts_of(traced.after, columns)
    return Observed(traced.kind, steps, before, after, traced.rule or "")


@lru_cache(maxsize=256)
def read_followed(followed: Followed) -> Reading:
    seen = (*followed.observations, *followed.afterwards)
    observations = id(followed.spec), id(followed.columns), len(followed.afterwards), *map(id, seen)
    size = id(followed.spec), tuple(followed.constants.items()), tuple(followed.bounds.items())
    if observations not in _APART:
        traced = trace_observations(followed.spec, followed.columns, followed.observations)
        checks = trace_observations(followed.spec, followed.columns, followed.afterwards)
        _APART[observations] = (
            followed,
            {kind: _apart(o, followed) for kind, o in traced.items()},
            {kind: _apart(o, followed) for kind, o in checks.items()},
        )
    if size not in _DRIVEN:
        _DRIVEN[size] = Driven(followed.spec, followed.constants, followed.bounds)
    return Reading(followed, _DRIVEN[size], *_APART[observations][1:])


_APART: dict[Any, tuple[Followed, Mapping[str, Observed], Mapping[str, Observed]]] = {}
_DRIVEN: dict[Any, Driven] = {}
"""Several systems of one size, or with the same observations, share their compiled readings through this cache."""
