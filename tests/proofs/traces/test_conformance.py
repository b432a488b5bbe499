"""Conformance: reference histories fit the model, doctored and broken ones do not, and the reason told is the right
one."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance_histories import (
    ROUGH,
    Columns,
    changed,
    first_histories,
    histories,
    place_of,
    rearranged,
    swapped,
    without,
)
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.replay import Judged, Undecided, replay
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel, conformance_of
from fencepost.properties.history import HistoryDirectory, HistoryError
from fencepost.properties.id_blocks.events import Kind
from fencepost.reference_impl.defects.id_blocks import DRIVEN, REGISTRY
from fencepost.reference_impl.simulation.defects import Breaks

SIMULATOR = "fencepost.reference_impl.systems.id_blocks:simulate"
RECORDED = Path(__file__).parents[3] / "properties" / "recorded" / "id-blocks-kraft-3-nodes"
KRAFT = conformance_kernel("kraft", {"block_size": 10}, "id-blocks")

CORRECT: list[tuple[str, dict[str, Any]]] = [
    ("kraft", {}),
    ("kraft", ROUGH),
    ("kraft", {**ROUGH, "max_id": 100, "prefetch": 0, "brokers": 5}),
    ("kraft", {**ROUGH, "max_id": 99, "controller_discovery": "at_delivery"}),
    ("zookeeper", {"mode": "zookeeper", "upgrade": 0.0, "restart": 0.05}),
    ("zookeeper", {"mode": "zookeeper", "upgrade": 0.0, "max_id": 99}),
    ("bridge", {"mode": "zookeeper", **ROUGH, "upgrade": 0.1}),
    ("bridge", {"mode": "bridge", **ROUGH, "upgrade": 0.2}),
    ("bridge", {"mode": "bridge", **ROUGH, "upgrade": 0.2, "max_id": 100}),
]


def misfits_of(kernel: ConformanceKernel, columns: Columns) -> list[tuple[int, str, str | None]]:
    """Row, words and rule of each misfit; on the first few histories the plain reading must find the same."""
    found = kernel.misfits(columns)
    few = first_histories(columns, 5)
    assert [m for m in found if m.row < len(few["history"])] == kernel.misfits_plainly(few)
    return [(m.row, m.check.says, m.check.rule) for m in found]


@pytest.mark.parametrize(("variant", "config"), CORRECT)
def test_reference_histories_fit(variant: str, config: dict[str, Any]) -> None:
    """The reference implementation does nothing that the model does not allow, in any mode and under any fault."""
    columns = histories(range(40), config)
    assert misfits_of(conformance_kernel(variant, {"block_size": 10, **config}, "id-blocks"), columns) == []


def _commit_removed(c: Columns) -> Columns:
    return without(c, place_of(c, Kind.block_committed))


def _answer_before_commit(c: Columns) -> Columns:
    commit = place_of(c, Kind.block_committed)
    return swapped(c, commit, int(np.flatnonzero(c["kind"][commit:] == Kind.answer_sent)[0]) + commit)


def _id_shifted(c: Columns) -> Columns:
    row = place_of(c, Kind.id_handed_out, 4)
    return changed(c, row, producer_id=c["producer_id"][row] + 1)


def _record_before_request(c: Columns) -> Columns:
    record = place_of(c, Kind.block_recorded)
    sent = int(np.flatnonzero((c["kind"] == Kind.request_sent) & (c["request"] == c["request"][record]))[0])
    return swapped(c, sent, record)


def _asked_twice(c: Columns) -> Columns:
    sent = place_of(c, Kind.request_sent)
    twice = rearranged(c, [*range(sent + 1), sent, *range(sent + 1, len(c["kind"]))])
    return changed(twice, sent + 1, request=10_000_000)


def _block_too_long(c: Columns) -> Columns:
    row = place_of(c, Kind.answer_sent)
    return changed(c, row, length=11)


def _answer_to_nothing(c: Columns) -> Columns:
    return changed(c, place_of(c, Kind.answer_sent), request=12345)


def _stranger(c: Columns) -> Columns:
    return changed(c, place_of(c, Kind.broker_started), broker=-1)


def _of_another_protocol(c: Columns) -> Columns:
    return changed(c, place_of(c, Kind.id_refused), kind=Kind.zk_read)


def _out_of_nowhere(c: Columns) -> Columns:
    return changed(c, place_of(c, Kind.id_refused), kind=-7)


def _commit_at_the_end_of_numbers(c: Columns) -> Columns:
    return changed(c, place_of(c, Kind.block_committed), first=2**63 - 1)


DOCTORED: list[tuple[Callable[[Columns], Columns], Kind | int, str, str | None]] = [
    (_commit_removed, Kind.answer_sent, "first[slot] + size <= committed", "730.7"),
    (_answer_before_commit, Kind.answer_sent, "first[slot] + size <= committed", "730.7"),
    (_id_shifted, Kind.id_handed_out, "cursor[broker] = producer_id", "730.4"),
    (_record_before_request, Kind.block_recorded, "stage[slot] = SENT", None),
    (_asked_twice, Kind.request_sent, "not in_flight[broker]", "730.19"),
    (_block_too_long, Kind.answer_sent, "if error = 0 then length = size", "730.4"),
    (_answer_to_nothing, Kind.answer_sent, "a Request as its slot, and the event names none", None),
    (_stranger, Kind.broker_started, "a Broker as its broker, and the event names none", None),
    (_of_another_protocol, Kind.zk_read, "the protocol has such an event", None),
    (_out_of_nowhere, -7, "the protocol has such an event", None),
    (_commit_at_the_end_of_numbers, Kind.block_committed, "committed = first + size", "730.7"),
]


@pytest.mark.parametrize(("doctor", "kind", "says", "rule"), DOCTORED, ids=[d[0].__name__ for d in DOCTORED])
def test_doctored_histories_are_caught(
    doctor: Callable[[Columns], Columns], kind: int, says: str, rule: str | None
) -> None:
    """The first event that no longer fits is found, with the conjunct that it breaks and whose rule that is."""
    columns = histories([3], {"duplicate": 0.0, "drop": 0.0, "delay": 0.0, "fail_over": 0.0})
    assert misfits_of(KRAFT, columns) == []
    doctored = doctor(columns)
    [(row, found, its_rule)] = misfits_of(KRAFT, doctored)
    assert (doctored["kind"][row], found, its_rule) == (kind, says, rule)


def test_one_bad_history_among_many() -> None:
    """A misfit stops its own history only; all others are replayed to their ends, and told in order of history."""
    good = histories(range(40), ROUGH)
    rows = {name: column.copy() for name, column in good.items()}
    for history in (31, 7):
        of_history = np.flatnonzero((rows["history"] == history) & (rows["kind"] == Kind.id_handed_out))
        rows["producer_id"][of_history[3:]] += 1
    found = KRAFT(rows).violations
    assert [violation.history for violation in found] == [7, 31]
    assert all("must hold: cursor[broker] = producer_id (730.4)" in violation.told for violation in found)
    last = histories([7], ROUGH)
    assert misfits_of(KRAFT, last) == []


ROUGHER = {"lost_requests_answered_later": {"fail_over": 0.3}}
"""What a defect needs so that it shows within as many histories."""


@pytest.mark.parametrize("name", sorted({*REGISTRY} - DRIVEN))
def test_broken_implementations(name: str) -> None:
    """Each defect that breaks a promise or conformance shows as a misfit, both readings alike; a control never does."""
    broken = REGISTRY[name]
    config = {"mode": "kraft", **ROUGH, "upgrade": 0.1, **dict(broken.needs), **ROUGHER.get(name, {}), "broken": name}
    kernel = conformance_kernel(config["mode"], {"block_size": 10, **config}, "id-blocks")
    found = misfits_of(kernel, histories(range(30), config))
    if broken.breaks in (Breaks.PROMISE, Breaks.CONFORMANCE):
        assert found
    elif broken.breaks is Breaks.NOTHING:
        assert not found


RULES_BROKEN = {
    "answers_before_commit": "730.7",
    "double_prefetch": "730.19",
    "length_one_too_long": "730.4",
    "next_id_not_advanced": "730.8",
    "snapshot_omits_next_id": "730.10",
    "stale_epoch_accepted": "730.18",
    "zk_write_ignores_version": "730.2",
    "migrates_from_inclusive_end": "730.15",
    "migrates_before_upgrade": "730.14",
}


@pytest.mark.parametrize(("name", "rule"), RULES_BROKEN.items())
def test_the_rule_named_is_the_one_broken(name: str, rule: str) -> None:
    """Where the defect is one rule's, some misfit cites that rule."""
    config = {"mode": "kraft", **ROUGH, "upgrade": 0.1, **dict(REGISTRY[name].needs), "broken": name}
    kernel = conformance_kernel(config["mode"], {"block_size": 10, **config}, "id-blocks")
    assert rule in {misfit.check.rule for misfit in kernel.misfits(histories(range(30), config))}


def test_order_of_turns_does_not_matter() -> None:
    """A piece is judged as its histories one by one are."""
    config = {**ROUGH, "broken": "duplicate_answer_taken"}
    together = histories(range(25), config)
    one_by_one = []
    for history in range(25):
        alone = {name: column[together["history"] == history] for name, column in together.items()}
        one_by_one += [(v.history, v.step, v.told) for v in KRAFT(alone).violations]
    assert [(v.history, v.step, v.told) for v in KRAFT(together).violations] == one_by_one
    assert one_by_one


def test_numbers_of_brokers_and_requests_are_only_names() -> None:
    """Renumbered requests and brokers, however large the numbers, change nothing."""
    config = {**ROUGH, "broken": "stale_answer_installed"}
    columns = histories(range(25), config)
    far = {name: column.copy() for name, column in columns.items()}
    far["request"] = np.where(columns["request"] < 0, -1, 2**62 - 7 * columns["request"])
    far["broker"] = np.where(columns["broker"] < 0, -1, 2**30 + 5 * columns["broker"]).astype(np.int32)
    found = misfits_of(KRAFT, far)
    assert found == misfits_of(KRAFT, columns)
    assert found


def test_explanation_names_event_rule_and_what_was_allowed() -> None:
    """The first bad event, the false conjunct with its rule, and the step that was due instead."""
    columns = _answer_before_commit(histories([3], {"duplicate": 0.0, "drop": 0.0, "delay": 0.0, "fail_over": 0.0}))
    text = KRAFT.explain(columns)
    row = KRAFT.misfits(columns)[0].row
    assert f"answer sent at step {row}" in text
    assert "answer needs first[slot] + size <= committed (730.7)" in text
    assert "rule 730.7: " in text
    assert "commit(): " in text
    assert "stage: " in text and "RECORDED" in text
    assert "fits the model" in KRAFT.explain(histories([3], {}))
    with pytest.raises(HistoryError, match="one history"):
        KRAFT.explain(histories([3, 4], {}))


def test_replay_with_conformance(tmp_path: Path) -> None:
    """Plugged into replay, on two processes: correct histories hold, broken ones are counted and the first is told."""
    config = {"mode": "kraft", "block_size": 10}
    generate(tmp_path / "good", SIMULATOR, histories=30, seed=5, config=config, cores=1)
    generate(tmp_path / "bad", SIMULATOR, histories=30, seed=5, config={**config, "broken": "backoff_ignored"}, cores=1)
    kernel = conformance_of(HistoryDirectory.open(tmp_path / "good").manifest)
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    good = replay(tmp_path / "good", further={"conformance": kernel}, cores=2)
    assert good.holds and good.judged["conformance"] == 30
    bad = replay(tmp_path / "bad", further={"conformance": kernel}, cores=2)
    assert set(bad.violations) == {"conformance"}
    assert bad.violations["conformance"]["count"] > 10
    assert "ask needs not backing_off[broker]" in bad.violations["conformance"]["first"].told
    assert json.dumps(bad.as_dict(), default=str)


def test_recordings_of_real_systems_are_undecided() -> None:
    """A recording lacks most kinds: conformance is unknown there, with the kinds that it would need, and never
    holds."""
    check = conformance_of(HistoryDirectory.open(RECORDED).manifest)
    assert isinstance(check, Undecided)
    assert "answer_sent" in check.reason and "block_recorded" in check.reason and "id_handed_out" not in check.reason
    report = replay(RECORDED, further={"conformance": check}, cores=1)
    assert report.unknown["conformance"] == check.reason
    assert "conformance" not in report.judged


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"mode": "kraft"}, "does not say block_size"),
        ({"mode": "quorum", "block_size": 10}, "no model for mode 'quorum'"),
        ({"mode": "bridge", "block_size": 10, "max_id": 99}, "last id of a block"),
        ({"mode": "zookeeper", "block_size": 10, "inter_broker_protocol": "3.1-IV0"}, "start with the RPC"),
    ],
)
def test_undecided_for_lack_of_knowledge(config: dict[str, Any], reason: str) -> None:
    """What the manifest does not say, or the model does not cover, is a reason and not a guess."""
    manifest = HistoryDirectory.open(RECORDED).manifest
    every = tuple(kind.name for kind in Kind)
    reported = type(manifest)(manifest.protocol, every, (), config=config)
    check = conformance_of(reported)
    assert isinstance(check, Undecided) and reason in check.reason


def test_no_events_no_misfits() -> None:
    """An empty piece is judged, and nothing is found."""
    assert KRAFT({name: column[:0] for name, column in histories([1], {}).items()}) == Judged([])
