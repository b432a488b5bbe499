"""A number that stands for nothing, anywhere in a history, costs no memory: maps of a model are as wide as what a
history speaks of, not as the largest number in it."""

from typing import Any

import numpy as np
import pytest
from fencepost.proofs.scale.generate import simulator_named
from fencepost.proofs.scale.seeds import seed_of
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.catalogue import find
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.trace_spec import CONFORMING

ODD = 28_275_299
MOST = 20_000
"""Members of a sort; a history of these has at most some hundred events."""


def columns(which: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """One history, of few events."""
    protocol, _, variant = which.partition("/")
    function, config = next((f, c) for name, f, c in find(which)[0].simulators if name == variant)
    config = {**config, "events": 40}
    rows, _ = simulator_named(function)(seed_of(1, 1), dict(config))
    return columns_of(VOCABULARIES[protocol], [(1, rows)]), config


@pytest.mark.parametrize("which", ["id-blocks/kraft", "transactions/v2", "task-counts/shipped"])
def test_one_odd_number_makes_nothing_wide(which: str) -> None:
    """In each column and each kind of event once."""
    protocol, _, variant = which.partition("/")
    whole, config = columns(which)
    kernel = conformance_kernel(variant, config, protocol)
    firsts = np.unique(whole["kind"], return_index=True)[1]
    for name in set(whole) - {"history", "step", "kind", "time_us"}:
        for row in firsts:
            odd = {**whole, name: whole[name].copy()}
            odd[name][row] = min(ODD, np.iinfo(odd[name].dtype).max)
            laid = CONFORMING[protocol].lay_out(odd, variant, kernel.settings)
            assert all(size < MOST for part in laid.parts for size in part.sizes.values()), (name, row)
