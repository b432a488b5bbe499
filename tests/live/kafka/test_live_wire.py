"""The plug over TCP against Apache Kafka itself, in every mode: what clients do and are told."""

from __future__ import annotations

import gc
import sys
import time
from dataclasses import dataclass
from typing import Any

import pytest
from fencepost.reference_impl.live import over_tcp
from fencepost.reference_impl.live.clusters.kafka import ClusterError, KafkaCluster
from fencepost.reference_impl.live.tcp.brokers import connect
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.transactions.pool import FIRST_BATCH, Pool
from wire_driving import in_flight, reported, settle, transaction

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CLUSTERS = {"v1": "kafka_v1", "v1-verified": "kafka_verified", "v2": "kafka_v2"}
FENCED = {47, 90}
UNSTABLE_OFFSET_COMMIT = 88
GROUP = 2  # number of the offsets partition, behind two data partitions


@pytest.fixture(params=CLUSTERS)
def wire(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A configuration for each mode, with the cluster that speaks it."""
    cluster: KafkaCluster = request.getfixturevalue(CLUSTERS[request.param])
    return {"mode": request.param, "clients": 2, "partitions": 2, "groups": 1, "bootstrap": cluster.bootstrap}


@pytest.fixture
def v2(kafka_v2: KafkaCluster) -> dict[str, Any]:
    """A configuration for v2 alone."""
    return {"mode": "v2", "clients": 2, "partitions": 2, "groups": 1, "bootstrap": kafka_v2.bootstrap}


def ready(config: dict[str, Any], **more: Any) -> Any:
    """A system whose first producer is initialised."""
    system = over_tcp(config | more)
    system.init(0)
    settle(system)
    system.drain_events()
    return system


def open_transaction(system: Any, slot: int, *partitions: int) -> None:
    """A transaction with one acknowledged record in each partition."""
    assert system.begin(slot)
    for partition in partitions:
        assert system.send(slot, partition)
    settle(system)


def test_committed_aborted_open(wire: dict[str, Any]) -> None:
    """A committed record is read, an aborted one by read_uncommitted alone, and neither past an open transaction."""
    system = ready(wire)
    transaction(system, 0, 0, 1)
    transaction(system, 0, 0, commit=False)
    open_transaction(system, 0, 0)
    assert system.read(0, 0) == [(0, 0)]
    assert system.read(0, 1) == [(0, 1)]
    assert system.read(0, 0, committed=False) == [(0, 0), (2, 2), (4, 3)]
    assert system.commit(0)
    settle(system)
    assert system.read(0, 0) == [(4, 3)]
    assert system.read(1, 0) == [(0, 0), (4, 3)]


def test_epochs_as_the_mode_has_them(wire: dict[str, Any]) -> None:
    """In v2 every transaction moves the epoch by one (txn.9), before it none does; the sequence starts anew with it."""
    system = ready(wire)
    for _ in range(3):
        transaction(system, 0, 0)
    begun, sent = ([e for e in system.env.log.rows if e[2] == kind] for kind in (5, 8))
    epochs = [0, 1, 2] if wire["mode"] == "v2" else [0, 0, 0]
    sequences = [0, 0, 0] if wire["mode"] == "v2" else [0, 1, 2]
    assert [row[7] for row in begun] == epochs
    assert [row[12] for row in sent] == sequences


def test_offsets_follow_their_transaction(wire: dict[str, Any]) -> None:
    """An open transaction's offset is unstable; committed it is its record's number, aborted it is not (txn.21)."""
    system = ready(wire)
    assert system.fetch_offset(0, GROUP) == (0, -1)
    open_transaction(system, 0, GROUP)
    assert system.fetch_offset(0, GROUP) == (UNSTABLE_OFFSET_COMMIT, -1)
    system.commit(0)
    settle(system)
    assert system.fetch_offset(0, GROUP) == (0, 0)
    transaction(system, 0, 0, GROUP, commit=False)
    assert system.fetch_offset(0, GROUP) == (0, 0)
    transaction(system, 0, 0, GROUP)
    assert system.fetch_offset(0, GROUP) == (0, 4)


def test_a_zombie_is_fenced(wire: dict[str, Any]) -> None:
    """A second producer aborts what the first left open; what the first still sends is refused, and it is finished."""
    system = ready(wire)
    open_transaction(system, 0, 0)
    system.send(0, 0)  # on its way while the other takes over
    late = in_flight(system, "produce")
    system.init(1)
    while not reported_to(system, "init_taken"):
        for number, *_ in [message for message in system.messages() if message[0] not in late][:1]:
            system.deliver(number)
        if in_flight(system, "produce") == [number for number, *_ in system.messages()]:
            system.advance(100)
    for number in late:
        system.deliver(number)
    settle(system)
    system.drain_events()
    if not system.commit(0):
        assert system.abort(0), "the late record was refused"
    settle(system)
    kind, error = reported(system)[-1]
    assert kind == "client_failed"
    assert error in FENCED
    transaction(system, 1, 0)
    assert [record for _, record in system.read(0, 0)] == [2]


def reported_to(system: Any, kind: str) -> bool:
    """Whether an answer without an error has been taken."""
    return any(event.kind == kind and not event.error for event in system.drain_events())


def test_admin_fences(wire: dict[str, Any]) -> None:
    """Admin.fenceProducers ends the open transaction of the id's instance, which learns it at the next request."""
    system = ready(wire)
    open_transaction(system, 0, 0)
    system.fence()
    settle(system)
    assert ("fence_told", 0) in reported(system)
    system.commit(0)
    settle(system)
    answers = reported(system)
    assert answers[-1][0] == "client_failed"
    assert answers[-1][1] in FENCED
    assert system.read(0, 0) == []


def test_a_copy_is_answered_like_the_first(wire: dict[str, Any]) -> None:
    """A produce request that arrives twice is appended once, and answered twice with the same offset (txn.14)."""
    system = ready(wire)
    open_transaction(system, 0, 0)
    system.send(0, 0)
    (number,) = in_flight(system, "produce")
    system.deliver(number, keep=True)
    system.deliver(number)
    bodies = [system.env.network.in_flight[each].body.data for each in in_flight(system, "produce_answer")]
    assert [(body.error_code, body.base_offset) for body in bodies] == [(0, 1), (0, 1)]
    settle(system)
    system.commit(0)
    settle(system)
    assert system.read(0, 0) == [(0, 0), (1, 1)]


def test_reading_does_not_race_the_markers(wire: dict[str, Any]) -> None:
    """A reader that asks right after the end of a transaction gets its record, every time."""
    system = ready(wire)
    for record in range(25):
        transaction(system, 0, record % 2)
        assert [found for _, found in system.read(0, record % 2)] == [record]


def test_collapsed_answers_are_final(v2: dict[str, Any]) -> None:
    """With `collapse` a producer that takes over hears one answer, though the broker first has to end a transaction."""
    for collapse in (False, True):
        system = ready(v2, collapse=collapse)
        open_transaction(system, 0, 0)
        system.drain_events()
        system.init(1)
        settle(system)
        answers = reported(system)
        assert answers[-1] == ("init_taken", 0)
        assert (len(answers) == 1) == collapse


def test_partitions_left_open_come_back(v2: dict[str, Any]) -> None:
    """A system that is gone with a transaction open: that is aborted, and only then its partitions are used again."""
    left = ready(v2, partitions=1, groups=0)
    open_transaction(left, 0, 0)
    place = left.names.places[0]
    del left
    gc.collect()
    deadline, held = time.monotonic() + 60, []
    while time.monotonic() < deadline:
        held.append(over_tcp(v2 | {"partitions": 1, "groups": 0}))
        if held[-1].names.places[0][:2] == place[:2]:
            break
    again = held[-1]
    assert again.names.places[0] == place._replace(start=place.start + 2), "one record and one marker later"
    assert again.read(0, 0, committed=False) == []


@pytest.mark.parametrize(("mode", "cluster"), [("v1", "kafka_v1"), ("v1-verified", "kafka_verified")])
def test_a_partition_is_not_used_again_while_its_marker_is_due(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, mode: str, cluster: str
) -> None:
    """A partition that was added and not written to has nothing open; its marker would show in the next system."""
    bootstrap = request.getfixturevalue(cluster).bootstrap
    pool = Pool(connect(bootstrap, 6))
    monkeypatch.setattr(sys.modules[over_tcp.__module__], "shared_pool", lambda _: pool)
    config = {"mode": mode, "clients": 1, "partitions": 2, "groups": 0, "bootstrap": bootstrap}
    systems = []
    for _ in range(FIRST_BATCH // 2):
        system = ready(config)
        assert system.begin(0)
        assert system.send(0, 0)
        (add,) = in_flight(system, "add")
        system.deliver(add)
        systems.append(system)
    left = {place[:2] for system in systems for place in system.names.places}
    assert len(left) == FIRST_BATCH
    for system in systems:
        assert system.transaction_state() == "Ongoing"
        system.close()
    fresh = ready(config)
    assert not left & {place[:2] for place in fresh.names.places}
    transaction(fresh, 0, 0, 1)
    assert [fresh.read(0, 0), fresh.read(0, 1)] == [[(0, 0)], [(0, 1)]]


def test_transactions_time_out(v2: dict[str, Any]) -> None:
    """With `timeouts` a transaction lives for a hundredth of its time-out; then its records are gone, and its end is
    refused (txn.18)."""
    system = ready(v2, timeouts=True, transaction_timeout_ms=100_000)
    open_transaction(system, 0, 0)
    assert system.read(0, 0) == []
    assert system.drain_events()[-1].upto == 0
    before = time.monotonic()
    system.advance(300_000)
    assert 0.3 < time.monotonic() - before < 3, "until it is over, and no longer than three seconds"
    assert system.read(0, 0) == []
    assert system.drain_events()[-1].upto == 2, "the record and its abort marker"
    system.commit(0)
    settle(system)
    kind, error = reported(system)[-1]
    assert kind == "client_failed"
    assert error


@pytest.mark.parametrize("most", [1, 2, 5])
def test_reading_in_pieces_from_anywhere(wire: dict[str, Any], most: int) -> None:
    """Who reads a partition in pieces of so many batches, from whatever offset on, gets what is committed from
    there on: not what was aborted before, after, or across the offset where it begins."""
    system = ready(wire)
    for number in range(6):
        transaction(system, 0, 0, 0, commit=number % 3 != 1)
    every = system.read(0, 0)
    assert len(every) == 8
    end = every[-1][0]
    for offset in range(end + 1):
        found, reader = [], 100 + offset
        for _ in range(end + 2):
            found += system.read(reader, 0, True, offset, most)
        assert found == [each for each in every if each[0] >= offset]
        fetched = [e for e in system.drain_events() if e.kind == "fetched" and e.client == 1000 + reader]
        assert fetched[0].offset == offset and all(e.upto - e.offset <= most for e in fetched)
        assert fetched[-1].upto == end + 2  # behind the last marker


def test_virtual_time_alone_ends_nothing(v2: dict[str, Any]) -> None:
    """Without `timeouts` a transaction outlives any virtual time."""
    system = ready(v2)
    open_transaction(system, 0, 0)
    system.advance(10_000_000)
    system.commit(0)
    settle(system)
    assert reported(system)[-1] == ("end_told", 0)
    assert system.read(0, 0) == [(0, 0)]


@dataclass
class Restarts:
    """Fail-over of a cluster of one node: it is killed, and comes back."""

    cluster: KafkaCluster

    def fail_over(self) -> None:
        self.cluster.kill(1)
        self.cluster.start(1)
        self.cluster.wait_until_ready()


def test_an_open_transaction_outlives_the_broker(v2: dict[str, Any], kafka_v2: KafkaCluster) -> None:
    """The broker is killed with a transaction open; after its return the same producer commits, and nothing is lost."""
    system = over_tcp(v2, control=Restarts(kafka_v2))
    system.init(0)
    settle(system)
    open_transaction(system, 0, 0, GROUP)
    system.fail_over()
    system.send(0, 1)
    system.commit(0)
    for _ in range(50):  # the coordinator may still be loading
        settle(system)
        if any(event.kind == "end_told" and not event.error for event in system.drain_events()):
            break
    assert system.read(0, 0) == [(0, 0)]
    assert system.read(0, 1) == [(0, 2)]
    assert system.fetch_offset(0, GROUP) == (0, 1)
    assert ready(v2).begin(0), "new systems find the broker again"


@pytest.mark.parametrize(
    ("cluster", "mode", "words"),
    [
        ("kafka_v2", "v1", "mode v1 needs transaction.partition.verification.enable=false, the broker has true"),
        ("kafka_v1", "v1-verified", "needs transaction.partition.verification.enable=true, the broker has false"),
        ("kafka_v1", "v2", "mode v2 needs the feature transaction.version at 2, the cluster has 0"),
        ("kafka_verified", "v2", "mode v2 needs the feature transaction.version at 2, the cluster has 1"),
    ],
)
def test_modes_that_a_cluster_lacks(request: pytest.FixtureRequest, cluster: str, mode: str, words: str) -> None:
    """A mode that the cluster is not set up for is refused at once, in one line that says what to change."""
    bootstrap = request.getfixturevalue(cluster).bootstrap
    with pytest.raises(WireError) as refused:
        over_tcp({"mode": mode, "bootstrap": bootstrap})
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


# The clusters themselves: what the other live tests take for granted about versions.


def test_each_fixture_has_its_own_transaction_version(
    kafka_v2: KafkaCluster, kafka_v1: KafkaCluster, kafka_verified: KafkaCluster
) -> None:
    """The three single nodes run with transaction.version 2, 0 and 1 (KIP-890)."""
    assert [each.feature("transaction.version", 1) for each in (kafka_v2, kafka_v1, kafka_verified)] == [2, 0, 1]


def test_a_feature_is_set_while_the_cluster_runs(kafka_v1: KafkaCluster) -> None:
    """transaction.version goes up and down without a restart, and a level that does not exist is refused."""
    kafka_v1.set_feature("transaction.version", 2)
    assert kafka_v1.feature("transaction.version", 1) == 2
    kafka_v1.set_feature("transaction.version", 0)
    assert kafka_v1.feature("transaction.version", 1) == 0
    with pytest.raises(ClusterError, match=r"transaction\.version=9 was refused"):
        kafka_v1.set_feature("transaction.version", 9)
