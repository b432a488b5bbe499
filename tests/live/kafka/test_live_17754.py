"""KAFKA-17754 against Apache Kafka itself: a late EndTxn of one transaction decides the next one, or does not.

EndTxn(commit) of transaction 1 arrives once more when transaction 2 is open.  Below transaction.version 2 both have the
same producer id and epoch, and the broker commits what was not asked to be committed: txn.P5 and txn.P3 are broken.  In
version 2 every transaction has an epoch of its own (txn.9), if the client plays along: raw requests do, librdkafka 2.16
(EndTxn 1) and kafka-python 3.0 (EndTxn 3) do not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.transactions.clients.real_client import ClientError, RealProducer, Severity, send
from fencepost.reference_impl.live.transactions.clients.real_client_kafka_python import KafkaPythonProducer
from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import LibrdkafkaProducer
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer
from raw_producer import RawProducer
from recorded import Judged, Readers, judge
from topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

PATIENCE_S = 20.0
PRODUCER_FENCED, INVALID_TXN_STATE = 90, 48
Client = Callable[[str, str], RealProducer]  # of bootstrap and transactional id
COMMITTED, DECIDED = 0, 1  # the record of transaction 1, and that of transaction 2


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


class Scene:
    """A proxy that sniffs before a cluster of one node, and readers behind it."""

    def __init__(self, cluster: KafkaCluster, topic: str, mode: str) -> None:
        create_topic(cluster.bootstrap, topic)
        self.mode, self.places = mode, [(topic, 0)]
        self.sniffer = Sniffer(self.places)
        self.proxy = Proxy(cluster.bootstrap, self.sniffer, timeout_s=PATIENCE_S)
        self.readers = Readers(self.sniffer, cluster.bootstrap, self.places)

    def judged(self, folder: Path) -> Judged:
        return judge(self.sniffer.drain(), folder, self.mode)


def test_raw_late_end_txn_v1(kafka_v1: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """Version 0: the copy is answered without an error, commits transaction 2, and its owner's abort is refused."""
    scene = Scene(kafka_v1, topic, "v1")
    late_end_txn_decides(scene)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations


def test_raw_late_end_txn_verified(kafka_verified: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """Version 1: verification (KIP-890, part 1) keeps records from hanging, and does not help here."""
    scene = Scene(kafka_verified, topic, "v1-verified")
    late_end_txn_decides(scene)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations


def test_raw_old_client_of_v2_broker(kafka_v2: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """Version 2, and a client that speaks EndTxn 4: transaction.version alone does not end KAFKA-17754."""
    scene = Scene(kafka_v2, topic, "v1-verified")
    late_end_txn_decides(scene)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations


def late_end_txn_decides(scene: Scene) -> None:
    """Transaction 1 commits; a copy of its EndTxn arrives in transaction 2, which is read, and then cannot abort."""
    with scene.proxy as proxy, RawProducer(proxy.bootstrap, scene.mode, scene.places[0][0], scene.places) as producer:
        assert producer.init() == 0
        late = proxy.copy_next("EndTxn", where=lambda end: bool(end.committed))
        assert [producer.add(0), producer.produce(0, COMMITTED), producer.end(commit=True)] == [0, 0, 0]
        assert [producer.add(0), producer.produce(0, DECIDED)] == [0, 0]
        assert late.send().error_code == 0
        assert scene.readers.read(0, is_settled=True) == [COMMITTED, DECIDED]
        assert producer.end(commit=False) == INVALID_TXN_STATE
        assert scene.readers.read(0, is_settled=True) == [COMMITTED, DECIDED]


def test_raw_late_end_txn_v2(kafka_v2: KafkaCluster, topic: str, tmp_path: Path) -> None:
    """Version 2: the copy carries the epoch of a transaction that is over, and is refused; transaction 2 aborts."""
    scene = Scene(kafka_v2, topic, "v2")
    with scene.proxy as proxy, RawProducer(proxy.bootstrap, "v2", topic, scene.places) as producer:
        assert producer.init() == 0
        late = proxy.copy_next("EndTxn", where=lambda end: bool(end.committed))
        assert [producer.produce(0, COMMITTED), producer.end(commit=True)] == [0, 0]
        assert producer.produce(0, DECIDED) == 0
        assert late.send().error_code == PRODUCER_FENCED
        assert scene.readers.read(0) == [COMMITTED]
        assert producer.end(commit=False) == 0
        assert scene.readers.read(0, is_settled=True) == [COMMITTED]
    judged = scene.judged(tmp_path)
    assert judged.violations == {}
    assert judged.judged("open_unread", "reads_as_decided", "aborts_unread", "commits_kept", "pairs_have_one_owner")


def late_end_txn_of(scene: Scene, client: Client) -> None:
    """EndTxn of transaction 1 is stuck in the network, and librdkafka asks again over another connection, and commits.
    In transaction 2 the stuck request arrives, and commits that; its owner, who aborts, is told that it cannot.

    kafka-python gives up for good when EndTxn is not answered in time, so there a copy arrives instead."""
    topic, does_retry = scene.places[0][0], client is librdkafka
    with scene.proxy as proxy:
        producer = client(proxy.bootstrap, topic)
        producer.init()
        stuck, copied = proxy.hold_next("EndTxn", topic) if does_retry else None, proxy.copy_next("EndTxn", topic)
        producer.begin()
        send(producer, topic, 0, b"0")
        producer.commit()
        assert scene.readers.read(0, is_settled=True) == [COMMITTED]
        producer.begin()
        send(producer, topic, 0, b"1")
        if stuck is not None:
            stuck.release()
            assert stuck.answer().error_code == 0
        else:
            assert copied.send().error_code == 0
        assert scene.readers.read(0, is_settled=True) == [COMMITTED, DECIDED]
        with pytest.raises(ClientError) as refused:
            producer.abort()
        assert (refused.value.code, refused.value.severity) == (INVALID_TXN_STATE, Severity.FATAL)
        assert scene.readers.read(0, is_settled=True) == [COMMITTED, DECIDED]
        producer.close()


def librdkafka(bootstrap: str, topic: str) -> RealProducer:
    """It waits a second for an answer, and then asks again."""
    return LibrdkafkaProducer(bootstrap, topic, "librdkafka", PATIENCE_S, socket_timeout_ms=1_000)


def kafka_python(bootstrap: str, topic: str) -> RealProducer:
    """It fails for good when there is none."""
    return KafkaPythonProducer(bootstrap, topic, "kafka-python", PATIENCE_S)


@pytest.mark.parametrize("client", [librdkafka, kafka_python])
def test_client_late_end_txn_v1(kafka_v1: KafkaCluster, client: Client, topic: str, tmp_path: Path) -> None:
    """Version 0: client and broker have done nothing wrong, and a transaction is committed unasked."""
    scene = Scene(kafka_v1, topic, "v1")
    late_end_txn_of(scene, client)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations


@pytest.mark.parametrize("client", [librdkafka, kafka_python])
def test_client_late_end_txn_verified(kafka_verified: KafkaCluster, client: Client, topic: str, tmp_path: Path) -> None:
    """Version 1: the same."""
    scene = Scene(kafka_verified, topic, "v1-verified")
    late_end_txn_of(scene, client)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations


@pytest.mark.parametrize("client", [librdkafka, kafka_python])
def test_client_late_end_txn_v2_broker(kafka_v2: KafkaCluster, client: Client, topic: str, tmp_path: Path) -> None:
    """Version 2: still the same, as neither library speaks EndTxn 5; the day one does, this test will say so."""
    scene = Scene(kafka_v2, topic, "v1-verified")
    late_end_txn_of(scene, client)
    judged = scene.judged(tmp_path)
    assert judged.rules == {"txn.P3", "txn.P5"}, judged.violations
