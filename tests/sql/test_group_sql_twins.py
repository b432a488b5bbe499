"""The kernels of group fencing against SQL: two engines must report the same violations, all of them declared."""

from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from fencepost.properties.group_fencing.events import GROUP_FENCING, Kind
from fencepost.properties.group_fencing.histories import BED, HISTORY
from id_block_sql import told
from model_histories import runs
from random_told import Columns, doctored_story, random_events
from related_sql import generated

RECORDS = 10
RENAMED = {"offset": "spot", "position": "place"}
QUERIES = generated(HISTORY.properties.values(), {**RENAMED, "records": str(RECORDS), "old": "0"})
KINDS = np.array([kind for kind in Kind for _ in range(4 if kind in (42, 46, 60) else 1)], np.int16)
RANGES = {
    "client": (-1, 3), "generation": (-1, 4), "partition": (-1, 2), "offset": (-1, 5), "output": (-1, 2),
    "position": (-1, 5), "producer_id": (-1, 3), "outcome": (-1, 2), "error": (0, 2),
}  # fmt: skip

Verdict = dict[str, tuple[int, tuple[int, int]]]
Make = Callable[[int, int], Columns]


def noise(seed: int, histories: int) -> Columns:
    """Random events, dense in violations."""
    return random_events(np.random.default_rng(seed), GROUP_FENCING, KINDS, RANGES, histories, 40)[0]


def doctored(seed: int, histories: int) -> Columns:
    """The example, in each copy of which some events are exchanged or changed."""
    return doctored_story(np.random.default_rng(seed), BED.history, Kind, ("error",), histories, 12, 0.5)


def by_kernel(columns: Columns) -> Verdict:
    findings, _ = HISTORY.check(columns, config=BED.config)
    return {
        name: (found.violations, (found.first.history, found.first.step))
        for name, found in findings.items()
        if found.first is not None
    }


def by_duckdb(columns: Columns) -> Verdict:
    schema = GROUP_FENCING.schema
    events = pa.table({field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema)
    duck = duckdb.connect()
    duck.execute("SET threads = 1")
    duck.register("events_table", events)
    renamed = ", ".join(f'"{old}" AS {new}' for old, new in RENAMED.items())
    dropped = ", ".join(f'"{old}"' for old in RENAMED)
    duck.execute(f"CREATE TEMP TABLE events AS SELECT * EXCLUDE ({dropped}), {renamed} FROM events_table")
    texts = (f"SELECT '{name}' AS property, history, step FROM ({text}) v" for name, text in QUERIES.items())
    return told(duck.execute(" UNION ALL ".join(texts)).fetchall())


def test_every_property_is_declared() -> None:
    """So that the SQL of each is written from what it says."""
    assert QUERIES.keys() == HISTORY.properties.keys()


@pytest.mark.parametrize("make", [noise, doctored])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_histories(make: Make, seed: int) -> None:
    """Events at random, and the example doctored at random, get the same verdict."""
    columns = make(seed, 60)
    found = by_kernel(columns)
    assert len(found) >= 8
    assert by_duckdb(columns) == found


@pytest.mark.parametrize("variant", ["draft", "unstable-fetch", "new-protocol-pattern-changed"])
def test_histories_of_mistaken_models(variant: str) -> None:
    """Runs of a mistaken model get the same verdict."""
    _, made = runs(f"group-fencing/{variant}", 800)
    found = by_kernel(made.columns)
    assert found.keys() & {"newest_owner_commits", "fetches_are_stable", "one_producer_commits"}
    assert by_duckdb(made.columns) == found


def test_planted_violations() -> None:
    """Both count exactly what was planted, of every property."""
    columns, expected = BED.planted(3, 0, 150, bent=0.6)
    found = by_kernel(columns)
    assert {name: count for name, (count, _) in found.items()} == expected
    assert expected.keys() == HISTORY.properties.keys()
    assert by_duckdb(columns) == found
