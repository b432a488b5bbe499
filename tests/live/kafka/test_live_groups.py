"""The application that copies, driven on live Kafka: its clients are the reference's, groups and transactions Kafka's.

A member that stands still while another one is given its partition is refused when it goes on, in both protocols; one
whose commits name the group alone is not (KAFKA-9365). In the nights programs are searched for.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.properties.conformance_spec import over_the_wire
from fencepost.properties.group_fencing.scenarios import finish, walk
from fencepost.reference_impl.kafka.group_environment import readable
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.group_fencing.over_tcp import GroupWireSystem, over_tcp
from fencepost.reference_impl.live.tcp.connection import WireError

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CONFIG = {
    "seed": 0, "members": 2, "inputs": 1, "outputs": 1, "records": 4, "session_timeout_ms": 400, "heartbeat_ms": 60,
    "max_poll_ms": 4_000, "initial_delay_ms": 30, "transaction_timeout_ms": 20_000, "request_timeout_ms": 100,
    "timeout_check_ms": 50,
}  # fmt: skip
LINES = 120
MODES = ("shipped", "new-protocol-relaxed")


def comes_to(system: GroupWireSystem, slot: int, doing: str) -> None:
    """The instance goes on until this is the next line of its loop."""
    for _ in range(LINES):
        if system.doing(slot) == doing:
            return
        walk(system, slot)
    raise AssertionError(f"slot {slot} does not come to {doing}: it is at {system.doing(slot)}")


def zombie(kafka: KafkaCluster, mode: str, **config: Any) -> tuple[Counter[Any], list[Any]]:
    """A member stands still with a record copied and its offset not sent; another one copies the same, and commits;
    then the first goes on, and in the end all goes well. How often each record was copied, and all events."""
    system = over_tcp({**CONFIG, "mode": mode, "bootstrap": kafka.bootstrap, **config})
    comes_to(system, 0, "offsets")
    system.pause(0)
    comes_to(system, 1, "ended")
    walk(system, 1)
    system.resume(0)
    walk(system, 0, 3)
    read, _ = system.audit()
    read += finish(system, 2)[0]
    events = [readable(row) for row in system.env.log.rows]
    system.close_connections()
    return Counter(read), events


@pytest.mark.parametrize("mode", MODES)
def test_a_zombie_is_refused(kafka_groups: KafkaCluster, mode: str) -> None:
    """Its transaction is aborted; every record is in the committed output once, and the offsets agree."""
    copies, events = zombie(kafka_groups, mode)
    assert copies == {(0, offset): 1 for offset in range(4)}
    ended = [(event.slot, event.outcome) for event in events if event.kind == "end_told" and not event.error]
    assert ended.index((1, 1)) < ended.index((0, 0))
    assert [event.offset for event in events if event.kind == "audited"][-1] == 4


@pytest.mark.parametrize("mode", MODES)
def test_a_zombie_that_names_the_group_alone_is_not(kafka_groups: KafkaCluster, mode: str) -> None:
    """What it has copied is there twice: nothing is held against a commit without member and generation (B38)."""
    copies, events = zombie(kafka_groups, mode, metadata=False)
    assert copies[0, 0] == 2
    ended = [(event.slot, event.outcome) for event in events if event.kind == "end_told" and not event.error]
    assert ended.index((1, 1)) < ended.index((0, 1))


def test_no_broker_has_the_draft(kafka_groups: KafkaCluster) -> None:
    """It is refused with what there is."""
    with pytest.raises(ValueError, match="no broker has the draft; use one of shipped"):
        over_tcp({**CONFIG, "mode": "draft", "bootstrap": kafka_groups.bootstrap})


def test_too_short_a_session_is_an_error(kafka_groups: KafkaCluster) -> None:
    """Nothing would ever happen: it is said, and what to do."""
    config = {**CONFIG, "mode": "shipped", "bootstrap": kafka_groups.bootstrap, "session_timeout_ms": 100}
    system = over_tcp(config)
    with pytest.raises(WireError, match="take no session of 100 ms; lower their group"):
        comes_to(system, 0, "begin")


def driven(kafka: KafkaCluster, variant: str, clusters: int) -> AgreementReport:
    """Programs on live Kafka, held against the promises by what the application and an auditor see."""
    agreeing = over_the_wire("group-fencing")
    assert agreeing is not None
    return agree(
        agreeing.reference, protocol=agreeing, variant=variant, seed=0, steps=20, max_examples=clusters,
        observe="black-box", promises_only=True, config={"bootstrap": kafka.bootstrap},
    )  # fmt: skip


@pytest.mark.nightly(nights=4)
@pytest.mark.parametrize("variant", MODES)
def test_no_program_breaks_a_promise(kafka_groups: KafkaCluster, variant: str) -> None:
    """Pauses, kills, lost and late messages and rebalances all the while."""
    report = driven(kafka_groups, variant, 10)
    assert report.verdict == "holds", f"{report.failure}\n{report.program}"
    assert report.coverage.kinds["paused"] and report.coverage.kinds["output_read"]


@pytest.mark.nightly(nights=6)
def test_a_program_that_copies_twice_is_found(kafka_groups: KafkaCluster) -> None:
    """Where commits name the group alone: 447.P1 is broken, and by what."""
    report = driven(kafka_groups, "group-id-only", 30)
    assert report.verdict == "violated"
    assert report.failure is not None and "447.P1" in str(report.failure)
