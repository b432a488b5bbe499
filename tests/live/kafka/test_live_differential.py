"""The same generated sequences on live Kafka and on the reference implementation: every difference fails, made short.

A thousand sequences in every run, ten thousand in three nights, over what a cluster can be: transactions of KIP-890's
second part, its first, and before. What is compared is said in `live/transactions/beside.py`; what is known to be
different in `reference_impl/transactions/KAFKA.md`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from cluster import KafkaCluster
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live import beside_reference, over_tcp, prompt
from fencepost.reference_impl.live.transactions.beside import Beside, beside
from fencepost.reference_impl.transactions.defects.broken import find

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CLUSTERS = {"v2": "kafka_v2", "v1-verified": "kafka_verified", "v1": "kafka_v1"}
SEQUENCES = {"v2": 340, "v1-verified": 330, "v1": 330}
STEPS = 12  # of the machine: a hundred calls and more
NIGHTLY = 10


@pytest.fixture(params=CLUSTERS)
def mode(request: pytest.FixtureRequest) -> str:
    """A mode of transactions."""
    return str(request.param)


@pytest.fixture
def kafka(mode: str, request: pytest.FixtureRequest) -> KafkaCluster:
    """A cluster that speaks it."""
    cluster: KafkaCluster = request.getfixturevalue(CLUSTERS[mode])
    return cluster


def compare(factory: Any, mode: str, kafka: KafkaCluster, sequences: int, seed: int = 0, **config: Any) -> Any:
    """Generated sequences on both, held against each other and against nothing else."""
    began = time.monotonic()
    report = agree(
        factory, protocol=OVER_THE_WIRE, variant=mode, promises=frozenset(), seed=seed, max_examples=sequences,
        steps=STEPS, config={"bootstrap": kafka.bootstrap, **config},
    )  # fmt: skip
    each_ms = 1000 * (time.monotonic() - began) / report.examples
    print(f"{mode}, seed {seed}: {report.examples} sequences, {each_ms:.0f} ms each")
    return report


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.nightly(nights=3))])
def test_a_thousand_sequences(mode: str, kafka: KafkaCluster, share: int) -> None:
    """Live Kafka and the reference answer alike, and readers get the same, in every sequence; in each run in the first
    quarter of them."""
    report = compare(beside_reference, mode, kafka, SEQUENCES[mode] // share)
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.examples >= SEQUENCES[mode] // share


@pytest.mark.nightly(nights=3)
@pytest.mark.timeout(7200)
def test_ten_thousand_sequences(mode: str, kafka: KafkaCluster) -> None:
    """The same, at length, with another seed."""
    report = compare(beside_reference, mode, kafka, NIGHTLY * SEQUENCES[mode], seed=1)
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.examples >= NIGHTLY * SEQUENCES[mode]


def beside_broken(name: str) -> Callable[[dict[str, Any]], Beside]:
    """Live Kafka beside a reference with one thing wrong."""

    def factory(config: dict[str, Any]) -> Beside:
        both = {"release": "4.3", **config, "collapse": True}
        return beside(over_tcp, lambda inner: prompt(inner, find(name)), both, ("Kafka", "broken"))

    return factory


@pytest.mark.parametrize(
    ("name", "calls"), [("reads_to_the_end", 8), ("end_keeps_epoch", 9), ("sequence_unchecked", 12)]
)
def test_a_defect_of_one_side_is_found(kafka_v2: KafkaCluster, name: str, calls: int) -> None:
    """A reference with one thing wrong differs from Kafka, and the program that shows it is short."""
    report = compare(beside_broken(name), "v2", kafka_v2, 60)
    assert report.failure is not None and "Difference(" in report.failure.first_bad
    assert report.failure.calls <= calls, report.program


def test_what_has_changed_since_is_found(kafka_v2: KafkaCluster) -> None:
    """KAFKA-19367: the reference as of 4.0 bumps an epoch more than this Kafka when an open transaction is fenced."""
    report = compare("fencepost.reference_impl.live:beside_reference", "v2", kafka_v2, 60, release="4.0")
    assert report.failure is not None and "epoch is 2 over the wire, 3 in the reference" in report.failure.first_bad
    assert report.failure.calls <= 10, report.program


def timed_out(mode: str, kafka: KafkaCluster) -> Beside:
    """Both, with a transaction of one record whose time is up."""
    config = {"seed": 0, "mode": mode, "clients": 2, "partitions": 1, "groups": 0, "bootstrap": kafka.bootstrap}
    system = beside_reference({**config, "timeouts": True})
    system.init(0)
    deliver_all(system)
    assert system.begin(0) and system.send(0, 0)
    deliver_all(system)
    for _ in range(8):
        system.advance(10_000)
    return system


def deliver_all(system: Beside) -> None:
    """Deliver everything, oldest first."""
    while messages := system.messages():
        system.deliver(messages[0][0])


@pytest.mark.parametrize("then", ["commit", "abort", "send", "init"])
def test_a_transaction_whose_time_is_up(mode: str, kafka: KafkaCluster, then: str) -> None:
    """txn.18: whatever its owner, or another producer, does then, Kafka and the reference say the same, and nothing of
    the transaction is read."""
    system = timed_out(mode, kafka)
    arguments = {"send": (0, 0), "init": (1,)}.get(then, (0,))
    assert getattr(system, then)(*arguments)
    deliver_all(system)
    system.advance(100)
    deliver_all(system)
    if then == "send":
        assert system.commit(0) or system.abort(0)
        deliver_all(system)
    assert system.read(0, 0) == []
