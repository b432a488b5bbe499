"""The properties of histories of two-phase commit judge what happens, and hold of runs that are drawn from the
interface."""

import pytest
import two_phase_scenarios as runs
from fencepost.properties import registry
from fencepost.properties.derived import simulate
from fencepost.properties.two_phase.events import TWO_PHASE, Kind
from fencepost.properties.two_phase.histories import HISTORY
from fencepost.reference_impl.kafka.two_phase import environment
from fencepost.reference_impl.systems.two_phase import reference
from two_phase_judging import judged, violated

KIND, OUTCOME = 2, 3 + TWO_PHASE.names.index("outcome")


@pytest.fixture
def rows():
    """Return the rows of a run in which a transaction is recovered, committed and read."""
    system = reference(runs.TWO)
    runs.recovered(system)
    system.read(0, 0)
    return list(system.env.log.rows)


def of_kind(rows, kind):
    return next(row for row in rows if row[KIND] == kind)


def changed(row, place, value):
    return (*row[:place], value, *row[place + 1 :])


def numbered(rows):
    return [(step, *row[1:]) for step, row in enumerate(rows)]


def test_ended_twice_is_found(rows):
    """939.P1: A transaction is ended once."""
    assert violated([numbered([*rows, of_kind(rows, Kind.txn_ended)])]) == {"ended_once": 1}


def test_read_of_an_aborted_one_is_found(rows):
    """939.P1: A record is read only of a committed transaction."""
    ended = of_kind(rows, Kind.txn_ended)
    edited = [changed(row, OUTCOME, 0) if row is ended else row for row in rows]
    assert {"read_when_committed", "decided_is_not_aborted", "reported_as_ended"} == {*violated([edited])}


def test_retained_when_it_is_over_is_found(rows):
    """939.P2: What is given to another instance has not ended."""
    handled = [row for row in rows if row[KIND] == Kind.init_handled][-1]
    assert violated([numbered([*rows, handled])]) == {"retained_is_not_over": 1}


def test_recovered_run_is_judged(rows):
    assert violated([rows]) == {}
    assert {name for name, count in judged([rows]).items() if not count} == {"no_time_out", "decided_is_not_aborted"}


def test_events_have_the_codes_and_columns_of_the_vocabulary():
    """The reference writes what the vocabulary has: kinds by name and code, and columns in the same order."""
    kinds = {name.lower(): code for name, code in vars(environment.Kind).items() if name.isupper()}
    assert kinds == {kind.name: int(kind) for kind in Kind}
    assert environment.Event._fields[3:] == TWO_PHASE.names


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_violated_in_runs_drawn_from_the_interface(monkeypatch, seed):
    """939.P1 to 939.P6, but for what is to happen in the end, which these runs do not wait for."""
    monkeypatch.setitem(registry.PROTOCOLS, "two-phase", "fencepost.properties.two_phase")
    made = simulate(seed, {"protocol": "two-phase", "mode": "retained", "events": 80})
    assert violated([made]).keys() <= {"decided_is_ended"}


def test_modes_without_promise_name_known_properties():
    assert {name for names in HISTORY.broken_by_design.values() for name in names} <= {*HISTORY.names}
