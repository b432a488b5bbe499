"""How fast ``fencepost generate`` simulates, of one core: as a multiple of what it costs to emit the same events.

    pytest -n 0 -m nightly tests/benchmarks/test_simulation_rates.py

Both are units of `generate`, of the same histories, to the Parquet file, in processor seconds.  In one the reference
implementation is simulated.  In the other nothing is: known rows are written by the same event log, from calls with the
same columns, which no simulation in Python can do without.  Read the multiples, since the machine may be shared.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fencepost.proofs.scale.generate import (
    Dataset,
    Recipe,
    Unit,
    simulator_named,
    vocabularies_of,
    write_unit,
)
from fencepost.proofs.scale.seeds import seed_of
from fencepost.properties.catalogue import protocols
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.location import Location
from fencepost.properties.registry import folder
from fencepost.reference_impl.simulation import EventLog, Kernel

Rows = Iterable[tuple[int, ...]]

SEED = 7
EVENTS = 12_000
"""In a unit, about."""
ROUNDS = 3

MOST = {
    "id-blocks/kraft": 4,
    "transactions/v2": 9,
    "transactions/v1-verified": 9,
    "transactions/v1": 9,
    "task-counts/shipped": 40,
    "task-counts/B": 40,
    "group-fencing/shipped": 40,
    "source-commits/shipped-mended": 8,
    "source-offsets/text-merged-view": 20,
    "end-to-end/whole": 20,
}
"""By simulator: so many times what emission costs, at most: about half as much again as was measured on 2026-11-26 (see
`proofs/verdicts/speed.md`), and for the whole system twice."""

CALLS: dict[int, dict[str, list[Any]]] = {}
"""Of the histories of one simulator, by seed and protocol: what the event log was called with."""


def recorded(seed: int, config: Mapping[str, Any]) -> Any:
    """A simulator, which writes the rows of a history again, event by event; `only`: the protocol of all of them."""
    rows = {protocol: emitted(log_of(protocol)(Kernel(0)), calls) for protocol, calls in CALLS[seed].items()}
    return rows[config["only"]] if "only" in config else (rows, {})


def emitted(log: EventLog, calls: Iterable[Any]) -> Rows:
    kernel, emit = log.kernel, log.emit
    for time_us, kind, columns in calls:
        kernel.now = time_us
        emit(kind, **columns)
    return log.rows


def calls_of(protocol: str, rows: Rows) -> list[Any]:
    """For each row: the time, the kind, and the columns that apply."""
    names = VOCABULARIES[protocol].names
    return [
        (row[1], row[2], {n: v for n, v in zip(names, row[3:], strict=True) if v != (0 if n == "error" else -1)})
        for row in rows
    ]


@cache
def log_of(protocol: str) -> type[EventLog]:
    import_module(f"fencepost.reference_impl.systems.{folder(protocol)}")
    kinds = set(VOCABULARIES[protocol].codes)
    (found,) = (each for each in EventLog.__subclasses__() if set(each.kind_names.values()) == kinds)
    return found


@dataclass
class Place:
    """Where units of one kind are written, each over the last."""

    directory: Path
    within: tuple[str, ...]
    several: bool

    def write(self, simulator: str, config: Mapping[str, Any], histories: int) -> float:
        """One unit; the processor seconds that it took."""
        for protocol in self.within:
            place = self.directory / protocol
            place.mkdir(parents=True, exist_ok=True)
            for old in place.iterdir():
                old.unlink()
        datasets = tuple(Dataset(protocol, Location.of(self.directory / protocol)) for protocol in self.within)
        recipe = Recipe(datasets, simulator, False, SEED, config, several=self.several)
        begun = time.process_time()
        write_unit(Unit(0, 0, histories), recipe)
        return time.process_time() - begun

    def tables(self) -> list[Any]:
        """What the last one wrote."""
        return [pq.read_table(next((self.directory / protocol).iterdir())) for protocol in self.within]


@pytest.mark.nightly
@pytest.mark.parametrize("name", MOST)
def test_simulation_beside_emission(name: str, tmp_path: Path, benchmark: Any) -> None:
    """The files have the same rows, and simulating them takes not too many times what emitting them does."""
    protocol, _, variant = name.partition("/")
    simulator, config = next((made, usual) for v, made, usual in protocols()[protocol].simulators if v == variant)
    several = tuple(vocabularies_of(simulator, config))
    simulate = simulator_named(simulator)
    CALLS.clear()
    events = 0
    while events < EVENTS:
        seed = seed_of(SEED, len(CALLS))
        rows, _ = simulate(seed, dict(config))
        by_protocol = rows if several else {protocol: rows}
        CALLS[seed] = {reported: calls_of(reported, of_one) for reported, of_one in by_protocol.items()}
        events += sum(map(len, by_protocol.values()))
    simulation = Place(tmp_path / "simulation", several or (protocol,), bool(several))
    emission = Place(tmp_path / "emission", several or (protocol,), bool(several))
    spent = [
        (
            simulation.write(simulator, config, len(CALLS)),
            emission.write(f"{__name__}:recorded", {} if several else {"only": protocol}, len(CALLS)),
        )
        for _ in range(ROUNDS)
    ]
    assert simulation.tables() == emission.tables()
    simulating, emitting = (min(seconds) for seconds in zip(*spent, strict=True))
    benchmark.pedantic(simulation.write, args=(simulator, config, len(CALLS)), rounds=1)
    benchmark.extra_info |= {
        "events/s of a core": round(events / simulating),
        "microseconds of an event": round(simulating / events * 1e6, 2),
        "of which emission": round(emitting / events * 1e6, 2),
        "times what emission takes": round(simulating / emitting, 1),
    }
    assert simulating < MOST[name] * emitting
