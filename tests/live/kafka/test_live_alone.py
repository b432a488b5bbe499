"""Who is alone with a transactional id, as live Kafka sees it.

Producers that are fenced by a copy of their own request, or by an admin's that arrived before they took their answer,
are refused, and that breaks no promise (txn.P8)."""

from __future__ import annotations

import pytest
from cluster import KafkaCluster
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.search import Watch
from fencepost.properties.driving import Run, read
from fencepost.properties.transactions.interface import Call, message
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.live import over_tcp

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CLUSTERS = {"v2": "kafka_v2", "v1-verified": "kafka_verified", "v1": "kafka_v1"}
OLD_EPOCH, FENCED = 47, 90
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


@pytest.mark.parametrize("mode", CLUSTERS)
@pytest.mark.parametrize("what", PROGRAMS)
def test_fenced_before_it_began(mode: str, what: str, request: pytest.FixtureRequest) -> None:
    """Its first request is refused: in v2 its record (47), below that the partition it adds (90 or 47).  Neither the
    promises nor the model have anything against that."""
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
    assert refused - {0} and refused - {0} <= {OLD_EPOCH, FENCED}
    if mode == "v2":
        assert OLD_EPOCH in refused
    assert watch.broken() is None, str(watch.broken())
    assert watch.differed is None, str(watch.differed)
