"""Brokers that act by themselves have a table of what each call lets them do, a memory for each state, and a rule for
when something hangs."""

from types import SimpleNamespace

import pytest
from fencepost.model.language.observations import trace_observations
from fencepost.properties.conformance_spec import driven, over_the_wire
from fencepost.properties.driving import Made
from fencepost.properties.transactions import interface
from fencepost.properties.transactions.interface import Call, Settled
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.properties.transactions.scenarios.lives import BY_ITSELF, REMOTE_MACHINES
from fencepost.properties.transactions.translator.wire import SERVED, Lane, Memory, calls, follow_remote

OF_ONE_VARIANT = {"record_added", "add_done", "add_refused"}
CONFIG = {"mode": "v2", "partitions": 1, "groups": 0, "max_epoch": 32767}


@pytest.mark.parametrize("variant", REMOTE_MACHINES)
@pytest.mark.parametrize("config", [{}, {"collapse": True}, {"timeouts": True}])
def test_what_calls_let_happen_is_in_the_model(variant, config):
    followed = follow_remote(variant, {"partitions": 2, "groups": 1, **config})
    traced = trace_observations(followed.spec, followed.columns, followed.observations)
    kinds = {kind for allowed in followed.calls.values() for kind in (*allowed.once, *allowed.often)}
    assert kinds - OF_ONE_VARIANT <= set(traced)
    assert ("record_added" in traced) == (variant == "v2")
    adding = {"add_sent", "add_taken"} if variant == "v2" else set()
    assert interface.BLACK_BOX - adding <= set(traced) | followed.ignored
    names = {name for name in vars(interface.System) if not name.startswith("_")}
    assert names - {"messages", "drain_events", "deliver"} <= set(followed.calls)


def test_time_outs_and_second_tries_are_asked_for():
    assert all("timed_out" not in allowed.often for allowed in calls(collapse=True, timeouts=False).values())
    assert all("timed_out" in allowed.often for allowed in calls(collapse=False, timeouts=True).values())
    assert "fenced_before" in calls(collapse=True, timeouts=False)["deliver init"].often
    assert "fenced_before" not in calls(collapse=False, timeouts=False)["deliver init"].often
    assert all(calls(collapse=False, timeouts=False)[f"deliver {kind}"].must for kind in SERVED)


def test_sequence_numbers():
    """In an epoch each number follows the one before, a new epoch starts at 0, and the last five are recognised."""
    memory = Memory()
    for sequence in range(7):
        memory = memory.with_record(0, 3, sequence)
    lane = memory.lane(0)
    assert lane == Lane(0, 3, (2, 3, 4, 5, 6))
    assert lane.takes(3, 7)
    assert not lane.takes(3, 8)
    assert lane.takes(4, 0)
    assert not lane.takes(4, 7)
    assert lane.has(3, 2)
    assert not lane.has(3, 1)
    assert not lane.has(4, 2)
    assert memory.with_record(0, 3, 4) == memory
    assert memory.with_record(0, 4, 0).lane(0) == Lane(0, 4, (0,))
    assert memory.lane(1) is None
    assert memory.with_record(2, 3, -1) == memory


def test_marker_of_a_later_epoch_ends_a_lane():
    """After a marker of a later epoch the next record has number 0, but a marker of the same epoch changes nothing."""
    memory = Memory().with_record(0, 3, 0).with_record(1, 3, 0)
    assert memory.written(0, 4).lane(0) is None
    assert memory.written(0, 4).lane(1) == Lane(1, 3, (0,))
    assert memory.written(0, 3) == memory


def test_question_in_vain():
    """Until a record is written, no sequence number above the lowest one in a verification is accepted."""
    memory = Memory().asking(0, 5).asking(0, 2).asking(0, 4)
    assert memory.is_behind_question(0, 3)
    assert not memory.is_behind_question(0, 2)
    assert not memory.is_behind_question(1, 3)
    assert not memory.written(0, 0).is_behind_question(0, 3)


def test_answers_are_forgotten():
    """Answers that no client can get any more are dropped, so that states that differ in nothing else are equal."""
    memory = Memory().with_answer(("init", 1, 0, 4)).with_answer(("end", 2, 51, 0))
    assert memory.only({("end", 2)}).answers == (("end", 2, 51, 0),)
    assert memory.only({("end", 2), ("init", 1)}) is memory


def event(kind, **columns):
    return SimpleNamespace(kind=kind, **columns)


def watched(monitor, fenced):
    """Return what the monitor finds after a transaction without an end, fenced or not, when the cluster has settled."""
    begun = [
        event("init_sent", client=0, request=0),
        event("init_taken", client=0, request=0, producer_id=0, epoch=0),
        event("txn_begun", client=0, txn=0, producer_id=0, epoch=0),
        event("record_sent", client=0, txn=0, record=0, partition=0, request=1, producer_id=0, epoch=0, sequence=0),
        event("record_acked", client=0, txn=0, record=0, partition=0, request=1, offset=0),
    ]
    fence = [event("fence_told", client=1, request=2, producer_id=0, epoch=2)] if fenced else []
    monitor.watch(Made(Call("advance", 1), "", None, (*begun, *fence), None))
    fetched = event("fetched", client=interface.READERS + 100, partition=0, offset=0, upto=0)
    result = Settled(True, 0, ((),), (((0, 0),),), ())
    monitor.watch(Made(Call("settle", 100, 1, 0), "", result, (fetched,), None))
    return monitor.found


def test_what_nobody_has_ended_does_not_hang():
    """Time-outs are not awaited over the wire, so that only fenced transactions must be decided by the end."""
    assert watched(over_the_wire("transactions").monitoring(CONFIG, frozenset()), fenced=False) is None
    assert watched(over_the_wire("transactions").monitoring(CONFIG, frozenset()), fenced=True).rule == "txn.P10"
    assert watched(driven("transactions").monitoring(CONFIG, frozenset()), fenced=False).rule == "txn.P10"


def test_one_promise_alone():
    monitor = over_the_wire("transactions").monitoring(CONFIG, frozenset())
    monitor.only = frozenset({"txn.P3"})
    assert watched(monitor, fenced=True) is None


def test_machines_leave_brokers_alone():
    class Session:
        def call(self, run, call):
            raise AssertionError(f"{call.name} was called")

    machine = REMOTE_MACHINES["v2"]()
    machine.session = Session()
    for name in BY_ITSELF:
        assert machine.call(name, value=1) is None


def test_agreement_over_the_wire():
    assert OVER_THE_WIRE.variants == ("v2", "v1", "v1-verified")
    assert not OVER_THE_WIRE.probed
    assert OVER_THE_WIRE.tries > 1
    assert OVER_THE_WIRE.expecting["v2"] == frozenset()
