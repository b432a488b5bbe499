"""Histories that no protocol would make: pure noise, dense in violations of every kind at once, and the example of a
protocol with events exchanged or changed at random, which keeps most promises, so that few violations hide among many
rows that must not be reported."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from fencepost.properties.end_to_end import events as end_to_end
from fencepost.properties.group_fencing import events as groups
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.history.vocabulary import Vocabulary
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind
from fencepost.properties.seeded_violations import SEEDED_HISTORIES, Written
from fencepost.properties.source_commits import events as commits
from fencepost.properties.source_offsets import events as offsets
from fencepost.properties.task_counts import events as counts
from fencepost.properties.transactions.events import kinds as transactions
from fencepost.properties.two_phase import events as two_phase

Columns = dict[str, np.ndarray]


def random_events(
    rng: np.random.Generator,
    vocabulary: Vocabulary,
    kinds: np.ndarray,
    ranges: Mapping[str, tuple[int, int]],
    histories: int,
    events: int,
) -> tuple[Columns, np.ndarray]:
    """Columns of `histories` histories of 1 to 2 * `events` events, and their lengths; ranges exclude the upper end."""
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(vocabulary, rows)
    columns["history"] = np.repeat(np.cumsum(rng.integers(1, 4, histories)), lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(kinds, rows)
    for name, (low, high) in ranges.items():
        columns[name] = rng.integers(low, high, rows).astype(columns[name].dtype)
    return columns, lengths


def doctored_story(
    rng: np.random.Generator,
    example: Written,
    kinds: type[IntEnum],
    unchanged: Collection[str],
    histories: int,
    changes: int,
    exchanges: float,
) -> Columns:
    """The example in `histories` copies, each with up to `changes` of them; a share of `exchanges` puts one event in
    the place of another, the rest change a column that the event uses, but none that is `unchanged`."""
    copies = [example.columns(history) for history in range(histories)]
    columns = {name: np.concatenate([copy[name] for copy in copies]) for name in copies[0]}
    used_by = example.vocabulary.used_by
    size = len(copies[0]["kind"])
    for history in range(histories):
        for _ in range(int(rng.integers(1, changes + 1))):
            row, other = (history * size + int(place) for place in rng.integers(0, size, 2))
            if rng.random() < exchanges:
                for name, values in columns.items():
                    if name not in ("history", "step", "time_us"):
                        values[[row, other]] = values[[other, row]]
                continue
            used = [name for name in used_by[kinds(int(columns["kind"][row])).name] if name not in unchanged]
            if used:
                name = str(rng.choice(used))
                columns[name][row] = max(0, int(columns[name][row]) + int(rng.choice([-2, -1, 1, 2])))
    return columns


@dataclass(frozen=True)
class Random:
    """Of one protocol: ``kinds``, of which noise has more of those that are ``often``; the ``ranges`` of its columns
    (without the upper end), or ``choices`` for one; columns that stay as they are where the example is changed."""

    kinds: Any
    often: Collection[str]
    ranges: Mapping[str, tuple[int, int]]
    choices: Mapping[str, Sequence[int]] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    weight: int = 3
    changes: int = 12
    exchanges: float = 0.5
    events: int = 40


def _range(kinds: Any, *between: int) -> set[str]:
    return {kind.name for kind in kinds if between[0] <= kind < between[1]}


OF = {
    "transactions": Random(
        transactions.Kind, _range(transactions.Kind, 50, 99),
        {
            "client": (-1, 3), "txn_id": (-1, 2), "producer_id": (-1, 2), "epoch": (-1, 4), "txn": (-1, 4),
            "record": (-1, 6), "partition": (0, 2), "offset": (-1, 6), "sequence": (-1, 3), "request": (-1, 8),
            "outcome": (0, 2), "state": (-1, 6), "coordinator_epoch": (0, 3), "upto": (-1, 7),
        },
        {"error": (0, 0, 0, 0, 47, 90)}, ("node", "error"), weight=2, changes=6, exchanges=0.4,
    ),
    "task-counts": Random(
        counts.Kind, _range(counts.Kind, 20, 30) | _range(counts.Kind, 54, 55),
        {
            "node": (-1, 2), "connector": (-1, 2), "task": (-1, 3), "instance": (-1, 5), "set": (-1, 12),
            "count": (-1, 4), "offset": (0, 12), "member": (-1, 3), "producer_id": (-1, 3), "epoch": (-1, 4),
            "request": (-1, 4), "support": (-1, 4),
        },
        {"error": (0, 0, 0, 90, 51), "status": (-1, 200, 200, 200, 409, 500)},
        ("node", "error", "status", "support", "member"),
    ),
    "source-offsets": Random(
        offsets.Kind, ["output_read", "polled", "record_sent", "offset_sent", "end_sent", "copy_told", "audited"],
        {
            "instance": (-1, 3), "task": (-1, 2), "generation": (-1, 2), "owner": (-1, 1), "topic": (-1, 2),
            "position": (-1, 5), "partition": (-1, 2), "round": (-1, 1), "offset": (-1, 5), "producer_id": (-1, 2),
            "runtime": (-1, 2), "outcome": (-1, 2), "error": (0, 2),
        },
        unchanged=("error",), events=60,
    ),
    "source-commits": Random(
        commits.Kind, ["polled", "produced", "acknowledged", "offset_written", "told_offset", "flush_entry"],
        {
            "instance": (0, 3), "thread": (0, 2), "partition": (0, 2), "record": (1, 5), "offset": (0, 5),
            "output": (0, 2), "position": (0, 5), "flush": (0, 4), "entries": (-1, 3), "outcome": (0, 2),
        },
        events=60,
    ),
    "group-fencing": Random(
        groups.Kind, ["offset_taken", "offset_settled", "output_read"],
        {
            "client": (-1, 3), "generation": (-1, 4), "partition": (-1, 2), "offset": (-1, 5), "output": (-1, 2),
            "position": (-1, 5), "producer_id": (-1, 3), "outcome": (-1, 2), "error": (0, 2),
        },
        unchanged=("error",), events=60,
    ),
    "end-to-end": Random(
        end_to_end.Kind, ["polled", "output_read", "sink_read"],
        {
            "client": (0, 3), "connector": (0, 1), "task": (0, 1), "partition": (0, 2), "offset": (0, 5),
            "topic": (0, 1), "position": (0, 5),
        },
        events=60,
    ),
    "two-phase": Random(
        two_phase.Kind, ["decision_written", "txn_ended", "record_read", "batch_appended", "init_handled"],
        {
            "client": (-1, 3), "txn_id": (0, 2), "producer_id": (-1, 2), "epoch": (-1, 3), "next_epoch": (-1, 3),
            "txn": (-1, 3), "record": (-1, 5), "request": (-1, 6), "two_phase": (0, 2), "keep": (0, 2),
            "outcome": (0, 2),
        },
        {"error": (0, 0, 0, 51)}, ("error", "state", "coordinator_epoch"),
    ),
}  # fmt: skip
FAR = 2**62
"""Added in some histories of transactions, where numbers then no longer fit beside one another into a key."""


def noise(protocol: str, seed: int, histories: int, events: int = 0) -> Columns:
    """Columns of `histories` histories of 1 to 2 * `events` random events."""
    of, rng = OF[protocol], np.random.default_rng(seed)
    kinds = [kind for kind in of.kinds for _ in range(of.weight if kind.name in of.often else 1)]
    columns, lengths = random_events(
        rng, VOCABULARIES[protocol], np.array(kinds, np.int16), of.ranges, histories, events or of.events
    )
    rows = int(lengths.sum())
    for name, values in of.choices.items():
        columns[name] = rng.choice(np.array(values, columns[name].dtype), rows)
    if protocol == "transactions":
        far = np.repeat(rng.random(histories) < 0.2, lengths) & (rng.random(rows) < 0.5)
        for name in ("producer_id", "offset", "record", "upto"):
            columns[name] = np.where(far & (columns[name] >= 0), columns[name] + FAR, columns[name])
    return columns


def doctored(protocol: str, seed: int, histories: int, changes: int = 0) -> Columns:
    """The example in `histories` copies, in each of which some events are exchanged or changed."""
    of, example = OF[protocol], SEEDED_HISTORIES[protocol].history
    columns = doctored_story(
        np.random.default_rng(seed), example, of.kinds, of.unchanged, histories, changes or of.changes, of.exchanges
    )
    if protocol == "transactions":
        for name, most in (("state", 5), ("outcome", 1)):
            columns[name] = np.minimum(columns[name], most).astype(columns[name].dtype)
    return columns


MAX = 2**63 - 1
KINDS_OF_BLOCKS = (
    Kind.broker_started,
    Kind.block_committed,
    Kind.answer_sent,
    Kind.id_handed_out,
    Kind.id_handed_out,
    Kind.zk_written,
    Kind.migrated,
    Kind.request_sent,
)
# Dense small ranges collide; mixed with ids at the end of the range they no longer fit into one packed key.
BASES = {"low": (0,), "high": (MAX - 12,), "both ends": (0, MAX - 12), "everywhere": (-1, 7, 2**31 - 3, 2**62, MAX - 5)}


def random_blocks(seed: int, histories: int, base: str, events: int = 12) -> dict[str, np.ndarray]:
    """Columns of `histories` random histories of id blocks, at the edges of the integers."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 2 * events + 1, histories)
    rows = int(lengths.sum())
    columns = absent_columns(ID_BLOCKS, rows)
    # Gaps between the numbers of histories, and numbers near 2^63, must not matter.
    numbers = np.cumsum(rng.integers(1, 4, histories)) + rng.choice([0, 2**62])
    columns["history"] = np.repeat(numbers, lengths)
    columns["step"] = np.concatenate([np.arange(n) for n in lengths]).astype(np.int32)
    columns["kind"] = rng.choice(np.array(KINDS_OF_BLOCKS, np.int16), rows)
    columns["broker"] = rng.integers(-1, 3, rows).astype(np.int32)
    columns["grant"] = rng.integers(-1, 4, rows)
    columns["error"] = rng.choice(np.array([0, 0, 0, 14, -1], np.int16), rows)
    columns["first"] = _near(rng, BASES[base], rows)
    columns["producer_id"] = _near(rng, BASES[base], rows)
    columns["length"] = rng.choice(np.array([-(2**31), -1, 0, 1, 2, 3, 5, 2**31 - 1], np.int32), rows)
    usual = rng.random(rows) < 0.8
    columns["length"] = np.where(usual, rng.integers(1, 5, rows), columns["length"]).astype(np.int32)
    return columns


def _near(rng: np.random.Generator, bases: tuple[int, ...], rows: int) -> np.ndarray:
    base = rng.choice(np.array(bases, np.int64), rows)
    return base + np.minimum(rng.integers(0, 13, rows), MAX - base)
