"""This module writes a history of what a group's members saw and of its offsets' log: `fencepost record --protocol
group-fencing`.

`record_group(log_dirs, clients, out)` writes a directory of histories (source recorded) with a single history in it.
Without log directories the history contains what members and an auditor saw, which is enough to decide whether the
output is right. With log directories the history also reveals where things went wrong.

The order (see `ordering`) is no real one across nodes, so the manifest has `ordered` false, and `ordered_among` names
the kinds for which a property can be checked all the same. `replicas.py` defines which records are committed. A
property that needs more than that, or events that are not recorded, is unknown, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from fencepost.proofs.recording.command import Recorded, Recorder
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.group_fencing.member_events import Header, Seen, every_row, read_members
from fencepost.proofs.recording.group_fencing.offsets_log import OffsetsLog, offsets_log
from fencepost.proofs.recording.group_fencing.ordering import in_order
from fencepost.proofs.recording.logs.log_dirs import Progress
from fencepost.proofs.recording.logs.segments import CONTROL
from fencepost.proofs.recording.transactions.cluster_logs import ClusterLogs, read_cluster
from fencepost.proofs.recording.transactions.group_offsets import TOPIC
from fencepost.proofs.recording.transactions.partition_events import committed_batches
from fencepost.properties.group_fencing.events import AUDITOR, GROUP_FENCING, OFFSETS, Kind
from fencepost.properties.history.cuts import Cut
from fencepost.properties.history.pieces import filled_columns

OF_LOG = GROUP_FENCING.observed_by(OFFSETS)
OF_AUDITOR = GROUP_FENCING.observed_by(AUDITOR)
AGAINST_LOG = ("consumed", "offset_sent")
"""Properties compare these events of members with the log."""
NOTES = (
    "The group's log and each client's events stand in their own order, an offset sent before it is taken, "
    "and clients' events as late as that allows: what stands before an entry of the log came before it. Of "
    "events of several clients the order is no evidence."
)
NOT_ALONG = "copies of one partition of the input lie in several of the output, between which there is no order"
GAPS = "{} has {} records from offset {} to {}: what is no record there cannot be told from one that was left out"
UNEVEN = "the partitions of the input have not the same number of records"
STRANGE = "{} of the offsets that were taken are of no member that is recorded"
UNSURE = "a member could not tell in which generation it was handed {} records"


def record_group(
    log_dirs: Sequence[Path],
    clients: Path,
    out: Path,
    *,
    quiet_end: bool = False,
    kafka_version: str = "unknown",
    progress: Progress | None = None,
) -> Recorded:
    """Write the history of the members in the file `clients`, and of the brokers in `log_dirs`, to `out`. `quiet_end`
    is the caller's claim that everything had come to rest before an auditor read the output; it is ignored where an
    offset is still pending. Raise `RecordingError` for input that cannot be used; then nothing is written."""
    seen = read_members(clients)
    header = seen.header
    wanted = {*header.places}
    logs = None
    if log_dirs:
        logs = read_cluster(list(map(Path, log_dirs)), lambda place: place.topic == TOPIC or place in wanted, progress)
    log = offsets_log(logs.offsets, header) if logs is not None else OffsetsLog([])
    if logs is not None and not log.events:
        todo = "name the log directories of all brokers, or correct the group in the header"
        raise RecordingError(f"holds nothing of group {header.group!r}", Path(log_dirs[0]), todo)
    ordered = in_order(seen, log)
    if not ordered.rows:
        raise RecordingError("holds no event, so there is nothing to judge", clients, "give what members saw")
    notes = _notes(logs, log)
    config: dict[str, Any] = {
        "mode": header.mode,
        "quiet_end": (quiet_end or header.quiet_end) and not log.pending,
        "kafka_version": kafka_version,
        "partitions": list(map(str, header.places)),
        "names": {column: names for column, names in seen.names.items() if names},
        "undecidable": _undecidable(seen, ordered.strangers) | _by_gaps(header, logs),
        "ordered_among": sorted({*OF_AUDITOR, *((*OF_LOG, *AGAINST_LOG) if log.whole else ())}),
    }
    if gone := [part.missing for part in logs.offsets if part.missing] if logs is not None and not log.whole else []:
        config["cuts"] = [msgspec.structs.asdict(Cut(tuple(OF_LOG), "; ".join(gone), "partition"))]
    sizes = {end - first for _, _, first, end in header.inputs}
    if len(sizes) == 1:
        (config["records"],) = sizes
    observed = {*header.observable, *(OF_LOG if log.whole else ())}
    described = {
        "ordered": False, "variant": header.mode, "config": config, "faults": dict(header.faults),
        "observable": tuple(kind.name for kind in Kind if kind.name in observed),
    }  # fmt: skip
    columns = filled_columns(GROUP_FENCING, ordered.rows)
    return Recorded.write(out, columns, GROUP_FENCING, about=NOTES, notes=notes, described=described)


RECORDER = Recorder(
    record_group,
    needs={"clients": "what members saw, under a header that names the group and input"},
    excludes={"topics": "the input's partitions stand in the header of --clients"},
)


def _notes(logs: ClusterLogs | None, log: OffsetsLog) -> list[str]:
    notes = [*logs.notes, *(part.missing for part in logs.all if part.missing)] if logs is not None else []
    if log.outside_transactions:
        notes.append(f"{log.outside_transactions} offsets were committed in no transaction, and are left out")
    if log.before:
        notes.append(f"{log.before} offsets that are not behind the first of the input are left out")
    if log.pending:
        notes.append(f"{log.pending} offsets are pending in transactions that have not ended")
    return notes


def _undecidable(seen: Seen, strangers: int) -> dict[str, str]:
    found = {}
    outputs = {(row["partition"], row["output"]) for row in seen.audit if row["kind"] == Kind.output_read}
    if len(outputs) > len({partition for partition, _ in outputs}):
        found["nothing_skipped"] = NOT_ALONG
    if _uneven(seen.header):
        found["everything_copied"] = UNEVEN
    if strangers:
        found |= dict.fromkeys(("newest_owner_commits", "stale_never_commits"), STRANGE.format(strangers))
    consumed = (row for row in every_row(seen.members) if row["kind"] == Kind.consumed)
    if unsure := sum(row["generation"] < 0 for row in consumed):
        found["newest_owner_commits"] = UNSURE.format(unsure)
    return found


def _by_gaps(header: Header, logs: ClusterLogs | None) -> dict[str, str]:
    """Return, by property, why it cannot be decided where an input's log lacks a record at some offset."""
    for part in logs.data if logs is not None else ():
        _, _, first, end = header.inputs[header.places.index(part.place)]
        there = 0
        for segment, rows in committed_batches(part, first):
            headers = segment.headers[rows]
            records = headers[(headers["attributes"] & CONTROL == 0) & (segment.last_offsets[rows] < end)]
            there += int(records["count"].sum())
        if there != end - first:
            why = GAPS.format(part.place, there, first, end)
            return dict.fromkeys(("nothing_skipped", "offsets_agree", "everything_copied"), why)
    return {}


def _uneven(header: Header) -> bool:
    return len({end - first for _, _, first, end in header.inputs}) != 1
