"""The order that a recording computes is compared with the real one: simulated histories are split into what members
saw and what the log has, and merged again without the times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fencepost.proofs.recording.group_fencing.member_events import Header, Member, Row, Seen, tag_of
from fencepost.proofs.recording.group_fencing.offsets_log import Logged, OffsetsLog
from fencepost.proofs.recording.group_fencing.ordering import in_order
from fencepost.proofs.scale.generate import generate
from fencepost.properties.group_fencing.events import APPLICATION, AUDITOR, GROUP_FENCING, OFFSETS, Kind
from fencepost.properties.group_fencing.histories import HISTORY
from fencepost.properties.group_fencing.variants import SIMULATORS
from fencepost.properties.history import HistoryDirectory, read_piece
from fencepost.properties.history.pieces import filled_columns

JUDGED = ("one_producer_commits", "newest_owner_commits", "stale_never_commits")
HISTORIES = 80
SEEN = {who: GROUP_FENCING.observed_by(who) for who in (APPLICATION, AUDITOR, OFFSETS)}


def simulated(place: Path, variant: str) -> Iterator[list[Row]]:
    """Yield the rows of some histories of the reference implementation."""
    function, config = next((function, reported) for name, function, reported in SIMULATORS if name == variant)
    generate(place, function, histories=HISTORIES, seed=5, config=config, protocol="group-fencing", variant=variant,
             cores=1)  # fmt: skip
    for piece in HistoryDirectory.open(place).pieces:
        columns, _ = read_piece(piece, GROUP_FENCING, GROUP_FENCING.schema.names)
        for history in np.unique(columns["history"]):
            at = np.flatnonzero(columns["history"] == history)
            values = {name: columns[name][at].tolist() for name in ("time_us", "kind", *GROUP_FENCING.names)}
            yield [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def apart(rows: list[Row]) -> tuple[Seen, OffsetsLog]:
    """Return what each instance saw, without times, and what the log has, without the producers of sent offsets."""
    members: dict[int, Member] = {}
    begun: Counter[int] = Counter()
    sent: dict[tuple[int, ...], str] = {}
    log = []
    audit = []
    for row in rows:
        kind = Kind(row["kind"]).name
        if kind in SEEN[APPLICATION]:
            client = row["client"]
            begun[client] += kind == "txn_begun"
            tag = tag_of(str(client), begun[client])
            member = members.setdefault(client, Member(str(client), [], []))
            if kind == "offset_sent":
                sent[row["producer_id"], row["epoch"], row["partition"], row["offset"]] = tag
            member.rows.append({**row, "time_us": 0, "producer_id": -1, "epoch": -1})
            member.tags.append(tag)
        elif kind in SEEN[OFFSETS]:
            what = row["producer_id"], row["epoch"], row["partition"], row["offset"]
            tag = sent[what] if kind == "offset_taken" else ""
            log.append(Logged({**row, "generation": -1} if kind == "offset_taken" else row, tag))
        elif kind in SEEN[AUDITOR]:
            audit.append(row)
    header = Header(group="g", inputs=())
    return Seen(header, tuple(members.values()), audit, {}), OffsetsLog(log)


def judged(rows: list[Row], variant: str) -> dict[str, int]:
    """Return the number of violations of each property that the variant promises."""
    columns = filled_columns(GROUP_FENCING, [row | {"time_us": 0} for row in rows])
    promised = [name for name in JUDGED if not HISTORY.properties[name].not_promised(variant)]
    findings, _ = HISTORY.check(columns, promised, {"mode": variant})
    return {name: found.violations for name, found in findings.items()}


@pytest.mark.parametrize("variant", ["shipped", "new-protocol", "new-protocol-relaxed"])
def test_who_did_right_is_not_accused(tmp_path: Path, variant: str) -> None:
    taken = 0
    for rows in simulated(tmp_path, variant):
        ordered = in_order(*apart(rows))
        assert ordered.strangers == 0
        assert set(judged(ordered.rows, variant).values()) == {0}
        taken += sum(row["kind"] == Kind.offset_taken for row in ordered.rows)
    assert taken > 10 * HISTORIES


@pytest.mark.parametrize("variant", ["group-id-only", "new-protocol-metadata-at-send"])
def test_who_did_wrong_is_accused_of_no_more_than_it_did(tmp_path: Path, variant: str) -> None:
    sums: defaultdict[str, int] = defaultdict(int)
    for rows in simulated(tmp_path, variant):
        real, found = judged(rows, variant), judged(in_order(*apart(rows)).rows, variant)
        assert found["newest_owner_commits"] <= real["newest_owner_commits"]
        assert found["one_producer_commits"] == real["one_producer_commits"]
        sums["real"] += real["newest_owner_commits"]
        sums["found"] += found["newest_owner_commits"]
    assert sums["real"] >= sums["found"] > sums["real"] / 2 > 0
