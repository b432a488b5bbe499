"""Our own clients over TCP against a broker that answers what the test tells it to: errors, silence, another broker.

Two ways are tested: as it is seen (the error reaches the client, which does what Kafka's does about it), and collapsed
(what only says "try again" is tried again underneath, and no client sees it).
"""

import pytest
from fencepost.reference_impl.live.transactions.over_tcp import over_tcp
from mock_cluster import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    CUT,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    MockCluster,
)

COLLAPSED = [
    (INIT_PRODUCER_ID, 14), (INIT_PRODUCER_ID, 15), (INIT_PRODUCER_ID, 16), (INIT_PRODUCER_ID, 51),
    (ADD_PARTITIONS, 51), (ADD_PARTITIONS, 16), (PRODUCE, 3),
    (PRODUCE, 6), (ADD_OFFSETS, 51), (ADD_OFFSETS, 15), (TXN_OFFSET_COMMIT, 14), (TXN_OFFSET_COMMIT, 16),
    (END_TXN, 51), (END_TXN, 16),
]  # fmt: skip
"""What a broker says while it is not ready, or when another one is to be asked."""

LONGER_THAN_A_BACK_OFF_MS, LONGER_THAN_A_REQUEST_MS = 100, 30_000
DATA, OFFSETS = 0, 1


@pytest.fixture
def mock():
    """Two brokers."""
    with MockCluster(brokers=2) as cluster:
        yield cluster


def clients(mock, **config):
    """One producer, one data partition and one group."""
    size = {"clients": 1, "partitions": 1, "groups": 1, "max_epoch": 32767}
    return over_tcp({"seed": 0, "mode": "v1", **size, "bootstrap": mock.bootstrap, **config})


def pumped(system):
    """Everything in flight is delivered; the events."""
    while system.messages():
        system.deliver(system.messages()[0][0])
    return system.drain_events()


def reported(events, kind):
    """The errors in the events of a kind, in order."""
    return [event.error for event in events if event.kind == kind]


def whole_transaction(system):
    """From initTransactions to the answer to the commit; all its events."""
    events = []
    for name, *arguments in (("init", 0), ("begin", 0), ("send", 0, DATA), ("send", 0, OFFSETS), ("commit", 0)):
        assert getattr(system, name)(*arguments), name
        events += pumped(system)
    return events


def test_nothing_disturbs_a_transaction(mock):
    """What the tests below disturb: no client sees an error, and the record is read."""
    system = clients(mock)
    events = whole_transaction(system)
    assert {event.error for event in events} == {0}
    assert reported(events, "end_told") == [0]
    assert [record for _, record in system.read(0, DATA)] == [0]


@pytest.mark.parametrize(("api_key", "error"), COLLAPSED)
def test_collapsed_answer_is_not_seen(mock, api_key, error):
    """Asked again, here twice, until the answer is another one; the events are those of an undisturbed transaction."""
    undisturbed = whole_transaction(clients(mock, collapse=True))
    mock.push_errors(api_key, error, error)
    mock.start_tracking()
    system = clients(mock, collapse=True)
    events = whole_transaction(system)
    assert [key for _, key in mock.requests()].count(api_key) == 3
    assert [event.kind for event in events] == [event.kind for event in undisturbed]
    assert {event.error for event in events} == {0}
    assert len(system.read(0, DATA)) == 1


@pytest.mark.parametrize("error", [14, 15, 16, 51])
def test_answer_that_says_try_again_is_seen(mock, error):
    """Not collapsed: the client is told, asks again after its back-off, and has its producer id then."""
    system = clients(mock)
    mock.push_errors(INIT_PRODUCER_ID, error)
    system.init(0)
    assert reported(pumped(system), "init_taken") == [error]
    assert not system.begin(0)
    system.advance(LONGER_THAN_A_BACK_OFF_MS)
    assert reported(pumped(system), "init_taken") == [0]
    assert system.begin(0)


@pytest.mark.parametrize("collapse", [False, True])
@pytest.mark.parametrize(("api_key", "error"), [(INIT_PRODUCER_ID, 90), (END_TXN, 47), (ADD_PARTITIONS, 90)])
def test_fenced_is_for_good(mock, collapse, api_key, error):
    """Nothing is tried again, the client is told once, and it can neither go on nor begin anew."""
    system = clients(mock, collapse=collapse)
    mock.push_errors(api_key, error)
    mock.start_tracking()
    for name, *arguments in (("init", 0), ("begin", 0), ("send", 0, DATA), ("commit", 0)):
        getattr(system, name)(*arguments)
        pumped(system)
    assert [key for _, key in mock.requests()].count(api_key) == 1
    system.advance(LONGER_THAN_A_REQUEST_MS)
    assert system.messages() == []
    assert not any((system.init(0), system.begin(0), system.commit(0), system.abort(0)))


def test_fenced_while_producing_can_only_abort(mock):
    """INVALID_PRODUCER_EPOCH from a leader: the record fails, a commit is refused, an abort is not."""
    system = clients(mock)
    mock.push_errors(PRODUCE, 47)
    for name, *arguments in (("init", 0), ("begin", 0), ("send", 0, DATA)):
        getattr(system, name)(*arguments)
        events = pumped(system)
    assert reported(events, "record_failed") == [47]
    assert not system.commit(0)
    assert system.abort(0)
    assert reported(pumped(system), "end_told") == [0]


@pytest.mark.parametrize("collapse", [False, True])
@pytest.mark.parametrize("api_key", [INIT_PRODUCER_ID, ADD_PARTITIONS, PRODUCE, END_TXN])
def test_cut_connection_leaves_a_client_waiting(mock, collapse, api_key):
    """No answer is in flight; when its time is up the client asks again, on a new connection, and goes on."""
    system = clients(mock, collapse=collapse)
    mock.push_errors(api_key, CUT)
    mock.start_tracking()
    events = []
    for name, *arguments in (("init", 0), ("begin", 0), ("send", 0, DATA), ("commit", 0)):
        if not getattr(system, name)(*arguments):
            events += waited(system)
            assert getattr(system, name)(*arguments)
        events += pumped(system)
    events += waited(system)
    assert [key for _, key in mock.requests()].count(api_key) == 2
    assert reported(events, "end_told") == [0]
    assert [record for _, record in system.read(0, DATA)] == [0]


def waited(system):
    """A request's time is up, and what comes of that."""
    system.advance(LONGER_THAN_A_REQUEST_MS)
    return pumped(system)


@pytest.mark.parametrize("collapse", [False, True])
def test_coordinator_moves_in_a_transaction(mock, collapse):
    """The old one says so, the new one is looked for and found; only an uncollapsed client notices."""
    system = clients(mock, collapse=collapse)
    for name, *arguments in (("init", 0), ("begin", 0), ("send", 0, DATA)):
        getattr(system, name)(*arguments)
        pumped(system)
    for broker in (2, 1):  # wherever it was, one of the two moves it
        mock.move_coordinator(system.names.transactional_id(0), broker)
    mock.start_tracking()
    system.commit(0)
    events = pumped(system)
    if not reported(events, "end_told"):
        system.advance(LONGER_THAN_A_BACK_OFF_MS)
        events += pumped(system)
    assert reported(events, "end_told") == [0]
    assert [broker for broker, key in mock.requests() if key == END_TXN][-1] == 1


@pytest.mark.parametrize("collapse", [False, True])
def test_leader_moves_in_a_transaction(mock, collapse):
    """The old one says so, and the record is written at the new one."""
    system = clients(mock, collapse=collapse)
    for name, *arguments in (("init", 0), ("begin", 0)):
        getattr(system, name)(*arguments)
        pumped(system)
    place = system.names.places[DATA]
    for broker in (1, 2):
        mock.move_leader(place.topic, place.partition, broker)
    mock.start_tracking()
    system.send(0, DATA)
    events = pumped(system)
    if not reported(events, "record_acked"):
        system.advance(LONGER_THAN_A_BACK_OFF_MS)
        events += pumped(system)
    assert reported(events, "record_acked") == [0]
    assert [broker for broker, key in mock.requests() if key == PRODUCE][-1] == 2


def test_broker_that_is_away_for_a_while(mock):
    """No node answers; when it is back, the client's next tries go through, one for every connection that is gone."""
    system = clients(mock, answer_timeout_ms=500)
    system.init(0)
    pumped(system)
    mock.set_down()
    system.begin(0)
    system.send(0, DATA)
    assert reported(pumped(system), "add_taken") == []
    mock.set_up()
    assert reported([event for _ in range(3) for event in waited(system)], "record_acked") == [0]
