"""Kafka's own Java client, configured for two-phase commit (KIP-939), on a broker that has it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import COMMIT, Asker
from command_line import fencepost, read_json
from fencepost.proofs.doctor.diagnosis import SLOW_MS
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

BOTH = {"unstable.api.versions.enable": True, "transaction.two.phase.commit.enable": True}
DEFAULT_MS, NEVER_MS = 60_000, 2**31 - 1
"""The client's default for `transaction.timeout.ms`, which may not be set together with two-phase commit."""


@pytest.fixture
def kafka(jars: Path, tmp_path: Path) -> Iterator[Asker]:
    with KafkaCluster(jars, tmp_path, 1, settings=BOTH) as cluster:
        asker = Asker(cluster.bootstrap, "two-phase")
        asker.prepare()
        yield asker


@pytest.fixture
def java(jars: Path) -> Iterator[Any]:
    """A JVM with kafka-clients of the broker's release."""
    options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    port, token = launch_gateway(classpath=f"{jars}/*", die_on_exit=True, enable_auth=True, javaopts=options)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    yield gateway.jvm
    gateway.shutdown()


def _properties(java: Any, **settings: str) -> Any:
    found = java.java.util.Properties()
    for name, value in settings.items():
        found.setProperty(name.replace("_", "."), value)
    return found


def _opened(java: Any, kafka: Asker) -> Any:
    """A producer that is configured for two-phase commit, with a transaction that has a record."""
    kept = {"transaction_two_phase_commit_enable": "true", "transactional_id": kafka.txn, "max_block_ms": "20000"}
    clients, text = java.org.apache.kafka.clients.producer, java.org.apache.kafka.common.serialization.StringSerializer
    producer = clients.KafkaProducer(_properties(java, bootstrap_servers=kafka.address, **kept), text(), text())
    producer.initTransactions()
    producer.beginTransaction()
    producer.send(clients.ProducerRecord(kafka.name, java.java.lang.Integer(0), None, "one")).get()
    return producer


@pytest.mark.parametrize("waits", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["asked", "waits"])
def test_a_client_that_asks_for_two_phases_gets_one(kafka: Asker, java: Any, *, waits: bool) -> None:
    """A defect of kafka-clients, against 939.1: with `transaction.two.phase.commit.enable` "transactions that this
    client starts never expire", says the documentation of the setting. The request does not say so, and the
    coordinator aborts them when the default time-out has passed; the client hears of it with its commit."""
    producer = _opened(java, kafka)
    assert kafka.time_out_ms() == DEFAULT_MS
    assert kafka.described()[0] == "Ongoing"
    if waits:
        kafka.until(lambda: kafka.described()[0] == "CompleteAbort", patience_s=DEFAULT_MS / 1_000 + 30)
        with pytest.raises(Exception, match="InvalidTxnStateException"):
            producer.commitTransaction()
        assert kafka.read() == []


def test_an_operator_ends_a_transaction_without_time_out(kafka: Asker, java: Any) -> None:
    """forceTerminateTransaction aborts what has no time-out, and the id is an ordinary one after it."""
    opened = kafka.init(version=6, enable2_pc=True, keep_prepared_txn=False)
    assert opened == ("A", 0)
    assert kafka.produce("A", 0, 0) == 0
    assert kafka.time_out_ms() == NEVER_MS
    admin = java.org.apache.kafka.clients.admin.Admin.create(_properties(java, bootstrap_servers=kafka.address))
    admin.forceTerminateTransaction(kafka.txn).result().get()
    assert kafka.settled() == ("Empty", 2)
    assert kafka.time_out_ms() < NEVER_MS
    assert kafka.read() == []
    admin.close()


def test_the_doctor_says_how_an_undecided_transaction_is_committed(kafka: Asker, tmp_path: Path) -> None:
    """It has the prepared state, and an answer to each thing that the store may say. The commit is tried: EndTxn under
    its own producer id and epoch ends it."""
    assert kafka.init(version=6, enable2_pc=True, keep_prepared_txn=False) == ("A", 0)
    assert kafka.produce("A", 0, 0) == 0
    time.sleep(SLOW_MS / 1_000 + 1)
    ran = fencepost("doctor", "--bootstrap", kafka.address, "--json", tmp_path / "doctor.json")
    print(ran.out)
    [found] = read_json(tmp_path / "doctor.json")["findings"]
    assert (ran.code, found["kind"], found["transactional_id"], found["epoch"]) == (0, "undecided", kafka.txn, 0)
    assert f"prepared state {found['producer_id']}:0" in found["todo"][0]
    assert found["todo"][1].startswith(
        "If the store has it and says commit: commit it by EndTxn under its own producer id"
    )
    assert kafka.end("A", 0, COMMIT) == ("A", 1)
    kafka.until(lambda: kafka.read() == ["A/0/0"])
