"""Sets of histories, one vocabulary after the other, each by the properties and the model of its own protocol."""

from collections.abc import Mapping
from pathlib import Path

from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces.kernel import conformance_of
from fencepost.proofs.traces.predicted import predicted_of
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.history.sets import datasets_in
from fencepost.properties.trace_spec import CONFORMING

CONFORMANCE = "conformance"


def replay_set(
    directory: str | Path | Location,
    *,
    spark: SparkSettings | None = None,
    cores: int | None = None,
    count_dangers: bool = False,
) -> Mapping[str, ReplayReport]:
    """The report of each dataset of a set, by protocol: all of its properties, and conformance where events of it say
    something to a model.  Raises `HistoryError` where the directory is no set."""
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
