"""What the doctor reads over the network from a live Kafka: the very bytes of the brokers' logs, and no more than the
client may."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import confluent_kafka
import pytest
from command_line import fencepost
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic, ResourceType
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.recording.logs import network_logs
from fencepost.proofs.recording.logs.log_dirs import Place, read_log_dir, read_segments
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.tcp.security import client_security
from secured import PASSWORD, Secured, allow, secured

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
STATE, OFFSETS = Place("__transaction_state", 0), Place("__consumer_offsets", 0)
WAIT_S = 30


def make_topic(bootstrap: str, name: str, partitions: int = 1, replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_topics([NewTopic(name, partitions, replicas)]).values():
        done.result(WAIT_S)


def transactions(bootstrap: str, topic: str, partitions: int, codecs: Sequence[str] = CODECS) -> Producer:
    """Two of each codec, one committed with offsets of a group and one aborted, and one that stays open."""
    for codec in codecs:
        producer = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{codec}", "compression.type": codec}
        )
        producer.init_transactions(WAIT_S)
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            for number in range(40):
                producer.produce(topic, f"{codec} {number} ".encode() * 20, partition=number % partitions)
            group = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": topic})
            producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], group.consumer_group_metadata(), WAIT_S)
            group.close()
            producer.flush(WAIT_S)
            end(WAIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(WAIT_S)
    return producer


def lying(cluster: KafkaCluster, node: int, place: Place) -> bytes:
    """What a node's directory has of a partition."""
    folder = read_log_dir(cluster.nodes[node].log_dir).partitions[place]
    return b"".join(segment.content.tobytes() for segment in read_segments(folder, mapped=False))


def test_the_network_has_the_bytes_of_the_logs(three_nodes: KafkaCluster) -> None:
    """Of user topics and of the coordinators', below the high watermark, which all nodes have in the end."""
    topic = "differential"
    make_topic(three_nodes.bootstrap, topic, 2, 3)
    left_open = transactions(three_nodes.bootstrap, topic, 2)
    with closing(NetworkSource(three_nodes.bootstrap)) as source:
        places = source.places([topic, STATE.topic, OFFSETS.topic])
        assert places == [OFFSETS, STATE, Place(topic, 0), Place(topic, 1)]
        for place in places:
            for _ in Patience(WAIT_S):
                read = b"".join(segment.content.tobytes() for segment in source.segments(place))
                disks = {lying(three_nodes, node, place) for node in three_nodes.nodes}
                if disks == {read}:
                    break
            assert disks == {read}, place
            assert len(read) > 1000
        found = {each.transactional_id: each for each in source.listed(())}
        mine = found[f"{topic}-zstd"]
        assert (mine.state, mine.places) == ("Ongoing", (Place(topic, 0),)) and mine.start_ms > 0
        assert {found[f"{topic}-{codec}"].state for codec in CODECS[:-1]} == {"CompleteAbort"}
        [active] = [each for each in source.active(Place(topic, 0)) if each.first_offset >= 0]
        assert (active.producer_id, active.epoch) == (mine.producer_id, mine.epoch)
        start, stable, high = source.ends(Place(topic, 0))
        assert (start, stable, high) == (0, active.first_offset, active.first_offset + 1)
        [since] = source.segments(Place(topic, 0), since_ms=active.last_ms)
        assert 0 < int(since.headers["base_offset"][0]) <= active.first_offset
        assert not source.gaps
    left_open.abort_transaction(WAIT_S)


@pytest.mark.nightly
def test_a_leader_that_is_killed_is_followed(three_nodes: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading and polling go on at the next leader, and nothing is read twice or left out."""
    monkeypatch.setattr(network_logs, "MAX_BYTES", 4_000)
    topic = "moving"
    make_topic(three_nodes.bootstrap, topic, 1, 3)
    transactions(three_nodes.bootstrap, topic, 1).abort_transaction(WAIT_S)
    place = Place(topic, 0)
    with closing(NetworkSource(three_nodes.bootstrap, timeout_s=2)) as source:
        pieces = source.segments(place)
        read = next(pieces).content.tobytes()
        leader = source._brokers.leader(*place)
        three_nodes.kill(leader)
        try:
            read += b"".join(piece.content.tobytes() for piece in pieces)
            assert read == lying(three_nodes, leader, place)
            assert source._brokers.leader(*place) != leader
            polled = b""
            for _ in Patience(WAIT_S):
                for _, segment in source.poll({place: _after(polled)}, wait_ms=200):
                    polled += segment.content.tobytes()
                if polled == read:
                    break
            assert polled == read
            assert {each.coordinator for each in source.listed(())} <= three_nodes.nodes.keys() - {leader}
            assert not source.gaps
        finally:
            three_nodes.start(leader)
            three_nodes.wait_until_ready()


def _after(content: bytes) -> int:
    """The offset after the last batch of these."""
    import numpy as np
    from fencepost.proofs.recording.logs.segments import checked_headers, walked

    if not content:
        return 0
    array = np.frombuffer(content, np.uint8)
    last = checked_headers(Path("polled"), array, walked(array)[0], 0)[-1]
    return int(last["base_offset"]) + int(last["last_delta"]) + 1


@pytest.fixture(scope="module")
def kafka(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Sessions end after a second unless the client logs in again (KIP-368)."""
    with secured(jars, tmp_path_factory.mktemp("secured"), **{"connections.max.reauth.ms": 1000}) as kafka:
        make_topic(kafka.cluster.bootstrap, "granted")
        make_topic(kafka.cluster.bootstrap, "secret")
        for topic in ("granted", "secret"):
            transactions(kafka.cluster.bootstrap, topic, 1, ("none",)).abort_transaction(WAIT_S)
        allow(kafka, ResourceType.TOPIC, "granted", AclOperation.READ)
        allow(kafka, ResourceType.TRANSACTIONAL_ID, "granted", AclOperation.DESCRIBE)
        yield kafka


def read_all(kafka: Secured, listener: str, properties: Path | None) -> tuple[NetworkSource, dict[Place, bytes]]:
    """What a client can read of all topics."""
    security = [] if properties is None else [client_security(properties)]
    with closing(NetworkSource(kafka.bootstrap(listener), *security, timeout_s=5)) as source:
        places = source.places(())
        return source, {
            place: b"".join(segment.content.tobytes() for segment in source.segments(place)) for place in places
        }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_a_client_that_logs_in_reads_what_it_may(kafka: Secured, mechanism: str) -> None:
    """What it may not read is said where it is asked for, and is no failure."""
    properties, granted = (
        kafka.properties("login.properties" + mechanism, **kafka.login(mechanism)),
        Place("granted", 0),
    )
    listener = "PLAIN" if mechanism == "PLAIN" else "SCRAM"
    _, read = read_all(kafka, listener, properties)
    assert read == {granted: lying(kafka.cluster, 1, granted)}
    with closing(NetworkSource(kafka.bootstrap(listener), client_security(properties))) as source:
        assert source.places(["granted", "secret", STATE.topic, OFFSETS.topic]) == [granted]
        assert {each.transactional_id for each in source.listed(())} == {"granted-none"}
        assert list(source.segments(Place("secret", 0))) == list(source.segments(STATE)) == []
        assert source.active(Place("secret", 0)) == source.listed(["secret-none"]) == []
        names = [f"topic {name}" for name in (OFFSETS.topic, STATE.topic, "secret")]
        names += ["secret-0", str(STATE), "producers of secret-0", "transactional id secret-none"]
        assert [gap.partition(": ")[0] for gap in source.gaps] == names
        assert all("is not allowed" in gap for gap in source.gaps)


@pytest.mark.nightly
def test_a_session_that_ends_is_renewed(kafka: Secured) -> None:
    """On the same connection, before the broker closes it."""
    properties = kafka.properties("renewed", **kafka.login("SCRAM-SHA-256"))
    with closing(NetworkSource(kafka.bootstrap("SCRAM"), client_security(properties))) as source:
        connection = source._brokers._connections[1]
        for _ in range(4):
            time.sleep(0.5)
            assert source.ends(Place("granted", 0))[0] == 0
        assert source._brokers._connections[1] is connection


def test_a_certificate_is_a_login(kafka: Secured) -> None:
    mutual = {
        "security_protocol": "SSL", "ssl_truststore_location": f"{kafka.folder}/ca.pem",
        "ssl_keystore_location": f"{kafka.folder}/client.pem",
    }  # fmt: skip
    _, read = read_all(kafka, "MUTUAL", kafka.properties("mutual", **mutual))
    assert read.keys() == {Place("granted", 0), Place("secret", 0)}
    stranger, named = f"{kafka.folder}/stranger.pem", f"localhost:{kafka.ports['MUTUAL']}"
    for changed, words in (
        ({"ssl_keystore_location": stranger}, "CERTIFICATE"),
        ({"ssl_keystore_location": ""}, "CERTIFICATE"),
        ({"ssl_truststore_location": stranger}, "its certificate is not accepted: "),
    ):
        with pytest.raises(WireError, match=words) as refused:
            read_all(kafka, "MUTUAL", kafka.properties(f"mutual{hash(words)}", **mutual | changed))
        assert "\n" not in str(refused.value)
    with pytest.raises(WireError, match="mismatch"):
        NetworkSource(named, client_security(kafka.properties("by-name", **mutual)))
    unchecked = kafka.properties("unchecked", **mutual, ssl_endpoint_identification_algorithm="")
    NetworkSource(named, client_security(unchecked)).close()


@pytest.mark.parametrize(
    ("listener", "mechanism", "changed", "words"),
    [
        (
            "SCRAM",
            "SCRAM-SHA-256",
            {"password": "wrong"},
            "no login with SASL SCRAM-SHA-256 as 'reader': Authentication",
        ),
        ("PLAIN", "PLAIN", {"password": "wrong"}, "no login with SASL PLAIN as 'reader': Authentication failed"),
        ("PLAIN", "SCRAM-SHA-256", {"security_protocol": "SASL_PLAINTEXT"}, "it offers PLAIN"),
        ("SCRAM", "", {}, "speaks TLS, not Kafka; .*--client-config"),
        ("MUTUAL", "", {}, "speaks TLS, not Kafka"),
        ("PLAIN", "", {}, "the broker closed the connection; if its listener asks for TLS or SASL"),
        ("PLAIN", "SCRAM-SHA-256", {}, "no TLS handshake: .*is its listener one with TLS"),
        ("CLIENTS", "PLAIN", {}, "since its listener asks for no login"),
    ],
)
def test_what_does_not_fit_the_listener_is_one_line(
    kafka: Secured, listener: str, mechanism: str, changed: dict[str, str], words: str
) -> None:
    given = dict(changed)
    login = kafka.login(mechanism, given.pop("password", PASSWORD)) | given if mechanism else {}
    bootstrap = kafka.cluster.bootstrap if listener == "CLIENTS" else kafka.bootstrap(listener)
    properties = kafka.properties(f"{listener}-{mechanism}-{len(changed)}", **login) if mechanism else None
    with pytest.raises(WireError, match=words) as refused:
        NetworkSource(bootstrap, *([client_security(properties)] if properties else []), timeout_s=5)
    assert "\n" not in str(refused.value)


def test_brokers_are_driven_over_tls_and_scram(kafka: Secured) -> None:
    """`agree --client-config`; the reader may not make topics, and is told so."""
    allow(kafka, ResourceType.TOPIC, "fencepost", AclOperation.ALL)
    for resource in (ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP):
        allow(kafka, resource, "fencepost", AclOperation.ALL)
    properties = kafka.properties("driving", **kafka.login("SCRAM-SHA-512"))
    words = ["agree", "transactions/v2", "--bootstrap", kafka.bootstrap("SCRAM"), "--examples", 1, "--steps", 20]
    ran = fencepost(*words, "--client-config", properties)
    assert ran.code == 0, ran.err + ran.out
    assert fencepost(*words).code == 2
    ran = fencepost(*words, "--client-config", properties, "--implementation", "kafka-python")
    assert ran.code == 2 and "real clients" in ran.err


@pytest.mark.nightly
@pytest.mark.parametrize("release", ["3.9.2", "4.0.0", "4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"])
def test_a_release_is_known_by_what_it_supports(jars_of: Callable[[str], Path], tmp_path: Path, release: str) -> None:
    """And its logs are read, and its open transactions listed."""
    with KafkaCluster(jars_of(release), tmp_path, size=1) as cluster:
        make_topic(cluster.bootstrap, "topic")
        left_open = transactions(cluster.bootstrap, "topic", 1)
        with closing(NetworkSource(cluster.bootstrap)) as source:
            assert source.releases()["node 1"] == release.rpartition(".")[0]
            read = b"".join(segment.content.tobytes() for segment in source.segments(Place("topic", 0)))
            assert read == lying(cluster, 1, Place("topic", 0))
            assert sorted(each.state for each in source.listed(())) == ["CompleteAbort"] * 4 + ["Ongoing"]
            assert not source.gaps
        left_open.abort_transaction(WAIT_S)


@pytest.mark.nightly
def test_memory_is_flat(kafka_v2: KafkaCluster) -> None:
    """However long the log is: four answers of 16 MB at most, of which one is being read."""
    make_topic(kafka_v2.bootstrap, "long")
    producer = Producer({"bootstrap.servers": kafka_v2.bootstrap, "linger.ms": 50, "batch.size": 900_000})
    for _ in range(200_000):
        producer.produce("long", bytes(1000))
        producer.poll(0)
        if len(producer) > 50_000:
            producer.flush(WAIT_S)
    producer.flush(WAIT_S)
    with closing(NetworkSource(kafka_v2.bootstrap)) as source:
        tracemalloc.start()
        size = sum(len(segment.content) for segment in source.segments(Place("long", 0)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert size > 190 * 2**20
    assert peak < 4 * network_logs.MAX_BYTES
