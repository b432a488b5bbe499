"""This module judges a Connect cluster by what its topics hold now, where nothing else of its life can be had.

Compaction leaves the latest record of each key, and the transaction log of most clusters has many partitions, so that
no recorder has one order of what happened. What the latest records must be like can be judged all the same
(`standing`). Where the topics are whole, they are recorded and replayed as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.network_logs import NetworkLogs
from fencepost.proofs.recording.logs.replicas import Committed
from fencepost.proofs.recording.task_counts.broker_logs import LEADER, Change, changes_of
from fencepost.proofs.recording.task_counts.ordering import Event, Names
from fencepost.proofs.recording.task_counts.recorder import OF_GROUP, OF_LOGS, OF_SEEN, record_task_counts
from fencepost.proofs.recording.task_counts.records import event_of, records_in, strange
from fencepost.proofs.recording.transactions.cluster_logs import read_cluster
from fencepost.proofs.recording.transactions.transaction_log import TOPIC
from fencepost.proofs.scale.replay import replay
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.task_counts.events import Kind
from fencepost.properties.task_counts.histories.properties import HISTORY
from fencepost.properties.transactions.events.kinds import COMMIT, State
from fencepost.reference_impl.live.connect.rest import LOOK_S, about
from fencepost.reference_impl.live.tcp.brokers import Brokers
from fencepost.reference_impl.live.tcp.connection import PLAINTEXT, WireError
from fencepost.reference_impl.live.tcp.security import client_security

WRITTEN = (Kind.set_written, Kind.count_written, Kind.count_tombstoned, Kind.connector_tombstoned)
COMMITTED = (State.PrepareCommit, State.CompleteCommit)
SKEW_MS = 1_000
"""Clocks of several brokers are taken to differ by no more than this."""
RULES = {
    "618.3": "the newest set has the configuration of every task of it",
    "618.42": "the count after the newest set is its size",
    "618.P3": "no task commits that neither the newest set nor the count after it has",
}
UNNAMED = "its transaction log has not one topic alone that leaders of Connect (connect-cluster-GROUP) wrote to"
TAKES = {
    "it takes what the connector and proxies of the workers saw: fencepost record … --seen": OF_SEEN,
    "it takes that and the workers' logs: fencepost record … --seen … --worker-logs": OF_SEEN | OF_GROUP | OF_LOGS,
}
PLAIN = "is written without a transaction, by a worker whose support is not enabled or by another program"


@dataclass
class Standing:
    """A `Standing` is what the config topic has of a connector. `counted_ms` is when the count was committed, by a
    broker's clock, and `plain` the offset of a record that no transaction wrote, -1 if there is none."""

    latest: dict[Kind, Event] = field(default_factory=dict)
    tasks: dict[int, int] = field(default_factory=dict)  # offset of the latest configuration
    counted_ms: int = -1
    plain: int = -1

    @property
    def set(self) -> Event | None:
        """The newest set, unless the connector was deleted since."""
        newest, deleted = (self.latest.get(kind) for kind in (Kind.set_written, Kind.connector_tombstoned))
        return newest if newest is not None and (deleted is None or deleted["offset"] < newest["offset"]) else None

    @property
    def count(self) -> Event | None:
        """The count after the newest set."""
        newest, count = self.set, self.latest.get(Kind.count_written)
        return count if newest is not None and count is not None and count["offset"] > newest["offset"] else None

    @property
    def is_promised(self) -> bool:
        return self.set is not None and self.plain < self.set["offset"]


@dataclass(frozen=True)
class Looked:
    """A `Looked` has the rules and properties that hold, those that are violated with how, and the others with why they
    were not decided; `lines` are about the cluster and each connector."""

    lines: tuple[str, ...]
    holds: tuple[str, ...]
    violated: Mapping[str, str]
    undecided: Mapping[str, str]

    def __str__(self) -> str:
        why = {
            reason: [n for n, each in self.undecided.items() if each == reason] for reason in self.undecided.values()
        }
        lines = [
            *self.lines,
            f"    {len(self.holds)} hold: {', '.join(self.holds)}" if self.holds else "    none holds",
        ]
        lines += [f"    {name} is violated: {text}" for name, text in self.violated.items()]
        lines += [f"    not decided ({', '.join(names)}): {reason}" for reason, names in why.items()]
        return "\n".join(lines)


def judged(url: str, bootstrap: str, config_topic: str = "", client_config: Path | None = None) -> Looked:
    """Judge the cluster that a worker with this URL belongs to. Raise `WireError` where it or the brokers give no
    answer, and `RecordingError` for what is not a Connect cluster's."""
    release, cluster, statuses = about(url)
    brokers = Brokers(bootstrap, LOOK_S, client_security(client_config) if client_config else PLAINTEXT)
    logs = NetworkLogs(brokers, LOOK_S)
    try:
        if brokers.cluster_id != cluster:
            raise WireError(f"{url} is of the Kafka cluster {cluster}, and {bootstrap} of {brokers.cluster_id}")
        with TemporaryDirectory(prefix="fencepost-foreign-") as scratch:
            folder, unread = Path(scratch) / "node", ""
            try:
                mirror(logs, TOPIC, folder)
            except WireError as error:
                unread = str(error)
            config_topic = config_topic or (config_topic_of(folder) if not unread else "")
            if not config_topic:
                raise WireError(f"{bootstrap}: {unread or UNNAMED}; name it with --config config_topic=NAME")
            mirror(logs, config_topic, folder)
            found = look(folder, config_topic, statuses, len(brokers.addresses), Path(scratch))
    finally:
        logs.close()
    first = f"{url}, a worker of {release}, with {bootstrap}, where its config topic is {config_topic}"
    return replace(found, lines=(first, *found.lines))


def mirror(logs: NetworkLogs, topic: str, out: Path) -> None:
    """Make `out` a log directory with all that a topic has, aborted and control batches included. Raise WireError for a
    topic that cannot be read."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "meta.properties").write_text(f"node.id=0\ncluster.id={logs.brokers.cluster_id}\n")
    partitions, cleaned = logs.brokers.refresh(topic), []
    if not partitions:
        raise WireError(f"{logs.brokers.bootstrap}: there is no topic {topic}, or reading it is not allowed")
    for partition in sorted(partitions):
        place, end = Place(topic, partition), 0
        (out / str(place)).mkdir()
        with (out / str(place) / f"{0:020d}.log").open("wb") as file:
            for segment in logs.segments(place):
                file.write(segment.content.data)
                end = int(segment.last_offsets[-1]) + 1
        cleaned.append(f"{topic} {partition} {end}\n")  # what is missing below, compaction has taken
    (out / "cleaner-offset-checkpoint").write_text(f"0\n{len(cleaned)}\n{''.join(cleaned)}")  # of the last call


def config_topic_of(log_dir: Path) -> str:
    """Return the topic that the leaders' transactions in a transaction log have written to, if that is one."""
    logs = read_cluster([log_dir], lambda place: place.topic == TOPIC)
    changes = [change for log in logs.transaction_log for change in changes_of(log) if change.id.startswith(LEADER)]
    topics = {topic for change in changes for topic, _ in change.state.partitions}
    return topics.pop() if len(topics) == 1 else ""


def look(log_dir: Path, config_topic: str, statuses: Mapping[str, Any], brokers: int, scratch: Path) -> Looked:
    """Judge a cluster by its config topic and, if it is there, its transaction log in `log_dir`. `statuses` is what
    REST answers of each connector, and `brokers` how many there are. Raise `RecordingError`."""
    logs = read_cluster([log_dir], lambda place: place in (Place(config_topic, 0), Place(TOPIC, place.partition)))
    config = next((part for part in logs.data if part.place == Place(config_topic, 0)), None)
    if config is None:
        raise RecordingError("has no partition 0", log_dir / config_topic, "name the config topic")
    changes = [change for log in logs.transaction_log for change in changes_of(log)]
    names, leaders = Names(), dict[int, str]()
    found = standing(config, names)
    for change in changes:
        if change.id.startswith(LEADER):
            leaders[change.state.producer_id] = change.id.removeprefix(LEADER)
    writers = [each["producer_id"] for one in found.values() for each in one.latest.values()]
    group = next((leaders[each] for each in sorted(writers, reverse=True) if each in leaders), "")
    violated: dict[str, str] = {}
    lines = []
    for name, one in sorted(found.items()):
        lines.append(f"connector {name}: {_text(one, statuses.get(name))}")
        for rule, text in _broken(name, one, group, changes, SKEW_MS if brokers > 1 else 0):
            violated.setdefault(rule, text)
    counted = [one for one in found.values() if one.count is not None]
    judged = {
        "618.3": any(one.set for one in found.values()), "618.42": bool(counted),
        "618.P3": bool(group) and any(one.is_promised for one in counted),
    }  # fmt: skip
    undecided = dict.fromkeys(
        (rule for rule in RULES if not judged[rule]),
        "there is nothing to judge" if group else f"{TOPIC} was not read, or has no leader of this topic",
    )
    by_recording: list[str] = []
    shipped = Manifest(HISTORY.vocabulary.protocol, (), (), config={"mode": "shipped"})
    try:
        recorded = record_task_counts([log_dir], scratch / "out", topics=[config_topic])
    except RecordingError as error:
        names_of_all = set(HISTORY.names) - HISTORY.unpromised(shipped).keys()
        undecided |= dict.fromkeys(sorted(names_of_all), str(error).partition(": ")[2])
    else:
        report = replay(scratch / "out", cores=1)
        violated |= {name: broken["first"].told for name, broken in report.violations.items()}
        by_recording = [name for name in report.decided if name in recorded.decidable]
        undecided |= {
            name: why if name in report.vacuous else _takes(recorded.manifest.observable, name)
            for name, why in report.unknown.items()
        }
    again = {HISTORY.rules[name] for name in by_recording}
    holds = [f"{rule} ({text})" for rule, text in RULES.items() if judged[rule] and rule not in again]
    holds = [each for each in (*holds, *by_recording) if each.partition(" ")[0] not in violated]
    left = {rule: text for rule, text in violated.items() if rule not in again}
    return Looked(tuple(lines), tuple(holds), left, undecided)


def _takes(observable: Sequence[str], name: str) -> str:
    """Return which further sources of a recorder would decide a property."""
    config = {"mode": "shipped", "quiet_end": name == "newest_set_polls"}
    for takes, kinds in TAKES.items():
        observed = (*observable, *(kind.name for kind in kinds))
        if name not in HISTORY.undecidable(Manifest(HISTORY.vocabulary.protocol, observed, (), config=config)):
            return takes
    return "no source has what it speaks of"


def standing(config: Committed, names: Names) -> dict[str, Standing]:
    """Return what stands of each connector in the committed part of the config topic."""
    pending: defaultdict[int, list[Event]] = defaultdict(list)
    events: list[tuple[Event, int]] = []  # with when its transaction was committed, -1 for none
    for record in records_in(config):
        if record.control:
            written = pending.pop(record.producer_id, [])
            events += [(event, record.time_ms) for event in written if record.key[2:4] == bytes([0, COMMIT])]
            continue
        try:
            read = event_of(record, names)
        except (ValueError, KeyError, TypeError) as error:
            raise strange(config, record, "config topic", str(error)) from None
        if read is not None and record.transactional:
            pending[record.producer_id].append(read)
        elif read is not None:
            events.append((read, -1))
    found: defaultdict[int, Standing] = defaultdict(Standing)
    for event, committed_ms in sorted(events, key=lambda each: each[0]["offset"]):
        one = found[event["connector"]]
        one.latest[event.kind] = event
        one.plain = event["offset"] if committed_ms < 0 and event.kind in WRITTEN else one.plain
        if event.kind == Kind.task_config_written:
            one.tasks[event["task"]] = event["offset"]
        elif event.kind == Kind.count_written:
            one.counted_ms = committed_ms
        elif event.kind == Kind.count_tombstoned:
            one.latest.pop(Kind.count_written, None)
    return {name: found[number] for name, number in names.numbers.items() if number in found}


def _broken(name: str, one: Standing, group: str, changes: Sequence[Change], skew_ms: int) -> list[tuple[str, str]]:
    newest, count = one.set, one.count
    if newest is None:
        return []
    what, broken = f"the set of {newest['count']} at offset {newest['offset']}", []
    lacking = [task for task in range(newest["count"]) if one.tasks.get(task, newest["offset"]) >= newest["offset"]]
    later = [task for task in lacking if task in one.tasks]  # of a set that is being written
    if lacking and not later:
        broken.append(("618.3", f"{what} of {name} has no configuration of task {lacking[0]}"))
    if count is None:
        return broken
    after = f"count {count['count']} at offset {count['offset']}"
    if count["count"] != newest["count"]:
        broken.append(("618.42", f"{after} of {name} stands after {what}"))
    most = max(count["count"], newest["count"])
    for change in changes if one.is_promised else ():
        owner, _, task = change.id.removeprefix(f"{group}-").rpartition("-")
        late = change.state.state in COMMITTED and change.state.updated_ms > one.counted_ms + skew_ms
        if group and change.id.startswith(f"{group}-") and owner == name and late and int(task) >= most:
            at = f"{datetime.fromtimestamp(change.state.updated_ms / 1000, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3]
            broken.append(("618.P3", f"task {task} of {name} commits at {at} UTC, after {after}, which is for {what}"))
    return broken


def _text(one: Standing, status: Any) -> str:
    newest, count = one.set, one.count
    text = "no set" if newest is None else f"set of {newest['count']} at offset {newest['offset']}"
    text += f", count {count['count']} at {count['offset']}" if count is not None else ", no count after it"
    states = [(int(each["id"]), str(each["state"])) for each in (status or {}).get("tasks", ())]
    text += f"; REST has {', '.join(f'task {task} {state}' for task, state in states) or 'no task'}"
    over = [task for task, _ in states if newest is not None and task >= newest["count"]]
    text += f"; the set has no task {', '.join(map(str, over))}, unless that status is old" if over else ""
    return text + (f"; what is at offset {one.plain} {PLAIN}" if one.plain >= 0 else "")
