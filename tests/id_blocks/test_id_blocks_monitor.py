"""The monitor checks the promises of producer id blocks in driven runs."""

import pytest
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Made
from fencepost.properties.id_blocks.interface import Call

OUTSIDE = driven("id-blocks").black_box


def handed(broker, producer_id):
    return {"kind": "id_handed_out", "broker": broker, "producer_id": producer_id}


def answered(first, length, request, error=0):
    return {"kind": "answer_sent", "first": first, "length": length, "request": request, "error": error}


def broken_by(*events, observed=None, mode="kraft"):
    """Return what the monitor finds in these events, one per call, where ids run from 0 to 99."""
    monitor = driven("id-blocks").monitoring({"max_id": 100, "mode": mode}, frozenset())
    monitor.observed = observed
    for event in events:
        monitor.watch(Made(Call("commit"), "", None, (event,), None), ())
    return monitor.found


def test_id_twice():
    assert broken_by(handed(0, 4), handed(1, 5)) is None
    found = broken_by(handed(0, 4), handed(1, 5), handed(1, 4), handed(0, 6))
    assert str(found) == "730.P1: broker 1 hands out id 4 at step 2; broker 0 did so at step 0"
    assert (found.event, found.call) == (handed(1, 4), 3)


@pytest.mark.parametrize(("mode", "ids"), [("kraft", 100), ("zookeeper", 101)])
def test_id_beyond_the_end(mode, ids):
    """The ids run from 0 to 99 here, or to 100 with ZooKeeper, so that -1 and greater ones do not exist."""
    assert broken_by(handed(0, ids - 1), mode=mode) is None
    found = broken_by(handed(0, 1), handed(0, ids), mode=mode)
    assert (found.rule, found.call) == ("730.16", 2)
    assert broken_by(handed(0, -1), mode=mode).rule == "730.16"


def test_overlapping_blocks():
    """Two answers that share an id break 730.P2, unless one is a copy of the other or an error."""
    assert broken_by(answered(0, 10, 1), answered(10, 10, 2)) is None
    assert broken_by(answered(0, 10, 1), answered(0, 10, 1)) is None
    assert broken_by(answered(0, 10, 1), answered(-1, -1, 2, error=77)) is None
    found = broken_by(answered(0, 10, 1), answered(9, 10, 2), observed=OUTSIDE)
    assert (found.rule, found.call) == ("730.P2", 2)


def test_blocks_taken_from_zookeeper_count():
    writes = [
        {"kind": "zk_written", "broker": broker, "first": first, "length": 10} for broker, first in ((0, 0), (1, 5))
    ]
    assert broken_by(*writes, mode="zookeeper").rule == "730.P2"


def test_result_shows_an_id():
    """An id in the result of a call counts as handed out, whether or not an event reports it."""
    monitor = driven("id-blocks").monitoring({"max_id": 100, "mode": "kraft"}, frozenset())
    asked = Made(Call("init_producer_id", 0), "", (0, 4), (), None)
    monitor.watch(Made(Call("init_producer_id", 1), "", (14, -1), (), None), ())
    monitor.watch(asked, ())
    assert monitor.found is None
    monitor.watch(asked, ())
    assert (monitor.found.rule, monitor.found.call) == ("730.P1", 3)


def test_first_broken_promise_stays():
    found = broken_by(handed(0, 4), handed(0, 4), handed(0, 200), handed(0, 4))
    assert (found.rule, found.call) == ("730.P1", 2)
