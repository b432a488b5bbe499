"""Histories of source tasks, and what their properties say of them."""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.history.pieces import columns_of
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS
from fencepost.properties.source_offsets.histories import HISTORY
from fencepost.reference_impl.connect.offsets.config import CONFIGS
from fencepost.reference_impl.systems.source_offsets import FreeRun

USUAL: Mapping[str, Any] = {"events": 400, "quiet_end": True}
PROMISES = frozenset(HISTORY.names[:8])
"""What users rely on; the others are how it comes about."""


def reported(config: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration of a simulated history, as its manifest would have it."""
    needs = FreeRun.implementation(config.get("broken", ""))[0]
    mode = {**needs, **config}.get("mode", "")
    return {**FreeRun.cluster_defaults, **needs, **CONFIGS.get(mode, {}), **config}


def judged(histories: int, first: int = 0, **config: Any) -> tuple[dict[str, int], dict[str, int], int]:
    """Of so many simulated histories, by property: how many violations, how many events were judged; and of how many
    events."""
    config = {**USUAL, **config}
    made = [(seed, FreeRun.simulate(seed, config)) for seed in range(first, first + histories)]
    found, _ = HISTORY.check(columns_of(SOURCE_OFFSETS, made), config=reported(config))
    wrong = {name: finding.violations for name, finding in found.items() if finding.violations}
    return wrong, {name: finding.judged for name, finding in found.items()}, sum(len(rows) for _, rows in made)
