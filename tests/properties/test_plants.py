"""What is planted into the example of a protocol is found by what it breaks, to the last violation, and every property
of its histories can fail."""

import pytest
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.planting.beds import BEDS

PROTOCOLS = ("id-blocks", "end-to-end")
"""Those of which no file of their own says so."""


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name in BEDS])
def test_a_plant_is_found_by_what_it_breaks_alone(protocol: str) -> None:
    """Each by itself; there is a plant for each property."""
    bed, properties = BEDS[protocol], properties_of(protocol)
    for name, plant in bed.plants.items():
        findings, _ = properties.check(bed.bent(name), properties.names, bed.config)
        assert {n: found.violations for n, found in findings.items() if found.violations} == plant.found, name
    assert {name for plant in bed.plants.values() for name in plant.found} == set(properties.names)
