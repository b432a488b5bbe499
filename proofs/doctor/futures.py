"""This module explores what may follow from an open transaction, if it is left alone, or an operator decides it.

An operator does not see all of a state: not what is under way in the network, nor what a producer has been answered. So
a view is loaded as every state, reachable in the model within the bounds, of which an operator sees the same. From all
of these the model is explored breadth-first, after each decision that the operator can take.

A view has one partition, with two transactions before it, or two partitions of one transaction, so that it may be torn
(txn.P2). Two partitions and two transactions have millions of states. So of a view of two partitions the states are
sought with one transaction; if none fits, also with a second one, which begins when the first is over but still open in
the partition that hangs, and without a further fault. From what fits, the futures have two transactions again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Protocol, Spec, combined
from fencepost.model.language.tree.types import EnumType, MapType
from fencepost.model.releases import each_of
from fencepost.model.transactions.abstract.away import Operated
from fencepost.model.transactions.abstract.cores import LateMarkerCore, Prompt
from fencepost.model.two_phase.core import TwoPhase
from fencepost.model.two_phase.mistakes import Operated as Decided
from fencepost.proofs.engines.explore import Exploration, Starts, explore, sets
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.traces import Expansion, runs_to, trace_to
from fencepost.proofs.readings.ground import Ground, ground
from fencepost.proofs.readings.ground.layout import Layout
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import Variant, find
from fencepost.properties.transactions.claims.core import Promises
from numpy.typing import NDArray

BLOCK = 1 << 14
MOST_STATES = 2_000_000
MOST_LATER = 300_000
"""So many states are looked at for a later transaction that is under way, which takes it few steps, and not all."""
BEYOND = 2
"""An operator's view has whether a coordinator is 0, 1, or this many epochs or more ahead of the transaction."""
QUIET = dict(clients=2, transactions=2, partitions=1, fail_overs=0, fences=0)
PAIR = dict(partitions=2, transactions=1)
LATE_PAIR = dict(partitions=2, clients=1)
"""A marker that comes late is of an earlier transaction, so that there are two, of one client."""
FAULTS = ("absences", "tails", "restarts", "expiries")
VARIANTS = {
    "2": ("transaction-partitions/parked-v2", "transaction-partitions/dropped-v2", "transaction-partitions/unclean-v2"),
    "1": (
        "transaction-partitions/parked-v1-verified-prompt", "transaction-partitions/dropped-v1",
        "transaction-partitions/unclean-v1", "transactions/v1-hanging",
    ),
}  # fmt: skip
"""By transaction version, these variants have what can go wrong with an open transaction in one partition."""
LATE = {"2": "transactions/v2-before-kip-1228", "1": "transactions/v1-late-marker"}
"""By transaction version, in these variants a marker that comes late decides the next transaction."""
Columns = NDArray[np.uint64]
"""`Columns` has a row for each field of a layout, and a column for each state."""
COMMIT, ABORT, LEFT, FENCED = "commit", "abort", "left alone", "fenced"
COMMIT_BOTH, ABORT_BOTH = "commit both", "abort both"
Steps = tuple[tuple[str, Mapping[str, Any]], ...]
DECISIONS: Mapping[str, Steps] = {
    COMMIT: (("intervene", {"p": 0, "commit": True}),), ABORT: (("intervene", {"p": 0, "commit": False}),),
    FENCED: (("take_over", {}),), LEFT: (),
}  # fmt: skip
"""These are the operator's decisions, each with the steps of the model that it is: a marker of the operator's own, or a
new producer's InitProducerId for the transactional id, or no step."""
OF_BOTH: Mapping[str, Steps] = {
    COMMIT_BOTH: tuple(("intervene", {"p": p, "commit": True}) for p in (0, 1)),
    ABORT_BOTH: tuple(("intervene", {"p": p, "commit": False}) for p in (0, 1)),
}
"""These are further decisions where the transaction is open in two partitions."""
NOT_RETAINED = "two-phase/not-retained"
"""This variant has two-phase commit as releases have it that know it (939.26)."""
TWO_PHASE = dict(
    clients=2, transactions=1, partitions=1, epochs=3, fail_overs=0, fences=0, forced=0, changes=0, losses=0,
)  # fmt: skip
STORED = ("COMMIT", "ABORT", "NONE")
"""This is what the outside store may have of a transaction, members of `Outcome`."""
RETAINED, RESUMED, TERMINATED, STOPPED = "retained", "resumed", "terminated", "stopped and terminated"
IN_TWO_PHASES: Mapping[str, Steps] = {
    RETAINED: tuple((step, {}) for step in ("restart", "retain", "complete_transaction", "end_retained")),
    RESUMED: (("resume", {}), ("end", {})), TERMINATED: (("terminate", {}),),
    STOPPED: (("stop", {}), ("terminate", {})), FENCED: (("restart", {}), ("retain", {})), LEFT: (),
}  # fmt: skip
"""These are the decisions about a transaction that an outside coordinator decides: a new producer retains it and does
what the store says; EndTxn with commit under its own id and epoch; forceTerminateTransaction at once, or once its
producers are stopped; and a new producer of its id as the release has it."""


class Other(NamedTuple):
    """An `Other` is what an operator sees of the transaction in one more partition: its `fate` there, a member of
    `Fate`, and whether the coordinator's transaction has that partition. None is unknown."""

    fate: str | None
    listed: bool | None


class Seen(NamedTuple):
    """A `Seen` is what an operator sees of a transaction that is open in a partition.

    `phase` and `outcome` are the coordinator's, the latter of what is prepared or ended last; `behind` is by how many
    epochs the coordinator is ahead, `BEYOND` at most; `listed` whether the coordinator's transaction has the partition,
    and waits for its marker if it is prepared. `result` is the outcome in the transaction's own Prepare record. The
    values are names of members of `Phase` and `Outcome`. Where one is None it is not known, and every possible value is
    explored. `other` is of a second partition, if one is looked at, and `store` what the outside store has, a member of
    `Outcome`, if it is a transaction without time-out that is asked about."""

    phase: str
    outcome: str | None
    behind: int | None
    listed: bool | None
    result: str | None = None
    other: Other | None = None
    store: str | None = None

    @property
    def both(self) -> bool:
        """Whether the transaction is open in two partitions."""
        return self.other is not None and self.other.fate == "OPEN"


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
    """A `Loaded` is the view in one model: how many states were reached, how many of these fit, a shortest run to one,
    and the futures. Where no state fits, the model of this release does not reach what is seen within the bounds.
    `store` is what the outside store has, a member of `Outcome`, or empty for a transaction that has a time-out."""

    model: Model
    bounds: Mapping[str, int]
    reached: int
    fitting: int
    came: tuple[Event, ...]
    futures: tuple[Future, ...]
    complete: bool
    store: str = ""


@dataclass(frozen=True)
class Model:
    """A `Model` is a variant of the catalogue by name, with the faults that may come before what is seen. `late` is the
    transaction version whose partitions take a marker that comes late, or empty."""

    name: str
    faults: tuple[tuple[str, int], ...] = ()
    late: str = ""

    @property
    def variant(self) -> Variant:
        found = find(self.name)[1]
        assert found is not None
        return found

    @property
    def two_phase(self) -> bool:
        return issubclass(self.variant.properties.protocol, TwoPhase)

    @property
    def protocol(self) -> type[Protocol]:
        own = self.variant.properties.protocol
        late = (LateMarkerCore,) if self.late == "1" else ()
        mixed = (Decided if self.two_phase else Operated, *late, own)
        return combined(*mixed)

    @property
    def spec(self) -> Spec:
        reading = find(LATE["2"])[1].reading if self.late == "2" else None  # type: ignore[union-attr]  # it is there
        return settle(self.protocol.spec, *reading or ())

    def bounds(self, seen: Seen) -> dict[str, int]:
        """Return bounds with room for the view, and for one more transaction after it; a fault may hit each partition
        in which it is open."""
        if self.two_phase:
            return TWO_PHASE | {"interventions": 1}
        epochs = (BEYOND if seen.behind is None else seen.behind) + (3 if self.late else 2)
        pair = {} if seen.other is None else LATE_PAIR if self.late else PAIR
        faults = {fault: 2 * size if seen.both else size for fault, size in self.faults}
        return QUIET | dict.fromkeys(FAULTS, 0) | pair | faults | {"epochs": epochs, "interventions": 1}

    def room(self, seen: Seen) -> dict[str, int]:
        """Return the bounds of what comes after the view: of one that is decided outside, no later transaction."""
        return self.bounds(seen) | ({} if self.two_phase else {"transactions": QUIET["transactions"]})


def models(release: str, version: str) -> list[Model]:
    """Return the models of a release (of `model.releases.NAMES`) and transaction version (1 or 2). In the first one no
    fault comes before what is seen, so that what it does not reach is more than a slow transaction. Raise InputError
    where the release does not have that version."""
    found = []
    for name in VARIANTS[version]:
        model = Model(name)
        if any(release in kafka.releases for kafka in each_of(model.variant.of)):
            sizes = model.variant.bounds["smoke"]
            found.append(Model(name, tuple((fault, sizes[fault]) for fault in FAULTS if sizes.get(fault))))
    if not found:
        raise InputError(
            f"brokers of Kafka {release} with transaction.version {version}, which that release does not have: the "
            "answers do not go together; are they of one cluster, and all of its brokers of one release?"
        )
    return [Model(found[0].name), *(model for model in found if model.variant.expected)]


def with_late_markers(model: Model, release: str, version: str) -> Model | None:
    """Return the model with markers that come late, where partitions of the release take these in this version."""
    variant = find(LATE[version])[1]
    assert variant is not None
    takes = any(release in kafka.releases for kafka in each_of(variant.of))
    prompt = version == "2" or issubclass(model.variant.properties.protocol, Prompt)  # otherwise it has them already
    return replace(model, late=version) if takes and prompt else None


class Reached(NamedTuple):
    """A `Reached` has the states that fit a view, with the layout of these, a shortest run to one, and of all states
    that were reached how many these were and whether they were all."""

    layout: Layout
    columns: Columns
    came: tuple[Event, ...]
    states: int
    complete: bool


@cache
def reached(model: Model, seen: Seen, *, max_states: int = MOST_STATES) -> Reached:
    """Return the states of a model that fit a view."""
    spec, bounds = model.spec, model.bounds(seen) | {"interventions": 0}
    first = explore(spec, {}, bounds, max_states=max_states)
    layout = first.kernels.ground.layout
    places, columns = _fitting(first, lambda each: _fits(layout, each, seen))
    came = runs_to(first.kernels, first.states, places[:1])[0] if places else ()
    found = Reached(layout, columns, tuple(came), first.distinct, first.complete)
    room = model.room(seen) | {"interventions": 0}
    return found if places or room == bounds else _with_a_later_one(spec, first, room, seen, max_states)


def _with_a_later_one(
    spec: Spec, first: Exploration, room: Mapping[str, int], seen: Seen, max_states: int
) -> Reached:  # fmt: skip
    """Return the states that fit once a later transaction goes on. The coordinator adds nothing of that until this one
    is over, so that it begins where this one is over and still open in a partition."""
    small = first.kernels.ground.layout
    opened, columns = _fitting(first, lambda each: _fits(small, each, Seen("IDLE", None, None, None)))
    made = ground(spec, {}, room)
    layout, starts = made.layout, _spent(made.layout, widened(made, small, columns))
    if not opened:
        return Reached(layout, starts, (), first.distinct, first.complete)
    second = explore(spec, {}, room, start=Starts(starts), max_states=min(max_states, MOST_LATER))
    places, columns = _fitting(second, lambda each: _fits(layout, each, seen))
    came: tuple[Event, ...] = ()
    if places:
        run = trace_to(second.kernels, second.states, *places[0])
        begin = _spent(layout, np.array(layout.encode(run.states[0]), np.uint64)[:, None])
        at = opened[int(np.flatnonzero((starts == begin).all(axis=0))[0])]
        came = (*runs_to(first.kernels, first.states, [at])[0], *run.events)
    complete = first.complete and second.complete
    return Reached(layout, columns, came, first.distinct + second.distinct, complete)


@cache
def futures(model: Model, seen: Seen, *, max_states: int = MOST_STATES) -> Loaded:
    """Load a view into a model, and explore what every decision may lead to, with no further fault."""
    fits, spec, room = reached(model, seen, max_states=max_states), model.spec, model.room(seen)
    found: list[Future] = []
    if fits.columns.shape[1]:
        claims = model.variant.properties if model.two_phase else Promises
        asked = {n: p for n, p in claims.asked_of(model.protocol).properties.items() if p.role in ("promise", "step")}
        kernels = Kernels(ground(spec, asked, room))
        every = _spent(kernels.ground.layout, widened(kernels.ground, fits.layout, fits.columns))
        decisions = IN_TWO_PHASES if model.two_phase else {**DECISIONS, **OF_BOTH} if seen.both else DECISIONS
        found = [_future(spec, asked, kernels, every, each, max_states) for each in decisions.items()]
    return Loaded(
        model, model.bounds(seen), fits.states, fits.columns.shape[1], fits.came, tuple(found), fits.complete,
        seen.store or "",
    )  # fmt: skip


def widened(larger: Ground, layout: Layout, columns: Columns) -> Columns:
    """Return states where there are more elements, with which nothing has happened yet. No budget is spent."""
    found = np.repeat(np.array(larger.initial, np.uint64)[:, None], columns.shape[1], axis=1)
    for name, place in layout.places.items():
        there = larger.layout.places[name]
        for row, index in enumerate(np.ndindex(*place.sizes)):
            at = int(np.ravel_multi_index(index, there.sizes)) if index else 0
            found[there.first + at] = columns[place.first + row]
    return found


def _spent(layout: Layout, columns: Columns) -> Columns:
    """Return the states where whatever faults were left do not happen any more."""
    columns = columns.copy()
    for index in layout.budgets.values():
        columns[index] = layout.fields[index].high
    return columns


def _fitting(
    found: Exploration, fits: Callable[[Columns], NDArray[np.bool_]]
) -> tuple[list[tuple[int, int]], Columns]:  # fmt: skip
    """Return the states that fit, each with its depth and row."""
    layout, places = found.kernels.ground.layout, list[tuple[int, int]]()
    columns = [np.zeros((len(layout.fields), 0), np.uint64)]
    for depth, row, each in _states(found):
        rows = np.flatnonzero(fits(each))
        places += [(depth, row + at) for at in rows.tolist()]
        columns.append(each[:, rows])
    return places, np.concatenate(columns, axis=1)


ENUMERATED = {name: name for name in ("phase", "outcome", "result", "fate")} | {"store": "decision"}
"""These fields of a view have members of enumerations, those of these variables."""


def values(layout: Layout, columns: Columns, name: str) -> NDArray[np.int64]:
    """Return a variable in some states (columns), with an axis for each of its keys before that of the states."""
    place = layout.places[name]
    size = int(np.prod(place.sizes, dtype=int))
    found: NDArray[np.int64] = columns[place.first : place.first + size].astype(np.int64)
    return found.reshape(*place.sizes, -1)


def views(layout: Layout, columns: Columns) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.int64]]]:
    """Return which transactions (rows) of some states (columns) are open in the partition, and each field of their
    view, in numbers."""
    at = partial(values, layout, columns)
    fate, number = at("fate"), at("number")
    whole = np.ones_like(number)
    waits = at("parts") & ~at("marked") & 1
    fields = {
        "phase": whole * at("phase"),
        "outcome": whole * at("outcome"),
        "behind": np.minimum(at("epoch") - number, BEYOND),
        "listed": whole * waits[0],
        "result": at("result"),
    }
    if fate.shape[1] > 1:
        fields |= {"fate": fate[:, 1], "other": whole * waits[1]}
    if "decision" in layout.places:
        fields |= {"store": at("decision"), "bound": at("bound")}
    return fate[:, 0] == members(layout, "fate").index("OPEN"), fields


def fitting(layout: Layout, columns: Columns, seen: Seen) -> NDArray[np.bool_]:
    """Return which transactions (rows) of some states (columns) look so."""
    fits, fields = views(layout, columns)
    asked = {name: wanted for name, wanted in seen._asdict().items() if name != "other"}
    if seen.other is not None:
        asked |= {"fate": seen.other.fate, "other": seen.other.listed}
    if seen.store is not None:
        asked |= {"bound": True}
    for name, wanted in asked.items():
        if wanted is not None:
            value = members(layout, ENUMERATED[name]).index(wanted) if name in ENUMERATED else int(wanted)
            np.logical_and(fits, fields[name] == value, out=fits)
    return fits


def _fits(layout: Layout, columns: Columns, seen: Seen) -> NDArray[np.bool_]:
    some: NDArray[np.bool_] = np.logical_or.reduce(fitting(layout, columns, seen), axis=0)
    return some


def members(layout: Layout, variable: str) -> tuple[str, ...]:
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
    spec: Spec, asked: Mapping[str, Property], kernels: Kernels, every: Columns, decision: tuple[str, Steps], most: int
) -> Future:
    name, steps = decision
    after = _decided(kernels, every, steps)
    if not after.shape[1]:
        return Future(name, (), 0, True, possible=False)
    bounds, made = kernels.ground.bounds, kernels.ground
    found = explore(spec, asked, bounds, start=Starts(after), stop_when_violated="all", max_states=most)
    breaks = []
    for promise in found.violated:
        depth, broken = found.traces.steps(promise), 0
        if not depth:
            (holds,) = conditions(kernels.packing, [made.always[promise]])(_words(kernels, after))
            broken = int(np.sum(~np.broadcast_to(holds, after.shape[1])))
        rule = asked[promise].rule or ""
        breaks.append(Break(promise, rule, depth, broken == after.shape[1], found.traces[promise]))
    breaks.sort(key=lambda each: each.steps)
    return Future(name, tuple(breaks), found.distinct, found.complete or len(breaks) == len(asked))


def _decided(kernels: Kernels, every: Columns, steps: Steps) -> Columns:
    """Return the states after the decision, from each state that allows it, with no further decision."""
    spent = kernels.ground.layout.budgets["interventions"]
    for action, parameters in steps:
        every = every.copy()
        every[spent] = 0
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
        every = np.concatenate(found, axis=1)
    every = every.copy()
    every[spent] = 1
    return every


def _words(kernels: Kernels, fields: Columns) -> Words:
    size = fields.shape[1]
    return tuple(np.broadcast_to(word, size).astype(np.uint64) for word in kernels.packing.pack(fields))


def _fields(kernels: Kernels, words: Words) -> Columns:
    size = len(words[0])
    return np.array([np.broadcast_to(field, size).astype(np.uint64) for field in kernels.packing.unpack(words)])
