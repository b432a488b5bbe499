"""This module excuses violations of history properties that are predicted: the variant declares that it breaks the
property, and its model, which follows the same history, takes the step that allows it.

    excuses = predicted_of(manifest)                 # None: nothing is excused
    replay(directory, further={"conformance": conformance_of(manifest)}, excuses=excuses)

A violation is not excused in a history that does not fit the model, nor after the event up to which the model follows
it. Violations in recordings are excused only if the caller names their properties."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces.kernel import ConformanceKernel, conformance_of
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.checking import Rows
from fencepost.properties.history.location import Location
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.history.sets import datasets_in
from fencepost.properties.trace_spec import CONFORMING, Excuse


@dataclass(frozen=True)
class Predicted:
    """A `Predicted` excuses violations of the `names` in pieces of histories of one run. The object is picklable, and a
    worker computes the rest. With ``misfits``, violations in histories that do not fit the model are excused too."""

    kernel: ConformanceKernel
    names: frozenset[str]
    config: Mapping[str, Any]
    misfits: bool = False

    def __call__(self, columns: Mapping[str, np.ndarray], found: Mapping[str, Rows]) -> dict[str, list[Excuse | None]]:
        """Return what excuses each violation found in a piece (of properties that are among the `names`), or None."""
        places = np.concatenate([rows.at for rows in found.values()])
        mask = np.isin(columns["history"], np.unique(columns["history"][places]))
        few = {name: column[mask] for name, column in columns.items()}
        misfits = set() if self.misfits else {int(few["history"][m.row]) for m in self.kernel.misfits(few)}
        excusing = CONFORMING[self.kernel.protocol].excusing
        assert excusing is not None
        steps, row_of = excusing(few, self.kernel.variant, self.config), np.cumsum(mask) - 1

        def excuse(name: str, at: int, other: int) -> Excuse | None:
            if int(columns["history"][at]) in misfits:
                return None
            return steps.excuse(name, int(row_of[at]), int(row_of[other]) if other >= 0 else -1)

        return {
            name: [excuse(name, at, other) for at, other in zip(rows.at.tolist(), rows.other.tolist(), strict=True)]
            for name, rows in found.items()
        }


def predicted_of(manifest: Manifest, expecting: Collection[str] = (), *, misfits: bool = False) -> Predicted | None:
    """Return what is excused in the histories of a directory. In recordings only violations of ``expecting`` are
    excused. With ``misfits``, histories that do not fit the model are included, to decide whether a known defect causes
    what is found."""
    kernel = conformance_of(manifest)
    if not isinstance(kernel, ConformanceKernel) or CONFORMING[manifest.protocol].excusing is None:
        return None
    if manifest.variant not in ("", kernel.variant):
        return None
    names = frozenset(properties_of(manifest.protocol).predicted(manifest))
    if manifest.source == "recorded":
        names &= frozenset(expecting)
    return Predicted(kernel, names, dict(manifest.config), misfits) if names else None


# Sets of histories, one vocabulary after the other, each by the properties and the model of its own protocol.

CONFORMANCE = "conformance"


def replay_set(
    directory: str | Path | Location,
    *,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    count_dangers: bool = False,
) -> Mapping[str, ReplayReport]:
    """Return the report of each dataset of a set, by protocol, with all properties, and with conformance where a model
    interprets the events. Raise `HistoryError` where the directory is no set."""
    there = datasets_in(Location.of(directory))
    if not there:
        raise HistoryError(f"{directory}: no histories in several vocabularies; replay() judges those in one")
    reports = {}
    for protocol, place in there.items():
        manifest = Manifest.read(place)
        further = {CONFORMANCE: conformance_of(manifest)} if protocol in CONFORMING else {}
        excuses = predicted_of(manifest) if further else None
        reports[protocol] = replay(
            place, spark=spark, cores=cores, further=further, excuses=excuses, count_dangers=count_dangers
        )
    return reports
