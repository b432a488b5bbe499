"""Kafka's own tool and the recorder read the same logs alike, field by field.

The dumps are the output of `org.apache.kafka.tools.DumpLogSegments --print-data-log` of Kafka 4.3.1 for node 1's
segments, with `--transaction-log-decoder` and `--offsets-decoder` for the coordinators' topics.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.record_columns import Records, records_of
from fencepost.proofs.recording.logs.segments import Segment, read_segment
from fencepost.proofs.recording.transactions.cluster_logs import read_cluster
from fencepost.proofs.recording.transactions.coordinator_events import logged_events, offset_events
from fencepost.proofs.recording.transactions.group_offsets import committed_offset_of, offset_key_of
from fencepost.proofs.recording.transactions.names import Names
from fencepost.proofs.recording.transactions.partition_events import data_events
from fencepost.proofs.recording.transactions.transaction_log import transaction_state_of, transactional_id_of
from fencepost.properties.transactions.events.kinds import Kind
from transaction_logs import REAL, TOPIC, segment

BATCH = {
    "baseOffset": "base_offset", "count": "count", "baseSequence": "base_sequence", "producerId": "producer_id",
    "producerEpoch": "epoch", "partitionLeaderEpoch": "leader_epoch", "CreateTime": "max_time", "crc": "crc",
}  # fmt: skip
DATA = f"{TOPIC}-0"


def dumped(name: str) -> list[str]:
    """Return the lines of a dump without its heading."""
    return (REAL / f"dump-{name}.txt").read_text().splitlines()[2:]


def fields(line: str) -> dict[str, str]:
    """Return all pairs `name: value` of a line."""
    return dict(re.findall(r"(\w+): (\S+)", line))


def read(partition: str) -> tuple[Segment, Records]:
    """Return the recorder's reading of a segment."""
    walked = read_segment(segment(REAL / "node-1", partition), 0)
    return walked, records_of(walked, np.arange(len(walked.headers)))


def decoded(line: str) -> Iterator[dict[str, Any]]:
    """Return the JSON of key and payload in a record's line, where a null payload is None."""
    for word in ("key", "payload"):
        at = line.index(f" {word}: ") + len(word) + 3
        yield json.JSONDecoder().raw_decode(line[at:])[0] if line[at] == "{" else {}


def test_every_header_is_kafkas() -> None:
    for name, partition in (
        ("transaction-log", "__transaction_state-0"),
        ("offsets", "__consumer_offsets-0"),
        ("data", DATA),
    ):
        walked, _ = read(partition)
        batches = [fields(line) for line in dumped(name) if line.startswith("baseOffset")]
        assert len(batches) == len(walked.headers)
        for reported, header, last, position in zip(
            batches, walked.headers, walked.last_offsets, walked.positions, strict=True
        ):
            assert {theirs: int(reported[theirs]) for theirs in BATCH} == {
                theirs: int(header[ours]) for theirs, ours in BATCH.items()
            }
            assert (int(reported["lastOffset"]), int(reported["position"])) == (last, position)
            assert int(reported["size"]) == header["length"] + 12
            assert (reported["isTransactional"], reported["isControl"]) == tuple(
                str(bool(header["attributes"] & bit)).lower() for bit in (0x10, 0x20)
            )


def test_transaction_states_are_kafkas() -> None:
    lines = [line for line in dumped("transaction-log") if line.startswith("|")]
    _, records = read("__transaction_state-0")
    assert len(lines) == len(records.batch) == 29
    for row, line in enumerate(lines):
        key, payload = decoded(line)
        assert transactional_id_of(records.key_of(row)) == key["data"]["transactionalId"]
        reported, answered = transaction_state_of(records.value_of(row) or b""), payload["data"]
        partitions = tuple(
            (each["topic"], tuple(each["partitionIds"])) for each in answered["transactionPartitions"] or ()
        )
        assert reported._asdict() == {
            "producer_id": answered["producerId"],
            "epoch": answered["producerEpoch"],
            "timeout_ms": answered["transactionTimeoutMs"],
            "state": answered["transactionStatus"],
            "partitions": partitions,
            "updated_ms": answered["transactionLastUpdateTimestampMs"],
            "started_ms": answered["transactionStartTimestampMs"],
            "previous_producer_id": answered.get("previousProducerId", -1),
            "next_producer_id": answered.get("nextProducerId", -1),
            "client_version": answered.get("clientTransactionVersion", 0),
            "next_epoch": answered.get("nextProducerEpoch", -1),
        }


def test_groups_offsets_are_kafkas() -> None:
    lines = [line for line in dumped("offsets") if line.startswith("|")]
    walked, records = read("__consumer_offsets-0")
    assert len(lines) == len(records.batch)
    for row, line in enumerate(lines):
        if walked.headers["attributes"][records.batch[row]] & 0x20:
            continue
        key, payload = decoded(line)
        reported = offset_key_of(records.key_of(row))
        assert reported is not None
        assert reported._asdict() == key["data"]
        assert committed_offset_of(records.value_of(row) or b"") == payload["data"]["offset"]


def test_events_are_kafkas() -> None:
    logs = read_cluster([REAL / f"node-{node}" for node in (1, 2, 3)], lambda place: True)
    names = Names(None, [Place(TOPIC, 0)])
    data = next(part for part in logs.data if part.place == Place(TOPIC, 0))
    kinds = (Kind.batch_appended, Kind.marker_appended)
    for name, table in (
        ("data", data_events(data, names).events),
        ("offsets", offset_events(logs.offsets[0], names, frozenset())),
    ):
        expected = []
        for line in dumped(name):
            reported = fields(line)
            if not line.startswith("|"):
                pair = int(reported["producerId"]), int(reported["producerEpoch"])
            elif "endTxnMarker" in reported:
                outcome = int(reported["endTxnMarker"] == "COMMIT")
                expected.append((kinds[1], int(reported["offset"]), *pair, outcome, int(reported["coordinatorEpoch"])))
            else:
                expected.append((kinds[0], int(reported["offset"]), *pair, -1, -1))
        columns = ("kind", "offset", "producer_id", "epoch", "outcome", "coordinator_epoch")
        assert list(zip(*(table[column].tolist() for column in columns), strict=True)) == expected
    assert len(logged_events(logs.transaction_log[0], names).events["kind"]) == 29
