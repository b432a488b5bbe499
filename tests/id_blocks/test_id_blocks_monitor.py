"""The promises held against events alone."""

from fencepost.properties.id_blocks.monitoring.monitor import Monitor


def handed(broker, producer_id):
    return {"kind": "id_handed_out", "broker": broker, "producer_id": producer_id}


def answered(first, length, request, error=0):
    return {"kind": "answer_sent", "first": first, "length": length, "request": request, "error": error}


def broken_by(*events):
    monitor = Monitor(100)
    monitor.feed(events)
    return monitor.broken


def test_id_twice():
    """The second broker that hands out an id breaks the first promise, and both are named."""
    assert broken_by(handed(0, 4), handed(1, 5)) == ""
    assert broken_by(handed(0, 4), handed(1, 4)) == "730.P1: id 4 is handed out twice, by broker 0 and by broker 1"


def test_id_beyond_the_end():
    """Ids run from 0 to 99 here: 100 and -1 do not exist."""
    assert broken_by(handed(0, 99)) == ""
    assert broken_by(handed(0, 100)).startswith("730.16")
    assert broken_by(handed(0, -1)).startswith("730.16")


def test_overlapping_blocks():
    """Two answers that share an id break the second promise, unless it is the same answer once more, or an error."""
    assert broken_by(answered(0, 10, 1), answered(10, 10, 2)) == ""
    assert broken_by(answered(0, 10, 1), answered(0, 10, 1)) == ""
    assert broken_by(answered(0, 10, 1), answered(-1, -1, 2, error=77)) == ""
    assert broken_by(answered(0, 10, 1), answered(9, 10, 2)).startswith("730.P2: the blocks 0–9 and 9–18")


def test_blocks_taken_from_zookeeper_count():
    """A broker's own write grants a block; the controller's is counted when it answers."""
    own = {"kind": "zk_written", "broker": 1, "first": 5, "length": 10}
    controllers = {"kind": "zk_written", "broker": -1, "first": 0, "length": 10, "request": 1}
    assert broken_by(controllers, answered(0, 10, 1)) == ""
    assert broken_by(answered(0, 10, 1), own).startswith("730.P2")


def test_first_broken_promise_stays():
    """What was broken first is told, whatever comes later."""
    assert broken_by(handed(0, 4), handed(0, 4), handed(0, 200)).startswith("730.P1: id 4")
