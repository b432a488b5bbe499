"""Programs pass on the reference before they are printed: by what is missing, by what comes too often, by what says
something else; and where they do not, that is in the report."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.failures import Disagreed, Evidence
from fencepost.proofs.testing.on_reference import FURTHER, SAME, printed
from fencepost.properties.driving import Made
from fencepost.properties.transactions.interface import Call

COLUMNS = dict.fromkeys(Call.columns, -1) | {"error": 0}
CALL = Call("fetch_offset", 0, 1, key=1)


class System:
    """Shows the same few events in its only call, and has one message in flight, or none."""

    def __init__(self, events, result=None, message=True):
        self.events, self.result, self.message, self.emitted = events, result, message, []

    def deliver(self, number):
        if not self.message:
            raise KeyError(f"no message {number} in flight")

    def go(self):
        self.emitted = [SimpleNamespace(**{**COLUMNS, "kind": kind, **values}) for kind, values in self.events]
        return self.result

    def drain_events(self):
        observed, self.emitted = self.emitted, []
        return observed


def reported(
    monkeypatch, ours, theirs, bad=None, result=None, their_result=None, message=True, mapped=False, hidden=()
):
    """What is printed of an implementation that shows ``ours``, of which one is ``bad`` or the result is, where the
    reference shows ``theirs``.  The program fails on the first; it is run on the second by the caller."""
    module = ModuleType("right_and_wrong")
    module.right = lambda config: System(theirs, their_result, message)
    module.wrong = lambda config: System(ours, result)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    plain = [{**COLUMNS, "kind": kind, **values} for kind, values in ours if kind not in hidden]
    events = tuple(plain if mapped else (SimpleNamespace(**each) for each in plain))
    waiting = (0, "end", "client-0", "coordinator", 0)
    made = (
        Made(CALL, "system.deliver(0)  # end", None, (), waiting),
        Made(CALL, "system.go()", result, events, None),
    )
    event = None if bad is None else events[bad]
    disagreed = Disagreed(Evidence(made[-1], event, (), unseen=event is None), ())
    found = printed(
        SimpleNamespace(between=False, reference="right_and_wrong:right"), "right_and_wrong:wrong", {}, made,
        disagreed, frozenset({kind for kind, _ in ours} - set(hidden)),
    )  # fmt: skip
    if not mapped:
        with pytest.raises(AssertionError):
            exec(found.text, {})
        corrected = found.text.replace("import wrong as", "import right as")
        if found.remark != SAME:
            exec(corrected, {})
        else:
            with pytest.raises(AssertionError):
                exec(corrected, {})
    return found


FIRST, SECOND = ("marker_appended", {"partition": 0}), ("txn_logged", {"state": 3})


def test_what_is_missing_before_an_event(monkeypatch):
    """The event is right where the other comes before it."""
    found = reported(monkeypatch, [SECOND, FIRST], [FIRST, SECOND], bad=0)
    assert "or 'marker_appended' in kinds[:seen.index(" in found.text
    assert not found.remark


def test_what_comes_less_often_before_an_event(monkeypatch):
    """Once is too little, where the reference has it twice."""
    found = reported(monkeypatch, [FIRST, SECOND], [FIRST, FIRST, SECOND], bad=1)
    assert ".count('marker_appended') > 1" in found.text


def test_nothing_is_returned_either_way(monkeypatch):
    """Of a call that always returns None the events tell."""
    found = reported(monkeypatch, [FIRST], [FIRST, SECOND, SECOND], result=None)
    assert "assert result != None" not in found.text
    assert reported(monkeypatch, [FIRST, FIRST], [FIRST]).text.count("kinds.count('marker_appended') < 2") == 1


def test_what_events_say(monkeypatch):
    """Where the kinds are the same, and in the same order, it is what one of them says."""
    found = reported(monkeypatch, [FIRST, SECOND], [("marker_appended", {"partition": 1}), SECOND])
    assert "seen != [('marker_appended', 0)]" in found.text
    assert "kinds != ['txn_logged', 'marker_appended']" in reported(monkeypatch, [SECOND, FIRST], [FIRST, SECOND]).text


def test_kinds_that_are_not_looked_at(monkeypatch):
    """Where nothing that is observed differs the rest is looked at, and that is in the report."""
    found = reported(monkeypatch, [FIRST], [FIRST, SECOND], bad=0, hidden={"txn_logged"})
    assert found.remark == FURTHER
    assert "'txn_logged' in" in found.text


def test_where_nothing_differs(monkeypatch):
    """It is said, in one sentence."""
    assert reported(monkeypatch, [FIRST], [FIRST], bad=0).remark == SAME


def test_call_that_the_reference_cannot_make(monkeypatch):
    """What does not wait there need not happen there."""
    found = reported(monkeypatch, [FIRST], [SECOND], bad=0, message=False)
    assert "with suppress(KeyError): system.deliver(0)" in found.text
    assert not found.remark


def test_events_that_are_mappings(monkeypatch):
    """The reference is read as the implementation is."""
    found = reported(monkeypatch, [SECOND, FIRST], [FIRST, SECOND], bad=0, mapped=True)
    assert "kinds = [e['kind'] for e in events]" in found.text
    assert not found.remark


def test_of_a_defect_of_the_reference():
    """A worker that does not ask whether it may start: its producer is opened as it should be, and nothing was asked
    before."""
    name = "fencepost.reference_impl.defects.task_counts:no_check_before"
    report = agree(name, protocol="task-counts", variant="A", max_examples=40, seed=1)
    assert report.failure.remark == FURTHER
    assert "'task_checked' in kinds[" in report.program
    with pytest.raises(AssertionError):
        exec(report.program, {})
    exec(
        report.program.replace("defects.task_counts import no_check_before", "systems.task_counts import reference"), {}
    )
