"""This module finds, among all shortest runs to a violation or witness, one that switches least often between
processes.

Many shortest runs differ in how the steps of their processes interleave, and in which steps these are. A run in which
each process goes on for as long as it can is the easiest to read, and testers of concurrent programs ask for it. The
levels of a search contain all these runs. Levels are expanded once more, from the last one back, and in each level only
states are retained from which a wanted state is reached in as many steps as are left.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.properties import Property
from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.exploration import Exploration, Start
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.traces import BLOCK, Expansion
from fencepost.proofs.results import Event, Trace

MOST = 300_000
"""At most this many steps between states, and at most as many final states, are considered. None of 205 known
violations of variants has more, and the slowest search takes 0.2 seconds."""
Key = tuple[int, ...]
LaneOf = Callable[[Event], str]


@dataclass(frozen=True)
class FewestSwitches:
    """A `FewestSwitches` has a run, its number of switches between processes, and the number of shortest runs from
    which it was chosen. ``of_all`` is true if these are all shortest runs to the goal, and false if only those with the
    same last step."""

    trace: Trace
    changes: int
    runs: int
    of_all: bool


@dataclass
class _Node:
    """A `_Node` is a state on shortest runs. ``after`` has its steps, each as an instance and a node of the next level.
    ``best`` has, by the process of the step that led here, the fewest switches up to here, and the node and step
    before."""

    key: Key
    after: list[tuple[int, "_Node"]] = field(default_factory=list)
    best: dict[str, tuple[int, "_Node | None", int, str]] = field(default_factory=dict)
    runs: int = 0


def changes_of_process(lanes: Sequence[str]) -> int:
    return sum(a != b for a, b in pairwise(lanes))


def fewest_switches(made: Exploration, asked: Property, lane_of: LaneOf, most: int = MOST) -> FewestSwitches | None:
    """Return, among the runs as short as the property's trace, one with the fewest switches, or None if there are more
    than ``most`` steps to consider. ``made`` must be a search that ended when the property was broken or reached."""
    trace, kernels = made.traces[asked.name], made.kernels
    steps = len(trace)
    by_state = asked.kind != "step" and not isinstance(asked, Refinement)
    if kernels.symmetry is not None or kernels.partial_order is not None:
        return None  # the levels lack some states and shortest runs
    if not steps:
        return FewestSwitches(trace, 0, 1, by_state)
    last = steps if by_state else steps - 1
    ends = _witness(made, asked.name, last, most) if by_state else [_key_of(made, last, trace)]
    levels = None if ends is None else _runs_to(made, ends, last, most)
    if levels is None:
        return None
    lanes = [lane_of(instance.event) for instance in kernels.instances]
    _walk(levels, lanes)
    ending = None if by_state else lane_of(trace.events[-1])
    reached = [
        (cost + (ending is not None and lane not in ("", ending)), node, lane)
        for node in levels[-1]
        for lane, (cost, *_) in node.best.items()
    ]
    changes, node, lane = min(reached, key=lambda one: (one[0], one[1].key, one[2]))
    path, events = [node], list[Event]()
    while True:
        _, previous, number, came = path[-1].best[lane]
        if previous is None:
            break
        events.append(kernels.instances[number].event)
        path.append(previous)
        lane = came
    states = [kernels.ground.decode(kernels.packing.unpack(list(one.key))) for one in reversed(path)]
    events.reverse()
    if not by_state:
        states.append(trace.states[-1])
        events.append(trace.events[-1])
    return FewestSwitches(Trace(tuple(states), tuple(events)), changes, sum(one.runs for one in levels[-1]), by_state)


def _witness(made: Exploration, name: str, depth: int, most: int) -> list[Key] | None:
    level, found = made.states[depth], list[int]()
    start, size = 0, sets.size(level)
    while start < size and len(found) <= most:
        first = _first(made, name, sets.part(level, start, size))
        if first is None:
            break
        found.append(start + first)
        start = found[-1] + 1
    return None if len(found) > most else _keys(sets.to_words(sets.pick(level, np.array(found, np.int64))))


def _first(made: Exploration, name: str, states: Words) -> int | None:
    rows: dict[str, int] = {}

    def take_row(prop: int, row: int) -> None:
        rows.setdefault(made.kernels.states[prop], row)

    made.kernels.check(sets.to_words(states), take_row)
    return rows.get(name)


def _key_of(made: Exploration, depth: int, trace: Trace) -> Key:
    ground = made.kernels.ground
    spent = Counter(ground.spec.actions[event.action].budget for event in trace.events[:depth])
    budgets = {budget: number for budget, number in spent.items() if budget is not None}
    return made.kernels.packing.pack(Start(trace.states[depth], budgets).fields(ground.layout))


def _keys(words: Words) -> list[Key]:
    return list(zip(*(word.tolist() for word in words), strict=True))


def _runs_to(made: Exploration, ends: Sequence[Key], last: int, most: int) -> list[list[_Node]] | None:
    """Return, by level, the states from which an end is reached in as many steps as are left, with those steps."""
    nodes = {key: _Node(key) for key in ends}
    levels, seen = [list(nodes.values())], 0
    for depth in range(last - 1, -1, -1):
        wanted = np.array(sorted(key[0] for key in nodes), np.uint64)
        before: dict[Key, _Node] = {}
        level = made.states[depth]
        for start in range(0, sets.size(level), BLOCK):
            block = sets.part(level, start, start + BLOCK)
            expanded = Expansion(made.kernels, block)
            near = np.isin(expanded.words[0], wanted).nonzero()[0]
            if not near.size:
                continue
            seen += near.size
            if seen > most:
                return None
            own = sets.to_words(block)
            rows = expanded.rows[near]
            reached = _keys(tuple(word[near] for word in expanded.words))
            from_ = _keys(tuple(word[rows] for word in own))
            for key, source, number in zip(reached, from_, expanded.instances[near].tolist(), strict=True):
                if key in nodes:
                    before.setdefault(source, _Node(source)).after.append((number, nodes[key]))
        nodes = before
        levels.append(list(nodes.values()))
    return levels[::-1]


def _walk(levels: Sequence[Sequence[_Node]], lanes: Sequence[str]) -> None:
    for node in levels[0]:
        node.best[""], node.runs = (0, None, -1, ""), 1
    for level in levels[:-1]:
        for node in sorted(level, key=lambda one: one.key):
            for number, after in sorted(node.after, key=lambda one: one[0]):
                lane = lanes[number]
                cost, came = min((cost + (came not in ("", lane)), came) for came, (cost, *_) in node.best.items())
                if lane not in after.best or cost < after.best[lane][0]:
                    after.best[lane] = (cost, node, number, came)
                after.runs += node.runs
