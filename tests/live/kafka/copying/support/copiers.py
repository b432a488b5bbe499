"""Members of the copying application, each a process, and what is theirs on a cluster: two topics and a group.

job = Job.create(cluster.bootstrap, "job", partitions=2, records=20)
with job.member("a", library="librdkafka") as a:
    a.hold("sent"); a.until("at")
    a.pause(); a.resume()                     # SIGSTOP, SIGCONT
    a.go(); a.until("committed")
job.settle()
audit(job.inputs, job.outputs(), job.offsets())
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from copy_audit import Copy, Place
from copy_settings import Settings
from fencepost.reference_impl.live.clusters.ending import started
from topics import create_topic

PROGRAM = Path(__file__).with_name("copier.py")
ROOT_SCRIPT = Path(__file__).parents[4] / "script.py"  # it makes the tests' folders importable
PATIENCE_S = 40.0
SLICE_S = 0.02


class Copier:
    """A member, with a process group of its own. Events are kept as they come, and `until` looks through those that it
    has not looked through before; what is recorded of it is in `lines`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.events: list[dict[str, Any]] = []
        self._recorded: list[dict[str, Any]] = []
        self._driven: list[dict[str, Any]] = []
        self._seen = 0
        self._ended = False
        self._came = threading.Condition()
        command = [sys.executable, str(ROOT_SCRIPT), str(PROGRAM), json.dumps(asdict(settings))]
        self._process = started(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._reader = threading.Thread(target=self._read, name=f"copier-{settings.name}", daemon=True)
        self._reader.start()

    def __enter__(self) -> Copier:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def hold(self, point: str) -> None:
        """Be held when it comes to that point."""
        self._command(f"hold {point}")

    def go(self) -> None:
        """Go on from there; or, if it has not come there yet, do so without being held."""
        self._command("go")

    def look(self) -> dict[str, Any]:
        """What its consumer takes itself for, also while it is held."""
        self._command("look")
        found: dict[str, Any] = self.until("look")["look"]
        return found

    def finish(self) -> None:
        """Leave the group and end, after the transaction that it is in; waits for that. A member whose library hangs
        is killed, as an operator would do it: what it promises is another thing, and is audited all the same."""
        self._command("finish")
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """SIGSTOP: it does nothing, and does not know that time goes by."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        self._drive("paused")

    def resume(self) -> None:
        """SIGCONT."""
        self._drive("resumed")
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: the brokers hear nothing of its end. Safe to repeat."""
        runs = self._process.poll() is None
        with contextlib.suppress(ProcessLookupError):  # all of its group have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if runs:
            self._drive("instance_stopped")
        self._reader.join(PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # a command that a dead member never read
                    stream.close()

    def lines(self) -> list[dict[str, Any]]:
        """What it saw, and what was done to it, by the clock of the machine that both are on."""
        with self._came:
            return sorted([*self._recorded, *self._driven], key=lambda line: int(line["time_us"]))

    def _drive(self, kind: str) -> None:
        self._driven.append({"time_us": time.time_ns() // 1000, "client": self.settings.client, "kind": kind})

    def until(self, *keys: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The next event with one of these keys. Raises TimeoutError, ChildProcessError."""
        deadline = time.monotonic() + patience_s
        with self._came:
            while True:
                while self._seen < len(self.events):
                    self._seen += 1
                    event = self.events[self._seen - 1]
                    if any(key in event for key in keys):
                        return event
                left = deadline - time.monotonic()
                if self._ended:
                    raise ChildProcessError(f"{self.settings.name} has ended: {self._latest()}")
                if left <= 0 or not self._came.wait(left):
                    raise TimeoutError(f"{self.settings.name}: none of {keys} in {self._latest()}")

    def _latest(self) -> str:
        """The latest events and recorded lines, for the message of a failed test."""
        return f"{self.events[-20:]}; recorded: {self._recorded[-10:]}"

    def all(self, key: str) -> list[dict[str, Any]]:
        """Every event with that key until now."""
        with self._came:
            return [event for event in self.events if key in event]

    def _command(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._came:
                event = json.loads(line)
                (self._recorded if "kind" in event else self.events).append(event)
                self._came.notify_all()
        with self._came:
            self._ended = True
            self._came.notify_all()


@dataclass
class Job:
    """Two topics of the same partitions, and a group. `inputs`: how many records each partition of the source has."""

    bootstrap: str
    name: str
    inputs: dict[int, int]
    txns: set[str] = field(default_factory=set)
    copiers: list[Copier] = field(default_factory=list)

    @classmethod
    def create(cls, bootstrap: str, name: str, partitions: int, records: int, replicas: int = 1) -> Job:
        """So many records in each partition of the source."""
        job = cls(bootstrap, name, dict.fromkeys(range(partitions), 0))
        for topic in (job.source, job.target):
            create_topic(bootstrap, topic, partitions, replicas)
        job.add(records)
        return job

    def add(self, records: int) -> None:
        """So many records more in each partition of the source."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, "enable.idempotence": True})
        for partition, there in self.inputs.items():
            for number in range(there, there + records):
                producer.produce(self.source, str(number).encode(), partition=partition)
            self.inputs[partition] += records
        assert producer.flush(PATIENCE_S) == 0

    @property
    def source(self) -> str:
        return f"{self.name}-in"

    @property
    def target(self) -> str:
        return f"{self.name}-out"

    def member(self, name: str, **settings: Any) -> Copier:
        """Start a member, with a transactional id of its own."""
        txn = f"{self.name}-{name}"
        self.txns.add(txn)
        settings = {"source": self.source, "target": self.target, "group": self.name, "txn": txn, **settings}
        client = f"{name}-{len(self.copiers)}"
        copier = Copier(Settings(self.bootstrap, name=name, client=client, **settings))
        self.copiers.append(copier)
        return copier

    def settle(self) -> None:
        """End what killed members have left open, so that everything can be read."""
        for txn in sorted(self.txns):
            ending = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": txn, "log_level": 0})
            ending.init_transactions(PATIENCE_S)

    def offsets(self) -> dict[int, int]:
        """The group's committed offsets, 0 for none."""
        consumer = self._consumer()
        try:
            asked = [TopicPartition(self.source, partition) for partition in self.inputs]
            return {each.partition: max(0, each.offset) for each in consumer.committed(asked, PATIENCE_S)}
        finally:
            consumer.close()

    def members(self) -> list[str]:
        """The client ids of the group's members."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        (described,) = admin.describe_consumer_groups([self.name]).values()
        return sorted(member.client_id for member in described.result(PATIENCE_S).members)

    def until_done(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until the committed offsets are those of the ends. Raises TimeoutError."""

        def done() -> bool:
            try:
                return self.offsets() == self.inputs
            except KafkaException as error:  # the coordinator has just begun, or moves
                if not error.args[0].retriable():
                    raise
                return False

        self.until(done, patience_s)

    def until(self, met: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
        """Wait until it is so. Raises TimeoutError."""
        deadline = time.monotonic() + patience_s
        while not met():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name}: committed offsets {self._offsets_in_words()} of {self.inputs}")
            time.sleep(SLICE_S)

    def _offsets_in_words(self) -> str:
        """They, or why they cannot be had: while a member that hangs has some pending, they are not told."""
        try:
            return str(self.offsets())
        except KafkaException as error:
            return f"({error})"

    def outputs(self, committed: bool = True) -> list[Copy]:
        """Every record of the target, as a reader of either isolation level gets them."""
        return [copy for _, copy in self.read(committed)]

    def read(self, committed: bool = True) -> list[tuple[Place, Copy]]:
        """The same, with the partition and the offset at which each stands."""
        consumer = self._consumer(isolation="read_committed" if committed else "read_uncommitted")
        try:
            consumer.assign([TopicPartition(self.target, partition, 0) for partition in self.inputs])
            left, found = set(self.inputs), []
            deadline = time.monotonic() + PATIENCE_S
            while left:
                assert time.monotonic() < deadline, f"{self.target}: no end of partitions {left}"
                for message in consumer.consume(500, 0.2):
                    error = message.error()
                    if error is None:
                        place = int(message.partition() or 0), int(message.offset() or 0)
                        found.append((place, Copy(*json.loads(message.value() or b""))))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        left.discard(message.partition())
                    else:
                        raise KafkaException(error)
            return found
        finally:
            consumer.close()

    def _consumer(self, isolation: str = "read_committed") -> Consumer:
        return Consumer({"bootstrap.servers": self.bootstrap, "group.id": self.name, "enable.auto.commit": False,
                         "isolation.level": isolation, "enable.partition.eof": True, "log_level": 0})  # fmt: skip
