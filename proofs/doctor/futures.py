"""This module explores what may follow from an open transaction, if it is left alone, or an operator decides it.

An operator does not see all of a state: not what is under way in the network, nor what a producer has been answered. So
a view is loaded as every state, reachable in the model within the bounds, of which an operator sees the same. From all
of these the model is explored breadth-first, after each decision that the operator can take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Protocol, Spec, combined
from fencepost.model.language.tree.types import EnumType, MapType
from fencepost.model.releases import each_of
from fencepost.model.transactions.abstract.away import Operated
from fencepost.proofs.engines.explore import Exploration, Starts, explore, sets
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.traces import Expansion, runs_to
from fencepost.proofs.readings.ground import ground
from fencepost.proofs.readings.ground.layout import Layout, lay_out
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import Variant, find
from fencepost.properties.transactions.claims.core import Promises
from numpy.typing import NDArray

BLOCK = 1 << 14
MOST_STATES = 2_000_000
BEYOND = 2
"""An operator's view has whether a coordinator is 0, 1, or this many epochs or more ahead of the transaction."""
QUIET = dict(clients=2, transactions=2, partitions=1, fail_overs=0, fences=0)
FAULTS = ("absences", "tails", "restarts", "expiries")
VARIANTS = {
    "2": ("transaction-partitions/parked-v2", "transaction-partitions/dropped-v2", "transaction-partitions/unclean-v2"),
    "1": (
        "transaction-partitions/parked-v1-verified-prompt", "transaction-partitions/dropped-v1",
        "transaction-partitions/unclean-v1", "transactions/v1-hanging",
    ),
}  # fmt: skip
"""By transaction version, these variants have what can go wrong with an open transaction in one partition."""
Columns = NDArray[np.uint64]
"""`Columns` has a row for each field of a layout, and a column for each state."""
COMMIT, ABORT, LEFT, FENCED = "commit", "abort", "left alone", "fenced"
DECISIONS = {
    COMMIT: ("intervene", {"p": 0, "commit": True}), ABORT: ("intervene", {"p": 0, "commit": False}),
    FENCED: ("take_over", {}), LEFT: (None, {}),
}  # fmt: skip
"""These are the operator's decisions, each with the step of the model that it is: a marker of the operator's own, or a
new producer's InitProducerId for the transactional id, or no step."""


class Seen(NamedTuple):
    """A `Seen` is what an operator sees of a transaction that is open in a partition.

    `phase` and `outcome` are the coordinator's, the latter of what is prepared or ended last; `behind` is by how many
    epochs the coordinator is ahead, `BEYOND` at most; `listed` whether the coordinator's transaction has the partition.
    `result` is the outcome in the transaction's own Prepare record. The values are names of members of `Phase` and
    `Outcome`. Where one is None it is not known, and every possible value is explored."""

    phase: str
    outcome: str | None
    behind: int | None
    listed: bool
    result: str | None = None


@dataclass(frozen=True)
class Break:
    """A `Break` is a promise that some run breaks, `steps` after the decision, 0 if the decision itself does. `sure` is
    whether every state that fits the view breaks it by the decision itself."""

    promise: str
    rule: str
    steps: int
    sure: bool
    trace: Trace = field(compare=False)


@dataclass(frozen=True)
class Future:
    """A `Future` is what one decision may lead to. `states` is how many were explored after it, and `complete` is false
    where there were too many. `possible` is false where no state that fits the view allows the decision."""

    decision: str
    breaks: tuple[Break, ...]
    states: int
    complete: bool
    possible: bool = True


@dataclass(frozen=True)
class Loaded:
    """A `Loaded` is the view in one model: how many states fit, a shortest run to one, and the futures. Where no state
    fits, the model of this release does not reach what is seen within the bounds."""

    model: Model
    bounds: Mapping[str, int]
    fitting: int
    came: tuple[Event, ...]
    futures: tuple[Future, ...]
    complete: bool


@dataclass(frozen=True)
class Model:
    """A `Model` is a variant of the catalogue by name, with the faults that may come before what is seen."""

    name: str
    faults: tuple[tuple[str, int], ...] = ()

    @property
    def variant(self) -> Variant:
        found = find(self.name)[1]
        assert found is not None
        return found

    @property
    def protocol(self) -> type[Protocol]:
        return combined(Operated, self.variant.properties.protocol)  # type: ignore[arg-type]  # classes are hashable

    def bounds(self, seen: Seen) -> dict[str, int]:
        """Return bounds with room for the view, and for one more transaction after it."""
        behind = BEYOND if seen.behind is None else seen.behind
        return QUIET | dict.fromkeys(FAULTS, 0) | dict(self.faults) | {"epochs": behind + 2, "interventions": 1}


def models(release: str, version: str) -> list[Model]:
    """Return the models of a release (of `model.releases.NAMES`) and transaction version (1 or 2). In the first one no
    fault comes before what is seen, so that what it does not reach is more than a slow transaction."""
    found = []
    for name in VARIANTS[version]:
        model = Model(name)
        if any(release in kafka.releases for kafka in each_of(model.variant.of)):
            sizes = model.variant.bounds["smoke"]
            found.append(Model(name, tuple((fault, sizes[fault]) for fault in FAULTS if sizes.get(fault))))
    return [Model(found[0].name), *(model for model in found if model.variant.expected)]


@cache
def futures(model: Model, seen: Seen, *, max_states: int = MOST_STATES) -> Loaded:
    """Load a view into a model, and explore what every decision may lead to, with no further fault."""
    spec, bounds = settle(model.protocol.spec), model.bounds(seen)
    quiet = bounds | {"interventions": 0}
    reached = explore(spec, {}, quiet, max_states=max_states)
    layout, places = lay_out(spec, quiet), list[tuple[int, int]]()
    fitting = [np.zeros((len(layout.fields), 0), np.uint64)]
    for depth, row, columns in _states(reached):
        rows = np.flatnonzero(_fits(layout, columns, seen))
        places += [(depth, row + int(rows[0]))] if len(rows) and not places else []
        fitting.append(columns[:, rows])
    every = np.concatenate(fitting, axis=1)
    came = runs_to(reached.kernels, reached.states, places)[0] if places else ()
    for index in layout.budgets.values():  # whatever faults were left do not happen any more
        every[index] = layout.fields[index].high
    asked = {n: p for n, p in Promises.asked_of(model.protocol).properties.items() if p.role in ("promise", "step")}
    kernels = Kernels(ground(spec, asked, bounds))
    found = [_future(spec, asked, kernels, every, each, max_states) for each in DECISIONS] if places else []
    return Loaded(model, bounds, every.shape[1], tuple(came), tuple(found), reached.complete)


ENUMERATED = ("phase", "outcome", "result")
"""These fields of a view have members of enumerations, those of the variables of the same name."""


def views(layout: Layout, columns: Columns) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.int64]]]:
    """Return which transactions (rows) of some states (columns) are open in the partition, and each field of their
    view, in numbers."""

    def values(name: str) -> NDArray[np.int64]:
        place = layout.places[name]
        size = int(np.prod(place.sizes, dtype=int))
        found: NDArray[np.int64] = columns[place.first : place.first + size].astype(np.int64)
        return found.reshape(*place.sizes, -1)

    fate, number = values("fate"), values("number")
    whole = np.ones_like(number)
    return fate[:, 0] == _members(layout, "fate").index("OPEN"), {
        "phase": whole * values("phase"),
        "outcome": whole * values("outcome"),
        "behind": np.minimum(values("epoch") - number, BEYOND),
        "listed": whole * values("parts")[0],
        "result": values("result"),
    }


def seen_in(layout: Layout, columns: Columns, row: int) -> Iterator[Seen]:
    """Yield what an operator sees of each open transaction in one state."""
    opened, fields = views(layout, columns[:, row : row + 1])
    for txn in np.flatnonzero(opened[:, 0]):
        at: dict[str, Any] = {name: int(values[txn, 0]) for name, values in fields.items()}
        for name in ENUMERATED:
            at[name] = _members(layout, name)[at[name]]
        yield Seen(**at | {"listed": bool(at["listed"])})


def _fits(layout: Layout, columns: Columns, seen: Seen) -> NDArray[np.bool_]:
    fits, fields = views(layout, columns)
    for name, wanted in seen._asdict().items():
        if wanted is not None:
            value = _members(layout, name).index(wanted) if name in ENUMERATED else int(wanted)
            np.logical_and(fits, fields[name] == value, out=fits)
    some: NDArray[np.bool_] = np.logical_or.reduce(fits, axis=0)
    return some


def _members(layout: Layout, variable: str) -> tuple[str, ...]:
    kind = layout.spec.types[variable]
    kind = kind.value if isinstance(kind, MapType) else kind
    assert isinstance(kind, EnumType)
    return kind.members


def _states(reached: Exploration) -> Iterator[tuple[int, int, Columns]]:
    """Yield depth, first row, and the fields of the states of each block, a column for each state."""
    for depth, level in enumerate(reached.states):
        for row in range(0, sets.size(level), BLOCK):
            yield depth, row, _fields(reached.kernels, sets.to_words(sets.part(level, row, row + BLOCK)))


def _future(
    spec: Spec, asked: Mapping[str, Property], kernels: Kernels, every: Columns, decision: str, most: int
) -> Future:
    after = _decided(kernels, every, decision)
    if not after.shape[1]:
        return Future(decision, (), 0, True, possible=False)
    bounds, made = kernels.ground.bounds, kernels.ground
    found = explore(spec, asked, bounds, start=Starts(after), stop_when_violated="all", max_states=most)
    breaks = []
    for name in found.violated:
        steps, broken = found.traces.steps(name), 0
        if not steps:
            (holds,) = conditions(kernels.packing, [made.always[name]])(_words(kernels, after))
            broken = int(np.sum(~np.broadcast_to(holds, after.shape[1])))
        breaks.append(Break(name, asked[name].rule or "", steps, broken == after.shape[1], found.traces[name]))
    breaks.sort(key=lambda each: each.steps)
    return Future(decision, tuple(breaks), found.distinct, found.complete or len(breaks) == len(asked))


def _decided(kernels: Kernels, every: Columns, decision: str) -> Columns:
    """Return the states after the decision, from each state that allows it, with no further decision."""
    action, parameters = DECISIONS[decision]
    spent = kernels.ground.layout.budgets["interventions"]
    every = every.copy()
    every[spent] = action is None
    if action is None:
        return every
    fits = [
        number for number, each in enumerate(kernels.instances)
        if each.action == action and parameters.items() <= each.parameters.items()
    ]  # fmt: skip
    found = [every[:, :0]]
    for start in range(0, every.shape[1], BLOCK):
        words = _words(kernels, every[:, start : start + BLOCK])
        made = Expansion(kernels, sets.to_set_order(words))
        rows = np.flatnonzero(np.isin(made.instances, fits))
        found.append(_fields(kernels, tuple(word[rows] for word in made.words)))
    after = np.concatenate(found, axis=1)
    after[spent] = 1
    return after


def _words(kernels: Kernels, fields: Columns) -> Words:
    size = fields.shape[1]
    return tuple(np.broadcast_to(word, size).astype(np.uint64) for word in kernels.packing.pack(fields))


def _fields(kernels: Kernels, words: Words) -> Columns:
    size = len(words[0])
    return np.array([np.broadcast_to(field, size).astype(np.uint64) for field in kernels.packing.unpack(words)])
