"""This module has the simulator that `generate` calls for histories from a model, and their config in the manifest."""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.proofs.readings.ground import ground
from fencepost.proofs.scale.estimates import require_time_and_room
from fencepost.proofs.scale.from_model.emission import Kernels, kernels_of
from fencepost.proofs.scale.from_model.runs import Runs, run
from fencepost.proofs.scale.from_model.steps import steps_of
from fencepost.properties.catalogue import Profile, ProtocolEntry, bounds_of, find
from fencepost.properties.emitted_events import EMISSIONS, EmittedEvents
from fencepost.properties.entries import Variant
from fencepost.properties.history import VOCABULARIES, HistoryError, Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.writer import ROWS_PER_GROUP

SIMULATOR = f"{__name__}:simulate"
ROWS, PROBED = 4 * ROWS_PER_GROUP, 256
"""A turn of the runs has some hundred calls of NumPy, each of a microsecond in addition to its work: kraft's events
took 465 ns each, not written yet, with 4,096 runs side by side, 362 with 8,192 and 307 with 16,384. Larger units share
the work less evenly among cores."""
ROLES = ("promise", "step")
"""A run may break properties of these roles."""


def emitted_of(entry: ProtocolEntry, variant: Variant) -> EmittedEvents:
    """Return the events that a variant's steps emit. Raise HistoryError where the vocabulary of histories has no events
    for the steps."""
    name = f"{entry.name}/{variant.name}"
    if entry.name not in EMISSIONS:
        raise HistoryError(f"{name}: no histories are made of its model; {EMISSIONS.lacking(entry.name)}")
    protocol = variant.properties.protocol
    for base, emitting in EMISSIONS[entry.name].items():
        if not issubclass(protocol, base):
            continue
        if isinstance(emitting, str):
            raise HistoryError(f"{name}: its model cannot be told as a history: {emitting}")
        return emitting
    raise HistoryError(
        f"{name}: its model cannot be told as a history: {EMISSIONS.module_name(entry.name)} does not say what the "
        f"steps of {protocol.__name__} show"
    )


def bounds_for(entry: ProtocolEntry, variant: Variant, profile: Profile, changes: Mapping[str, int]) -> dict[str, int]:
    """Return the bounds of a variant in a profile, as its histories need them, with some of them changed."""
    known, emitting = bounds_of(variant, profile), emitted_of(entry, variant)
    return bounds_of(variant, profile, {**{n: b for n, b in emitting.bounds.items() if n in known}, **changes})


def config_of(entry: ProtocolEntry, variant: Variant, bounds: Mapping[str, int], steps: int) -> dict[str, Any]:
    """Return the config of such histories: the input of properties and models, and the model they come from. Raise
    HistoryError where the histories cannot be generated."""
    emitting = emitted_of(entry, variant)
    undecidable = dict(emitting.undecidable)
    config = {
        "mode": emitting.mode, **emitting.config(bounds), "model": f"{entry.name}/{variant.name}",
        "bounds": dict(bounds),
        "steps": steps,
    }  # fmt: skip
    if not _is_followed(entry.name, variant, emitting, config):
        undecidable["conformance"] = f"histories of {variant.name} are followed by no model"
    return config | ({"undecidable": undecidable} if undecidable else {})


def _is_followed(protocol: str, variant: Variant, emitting: EmittedEvents, config: Mapping[str, Any]) -> bool:
    """Return whether such histories are checked against their own protocol, or against one that allows more. A mistake
    about a rule still counts as that protocol."""
    from fencepost.properties.trace_spec import CONFORMING

    if protocol not in CONFORMING:
        return True  # the conformance check will report that
    conforming = CONFORMING[protocol]
    try:
        model = conforming.models[conforming.variant_of(Manifest(protocol, (), (), config=config))]
    except HistoryError:
        return False
    of = variant.properties.protocol
    return issubclass(model, of) or issubclass(of, emitting.narrower)


class Simulator:
    """A `Simulator` is called as function(seed, first history, how many, config). The call returns the columns of these
    histories, and how often each fault was injected, and each promise broken."""

    def __call__(
        self, seed: int, first: int, count: int, config: Mapping[str, Any]
    ) -> tuple[Columns, Mapping[str, int], Mapping[str, int]]:
        made = runs_of(seed, first, count, config)
        kernels = kernels_for(config)
        faults = {action.name for action in kernels.ground.spec.actions.values() if action.budget is not None}
        injected = {name: times for name, times in made.taken.items() if name in faults}
        return made.columns, injected, {name: int(np.count_nonzero(runs)) for name, runs in made.broken.items()}

    def at_once(self, seed: int, config: Mapping[str, Any]) -> int:
        """Return how many runs go side by side, for about `ROWS` rows by the number of rows of the first runs."""
        rows = len(runs_of(seed, 0, PROBED, config).columns["kind"])
        return max(1, ROWS * PROBED // max(1, rows))


simulate = Simulator()


MANY = 10_000_000
"""For this many histories or more, the cost is estimated first: fewer are generated in minutes."""


def require_possible(directory: str, seed: int, histories: int, config: Mapping[str, Any], cores: int) -> None:
    """Raise `HistoryError`, with the estimated cost, if so many histories cannot be generated on this machine."""
    if histories < MANY:
        return
    count, place = simulate.at_once(seed, config), Location.of(directory)
    began = time.perf_counter()
    rows = len(runs_of(seed, 0, count, config).columns["kind"])
    seconds = (time.perf_counter() - began) / count
    require_time_and_room(histories, rows // count, seconds, cores, place.path if place.is_local else None)


def runs_of(seed: int, first: int, count: int, config: Mapping[str, Any]) -> Runs:
    vocabulary = VOCABULARIES[str(config["model"]).partition("/")[0]]
    return run(kernels_for(config), vocabulary, seed, first, count, int(config["steps"]))


def kernels_for(config: Mapping[str, Any]) -> Kernels:
    return _kernels(str(config["model"]), tuple(sorted(config["bounds"].items())))


@lru_cache(maxsize=8)
def _kernels(name: str, bounds: tuple[tuple[str, int], ...]) -> Kernels:
    entry, variant = find(name)
    assert variant is not None
    every = variant.properties.properties
    broken = {
        n: p for n, p in every.items() if (p.role in ROLES and n not in variant.leaves_out) or n in variant.expected
    }
    made = ground(variant.spec, {n: p for n, p in broken.items() if p.role in ROLES}, dict(bounds))
    return kernels_of(made, steps_of(made, emitted_of(entry, variant), VOCABULARIES[entry.name]))
