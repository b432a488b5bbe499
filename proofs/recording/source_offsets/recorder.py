"""This module writes a history of one live source connector: `fencepost record --protocol source-offsets`.

The connector is `reference_impl/live/connect/java/probe`, whose records say which instance of which task polled them.
Its reports (`--seen`) reveal what each instance found and polled, the config topic which offsets topic it had, and the
topic of its records what was committed: an auditor reads that in the end. This decides whether a record was committed
twice, out of order, or not at all; entries of the offsets topics and the steps of a transaction are not recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from fencepost.proofs.recording.command import Recorded, Recorder
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.logs.log_dirs import Progress
from fencepost.proofs.recording.task_counts.broker_logs import read_brokers
from fencepost.proofs.recording.task_counts.records import SET_NUMBER, Record, records_in
from fencepost.proofs.recording.task_counts.seen import Line, read_seen
from fencepost.properties.history.pieces import filled_columns
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS, Kind

Row = dict[str, int]
OBSERVED = (
    Kind.configured, Kind.instance_started, Kind.instance_running, Kind.instance_stopped, Kind.instance_killed,
    Kind.offset_found, Kind.polled, Kind.record_appended, Kind.output_marked, Kind.output_read,
    Kind.filtered, Kind.given_up,  # there is no transformation, and no transaction that is given up
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
    brokers = read_brokers(list(map(Path, log_dirs)), data=True, progress=progress)
    configurations = list(_configurations(records_in(brokers.config)))
    names = {properties["name"] for properties, _ in configurations}
    if len(names) != 1:
        what = f"has the connectors {', '.join(sorted(names)) or 'none'}, and a history is of one"
        raise RecordingError(what, Path(log_dirs[0]), "record a cluster with one connector")
    if any(TRANSFORMS in properties for properties, _ in configurations):
        raise RecordingError("has a connector with transformations", Path(log_dirs[0]), "record one without")
    rows: list[Row] = []
    committed: list[Row] = []
    for part in brokers.data:
        if not topics or part.place.topic in topics:
            appended, read = _output(records_in(part))
            rows, committed = rows + appended, committed + read
    own = [int(OWN_TOPIC in properties) for properties, _ in configurations]
    for number, (properties, time_us) in enumerate(configurations):
        columns = {"generation": number, "count": int(properties["tasks"]), "topic": own[number]}
        rows.append(_row(Kind.configured, time_us, **columns, runtime=0))
    sets = {properties[SET_NUMBER]: number for number, (properties, _) in enumerate(configurations)}
    rows += _instances(read_seen(Path(seen)), sets)
    rows.sort(key=lambda row: row["time_us"])
    rows += [row | {"time_us": rows[-1]["time_us"]} for row in committed]
    variant = VARIANTS.get(tuple(dict.fromkeys(own)), "shipped-own-topic-taken")
    described = {
        "ordered": True, "variant": variant, "observable": tuple(kind.name for kind in Kind if kind in OBSERVED),
        "config": {"mode": variant, "quiet_end": quiet_end, "kafka_version": kafka_version, "boundary": "poll"},
    }  # fmt: skip
    logs, events = brokers.logs, filled_columns(SOURCE_OFFSETS, rows)
    recorded = Recorded.write(
        out, events, SOURCE_OFFSETS, about=NOTES, described=described, nodes=logs.nodes, bytes_read=logs.bytes_read
    )
    return replace(recorded, notes=logs.notes)


RECORDER = Recorder(
    record_source_offsets,
    needs={"log_dirs": "what is committed stands in the brokers' logs", "seen": "what the connector's tasks polled"},
)


def _row(kind: Kind, time_us: int, **columns: int) -> Row:
    return {"kind": int(kind), "time_us": time_us, **columns}


def _configurations(records: Iterable[Record]) -> Iterator[tuple[Mapping[str, str], int]]:
    """Yield the connector's configurations that the probe has, those with the number of a set, and their times."""
    for record in records:
        if record.key.startswith(b"connector-") and record.value is not None and not record.control:
            properties = msgspec.json.decode(record.value)["properties"]
            if SET_NUMBER in properties:
                yield properties, record.time_ms * 1000


def _output(records: Iterable[Record]) -> tuple[list[Row], list[Row]]:
    """Return what was appended and marked in a topic, and what a reader of what is committed reads in the end."""
    rows, read, pending = list[Row](), list[Row](), defaultdict[int, list[Row]](list)
    for record in records:
        pair = {"producer_id": record.producer_id, "epoch": record.epoch, "position": record.offset}
        time_us = record.time_ms * 1000
        if record.control:
            outcome = int(record.key[2:4] == b"\x00\x01")
            rows.append(_row(Kind.output_marked, time_us, **pair, outcome=outcome))
            ended = pending.pop(record.producer_id, [])
            read += ended if outcome else []
        elif record.transactional and record.value is not None and b'"instance"' in record.value:
            fields = msgspec.json.decode(record.value)
            place = {"partition": int(fields["p"]), "round": 0, "offset": int(fields["n"])}
            rows.append(_row(Kind.record_appended, time_us, **pair, **place))
            pending[record.producer_id].append(_row(Kind.output_read, 0, position=record.offset, **place))
    return rows, sorted(read, key=lambda row: row["position"])


def _instances(lines: Iterable[Line], sets: Mapping[str, int]) -> Iterator[Row]:
    """Yield what the instances of the connector's tasks report."""
    slots: dict[str, Row] = {}  # of instances, which are numbered as they start
    workers: dict[str, str] = {}
    last: dict[str, dict[int, int]] = {}
    polls: dict[int, str] = {}
    polled = set[str]()
    for line in lines:
        match line:
            case "cluster worker_killed", {"us": us, "worker": worker}:
                for name in [name for name, its in workers.items() if its == worker]:
                    del workers[name]
                    yield _row(Kind.instance_killed, us, **slots[name], runtime=0)
            case "control called", {"call": "start", "us": us, "task": task, "instance": name} if task >= 0:
                slots[name], workers[name] = {"task": task, "instance": len(slots)}, line[1]["worker"]
                yield _row(Kind.instance_started, us, **slots[name], generation=sets[line[1]["set"]], runtime=0)
            case "control called", {"call": call, "us": us, "instance": name, "n": number} if name in slots:
                if call == "started":
                    last[name] = dict(_pairs(line[1]["found"]))
                    for partition, offset in last[name].items():
                        yield _row(Kind.offset_found, us, **slots[name], partition=partition, offset=offset)
                elif call == "poll":
                    polls[number] = name
                    if name not in polled:
                        polled.add(name)
                        yield _row(Kind.instance_running, us, **slots[name])
                elif call == "stop" and workers.pop(name, None) is not None:
                    yield _row(Kind.instance_stopped, us, **slots[name], runtime=0)
            case "control answered", {"us": us, "called": number, "answer": answer} if number in polls:
                name = polls[number]
                for partition, count in _pairs(answer.get("records", "")):
                    for _ in range(count):
                        last[name][partition] = last[name].get(partition, 0) + 1
                        place = {"partition": partition, "round": 0, "offset": last[name][partition]}
                        yield _row(Kind.polled, us, **slots[name], **place)


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the numbers in a text like 0:1,3:2."""
    for pair in filter(None, text.split(",")):
        first, second = pair.split(":")
        yield int(first), int(second)
