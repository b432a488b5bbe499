"""This module writes a history of one live source connector: `fencepost record --protocol source-offsets`.

The connector is `reference_impl/live/connect/java/probe`, whose records say which instance of which task polled them.
Its reports (`--seen`) reveal what each instance found and polled, the config topic which offsets topic it had, and the
topic of its records what was committed: an auditor reads that in the end. This decides whether a record was committed
twice, out of order, or not at all; entries of the offsets topics and the steps of a transaction are not recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Progress
from fencepost.proofs.recording.task_counts.broker_logs import read_brokers
from fencepost.proofs.recording.task_counts.recorder import Recorded
from fencepost.proofs.recording.task_counts.records import Record, records_in
from fencepost.proofs.recording.task_counts.seen import lines_of_seen
from fencepost.proofs.recording.transactions.cluster_logs import read_cluster
from fencepost.properties.history import write_histories
from fencepost.properties.history.pieces import absent_columns
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS, Kind
from fencepost.properties.source_offsets.histories import HISTORY

Row = dict[str, int]
OBSERVED = (
    Kind.configured, Kind.instance_started, Kind.instance_running, Kind.instance_stopped, Kind.instance_killed,
    Kind.offset_found, Kind.polled, Kind.record_appended, Kind.output_marked, Kind.output_read,
)  # fmt: skip
OWN_TOPIC, TRANSFORMS = "offsets.storage.topic", "transforms"
VARIANTS = {
    (): "shipped", (0,): "shipped", (1,): "shipped-own-topic-from-the-start", (0, 1): "shipped-own-topic-later",
}  # fmt: skip
"""By the offsets topics that the connector had, in order (0: the worker's): any other order is one that was taken."""
NOTES = (
    "What the connector's instances found and polled is from their own reports, and what is committed from the topic "
    "of the records, read to its end when all was over. Entries of the offsets topics are not recorded."
)


def record_source_offsets(
    log_dirs: Sequence[Path],
    seen: Path,
    out: Path,
    *,
    topics: Sequence[str] = (),
    quiet_end: bool = False,
    kafka_version: str = "unknown",
    progress: Progress | None = None,
) -> Recorded:
    """Write the history of the connector that the file `seen` is of to `out`. `topics` restricts the topics of records.
    `quiet_end` is the caller's claim that everything had come to rest. Raise `RecordingError` for input that cannot be
    used; then nothing is written."""
    paths = list(map(Path, log_dirs))
    brokers = read_brokers(paths, progress=progress)
    logs = read_cluster(paths, lambda place: not place.topic.startswith("__"), progress)
    rows: list[Row] = []
    configurations: list[tuple[Mapping[str, str], Record]] = []
    committed: list[Row] = []
    for part in logs.data:
        if part.place.topic == brokers.config_topic:
            configurations = list(_configurations(records_in(part)))
        elif not topics or part.place.topic in topics:
            appended, read = _output(records_in(part))
            rows, committed = rows + appended, committed + read
    names = {properties["name"] for properties, _ in configurations}
    if len(names) != 1:
        what = f"has the connectors {', '.join(sorted(names)) or 'none'}, and a history is of one"
        raise RecordingError(what, paths[0], "record a cluster with one connector")
    used = tuple(dict.fromkeys(int(OWN_TOPIC in properties) for properties, _ in configurations))
    sets = {properties["set"]: number for number, (properties, _) in enumerate(configurations)}
    for number, (properties, record) in enumerate(configurations):
        columns = {"generation": number, "count": int(properties["tasks"]), "topic": int(OWN_TOPIC in properties)}
        rows.append(_row(Kind.configured, record.time_ms * 1000, **columns, runtime=0))
    rows += _instances(seen, sets)
    rows.sort(key=lambda row: row["time_us"])
    if [properties for properties, _ in configurations if TRANSFORMS in properties]:
        raise RecordingError("has a connector with transformations", paths[0], "record one without")
    last = rows[-1]["time_us"] if rows else 0
    rows += [row | {"time_us": last} for row in committed]
    variant = VARIANTS.get(used, "shipped-own-topic-taken")
    observable = {*OBSERVED, Kind.filtered, Kind.given_up}  # no transformation, and no transaction that is given up
    config = {"mode": variant, "quiet_end": quiet_end, "kafka_version": kafka_version, "boundary": "poll"}
    manifest = write_histories(
        out, [_columns(rows)], SOURCE_OFFSETS, source="recorded", ordered=True, variant=variant,
        observable=tuple(kind.name for kind in Kind if kind in observable), config=config, notes=NOTES,
    )  # fmt: skip
    counts = {kind.name: sum(row["kind"] == kind for row in rows) for kind in Kind}
    return Recorded(
        manifest, {name: count for name, count in counts.items() if count}, brokers.nodes, logs.bytes_read,
        HISTORY.undecidable(manifest), HISTORY.unpromised(manifest), brokers.notes, HISTORY.names,
    )  # fmt: skip


def _row(kind: Kind, time_us: int, **columns: int) -> Row:
    return {"kind": int(kind), "time_us": time_us, **columns}


def _columns(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    columns = absent_columns(SOURCE_OFFSETS, len(rows))
    columns["history"][:] = 0
    columns["step"] = np.arange(len(rows), dtype=columns["step"].dtype)
    for at, row in enumerate(rows):
        for name, value in row.items():
            columns[name][at] = value
    return columns


def _configurations(records: Iterator[Record]) -> Iterator[tuple[Mapping[str, str], Record]]:
    """Yield the connector's configurations that the probe has: those with the number of a set."""
    for record in records:
        if record.key.startswith(b"connector-") and record.value is not None and not record.control:
            properties = msgspec.json.decode(record.value)["properties"]
            if "set" in properties:
                yield properties, record


def _output(records: Iterator[Record]) -> tuple[list[Row], list[Row]]:
    """Return what was appended and marked in a topic, and what a reader of what is committed reads in the end."""
    rows, read, pending = list[Row](), list[Row](), defaultdict[int, list[Row]](list)
    for record in records:
        pair = {"producer_id": record.producer_id, "epoch": record.epoch, "position": record.offset}
        time_us = record.time_ms * 1000
        if record.control:
            outcome = int(record.key[2:4] == b"\x00\x01")
            rows.append(_row(Kind.output_marked, time_us, **pair, outcome=outcome))
            read += pending.pop(record.producer_id, []) if outcome else []
            pending.pop(record.producer_id, None)
        elif record.transactional and record.value is not None and b'"instance"' in record.value:
            fields = msgspec.json.decode(record.value)
            place = {"partition": int(fields["p"]), "round": 0, "offset": int(fields["n"])}
            rows.append(_row(Kind.record_appended, time_us, **pair, **place))
            pending[record.producer_id].append(_row(Kind.output_read, 0, position=record.offset, **place))
    return rows, sorted(read, key=lambda row: row["position"])


def _instances(seen: Path, sets: Mapping[str, int]) -> Iterator[Row]:
    """Yield what the instances of the connector's tasks report."""
    numbers: dict[str, int] = {}
    slots: dict[str, Row] = {}
    workers: dict[str, str] = {}
    last: dict[str, dict[int, int]] = {}
    calls: dict[int, Any] = {}
    running = set[str]()
    for us, what, line in lines_of_seen(seen):
        if what == ("cluster", "worker_killed"):
            for name in [name for name, worker in workers.items() if worker == line["worker"]]:
                del workers[name]
                yield _row(Kind.instance_killed, us, **slots[name], runtime=0)
        if what == ("control", "called") and int(line["task"]) >= 0:
            name, call = line["instance"], line["call"]
            calls[line["n"]] = line
            if call == "start":
                slots[name] = {"task": int(line["task"]), "instance": numbers.setdefault(name, len(numbers))}
                workers[name] = line["worker"]
                yield _row(Kind.instance_started, us, **slots[name], generation=sets[line["set"]], runtime=0)
            elif call == "started":
                last[name] = {int(p): int(n) for p, n in (each.split(":") for each in line["found"].split(",") if each)}
                for partition, offset in last[name].items():
                    yield _row(Kind.offset_found, us, **slots[name], partition=partition, offset=offset)
            elif call == "poll" and name not in running:
                running.add(name)
                yield _row(Kind.instance_running, us, **slots[name])
            elif call == "stop" and workers.pop(name, None) is not None:
                yield _row(Kind.instance_stopped, us, **slots[name], runtime=0)
        if what == ("control", "answered") and calls.get(line["called"], {}).get("call") == "poll":
            name = calls[line["called"]]["instance"]
            for pair in filter(None, line["answer"].get("records", "").split(",")):
                partition, count = map(int, pair.split(":"))
                for _ in range(count):
                    last[name][partition] = last[name].get(partition, 0) + 1
                    place = {"partition": partition, "round": 0, "offset": last[name][partition]}
                    yield _row(Kind.polled, us, **slots[name], **place)
