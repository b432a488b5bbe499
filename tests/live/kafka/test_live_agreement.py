"""The model followed through live Kafka, of which nothing is seen but what clients send, are told and read.

Every answer and every record that is read is one that the model allows (20 s a mode).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from corner import bench
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.search import Watch
from fencepost.properties.driving import Run, read
from fencepost.properties.transactions.interface import Call, message
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from gate import WRITE_TXN_MARKERS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CLUSTERS = {"v2": "kafka_v2", "v1-verified": "kafka_verified", "v1": "kafka_v1"}
PREDICTED = {"v2": set[str](), "v1-verified": {"txn.P3"}, "v1": {"txn.P3"}}
"""What late copies break in 400 sequences; what 20 meet is chance, as is how soon markers are written."""
NIGHTLY = 10
CONCURRENT, PRODUCER_FENCED = 51, 90
OLD_EPOCH = 47
INIT, ADMINS = (message("init", source, "coordinator") for source in ("client-0", "admin-0"))
ANSWER = message("init_answer", "coordinator", "client-0")
PROGRAMS = {
    "a copy of its own": (
        Call("init", 0), Call("deliver", INIT, keep=True), Call("deliver", INIT), Call("deliver", ANSWER),
        Call("begin", 0), Call("send", 0, 0),
    ),
    "an admin's": (
        Call("init", 0), Call("fence"), Call("deliver", INIT), Call("deliver", ADMINS), Call("deliver", ANSWER),
        Call("begin", 0), Call("send", 0, 0),
    ),
}  # fmt: skip


def followed(mode: str, kafka: KafkaCluster, sequences: int, seed: int = 0, **config: object) -> AgreementReport:
    """Generated sequences on live Kafka, held against the model and the promises."""
    report = agree(
        "fencepost.reference_impl.live:over_tcp", protocol=OVER_THE_WIRE, variant=mode, seed=seed, steps=20,
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


@pytest.mark.parametrize(("mode", "on"), [("v1", "v1"), ("v1-verified", "v1, verified")])
def test_who_is_fenced_hears_it_while_markers_are_due(jars: Path, tmp_path: Path, mode: str, on: str) -> None:
    """Below version 2 Kafka looks at epochs before it looks at what is being completed, and so does the model."""
    with bench(on, jars, tmp_path) as at:
        config = {
            "seed": 0, "mode": mode, "clients": 2, "partitions": 1, "groups": 0, "max_epoch": 32767,
            "bootstrap": at.cluster.bootstrap,
        }  # fmt: skip
        run = Run(over_tcp, config, Watch(OVER_THE_WIRE, config, frozenset(), OVER_THE_WIRE.black_box, Coverage()))
        for call in (
            Call("init", 1),
            *_served("init"),
            Call("begin", 1),
            Call("send", 1, 0),
            *_served("add", "client-1"),
        ):
            run.call(call)
        at.gate.hold(WRITE_TXN_MARKERS)
        for call in (Call("init", 0), *_served("init", "client-0"), Call("abort", 1), *_served("end")):
            run.call(call)
        at.gate.wait_for(WRITE_TXN_MARKERS)
        assert ("end_told", PRODUCER_FENCED) in [(read(e, "kind"), read(e, "error")) for e in run.made[-1].events]
        for call in (Call("advance", 100), *_served("init", "client-0")):
            run.call(call)
        assert ("init_taken", CONCURRENT) in [(read(e, "kind"), read(e, "error")) for e in run.made[-1].events]
        at.gate.release(WRITE_TXN_MARKERS)


def _served(kind: str, client: str = "client-1") -> tuple[Call, Call]:
    """The delivery of a client's request to the coordinator, and of its answer."""
    there = Call("deliver", message(kind, client, "coordinator"))
    return there, Call("deliver", message(f"{kind}_answer", "coordinator", client))


@pytest.mark.parametrize("mode", CLUSTERS)
@pytest.mark.parametrize("what", PROGRAMS)
def test_fenced_before_it_began(mode: str, what: str, request: pytest.FixtureRequest) -> None:
    """A producer that is fenced by a copy of its own request, or by an admin's that arrived before it took its answer:
    its first request is refused (txn.P8), in v2 its record (47), below that the partition it adds (90 or 47). Neither
    the promises nor the model have anything against that."""
    kafka: KafkaCluster = request.getfixturevalue(CLUSTERS[mode])
    config = {"seed": 0, "mode": mode, "clients": 1, "partitions": 1, "groups": 0, "max_epoch": 32767,
              "bootstrap": kafka.bootstrap, "collapse": True}  # fmt: skip
    watch = Watch(OVER_THE_WIRE, config, frozenset(), OVER_THE_WIRE.black_box, Coverage())
    run = Run(over_tcp, config, watch)
    for call in PROGRAMS[what]:
        assert run.call(call) is not None, str(call)
    while messages := run.system.messages():
        _, kind, source, target, _ = messages[0]
        assert run.call(Call("deliver", message(kind, source, target))) is not None
    refused = {read(e, "error") for made in run.made for e in made.events
               if read(e, "kind") in ("add_taken", "record_failed", "client_failed")}  # fmt: skip
    assert refused - {0} and refused - {0} <= {OLD_EPOCH, PRODUCER_FENCED}
    if mode == "v2":
        assert OLD_EPOCH in refused
    assert watch.broken() is None, str(watch.broken())
    assert watch.differed is None, str(watch.differed)


@pytest.mark.nightly(nights=6)
@pytest.mark.parametrize("mode", CLUSTERS)
def test_kafka_is_followed_for_long(mode: str, request: pytest.FixtureRequest) -> None:
    """The same in many sequences; and what late copies are predicted to break, breaks."""
    report = followed(mode, request.getfixturevalue(CLUSTERS[mode]), 40 * NIGHTLY, seed=1)
    assert set(report.predicted) >= PREDICTED[mode]
