"""Starts: runs of the model as it should be, from which a random search may set out.

The explorer goes through millions of states in seconds; random steps come to few of them, and to the deep ones hardly
ever.  So some of its states are taken, each with a run that leads there: from all depths, as different from one another
as they come; or those in which a promise is nearest to being broken, or a witness to being reached.  A mistake that is
looked for needs a run that comes close already.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.proofs.engines.explore import Exploration, explore, sets
from fencepost.proofs.engines.explore.emit import columns
from fencepost.proofs.engines.explore.traces import runs_to, state_at
from fencepost.proofs.engines.simulate.distance import lower
from fencepost.proofs.results import Event, State

CANDIDATES = 8
"""States looked at for each one that is taken."""
BLOCK = 1 << 15

Run = tuple[Event, ...]
Place = tuple[int, int]
"""Level and row."""


@dataclass(frozen=True)
class Starts:
    """``runs`` from the initial state, the first of them empty; ``explored``: how many states they were taken from."""

    runs: tuple[Run, ...]
    explored: int


def starts(
    spec: Spec, near: Mapping[str, Property], bounds: Mapping[str, int], number: int, seed: int,
    max_states: int = 5_000_000,
) -> Starts:  # fmt: skip
    """Runs to states among the first ``max_states``, beside the empty one: one in eight from all depths, the
    others (all properties alike) to states that are ``near`` to what is sought of a property."""
    made, random = explore(spec, {}, bounds, max_states=max_states), np.random.default_rng(seed)
    taken = set[object]()
    of_states = {n: p for n, p in near.items() if p.kind != "step"}
    share = number // 8 if of_states else number
    depths = np.linspace(1, made.depth - 1, share).round().astype(int).tolist() if made.depth > 1 else []
    places = [_newest(made, _some(made, depth, random), taken) for depth in depths]
    for item in of_states.values():
        pool = list(_nearest(made, item, random, CANDIDATES * number))
        for _ in range(min(len(pool), (number - share) // len(of_states))):
            places.append(_newest(made, pool[:CANDIDATES], taken))
            pool.remove(places[-1])
    return Starts(((), *runs_to(made.kernels, made.states, places)), made.distinct)


def _some(made: Exploration, depth: int, random: np.random.Generator) -> list[Place]:
    return [(depth, int(row)) for row in random.integers(made.levels[depth], size=CANDIDATES)]


def _nearest(made: Exploration, item: Property, random: np.random.Generator, number: int) -> Iterator[Place]:
    """The nearest of all states, those in reach first; of equals, in the order in which chance has them."""
    assert made.kernels.ground.lowering is not None
    measure = columns(made.kernels.packing, [lower(made.kernels.ground.lowering, item)])
    depths = np.repeat(np.arange(made.depth), made.levels)
    far = [
        measure(sets.to_words(sets.part(level, start, start + BLOCK)))[0]
        for level in made.states for start in range(0, sets.size(level), BLOCK)
    ]  # fmt: skip
    distances = np.concatenate(far)
    order = np.lexsort((random.random(distances.size), distances))[:number]
    firsts = np.concatenate(([0], np.cumsum(made.levels)))
    for place in order.tolist():
        depth = int(depths[place])
        yield depth, place - int(firsts[depth])


def _newest(made: Exploration, places: list[Place], taken: set[object]) -> Place:
    """Of some states, the one with most that no state taken before had."""
    parts = [_parts(state_at(made.kernels, made.states[depth], row)) for depth, row in places]
    best = max(range(len(places)), key=lambda n: len(parts[n] - taken))
    taken |= parts[best]
    return places[best]


def _parts(state: State) -> set[object]:
    """The values of variables, and every two of them together."""
    values = [(n, tuple(sorted(v.items())) if isinstance(v, dict) else v) for n, v in state.items()]
    return {*values, *((a, b) for i, a in enumerate(values) for b in values[:i])}
