"""This module reads workers' own logs: who asks for rounds, starts tasks, looks at the config topic, takes assignments.

A worker writes what is needed with `DistributedHerder` at TRACE, `Worker` and `KafkaConfigBackingStore` at DEBUG, and
the producers' `TransactionManager` at INFO. A line may have any layout in which the date and the level come first, and
which has the connector context (`%X{connector.context}`, Kafka's default) or the thread's name (`%t`). Times are in
UTC.

The texts are no interface of Kafka. `TEXTS` has them as running workers of `RELEASES` wrote them; the last two did not
come up there. What a log does not have may have happened all the same (see `recorder`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fencepost.proofs.recording.errors import RecordingError

RELEASES = ("3.3.2", "3.9.1", "4.3.1", "4.4.0")

TEXTS = MappingProxyType({
    "herder_starting": r"Herder starting",
    "herder_stopped": r"Herder stopped",
    "joined": r"Joined group at generation (?P<generation>\d+) with protocol version \S+ and got assignment: "
    r"Assignment\{error=0, leader='(?P<leader>[^']*)', leaderUrl='[^']*', offset=(?P<offset>-?\d+)",
    "starting_at": r"Starting connectors and tasks using config offset (?P<offset>-?\d+)",
    "task_starting": r"Starting task (?P<connector>\S+)-(?P<task>\d+)\b",
    "asking": r"Performing preflight zombie check for task (?P<connector>\S+)-(?P<task>\d+)\b",
    "submitted": r"Submitting zombie fencing request (?P<connector>\S+)",
    "performing": r"Performing zombie fencing request for connector (?P<connector>\S+)",
    "forwarding": r"Forwarding zombie fencing request for connector (?P<connector>\S+) to leader",
    "fencing": r"Fencing out (?P<count>\d+) task producers for source connector (?P<connector>\S+)",
    "skipping": r"Skipping zombie fencing round (?:but writing task count record )?for connector (?P<connector>\S+) as",
    "read_to_end": r"Finished reading to end of log and updated config snapshot, new config log offset: "
    r"(?P<offset>-?\d+)",
    "writing_count": r"Writing task count record (?P<count>\d+) for connector (?P<connector>\S+)",
    "opening": r"transactionalId=(?P<id>[^\]]*)\] Invoking InitProducerId for the first time",
    "opened": r"transactionalId=(?P<id>[^\]]*)\] ProducerId set to (?P<producer_id>\d+) with epoch (?P<epoch>\d+)",
    "looking_again": r"Reading to end of config topic to ensure it is still safe to bring up source task "
    r"(?P<connector>\S+)-(?P<task>\d+)\b",
    "running": r"Source task finished initialization and start",
    "stopped": r"Graceful stop of task (?P<connector>\S+)-(?P<task>\d+) succeeded",
    "left_running": r"Graceful stop of task (?P<connector>\S+)-(?P<task>\d+) failed",
    "failed": r"Task threw an uncaught and unrecoverable exception",
    "refused_again": r"Cannot start source task (?P<connector>\S+)-(?P<task>\d+) .*already generated a new set",
    "write_refused": r"Failed to write to config topic as leader|Failed to perform fencable send to config topic",
})  # fmt: skip

_LINE = re.compile(
    r"\[?(?P<date>\d{4}-\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)[.,](?P<ms>\d{3})\]? +\[?(TRACE|DEBUG|INFO|WARN|ERROR)\b"
)
_EACH = {name: re.compile(text) for name, text in TEXTS.items()}
_ANY = re.compile("|".join(re.sub(r"\?P<\w+>", "?:", f"(?:{each.pattern})") for each in _EACH.values()))
_CLIENT = re.compile(r"\[Worker clientId=(?P<worker>[^,\]]+), groupId=(?P<group>[^\]]+)\]")
_CONTEXT = re.compile(r"\[(?:task-thread-(?P<by_thread>[^\]]+)-|(?P<by_context>[^\]|\[]+)\|task-)(?P<task>\d+)[\]|]")


class Line(NamedTuple):
    """A `Line` is one of which the text is known. `name` is the text's; `by_task` is whether a task's thread wrote it,
    which then has `connector` and `task` in its fields."""

    time_us: int
    name: str
    fields: dict[str, str]
    by_task: bool


class WorkerLog(NamedTuple):
    """A `WorkerLog` has the worker's client id, and the lines that matter."""

    worker: str
    lines: list[Line]


def read_worker_log(given: Path, group: str) -> WorkerLog:
    """Read one worker's log, a file or a folder of them. Raise `RecordingError` for files that are not the log of one
    worker of this group."""
    worker, lines = "", list[Line]()
    begin = None  # of the latest line with a date, which the lines of a stack trace belong to
    for path in _files(given):
        for text in _texts(path):
            client = _CLIENT.search(text)
            if client is not None and client["group"] == group:
                if worker not in ("", client["worker"]):
                    what = f"is the log of worker {client['worker']}, and of {worker} as well"
                    raise RecordingError(what, path, "name a folder for each worker")
                worker = client["worker"]
            begin = _LINE.match(text) or begin
            if begin is not None and is_known(text):
                lines.append(_line(text, begin))
    if not worker:
        what = f"holds no line of a worker of group {group} (… [Worker clientId=…, groupId={group}] …)"
        raise RecordingError(what, given, "name the workers' logs, with DistributedHerder at TRACE")
    return WorkerLog(worker, lines)


def is_known(text: str) -> bool:
    """Return whether a recorder reads this line of a log."""
    return _ANY.search(text) is not None


def _files(given: Path) -> list[Path]:
    """Return the files of one worker's log, the oldest first: the file itself, or those of a folder."""
    if not given.is_dir():
        return [given]
    files = [file for file in given.iterdir() if file.is_file() and (file.name == "out.txt" or ".log" in file.name)]
    if not files:
        todo = "name a worker's log, or the folder that it is in"
        raise RecordingError("holds no log (*.log*, out.txt)", given, todo)
    begins = {file: next(filter(None, map(_LINE.match, _texts(file))), None) for file in files}
    return sorted(files, key=lambda file: (begin["date"] + begin["time"] if (begin := begins[file]) else "", file.name))


def _texts(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", path, "name a worker's log") from None


def _line(text: str, begin: re.Match[str]) -> Line:
    name, match = next((name, found) for name, each in _EACH.items() if (found := each.search(text)) is not None)
    at = datetime.fromisoformat(f"{begin['date']}T{begin['time']}").replace(tzinfo=UTC)
    fields, context = match.groupdict(), _CONTEXT.search(begin.string)
    if context is not None:
        fields = {"connector": context["by_thread"] or context["by_context"], "task": context["task"], **fields}
    return Line(int(at.timestamp()) * 1_000_000 + int(begin["ms"]) * 1000, name, fields, context is not None)
