"""One corner of the protocol: what the documents say or deduce, a small program of raw requests, what Kafka answers.

Corners are written down in `corners_*.py`. `test_corners.py` holds a live Kafka to them; `corners_page.py` prints them
into `reference_impl/kafka/KAFKA.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from asking import Asker
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from gate import ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS, Gate

CONFIRMED, CORRECTED = "confirmed", "corrected"
Steps = Iterator[tuple[Any, Any]]  # (what was answered, what is expected), in the order of the requests


class Setting(NamedTuple):
    """A one-node cluster to ask: its transaction.version, its settings, and the client that programs speak as;
    `release`: of Kafka, where it is not the pom's."""

    level: int
    style: str
    settings: dict[str, object]
    release: str = ""


SETTINGS = {
    "v2": Setting(2, "v2", {}),
    "v2, no verification": Setting(
        2,
        "v2",
        {
            "transaction.partition.verification.enable": False,
            "producer.id.expiration.ms": 1500,
            "producer.id.expiration.check.interval.ms": 100,
        },
    ),
    "v2, ids expire": Setting(
        2,
        "v2",
        {
            "transactional.id.expiration.ms": 1000,
            "transaction.remove.expired.transaction.cleanup.interval.ms": 100,
        },
    ),
    "v2, short sessions": Setting(
        2,
        "v2",
        {
            "group.consumer.session.timeout.ms": 1000,
            "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.heartbeat.interval.ms": 200,
            "group.consumer.min.heartbeat.interval.ms": 200,
        },
    ),
    "v2, two-phase": Setting(
        2, "v2", {"unstable.api.versions.enable": True, "transaction.two.phase.commit.enable": True}
    ),
    "v2, unstable versions": Setting(2, "v2", {"unstable.api.versions.enable": True}),
    "v1, verified": Setting(1, "v1", {}),
    "v1": Setting(0, "v1", {"transaction.partition.verification.enable": False}),
    "4.0, v2": Setting(2, "v2", {}, release="4.0.0"),
}


@dataclass
class Bench:
    """The cluster, and a gate between its broker and itself."""

    cluster: KafkaCluster
    gate: Gate
    style: str
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    def __enter__(self) -> Bench:
        self.gate.__enter__()
        self.cluster.advertised_internal[1] = self.gate.address
        self.cluster.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cluster.__exit__(kind, error, trace)
        self.gate.__exit__(kind, error, trace)
        self.pool.shutdown()

    def later(self, request: Callable[[], Any]) -> Future[Any]:
        """Send a request whose answer will take until something else has happened."""
        return self.pool.submit(request)

    def restart(self, *askers: Asker) -> None:
        """Stop the node cleanly, start it, connect again, and wait until the coordinators have loaded their logs."""
        self.cluster.stop()
        self.cluster.start(1)
        self.cluster.wait_until_ready()
        for each in askers:
            each.reconnect()
            each.wait_until_loaded()


@dataclass(frozen=True)
class Corner:
    """`says`: the documents; `answered`: Kafka, in words; `follows`: for the model and the reference implementation."""

    id: str
    on: str
    rules: tuple[str, ...]
    says: str
    answered: str
    verdict: str
    follows: str
    program: Callable[[Asker, Bench], Steps]


CORNERS: dict[str, Corner] = {}


def corner(
    id: str, *, on: str, rules: str, says: str, answered: str, verdict: str = CONFIRMED, follows: str = ""
) -> Callable[[Callable[[Asker, Bench], Steps]], Callable[[Asker, Bench], Steps]]:
    """Enter the decorated program into `CORNERS`. Texts may be written over several lines."""

    def enter(program: Callable[[Asker, Bench], Steps]) -> Callable[[Asker, Bench], Steps]:
        assert id not in CORNERS, f"corner {id} is there twice"
        texts = [" ".join(text.split()) for text in (says, answered)]
        CORNERS[id] = Corner(id, on, tuple(rules.split()), *texts, verdict, " ".join(follows.split()), program)
        return program

    return enter


def bench(on: str, jars: Path, folder: Path) -> Bench:
    """The cluster for corners that are asked `on` it."""
    level, style, settings, _ = SETTINGS[on]
    cluster = KafkaCluster(jars, folder, size=1, features={"transaction.version": level}, settings=settings)
    return Bench(cluster, Gate(cluster.internal_address(1)), style)


def hold(each: Corner, at: Bench) -> None:
    """Run the program and compare every answer. Raises AssertionError with the first one that is another."""
    ask = Asker(at.cluster.bootstrap, f"corner-{each.id}", at.style)
    ask.prepare()
    try:
        for number, (answered, expected) in enumerate(each.program(ask, at), 1):
            assert repr(answered) == repr(expected), (
                f"{each.id}, step {number}: answered {answered!r}, not {expected!r}"
            )
    finally:
        at.gate.release(ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS)  # the next corner's, too, would wait
