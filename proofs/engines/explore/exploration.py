"""This module explores every reachable state of a protocol within bounds, and decides its properties.

``explore(spec, properties, {"brokers": 2, …})`` returns an `Exploration` with counts, with verdicts and their shortest
traces, and with the steps that the bounds cut off.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.explore import memory
from fencepost.proofs.engines.explore.checkpoint import Checkpoint
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words, pack_fields
from fencepost.proofs.engines.explore.presences import Presences
from fencepost.proofs.engines.explore.search import Found, OutOfMemory, Search
from fencepost.proofs.engines.explore.traces import Traces, trace_step, trace_to
from fencepost.proofs.readings.ground import Bounds, evaluate, ground
from fencepost.proofs.readings.ground.layout import Layout, lay_out
from fencepost.proofs.results import State, Trace, Verdict
from numpy.typing import NDArray


@dataclass(frozen=True)
class Progress:
    """A `Progress` has the figures that the callback gets after each level. ``warning`` states that memory may run out,
    or why the search stopped. ``decided`` has the properties on which there is a verdict by now."""

    depth: int
    distinct: int
    generated: int
    frontier: int
    seconds: float
    predicted_bytes: int
    warning: str | None = None
    decided: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass
class Exploration:
    """An `Exploration` is the result of a search. ``levels[d]`` is the number of states first reached in d steps,
    ``states[d]`` has those states, packed, and ``depth`` counts levels.

    In ``verdicts``, always and step properties hold, are violated, or are unknown if the search was incomplete. A
    witness holds if it was found. ``traces`` has a shortest trace of each violated property and of each witness found.
    ``taken`` and ``cut`` count, for each action, the steps and the steps not taken because they left the bounds, and
    ``instances`` counts the steps of each instance of an action. ``deadlocks`` counts the states that no action could
    leave, bounds aside. ``generated`` counts all steps and the start.

    ``first`` has, by action, the fewest steps of a run that ends with it. ``met`` has, by the name of the condition
    (`Spec.presences`), the fewest steps of a run to a state in which a danger is present. ``seconds`` is the time of
    the search, and ``compile_seconds`` that of grounding and compiling before it. ``resumed`` is the number of states
    that an earlier search had stored.
    """

    kernels: Kernels
    states: list[Words]
    levels: list[int]
    distinct: int = 0
    generated: int = 1
    seconds: float = 0.0
    compile_seconds: float = 0.0
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    traces: Traces = field(default_factory=Traces)
    taken: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    instances: list[int] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)
    met: dict[str, int] = field(default_factory=dict)
    deadlocks: int = 0
    complete: bool = True
    resumed: int = 0
    stopped: str | None = None

    @property
    def depth(self) -> int:
        return len(self.levels)

    @property
    def violated(self) -> list[str]:
        return [name for name, verdict in self.verdicts.items() if verdict == "violated"]


READY_FROM = 100_000
"""From this many states on, the compiled search takes over unasked, if its code is in the cache."""
COMPILED_FROM = 3_000_000
"""From this many states on, or a multiple for more source, the compiled search is compiled and takes over."""
Callback = Callable[[Progress], None]


@dataclass(frozen=True)
class Start:
    """A `Start` is a state from which to search. ``spent`` is how much of each budget a run to that state has used."""

    state: State
    spent: Mapping[str, int] = field(default_factory=dict)

    def fields(self, layout: Layout) -> tuple[int, ...]:
        values = layout.encode(self.state)
        for budget, index in layout.budgets.items():
            values[index] = self.spent.get(budget, 0)
        return tuple(values)


@dataclass(frozen=True)
class Starts:
    """A `Starts` is several states from which to search at once, with a row for each field of the layout, budgets
    included, and a column for each state."""

    columns: NDArray[np.uint64]


def explore(
    spec: Spec, properties: Mapping[str, Property], bounds: Bounds, *,
    max_states: int | None = None, memory_limit: int | None = None, threads: int | None = None,
    engine: str = "numpy", progress: Callback | None = None, stop_when_violated: bool | Literal["all"] = False,
    max_depth: int | None = None, start: Start | Starts | None = None, checkpoint: Path | None = None,
    symmetry: bool = False, partial_order: bool = False,
) -> Exploration:  # fmt: skip
    """Search breadth first until nothing is new, ``max_states`` are exceeded, or memory would run out, which is limited
    to ``memory_limit`` bytes or 80 % of what is free. The search begins at the initial state, or at ``start``, in which
    case the initial conditions of step properties are not checked, and the first level has all of them.

    ``spec`` must be settled. ``stop_when_violated`` ends the search after the level that first breaks an always or step
    property, or ``"all"`` of them, and ``max_depth`` ends it after that many steps. ``engine`` is "numpy", "numba"
    (extra ``fast``), which compiles for seconds and is then several times faster, or "auto", which begins with the
    former and goes on with the latter where that is available and pays. Counts, verdicts and traces are the same.
    Progress properties are not decided here, but by ``fencepost.proofs.engines.progress``.

    ``checkpoint`` is a directory in which levels are files, from which an interrupted search goes on. ``symmetry``
    stores one of the states that differ only in the names of interchangeable elements. Runs then have their real names,
    counts are of the stored states, and progress cannot be judged. ``partial_order`` leaves out steps that no requested
    property can distinguish from the same steps in another order. Verdicts and lengths of runs stay the same,
    everything else is about the steps that were taken, and neither refinements nor progress can be judged. Errors:
    BoundsError for bounds that are missing or too large to pack.
    """
    began = time.perf_counter()
    # Bounds too large to pack are refused first, because grounding every action under them can take minutes.
    pack_fields(spec.name, lay_out(spec, bounds).fields)
    made = ground(spec, properties, bounds)
    if start is not None:
        made.initially = {}
    if isinstance(start, Start):
        made.initial = start.fields(made.layout)
    kernels = Kernels(made, properties.values() if symmetry else None, partial_order=partial_order)
    if isinstance(start, Starts):
        kernels.starts = start.columns
    limit = memory_limit or memory.default_limit()
    cores = threads or _cores()
    result = Exploration(kernels, [], [])
    with ExitStack() as open_now:
        disk = None if checkpoint is None else open_now.enter_context(closing(Checkpoint(checkpoint, kernels)))
        search = open_now.enter_context(_engine(engine)(kernels, cores, limit, disk))
        handing = _Handing(kernels, engine)
        wanted = len(kernels.ground.always) + len(kernels.ground.steps) if stop_when_violated == "all" else 1
        enough = _Enough(max_states, max_depth, wanted if stop_when_violated else None)
        ready = time.perf_counter()
        _run(search, result, handing, start=ready, enough=enough, progress=progress)
    _conclude(result)
    result.compile_seconds = ready - began + handing.seconds
    result.seconds = time.perf_counter() - ready - handing.seconds
    return result


def _cores() -> int:
    """Return how many threads to use, which is one in a worker process, such as those of `jobs`."""
    if multiprocessing.parent_process() is not None:
        return 1
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _engine(name: str) -> type[Search]:
    if name in ("numpy", "auto"):
        return Search
    if name == "numba":
        from fencepost.proofs.engines.explore.compiled_search.compiled import CompiledSearch

        return CompiledSearch
    raise ValueError(f"engine {name!r} is unknown; use 'numpy', 'numba' or 'auto'")


class _Handing:
    """A `_Handing` decides when the compiled search takes over, and measures in ``seconds`` its preparation."""

    def __init__(self, kernels: Kernels, engine: str) -> None:
        self.kernels, self.seconds = kernels, 0.0
        self._next: int | None = READY_FROM if engine == "auto" else None
        self._compile = False

    def over(self, search: Search, sizes: list[int]) -> Search:
        """Return the search to go on with, after levels of the given sizes."""
        if self._next is None or sum(sizes) < self._next or sizes[-1] < sizes[-2]:
            return search
        from fencepost.proofs.engines.explore.compiled_search.compiled import (
            CompiledSearch,
            effort,
            is_possible,
            was_compiled,
        )

        began, self._next = time.perf_counter(), None
        if is_possible(search.kernels):
            if self._compile or was_compiled(self.kernels):
                search = CompiledSearch.taking_over(search)
            else:
                self._next, self._compile = int(COMPILED_FROM * effort(self.kernels)), True
        self.seconds += time.perf_counter() - began
        return search

    def back(self, search: Search) -> Search | None:
        """Return the search that needs less memory, if this one has too little and its levels are on disk."""
        if search.disk is None or type(search) is Search:
            return None
        self._next = None
        made = Search(self.kernels, search.threads, search.memory_limit, search.disk)
        made.take_over(search)
        return made


@dataclass(frozen=True)
class _Enough:
    states: int | None
    depth: int | None
    violated: int | None


def _run(
    search: Search, result: Exploration, handing: _Handing, *, start: float, enough: _Enough, progress: Callback | None
) -> None:
    result.states = search.levels
    presences = Presences(result.kernels)
    settle_initial(result)
    settle_found(result, search.check())
    presences.look(search.levels[-1], 0, result.met)
    for level, record in search.disk.levels() if search.disk is not None else ():
        _settle(search, result, search.restore(level, record), presences)
    result.resumed = search.distinct if len(search.levels) > 1 else 0
    while sizes := [len(level[0]) for level in search.levels]:
        predicted = search.predict(sizes)
        result.stopped = _reason(search, result, predicted, enough)
        if progress is not None:
            warning = result.stopped or _warning(predicted, search.memory_limit)
            spent = time.perf_counter() - start - handing.seconds
            decided = dict(result.verdicts)
            progress(Progress(len(sizes), sum(sizes), search.generated, sizes[-1], spent, predicted, warning, decided))
        if not sizes[-1]:
            break
        if result.stopped:
            if not (predicted > search.memory_limit and (back := handing.back(search))):
                break
            search, result.stopped = back, None
            continue
        search = handing.over(search, sizes)
        if (reduced := result.kernels.partial_order) is not None:
            reduced.ask(name for name in reduced.goals if name not in result.verdicts)
        try:
            found = search.step()
        except OutOfMemory:
            if back := handing.back(search):
                search = back
                continue
            result.stopped = f"memory: level {len(sizes)} does not fit into {search.memory_limit >> 20} MB"
            break
        if search.disk is not None:
            search.disk.known(search.record(found))
        _settle(search, result, found, presences)
    if not len(search.levels[-1][0]):
        search.levels.pop()
    result.levels = [len(level[0]) for level in search.levels]
    result.distinct, result.generated, result.deadlocks = search.distinct, search.generated, search.tally.stuck
    result.complete = result.stopped is None
    count_actions(result, search.tally.taken, search.tally.cut)


def _settle(search: Search, result: Exploration, found: Found, presences: Presences) -> None:
    _note_first(result, search.tally.taken)
    settle_found(result, found)
    settle_found(result, search.check())
    presences.look(search.levels[-1], len(search.levels) - 1, result.met)


def _note_first(result: Exploration, taken: list[int]) -> None:
    for instance, steps in zip(result.kernels.instances, taken, strict=True):
        if steps:
            result.first.setdefault(instance.action, len(result.states) - 1)


def _reason(search: Search, result: Exploration, predicted: int, enough: _Enough) -> str | None:
    if not len(search.levels[-1][0]):
        return None
    if enough.violated is not None and len(result.violated) >= enough.violated:
        return f"{result.violated[0]} is violated"
    if enough.states is not None and search.distinct > enough.states:
        return f"more than {enough.states} states"
    if enough.depth is not None and len(search.levels) > enough.depth:
        return f"more than {enough.depth} steps"
    if predicted > search.memory_limit:
        return f"memory: the next level would take about {predicted >> 20} MB of {search.memory_limit >> 20} MB"
    return None


def _warning(predicted: int, limit: int) -> str | None:
    return (
        f"the next level will take about {predicted >> 20} MB of {limit >> 20} MB" if predicted > limit // 2 else None
    )


def settle_initial(result: Exploration) -> None:
    """Record the verdicts of step properties on the initial state."""
    made = result.kernels.ground
    for name, node in made.initially.items():
        if not evaluate([node], made.initial)[0]:
            result.verdicts[name] = "violated"
            result.traces.add(name, 0, lambda: Trace((made.decode(made.initial),), ()))


def settle_found(result: Exploration, found: Found) -> None:
    """Record the verdicts that a level decided, each with its trace. Properties decided before keep their traces."""
    kernels, levels, depth = result.kernels, result.states, len(result.states) - 1
    for number, row in found.state.items():
        name = kernels.states[number]
        if name not in result.verdicts:
            result.verdicts[name] = "violated" if name in kernels.ground.always else "holds"
            result.traces.add(name, depth, partial(trace_to, kernels, levels, depth, row))
    for number, (row, instance) in found.step.items():
        name = kernels.steps[number]
        if name not in result.verdicts:
            result.verdicts[name] = "violated"
            # A step of the level before the newest, whether or not it led to a new state.
            result.traces.add(name, depth, partial(trace_step, kernels, levels, depth - 1, row, instance))


def count_actions(result: Exploration, taken: list[int], cut: list[int]) -> None:
    names = result.kernels.ground.spec.actions
    result.instances = list(taken)
    result.taken, result.cut = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for instance, steps, lost in zip(result.kernels.instances, taken, cut, strict=True):
        result.taken[instance.action] += steps
        result.cut[instance.action] += lost


def _conclude(result: Exploration) -> None:
    made = result.kernels.ground
    for name in (*made.always, *made.steps):
        result.verdicts.setdefault(name, "holds" if result.complete else "unknown")
    for name in made.sometimes:
        result.verdicts.setdefault(name, "violated" if result.complete else "unknown")
