"""This module writes what is seen of a live Connect from outside into one JSON-lines file, in one order.

Every line is an object with `n` (its place, from 0 on), `us` (microseconds since the epoch, of this machine's clock, as
the line was written), `source` and `event`; the other fields depend on these two. A worker is its `client.id`, such as
w0. Fields in brackets may be absent.

| source | event | further fields |
|---|---|---|
| cluster | began | group, release, brokers (their release), features, workers, topics (configs, offsets, status) |
| cluster | worker_started | worker, pid, release, support, generation (how often it was started, from 1 on) |
| cluster | worker_ready | worker: its REST server answers |
| cluster | worker_killed, worker_stopped, worker_paused, worker_resumed | worker |
| cluster | member_expired | worker, member: removed from the group by a LeaveGroup of the driver |
| cluster | compacted | offset: below it the config topic is |
| driver | asked | worker, what, connector, [task, tasks, set] |
| driver | answered | asked (`n` of that line), status (null: none in time, it may be carried out later) |
| driver | any other | what a user of the cluster notes by `Seen.note` |
| control | called | call, connector, task (-1: the connector), instance, worker, thread, ms, number, [held], … |
| control | answered | called (`n` of that line), answer (its fields) |
| control | lost | instance: its connection has ended, by its `stop` or with its worker |
| kafka | answered | worker, client, api, error, asked_us, [transactional_id], … |
| rest | asked | worker (the one that is asked), method, path |
| rest | answered | worker, asked (`n` of that line), status (null: the worker gave none) |

`status` is HTTP's; `what` is configure, delete, stop, resume, restart or restart_task. A worker's line is written when
it is so, but that of `worker_resumed` before. A call's `ms` is the worker's clock and its `number` counts its
instance's calls. A call that is `held` (true) waits until its `answered` line, and another one without that line has
got the usual answer at once. Calls have further fields: `start` of a connector set, and of a task set and tasks;
`started` found ("p:n,…": the offset of each source partition, n=0 for none); `taskConfigs` set; `commitRecord` record
("p:n") and at (its offset in the topic, or empty).

A `kafka` line is written when the broker has answered, before the worker gets that. By api:

| api | which answers | fields |
|---|---|---|
| InitProducerId | all | timeout_ms (the caller's), producer_id, epoch |
| EndTxn | all | committed, producer_id, epoch (of the request) |
| Produce | refused ones, and all to the config topic | producer_id, epoch, places (topic, partition, offset, error) |
| JoinGroup | all | member, generation, leader (the member) |
| SyncGroup, LeaveGroup | all | member |
| Heartbeat | refused ones | member |
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Line = Mapping[str, Any]
DRIVER, CLUSTER, CONTROL, KAFKA, REST = "driver", "cluster", "control", "kafka", "rest"


class Seen:
    """A `Seen` appends lines to a file and holds them in memory; it may be used from any thread."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: list[Line] = []
        self._out = file.open("w", encoding="utf-8", buffering=1)
        self._changed = threading.Condition()

    def note(self, source: str, event: str, **fields: Any) -> int:
        """Append a line, and return its number. Values are what JSON has."""
        with self._changed:
            number = len(self.lines)
            line = {"n": number, "us": time.time_ns() // 1000, "source": source, "event": event, **fields}
            self.lines.append(line)
            if not self._out.closed:
                self._out.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._changed.notify_all()
            return number

    def since(self, number: int = 0, **fields: Any) -> Iterator[Line]:
        """Yield the lines from `number` on that have these fields."""
        for line in map(self.lines.__getitem__, range(number, len(self.lines))):
            if all(line.get(name) == value for name, value in fields.items()):
                yield line

    def wait_for(
        self, what: str, condition: Callable[[Line], bool], timeout_s: float, since: int = 0, **fields: Any
    ) -> Line:
        """Wait for the first line from `since` on with these fields of which the condition is true, and return it.
        Raise TimeoutError, which names `what`."""
        deadline, looked = time.monotonic() + timeout_s, since
        while True:
            with self._changed:
                while looked >= len(self.lines):
                    if not self._changed.wait(deadline - time.monotonic()):
                        last = [dict(line) for line in self.lines[-3:]]
                        raise TimeoutError(f"no {what} within {timeout_s:g} s; the last that was seen: {last}")
                end = len(self.lines)
            for line in self.since(looked, **fields):
                if condition(line):
                    return line
            looked = end

    def close(self) -> None:
        """Close the file; the lines stay in memory."""
        with self._changed:
            self._out.close()
