"""A live broker is followed: no alarm while it does what it should, and what is planted is reported in two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pytest
from asking import COMMIT, Asker
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from fencepost.proofs.doctor.following import Followed, follow
from fencepost.proofs.doctor.network import NetworkSource
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from kio.schema.errors import ErrorCode
from recorded_runs import Run, clean, zombies

pytestmark = [pytest.mark.kafka, pytest.mark.nightly, pytest.mark.timeout(300)]

SOON_S = 2.0
BUSY_S = 6.0
PRODUCERS = 4


@dataclass
class Follower:
    """A cluster that is followed by a thread, until the context ends; what was reported, and when."""

    bootstrap: str
    checkpoint: Path
    found: list[tuple[float, Broken]] = field(default_factory=list)
    counts: Followed = field(default_factory=Followed)

    def __enter__(self) -> Follower:
        self._stop, self._failed = Event(), list[BaseException]()
        self._thread = Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(15)
        assert not self._thread.is_alive()
        assert self._failed == []

    def _run(self) -> None:
        try:
            with closing(NetworkSource(self.bootstrap)) as source:
                follow(
                    source, on_broken=lambda each: self.found.append((time.monotonic(), each)), stop=self._stop.is_set,
                    checkpoint=self.checkpoint, on_news=lambda counts: setattr(self, "counts", counts),
                )  # fmt: skip
        except BaseException as error:
            self._failed.append(error)

    def wait(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end and not self._failed:
            time.sleep(0.02)
        assert condition()

    def settled(self) -> None:
        """Wait until all that is there was read and compared."""
        due = self.counts.settled + 3
        self.wait(lambda: self.counts.settled >= due)

    @property
    def kinds(self) -> list[str]:
        return [each.kind for _, each in self.found]


def busy(bootstrap: str, seconds: float) -> int:
    """Transactions of some records each, by librdkafka, every third aborted; returns how many there were."""

    def work(number: int) -> int:
        producer, many = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"busy-{number}", "linger.ms": 0,
                                   "log_level": 0}), 0  # fmt: skip
        producer.init_transactions(30)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            producer.begin_transaction()
            for each in range(4):
                producer.produce("busy", b"%d" % each, partition=each % 3)
            producer.flush(30)  # else an abort takes back what was not sent yet
            (producer.abort_transaction if many % 3 == 2 else producer.commit_transaction)(30)
            many += 1
        return many

    with ThreadPoolExecutor(PRODUCERS) as pool:
        return sum(pool.map(work, range(PRODUCERS)))


def test_a_live_broker_is_followed(jars: Path, tmp_path: Path) -> None:
    file = tmp_path / "doctor.npz"
    with KafkaCluster(jars, tmp_path / "kafka", size=1) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("busy", 3, 1)])["busy"].result()
        ask = Asker(cluster.bootstrap, "planted")
        ask.prepare()
        with Follower(cluster.bootstrap, file) as follower:
            clean(run := Run.start(cluster.bootstrap, 31), 6)
            zombies(run, 3)
            made = busy(cluster.bootstrap, BUSY_S)
            follower.settled()
            assert follower.kinds == []
            assert follower.counts.transactions >= made
            assert ask.init() == ("A", 0)
            assert ask.produce("A", 0, 0) == 0
            follower.settled()
            assert follower.kinds == []
            assert ask.marker("A", 1, COMMIT) == ErrorCode.none  # which no coordinator has decided
            planted = time.monotonic()
            follower.wait(lambda: follower.kinds == ["marker_without"])
            at, broken = follower.found[0]
            print(f"\n{made} transactions in {BUSY_S} s; the marker was reported after {at - planted:.2f} s")
            assert at - planted < SOON_S
            assert (broken.second.place.topic, broken.second.offset, broken.second.epoch) == ("planted", 1, 1)
        busy(cluster.bootstrap, 1)
        assert ask.produce("A", 0, 0, partition=1) == 0
        assert ask.marker("A", 1, COMMIT, partition=1) == ErrorCode.none
        with Follower(cluster.bootstrap, file) as follower:
            follower.wait(lambda: bool(follower.kinds))
            follower.settled()
            assert [(each.kind, each.second.place) for _, each in follower.found] == [
                ("marker_without", Place("planted", 1))
            ]


def written(bootstrap: str, many: int) -> None:
    """So many batches."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for number in range(many):
        producer.produce("anew", b"%d" % number, partition=0)
        assert producer.flush(30) == 0


def test_a_topic_is_made_anew(jars: Path, tmp_path: Path) -> None:
    """All of the new one is read, although the former one had more records; nothing is wrong with either."""
    with KafkaCluster(jars, tmp_path / "kafka", size=1) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("anew", 1, 1)])["anew"].result()
        with Follower(cluster.bootstrap, tmp_path / "doctor.npz") as follower:
            written(cluster.bootstrap, 10)
            follower.wait(lambda: follower.counts.batches == 10)
            admin.delete_topics(["anew"])["anew"].result()
            end = time.monotonic() + 20
            while "anew" in admin.list_topics(timeout=20).topics and time.monotonic() < end:
                time.sleep(0.1)
            admin.create_topics([NewTopic("anew", 1, 1)])["anew"].result()
            written(cluster.bootstrap, 3)
            follower.wait(lambda: follower.counts.batches == 13)
            assert follower.kinds == []
