"""Conformance: does every event of a history fit the formal model, in the state that the events before it have led to?

    kernel = conformance_of(manifest)                     # a kernel, or why it cannot be decided
    replay(directory, further={"conformance": kernel})    # millions of events, every core
    print(kernel.explain(columns_of_one_history))         # why it does not fit, and what would have

Only the first event of a history that does not fit is told, since after it the model's state is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.mutations import settle
from fencepost.model.language.protocol import Spec
from fencepost.proofs.columns import Columns
from fencepost.proofs.columns.magnitudes import NOTHING, Growth, growth_of_step, stays_small
from fencepost.proofs.conformance.batches import Batch, batch_of
from fencepost.proofs.conformance.explanations import explanation, told_check, told_event
from fencepost.proofs.conformance.lockstep import Misfit, misfits
from fencepost.proofs.conformance.observed import Check, Phase, phases_by_kind
from fencepost.proofs.conformance.plainly import PlainReplay
from fencepost.proofs.replay import Undecided
from fencepost.properties.history import ID_BLOCKS, HistoryError, Kind, Manifest
from fencepost.properties.history.checking import Violation
from fencepost.properties.id_blocks.observations import BY_VARIANT, COLUMNS

OBSERVED = {ID_BLOCKS.protocol: BY_VARIANT}  # by protocol: what events mean to its model
VARIANTS = {"kraft": Kraft, "zookeeper": Zookeeper, "bridge": Bridge}
MODEL_OF_MODE = {"kraft": "kraft", "zookeeper": "bridge", "bridge": "bridge"}
NO_SUCH_KIND = Check("kind", "the protocol has such an event")
LONG_MAX = 2**63 - 1
MOST_BLOCKS = 2**31  # a history has no more steps


@dataclass(frozen=True)
class ConformanceKernel:
    """Holds pieces of histories against one variant, with the constants of the run. Picklable: a worker makes the rest.

    ``size``: ids in a block. ``ids``: how many there are, from 0 on.
    """

    variant: str
    size: int
    ids: int

    def __call__(self, columns: Mapping[str, np.ndarray]) -> list[Violation]:
        """One violation for each history of the piece that does not fit; `columns` are whole and sorted."""
        return [
            Violation(
                int(columns["history"][m.row]), int(columns["step"][m.row]), "conformance", self._told(columns, m)
            )
            for m in self.misfits(columns)
        ]

    def misfits(self, columns: Mapping[str, np.ndarray]) -> list[Misfit]:
        """Row and failed check of the first event of each history that does not fit, in order of history."""
        spec, phases = model(self.variant)
        batch = batch_of(columns, phases)
        checked = not self._stays_small(batch, phases)
        try:
            return misfits(Columns(spec, self._constants), phases, batch, checked=checked, strange=NO_SUCH_KIND)
        except OverflowError:
            return self.misfits_plainly(columns)

    def misfits_plainly(self, columns: Mapping[str, np.ndarray]) -> list[Misfit]:
        """The same by the plain reading: slow, and exact where a number leaves int64."""
        spec, phases = model(self.variant)
        batch = batch_of(columns, phases)
        replay = PlainReplay(spec, self._constants, batch.sizes)
        found = []
        for begin, end in batch.histories():
            stop = replay.stop(batch.events(begin, end, phases), NO_SUCH_KIND)
            if stop is not None:
                found.append(Misfit(begin + stop.index, stop.check))
        return found

    def explain(self, columns: Mapping[str, np.ndarray]) -> str:
        """Why one history (its rows, all columns) does not fit: the event, what is false, and the steps allowed
        instead."""
        if len(np.unique(columns["history"])) != 1:
            raise HistoryError("explain takes the rows of one history; select them by their history number")
        spec, phases = model(self.variant)
        batch = batch_of(columns, phases)
        replay = PlainReplay(spec, self._constants, batch.sizes)
        stop = replay.stop(batch.events(0, len(batch.kind), phases), NO_SUCH_KIND)
        if stop is None:
            return f"history {columns['history'][0]} fits the model {self.variant}: all {len(batch.kind)} events"
        event = {name: int(column[stop.index]) for name, column in columns.items()}
        values = {name: int(column[stop.index]) for name, column in batch.values.items()}
        return explanation(spec, event, stop, values, list(replay.allowed(stop.state)))

    @property
    def _constants(self) -> dict[str, int]:
        return {"size": self.size, "ids": self.ids}

    def _stays_small(self, batch: Batch, phases: Mapping[int, tuple[Phase, ...]]) -> bool:
        computed, stored = _growth(self)
        most = max(map(len, phases.values()))
        return stays_small(batch.largest, batch.longest * most, computed, stored)

    def _told(self, columns: Mapping[str, np.ndarray], misfit: Misfit) -> str:
        event = {name: int(column[misfit.row]) for name, column in columns.items()}
        return f"{told_event(event)}: {told_check(misfit.check)}"


def conformance_kernel(variant: str, config: Mapping[str, Any]) -> ConformanceKernel:
    """The kernel for histories of that variant, run with `config`: `block_size` (required), `max_id`.

    ZooKeeper looks at the last id of the present block and KRaft at the first id of the next one, so that on ZooKeeper
    one id more can be given (730.16). Raises `HistoryError` if the configuration does not say enough.
    """
    if variant not in VARIANTS:
        raise HistoryError(
            f"no variant {variant!r} of id-blocks to hold histories against; known: {', '.join(VARIANTS)}"
        )
    if not isinstance(config.get("block_size"), int) or config["block_size"] < 1:
        raise HistoryError("the manifest's config does not say block_size: how many ids a block has is not known")
    size, max_id = config["block_size"], int(config.get("max_id", LONG_MAX))
    if variant == "bridge" and (max_id + 1) % size == 0 and max_id // size < MOST_BLOCKS:
        raise HistoryError(
            f"max_id {max_id} is the last id of a block of {size}, which ZooKeeper grants, and KRaft and the brokers "
            "refuse; the bridge has one end of ids for all: simulate with another max_id"
        )
    return ConformanceKernel(variant, size, max_id + 1 if variant == "zookeeper" else max_id)


def conformance_of(manifest: Manifest) -> ConformanceKernel | Undecided:
    """The kernel for the histories of a directory, or why the model cannot be held against them."""
    if manifest.protocol not in OBSERVED:
        return Undecided(f"the model of {manifest.protocol} does not say what the events of a history mean to it")
    mode = str(manifest.config.get("mode", "kraft"))
    if mode not in MODEL_OF_MODE:
        return Undecided(f"no model for mode {mode!r}")
    variant = MODEL_OF_MODE[mode]
    _, phases = model(variant)
    needed = {Kind(code).name for code, of_kind in phases.items() if any(p.action for p in of_kind)}
    if missing := sorted(needed - set(manifest.observable)):
        return Undecided(f"the histories do not show {', '.join(missing)}")
    if not manifest.ordered:
        return Undecided("the order of steps across nodes is not known")
    if variant == "bridge" and manifest.config.get("inter_broker_protocol", "2.8-IV1") != "2.8-IV1":
        return Undecided("the model of the bridge starts with every broker on ZooKeeper; here some start with the RPC")
    try:
        return conformance_kernel(variant, manifest.config)
    except HistoryError as error:
        return Undecided(str(error))


@lru_cache
def model(variant: str) -> tuple[Spec, Mapping[int, tuple[Phase, ...]]]:
    """The settled protocol, and what each kind of event that it has means, by code: no phases for an event that is no
    step."""
    spec = settle(VARIANTS[variant].spec)
    by_name = phases_by_kind(spec, COLUMNS, BY_VARIANT[variant])
    return spec, {int(Kind[name]): of_kind for name, of_kind in by_name.items()}


@lru_cache
def _growth(kernel: ConformanceKernel) -> tuple[Growth, Growth]:
    computed = stored = NOTHING
    for phase in (p for of_kind in model(kernel.variant)[1].values() for p in of_kind):
        grown = growth_of_step((phase.when, *phase.conditions), phase.updates, kernel._constants)
        computed, stored = computed | grown[0], stored | grown[1]
    return computed, stored
