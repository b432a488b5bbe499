"""Plants: of each history property, a violation planted into a history, that the property finds.

The killers of `killers` are runs of a mutated model; those of history properties are bent histories.  Each plant is
put into a history of its own, all are checked at once, and a property counts as able to fail if it reports exactly
what was planted.
"""

import functools
from dataclasses import dataclass

import numpy as np
from fencepost.properties.derived import histories_of_defects
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.planting.beds import BEDS


@dataclass(frozen=True)
class Plant:
    """A planted violation that a property finds: its name, and how many violations it makes."""

    name: str
    violations: int


@functools.cache
def found_plants(protocol: str) -> dict[str, Plant]:
    """By history property, a plant that it finds: the one that breaks the fewest others.  A property that reports more
    or less than what was planted is left out."""
    if protocol not in BEDS:
        return _found_defects(protocol)
    bed = BEDS[protocol]
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


def _found_defects(protocol: str) -> dict[str, Plant]:
    """By history property of a protocol without a table of plants: a defect of its reference whose histories violate
    it."""
    properties, found = properties_of(protocol), dict[str, Plant]()
    for defect, columns in histories_of_defects(protocol):
        findings, _ = properties.check(columns, properties.names, {})
        for name, finding in findings.items():
            if finding.violations:
                found.setdefault(name, Plant(f"defect {defect}", finding.violations))
    return found
