"""The plug over TCP on librdkafka's mock: what travels, what the driver decides, and what the mock makes of it."""

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost.reference_impl.kafka.environment import Event
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.transactions.config import Names
from fencepost.reference_impl.live.transactions.fetching import FetchedLog
from fencepost.reference_impl.systems.transactions import reference
from mock_cluster import ADD_PARTITIONS, CUT, END_TXN, INIT_PRODUCER_ID, PRODUCE, MockCluster
from wire_driving import in_flight, reported, settle, transaction

CONCURRENT_TRANSACTIONS = 51


@pytest.fixture(scope="module")
def mock() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        yield cluster


def small(mock: MockCluster, **config: Any) -> Any:
    """A small system on the mock."""
    return over_tcp({"mode": "v1", "clients": 1, "partitions": 2, "bootstrap": mock.bootstrap} | config)


def ready(mock: MockCluster, **config: Any) -> Any:
    """A small system with every producer initialised."""
    system = small(mock, **config)
    for slot in range(system.env.config.clients):
        system.init(slot)
    settle(system)
    system.drain_events()
    return system


def test_nothing_leaves_before_it_is_delivered(mock: MockCluster) -> None:
    """A request stays in flight until the driver delivers it; then its answer is."""
    system = small(mock)
    assert system.init(0)
    assert system.messages() == [(0, "init", "client-0", "coordinator", 0)]
    system.deliver(0)
    assert system.messages() == [(1, "init_answer", "coordinator", "client-0", 0)]
    system.deliver(1)
    assert reported(system) == [("init_taken", 0)]


def test_same_program_same_events_as_the_reference(mock: MockCluster) -> None:
    """Where the mock does what Kafka does, a program gives the very events of the reference implementation."""
    ours = {"mode": "v1", "clients": 1, "partitions": 2}
    systems = [reference(ours), small(mock)]
    for system in systems:
        system.init(0)
        _everything(system)
        transaction_here = [system.begin(0), system.send(0, 1), system.send(0, 1)]
        _everything(system)
        transaction_here.append(system.commit(0))
        assert transaction_here == [True] * 4
        _everything(system)
        system.read(0, 1)
    theirs, wire = ([event for event in system.drain_events() if event.node == -1] for system in systems)
    hidden = [event for event in theirs if event.kind == "stable_moved"]
    theirs = [event for event in theirs if event not in hidden]
    assert all(isinstance(event, Event) for event in wire)
    assert [event._replace(step=0) for event in wire] == [event._replace(step=0) for event in theirs]


def _everything(system: Any) -> None:
    """All arrives, the log's appends included, without any time passing."""
    while system.log_append() or system.messages():
        for number, *_ in system.messages()[:1]:
            system.deliver(number)


def test_committed_records_are_read(mock: MockCluster) -> None:
    """Two readers each get what was committed, once; offsets count from the system's own start."""
    system = ready(mock)
    transaction(system, 0, 0, 1)
    assert system.read(0, 0) == [(0, 0)]
    assert system.read(0, 0) == []
    assert system.read(1, 1) == [(0, 1)]
    transaction(system, 0, 0)
    assert system.read(0, 0) == [(2, 2)]
    assert system.read(1, 0) == [(0, 0), (2, 2)]


def test_aborted_records_show_on_the_mock(mock: MockCluster) -> None:
    """The mock's answer is handed on as it is: no list of aborted transactions, so read_committed gets the record."""
    system = ready(mock)
    transaction(system, 0, 0, commit=False)
    assert system.read(0, 0) == [(0, 0)]


def test_offsets_are_never_applied_by_the_mock(mock: MockCluster) -> None:
    """Offsets committed in a transaction: the mock says yes, and forgets them."""
    system = ready(mock, groups=1)
    transaction(system, 0, 2)
    assert system.fetch_offset(0, 2) == (0, -1)
    with pytest.raises(ValueError, match=r"partition 0 holds records, not offsets"):
        system.fetch_offset(0, 0)
    with pytest.raises(ValueError, match=r"partition 2 holds offsets"):
        system.read(0, 2)


def test_a_copy_is_the_same_request_again(mock: MockCluster) -> None:
    """Delivered with `keep`, a request reaches the broker twice with the same bytes: a duplicate there."""
    system = ready(mock)
    system.begin(0)
    system.send(0, 0)
    for kind in ("add", "add_answer"):
        system.deliver(in_flight(system, kind)[0])
    (number,) = in_flight(system, "produce")
    system.deliver(number, keep=True)
    body = system.line._encoded[system.messages()[0][4]]
    system.deliver(number)
    assert system.line._encoded[system.messages()[0][4]] is body
    answers = [system.env.network.in_flight[each].body.data for each in in_flight(system, "produce_answer")]
    assert [answer.error_code for answer in answers] == [0, 46]


def test_a_dropped_request_is_sent_again(mock: MockCluster) -> None:
    """What the driver drops never reaches the broker; the client asks again after its time-out."""
    system = small(mock)
    system.init(0)
    system.drop(0)
    assert system.messages() == []
    system.advance(30_000)
    assert [kind for _, kind, *_ in system.messages()] == ["init"]


def test_retriable_answers_are_seen(mock: MockCluster) -> None:
    """Without `collapse` the client hears that it has to ask again."""
    system = small(mock)
    system.init(0)
    mock.push_errors(INIT_PRODUCER_ID, CONCURRENT_TRANSACTIONS)
    settle(system)
    assert reported(system) == [("init_taken", CONCURRENT_TRANSACTIONS), ("init_taken", 0)]


def test_retriable_answers_are_collapsed(mock: MockCluster) -> None:
    """With `collapse` the node asks again, and one answer is seen."""
    system = small(mock, collapse=True)
    system.init(0)
    mock.push_errors(INIT_PRODUCER_ID, CONCURRENT_TRANSACTIONS, 16, 14)
    settle(system)
    assert reported(system) == [("init_taken", 0)]


@pytest.mark.parametrize("api", [ADD_PARTITIONS, PRODUCE, END_TXN])
def test_a_cut_connection_is_no_answer(mock: MockCluster, api: int) -> None:
    """The broker hangs up: nothing comes back, the client's time-out asks again, and all ends well."""
    system = ready(mock)
    mock.push_errors(api, CUT)
    system.begin(0)
    system.send(0, 0)
    settle(system)
    system.commit(0)
    settle(system)
    assert system.line.unanswered == 1
    system.advance(30_000)
    settle(system)
    system.commit(0)
    settle(system)
    assert system.line.unanswered == 1
    assert system.drain_events()[-1].kind == "end_told"


def test_a_broker_that_is_down_and_comes_back(mock: MockCluster) -> None:
    """Requests to a broker that is down come to nothing; new systems say so; later both go on."""
    system = ready(mock)
    mock.set_down()
    try:
        system.begin(0)
        system.send(0, 0)
        system.deliver(system.messages()[0][0])
        assert system.messages() == []
        with pytest.raises(WireError, match=r"cannot connect|no answer|no bootstrap server") as refused:
            small(mock)
        assert "\n" not in str(refused.value)
    finally:
        mock.set_up()
    system.advance(30_000)
    settle(system)
    assert system.commit(0)
    settle(system)
    assert reported(system)[-1] == ("end_told", 0)
    assert ready(mock).begin(0)


def test_names_are_fresh(mock: MockCluster) -> None:
    """Systems share neither ids, nor groups, nor a partition, as long as they are there."""
    systems = [small(mock, groups=1) for _ in range(5)]
    names = [system.names for system in systems]
    assert len({each.transactional_id(0) for each in names}) == 5
    assert len({each.group_id(0) for each in names}) == 5
    assert len({(place.topic, place.partition) for each in names for place in each.places}) == 10


def test_partitions_are_used_again(mock: MockCluster) -> None:
    """A system that is gone gives its partitions back; the next one there starts at offset 0 of its own."""
    before = ready(mock, partitions=1)
    transaction(before, 0, 0)
    place = before.names.places[0]
    del before
    gc.collect()
    held = []
    for _ in range(40):
        held.append(small(mock, partitions=1))
        if held[-1].names.places[0][:2] == place[:2]:
            break
    again = held[-1]
    assert again.names.places[0] == place._replace(start=place.start + 2)
    assert again.read(0, 0, committed=False) == []
    again.init(0)
    settle(again)
    transaction(again, 0, 0)
    assert again.read(0, 0) == [(0, 0)]


def test_a_foreign_record_is_noticed(mock: MockCluster) -> None:
    """A record that another system wrote is not taken for one of ours."""
    system = ready(mock)
    transaction(system, 0, 0)
    stranger = FetchedLog(system.brokers, {"fetch": 12}, Names("stranger", system.names.places), 0)
    with pytest.raises(WireError, match=r"another client's record, with key b'fencepost-.*' and value b'0'"):
        stranger.fetch(0, committed=True)


def test_events_know_the_real_time(mock: MockCluster) -> None:
    """Every event carries the wall-clock time at which it happened, and they are in order."""
    before = time.time_ns() // 1000
    system = ready(mock)
    timed = system.drain_timed_events()
    assert [event.kind for _, event in timed] == ["client_started", "init_sent", "init_taken"]
    times = [when for when, _ in timed]
    assert before <= times[0] <= times[-1] <= time.time_ns() // 1000
    assert times == sorted(times)
    assert system.drain_timed_events() == []


def test_producer_ids_are_numbered(mock: MockCluster) -> None:
    """Ids are shown in order of appearance; the mock gives a new one at every initTransactions."""
    system = small(mock, clients=3)
    for slot in (2, 0, 1):
        system.init(slot)
        settle(system)
    taken = [event for event in system.drain_events() if event.kind == "init_taken"]
    assert [(event.client, event.producer_id, event.epoch) for event in taken] == [(2, 0, 0), (0, 1, 0), (1, 2, 0)]


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mode": "v2"}, "mode v2 needs Produce 12 to 12, the broker has 0 to 10"),
        ({"mode": "v1-verified"}, "mode v1-verified needs Produce 11 to 11, the broker has 0 to 10"),
        ({"bootstrap": "127.0.0.1:1"}, "127.0.0.1:1: cannot connect"),
    ],
)
def test_what_cannot_be_spoken_is_said_in_one_line(mock: MockCluster, config: dict[str, Any], words: str) -> None:
    """A mode that the broker lacks, or no broker at all: one line."""
    with pytest.raises(WireError) as refused:
        small(mock, **config)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"bootstrap": ""}, "config bootstrap is missing"),
        ({"bootstrap": "localhost"}, "is not host:port"),
        ({"max_epoch": 5}, "config max_epoch=5: over TCP the epochs end where Kafka's do, at 32767"),
        ({"colapse": True}, "unknown keys ['colapse']"),
        ({"answer_timeout_ms": 0}, "config answer_timeout_ms=0"),
        ({"collapse": "yes"}, "config collapse='yes'"),
    ],
)
def test_a_configuration_that_cannot_be(mock: MockCluster, config: dict[str, Any], words: str) -> None:
    """Mistakes in the configuration are ValueErrors that name the key."""
    with pytest.raises(ValueError) as refused:
        small(mock, **config)
    assert words in str(refused.value)
