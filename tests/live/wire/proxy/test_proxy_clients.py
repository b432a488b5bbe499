"""Real clients as a plug, on librdkafka's mock: everything they say and are told waits until it is delivered."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.interface import BLACK_BOX, missing
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live.transactions.clients.real_client import ClientError, Severity
from fencepost.reference_impl.live.transactions.clients.real_client_kafka_python import (
    KafkaPythonProducer,
    kafka_python,
)
from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import librdkafka
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem
from mock_cluster import MockCluster
from recorded import judge

GROUP = 2  # the number of the group's offsets partition, behind two data partitions


@pytest.fixture
def config() -> Iterator[dict[str, Any]]:
    with MockCluster() as mock:
        yield {
            "seed": 0, "mode": "v1", "clients": 2, "partitions": 2, "groups": 1, "max_epoch": 32767, "collapse": True,
            "bootstrap": mock.bootstrap,
        }  # fmt: skip


@pytest.fixture
def system(config: dict[str, Any]) -> Iterator[RealClientSystem]:
    system = librdkafka(config)
    yield system
    system.close()


def kinds(system: RealClientSystem) -> list[str]:
    return [message[1] for message in system.messages()]


def pump(system: RealClientSystem) -> list[str]:
    """Deliver everything, and what comes of it; the kinds, in order."""
    delivered = []
    while messages := system.messages():
        delivered.append(messages[0][1])
        system.deliver(messages[0][0])
    return delivered


def initialized(system: RealClientSystem) -> RealClientSystem:
    """Slot 0 is ready."""
    assert system.init(0)
    assert pump(system) == ["init", "init_answer"]
    return system


def test_it_is_a_plug(system: RealClientSystem) -> None:
    """It has every method, and shows nothing but what every implementation can show."""
    assert missing(system, "v1") == []
    initialized(system).begin(0)
    assert system.send(0, 0)
    assert pump(system) == ["add", "add_answer", "produce", "produce_answer"]
    assert system.send(0, GROUP)
    assert pump(system) == ["add", "add_answer", "produce", "produce_answer"]
    assert system.commit(0)
    assert pump(system) == ["end", "end_answer"]
    assert system.read(0, 0) == [(0, 0)]
    assert system.read(1, 0, committed=False) == [(0, 0)]
    events = system.drain_events()
    assert {event["kind"] for event in events} <= BLACK_BOX
    assert [event["kind"] for event in events if event["kind"].endswith("_sent")] == [
        "init_sent", "add_sent", "record_sent", "add_sent", "record_sent", "end_sent",
    ]  # fmt: skip
    assert {event["producer_id"] for event in events if "producer_id" in event} == {-1, 0}, "numbered as they appear"


def test_nothing_goes_by_itself(system: RealClientSystem) -> None:
    """What is not delivered does not arrive: neither request nor answer."""
    assert system.init(0)
    [(number, kind, source, target, _)] = system.messages()
    assert (kind, source, target) == ("init", "client-0", "coordinator")
    assert not system.begin(0)
    system.deliver(number)
    assert kinds(system) == ["init_answer"]
    assert not system.begin(0)
    system.deliver(system.messages()[0][0])
    assert system.begin(0)


def test_calls_that_the_state_forbids(system: RealClientSystem) -> None:
    """They are False, and nothing happens."""
    forbidden = (system.begin, system.commit, system.abort, lambda slot: system.send(slot, 0))
    assert [call(0) for call in forbidden] == [False] * 4
    initialized(system)
    assert not system.init(0)
    assert kinds(system) == []


def test_an_empty_transaction_asks_nobody(system: RealClientSystem) -> None:
    """Its end shows all the same, without a request."""
    initialized(system).drain_events()
    assert system.begin(0)
    assert system.commit(0)
    assert kinds(system) == []
    assert [(event["kind"], "request" in event) for event in system.drain_events()] == [
        ("txn_begun", False),
        ("end_told", False),
    ]


def test_a_copy_stays_in_flight(system: RealClientSystem, tmp_path: Path) -> None:
    """Kept, EndTxn is delivered twice; the second time it decides the next transaction, as the history says."""
    initialized(system).begin(0)
    system.send(0, 0)
    pump(system)
    system.commit(0)
    system.deliver(system.messages()[0][0], keep=True)
    assert kinds(system) == ["end", "end_answer"]
    system.deliver(system.messages()[1][0])
    assert system.begin(0)
    system.send(0, 0)
    while kinds(system) != ["end"]:
        system.deliver(system.messages()[1][0])
    [late] = system.messages()
    system.deliver(late[0])
    assert system.messages() == []
    system.read(0, 0)
    assert "txn.P3" in judge(system.drain_events(), tmp_path, "v1").rules


def test_a_lost_request_is_asked_again(system: RealClientSystem) -> None:
    """Its connection breaks with it; the library connects anew, and asks under another number."""
    initialized(system).begin(0)
    system.send(0, 0)
    [lost] = system.messages()
    system.drop(lost[0])
    system.advance(1_000)
    [again] = system.messages()
    assert (again[1], again[4]) == ("add", lost[4] + 1)
    pump(system)
    assert system.commit(0)
    pump(system)
    assert system.drain_events()[-1]["kind"] == "end_told"


def test_a_lost_answer_is_asked_for_again(system: RealClientSystem) -> None:
    """The broker has done it already, and does it no second time."""
    initialized(system).begin(0)
    system.send(0, 0)
    for _ in range(3):
        system.deliver(system.messages()[0][0])
    assert kinds(system) == ["produce_answer"]
    system.drop(system.messages()[0][0])
    system.advance(1_000)
    assert kinds(system) == ["produce"]
    pump(system)
    system.commit(0)
    pump(system)
    assert system.read(0, 0) == [(0, 0)]


def test_a_crash_leaves_requests_behind(system: RealClientSystem) -> None:
    """The old instance's request is still in flight when the new one is ready, and its answer is for no instance."""
    initialized(system).begin(0)
    system.send(0, 0)
    [old] = system.messages()
    system.restart_client(0)
    assert system.init(0)
    fresh = [message for message in system.messages() if message[1] == "init"]
    system.deliver(fresh[0][0])
    system.deliver(next(message[0] for message in system.messages() if message[1] == "init_answer"))
    assert system.begin(0)
    system.drain_events()
    deadline = time.monotonic() + 10
    while system._messages._flying[old[0]].passing.is_connected and time.monotonic() < deadline:
        time.sleep(0.01)
    system.deliver(old[0])
    assert system.messages() == []
    assert system.drain_events() == []


def test_fencing(system: RealClientSystem) -> None:
    """An admin instance asks once, and learns the pair that no client uses."""
    initialized(system).drain_events()
    assert system.fence()
    assert [message[1:4] for message in system.messages()] == [("init", "admin-0", "coordinator")]
    assert pump(system) == ["init", "init_answer"]
    sent, reported = system.drain_events()
    assert (sent["kind"], reported["kind"], reported["request"]) == ("init_sent", "fence_told", sent["request"])


def test_its_threads_end(config: dict[str, Any]) -> None:
    """Closed in the middle of calls, it leaves no thread behind for long."""
    before = {thread.ident for thread in threading.enumerate()}
    system = librdkafka(config)
    system.init(0)
    system.close()
    deadline = time.monotonic() + 20
    while (left := {thread.ident for thread in threading.enumerate()} - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, [thread.name for thread in threading.enumerate()]


def test_nobody_needs_to_close_it(config: dict[str, Any]) -> None:
    """When the system is no longer used, its proxy and its libraries are gone too."""
    before = {thread.ident for thread in threading.enumerate()}
    system = librdkafka(config)
    system.init(0)
    del system
    gc.collect()
    deadline = time.monotonic() + 20
    while (left := {thread.ident for thread in threading.enumerate()} - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, [thread.name for thread in threading.enumerate()]


def test_v2_is_not_spoken(config: dict[str, Any]) -> None:
    """Neither library knows EndTxn 5, and both say so."""
    for factory in (librdkafka, kafka_python):
        with pytest.raises(ValueError, match=r"does not speak transaction\.version 2"):
            factory(config | {"mode": "v2"})


def test_kafka_python_cannot_use_the_mock(config: dict[str, Any]) -> None:
    """One line says so, in bounded time."""
    with pytest.raises(ClientError, match="kafka-python cannot start") as refused:
        KafkaPythonProducer(config["bootstrap"], "t", "a", timeout_s=1.0)
    assert refused.value.severity is Severity.FATAL


def test_the_mock_is_found_out_through_a_real_client(config: dict[str, Any]) -> None:
    """Driving librdkafka's own producer, the search finds a short program by which txn.P3 is broken."""
    quick = replace(OVER_THE_WIRE, tries=1, replays=4)  # librdkafka takes half a second to find its coordinator
    report = agree(
        librdkafka, protocol=quick, variant="v1", promises={"txn.P3"}, seed=0, max_examples=8, steps=12,
        config={"bootstrap": config["bootstrap"], "collapse": True},
    )  # fmt: skip
    assert report.verdict == "violated"
    assert report.failure is not None
    assert report.failure.promise.startswith("txn.P3: ")
    assert "system.read(" in report.program
