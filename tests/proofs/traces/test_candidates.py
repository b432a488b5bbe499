"""Producer id blocks as a protocol whose events leave something to choose: which copy of a request a controller or a
broker deals with is not shown, and is tried.  In columns it is computed (`properties/id_blocks/translator.py`).

Both must stop at the same events of the same histories.
"""

from dataclasses import replace
from typing import Any

import pytest
from conformance_histories import ROUGH, Columns, histories
from fencepost.model.id_blocks.brokers import Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language.observations import Observation
from fencepost.proofs.traces import conformance_kernel
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.id_blocks.events import ID_BLOCKS, KRAFT, MODEL_COLUMNS
from fencepost.properties.trace_spec import CONFORMING
from fencepost.reference_impl.defects.id_blocks import REGISTRY

SIZE, ROOM = 10, 128
DEALT_WITH = ("block_recorded", "request_refused")
ANSWERS = ("answer_sent", "answer_taken", "answer_refused", "answer_failed")


def _with_slot(o: Observation) -> Observation:
    """What a slot has to be that nothing computes: the request itself as long as it was not dealt with, and from then
    on a new copy of it; and in an answer one or the other."""
    before = o.before or (lambda s, e: s.next == s.next)
    if o.kind in DEALT_WITH:
        chosen = lambda s, e: (s.stage[e.request] == Stage.SENT) == (e.slot == e.request)  # noqa: E731
    else:
        chosen = lambda s, e: s.original[e.slot] == e.request  # noqa: E731
    return replace(o, before=lambda s, e: before(s, e) & chosen(s, e))


TABLE = tuple(_with_slot(o) if o.kind in (*DEALT_WITH, *ANSWERS) else o for o in KRAFT)
CHOOSING = EventMapping(
    ID_BLOCKS,
    {"kraft": Kraft},
    {name: kind for name, kind in MODEL_COLUMNS.items() if name not in ("asker", "controller", "by_controller")},
    {"kraft": TABLE},
    names={"request": ()},
    chosen=("slot",),
    given=lambda variant, config: {
        "size": SIZE, "ids": config.get("max_id", 2**63 - 1), "brokers": config.get("brokers", 3), "requests": ROOM,
    },
)  # fmt: skip


def _stops(config: dict[str, Any], columns: Columns) -> dict[int, int]:
    kernel = conformance_kernel("kraft", {"block_size": SIZE, **config}, "id-blocks")
    return {int(columns["history"][m.row]): int(columns["step"][m.row]) for m in kernel.misfits(columns)}


def _both(monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], columns: Columns) -> tuple[dict[int, int], ...]:
    """Where histories stop to fit, by history: in columns, and as sets of states."""
    in_columns = _stops(config, columns)
    with monkeypatch.context() as patched:
        patched.setattr(type(CONFORMING), "__getitem__", lambda _, protocol: CHOOSING.conforming)
        return in_columns, _stops(config, columns)


@pytest.mark.parametrize("config", [{}, ROUGH, {**ROUGH, "max_id": 100, "brokers": 5}], ids=["usual", "rough", "ends"])
def test_correct_histories_fit_both_ways(monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]) -> None:
    assert _both(monkeypatch, config, histories(range(6), config)) == ({}, {})


def test_broken_histories_stop_at_the_same_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every defect that shows in histories of KRaft."""
    wrong = 0
    for name in REGISTRY:
        config = {**ROUGH, "broken": name, "events": 120}
        try:
            columns = histories(range(2), config)
        except ValueError:
            continue  # not of this mode
        one, other = _both(monkeypatch, config, columns)
        assert one == other, name
        wrong += len(one)
    assert wrong > 10
