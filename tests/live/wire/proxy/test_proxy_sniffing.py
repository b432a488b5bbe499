"""What the sniffer makes of requests and answers: events in the words of histories, in the order in which they pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.recording.transactions.client_events import Header, read_events, write_events
from fencepost.properties.transactions.events.kinds import TRANSACTIONS
from fencepost.reference_impl.kafka.messages import AddOffsetsToTxnRequest, TxnOffsetCommitRequest
from fencepost.reference_impl.live.proxy.batches import UNNAMED
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.transactions.clients.real_client import send
from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import LibrdkafkaProducer
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer
from mock_cluster import END_TXN, INIT_PRODUCER_ID, PRODUCE, MockCluster
from raw_producer import TXN_ID, RawProducer

PLACES: list[Any] = [("out", 0), ("out", 1), ("a-group-0",)]
GROUP = 2


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        cluster.create_topic("out", partitions=2)
        yield cluster


@pytest.fixture
def sniffer() -> Sniffer:
    return Sniffer(PLACES, admins={"admin"})


@pytest.fixture
def proxy(mock: MockCluster, sniffer: Sniffer) -> Iterator[Proxy]:
    with Proxy(mock.bootstrap, sniffer) as proxy:
        yield proxy


def raw(proxy: Proxy, client_id: str = "raw") -> RawProducer:
    return RawProducer(proxy.bootstrap, "v1", "a", [("out", 0), ("out", 1)], client_id)


def observed(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, int]]]:
    """Without times, and without a producer id, which the mock draws."""
    hidden = {"time_us", "kind", "producer_id"}
    return [(e["kind"], {name: value for name, value in e.items() if name not in hidden}) for e in events]


def test_a_transaction(proxy: Proxy, sniffer: Sniffer) -> None:
    """Every request and every answer once, with the columns of its kind, and txn_begun before the first of them."""
    with raw(proxy) as producer:
        assert [producer.init(), producer.add(1), producer.produce(1, 7), producer.end(commit=True)] == [0] * 4
    events = sniffer.drain()
    pair, of_txn = {"epoch": 0}, {"client": 0, "txn": 0}
    record = {"partition": 1, "record": 7}
    assert observed(events) == [
        ("client_started", {"client": 0, "txn_id": 0}),
        ("init_sent", {"client": 0, "txn_id": 0, "request": 0, "epoch": -1}),
        ("init_taken", {"client": 0, "request": 0, **pair}),
        ("txn_begun", {**of_txn, "txn_id": 0, **pair}),
        ("add_sent", {**of_txn, "txn_id": 0, "request": 1, "partition": 1, **pair}),
        ("add_taken", {**of_txn, "request": 1, "partition": 1}),
        ("record_sent", {**of_txn, "txn_id": 0, "request": 2, **record, "sequence": 0, **pair}),
        ("record_acked", {**of_txn, "request": 2, **record, "offset": 0}),
        ("end_sent", {**of_txn, "txn_id": 0, "request": 3, "outcome": 1, **pair}),
        ("end_told", {**of_txn, "request": 3, "outcome": 1, **pair}),
    ]
    assert all(set(event) <= {"time_us", "kind", *TRANSACTIONS.used_by[event["kind"]]} for event in events)
    assert [event["time_us"] for event in events] == sorted(event["time_us"] for event in events)
    assert sniffer.drain() == []


def test_offsets(proxy: Proxy, sniffer: Sniffer) -> None:
    """A group is a partition behind the data partitions, and an offset that is committed a record without sequence."""
    with raw(proxy) as producer:
        producer.init()
        producer.ask_until_answered(AddOffsetsToTxnRequest(TXN_ID, *producer.pair, 0))
        producer.ask_until_answered(TxnOffsetCommitRequest(TXN_ID, 0, *producer.pair, 9))
    _, _, _, _, added, taken, sent, acked = observed(sniffer.drain())
    assert [added[1]["partition"], taken[1]["partition"]] == [GROUP, GROUP]
    assert sent[1]["partition"] == acked[1]["partition"] == GROUP
    assert sent[1]["record"] == acked[1]["record"] == 9
    assert "sequence" not in sent[1]
    assert "offset" not in acked[1]


def test_errors(proxy: Proxy, mock: MockCluster, sniffer: Sniffer) -> None:
    """What is retriable ends nothing; a record refused for good has failed, and an end that is refused is told."""
    with raw(proxy) as producer:
        mock.push_errors(INIT_PRODUCER_ID, 51)
        assert [producer.init(), producer.add(0)] == [0, 0]
        mock.push_errors(PRODUCE, 7, 47)
        assert producer.produce(0, 1) == 47
        mock.push_errors(END_TXN, 51, 47)
        assert producer.end(commit=True) == 47
    reported = [(kind, rest.get("error", 0)) for kind, rest in observed(sniffer.drain())]
    assert reported == [
        ("client_started", 0),
        *[("init_sent", 0), ("init_taken", 51), ("init_sent", 0), ("init_taken", 0)],
        *[("txn_begun", 0), ("add_sent", 0), ("add_taken", 0)],
        *[("record_sent", 0), ("record_sent", 0), ("record_failed", 47)],
        *[("end_sent", 0), ("end_sent", 0), ("end_told", 47)],
    ]


def test_a_retry_keeps_its_transaction(proxy: Proxy, sniffer: Sniffer) -> None:
    """A record that is sent again is the same record of the same transaction, under another request."""
    with raw(proxy) as producer:
        producer.init()
        producer.add(0)
        producer.produce(0, 5)
        producer._sequences.clear()
        producer.produce(0, 5)
    records = [rest for kind, rest in observed(sniffer.drain()) if kind == "record_sent"]
    assert [(each["record"], each["txn"], each["sequence"]) for each in records] == [(5, 0, 0), (5, 0, 0)]
    assert records[0]["request"] != records[1]["request"]


def test_a_lost_answer_is_not_told(proxy: Proxy, sniffer: Sniffer) -> None:
    """The broker has answered and the client has not heard: nothing is taken."""
    proxy.cut_after("InitProducerId")
    with raw(proxy) as producer, pytest.raises(WireError):
        producer.init()
    assert [event["kind"] for event in sniffer.drain()] == ["client_started", "init_sent"]


def test_copies_are_nobodys(proxy: Proxy, sniffer: Sniffer) -> None:
    """What the proxy sends once more is no event: its client has not done it."""
    late = proxy.copy_next("InitProducerId")
    with raw(proxy) as producer:
        producer.init()
        before = sniffer.drain()
        late.send()
    assert [event["kind"] for event in before] == ["client_started", "init_sent", "init_taken"]
    assert sniffer.drain() == []


def test_an_admin_fences(proxy: Proxy, sniffer: Sniffer) -> None:
    """An InitProducerId of an admin's is told as fence_told, and it is no producer that has started."""
    with raw(proxy, "admin") as admin:
        admin.init()
    sent, reported = observed(sniffer.drain())
    assert (sent[0], reported[0]) == ("init_sent", "fence_told")
    assert reported[1] == {"client": 0, "txn_id": 0, "request": 0, "epoch": 0}


def test_what_is_not_named_is_not_shown(mock: MockCluster) -> None:
    """Partitions that the recording is not about, and producers without a transactional id."""
    sniffer = Sniffer([("out", 1)])
    with Proxy(mock.bootstrap, sniffer) as proxy, raw(proxy) as producer:
        producer.init()
        producer.add(0)
        producer.produce(0, 1)
    assert {event["kind"] for event in sniffer.drain()} == {"client_started", "init_sent", "init_taken", "txn_begun"}


def test_batches_of_a_real_client(proxy: Proxy, sniffer: Sniffer) -> None:
    """Records of one batch have sequence numbers and offsets of their own; values that are no numbers get one."""
    producer = LibrdkafkaProducer(proxy.bootstrap, "a-0", "real", linger_ms=50)
    producer.init()
    producer.begin()
    for value in (b"1", b"2", b"three"):
        producer.post("out", 0, value, lambda offset, error: None)
    assert send(producer, "out", 0, b"4") == 3
    producer.commit()
    producer.close()
    events = sniffer.drain()
    sent = [event for event in events if event["kind"] == "record_sent"]
    acked = [event for event in events if event["kind"] == "record_acked"]
    assert [(event["record"], event["sequence"]) for event in sent] == [(1, 0), (2, 1), (UNNAMED, 2), (4, 3)]
    assert [(event["record"], event["offset"]) for event in acked] == [(1, 0), (2, 1), (UNNAMED, 2), (4, 3)]
    assert len({event["request"] for event in sent}) == 4


def test_events_can_be_written(proxy: Proxy, sniffer: Sniffer, tmp_path: Path) -> None:
    """They are the lines that `fencepost record --clients` reads."""
    with raw(proxy) as producer:
        assert [producer.init(), producer.add(0), producer.produce(0, 1), producer.end(commit=True)] == [0] * 4
    sniffer.report("client_stopped", client=sniffer.client("raw"))
    events = sniffer.drain()
    header = Header(mode="v1", ordered=True, partitions=(("out", 0, 0),), transactional_ids=("a-0",))
    write_events(tmp_path / "clients.jsonl", events, header)
    read = read_events(tmp_path / "clients.jsonl")
    assert len(read) == len(events)
    assert list(read.columns["record"]) == [event.get("record", -1) for event in events]
