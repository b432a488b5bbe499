"""This module reads what was seen of a live Connect from outside: calls of its connector, answers that proxies passed
on, and what was done to the workers.

The file is the one that `reference_impl/live/connect/seen.py` describes: JSON lines, in the order of one clock, each
with `us`, `source` and `event`. Lines of other kinds than the ones below are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from fencepost.proofs.recording.errors import RecordingError, lines_of

STARTING, POLL, STOP = "start", "poll", "stop"
TASK_PRODUCER = "connector-producer-"
RETRIED = (14, 15, 16, 51)  # answers after which Kafka's admin client asks again
FENCED = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
REFUSED_BY = ("Produce", "EndTxn")
FIRST_ERROR_STATUS = 300
CONFIGURED, DELETED = "configure", "delete"
Asked = tuple[int, str, str, int]  # time, connector, worker, tasks (-1: its deletion)
STRANGE, AS_DESCRIBED = "line {} is none of what was seen: {}", "see reference_impl/live/connect/seen.py"
WORKER_EVENTS = ("worker_started", "worker_killed", "worker_stopped", "worker_paused", "worker_resumed")


@dataclass
class TaskRun:
    """A `TaskRun` is one instance of a task, as its connector reports it. `set` is the number that the connector gave
    its set. It runs from its first poll on: a task that has to stop before its producer is opened is started and
    stopped without one. Times are in microseconds, and -1 for what did not happen."""

    name: str
    worker: str
    connector: str
    task: int
    set: str
    started_us: int
    running_us: int = -1
    stopped_us: int = -1


@dataclass(frozen=True)
class Answer:
    """An `Answer` is one that a proxy passed on to a worker."""

    time_us: int
    worker: str
    client: str
    id: str
    error: int
    producer_id: int
    epoch: int

    @property
    def is_tasks(self) -> bool:
        return self.client.startswith(TASK_PRODUCER)


@dataclass
class Seen:
    """A `Seen` has what was seen. `given` are the answers to InitProducerId, `refused` those by which a producer
    learnt that it is fenced; `workers` and `asked` are (time, event or connector, worker, …)."""

    group: str = ""
    release: str = ""
    features: dict[str, int] = field(default_factory=dict)
    workers: list[tuple[int, str, str, str]] = field(default_factory=list)  # time, event, worker, support
    asked: list[Asked] = field(default_factory=list)
    expired: list[tuple[int, str]] = field(default_factory=list)  # time, worker
    compacted: list[tuple[int, int]] = field(default_factory=list)  # time, offset
    runs: dict[str, TaskRun] = field(default_factory=dict)  # by the instance's name
    given: list[Answer] = field(default_factory=list)
    refused: list[Answer] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        return {worker for _, _, worker, _ in self.workers} | {each.worker for each in (*self.given, *self.refused)}


def read_seen(file: Path) -> Seen:
    """Read a file. Raise `RecordingError` with the first line that is not as `reference_impl/live/connect/seen.py`
    says."""
    seen, asked = Seen(), dict[int, Asked]()
    for us, what, line in lines_of_seen(file):
        try:
            _read(us, what, line, seen, asked)
        except (KeyError, TypeError, ValueError) as error:
            raise RecordingError(STRANGE.format(line.get("n"), repr(error)), file, AS_DESCRIBED) from None
    return seen


def lines_of_seen(file: Path) -> Iterator[tuple[int, tuple[str, str], dict[str, Any]]]:
    """Yield of each line its time in microseconds, its source and event, and its fields."""
    for number, text in enumerate(lines_of(file, "what was seen")):
        try:
            line = msgspec.json.decode(text)
            yield int(line["us"]), (line["source"], line["event"]), line
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise RecordingError(STRANGE.format(number, repr(error)), file, AS_DESCRIBED) from None


def _read(us: int, what: tuple[str, str], line: dict[str, Any], seen: Seen, asked: dict[int, Asked]) -> None:
    if what == ("cluster", "began"):
        seen.group, seen.release = str(line["group"]), str(line["release"])
        seen.features = {str(name): int(level) for name, level in (line.get("features") or {}).items()}
    elif what[0] == "cluster" and what[1] in WORKER_EVENTS:
        seen.workers.append((us, what[1], str(line["worker"]), str(line.get("support", ""))))
    elif what == ("cluster", "member_expired"):
        seen.expired.append((us, str(line["worker"])))
    elif what == ("cluster", "compacted"):
        seen.compacted.append((us, int(line["offset"])))
    elif what == ("driver", "asked") and line["what"] in (CONFIGURED, DELETED):
        tasks = int(line["tasks"]) if line["what"] == CONFIGURED else -1
        asked[line["n"]] = us, str(line["connector"]), str(line["worker"]), tasks
    elif what == ("driver", "answered") and line["asked"] in asked:
        if line["status"] is not None and int(line["status"]) < FIRST_ERROR_STATUS:
            seen.asked.append(asked[line["asked"]])
    elif what == ("control", "called") and int(line["task"]) >= 0:
        name = str(line["instance"])
        if line["call"] == STARTING:
            run = TaskRun(name, str(line["worker"]), str(line["connector"]), int(line["task"]), str(line["set"]), us)
            seen.runs[name] = run
        elif line["call"] == STOP and name in seen.runs:
            seen.runs[name].stopped_us = us
        elif line["call"] == POLL and name in seen.runs and seen.runs[name].running_us < 0:
            seen.runs[name].running_us = us
    elif what == ("kafka", "answered"):
        _answered(us, line, seen)


def _answered(us: int, line: dict[str, Any], seen: Seen) -> None:
    error, name = int(line["error"]), line.get("transactional_id")
    if not name or (line["api"] != "InitProducerId" and line["api"] not in REFUSED_BY):
        return
    pair = int(line.get("producer_id", -1)), int(line.get("epoch", -1))
    answer = Answer(us, str(line["worker"]), str(line["client"]), str(name), error, *pair)
    if line["api"] == "InitProducerId":
        seen.given.append(answer)
    elif error in FENCED:
        seen.refused.append(answer)
