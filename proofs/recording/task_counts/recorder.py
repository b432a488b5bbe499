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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Progress
from fencepost.proofs.recording.task_counts.broker_logs import LEADER, Brokers, read_brokers
from fencepost.proofs.recording.task_counts.instances import Instance, Instances, signer
from fencepost.proofs.recording.task_counts.log_events import LogEvents
from fencepost.proofs.recording.task_counts.ordering import Event, Names, in_order
from fencepost.proofs.recording.task_counts.seen import RETRIED, TASK_PRODUCER, Seen, read_seen
from fencepost.proofs.recording.task_counts.worker_logs import RELEASES, log_files, read_worker_log
from fencepost.properties.history import Manifest, write_histories
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.task_counts.events import SUPPORT, TASK_COUNTS, TOPIC, Kind
from fencepost.properties.task_counts.histories.properties import HISTORY

CONFIG = frozenset(Kind[name] for name in TASK_COUNTS.observed_by(TOPIC))
OF_BROKERS = CONFIG | {
    Kind.topic_claimed, Kind.id_fenced, Kind.producer_opened, Kind.records_sent, Kind.transaction_committed,
}  # fmt: skip
OF_GROUP = frozenset({Kind.assignment_made, Kind.task_assigned, Kind.task_revoked})
OF_SEEN = frozenset({
    Kind.worker_started, Kind.worker_stopped, Kind.worker_stalled, Kind.worker_resumed, Kind.asked, Kind.task_running,
    Kind.task_stopped, Kind.transaction_refused,
})  # fmt: skip
OF_LOGS = frozenset({
    Kind.assigned, Kind.leadership_lost, Kind.write_refused, Kind.round_asked, Kind.round_started, Kind.round_checked,
    Kind.round_answered, Kind.round_failed, Kind.task_starting, Kind.task_checked_again, Kind.task_failed,
    Kind.task_left_running, Kind.task_abandoned,
})  # fmt: skip
"""A start that Kafka gives up is a failed or a stopped task, so no event is a task_abandoned."""
ALSO_LOGGED = frozenset({Kind.worker_started, Kind.task_running, Kind.task_stopped})
DONE_TO_WORKERS = {
    "worker_started": Kind.worker_started, "worker_killed": Kind.worker_stopped, "worker_stopped": Kind.worker_stopped,
    "worker_paused": Kind.worker_stalled, "worker_resumed": Kind.worker_resumed,
}  # fmt: skip
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


@dataclass(frozen=True)
class Recorded:
    """A `Recorded` has the counts of a recording. `notes` are what was left out or could not be matched."""

    manifest: Manifest
    counts: dict[str, int]  # events by kind
    nodes: tuple[int, ...]
    bytes_read: int
    undecidable: dict[str, str]
    not_promised: dict[str, str]
    notes: tuple[str, ...]
    properties: Sequence[str] = HISTORY.names

    @property
    def decidable(self) -> list[str]:
        return [name for name in self.properties if name not in self.undecidable | self.not_promised]

    def __str__(self) -> str:
        first = f"{sum(self.counts.values()):,} events of {self.bytes_read:,} bytes of nodes "
        first += ", ".join(map(str, self.nodes))
        return "\n".join([first, ", ".join(f"{count} {name}" for name, count in self.counts.items()), *self.notes])


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
    watched = read_seen(Path(seen)) if seen is not None else None
    if watched is not None and seen is not None and watched.group not in ("", brokers.group):
        what = f"is of the group {watched.group}, and the brokers have {brokers.group}"
        raise RecordingError(what, seen, "name the file of this cluster, or its config topic with --topic")
    made = _Recording(brokers, watched, [read_worker_log(log_files(Path(each)), brokers.group) for each in worker_logs])
    made.read()
    events, contradictions = in_order(made.events)
    if connectors:
        events = made.narrowed(events, connectors)
    made.compare()
    notes = [*brokers.notes, *made.hiding]
    if contradictions:
        notes.append(f"the sources contradict one another on the order of {contradictions} events")
    release = watched.release if watched is not None and kafka_version == "unknown" else kafka_version
    if worker_logs and release not in RELEASES:
        notes.append(f"texts of workers' logs are known of {', '.join(RELEASES)}, and these are of {release}")
    observable = made.observable()
    one_clock = watched is not None or not (observable - OF_BROKERS)
    config: dict[str, Any] = {
        "mode": "shipped", "quiet_end": quiet_end, "kafka_version": release or "unknown", "group": brokers.group,
        "connectors": list(brokers.connectors.numbers), "workers": len(made.nodes.numbers),
    }  # fmt: skip
    if watched is not None and "transaction.version" in watched.features:
        config["transaction_version"] = watched.features["transaction.version"]
    if undecidable := made.undecidable():
        config["undecidable"] = undecidable
    if not one_clock:
        config["ordered_among"] = sorted(kind.name for kind in OF_BROKERS)
    faults = Counter(event.kind.name.removeprefix("worker_") for event in events if event.kind in FAULTS)
    manifest = write_histories(
        out, [_columns(events)], TASK_COUNTS, source="recorded", ordered=one_clock and not contradictions,
        variant="shipped", observable=tuple(kind.name for kind in Kind if kind in observable), config=config,
        faults=dict(faults), notes=" ".join([NOTES, *(note + "." for note in notes)]),
    )  # fmt: skip
    counts = Counter(event.kind for event in events)
    return Recorded(
        manifest, {kind.name: counts[kind] for kind in Kind if counts[kind]}, brokers.nodes, brokers.bytes_read,
        HISTORY.undecidable(manifest), HISTORY.unpromised(manifest), tuple(notes),
    )  # fmt: skip


FAULTS = (Kind.worker_stopped, Kind.worker_stalled, Kind.worker_resumed)


def _columns(events: Sequence[Event]) -> dict[str, np.ndarray]:
    columns = absent_columns(TASK_COUNTS, len(events))
    columns["history"][:] = 0
    columns["step"] = np.arange(len(events), dtype=columns["step"].dtype)
    latest = 0
    for at, event in enumerate(events):
        latest = max(latest, event.time_us)
        columns["time_us"][at], columns["kind"][at] = latest, event.kind
        for name in TASK_COUNTS.used_by[event.kind.name]:
            if name in event.columns:
                columns[name][at] = event.columns[name]
    return columns


def _is_able(event: Event) -> bool:
    return event.columns.get("support", SUPPORT["enabled"]) == SUPPORT["enabled"]


class _Recording:
    """A `_Recording` brings the sources together: which worker and which instance acted, and what came before what."""

    def __init__(self, brokers: Brokers, seen: Seen | None, logs: Sequence[tuple[str, Any]]) -> None:
        self.brokers, self.seen, self.logs = brokers, seen, logs
        clients = {client for each in brokers.generations for client, _ in each.members.values()}
        self.workers = clients | {worker for worker, _ in logs} | (seen.names if seen is not None else set())
        self.nodes = Names(sorted(self.workers))
        self.instances = Instances()
        self.logged = LogEvents(brokers, self.instances, self.nodes)
        self.events: list[Event] = [*brokers.events, *brokers.plain]
        self.hidden: set[Kind] = set()
        self.hiding: list[str] = []  # why
        self.unwritten: list[Event] = []  # counts that no worker's log has
        self.ran: list[Instance] = []

    def read(self) -> None:
        for worker, lines in self.logs:
            self.logged.read(worker, lines)
        self.logged.finish()
        if self.seen is not None:
            self._given(self.seen)
            self._runs(self.seen)
            self.events += self._seen_events(self.seen)
        seen_kinds = OF_SEEN if self.seen is not None else frozenset()
        self.events += [event for event in self.logged.events if self._is_new(event, seen_kinds)]
        self._rounds()
        self._group()
        self._name()

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

    def _is_new(self, event: Event, seen: frozenset[Kind]) -> bool:
        """Return whether an event of a worker's log is not one that the connector or the driver reports as well."""
        if event.kind not in seen:
            return True
        if event.kind != Kind.task_stopped:
            return False
        run = self.instances.all[event["instance"]].run
        return run is None or run.stopped_us < 0

    def _given(self, seen: Seen) -> None:
        """Note the worker that got each answer to InitProducerId, of which the brokers' logs have the successes."""
        for answer in seen.given:
            given = self.brokers.given.get((answer.producer_id, answer.epoch))
            if not answer.error and given is not None:
                given.columns["node"] = self.nodes[answer.worker]
                if given.kind != Kind.topic_claimed:
                    given.kind = Kind.producer_opened if answer.is_tasks else Kind.id_fenced
            elif answer.error and answer.error not in RETRIED:
                self._denied(answer.time_us, answer.worker, answer.id, answer.error, answer.is_tasks)

    def _denied(self, time_us: int, worker: str, name: str, error: int, is_tasks: bool) -> None:
        columns = {"node": self.nodes[worker], "error": error}
        task = self.brokers.task_of(name)
        if name == f"{LEADER}{self.brokers.group}":
            self.events.append(Event(Kind.claim_failed, time_us, columns))
        elif task is not None and not is_tasks:
            columns |= {"connector": task[0], "task": task[1]}
            self.events.append(Event(Kind.id_fenced, time_us, columns))

    def _runs(self, seen: Seen) -> None:
        """Match the connector's reports with starts and producers, and note when each ran and stopped."""
        signed = {signer(value): pair for pair, value in self.brokers.signed.items()}
        opened = [event for event in self.brokers.events if event.kind == Kind.producer_opened]
        for run in sorted(seen.runs.values(), key=lambda run: run.started_us):
            node, connector = self.nodes[run.worker], self.brokers.connectors[run.connector]
            instance = self.instances.of_run(run, node, connector, signed.get(run.name))
            instance.set = self.brokers.set_numbers.get((connector, run.set), instance.set)
            if instance.producer is None and "start" not in instance.marks:
                instance.producer = self._opened_before(opened, instance)
            given = self.brokers.given.get(instance.producer) if instance.producer is not None else None
            before = [each for each in (given, instance.marks.get("look")) if each is not None]
            if run.running_us >= 0:
                running = Event(Kind.task_running, run.running_us, instance.columns, before)
                instance.marks["running"] = running
                self.events.append(running)
            if run.stopped_us >= 0:
                after = [instance.marks["running"]] if "running" in instance.marks else before
                instance.marks["stop"] = Event(Kind.task_stopped, run.stopped_us, instance.columns, list(after))
                self.events.append(instance.marks["stop"])

    def _opened_before(self, opened: Sequence[Event], instance: Instance) -> tuple[int, int] | None:
        """Return the producer that was opened last for a task on a worker before an instance started, if that is no
        other instance's."""
        owned = self.instances.by_producer()
        mine = [
            event for event in opened
            if (event["node"], event["connector"], event["task"])
            == (instance.node, instance.connector, instance.task) and event.time_us <= instance.time_us
            and (event["producer_id"], event["epoch"]) not in owned
        ]  # fmt: skip
        return (mine[-1]["producer_id"], mine[-1]["epoch"]) if mine else None

    def _seen_events(self, seen: Seen) -> Iterator[Event]:
        for time_us, event, worker, support in seen.workers:
            columns = {"node": self.nodes[worker]}
            if event == "worker_started":
                columns["support"] = SUPPORT.get(support, -1)
            yield Event(DONE_TO_WORKERS[event], time_us, columns)
        for time_us, connector, worker, tasks in seen.asked:
            columns = {"node": self.nodes[worker], "connector": self.brokers.connectors[connector], "count": tasks}
            yield Event(Kind.asked, time_us, columns)
        for time_us, worker in seen.expired:
            yield Event(Kind.member_expired, time_us, {"node": self.nodes[worker]})
        for time_us, offset in seen.compacted:
            yield Event(Kind.compacted, time_us, {"offset": offset})
        for answer in seen.refused:
            task = self.brokers.task_of(answer.id)
            columns = {"node": self.nodes[answer.worker], "error": answer.error}
            if task is not None and answer.client.startswith(TASK_PRODUCER):
                instance = self._refused(columns["node"], task, answer.producer_id, answer.epoch, answer.time_us)
                if instance is not None:
                    yield Event(Kind.transaction_refused, answer.time_us, instance.columns | columns)
            elif answer.id.startswith(LEADER):
                yield Event(Kind.write_refused, answer.time_us, columns)

    def _refused(self, node: int, task: tuple[int, int], producer_id: int, epoch: int, us: int) -> Instance | None:
        pair = producer_id, self.brokers.folded(producer_id, epoch)
        known = self.instances.by_producer().get(pair) if producer_id >= 0 else None
        return known or self.instances.latest(node, *task, before_us=us)

    def _rounds(self) -> None:
        """Match fences and counts with the rounds that they are of."""
        for event in self.brokers.events:
            if event.kind == Kind.id_fenced:
                fitting = [
                    each for each in self.logged.rounds
                    if each.ask.connector == event["connector"] and event["task"] < each.size
                    and event["node"] in (-1, each.node) and each.started.time_us <= event.time_us
                ]  # fmt: skip
                if fitting:
                    of = max(fitting, key=lambda each: each.started.time_us)
                    event.columns |= {"node": of.node, "request": of.ask.request, "count": of.size}
                    event.after.append(of.started)
                    if of.look is not None and of.look.time_us >= event.time_us:
                        of.look.after.append(event)
        claims = {pair: event for pair, event in self.brokers.given.items() if event.kind == Kind.topic_claimed}
        for event in self.events:
            if event.kind in CONFIG and (event["producer_id"], event["epoch"]) in claims:
                event.columns["node"] = claims[event["producer_id"], event["epoch"]]["node"]
        writings = list(self.logged.writings)
        for event in self.brokers.events:
            if event.kind == Kind.count_written:
                key = event["node"], event["connector"], event["count"]
                found = next((each for each in writings if each[:3] == key), None)
                if found is None:
                    self.unwritten.append(event)
                else:
                    writings.remove(found)
                    event.after.append(found[3])

    def _group(self) -> None:
        for generation in self.brokers.generations:
            leader = generation.members.get(generation.leader, ("", None))[0]
            offsets = [each.offset for _, each in generation.members.values() if each is not None]
            common = {"member": generation.number}
            time_us = generation.time_ms * 1000
            made = Event(
                Kind.assignment_made, time_us, {"node": self.nodes[leader], "offset": max(offsets, default=-1)} | common
            )
            self.events.append(made)
            for client, assignment in generation.members.values():
                for kind, tasks in (
                    (Kind.task_assigned, assignment.assigned if assignment is not None else {}),
                    (Kind.task_revoked, assignment.revoked if assignment is not None else {}),
                ):
                    for connector, numbers in tasks.items():
                        columns = {"node": self.nodes[client], "connector": self.brokers.connectors[connector]} | common
                        self.events += [
                            Event(kind, time_us, columns | {"task": task}, [made]) for task in numbers if task >= 0
                        ]
            for event in self.logged.events:
                if event.kind == Kind.assigned and event["member"] == generation.number:
                    event.after.append(made)

    def _name(self) -> None:
        """Set instance, worker and set of what each producer of a task did, and let it follow the instance's start."""
        owners = self.instances.by_producer()
        for event in self.brokers.events:
            if event.kind in (Kind.producer_opened, Kind.records_sent, Kind.transaction_committed):
                instance = owners.get((event["producer_id"], event["epoch"]))
                if instance is not None:
                    event.columns |= instance.columns
                    if event.kind == Kind.records_sent and "running" in instance.marks:
                        event.after.append(instance.marks["running"])
        for event in self.events:
            if event["instance"] >= 0 and event.kind not in (Kind.task_starting, Kind.task_checked_again):
                event.columns |= self.instances.all[event["instance"]].columns
        self.ran = [each for each in self.instances.all if "running" in each.marks]

    def compare(self) -> None:
        """Find the kinds of event of which the workers' logs do not show all that must have happened."""
        if not self.logs:
            return
        missing = sorted(self.workers - {worker for worker, _ in self.logs})
        if missing:
            self._hide(OF_LOGS, f"the log of worker {missing[0]} is not given")
            return
        opened = [each for each in self.brokers.events if each.kind == Kind.producer_opened]
        fenced = [each for each in self.brokers.events if each.kind == Kind.id_fenced and not max(each["error"], 0)]
        checks = (
            ({Kind.task_starting}, "starts", [each for each in self.ran if "start" not in each.marks]),
            ({Kind.task_starting}, "starts", [each for each in opened if each["instance"] < 0]),
            ({Kind.round_asked, Kind.round_answered}, "requests for rounds", [
                each for each in opened
                if each["instance"] >= 0 and "answer" not in self.instances.all[each["instance"]].marks
            ]),
            ({Kind.round_started}, "rounds", [each for each in fenced if each["request"] < 0]),
            ({Kind.round_checked, Kind.round_started}, "counts", self.unwritten),
            ({Kind.task_checked_again}, "looks after the producer was opened",
             [each for each in self.ran if "look" not in each.marks]),
        )  # fmt: skip
        for kinds, what, unknown in checks:
            if unknown:
                self._hide(frozenset(kinds), f"the workers' logs do not show {len(unknown)} {what}")

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
        acts = [each for each in self.brokers.events if each.kind in (Kind.id_fenced, Kind.topic_claimed)]
        if self.seen is None or any(each["node"] < 0 for each in acts):
            reasons |= dict.fromkeys(OF_WORKERS, NO_WORKER)
        strangers = [e for e in self.brokers.events if e.kind == Kind.transaction_committed and e["set"] < 0]
        if self.seen is None:
            reasons |= dict.fromkeys(OF_SETS, NO_SET)
        elif strangers:
            reasons |= dict.fromkeys((*OF_SETS, "only_running_polls"), STRANGERS.format(len(strangers)))
        return reasons
