"""Random walks through the small models of transactions serve tests that compute the models' results a second time."""

import random
from collections.abc import Iterator

from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import Event, State
from fencepost.properties.catalogue import Variant

Step = tuple[State, Event, State]


def walks(variant: Variant, bounds: dict[str, int], *, seed: int, runs: int, steps: int) -> Iterator[list[Step]]:
    """Yield runs of the protocol within bounds, the same for the same seed, each of which ends when no step is left.
    Actions are equally likely, whatever their parameters, and a fault occurs in one step of five."""
    plain = Plain(variant.spec, {name: bounds[name] for name in variant.spec.constants}, bounds)
    events = {name: list(plain.events(name)) for name in variant.spec.actions}
    usual = [name for name, action in variant.spec.actions.items() if action.budget is None]
    rng = random.Random(seed)

    def step(before: State) -> Step | None:
        names = list(events) if rng.random() < 0.2 else usual
        for name in rng.sample(names, len(names)):
            for event in rng.sample(events[name], len(events[name])):
                if plain.enabled(before, event) and (after := plain.step(before, event)) is not None:
                    return before, event, after
        return None

    for _ in range(runs):
        run: list[Step] = []
        while len(run) < steps and (found := step(run[-1][2] if run else plain.initial())) is not None:
            run.append(found)
        yield run
