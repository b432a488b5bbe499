"""This module asks brokers for producer ids from many threads and records the answers: the clients' half of a
recording.

`collect_producer_ids` asks the brokers. `write_observations` and `read_observations` store the answers as JSON lines,
which any other client can write as well:

    {"time_us": 1795231974346000, "thread": 0, "broker": 1, "producer_id": 4711, "error": 0}
    {"time_us": 1795231974350000, "broker": 1, "fault": "killed"}

An observation with error 0 is an id handed out; with a Kafka error code, a refusal. UNANSWERED means that no answer
came: the broker may or may not have spent an id on it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from fencepost.proofs.recording.errors import RecordingError, lines_of
from fencepost.properties.nearest import error_text
from fencepost.reference_impl.live.tcp.connection import (
    Broker,
    Connection,
    WireError,
    find_brokers,
    init_producer_id,
)

UNANSWERED = 13  # NETWORK_EXCEPTION, the code by which Kafka's own clients mean a lost connection
BACK_OFF_S = 0.05  # after an error: the back-off that a broker itself keeps towards the controller


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An `Observation` is one request's answer, or a fault (`fault` not empty) that affected a broker; `time_us` is
    since 1970."""

    time_us: int
    broker: int
    producer_id: int = -1
    error: int = 0
    thread: int = -1
    fault: str = ""

    def __post_init__(self) -> None:
        if not self.fault and (self.error == 0) != (self.producer_id >= 0):
            raise ValueError(f"{error_text(self.error)} with producer id {self.producer_id}")


def collect_producer_ids(
    bootstrap: str,
    requests: int,
    threads: int = 4,
    seed: int = 0,
    *,
    pace_s: float = 0.0,
    timeout_s: float = 3.0,
    until: threading.Event | None = None,
    deadline_s: float = 600.0,
) -> list[Observation]:
    """Ask brokers for producer ids until `requests` requests have been answered, and `until` is set if it is given. For
    every request, each of `threads` threads draws a broker by `seed` from those alive at the start, and waits `pace_s`
    in between. Requests without an answer are recorded and do not count. Return the observations thread by thread, in
    each thread's order. Raise WireError if no bootstrap server answers, and TimeoutError (with the counts) after
    `deadline_s`."""
    if requests < 1 or threads < 1:
        raise ValueError(f"requests ({requests}) and threads ({threads}) must be at least 1")
    brokers = find_brokers(bootstrap, timeout_s)
    deadline = time.monotonic() + deadline_s
    shares = [requests // threads + (number < requests % threads) for number in range(threads)]
    workers = [
        _Client(number, brokers, random.Random(f"{seed}/{number}"), share, pace_s, timeout_s, until, deadline)
        for number, share in enumerate(shares)
    ]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_Client.run, workers))
    if short := [client for client in workers if client.answered < client.share]:
        had = sum(client.answered for client in workers)
        raise TimeoutError(f"{had} of {requests} requests answered in {deadline_s:.0f} s; {len(short)} threads short")
    return [seen for client in workers for seen in client.seen]


@dataclass
class _Client:
    number: int
    brokers: list[Broker]
    chance: random.Random
    share: int  # the number of requests to be answered before this thread may end
    pace_s: float
    timeout_s: float
    until: threading.Event | None
    deadline: float
    connections: dict[int, Connection] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)
    answered: int = 0

    def run(self) -> None:
        try:
            while time.monotonic() < self.deadline and not self._done():
                error = self._ask(self.chance.choice(self.brokers))
                self.answered += error != UNANSWERED
                time.sleep(max(self.pace_s, BACK_OFF_S if error else 0.0))
        finally:
            for connection in self.connections.values():
                connection.close()

    def _done(self) -> bool:
        return self.answered >= self.share and (self.until is None or self.until.is_set())

    def _ask(self, broker: Broker) -> int:
        try:
            connection = self.connections.get(broker.id)
            if connection is None:
                connection = self.connections[broker.id] = Connection(broker.host, broker.port, self.timeout_s)
            error, producer_id = init_producer_id(connection)
        except WireError:
            self.connections.pop(broker.id, None)
            error, producer_id = UNANSWERED, -1
        self.seen.append(Observation(time.time_ns() // 1000, broker.id, producer_id, error, self.number))
        return error


def write_observations(file: Path, observations: Iterable[Observation]) -> None:
    """Write one JSON object per line, in the order given. A fault has no fields of an answer, and an answer no field of
    a fault."""
    with file.open("wb") as out:
        for seen in observations:
            fields = msgspec.structs.asdict(seen)
            dropped = ("producer_id", "error", "thread") if seen.fault else ("fault",)
            out.write(msgspec.json.encode({name: fields[name] for name in fields if name not in dropped}) + b"\n")


def read_observations(file: Path) -> list[Observation]:
    """Read what `write_observations` wrote. Raise `RecordingError` with the first line that is not an observation."""
    lines = lines_of(file, "the clients' observations")
    observations = []
    for number, line in enumerate(lines, 1):
        try:
            observations.append(msgspec.json.decode(line, type=Observation))
        except (ValueError, RecursionError) as error:
            todo = "each line is a JSON object with time_us, broker, and producer_id and error, or fault"
            raise RecordingError(f"line {number} is not an observation: {error}", file, todo) from None
    if not observations:
        raise RecordingError("holds no observation of a client", file, "give what clients saw, or leave out the file")
    return observations
