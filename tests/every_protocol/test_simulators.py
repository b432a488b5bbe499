"""The example of every reference runs; its simulated histories are the same in any process, have the documented shape,
and are refused with a reason where the config says what cannot be. Each protocol's own tests ask what is in them.
"""

import doctest
import hashlib
import itertools
import os
import subprocess
import sys
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.registry import BUILT_IN, folder
from fencepost.reference_impl.simulation.config import OneOf


def system(protocol: str) -> Any:
    return import_module(f"fencepost.reference_impl.systems.{folder(protocol)}")


def modes(protocol: str) -> tuple[str, ...]:
    """All that the reference has, by the annotation of its configuration."""
    annotated = get_type_hints(system(protocol).FreeRun.config_type, include_extras=True)["mode"]
    found: tuple[str, ...] = next(each.values for each in get_args(annotated) if isinstance(each, OneOf))
    return found


MODES = {protocol: modes(protocol) for protocol in sorted(BUILT_IN) if protocol != "end-to-end"}
"""Rows of the whole are of several protocols: tests/end_to_end."""
SIMULATED = [(protocol, mode) for protocol, modes in MODES.items() for mode in modes]


def digest() -> str:
    """Of some histories of each."""
    rows = [system(protocol).simulate(seed, {"mode": mode}) for protocol, mode in SIMULATED for seed in range(3)]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


@pytest.mark.parametrize("protocol", MODES)
def test_the_example_in_the_documentation_runs(protocol: str) -> None:
    results = doctest.testmod(import_module(system(protocol).reference.__module__))
    assert results.failed == 0 and results.attempted > 3


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_same_seed_gives_same_rows_in_any_process(hash_seed: str) -> None:
    """The rows do not depend on the process or on its hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    there = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == digest()


@pytest.mark.parametrize("protocol", MODES)
def test_different_seeds_give_different_rows(protocol: str) -> None:
    assert len({tuple(system(protocol).simulate(seed, {})) for seed in range(40)}) == 40


@pytest.mark.parametrize("events", [1, 500])
@pytest.mark.parametrize(("protocol", "mode"), SIMULATED)
def test_rows_have_the_documented_shape(protocol: str, mode: str, events: int) -> None:
    """As many rows as asked for, plain integers in column order, steps from 0, time never backwards, known kinds."""
    config: dict[str, Any] = {"mode": mode, "events": events}
    if protocol == "source-offsets":
        config["records"] = 1000  # enough to read for so many events
    rows = system(protocol).simulate(11, config)
    vocabulary = VOCABULARIES[protocol]
    assert len(rows) == events
    assert all(len(row) == 3 + len(vocabulary.names) and all(type(value) is int for value in row) for row in rows)
    assert min(min(row) for row in rows) == -1
    assert [row[0] for row in rows] == list(range(events))
    assert all(earlier[1] <= later[1] for earlier, later in itertools.pairwise(rows))
    assert {row[2] for row in rows} <= {int(kind) for kind in vocabulary.kinds}


@pytest.mark.parametrize("protocol", MODES)
def test_bad_config_is_refused(protocol: str) -> None:
    """Unknown keys, rates above one, unknown faults, defects and modes are refused with the reason."""
    faults = system(protocol).FreeRun.faults_type.names
    refused: dict[str, dict[str, Any]] = {
        "unknown keys .'dorp'": {"dorp": 0.1},
        "add up": dict.fromkeys(faults, 0.4),
        "no node fault is called 'flood'": {"schedule": [(0, "flood", 0)]},
        "no broken implementation": {"broken": "nonsense"},
        "must be one of": {"mode": "nonsense"},
    }
    for complaint, config in refused.items():
        with pytest.raises((ValueError, KeyError), match=complaint):
            system(protocol).simulate(0, config)


if __name__ == "__main__":
    print(digest())
