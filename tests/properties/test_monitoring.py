"""The monitor that every protocol has: driven runs, held against declared history properties."""

from dataclasses import replace

import pytest
from fencepost.properties import monitoring
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Made
from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, Setting, declared, each, following, last
from fencepost.properties.history.vocabulary import EventKind, Vocabulary
from fencepost.properties.id_blocks.events import COLUMNS
from fencepost.properties.id_blocks.interface import Call
from fencepost.properties.monitoring import Broken, HistoryMonitor, RunContext


class Kind(EventKind):
    """Of a lock that clients hold in turns."""

    taken = 1, "broker"
    given_back = 2, "broker"
    heard = 3, "broker"


LOCKS = Vocabulary("locks", Kind, COLUMNS[1:4], public=("",))
SAYING = Words(LOCKS, hidden=(), names={}).saying
HELD = last(Kind.taken, Kind.given_back, by=())
NEXT = following(Kind.given_back, by=("broker",))

HISTORY = HistoryProperties(
    LOCKS,
    in_a_table(
        declared(
            "one_holder", "730.P1", "none takes a lock that another holds",
            each(Kind.taken), (HELD.kind == Kind.taken) & (HELD.broker != IT.broker), SAYING("held since"),
            explained=HELD,
        ),
        declared(
            "given_back", "730.P3", "at the end no lock is held",
            each(Kind.taken, by=("broker",)), NEXT.missing, SAYING("never given back"), needs_quiet_end=True,
        ),
        declared(
            "heard_of", "730.3", "who gives a lock back has not heard of the limit",
            each(Kind.heard, by=("broker",)), (NEXT.at > IT.at) & ~NEXT.missing, SAYING("gives back in spite of it"),
        ),
        declared(
            "few", "730.4", "there are few brokers",
            each(Kind.taken), IT.broker >= Setting("brokers"), SAYING("too many"),
        ),
    ),
)  # fmt: skip


@pytest.fixture(autouse=True)
def locks(monkeypatch):
    monkeypatch.setattr(monitoring, "properties_of", {"locks": HISTORY}.__getitem__)


def taken(broker):
    return {"kind": "taken", "broker": broker}


def back(broker):
    return {"kind": "given_back", "broker": broker}


def watched(*calls, context=RunContext, expecting=frozenset(), **config):
    """A monitor that has seen these calls, of some events each."""
    monitor = HistoryMonitor("locks", {"brokers": 10, **config}, expecting, context)
    for events in calls:
        monitor.watch(Made(Call("commit"), "", len(events), tuple(events), None))
    return monitor


def test_first_event_that_shows_it():
    """It is found, with the call in which it was, and why."""
    wrong = taken(2)
    found = watched([taken(1)], [], [back(1), taken(1), wrong, back(2)], [taken(3), taken(4)]).found
    assert str(found) == "730.P1: taken at step 3 (broker 2): held since taken at step 2 (broker 1)"
    assert found.event is wrong
    assert found.call == 3


def test_nothing_is_found_where_nothing_is_wrong():
    """Also of a run without calls, or events; and of kinds of event that no history has."""
    for calls in ([], [[]], [[taken(1), {"kind": "polished"}, back(1)], [taken(2)]]):
        assert watched(*calls).found is None


def test_later_event_that_shows_an_earlier_one():
    """An event that was right until another came: it is that one which shows it."""
    found = watched([{"kind": "heard", "broker": 1}], [taken(2)], [back(2), back(1)], [back(1)]).found
    assert (found.rule, found.call, found.event) == ("730.3", 3, back(1))
    assert "heard at step 0" in found.text


def test_only_what_is_observed():
    """A property that needs a kind of event which is not shown is not asked; nor is one that is not looked for."""
    monitor = watched([taken(1)], [taken(2)])
    monitor.observed = frozenset({"taken"})
    assert monitor.found is None
    monitor.observed = frozenset({"taken", "given_back"})
    assert monitor.found.rule == "730.P1"
    monitor.only = frozenset({"730.P3"})
    assert monitor.found is None


def test_settings_are_those_of_the_configuration():
    """What a property asks of the config of histories is asked of that of the system."""
    assert watched([taken(1)], brokers=2).found is None
    assert watched([taken(1)], brokers=1).found.rule == "730.4"


class AtRest(RunContext):
    """A call of three events is the last in which anything happens; and what is told is true."""

    excusable = frozenset({"730.P1"})

    def is_quiet(self, made):
        return made.result == 3

    def concerned(self, name, events):
        return frozenset(event["broker"] for event in events)

    def excuses(self, call, concerned):
        return call > 2 and 5 in concerned

    def watch(self, made, events, messages):
        if made.result == 4:
            yield Broken("730.P2", "four events", check="result < 4"), frozenset()


def test_end_of_all_that_happens():
    """Where nothing is left to happen it is asked what must have happened by then, and nowhere else."""
    assert watched([taken(1)], context=AtRest).found is None
    assert watched([taken(1)], [back(1), taken(2), back(2)], context=AtRest).found is None
    found = watched([taken(1)], [back(1), taken(2), back(2)], [taken(3), back(3), taken(4)], context=AtRest).found
    assert (found.rule, found.event, found.call) == ("730.P3", None, 3)


def test_results():
    """What should be true of a result stands in its place among what events show."""
    four = [taken(1), back(1), taken(2), back(2)]
    found = watched(four, [taken(1)], [taken(2)], context=AtRest).found
    assert found == Broken("730.P2", "four events", check="result < 4", call=1)
    assert watched([taken(1)], [taken(2)], four, context=AtRest).found.call == 2


def test_excuses():
    """What is excused is not found, and what is expected as well is predicted; what is not excused is found."""
    calls = [[taken(5)], [], [taken(6)], [taken(5)]]
    monitor = watched(*calls, context=AtRest)
    assert (monitor.found, monitor.predicted) == (None, ())
    monitor = watched(*calls, [taken(6)], [taken(7)], context=AtRest, expecting=frozenset({"730.P1"}))
    assert [(broken.rule, broken.call) for broken in monitor.predicted] == [("730.P1", 3)]
    assert monitor.found.call == 6
    assert watched([taken(5)], [taken(6)], context=AtRest, expecting=frozenset({"730.P1"})).found.call == 2


def test_events_as_objects():
    """Events may have attributes instead, all of them or those that apply."""

    class Taken:
        kind = "taken"

        def __init__(self, broker):
            self.broker = broker

    assert watched([Taken(1)], [Taken(2)]).found.call == 2


def test_agreement_without_a_monitor_of_its_own():
    """A protocol that declares history properties has its monitor by that."""
    protocol = replace(driven("id-blocks"), protocol="locks", monitor=None, context=RunContext)
    monitor = protocol.monitoring({"brokers": 2}, frozenset())
    monitor.watch(Made(Call("commit"), "", None, (taken(1), taken(0)), None), ())
    assert monitor.found.rule == "730.P1"
