"""A real cluster's logs and clients become one history; what was doctored shows in it, or is refused."""

import json
import shutil
import struct
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fencepost.proofs.recording import Observation, RecordedIds, RecordingError, record, write_observations
from fencepost.proofs.recording.id_blocks.records import Block, Registration, read_facts
from fencepost.proofs.recording.logs.log import read_node
from fencepost.properties.id_blocks.events import ID_BLOCKS, Kind
from metadata_logs import block, elected, noop, positions, real_logs, replace, segment, write_log

Row = dict[str, int]


def history_of(directories: list[Path], clients: Path | None, out: Path) -> tuple[RecordedIds, list[Row]]:
    """The summary and the rows of the history recorded from these inputs."""
    summary = record(directories, clients, out, kafka_version="4.3.1")
    table = pq.read_table(out / "part-00000.parquet")
    assert table.schema.equals(ID_BLOCKS.schema)
    return summary, table.to_pylist()


def of_kind(rows: list[Row], kind: Kind) -> list[Row]:
    """The rows of one kind, in order of steps."""
    return [row for row in rows if row["kind"] == kind]


def test_the_real_run_is_recorded_whole(tmp_path: Path) -> None:
    """Seven blocks, seven lives of brokers, three elections; ids unique and each in a block of its own broker."""
    summary, rows = history_of(real_logs(tmp_path), tmp_path / "clients.jsonl", tmp_path / "out")
    assert summary.nodes == (1, 2, 3)
    assert summary.counts["block_committed"] == 7
    assert summary.counts["broker_started"] == 3 + summary.counts["broker_stopped"] == 7
    assert summary.counts["controller_elected"] == 3
    assert summary.counts["snapshot_taken"] == 4
    assert [row["step"] for row in rows] == list(range(len(rows)))
    assert all(one["time_us"] <= other["time_us"] for one, other in pairwise(rows))
    blocks = of_kind(rows, Kind.block_committed)
    assert [(row["grant"], row["first"], row["length"]) for row in blocks] == [(n, 1000 * n, 1000) for n in range(7)]
    ids = [row["producer_id"] for row in of_kind(rows, Kind.id_handed_out)]
    assert len(set(ids)) == len(ids) == summary.counts["id_handed_out"] == 1491
    owners = {row["first"] // 1000: row["broker"] for row in blocks}
    assert all(owners[row["producer_id"] // 1000] == row["broker"] for row in of_kind(rows, Kind.id_handed_out))


def test_the_manifest_says_what_is_known(tmp_path: Path) -> None:
    """Protocol, variant, source, what is observable, Kafka's version, faults, and that two clocks were merged."""
    history_of(real_logs(tmp_path), tmp_path / "clients.jsonl", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    reported = [manifest[name] for name in ("protocol", "variant", "source", "ordered", "faults")]
    assert reported == ["id-blocks", "kraft", "recorded", False, {"killed": 4}]
    assert set(manifest["observable"]) == {
        "broker_started", "broker_stopped", "block_committed", "controller_elected", "snapshot_taken",
        "id_handed_out", "id_refused",
    }  # fmt: skip
    assert manifest["config"]["kafka_version"] == "4.3.1"
    assert manifest["config"]["voters"] == [1, 2, 3]
    assert "wall time only" in manifest["notes"]


def test_without_clients_nothing_is_said_of_ids(tmp_path: Path) -> None:
    """The log alone shows blocks, lives and elections; ids are then not observable."""
    summary, rows = history_of(real_logs(tmp_path), None, tmp_path / "out")
    assert len(rows) == sum(summary.counts.values()) == 21
    observable = json.loads((tmp_path / "out" / "manifest.json").read_text())["observable"]
    assert "id_handed_out" not in observable
    assert "broker_stopped" not in observable


def test_an_id_twice_shows_in_the_history(tmp_path: Path) -> None:
    """A doctored answer is recorded as it was told: the history has the same id from two brokers."""
    directories, clients = real_logs(tmp_path), tmp_path / "clients.jsonl"
    lines = [json.loads(line) for line in clients.read_text().splitlines()]
    given = [line for line in lines if line.get("error") == 0]
    one, other = (next(line for line in given if line["broker"] == broker) for broker in (1, 2))
    clients.write_text("\n".join(json.dumps(line) for line in [*lines, {**other, "producer_id": one["producer_id"]}]))
    _, rows = history_of(directories, clients, tmp_path / "out")
    owners = [row["broker"] for row in of_kind(rows, Kind.id_handed_out) if row["producer_id"] == one["producer_id"]]
    assert sorted(owners) == [1, 2]


def test_a_block_shifted_by_one_shows_in_the_history(tmp_path: Path) -> None:
    """A record that ends one id late, on every node and with a good checksum, overlaps the next block."""
    directories = real_logs(tmp_path)
    reported = struct.pack(">q", 3000), struct.pack(">q", 3001)
    assert [sum(replace(segment(each, index), *reported) for index in (0, 1)) for each in directories] == [1, 1, 1]
    _, rows = history_of(directories, None, tmp_path / "out")
    spans = [(row["first"], row["first"] + row["length"]) for row in of_kind(rows, Kind.block_committed)]
    assert spans[1:4] == [(1000, 2000), (2001, 3001), (3000, 4000)]


def test_a_shift_on_one_node_only_is_refused(tmp_path: Path) -> None:
    """Logs that disagree about a committed record are no history."""
    directories = real_logs(tmp_path)
    assert replace(segment(directories[2], 0), struct.pack(">q", 3000), struct.pack(">q", 3001)) == 1
    with pytest.raises(RecordingError, match="offset 25 of leader epoch 1 is not the batch that"):
        record(directories, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_torn_node_changes_nothing_but_a_note(tmp_path: Path) -> None:
    """A record cut in half on one crashed node is held by the two others; on two nodes it is refused."""
    directories = real_logs(tmp_path)
    _, whole = history_of(directories, None, tmp_path / "whole")
    for count, directory in enumerate(directories[1:], 1):
        file = segment(directory)
        file.write_bytes(file.read_bytes()[: positions(file)[-3] + 20])
        if count == 1:
            summary, rows = history_of(directories, None, tmp_path / "torn")
            assert rows == whole
            assert "as a crash leaves it; the other nodes decide" in summary.notes[0]
    with pytest.raises(RecordingError, match="a record is cut in half"):
        record(directories, None, tmp_path / "refused")


def test_a_log_that_was_pruned_does_not_claim_to_show_all_blocks(tmp_path: Path) -> None:
    """With the first segment gone on every node, what was granted before is not observable any more."""
    directories = real_logs(tmp_path)
    for directory in directories:
        segment(directory, 0).unlink()
    summary, _ = history_of(directories, None, tmp_path / "out")
    assert summary.offsets[0] == 81
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["observable"] == ["snapshot_taken"]


def test_a_second_registration_of_one_process_is_no_start(tmp_path: Path) -> None:
    """Brokers may register again without a restart: same incarnation, nothing forgotten, no broker_started."""
    registration = b"\x01\x00\x04" + struct.pack(">i?16sq", 1, False, b"incarnation-no-1", 5)
    again = registration.replace(b"no-1", b"no-2")
    entries = [elected(1, 1), *((1, None, each) for each in (registration, registration, again))]
    _, rows = history_of([write_log(tmp_path, node, entries) for node in (1, 2, 3)], None, tmp_path / "out")
    assert [row["broker_epoch"] for row in of_kind(rows, Kind.broker_started)] == [5, 5]


def test_an_aborted_metadata_transaction_grants_nothing(tmp_path: Path) -> None:
    """KIP-868: records between begin and abort never happened; between begin and end they did."""
    begin, end, abort = (b"\x01" + bytes([kind]) + b"\x00\x00" for kind in (23, 24, 25))
    entries = [elected(1, 1), (1, None, begin), block(1, 1, 1000), (1, None, abort)]
    entries += [(1, None, begin), block(1, 2, 1000), noop(1), (1, None, end)]
    _, rows = history_of([write_log(tmp_path, node, entries) for node in (1, 2, 3)], None, tmp_path / "out")
    assert [row["broker"] for row in of_kind(rows, Kind.block_committed)] == [2]


def test_records_of_a_later_kafka_are_refused(tmp_path: Path) -> None:
    """A record version that is not known is never guessed at; nor is a record that is none of the metadata log's."""
    for value, why in (
        (b"\x01\x0f\x01" + bytes(20), "record type 15 has version 1, newer than the last one known, 0"),
        (b"\x01\x0f\x00\x00", "unpack_from requires a buffer"),
        (b'{"order": 1}', "record frame version 123, not 1"),
        (b"", "index out of range"),
    ):
        entries = [elected(1, 1), (1, None, value)]
        directories = [write_log(tmp_path, node, entries) for node in (1, 2, 3)]
        with pytest.raises(RecordingError) as refused:
            record(directories, None, tmp_path / "out")
        assert f"{segment(directories[0])} byte" in str(refused.value)
        assert f"the batch at offset 1 is not the metadata log's: {why}" in str(refused.value)


def test_facts_of_the_real_log_carry_the_leaders_time(tmp_path: Path) -> None:
    """The first registrations and blocks of node 1's log, with milliseconds."""
    facts = list(read_facts(read_node(real_logs(tmp_path)[0]).batches))
    brokers = [dated.fact.broker for dated in facts if isinstance(dated.fact, Registration)][:3]
    assert sorted(brokers) == [1, 2, 3]
    ends = [dated.fact.next_id for dated in facts if isinstance(dated.fact, Block)]
    assert ends == [1000 * number for number in range(1, 8)]
    assert any(dated.time_ms % 1000 for dated in facts)
    assert all(one.time_ms <= other.time_ms for one, other in pairwise(facts))


def test_observations_that_are_none_are_refused_by_line(tmp_path: Path) -> None:
    """What clients wrote is checked line by line."""
    clients = tmp_path / "clients.jsonl"
    write_observations(clients, [Observation(5, 1, producer_id=7, thread=0), Observation(6, 1, fault="killed")])
    good = clients.read_text()
    for bad in (
        "{",
        "[]",
        '{"time_us": 1}',
        '{"time_us": 1, "broker": "1"}',
        '{"time_us": 1, "broker": 1, "error": 0}',
    ):
        clients.write_text(good + bad + "\n")
        with pytest.raises(RecordingError, match=r"line 3 is not an observation: .*; each line is a JSON object"):
            record(real_logs(tmp_path / "logs"), clients, tmp_path / "out")
        shutil.rmtree(tmp_path / "logs")
    with pytest.raises(RecordingError, match="cannot be read"):
        record(real_logs(tmp_path / "logs"), tmp_path / "none.jsonl", tmp_path / "out")
    with pytest.raises(ValueError, match="name those of all controllers"):
        record([], None, tmp_path / "out")


def test_the_shipped_recording_is_what_the_logs_say() -> None:
    """The recording in the package came from `record`: its rows fit the schema, and its totals the manifest's."""
    shipped = Path(__file__).parents[3] / "properties" / "recorded" / "id-blocks-kraft-3-nodes"
    manifest = json.loads((shipped / "manifest.json").read_text())
    table = pq.read_table(shipped / "part-00000.parquet")
    assert table.schema.equals(ID_BLOCKS.schema)
    assert table.num_rows == manifest["totals"]["rows"] > 10_000
    assert sum(file.stat().st_size for file in shipped.iterdir()) < 300_000
