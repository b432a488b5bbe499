"""Histories of id blocks, laid out to be held against the model: each is one lane, and every event is in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.tree.types import AtomsType, scalar
from fencepost.properties.conforming import Conforming, Laid, LaidOut, Settings
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.id_blocks.history.events import ID_BLOCKS
from fencepost.properties.id_blocks.observations.events import BY_VARIANT, COLUMNS
from fencepost.properties.id_blocks.offline.slots import computed_columns
from fencepost.properties.layouts import numbered, renumbered

VARIANTS = {"kraft": Kraft, "zookeeper": Zookeeper, "bridge": Bridge}
MODEL_OF_MODE = {"kraft": "kraft", "zookeeper": "bridge", "bridge": "bridge"}
LONG_MAX = 2**63 - 1
MOST_BLOCKS = 2**31  # a history has no more steps


def variant_of(manifest: Manifest) -> str:
    """The model for the mode that the config names.  Raises `HistoryError`."""
    mode = str(manifest.config.get("mode", "kraft"))
    if mode not in MODEL_OF_MODE:
        raise HistoryError(f"no model for mode {mode!r}")
    variant = MODEL_OF_MODE[mode]
    if variant == "bridge" and manifest.config.get("inter_broker_protocol", "2.8-IV1") != "2.8-IV1":
        raise HistoryError(
            "the model of the bridge starts with every broker on ZooKeeper; here some start with the RPC"
        )
    return variant


def settings_of(variant: str, config: Mapping[str, Any]) -> Settings:
    """``size``: ids in a block; ``ids``: how many there are, from 0 on.  Config: `block_size` (required), `max_id`.

    ZooKeeper looks at the last id of the present block and KRaft at the first id of the next one, so that on ZooKeeper
    one id more can be given (730.16). Raises `HistoryError` if the configuration does not say enough.
    """
    if not isinstance(config.get("block_size"), int) or config["block_size"] < 1:
        raise HistoryError("the manifest's config does not say block_size: how many ids a block has is not known")
    size, max_id = config["block_size"], int(config.get("max_id", LONG_MAX))
    if variant == "bridge" and (max_id + 1) % size == 0 and max_id // size < MOST_BLOCKS:
        raise HistoryError(
            f"max_id {max_id} is the last id of a block of {size}, which ZooKeeper grants, and KRaft and the brokers "
            "refuse; the bridge has one end of ids for all: simulate with another max_id"
        )
    return ("size", size), ("ids", max_id + 1 if variant == "zookeeper" else max_id)


def lay_out(columns: Mapping[str, np.ndarray], variant: str, settings: Settings) -> LaidOut:
    """The rows of a piece (all columns, whole histories, sorted) as one part."""
    starts = starts_of(columns["history"])
    lengths = np.diff(np.append(starts, len(columns["history"])))
    history = np.repeat(np.arange(len(starts)), lengths)
    compact = {**columns, "request": _requests(columns["request"], history, int(lengths.max(initial=0)))}
    compact["broker"] = renumbered(columns["broker"])
    values = {name: compact[name] for name in COLUMNS if name in compact} | computed_columns(compact, history, starts)
    rows = np.arange(len(history))
    return LaidOut((Laid(rows, history, columns["kind"], values, _sizes(values), dict(settings)),), {})


def _sizes(values: Mapping[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, declared in COLUMNS.items():
        kind = scalar(declared)
        if isinstance(kind, AtomsType):
            sizes[kind.bound] = max(sizes.get(kind.bound, 1), int(values[name].max(initial=0)) + 1)
    return sizes


def _requests(request: np.ndarray, history: np.ndarray, longest: int) -> np.ndarray:
    """Request numbers below the length of the longest history; any numbers will do, as long as equal ones stay
    equal."""
    if request.max(initial=0) <= longest:
        return request
    return numbered(request[:, None], history, np.zeros(len(request), bool))[:, 0]


CONFORMING = Conforming(ID_BLOCKS, VARIANTS, COLUMNS, BY_VARIANT, variant_of, settings_of, lay_out)
