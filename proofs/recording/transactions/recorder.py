"""This module writes one history of transactions from brokers' logs and clients: `fencepost record --protocol
transactions`.

`record_transactions(log_dirs, clients, out)` writes a directory of histories (protocol transactions, variant v2 or v1,
source recorded) with a single history in it; log directories, or clients, may be missing.

`replicas.py` defines which records are committed. The order within a log and among the clients is real. All other order
comes from clocks and is no evidence: then the manifest has `ordered` false, and `ordered_among` names the kinds whose
order is real. A property that needs more than that, or events that are not recorded, is unknown, with its reason. Where
the cleaner, retention or DeleteRecords removed a part of a log, what comes after that is recorded, and the config's
`cuts` note it: see `properties/history/cuts.py`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from fencepost.proofs.recording.command import Recorded, Recorder
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Place, Progress
from fencepost.proofs.recording.transactions.client_events import Header, read_events
from fencepost.proofs.recording.transactions.cluster_logs import COORDINATORS, ClusterLogs, read_cluster
from fencepost.proofs.recording.transactions.event_table import merged
from fencepost.proofs.recording.transactions.sources import Sources
from fencepost.properties.transactions.events.kinds import TRANSACTIONS

LARGE = 10_000_000  # below this many bytes a rate is meaningless
UNNUMBERED = (
    "no clients' events say that the records' values are their numbers, so one record twice looks like two; record "
    "with --clients FILE"
)
NOTES = (
    "Events of a log stand in its order, with the times of its batches; logs and clients are merged by time only, so "
    "the order of an event of one and an event of another is no evidence. One event a record; records outside of "
    "transactions are left out. Committed is what lies below a high watermark that a node wrote down, or is alike in "
    "all replicas in sync."
)
MOST_NAMED = 6  # the summary lists the ends of this many partitions


@dataclass(frozen=True)
class RecordedTransactions(Recorded):
    """A `RecordedTransactions` has in addition, by partition, the offset below which all is committed."""

    committed: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def report(self) -> dict[str, Any]:
        more = {"bytes": self.bytes_read, "seconds": self.seconds, "committed": self.committed}
        return super().report | more

    def __str__(self) -> str:
        lines = super().__str__().split("\n")
        if self.bytes_read > LARGE:
            events = sum(self.counts.values())
            rates = f"{self.bytes_read / 1e6 / self.seconds:,.0f} MB/s, {events / self.seconds:,.0f} events/s"
            lines[0] += f" in {self.seconds:.1f} s ({rates})"
        if self.committed:
            ends = [f"{place} below offset {end}" for place, end in self.committed.items()]
            rest = f" and {len(ends) - MOST_NAMED} more partitions" if len(ends) > MOST_NAMED else ""
            lines.insert(len(lines) - len(self.notes), f"taken for committed: {', '.join(ends[:MOST_NAMED])}{rest}")
        return "\n".join(lines)


def record_transactions(
    log_dirs: Sequence[Path],
    clients: Path | None,
    out: Path,
    *,
    topics: Collection[str] = (),
    quiet_end: bool = False,
    kafka_version: str = "unknown",
    incomplete: bool = False,
    progress: Progress | None = None,
) -> RecordedTransactions:
    """Write the history of the brokers in `log_dirs`, and of the events in the file `clients`, to `out`. `topics`
    restricts the data topics. `quiet_end` is the caller's claim that clients and coordinator had come to rest before
    the logs were copied; it is ignored where the logs prove otherwise. With `incomplete`, some logs are lost, and the
    others are recorded. Raise `RecordingError` for input that cannot be used; then nothing is written."""
    started = time.perf_counter()
    seen = read_events(clients) if clients is not None else None
    header = seen.header if seen is not None else None
    if not log_dirs and seen is None:
        raise ValueError("neither log directories nor clients' events: name at least one of them")
    if log_dirs and seen is not None and header is None:
        todo = "begin the file with a header that names partitions, groups and transactional_ids"
        assert clients is not None
        raise RecordingError("has no header, so its numbers cannot be matched with logs", clients, todo)
    logs = read_cluster(list(map(Path, log_dirs)), _wanted(header, topics), progress, incomplete) if log_dirs else None
    if logs is not None and header is not None and clients is not None:
        _check_places(header, logs, clients)
    if logs is not None:
        _check_topics(topics, logs, log_dirs)
    found = Sources.of(logs, seen, header)
    notes, config = list(found.notes), dict[str, Any]()
    at_rest = (quiet_end or (header is not None and header.quiet_end)) and not found.restless
    columns = merged(found.sources)
    if not len(columns["kind"]):
        where = log_dirs[0] if log_dirs else clients
        assert where is not None
        raise RecordingError("holds no event of a transaction, so there is nothing to judge", where, "name other logs")
    config["mode"] = (header.mode if header is not None and header.mode else "") or found.mode
    config |= {"quiet_end": at_rest, "kafka_version": kafka_version, **found.names.as_config}
    committed = {str(part.place): part.end for part in logs.all} if logs is not None else {}
    if logs is not None:
        config["committed"] = committed
    if found.cuts:
        config["cuts"] = [msgspec.structs.asdict(cut) for cut in found.cuts]
    if logs is not None and seen is None:
        config["undecidable"] = {"appended_once": UNNUMBERED}
    if logs is not None and header is not None and header.ordered:
        config["ordered_among"] = sorted(header.observable)
    ordered = len(found.sources) <= 1 and (seen is None or (header is not None and header.ordered))
    described = {
        "ordered": ordered, "variant": config["mode"].replace("mixed", "v2"), "config": config,
        "observable": tuple(kind.name for kind in sorted(found.observable)),
        "faults": dict(header.faults) if header is not None else {},
    }  # fmt: skip
    return RecordedTransactions.write(
        out, columns, TRANSACTIONS, about=NOTES, notes=notes, described=described, committed=committed,
        nodes=logs.nodes if logs is not None else (), bytes_read=logs.bytes_read if logs is not None else 0,
        seconds=time.perf_counter() - started,
    )  # fmt: skip


RECORDER = Recorder(record_transactions)


def _wanted(header: Header | None, topics: Collection[str]) -> Any:
    places = set(header.places) if header is not None else None

    def wanted(place: Place) -> bool:
        if place.topic in COORDINATORS:
            return True
        if place.topic.startswith("__") or (topics and place.topic not in topics):
            return False
        return places is None or place in places

    return wanted


def _check_topics(topics: Collection[str], logs: ClusterLogs, log_dirs: Sequence[Path]) -> None:
    there = {part.place.topic for part in logs.data}
    for topic in topics:
        if topic not in there:
            held = {folder.name.rpartition("-")[0] for each in log_dirs for folder in each.iterdir() if folder.is_dir()}
            meant = ", ".join(sorted(name for name in held if name and not name.startswith("__"))) or "none"
            todo = f"topics that these hold and could be meant: {meant}"
            raise RecordingError(f"holds no partition of topic {topic!r} that is recorded", log_dirs[0], todo)


def _check_places(header: Header, logs: ClusterLogs, clients: Path) -> None:
    there = {*logs.absent, *(part.place for part in logs.data)}
    for place in header.places:
        if place not in there:
            what = f"names partition {place}, which none of the log directories holds"
            raise RecordingError(what, clients, "name every node's log directory, or correct the header")
