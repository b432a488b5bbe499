"""This module writes a history of Connect's exactly-once source connectors: `fencepost record --protocol task-counts`.

`record_task_counts(log_dirs, out)` writes a directory of histories (protocol task-counts, variant shipped, source
recorded) with a single history in it. The brokers' logs alone reveal claims, fences, opened producers, sets, counts and
transactions, in one order. What was seen of calls and answers adds which worker and which instance acted, and which
tasks ran; the workers' logs add rounds, starts and looks.

The events of the brokers' logs stand in the order of the transaction log. All others are put between by what must have
come before what, and then by clocks. Where these are of one machine (`--seen` says so, with every line from one clock),
the manifest has `ordered` true; else `ordered_among` names the kinds whose order is known. A kind of event of which the
logs do not show all that must have happened is left out of `observable`, so that no property is judged by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from fencepost.proofs.recording.command import Recorded, Recorder
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Progress
from fencepost.proofs.recording.task_counts.broker_logs import Brokers, read_brokers
from fencepost.proofs.recording.task_counts.instances import Instances
from fencepost.proofs.recording.task_counts.log_events import LogEvents
from fencepost.proofs.recording.task_counts.ordering import Event, Names, in_order
from fencepost.proofs.recording.task_counts.seen import Line, SeenEvents, read_seen
from fencepost.proofs.recording.task_counts.worker_logs import RELEASES, WorkerLog, read_worker_log
from fencepost.properties.history.pieces import filled_columns
from fencepost.properties.task_counts.events import SUPPORT, TASK_COUNTS, TOPIC, Kind


def _kinds(names: str) -> frozenset[Kind]:
    return frozenset(Kind[name] for name in names.split())


CONFIG = _kinds(" ".join(TASK_COUNTS.observed_by(TOPIC)))
OF_BROKERS = CONFIG | _kinds("topic_claimed id_fenced producer_opened records_sent transaction_committed")
OF_GROUP = _kinds("assignment_made task_assigned task_revoked")
OF_SEEN = _kinds(
    "worker_started worker_stopped worker_stalled worker_resumed asked task_running task_stopped transaction_refused"
)
OF_LOGS = _kinds(
    "assigned leadership_lost write_refused round_asked round_started round_checked round_answered round_failed "
    "task_starting task_checked_again task_failed task_left_running task_abandoned"
)
"""A start that Kafka gives up is a failed or a stopped task, so no event is a task_abandoned."""
ALSO_LOGGED = _kinds("worker_started task_running task_stopped")
FAULTS = _kinds("worker_stopped worker_stalled worker_resumed")
NOTES = (
    "Claims, fences, opened producers, sets, counts and commits stand in the order of the one partition of "
    "__transaction_state; a set, a count and a commit at the decision of its transaction. Other events are put between "
    "by what each must follow or precede, else by time. Epochs are those that InitProducerId gave: each transaction of "
    "version 2 has a later one. A set is the offset of its commit record; starts and looks have the one that their "
    "worker goes by, other events of a task the one of its configuration. No configuration or session key is in here."
)
NO_WORKER = "the logs do not show for certain which worker fenced or claimed: --seen has the answers to it"
NO_SET = "the logs do not show for certain from which set a producer's task is: --seen has the connector's own reports"
STRANGERS = "{} transactions are of no instance that the connector reports"
"""These reasons are of properties whose events are all there, without who acted."""
OF_WORKERS, OF_SETS = ("fenced_before_count", "writes_by_latest_claimant"), ("no_zombie_commits", "producers_covered")


def record_task_counts(
    log_dirs: Sequence[Path],
    out: Path,
    *,
    seen: Path | None = None,
    worker_logs: Sequence[Path] = (),
    topics: Sequence[str] = (),
    connectors: Sequence[str] = (),
    quiet_end: bool = False,
    kafka_version: str = "unknown",
    progress: Progress | None = None,
) -> Recorded:
    """Write the history of the Connect cluster whose brokers have `log_dirs` to `out`. `worker_logs` has a file or a
    folder for each worker. With `connectors`, it is the history of these alone, and of the group. `quiet_end` is the
    caller's claim that everything had come to rest. Raise `RecordingError` for input that cannot be used; then nothing
    is written."""
    brokers = read_brokers(list(map(Path, log_dirs)), topics, seen is not None, progress)
    lines = read_seen(Path(seen)) if seen is not None else None
    began = next((line for what, line in lines or () if what == "cluster began"), {})
    if seen is not None and began.get("group", brokers.group) != brokers.group:
        what = f"is of the group {began['group']}, and the brokers have {brokers.group}"
        raise RecordingError(what, seen, "name the file of this cluster, or its config topic with --topic")
    made = _Recording(brokers, lines, [read_worker_log(Path(each), brokers.group) for each in worker_logs])
    events, contradictions = in_order(made.events)
    if connectors:
        events = made.narrowed(events, connectors)
    made.compare()
    notes = [*brokers.logs.notes, *made.hiding]
    if contradictions:
        notes.append(f"the sources contradict one another on the order of {contradictions} events")
    release = began.get("release", kafka_version) if kafka_version == "unknown" else kafka_version
    if worker_logs and release not in RELEASES:
        notes.append(f"texts of workers' logs are known of {', '.join(RELEASES)}, and these are of {release}")
    observable = made.observable()
    one_clock = lines is not None or not (observable - OF_BROKERS)
    config: dict[str, Any] = {
        "mode": "shipped", "quiet_end": quiet_end, "kafka_version": release or "unknown", "group": brokers.group,
        "connectors": list(brokers.connectors.numbers), "workers": len(made.nodes.numbers),
    }  # fmt: skip
    if "transaction.version" in (features := began.get("features") or {}):
        config["transaction_version"] = features["transaction.version"]
    if undecidable := made.undecidable():
        config["undecidable"] = undecidable
    if not one_clock:
        config["ordered_among"] = sorted(kind.name for kind in OF_BROKERS)
    described = {
        "ordered": one_clock and not contradictions, "variant": "shipped", "config": config,
        "observable": tuple(kind.name for kind in Kind if kind in observable),
        "faults": Counter(event.kind.name.removeprefix("worker_") for event in events if event.kind in FAULTS),
    }  # fmt: skip
    return Recorded.write(
        out, filled_columns(TASK_COUNTS, _rows(events)), TASK_COUNTS, about=NOTES, notes=notes, described=described,
        nodes=brokers.logs.nodes, bytes_read=brokers.logs.bytes_read,
    )  # fmt: skip


RECORDER = Recorder(
    record_task_counts,
    needs={"log_dirs": "sets, counts and fences stand nowhere else than in the brokers' log directories"},
    excludes={"clients": "what clients of Connect see is given with --seen"},
)


def _rows(events: Sequence[Event]) -> list[dict[str, int]]:
    return [
        {"kind": event.kind, "time_us": latest}
        | {name: event[name] for name in TASK_COUNTS.used_by[event.kind.name] if name in event.columns}
        for event, latest in zip(events, accumulate((event.time_us for event in events), max), strict=True)
    ]


def _is_able(event: Event) -> bool:
    return event.columns.get("support", SUPPORT["enabled"]) == SUPPORT["enabled"]


class _Recording:
    """A `_Recording` brings the sources together: which worker and which instance acted, and what came before what."""

    def __init__(self, brokers: Brokers, seen: Sequence[Line] | None, logs: Sequence[WorkerLog]) -> None:
        self.brokers, self.seen, self.logs = brokers, seen, logs
        self.workers = {*brokers.clients.values(), *(log.worker for log in logs)}
        self.workers |= {line["worker"] for _, line in seen or () if "worker" in line}
        self.nodes, self.instances = Names(sorted(self.workers)), Instances()
        self.hidden: set[Kind] = set()
        self.hiding: list[str] = []  # why
        logged = LogEvents(brokers, self.instances, self.nodes)
        for log in logs:
            logged.read(log.worker, log.lines)
        logged.finish()
        self.events = [*brokers.events, *brokers.plain]
        if seen is not None:
            self.events += SeenEvents(seen, brokers, self.nodes, self.instances).events
        self.events += filter(self._is_new, logged.events)
        self._fences(logged)
        self.unwritten = self._counts(logged)
        self._group(logged)
        self._name()
        self.ran = [each for each in self.instances if Kind.task_running in each.marks]

    def narrowed(self, events: Sequence[Event], connectors: Sequence[str]) -> list[Event]:
        """Return the events of these connectors and of none. A worker that had no support before their first event has
        started again since."""
        numbers = {self.brokers.connectors[name] for name in connectors}
        begin = next((at for at, event in enumerate(events) if event["connector"] in numbers), len(events))
        left = [
            event for at, event in enumerate(events)
            if event["connector"] in numbers or (event["connector"] < 0 and (at >= begin or _is_able(event)))
        ]  # fmt: skip
        ids = {id(event) for event in left}
        self.brokers.events, self.unwritten = (
            [event for event in every if id(event) in ids] for every in (self.brokers.events, self.unwritten)
        )
        self.ran = [each for each in self.ran if each.connector in numbers]
        return left

    def _is_new(self, event: Event) -> bool:
        """Return whether an event of a worker's log is not one that the connector or the driver reports as well."""
        if self.seen is None or event.kind not in OF_SEEN:
            return True
        run = self.instances[event["instance"]].run if event.kind == Kind.task_stopped else None
        return event.kind == Kind.task_stopped and (run is None or run.stopped_us < 0)

    def _fences(self, logged: LogEvents) -> None:
        """Match fences with the rounds that they are of."""
        for event in self.brokers.of(Kind.id_fenced):
            fitting = [
                each for each in logged.rounds
                if each.ask.connector == event["connector"] and event["task"] < each.started["count"]
                and event["node"] in (-1, each.started["node"]) and each.started.time_us <= event.time_us
            ]  # fmt: skip
            if fitting:
                of = max(fitting, key=lambda each: each.started.time_us)
                event.columns |= {name: of.started[name] for name in ("node", "request", "count")}
                event.after.append(of.started)
                if of.look is not None and of.look.time_us >= event.time_us:
                    of.look.after.append(event)

    def _counts(self, logged: LogEvents) -> list[Event]:
        """Note which leader wrote to the config topic, match counts with what leaders say that they write, and return
        the counts that no leader speaks of."""
        for event in self.events:
            claim = self.brokers.given.get(event.pair) if event.kind in CONFIG else None
            if claim is not None and claim.kind == Kind.topic_claimed:
                event.columns["node"] = claim["node"]
        unwritten, writings = list[Event](), list(logged.writings)
        for event in self.brokers.of(Kind.count_written):
            key = event["node"], event["connector"], event["count"]
            found = next((each for each in writings if each[0] == key), None)
            if found is None:
                unwritten.append(event)
            else:
                writings.remove(found)
                event.after.append(found[1])
        return unwritten

    def _group(self, logged: LogEvents) -> None:
        """Add the assignments of each generation, which workers take afterwards."""
        made = {}
        for generation in self.brokers.generations:
            leader = generation.members.get(generation.leader, ("", None))[0]
            given = [(client, each) for client, each in generation.members.values() if each is not None]
            time_us, common = generation.time_ms * 1000, {"member": generation.number}
            offset = max((assignment.offset for _, assignment in given), default=-1)
            columns = {"node": self.nodes[leader], "offset": offset, **common}
            made[generation.number] = Event(Kind.assignment_made, time_us, columns)
            self.events.append(made[generation.number])
            for client, assignment in given:
                common["node"] = self.nodes[client]
                self.events += [
                    Event(kind, time_us, columns | {"task": task}, [made[generation.number]])
                    for kind, tasks in (
                        (Kind.task_assigned, assignment.assigned), (Kind.task_revoked, assignment.revoked)
                    )
                    for connector, numbers in tasks.items()
                    for columns in [{"connector": self.brokers.connectors[connector], **common}]
                    for task in numbers if task >= 0
                ]  # fmt: skip
        for event in logged.events:
            if event.kind == Kind.assigned and event["member"] in made:
                event.after.append(made[event["member"]])

    def _name(self) -> None:
        """Set instance, worker and set of what each producer of a task did, and let it follow the instance's start."""
        owners = self.instances.by_producer()
        for event in self.brokers.of(Kind.producer_opened, Kind.records_sent, Kind.transaction_committed):
            if instance := owners.get(event.pair):
                event.columns |= instance.columns
                if event.kind == Kind.records_sent and Kind.task_running in instance.marks:
                    event.after.append(instance.marks[Kind.task_running])
        for event in self.events:
            if event["instance"] >= 0 and event.kind not in (Kind.task_starting, Kind.task_checked_again):
                event.columns |= self.instances[event["instance"]].columns

    def compare(self) -> None:
        """Find the kinds of event of which the workers' logs do not show all that must have happened."""
        if not self.logs:
            return
        missing = sorted(self.workers - {log.worker for log in self.logs})
        if missing:
            self._hide(OF_LOGS, f"the log of worker {missing[0]} is not given")
            return
        opened = self.brokers.of(Kind.producer_opened)
        ran = [each.marks for each in self.ran]
        fenced = [each for each in self.brokers.of(Kind.id_fenced) if each["error"] <= 0]
        owned = [self.instances[each["instance"]].marks for each in opened if each["instance"] >= 0]
        for kinds, what, count in (
            ("task_starting", "starts", _lacking(Kind.task_starting, ran)),
            ("task_starting", "starts", len(opened) - len(owned)),
            ("round_asked round_answered", "requests for rounds", _lacking(Kind.round_answered, owned)),
            ("round_started", "rounds", sum(each["request"] < 0 for each in fenced)),
            ("round_checked round_started", "counts", len(self.unwritten)),
            ("task_checked_again", "looks after the producer was opened", _lacking(Kind.task_checked_again, ran)),
        ):
            if count:
                self._hide(_kinds(kinds), f"the workers' logs do not show {count} {what}")

    def _hide(self, kinds: frozenset[Kind], why: str) -> None:
        self.hidden |= kinds
        self.hiding.append(why)

    def observable(self) -> frozenset[Kind]:
        """Return the kinds of event of which all are recorded."""
        kinds = OF_BROKERS | (OF_GROUP if self.brokers.generations else frozenset())
        if self.seen is not None:
            kinds |= OF_SEEN
        if self.logs:
            kinds |= OF_LOGS | ALSO_LOGGED
        return kinds - self.hidden

    def undecidable(self) -> dict[str, str]:
        reasons = {"conformance": self.hiding[0]} if self.hiding else {}
        acts = self.brokers.of(Kind.id_fenced, Kind.topic_claimed)
        if self.seen is None or any(each["node"] < 0 for each in acts):
            reasons |= dict.fromkeys(OF_WORKERS, NO_WORKER)
        strangers = [each for each in self.brokers.of(Kind.transaction_committed) if each["set"] < 0]
        if self.seen is None:
            reasons |= dict.fromkeys(OF_SETS, NO_SET)
        elif strangers:
            reasons |= dict.fromkeys((*OF_SETS, "only_running_polls"), STRANGERS.format(len(strangers)))
        return reasons


def _lacking(kind: Kind, marks: Iterable[dict[Kind, Event]]) -> int:
    return sum(kind not in each for each in marks)
