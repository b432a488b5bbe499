"""Real clients on Apache Kafka, driven by the agreement machine through the proxy, and held to the promises.

Their requests and answers are delayed, lost, copied and put in another order as those of raw clients are.  What
libraries do by themselves is not in the model, so no model is followed.  Neither speaks transaction.version 2.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster, kafka_version
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.transactions.clients.real_client import send
from fencepost.reference_impl.live.transactions.clients.real_client_kafka_python import (
    KafkaPythonProducer,
    kafka_python,
)
from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import LibrdkafkaProducer, librdkafka
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer
from raw_producer import RawProducer
from recorded import Readers, judge
from topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

Factory = Callable[[Mapping[str, Any]], RealClientSystem]
ALL = frozenset(f"txn.P{number}" for number in range(1, 11))
PROMISES: dict[str, Collection[str]] = {
    "librdkafka": ALL,
    # kafka-python 3.0 asks for the next epoch while its transaction is open, and so fences itself: see below.
    "kafka_python": ALL - {"txn.P8"},
}
FACTORIES: dict[str, Factory] = {"librdkafka": librdkafka, "kafka_python": kafka_python}
CLUSTERS = {"v1": "kafka_v1", "v1-verified": "kafka_verified"}
EXAMPLES, STEPS, SEED = 6, 12, 17754
ABORTED = 2  # so often it is tried again
PATIENT = replace(OVER_THE_WIRE, tries=2, replays=20)  # a failure is real time
OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, PRODUCER_FENCED, TRANSACTION_ABORTABLE = 45, 48, 90, 120


class Last:
    """Makes systems, each when the one before is thrown away: their libraries have threads and connections."""

    def __init__(self, factory: Factory) -> None:
        self.factory = factory
        self.system: RealClientSystem | None = None

    def __call__(self, config: Mapping[str, Any]) -> RealClientSystem:
        self.close()
        self.system = self.factory(config)
        return self.system

    def close(self) -> None:
        if self.system is not None:
            self.system.close()


@pytest.fixture(params=CLUSTERS)
def mode(request: pytest.FixtureRequest) -> str:
    """A mode that real clients speak."""
    return str(request.param)


@pytest.fixture
def kafka(mode: str, request: pytest.FixtureRequest) -> KafkaCluster:
    """A cluster that is driven in that mode."""
    cluster: KafkaCluster = request.getfixturevalue(CLUSTERS[mode])
    return cluster


def judged(sender: Connection, bootstrap: str, mode: str, library: str) -> None:
    """Sends the failure with its program, or nothing, and how many examples there were."""
    last = Last(FACTORIES[library])
    try:
        report = agree(
            last, protocol=PATIENT, variant=mode, promises=PROMISES[library], seed=SEED, max_examples=EXAMPLES,
            steps=STEPS, config={"bootstrap": bootstrap, "collapse": True},
        )  # fmt: skip
    finally:
        last.close()
    sender.send(("" if report.failure is None else f"{report.failure}\n{report.program}", report.examples))


@pytest.mark.parametrize("library", ["librdkafka", pytest.param("kafka_python", marks=pytest.mark.nightly)])
def test_promises_are_kept(kafka: KafkaCluster, mode: str, library: str) -> None:
    """But for those that late copies break by design below version 2, which are told as predicted.

    In a process of its own: librdkafka 2.16 aborts it now and then when producers are thrown away that wait for an
    answer, which is no verdict on the brokers; then it is tried again.
    """
    spawn = multiprocessing.get_context("spawn")
    for _ in range(1 + ABORTED):
        receiver, sender = spawn.Pipe(duplex=False)
        child = spawn.Process(target=judged, args=(sender, kafka.bootstrap, mode, library))
        child.start()
        child.join()
        if child.exitcode != -signal.SIGABRT:
            break
    assert child.exitcode == 0
    failure, examples = receiver.recv()
    assert failure == ""
    assert examples >= EXAMPLES


def deliver(system: RealClientSystem, *kinds: str) -> None:
    """Deliver the newest message of each kind."""
    for kind in kinds:
        system.deliver(max(number for number, known, *_ in system.messages() if known == kind))


def test_kafka_python_fences_itself(kafka_verified: KafkaCluster) -> None:
    """A lone client whose record is refused asks for the next epoch at once, with its transaction still open.  Kafka
    fences that first, and then the epoch that the request names is an old one: txn.P8, and no other promise.

    Refused it is because a late copy of an earlier record is not verified, but remembered for its sequence number.
    """
    size = {"seed": 0, "mode": "v1-verified", "clients": 1, "partitions": 1, "max_epoch": 32767, "collapse": True}
    system = kafka_python({**size, "bootstrap": kafka_verified.bootstrap})
    try:
        assert system.init(0)
        deliver(system, "init", "init_answer")
        assert system.begin(0)
        assert system.send(0, 0)
        deliver(system, "add", "add_answer")
        [(first, *_)] = system.messages()
        system.deliver(first, keep=True)
        deliver(system, "produce_answer")
        assert system.abort(0)
        deliver(system, "end", "end_answer")
        assert system.read(0, 0) == []  # which waits for the marker
        assert system.begin(0)
        deliver(system, "produce")
        assert system.send(0, 0)
        deliver(system, "add", "add_answer", "produce", "produce_answer")
        for _ in range(30):  # until the client's own thread has seen the refusal, whatever else the machine does
            system.advance(1_000)
            if any(kind == "init" for _, kind, *_ in system.messages()):
                break
        deliver(system, "init", "init_answer")
        events = system.drain_events()
    finally:
        system.close()
    refused, asked, reported = events[-3:]
    assert (refused["kind"], refused["error"]) == ("record_failed", OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert (asked["kind"], asked["producer_id"], asked["epoch"]) == ("init_sent", 0, 0)
    assert (reported["kind"], reported["error"]) == ("init_taken", PRODUCER_FENCED)
    assert not [event for event in events[:-3] if event["kind"].endswith("_sent") and event["epoch"] > 0]


@pytest.mark.parametrize("commit", [True, False])
def test_a_late_copy_stops_the_next_transaction(kafka_verified: KafkaCluster, commit: bool) -> None:
    """A copy of a record whose transaction is over is refused (120), as it should be, but the leader's question stays
    noted with its sequence number: the next transaction of the same epoch, in which all is as it should be, begins with
    a larger one, and is refused as out of order (45), without a newer epoch in sight."""
    topic = f"late-copy-{commit}"
    create_topic(kafka_verified.bootstrap, topic)
    places = [(topic, 0)]
    sniffer = Sniffer(places)
    with (
        Proxy(kafka_verified.bootstrap, sniffer) as proxy,
        RawProducer(proxy.bootstrap, "v1-verified", topic, places) as producer,
    ):
        late = proxy.copy_next("Produce")
        assert [producer.init(), producer.add(0), producer.produce(0, 0), producer.end(commit)] == [0] * 4
        assert Readers(sniffer, kafka_verified.bootstrap, places).read(0, is_settled=True) == [0] * commit
        [[answer]] = [topic.partition_responses for topic in late.send().responses]
        assert answer.error_code == TRANSACTION_ABORTABLE
        assert producer.add(0) == 0
        assert producer.produce(0, 1) == OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("mode", (*CLUSTERS, "v2"))
def test_a_fenced_producer_aborts_the_transaction_of_its_successor(
    mode: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """InitProducerId that names an epoch long fenced is refused, unless a transaction is open: then Kafka aborts it
    first, of whichever producer it is, and the rightful owner finds itself fenced by the zombie.  Readers notice
    nothing."""
    kafka: KafkaCluster = request.getfixturevalue({**CLUSTERS, "v2": "kafka_v2"}[mode])
    topic = f"revenge-{mode}"
    create_topic(kafka.bootstrap, topic)
    places = [(topic, 0)]
    sniffer = Sniffer(places)
    with (
        Proxy(kafka.bootstrap, sniffer) as proxy,
        RawProducer(proxy.bootstrap, mode, topic, places, "zombie") as zombie,
        RawProducer(proxy.bootstrap, mode, topic, places, "owner") as owner,
    ):
        assert [zombie.init(), owner.init()] == [0, 0]
        assert zombie.bump() == PRODUCER_FENCED
        if mode != "v2":
            assert owner.add(0) == 0
        assert owner.produce(0, 1) == 0
        assert zombie.bump() == PRODUCER_FENCED
        # In version 2 the fence has raised the epoch by one, in 4.0.0 by two: a commit under the old one looks like one
        # asked again.
        asked_again = mode == "v2" and kafka_version() != "4.0.0"
        assert owner.end(commit=True) == (INVALID_TXN_STATE if asked_again else PRODUCER_FENCED)
        assert Readers(sniffer, kafka.bootstrap, places).read(0, is_settled=True) == []
    assert judge(sniffer.drain(), tmp_path, mode).violations == {}


def test_three_nodes_through_the_proxy(three_nodes: KafkaCluster, tmp_path: Path) -> None:
    """A real client finds all three brokers, leaders and coordinators through the proxy, and nothing passes it by."""
    create_topic(three_nodes.bootstrap, "three", partitions=6)
    places = [("three", number) for number in range(6)]
    sniffer = Sniffer(places)
    with Proxy(three_nodes.bootstrap, sniffer) as proxy:
        for number, client in enumerate((LibrdkafkaProducer, KafkaPythonProducer)):
            producer = client(proxy.bootstrap, f"three-{number}", f"client-{number}")
            producer.init()
            producer.begin()
            for _, partition in places:
                send(producer, "three", partition, str(6 * number + partition).encode())
            producer.commit()
            producer.close()
        readers = Readers(sniffer, proxy.bootstrap, places)
        assert [readers.read(number, is_settled=True) for number in range(6)] == [[each, 6 + each] for each in range(6)]
    judged = judge(sniffer.drain(), tmp_path, "v1-verified")
    assert judged.violations == {}
    assert judged.report.figures["records_acked"] == judged.report.figures["records_read"] == 12
