"""Histories straight from models, for tests: the runs, the manifest that they would have, and which of them violate."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from fencepost.proofs.scale.from_model.runs import Runs
from fencepost.proofs.scale.from_model.simulator import bounds_for, config_of, emitted_of, runs_of
from fencepost.properties.catalogue import protocols
from fencepost.properties.emitted_events import EMISSIONS
from fencepost.properties.entries import ProtocolEntry, Variant
from fencepost.properties.history import VOCABULARIES, HistoryError, Manifest
from fencepost.properties.history.properties_of import properties_of

STEPS = 60


def reported_variants(protocol: str) -> Iterator[Variant]:
    """Those whose runs are histories, within the bounds of exploration."""
    entry = protocols()[protocol]
    for variant in entry.variants:
        try:
            config(entry, variant)
        except HistoryError:
            continue
        yield variant


def refused_variants() -> Iterator[tuple[str, str]]:
    """Variants of protocols with such histories that have none, and why."""
    for protocol in EMISSIONS:
        entry = protocols()[protocol]
        for variant in entry.variants:
            try:
                emitted_of(entry, variant)
            except HistoryError as error:
                yield f"{protocol}/{variant.name}", str(error)


def config(entry: ProtocolEntry, variant: Variant, steps: int = STEPS, **changes: int) -> dict[str, Any]:
    return config_of(entry, variant, bounds_for(entry, variant, "smoke", changes), steps)


def runs(name: str, histories: int, seed: int = 1, **changes: int) -> tuple[Manifest, Runs]:
    """Runs of a variant, with the manifest of such histories, which names no files."""
    protocol, _, variant = name.partition("/")
    entry = protocols()[protocol]
    reported = config(entry, entry.variant(variant), **changes)
    kinds = tuple(VOCABULARIES[protocol].codes)
    return Manifest(protocol, kinds, (), "model", variant=variant, config=reported), runs_of(
        seed, 0, histories, reported
    )


def violating(manifest: Manifest, columns: dict[str, np.ndarray]) -> dict[str, set[int]]:
    """By history property that is asked and can be decided, the histories that violate it."""
    history = properties_of(manifest.protocol)
    left = history.undecidable(manifest) | history.unpromised(manifest)
    view = history.view_of(columns, manifest.config)
    found = {n: p.kernel(view).at for n, p in history.properties.items() if n not in left}
    return {name: set(columns["history"][at].tolist()) for name, at in found.items() if len(at)}
