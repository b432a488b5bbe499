"""A variant of the model, ready to be run against a cluster of given size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.mutations import settle
from fencepost.model.language.observations import TracedObservation, trace_observations
from fencepost.model.language.protocol import Spec
from fencepost.model.language.terms import Term, conjuncts, subterms
from fencepost.model.language.types import Bounds
from fencepost.properties.id_blocks.calls import AFTERWARDS_BY_VARIANT
from fencepost.properties.id_blocks.observations import BY_VARIANT, COLUMNS

from ..plain import Plain
from ..results import State

MODELS = {"kraft": Kraft, "zookeeper": Zookeeper, "bridge": Bridge}
SLOTS = 32  # requests and copies in the network at once
ENOUGH = 1 << 20  # more restarts, elections and writes than any program has


class Driven(Plain):
    """Nothing is out of range here: sizes are needed for quantifiers only."""

    def __init__(self, spec: Spec, constants: dict[str, int], bounds: Bounds) -> None:
        super().__init__(spec, constants, bounds, ghosts=False)
        self._values: dict[tuple[Term, tuple[str, ...]], Callable[..., Any]] = {}

    def within(self, state: State) -> bool:
        return True

    def value(self, node: Term, state: State, **row: Any) -> Any:
        """The value of any term; one function for a term and the names it is given."""
        key = node, tuple(row)
        if key not in self._values:
            names = "".join(f", {n}_" for n in row)
            self._values[key] = eval(f"lambda S{names}: {self._text(node)}", self._namespace)
        return self._values[key](state, *row.values())


@dataclass(frozen=True)
class Conjunct:
    """One condition over a state and the columns of an event."""

    term: Term
    columns: tuple[str, ...]

    def holds(self, plain: Driven, state: State, row: Mapping[str, Any]) -> bool:
        return bool(plain.value(self.term, state, **{c: row[c] for c in self.columns}))


@dataclass(frozen=True)
class Step:
    action: str
    names: tuple[str, ...]  # of the action's parameters
    columns: tuple[str, ...]
    when: tuple[Conjunct, ...]


@dataclass(frozen=True)
class Observed:
    """An observation taken apart into conjuncts, so that each can be left out or be named."""

    kind: str
    steps: tuple[Step, ...]
    before: tuple[Conjunct, ...]
    after: tuple[Conjunct, ...]
    rule: str

    @property
    def repeats(self) -> bool:
        """Does it stand for a controller that acts on a request, which may be a copy?"""
        return any(step.action == "repeat" for step in self.steps)

    @property
    def columns(self) -> frozenset[str]:
        conditions = [*self.before, *self.after, *(w for s in self.steps for w in s.when)]
        return frozenset(c for k in conditions for c in k.columns) | {c for s in self.steps for c in s.columns}


@dataclass(frozen=True)
class Reading:
    """A variant with its observations by kind, and its checks by name."""

    variant: str
    plain: Driven
    observations: Mapping[str, Observed]
    checks: Mapping[str, Observed]
    brokers: int


def conjuncts_of(term: Term) -> tuple[Conjunct, ...]:
    kept = [part for part in conjuncts(term) if not (part.op == "const" and part.data is True)]
    return tuple(
        Conjunct(part, tuple(sorted({n.data for n in subterms(part) if n.op == "local" and n.data in COLUMNS})))
        for part in kept
    )


def _apart(traced: TracedObservation, spec: Spec) -> Observed:
    steps = tuple(
        Step(s.action, tuple(n for n, _ in spec.actions[s.action].parameters), s.columns, conjuncts_of(s.when))
        for s in traced.steps
    )
    return Observed(traced.kind, steps, conjuncts_of(traced.before), conjuncts_of(traced.after), traced.rule or "")


@lru_cache(maxsize=256)
def read_variant(variant: str, brokers: int, size: int, max_id: int) -> Reading:
    """The reading for a cluster.  Raises ValueError for an unknown variant.

    ZooKeeper mode compares the last id of the present block with the end of the ids, and KRaft the first id of the next
    one, so that ZooKeeper may give away the id ``max_id`` as well (ZkProducerIdManager.scala).
    """
    if variant not in MODELS:
        raise ValueError(f"the model has no variant {variant!r}: there are {', '.join(MODELS)}")
    spec = settle(MODELS[variant].spec)
    bounds = {
        "brokers": brokers, "requests": SLOTS, "controllers": ENOUGH, "ids": max_id + size, "restarts": ENOUGH,
    }  # fmt: skip
    constants = {"size": size, "ids": max_id + 1 if variant == "zookeeper" else max_id}
    traced = trace_observations(spec, COLUMNS, BY_VARIANT[variant])
    checks = trace_observations(spec, COLUMNS, AFTERWARDS_BY_VARIANT[variant])
    return Reading(
        variant,
        Driven(spec, constants, bounds),
        {kind: _apart(o, spec) for kind, o in traced.items()},
        {kind: _apart(o, spec) for kind, o in checks.items()},
        brokers,
    )
