"""A property is violated in truncated logs only if it is violated in the complete logs.

Histories of the reference and with a seeded violation are cut at random places, as retention and the log cleaner do,
and judged by the properties that declare that they can be judged then.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from fencepost.properties.history import Manifest
from fencepost.properties.history.cuts import Cut
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from fencepost.properties.transactions.histories.properties import SEEDED_HISTORY, VIOLATIONS
from fencepost.reference_impl.systems.transactions import simulate

Columns = Mapping[str, np.ndarray]
PARTITION, LOG = (Kind.batch_appended, Kind.marker_appended), (Kind.txn_logged, Kind.id_expired)
KINDS = tuple(TRANSACTIONS.codes)
SEEDS = range(4)
MODES = ("v1", "v1-verified", "v2")


def cut(columns: Columns, seed: int, config: Mapping[str, Any]) -> tuple[Columns, Manifest]:
    """Return the rest of a history after some logs are truncated, and the manifest for it."""
    rng = np.random.default_rng(seed)
    kept, cuts = np.ones(len(columns["kind"]), bool), []
    in_partition, in_log = np.isin(columns["kind"], PARTITION), np.isin(columns["kind"], LOG)
    for partition in np.unique(columns["partition"][in_partition]).tolist():
        there = in_partition & (columns["partition"] == partition)
        below = int(rng.integers(columns["offset"][there].max() + 2))
        if below and rng.random() < 0.7:
            kept &= ~there | (columns["offset"] >= below)
            cuts.append(Cut(names(PARTITION), "it is cut", "partition", (partition,), below))
    for txn_id in np.unique(columns["txn_id"][in_log]).tolist():
        rows = np.flatnonzero(in_log & (columns["txn_id"] == txn_id))
        if rng.random() < 0.7:
            gone = int(rng.integers(1, len(rows) + 1))
            kept[rows[:gone]] = False
            cuts.append(Cut(names(LOG), "it is cut", "txn_id", (txn_id,) if gone < len(rows) else ()))
    reported = {**config, "quiet_end": True, "cuts": [msgspec.structs.asdict(each) for each in cuts]}
    return {name: values[kept] for name, values in columns.items()}, Manifest(
        "transactions", KINDS, (), config=reported
    )


def names(kinds: tuple[Kind, ...]) -> tuple[str, ...]:
    return tuple(kind.name for kind in kinds)


def simulated() -> Iterator[tuple[Columns, Mapping[str, Any]]]:
    """Yield histories of the reference in every mode."""
    for mode in MODES:
        for seed in SEEDS:
            config = {"mode": mode, "txn_ids": 2, "clients": 2}
            yield columns_of(TRANSACTIONS, [(0, simulate(seed, config))]), {"mode": mode}


def found(columns: Columns, manifest: Manifest, decided: list[str]) -> dict[str, int]:
    """Return the number of violations of each property."""
    findings, _ = transactions.check(columns, decided, manifest.config)
    return {name: finding.violations for name, finding in findings.items()}


def decided_of(manifest: Manifest) -> list[str]:
    return sorted({*transactions.properties} - transactions.undecidable(manifest).keys())


def test_what_is_left_of_right_histories_is_right() -> None:
    """Truncation violates no property, unless the whole history does, as those of v1 may."""
    judged = 0
    for columns, config in simulated():
        for seed in SEEDS:
            left, manifest = cut(columns, seed, config)
            decided = decided_of(manifest)
            of_all, of_left = (found(each, manifest_of, decided) for each, manifest_of in (
                (columns, Manifest("transactions", KINDS, (), config={**config, "quiet_end": True})), (left, manifest),
            ))  # fmt: skip
            assert not {name for name in decided if of_left[name] and not of_all[name]}
            judged += len(decided)
    assert judged > 1000


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_what_is_left_of_a_wrong_history_accuses_nothing_else(violation: str) -> None:
    columns, config = SEEDED_HISTORY.edited(violation), {"mode": "v2"}
    for seed in SEEDS:
        left, manifest = cut(columns, seed, config)
        assert {name for name, count in found(left, manifest, decided_of(manifest)).items() if count} <= {
            *VIOLATIONS[violation].found
        }


def test_those_that_do_not_say_so_would_be_wrong() -> None:
    wrong = set()
    for columns, config in simulated():
        for seed in SEEDS:
            left, manifest = cut(columns, seed, config)
            every, _ = transactions.check(left, None, manifest.config)
            of_all, _ = transactions.check(columns, None, {**config, "quiet_end": True})
            unknown = transactions.undecidable(manifest)
            wrong |= {name for name in unknown if every[name].violations and not of_all[name].violations}
            assert {unknown[name] for name in unknown} <= {
                f"it needs all of every log, but {'; '.join(['it is cut'] * many)}" for many in range(1, 9)
            }
    assert wrong >= {"init_answered_when_idle", "ends_answered_as_logged"}


def test_a_logs_rest_is_judged() -> None:
    columns, config = SEEDED_HISTORY.edited(""), {"mode": "v2", "quiet_end": True}
    read = columns["kind"] == Kind.record_read
    below = int(np.sort(columns["offset"][read & (columns["partition"] == 0)])[3])
    kept = ~np.isin(columns["kind"], PARTITION) | (columns["partition"] != 0) | (columns["offset"] >= below)
    left = {name: values[kept] for name, values in columns.items()}
    cuts = [msgspec.structs.asdict(Cut(names(PARTITION), "it is cut", "partition", (0,), below))]
    whole, _ = transactions.check(columns, None, config)
    rest, _ = transactions.check(left, None, {**config, "cuts": cuts})
    for name in ("markers_as_prepared", "markers_as_told", "reads_as_marked", "sequences_follow_on"):
        assert 0 < rest[name].judged < whole[name].judged, name
        assert not rest[name].violations, name
    assert rest["reads_as_marked"].judged == int(
        (read & ((columns["partition"] != 0) | (columns["offset"] >= below))).sum()
    )
