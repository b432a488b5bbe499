"""Plants: of each history property, a violation planted into a history, that the property finds.

The killers of `killers` are runs of a mutated model; those of history properties are bent histories.  Each plant is
put into a history of its own, all are checked at once, and a property counts as able to fail if it reports exactly
what was planted.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.id_blocks.history import planted
from fencepost.properties.task_counts.history import planted as planted_task_counts
from fencepost.properties.transactions.history import planted as planted_transactions

Planted = Callable[..., tuple[dict[str, np.ndarray], dict[str, int]]]


@dataclass(frozen=True)
class Plant:
    """A planted violation that a property finds: its name, and how many violations it makes."""

    name: str
    violations: int


@dataclass(frozen=True)
class _Bed:
    """How histories of a protocol are planted: its plants by name, and the config that its checks need."""

    planted: Planted
    plants: tuple[str, ...]
    config: Mapping[str, Any]


_BEDS: Mapping[str, _Bed] = {
    "id-blocks": _Bed(planted.planted, planted.PLANTS, {}),
    "transactions": _Bed(planted_transactions.planted, tuple(planted_transactions.PLANTING.plants), {"mode": "v2"}),
    "task-counts": _Bed(planted_task_counts.planted, tuple(planted_task_counts.PLANTING.plants), {"mode": "B"}),
}


@functools.cache
def found_plants(protocol: str) -> dict[str, Plant]:
    """By history property, a plant that it finds: the one that breaks the fewest others.  A property that reports more
    or less than what was planted is left out."""
    bed = _BEDS[protocol]
    histories = [bed.planted(1, number, 1, bent=1.0, plants=[name]) for number, name in enumerate(bed.plants)]
    columns = {name: np.concatenate([made[name] for made, _ in histories]) for name in histories[0][0]}
    properties = properties_of(protocol)
    findings, _ = properties.check(columns, properties.names, bed.config)
    planted_in_all: dict[str, int] = {}
    chosen: dict[str, tuple[int, Plant]] = {}
    for plant, (_, broken) in zip(bed.plants, histories, strict=True):
        for name, count in broken.items():
            planted_in_all[name] = planted_in_all.get(name, 0) + count
            if name not in chosen or len(broken) < chosen[name][0]:
                chosen[name] = len(broken), Plant(plant, count)
    exact = {name for name, finding in findings.items() if finding.violations == planted_in_all.get(name, 0)}
    return {name: plant for name, (_, plant) in chosen.items() if name in exact}
