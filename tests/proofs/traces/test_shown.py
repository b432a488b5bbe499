"""A protocol of which everything is shown brings its table of observations, and is followed from it in columns, as a
set of candidate states, and as a driven run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import mapped_protocols
import numpy as np
import pytest
from fencepost.model.language import ModelError
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.failures import Disagreed
from fencepost.proofs.testing.readings import read_followed
from fencepost.proofs.testing.tracker import Tracker
from fencepost.proofs.traces import ConformanceKernel, conformance_kernel
from fencepost.proofs.traces.kernel import model
from fencepost.properties import registry
from fencepost.properties.column_ops import numbered
from fencepost.properties.driving import Made
from fencepost.properties.event_mapping import EventMapping
from fencepost.properties.history import HistoryError
from fencepost.properties.trace_spec import CONFORMING, Conforming
from mapped_protocols import CHOSEN, COLUMNS, DESK, GIVEN, MAPPING, TABLE, Desk, Kind, events_of, histories

WRONG = 0.02


def _kernel(monkeypatch: pytest.MonkeyPatch, conforming: Conforming) -> ConformanceKernel:
    """As if the desk were a protocol of the registry, of which CONFORMING is found in a module."""
    monkeypatch.setitem(registry.PROTOCOLS, "desk", mapped_protocols.__name__)
    monkeypatch.setattr(CONFORMING, "module", lambda protocol: SimpleNamespace(CONFORMING=conforming))
    model.cache_clear()
    return conformance_kernel("plain", GIVEN, "desk")


def _online(observed: EventMapping, events: list[dict[str, Any]]) -> int | None:
    """The first event with which a driven run disagrees."""
    tracker = Tracker(
        read_followed(observed.follow("plain", GIVEN)), frozenset(kind.name for kind in Kind), Coverage.none()
    )
    for place, event in enumerate(events):
        try:
            tracker.watch(
                Made(
                    SimpleNamespace(name="go", table_name="go", columns=DESK.names, errors=DESK.errors),
                    "go()",
                    None,
                    (event,),
                    None,
                ),
                (),
            )
        except Disagreed:
            return place
        assert not tracker.beyond
    return None


@pytest.mark.parametrize("mistakes", [0.0, WRONG])
def test_columns_candidates_and_runs_agree(monkeypatch: pytest.MonkeyPatch, mistakes: float) -> None:
    """The same first event that does not fit, of the same histories, in four readings of one table."""
    columns = histories(100, mistakes)
    kernel = _kernel(monkeypatch, MAPPING.conforming)
    found = {int(columns["history"][m.row]): int(columns["step"][m.row]) for m in kernel.misfits(columns)}
    plainly = {int(columns["history"][m.row]): int(columns["step"][m.row]) for m in kernel.misfits_plainly(columns)}
    runs = {h: at for h in range(100) if (at := _online(MAPPING, events_of(columns, h))) is not None}
    assert found == plainly == runs
    assert len(found) == 0 if not mistakes else 20 < len(found) < 100
    candidates = _kernel(monkeypatch, replace(MAPPING.conforming, follow=MAPPING.followed))
    assert {int(columns["history"][m.row]): int(columns["step"][m.row]) for m in candidates.misfits(columns)} == found


def test_what_is_not_observed_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history fits if any choice does; it stops where none does, with the nearest reason."""
    kernel = _kernel(monkeypatch, CHOSEN.conforming)
    assert kernel.misfits(histories(40)) == []
    columns = histories(100, WRONG)
    observed = _kernel(monkeypatch, MAPPING.conforming).misfits(columns)
    kernel = _kernel(monkeypatch, CHOSEN.conforming)
    found = kernel.misfits(columns)
    first = {int(columns["history"][m.row]): m.row for m in observed}
    assert len(found) > 10 and all(m.row >= first[int(columns["history"][m.row])] for m in found)
    one = {name: column[columns["history"] == columns["history"][found[0].row]] for name, column in columns.items()}
    assert "does not fit the model Desk" in kernel.explain(one) and "allowed instead" in kernel.explain(one)
    runs = {h: at for h in range(100) if (at := _online(CHOSEN, events_of(columns, h))) is not None}
    assert runs == {int(columns["history"][m.row]): int(columns["step"][m.row]) for m in found}


def test_what_a_protocol_may_not_declare() -> None:
    """Each with what to do instead."""
    table = {"plain": TABLE}
    with pytest.raises(ModelError, match="turn is chosen and is a Turn; what is tried is every member"):
        EventMapping(DESK, {"plain": Desk}, COLUMNS, table, {"slip": "number"}, chosen=("turn",))
    with pytest.raises(ModelError, match="turn has names and is a Turn; names stand for members of a sort"):
        EventMapping(DESK, {"plain": Desk}, COLUMNS, table, {"slip": "number"}, {"turn": ()})
    with pytest.raises(ModelError, match="events have no column 'slip'; they have customer, number, turn; or let slip"):
        EventMapping(DESK, {"plain": Desk}, COLUMNS, table)
    with pytest.raises(ModelError, match="clerk is no column of the table; it has customer, slip, turn"):
        EventMapping(DESK, {"plain": Desk}, COLUMNS, table, {"slip": "number", "clerk": "number"})
    with pytest.raises(HistoryError, match="does not say how many customers there are"):
        MAPPING.follow("plain", {})


@pytest.mark.parametrize("seed", range(5))
def test_names_get_numbers_that_are_used_again(seed: int) -> None:
    """While a name lasts it has its number alone, and there are no more numbers than names at one time."""
    random = np.random.default_rng(seed)
    lanes, names = np.sort(random.integers(0, 9, 200)), random.integers(-1, 5, (200, 2))
    ends = random.random(200) < random.random()
    found = numbered(names, lanes, ends)
    for lane in set(lanes.tolist()):
        lasting, most = dict[int, int](), 0
        for row in np.flatnonzero(lanes == lane):
            for name, number in zip(names[row].tolist(), found[row].tolist(), strict=True):
                assert (number < 0) == (name < 0)
                if name >= 0 and name not in lasting:
                    assert number not in lasting.values()
                    lasting[name] = number
                assert name < 0 or lasting[name] == number
            most = max(most, len(lasting))
            if ends[row]:
                lasting = {name: number for name, number in lasting.items() if name not in names[row]}
        assert found[lanes == lane].max(initial=-1) + 1 == most
