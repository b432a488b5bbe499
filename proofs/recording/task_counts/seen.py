"""This module reads what was seen of a live Connect from outside: calls of its connector, answers that proxies passed
on, and what was done to the workers.

The file is the one that `reference_impl/live/connect/seen.py` describes: JSON lines, in the order of one clock, each
with `us`, `source` and `event`. Lines of other kinds than the ones below are left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from fencepost.proofs.recording.errors import RecordingError, lines_of
from fencepost.proofs.recording.task_counts.broker_logs import LEADER, Brokers
from fencepost.proofs.recording.task_counts.instances import Instance, Instances, Pair, Run
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.properties.task_counts.events import SUPPORT, Kind

RETRIED = (14, 15, 16, 51)  # answers after which Kafka's admin client asks again
FENCED = (47, 90)  # INVALID_PRODUCER_EPOCH, PRODUCER_FENCED
REFUSED_BY = ("Produce", "EndTxn")
FIRST_ERROR_STATUS = 300
OF_WORKERS = MappingProxyType({
    "worker_started": Kind.worker_started, "worker_killed": Kind.worker_stopped, "worker_stopped": Kind.worker_stopped,
    "worker_paused": Kind.worker_stalled, "worker_resumed": Kind.worker_resumed, "member_expired": Kind.member_expired,
})  # fmt: skip
STRANGE, AS_DESCRIBED = "line {} is none of what was seen: {}", "see reference_impl/live/connect/seen.py"


_NEEDED: dict[str, dict[str, Any]] = {
    "cluster began": {"group": str, "release": str},
    **{f"cluster {event}": {"worker": str} for event in OF_WORKERS},
    "cluster compacted": {"offset": int},
    "driver asked": {"n": int, "what": str, "worker": str, "connector": str},
    "driver answered": {"asked": int, "status": int | None},
    "control called": {"n": int, "call": str, "task": int, "instance": str, "worker": str, "connector": str},
    "control answered": {"called": int, "answer": dict},
    "kafka answered": {"api": str, "error": int, "worker": str, "client": str},
}
"""By source and event, the fields that a line has at least. A call that is a task's start has its set as well."""
Fields = dict[str, Any]
Line = tuple[str, Fields]  # source and event; the fields


def read_seen(file: Path) -> list[Line]:
    """Read a file. Raise `RecordingError` with the first line that is not as `reference_impl/live/connect/seen.py`
    says."""
    lines = []
    for number, text in enumerate(lines_of(file, "what was seen")):
        try:
            line = msgspec.json.decode(text, type=dict[str, Any])
            what = f"{line.get('source')} {line.get('event')}"
            needed = {"us": int} | _NEEDED.get(what, {}) | ({"set": str} if line.get("call") == "start" else {})
            if wrong := [name for name, sort in needed.items() if not isinstance(line.get(name), sort)]:
                raise ValueError(f"{wrong[0]} is {line.get(wrong[0])!r}")
        except (ValueError, RecursionError) as error:
            raise RecordingError(STRANGE.format(number, error), file, AS_DESCRIBED) from None
        if what in _NEEDED:
            lines.append((what, line))
    return lines


def _pair(line: Fields) -> Pair:
    return line.get("producer_id", -1), line.get("epoch", -1)


def _is_tasks(line: Fields) -> bool:
    return bool(line["client"].startswith("connector-producer-"))


class SeenEvents:
    """A `SeenEvents` makes events of what was seen, and notes which worker and which instance acted."""

    def __init__(self, lines: Sequence[Line], brokers: Brokers, nodes: Names, instances: Instances) -> None:
        self.brokers, self.nodes, self.instances = brokers, nodes, instances
        self.events: list[Event] = []
        asked: dict[int, Fields] = {}
        runs: dict[str, tuple[Fields, Run]] = {}
        refused: list[Fields] = []
        for what, line in lines:
            match what.split(), line:
                case ["cluster", "compacted"], {"us": us, "offset": offset}:
                    self.events.append(Event(Kind.compacted, us, {"offset": offset}))
                case ["cluster", event], {"us": us, "worker": worker}:
                    columns = {"support": SUPPORT.get(line.get("support", ""), -1)} if "support" in line else {}
                    self._event(OF_WORKERS[event], us, worker, **columns)
                case ["driver", "asked"], {"what": "configure" | "delete"}:
                    asked[line["n"]] = line
                case ["driver", "answered"], {"asked": number, "status": int(status)} if number in asked:
                    if status < FIRST_ERROR_STATUS:
                        self._asked(asked[number])
                case ["control", "called"], {"call": "start", "us": us, "task": task, "instance": name} if task >= 0:
                    runs[name] = line, Run(us)
                case ["control", "called"], {"call": call, "us": us, "instance": name} if name in runs:
                    run = runs[name][1]
                    if call == "stop":
                        run.stopped_us = us
                    elif call == "poll" and run.running_us < 0:
                        run.running_us = us
                case ["kafka", "answered"], {"api": api, "error": error} if line.get("transactional_id"):
                    if api == "InitProducerId":
                        self._given(line)
                    elif api in REFUSED_BY and error in FENCED:
                        refused.append(line)
        for line, run in sorted(runs.values(), key=lambda pair: pair[1].started_us):
            self._run(line, run)
        for line in refused:
            self._refused(line)

    def _asked(self, line: Fields) -> None:
        count = int(line["tasks"]) if line["what"] == "configure" else -1
        connector = self.brokers.connectors[line["connector"]]
        self._event(Kind.asked, line["us"], line["worker"], connector=connector, count=count)

    def _event(self, kind: Kind, us: int, worker: str, **columns: int) -> None:
        self.events.append(Event(kind, us, columns | {"node": self.nodes[worker]}))

    def _given(self, answer: Fields) -> None:
        """Note the worker that got an answer to InitProducerId, of which the brokers' logs have the successes."""
        us, worker, name, error = (answer[each] for each in ("us", "worker", "transactional_id", "error"))
        given, task = self.brokers.given.get(_pair(answer)), self.brokers.task_of(name)
        if not error and given is not None:
            given.columns["node"] = self.nodes[worker]
            if given.kind != Kind.topic_claimed:
                given.kind = Kind.producer_opened if _is_tasks(answer) else Kind.id_fenced
        elif error and error not in RETRIED:
            if name == f"{LEADER}{self.brokers.group}":
                self._event(Kind.claim_failed, us, worker, error=error)
            elif task is not None and not _is_tasks(answer):
                self._event(Kind.id_fenced, us, worker, error=error, connector=task[0], task=task[1])

    def _run(self, called: Fields, run: Run) -> None:
        """Match what the connector reports of an instance with a start and a producer, and note when it ran and
        stopped."""
        task = self.nodes[called["worker"]], self.brokers.connectors[called["connector"]], called["task"]
        instance = self.instances.of_run(run, *task, self.brokers.signed.get(called["instance"]))
        numbered = self.brokers.set_numbered(instance.connector, called["set"], instance.set, run.started_us)
        instance.set = numbered if numbered >= 0 else instance.set
        if instance.producer is None and Kind.task_starting not in instance.marks:
            instance.producer = self._opened_before(instance)
        given = self.brokers.given.get(instance.producer) if instance.producer is not None else None
        before = [each for each in (given, instance.marks.get(Kind.task_checked_again)) if each is not None]
        if run.running_us >= 0:
            running = Event(Kind.task_running, run.running_us, instance.columns, before)
            instance.marks[Kind.task_running] = running
            self.events.append(running)
        if run.stopped_us >= 0:
            ran = instance.marks.get(Kind.task_running)
            after = [ran] if ran is not None else list(before)
            self.events.append(Event(Kind.task_stopped, run.stopped_us, instance.columns, after))

    def _opened_before(self, instance: Instance) -> Pair | None:
        """Return the producer that was opened last for a task on a worker before an instance started, if that is no
        other instance's."""
        owned, task = self.instances.by_producer(), (instance.node, instance.connector, instance.task)
        mine = (
            event.pair for event in reversed(self.brokers.of(Kind.producer_opened))
            if (event["node"], event["connector"], event["task"]) == task
            and event.time_us <= instance.time_us and event.pair not in owned
        )  # fmt: skip
        return next(mine, None)

    def _refused(self, answer: Fields) -> None:
        us, worker, name, error = (answer[each] for each in ("us", "worker", "transactional_id", "error"))
        task, (producer_id, epoch) = self.brokers.task_of(name), _pair(answer)
        if task is not None and _is_tasks(answer):
            latest = next(self.instances.of(self.nodes[worker], *task, us), None)
            known = self.instances.by_producer().get((producer_id, self.brokers.folded(producer_id, epoch)), latest)
            if known is not None:
                self._event(Kind.transaction_refused, us, worker, **(known.columns | {"error": error}))
        elif name.startswith(LEADER):
            self._event(Kind.write_refused, us, worker, error=error)
