"""The coordinators' topics are read value by value and event by event, and foreign content is refused."""

import struct
from pathlib import Path

import pytest
from fencepost.proofs.recording import Header, RecordingError
from fencepost.proofs.recording.transactions.client_events import KINDS
from fencepost.proofs.recording.transactions.cluster_logs import read_cluster
from fencepost.proofs.recording.transactions.coordinator_events import logged_events, offset_events
from fencepost.proofs.recording.transactions.event_table import Events
from fencepost.proofs.recording.transactions.group_offsets import (
    OffsetKey,
    committed_offset_of,
    offset_key_of,
)
from fencepost.proofs.recording.transactions.names import Names
from fencepost.proofs.recording.transactions.transaction_log import (
    TransactionState,
    transaction_state_of,
    transactional_id_of,
)
from fencepost.properties.transactions.events.kinds import Kind
from transaction_logs import TRANSACTIONAL, batch, id_key, marker, state, write_log

TRANSACTIONS, OFFSETS = "__transaction_state-0", "__consumer_offsets-0"
P, Q = (7, 0), (8, 3)
OPEN = Names(None, [])


def rows(table: Events, *columns: str) -> list[tuple[str, ...]]:
    """Return the events as (kind, values of the columns)."""
    values = zip(*(table[name].tolist() for name in columns), strict=True)
    return [(Kind(kind).name, *each) for kind, each in zip(table["kind"].tolist(), values, strict=True)]


def offset_key(group: str, topic: str = "t", partition: int = 0, kind: int = 1) -> bytes:
    texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic))
    return struct.pack(">h", kind) + texts + struct.pack(">i", partition)


def offset_value(offset: int, version: int = 4) -> bytes:
    """Return the relevant part of a committed offset's value."""
    return struct.pack(">hq", version, offset) + bytes(13)


def committed(offset: int, producer: tuple[int, int], group: str, *offsets: int) -> bytes:
    """Return the offsets of one TxnOffsetCommit, one partition each."""
    entries = [(offset_key(group, "t", number), offset_value(each)) for number, each in enumerate(offsets)]
    return batch(offset, entries, producer=producer, attributes=TRANSACTIONAL)


def test_a_value_of_version_0() -> None:
    head = struct.pack(">hqhib", 0, 4000, 3, 60_000, 1)
    topics = struct.pack(">ih1sii", 2, 1, b"a", 1, 5) + struct.pack(">h2siii", 2, b"bc", 2, 0, 9)
    reported = transaction_state_of(head + topics + struct.pack(">qq", 17, 11))
    assert reported == TransactionState(4000, 3, 60_000, 1, (("a", (5,)), ("bc", (0, 9))), 17, 11)


def test_a_value_of_version_1() -> None:
    """Version 1 has the fields in compact forms and every tagged field, and one of an unknown tag is skipped."""
    head = struct.pack(">hqhib", 1, 4000, 32767, 60_000, 2)
    topics = b"\x03\x02a\x02" + struct.pack(">i", 5) + b"\x00\x03bc\x03" + struct.pack(">ii", 0, 9) + b"\x01\x63\x02??"
    tags = b"\x05\x00\x08" + struct.pack(">q", 3000) + b"\x01\x08" + struct.pack(">q", 5000)
    tags += b"\x02\x02" + struct.pack(">h", 2) + b"\x03\x02" + struct.pack(">h", 0) + b"\x40\x01!"
    reported = transaction_state_of(head + topics + struct.pack(">qq", 17, 11) + tags)
    partitions = (("a", (5,)), ("bc", (0, 9)))
    assert reported == TransactionState(4000, 32767, 60_000, 2, partitions, 17, 11, 3000, 5000, 2, 0)


def test_values_that_are_none() -> None:
    with pytest.raises(ValueError, match="version 2"):
        transaction_state_of(struct.pack(">hqhib", 2, 1, 0, 0, 0))
    for never in (6, 7, -1):
        with pytest.raises(ValueError, match=f"state {never}"):
            transaction_state_of(struct.pack(">hqhib", 0, 1, 0, 0, never))
    whole = struct.pack(">hqhib", 0, 1, 0, 0, 0) + struct.pack(">iqq", -1, 0, 0)
    assert transaction_state_of(whole).partitions == ()
    for size in range(len(whole)):
        with pytest.raises((ValueError, IndexError, struct.error)):
            transaction_state_of(whole[:size])


def test_keys() -> None:
    assert transactional_id_of(struct.pack(">hh", 0, 3) + b"abc") == "abc"
    assert transactional_id_of(struct.pack(">hh", 1, 3) + b"abc") is None
    for kind in (0, 1):
        assert offset_key_of(offset_key("g", "topic", 4, kind)) == OffsetKey("g", "topic", 4)
    assert offset_key_of(struct.pack(">hh", 2, 1) + b"g") is None
    assert committed_offset_of(offset_value(12)) == 12
    with pytest.raises(ValueError, match="version 5"):
        committed_offset_of(offset_value(12, version=5))


def test_states_become_events(tmp_path: Path) -> None:
    """Events are in log order, a tombstone is an expiry, and the coordinator's epoch is the log's leader epoch."""
    log = [
        state(0, "a", P, 0),
        state(1, "b", Q, 1, version=1),
        state(2, "a", P, 1),
        batch(3, [(id_key("a"), None)], epoch=2),
    ]
    write_log(tmp_path, TRANSACTIONS, log)
    (part,) = read_cluster([tmp_path], lambda place: True).transaction_log
    logged = logged_events(part, Names(None, []))
    assert rows(logged.events, "txn_id", "producer_id", "epoch", "state", "coordinator_epoch") == [
        ("txn_logged", 0, 7, 0, 0, 0),
        ("txn_logged", 1, 8, 3, 1, 0),
        ("txn_logged", 0, 7, 0, 1, 0),
        ("id_expired", 0, -1, -1, -1, -1),
    ]
    assert (logged.client_versions, logged.producer_ids) == ({0, 2}, {7, 8})
    assert not logged.unfinished


def test_a_coordinators_own_abort_speaks_for_no_client(tmp_path: Path) -> None:
    log = [state(0, "a", P, 1), state(1, "a", (7, 1), 3, version=1), state(2, "a", (7, 1), 5, version=1)]
    write_log(tmp_path, TRANSACTIONS, log)
    (part,) = read_cluster([tmp_path], lambda place: True).transaction_log
    assert logged_events(part, Names(None, [])).client_versions == {0}


def test_of_a_compacted_log_the_rest_is_left(tmp_path: Path) -> None:
    """What precedes the last gap is left out, since what came between it and the rest is unknown."""
    log = [state(0, "b", Q, 5), state(1, "a", P, 0), state(4, "b", Q, 1), state(5, "a", P, 1)]
    write_log(tmp_path, TRANSACTIONS, log)
    (part,) = read_cluster([tmp_path], lambda place: True).transaction_log
    logged = logged_events(part, Names(None, []))
    assert rows(logged.events, "txn_id", "state") == [("txn_logged", 0, 1), ("txn_logged", 1, 1)]


def test_of_a_compacted_offsets_topic_the_rest_is_left(tmp_path: Path) -> None:
    """What precedes the last gap decides nothing, since the producer of its marker is unknown."""
    log = [committed(0, P, "g", 10), committed(3, Q, "h", 5), marker(4, P, True), marker(5, Q, True)]
    write_log(tmp_path, OFFSETS, log)
    (part,) = read_cluster([tmp_path], lambda place: True).offsets
    names = Names(None, [])
    assert rows(offset_events(part, names, frozenset()), "partition", "offset") == [
        ("batch_appended", 0, 3), ("marker_appended", 1, 4), ("marker_appended", 0, 5),
    ]  # fmt: skip
    assert names.as_config["groups"] == ["h", "__consumer_offsets-0"]


def test_an_unfinished_end_is_told(tmp_path: Path) -> None:
    write_log(tmp_path, TRANSACTIONS, [state(0, "a", P, 1), state(1, "a", P, 2), state(2, "b", Q, 4)])
    (part,) = read_cluster([tmp_path], lambda place: True).transaction_log
    assert logged_events(part, Names(None, [])).unfinished == (0,)


def test_records_of_an_unknown_kind_are_counted(tmp_path: Path) -> None:
    write_log(tmp_path, TRANSACTIONS, [batch(0, [(struct.pack(">hh", 9, 1) + b"a", b"?")]), state(1, "a", P, 0)])
    (part,) = read_cluster([tmp_path], lambda place: True).transaction_log
    logged = logged_events(part, Names(None, []))
    assert (logged.skipped, len(logged.events["kind"])) == (1, 1)


@pytest.mark.parametrize("partition", [TRANSACTIONS, OFFSETS])
def test_another_topics_records_are_refused(tmp_path: Path, partition: str) -> None:
    """The keys of another topic may look like the coordinators', but its values do not."""
    key = id_key("a") if partition == TRANSACTIONS else offset_key("g")
    file = write_log(tmp_path, partition, [batch(0, [(key, b"\x00\x09what")], producer=P, attributes=TRANSACTIONAL)])
    logs = read_cluster([tmp_path], lambda place: True)
    with pytest.raises(RecordingError, match=f"{file} byte 0: the batch at offset 0 is not the"):
        logged_events(logs.transaction_log[0], OPEN) if logs.transaction_log else offset_events(
            logs.offsets[0], Names(None, []), frozenset()
        )


def test_offsets_become_events(tmp_path: Path) -> None:
    """One request is one record, each group has its own partition, and a marker ends what its producer id has open."""
    log = [
        committed(0, P, "g", 10, 11), committed(2, Q, "h", 5), committed(3, P, "h", 6),
        batch(4, [(offset_key("g"), offset_value(99))]), marker(5, P, True), marker(6, Q, False), marker(7, Q, True),
    ]  # fmt: skip
    write_log(tmp_path, OFFSETS, log)
    (part,) = read_cluster([tmp_path], lambda place: True).offsets
    names = Names(None, [])
    assert rows(offset_events(part, names, frozenset()), "partition", "offset", "producer_id", "outcome") == [
        ("batch_appended", 0, 0, 7, -1),
        ("batch_appended", 1, 2, 8, -1),
        ("batch_appended", 1, 3, 7, -1),
        ("marker_appended", 0, 5, 7, 1),
        ("marker_appended", 1, 5, 7, 1),
        ("marker_appended", 1, 6, 8, 0),
        ("marker_appended", 2, 7, 8, 1),
    ]
    assert names.as_config["groups"] == ["g", "h", "__consumer_offsets-0"]


def test_a_header_leaves_other_groups_out(tmp_path: Path) -> None:
    """With clients' events an offset is its own number, and other programs' groups and markers are left out."""
    write_log(
        tmp_path, OFFSETS, [committed(0, P, "g", 10), committed(1, Q, "h", 5), marker(2, P, True), marker(3, Q, True)]
    )
    (part,) = read_cluster([tmp_path], lambda place: True).offsets
    names = Names(Header(groups=("g",), partitions=(("t", 0, 0),), observable=KINDS), [])
    assert rows(offset_events(part, names, frozenset({7})), "partition", "offset", "record") == [
        ("batch_appended", 1, 0, 10),
        ("marker_appended", 1, 2, -1),
    ]
