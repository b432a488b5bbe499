"""The kernels of protocols whose properties are declared, against SQL: two engines must report the same violations.

The SQL of what is declared is written from what it says; what is not, here: of source commits, that an offset covers
what is done with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from fencepost.properties.end_to_end import events as end_to_end
from fencepost.properties.group_fencing import events as groups
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.planting.beds import BEDS
from fencepost.properties.source_commits import events as commits
from fencepost.properties.source_commits.histories import ACKNOWLEDGED, DONE
from fencepost.properties.source_offsets import events as offsets
from model_histories import runs
from random_told import Columns, doctored_story, random_events
from related_sql import generated
from twins import Verdict, by_kernel, by_text, table


def covers(covering: commits.Kind, done: tuple[commits.Kind, ...], *by: str) -> str:
    """Rows whose offset stands for a record that was polled, and that is not done with before."""
    same = " AND ".join(f"p.{each} = c.{each}" for each in ("history", *by))
    there = " AND ".join(f"d.{each} = p.{each}" for each in ("history", *by, "record"))
    applies = " AND ".join(f"d.{each} >= 0" for each in by)
    kinds = ", ".join(str(int(kind)) for kind in done)
    return (
        f"SELECT c.history, c.step FROM events c WHERE c.kind = {int(covering)} AND EXISTS (SELECT 1 FROM events p "
        f"WHERE p.kind = {int(commits.Kind.polled)} AND {same} AND p.record <= c.spot AND NOT EXISTS (SELECT 1 FROM "
        f"events d WHERE d.kind IN ({kinds}) AND {there} AND d.step < c.step AND {applies}))"
    )


RENAMED = {"offset": "spot", "position": "place", "partition": "part"}
"""Columns whose names mean something in SQL."""


@dataclass(frozen=True)
class Twins:
    """One protocol's.  ``often``: kinds that noise has more of; ``ranges``: of its columns; ``error``: columns that are
    0 where they do not apply; ``least``: so many properties at least are violated in noise."""

    kinds: Any
    often: str
    ranges: Mapping[str, tuple[int, int]]
    renamed: Mapping[str, str] = field(default_factory=lambda: RENAMED)
    settings: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    error: tuple[str, ...] = ()
    least: int = 12


TWINS = {
    "source-offsets": Twins(
        offsets.Kind,
        "output_read polled record_sent offset_sent end_sent copy_told audited",
        {
            "instance": (-1, 3), "task": (-1, 2), "generation": (-1, 2), "owner": (-1, 1), "topic": (-1, 2),
            "position": (-1, 5), "partition": (-1, 2), "round": (-1, 1), "offset": (-1, 5), "producer_id": (-1, 2),
            "runtime": (-1, 2), "outcome": (-1, 2), "error": (0, 2),
        },
        {**RENAMED, "round": "pass", "count": "tasks"},
        {"records": "12", "last_round": "0", "boundary": "0"},
        error=("error",),
    ),
    "source-commits": Twins(
        commits.Kind,
        "polled produced acknowledged offset_written told_offset flush_entry",
        {
            "instance": (0, 3), "thread": (0, 2), "partition": (0, 2), "record": (1, 5), "offset": (0, 5),
            "output": (0, 2), "position": (0, 5), "flush": (0, 4), "entries": (-1, 3), "outcome": (0, 2),
        },
        written={
            "stored_is_done": covers(commits.Kind.offset_written, DONE, "part"),
            "committable_is_acknowledged": covers(commits.Kind.committable, ACKNOWLEDGED, "instance", "part"),
        },
    ),
    "group-fencing": Twins(
        groups.Kind,
        "offset_taken offset_settled output_read",
        {
            "client": (-1, 3), "generation": (-1, 4), "partition": (-1, 2), "offset": (-1, 5), "output": (-1, 2),
            "position": (-1, 5), "producer_id": (-1, 3), "outcome": (-1, 2), "error": (0, 2),
        },
        {"offset": "spot", "position": "place"},
        {"records": "10", "old": "0"},
        error=("error",),
        least=8,
    ),
    "end-to-end": Twins(
        end_to_end.Kind,
        "polled output_read sink_read",
        {
            "client": (0, 3), "connector": (0, 1), "task": (0, 1), "partition": (0, 2), "offset": (0, 5),
            "topic": (0, 1), "position": (0, 5),
        },
        least=7,
    ),
}  # fmt: skip


def queries(name: str) -> dict[str, str]:
    """The SQL of every property."""
    twins = TWINS[name]
    renamed = {**twins.renamed, **twins.settings}
    return {**generated(properties_of(name).properties.values(), renamed), **twins.written}


def noise(name: str, seed: int, histories: int) -> Columns:
    """Random events, dense in violations."""
    twins = TWINS[name]
    kinds = np.array(
        [kind for kind in twins.kinds for _ in range(3 if kind.name in twins.often.split() else 1)], np.int16
    )
    return random_events(np.random.default_rng(seed), VOCABULARIES[name], kinds, twins.ranges, histories, 60)[0]


def doctored(name: str, seed: int, histories: int) -> Columns:
    """The example, in each copy of which some events are exchanged or changed."""
    twins, example = TWINS[name], BEDS[name].history
    return doctored_story(np.random.default_rng(seed), example, twins.kinds, twins.error, histories, 12, 0.5)


def by_duckdb(name: str, columns: Columns) -> Verdict:
    texts = (f"SELECT '{each}' AS property, history, step FROM ({text}) v" for each, text in queries(name).items())
    events = table(properties_of(name), columns)
    return by_text(events, " UNION ALL ".join(texts), TWINS[name].renamed, made="SELECT * FROM raw")


@pytest.mark.parametrize("name", TWINS)
def test_every_property_has_its_sql(name: str) -> None:
    """Declared, or written here."""
    assert queries(name).keys() == properties_of(name).properties.keys()


@pytest.mark.parametrize("make", [noise, doctored])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", TWINS)
def test_random_histories(name: str, make: Any, seed: int) -> None:
    """Events at random, and the example doctored at random, get the same verdict."""
    columns = make(name, seed, 60)
    found = by_kernel(properties_of(name), columns, **BEDS[name].config)
    assert len(found) >= TWINS[name].least
    assert by_duckdb(name, columns) == found


@pytest.mark.parametrize("name", TWINS)
def test_planted_violations(name: str) -> None:
    """Both count exactly what was planted, of every property."""
    columns, expected = BEDS[name].planted(3, 0, 200, bent=0.6)
    found = by_kernel(properties_of(name), columns, **BEDS[name].config)
    assert {each: count for each, (count, _) in found.items()} == expected
    assert expected.keys() == properties_of(name).properties.keys()
    assert by_duckdb(name, columns) == found


@pytest.mark.parametrize("variant", ["draft", "unstable-fetch", "new-protocol-pattern-changed"])
def test_histories_of_mistaken_models(variant: str) -> None:
    """Runs of a mistaken model of group fencing get the same verdict."""
    _, made = runs(f"group-fencing/{variant}", 800)
    found = by_kernel(properties_of("group-fencing"), made.columns, **BEDS["group-fencing"].config)
    assert found.keys() & {"newest_owner_commits", "fetches_are_stable", "one_producer_commits"}
    assert by_duckdb("group-fencing", made.columns) == found
