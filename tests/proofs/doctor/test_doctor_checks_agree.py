"""`Checks` finds in logs what the history properties find in the same events: recorded, simulated, edited."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from checked_logs import LOG, data, found, logged, mark, segment_of, split
from fencepost.proofs.doctor.checks import Checks
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.properties.history import HistoryDirectory, read_piece
from fencepost.properties.seeded_violations import SEEDED_HISTORIES
from fencepost.properties.transactions.events.kinds import Kind, State
from fencepost.properties.transactions.histories.properties import HISTORY
from hypothesis import given, settings
from hypothesis import strategies as st
from transaction_edits import FAULTY, histories

Columns = Mapping[str, np.ndarray]
RECORDED = Path(__file__).parents[3] / "properties" / "recorded"
SEEDED = SEEDED_HISTORIES["transactions"]
SAME = {
    "partition_epochs_never_fall": ("fenced", "old_marker"),
    "sequences_follow_on": ("duplicate", "gap"),
    "one_epoch_while_open": ("joined",),
    "coordinators_never_older": ("coordinator_epoch",),
    "markers_as_prepared": ("marker_without", "abort_without", "both_outcomes"),
    "states_follow_on": ("decided_twice", "transition"),
    "logged_epochs_never_fall": ("epoch_back",),
    "ends_bump_epoch": ("not_bumped",),
    "none_hanging": ("hanging",),
}
"""By history property the kinds that are the same."""
ONE_OF = {"sequences_follow_on": "fenced", "one_epoch_while_open": "fenced", "ends_bump_epoch": "epoch_back"}
"""Of what has a lower epoch `Checks` says only that."""
DEFECTS = (
    "", "older_epoch_accepted", "older_coordinator_accepted", "new_epoch_takes_any_sequence", "window_outlives_epoch",
    "open_in_any_epoch", "unverified", "init_leaves_transaction_open", "end_keeps_epoch", "fence_markers_keep_epoch",
    "double_bump", "completes_at_first_marker", "reload_reopens_prepared", "equal_epoch_marker_accepted",
)  # fmt: skip


def logs_of(events: Columns, version: int) -> tuple[list[tuple[Place, list[bytes]]], dict[tuple[Place, int], int]]:
    """The events of one history as brokers' logs, and by place and offset the event."""
    logs: dict[Place, list[tuple[int, bytes]]] = {}
    rows: dict[tuple[Place, int], int] = {}
    for row, kind in enumerate(events["kind"].tolist()):
        at = {name: int(events[name][row]) for name in events}
        pair = at["producer_id"], at["epoch"]
        place = Place("t", at["partition"])
        if kind == Kind.batch_appended:
            written = data(at["offset"], pair, at["sequence"])
        elif kind == Kind.marker_appended:
            written = mark(at["offset"], pair, at["outcome"], at["coordinator_epoch"])
        elif kind in (Kind.txn_logged, Kind.id_expired):
            place, at["offset"] = LOG, len(logs.get(LOG, []))
            state = at["state"] if kind == Kind.txn_logged else -1
            written = logged(at["offset"], pair, state, f"id-{at['txn_id']}", version)
        else:
            continue
        rows[place, at["offset"]] = row
        logs.setdefault(place, []).append((at["offset"], written))
    inner = {place: [written for _, written in sorted(log)] for place, log in logs.items()}
    return sorted(inner.items(), key=lambda log: log[0] == LOG), rows


def same(broken: list[Broken], rows: Mapping[tuple[Place, int], int], events: Columns, mode: str) -> dict[str, int]:
    """Compare event by event; returns how many each property finds."""
    view = HISTORY.view_of(events, {"mode": mode})
    kinds = {kind: {rows[b.second.place, b.second.offset] for b in broken if b.kind == kind} for kind in
             {b.kind for b in broken}}  # fmt: skip
    counts = {}
    for name, names in SAME.items():
        held = HISTORY.properties[name]
        if held.not_promised(mode):
            continue
        judged = held.kernel(view)
        theirs, ours = set(judged.at.tolist()), set().union(*(kinds.get(kind, set()) for kind in names))
        lower = kinds.get(ONE_OF.get(name, ""), set())
        theirs, ours = theirs - lower, ours - lower
        if name == "none_hanging":
            theirs, ours = _open_rows(judged, events), _owners(ours, events) - _overtaken(broken, events, rows)
        assert ours == theirs, name
        counts[name] = len(theirs)
    return counts


def _owners(rows: set[int], events: Columns) -> set[tuple[int, int]]:
    return {(int(events["partition"][row]), int(events["producer_id"][row])) for row in rows}


def _open_rows(judged: Any, events: Columns) -> set[tuple[int, int]]:
    """Where the history ends before the markers are written it is no fault of anybody; `Checks` waits for them."""
    state = events["state"]
    over = [(row, other) for row, other in zip(judged.at.tolist(), judged.other.tolist(), strict=True)
            if other < 0 or state[other] not in (State.PrepareCommit, State.PrepareAbort)
            or events["producer_id"][row] != _latest_id(events, other)]  # fmt: skip
    return _owners({row for row, _ in over}, events)


def _latest_id(events: Columns, row: int) -> int:
    """The producer id that the transactional id of a record has in the end."""
    mine = np.flatnonzero((events["kind"] == Kind.txn_logged) & (events["txn_id"] == events["txn_id"][row]))
    return int(events["producer_id"][mine[-1]])


def _overtaken(broken: list[Broken], events: Columns, rows: Mapping[tuple[Place, int], int]) -> set[tuple[int, int]]:
    """What hangs while its producer has the next transaction, which the property lets pass."""
    hanging = [b for b in broken if b.kind == "hanging" and b.first is not None and b.first.what == "Ongoing"]
    return _owners({rows[b.second.place, b.second.offset] for b in hanging}, events)


def one(events: Columns, number: int) -> Columns:
    return {name: column[events["history"] == number] for name, column in events.items()}


def test_each_property_is_violated_by_an_edit() -> None:
    assert set(SAME) <= {name for edit in SEEDED.violations.values() for name in edit.found}


@pytest.mark.parametrize("edit", ["", *SEEDED.violations])
def test_edited_histories(edit: str, tmp_path: Path) -> None:
    events = SEEDED.edited(edit)
    logs, rows = logs_of(events, version=2)
    same(found(tmp_path, logs), rows, events, "v2")


@pytest.mark.parametrize(("defect", "mode"), [*((defect, "v2") for defect in DEFECTS), ("", "v1-verified"), ("", "v1")])
def test_simulated_histories(defect: str, mode: str, tmp_path: Path) -> None:
    _simulated(defect, mode, 2, tmp_path)


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("mode", ["v2", "v1-verified", "v1"])
@pytest.mark.parametrize("defect", DEFECTS)
def test_more_simulated_histories(defect: str, mode: str, tmp_path: Path) -> None:
    _simulated(defect, mode, 20, tmp_path)


def _simulated(defect: str, mode: str, many: int, folder: Path) -> None:
    config = {**FAULTY, "mode": mode, "events": 300, **({"broken": defect} if defect else {})}
    events, total = histories(range(many), config), 0
    for number in range(many):
        history = one(events, number)
        logs, rows = logs_of(history, version=2 if mode == "v2" else 1)
        total += sum(same(found(folder / str(number), logs), rows, history, mode).values())
    if not defect and mode == "v2":
        assert total == 0


@pytest.mark.parametrize(
    "name", ["transactions-kafka-clean", "transactions-kafka-sigkill", "transactions-kafka-zombie"]
)
def test_recorded_histories(name: str, tmp_path: Path) -> None:
    directory = HistoryDirectory.open(RECORDED / name)
    events, _ = read_piece(directory.pieces[0], directory.vocabulary, HISTORY.columns)
    logs, rows = logs_of(events, version=2 if directory.manifest.config["mode"] == "v2" else 1)
    same(found(tmp_path, logs), rows, events, directory.manifest.config["mode"])


EDITS = [name for name, edit in SEEDED.violations.items() if {*edit.found} & {*SAME}]


@settings(max_examples=12, deadline=None)
@given(edit=st.sampled_from(EDITS), random=st.randoms(use_true_random=False))
def test_the_same_in_pieces_and_over_a_save(
    edit: str, random: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Logs are cut and interleaved at random; what is saved goes on where it was."""
    folder = tmp_path_factory.mktemp("pieces")
    logs, _ = logs_of(SEEDED.edited(edit), version=2)
    whole, parts = Checks(), Checks()
    expected = found(folder, logs, whole)
    assert expected
    queues = []
    for place, batches in logs:
        segment = segment_of(batches, folder)
        cuts = random.sample(range(1, len(batches)), random.randint(0, min(len(batches) - 1, 5)))
        queues.append([(place, part) for part in split(segment, cuts)])
    broken: list[Broken] = []
    while queues := [queue for queue in queues if queue]:
        broken += parts.feed(*random.choice(queues).pop(0))
        if random.random() < 0.2:
            parts = Checks.load(parts.save())
    broken += parts.settle()
    parts = Checks.load(parts.save())
    broken += parts.settle(last=True)
    assert sorted(broken, key=repr) == sorted(expected, key=repr)
    assert sorted(parts.open()) == sorted(whole.open())
