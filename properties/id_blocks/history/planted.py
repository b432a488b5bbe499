"""Histories of id blocks with violations planted at known places: what a check that has teeth must find, and count.

Not a simulation: every history is one pattern (brokers take blocks in turn and hand out all ids), shifted to ids of its
own, so that millions of events a second can be made. In some histories one event is bent; `planted` says what each
property must then report, to the last violation.
"""

from collections.abc import Sequence

import numpy as np
from fencepost.properties.history.pieces import Columns, absent_columns
from fencepost.properties.history.planting import Bed
from fencepost.properties.id_blocks.history.events import ID_BLOCKS, Kind

Planted = tuple[dict[str, np.ndarray], dict[str, int]]

PLANTS = ("id twice", "answer first", "commit last", "off by one", "overlap", "answer overlaps", "empty block")


def planted(seed: int, first_history: int, histories: int, *, brokers: int = 3, rounds: int = 2, size: int = 40,
            bent: float = 0.001, first_id: int = 0, plants: Sequence[str] = PLANTS) -> Planted:  # fmt: skip
    """Columns of `histories` whole histories, and the violations that each property must report on them.

    Every broker takes `rounds` blocks of `size` ids (at least 2) and hands out all of them; a share of `bent` histories
    has one of the `plants`, drawn with `seed`. Ids start at `first_id`, plus a little that differs by history.
    """
    pattern = _pattern(brokers, rounds, size)
    events = len(pattern["kind"])
    columns = {name: np.tile(values, histories) for name, values in pattern.items()}
    number = np.repeat(np.arange(first_history, first_history + histories), events)
    columns["history"] = number
    shift = first_id + number % 997
    for name in ("first", "producer_id"):
        columns[name] = np.where(columns[name] >= 0, columns[name] + shift, columns[name])
    rng = np.random.default_rng([seed, first_history])
    expected: dict[str, int] = {}
    for place in np.flatnonzero(rng.random(histories) < bent):
        plant = plants[int(rng.integers(len(plants)))]
        here = {name: values[place * events : (place + 1) * events] for name, values in columns.items()}
        for broken, count in _bend(here, plant, size).items():
            expected[broken] = expected.get(broken, 0) + count
    return columns, expected


def _pattern(brokers: int, rounds: int, size: int) -> dict[str, np.ndarray]:
    """One history without violations: brokers start; in each round each takes a block, then all hand out in turn."""
    rows: list[dict[str, int]] = [{"kind": Kind.broker_started, "broker": b, "broker_epoch": b} for b in range(brokers)]
    for grant in range(brokers * rounds):
        broker = grant % brokers
        block = {"broker": broker, "grant": grant, "first": grant * size, "length": size}
        asked = {"broker": broker, "request": grant}
        rows.append({"kind": Kind.request_sent, "broker_epoch": broker, **asked})
        rows.append({"kind": Kind.block_recorded, "node": 0, "broker_epoch": broker, **asked, **block})
        rows.append({"kind": Kind.block_committed, "broker_epoch": broker, **block})
        rows.append({"kind": Kind.answer_sent, "node": 0, **asked, **block})
        rows.append({"kind": Kind.answer_taken, **asked, **block})
        rows.append({"kind": Kind.block_installed, "broker": broker, "first": grant * size, "length": size})
        if broker == brokers - 1:
            taken = range(grant - brokers + 1, grant + 1)
            rows += [
                {"kind": Kind.id_handed_out, "broker": g % brokers, "producer_id": g * size + i}
                for i in range(size)
                for g in taken
            ]
    pattern = absent_columns(ID_BLOCKS, len(rows))
    pattern["step"] = np.arange(len(rows), dtype=np.int32)
    pattern["time_us"] = np.arange(len(rows)) * 100
    for step, row in enumerate(rows):
        for name, value in row.items():
            pattern[name][step] = value
    return pattern


def _bend(columns: Columns, plant: str, size: int) -> dict[str, int]:
    """Plant one violation into the columns of one history, in place; what each property must now report."""
    kind = columns["kind"]
    ids = np.flatnonzero(kind == Kind.id_handed_out)
    commit, answer = (np.flatnonzero(kind == k)[-1] for k in (Kind.block_committed, Kind.answer_sent))
    of_last_block = ids[columns["producer_id"][ids] >= columns["first"][commit]]
    if plant == "id twice":
        columns["producer_id"][of_last_block[1]] = columns["producer_id"][of_last_block[0]]
        return {"ids_unique": 1, "ids_increase": 1}
    if plant == "answer first":
        _swap(columns, commit, answer)
        return {"answered_after_commit": 1}
    if plant == "commit last":
        _swap(columns, commit, of_last_block[0])
        return {"answered_after_commit": 1, "handed_out_after_grant": 1}
    if plant == "off by one":
        columns["producer_id"][of_last_block[-1]] += 1
        return {"ids_within_blocks": 1}
    if plant == "overlap":
        columns["first"][commit] -= 1
        columns["length"][commit] += 1
        return {"blocks_disjoint": 1, "blocks_contiguous": 1}
    if plant == "answer overlaps":
        columns["first"][answer] -= 1
        columns["length"][answer] += 1
        return {"answers_disjoint": 1}
    columns["length"][commit] = 0
    return {"blocks_well_formed": 1, "ids_within_blocks": size}


def _swap(columns: Columns, one: int, other: int) -> None:
    """Exchange two events of one history; their steps and times stay where they are."""
    for name, values in columns.items():
        if name not in ("history", "step", "time_us"):
            values[[one, other]] = values[[other, one]]


BED = Bed(planted, PLANTS)
simulate_many = BED.simulate_many
