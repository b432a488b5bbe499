"""The model followed through live Kafka, of which nothing is seen but what clients send, are told and read.

Every answer and every record that is read is one that the model allows (20 s a mode).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster import KafkaCluster
from fencepost.proofs.agreement import AgreementReport, agree
from fencepost.properties.transactions.agreement import OVER_THE_WIRE

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CLUSTERS = {"v2": "kafka_v2", "v1-verified": "kafka_verified", "v1": "kafka_v1"}
PREDICTED = {"v2": set[str](), "v1-verified": {"txn.P3"}, "v1": {"txn.P3"}}
"""What late copies break in 400 sequences; what 20 meet is chance, as is how soon markers are written."""
NIGHTLY = 10


def followed(mode: str, kafka: KafkaCluster, sequences: int, seed: int = 0, **config: object) -> AgreementReport:
    """Generated sequences on live Kafka, held against the model and the promises."""
    report = agree(
        "fencepost.reference_impl.wire.over_tcp:over_tcp", protocol=OVER_THE_WIRE, variant=mode, seed=seed, steps=20,
        max_examples=sequences, config={"bootstrap": kafka.bootstrap, **config},
    )  # fmt: skip
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.model == mode
    return report


@pytest.mark.parametrize("mode", CLUSTERS)
def test_kafka_is_followed(
    mode: str, request: pytest.FixtureRequest, keep_live: Callable[[AgreementReport], None]
) -> None:
    """Nothing that the model does not allow, and every step of it is among what happens."""
    report = followed(mode, request.getfixturevalue(CLUSTERS[mode]), 20)
    assert {"initialize", "take_over", "end", "append", "mark", "complete"} <= set(report.coverage.actions)
    keep_live(report)


def test_time_outs_are_followed(kafka_v2: KafkaCluster, keep_live: Callable[[AgreementReport], None]) -> None:
    """In real time, a hundred times as fast: Kafka ends what takes too long, and the model says whose end that is."""
    report = followed("v2", kafka_v2, 8, seed=5, timeouts=True)
    assert report.coverage.actions["time_out"]
    keep_live(report)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", CLUSTERS)
def test_kafka_is_followed_for_long(mode: str, request: pytest.FixtureRequest) -> None:
    """The same in many sequences; and what late copies are predicted to break, breaks."""
    report = followed(mode, request.getfixturevalue(CLUSTERS[mode]), 40 * NIGHTLY, seed=1)
    assert set(report.predicted) >= PREDICTED[mode]
