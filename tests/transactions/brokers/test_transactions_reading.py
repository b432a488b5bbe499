"""Readers see the last stable offset, aborted ranges, pending offsets of groups, and the log's real bytes."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode as E
from fencepost.reference_impl.kafka.messages import AbortedTransaction
from fencepost.reference_impl.kafka.record_batches import CONTROL, TRANSACTIONAL
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch
from txn_bench import V1, V2, VERIFIED, Bench


def written(*steps, **config):
    """Return a v1 bench with ("data", id) or ("commit"|"abort", id) on partition 0, numbered by offset."""
    bench = Bench(V1, **config)
    sequences = {}
    for offset, (what, producer_id) in enumerate(steps):
        if what == "data":
            sequence = sequences[producer_id] = sequences.get(producer_id, -1) + 1
            assert bench.produce(producer_id, 0, sequence, offset) == (0, offset)
        else:
            assert bench.marker(producer_id, 0, what == "commit") == 0
    return bench


# The last stable offset


def test_readers_stop_where_the_oldest_open_transaction_begins():
    """txn.17: The last stable offset is the first offset of the oldest open transaction, or else the end."""
    bench = written(("data", 1), ("data", 2), ("data", 1))
    assert bench.log().last_stable_offset() == 0
    bench.marker(1, 0)
    assert bench.log().last_stable_offset() == 1
    bench.marker(2, 0)
    assert bench.log().last_stable_offset() == 5
    assert [event.upto for event in bench.events("stable_moved")] == [1, 5]


def test_fetch_is_strictly_below_the_last_stable_offset():
    """txn.17: A read_committed fetch ends below the last stable offset, others do not (Redpanda 3036)."""
    log = written(("data", 1), ("commit", 1), ("data", 2)).log()
    committed, uncommitted = log.fetch(0, True), log.fetch(0, False)
    assert (committed.upto, [batch.base_offset for batch in committed.batches]) == (2, [0, 1])
    assert (uncommitted.upto, len(uncommitted.batches), uncommitted.aborted_transactions) == (3, 3, ())


def test_batch_outside_transactions_is_stable_at_once():
    """txn.17: Without an open transaction the last stable offset is the end."""
    bench = Bench(V1)
    bench.produce(1, 0, transactional=False)
    assert bench.log().last_stable_offset() == 1


# The index of aborted transactions


def test_aborts_are_indexed_and_commits_are_not():
    """txn.17: An aborted transaction has an entry with producer, first and last offset, and a commit has none."""
    bench = written(("data", 1), ("data", 2), ("commit", 1), ("abort", 2))
    assert bench.log().aborted == [(2, 1, 3, 4)]
    assert bench.log().fetch(0, True).aborted_transactions == (AbortedTransaction(2, 1),)


def test_entry_remembers_the_stable_offset_behind_its_marker():
    """txn.17: The entry has the offset at which another producer's open transaction begins."""
    bench = written(("data", 3), ("data", 2), ("abort", 2))
    assert bench.log().aborted == [(2, 1, 2, 0)]


def test_fetch_names_only_what_it_touches():
    """txn.17: A fetch lists the transactions that end at or after its offset and begin before its end."""
    log = written(("data", 1), ("abort", 1), ("data", 1), ("abort", 1), ("data", 2)).log()
    assert log.fetch(0, True).aborted_transactions == ((1, 0), (1, 2))
    assert log.fetch(1, True).aborted_transactions == ((1, 0), (1, 2))
    assert log.fetch(2, True).aborted_transactions == ((1, 2),)
    assert log.fetch(4, True).aborted_transactions == ()


@given(st.lists(st.tuples(st.sampled_from(["data", "data", "commit", "abort"]), st.integers(1, 3)), max_size=30))
def test_index_agrees_with_the_log(steps):
    """txn.17: From every offset the fetch lists every aborted record that it returns, and no other. The aborted records
    are found the slow way, by the producer's first marker after each record."""
    log = written(*steps).log()
    fates = {}
    for offset, (what, producer_id) in enumerate(steps):
        if what == "data":
            later = (step for step, owner in steps[offset:] if owner == producer_id and step != "data")
            fates[offset] = next(later, "open")
    for start in range(len(steps) + 1):
        answer = log.fetch(start, True)
        skipped = set()
        for aborted in answer.aborted_transactions:
            ends = (o for o in range(aborted.first_offset, len(steps)) if steps[o] == ("abort", aborted.producer_id))
            skipped |= {o for o in range(start, next(ends)) if steps[o] == ("data", aborted.producer_id)
                        and o >= aborted.first_offset}  # fmt: skip
        returned = [batch.base_offset for batch in answer.batches if batch.marker < 0]
        assert {fates[offset] for offset in returned} <= {"commit", "abort"}
        assert skipped & set(returned) == {offset for offset in returned if fates[offset] == "abort"}


# Offsets of groups


@pytest.mark.parametrize("mode", [V1, VERIFIED, V2])
@pytest.mark.parametrize("committed", [True, False])
def test_offsets_are_pending_until_the_marker(mode, committed):
    """txn.21: OffsetFetch is UNSTABLE_OFFSET_COMMIT until the marker, and only a commit exposes the new offset."""
    bench = Bench(mode)
    bench.init()
    group = bench.log(2)
    assert group.fetch_offset() == (0, -1)
    if mode != V2:
        bench.add_offsets(0, 0)
    assert bench.commit_offset(0, 0, record=8) == (0, 0)
    assert group.fetch_offset() == (E.UNSTABLE_OFFSET_COMMIT, -1)
    bench.end(0, 0, committed)
    assert group.fetch_offset() == (0, 8 if committed else -1)


def test_last_commit_of_a_transaction_counts():
    """txn.21: The later of two offsets that a transaction commits becomes visible."""
    bench = Bench(V1)
    bench.commit_offset(7, 0, record=1)
    bench.commit_offset(7, 0, record=2)
    bench.marker(7, 0, partition=2)
    assert bench.log(2).fetch_offset() == (0, 2)


def test_later_written_commit_wins():
    """txn.21: Of two producers' offsets the one written later stays, even if its transaction ends first."""
    bench = Bench(V1)
    bench.commit_offset(7, 0, record=1)
    bench.commit_offset(8, 0, record=2)
    bench.marker(8, 0, partition=2)
    assert bench.log(2).fetch_offset() == (E.UNSTABLE_OFFSET_COMMIT, -1)
    bench.marker(7, 0, partition=2)
    assert bench.log(2).fetch_offset() == (0, 2)


def test_offset_commits_have_no_sequence_numbers():
    """txn.21: A commit that is sent twice is written twice, which commits the same offset."""
    bench = Bench(V1)
    assert [bench.commit_offset(7, 0, record=1) for _ in range(2)] == [(0, 0), (0, 1)]
    assert [event.sequence for event in bench.events("batch_appended")] == [-1, -1]


def test_fenced_offset_commit():
    """txn.12: An offsets partition refuses an old epoch as every partition does."""
    bench = Bench(V1)
    bench.marker(7, 3, partition=2)
    assert bench.commit_offset(7, 2)[0] == E.INVALID_PRODUCER_EPOCH


def test_pending_offsets_survive_a_leader_change():
    """txn.21: The next group coordinator reads committed and pending offsets from the log."""
    bench = Bench(V1)
    bench.commit_offset(7, 0, record=1)
    bench.marker(7, 0, partition=2)
    bench.commit_offset(7, 0, record=2)
    bench.system.change_leader(2)
    assert bench.log(2).fetch_offset()[0] == E.UNSTABLE_OFFSET_COMMIT
    bench.marker(7, 0, committed=False, partition=2)
    assert bench.log(2).fetch_offset() == (0, 1)


def test_offset_commit_belongs_to_a_group():
    """txn.21: A produce request to an offsets partition raises an error."""
    with pytest.raises(TypeError, match="takes TxnOffsetCommitRequest"):
        Bench(V1).produce(7, 0, partition=2)


def test_only_groups_have_offsets():
    """txn.21: The error of OffsetFetch of a data partition names the partitions that have offsets."""
    with pytest.raises(ValueError, match="offsets partitions are numbered from 2 to 2"):
        Bench(V1).system.fetch_offset(0, 1)


# Bytes


def test_log_bytes_are_record_batches():
    """txn.17: kio reads producer, epoch, sequence, offsets, and markers as control batches."""
    bench = Bench(V1)
    bench.system.advance(5_000)
    bench.produce(7, 2, 0, record=41)
    bench.produce(8, 0, 3, record=42, transactional=False)
    bench.marker(7, 3, committed=False, coordinator_epoch=6)
    batches = decoded(bench.system.log_bytes(0))
    assert [(b.base_offset, b.producer_id, b.producer_epoch, b.base_sequence, b.attributes) for b in batches] == [
        (0, 7, 2, 0, TRANSACTIONAL),
        (1, 8, 0, 3, 0),
        (2, 7, 3, -1, TRANSACTIONAL | CONTROL),
    ]
    assert [batch.records[0].value for batch in batches[:2]] == [b"41", b"42"]
    control = batches[2].records[0]
    assert (control.key, control.value) == (b"\0\0\0\0", b"\0\0\0\0\0\6")
    assert {batch.base_timestamp for batch in batches} == {5_000}


def test_commit_marker_bytes():
    """txn.8: The control record of a commit has type 1."""
    bench = Bench(V1)
    bench.marker(7, 0, committed=True)
    (batch,) = decoded(bench.system.log_bytes(0))
    assert batch.records[0].key == b"\0\0\0\1"


def test_leader_epoch_is_in_the_batches():
    """txn.P9: Every batch has the epoch of the leader that wrote it, and offsets have their group as key."""
    bench = Bench(V1)
    bench.commit_offset(7, 0)
    bench.system.change_leader(2)
    bench.commit_offset(7, 0)
    batches = decoded(bench.system.log_bytes(2))
    assert [batch.partition_leader_epoch for batch in batches] == [0, 1]
    assert {batch.records[0].key for batch in batches} == {b"group-0"}


def decoded(data):
    """Return the record batches in some bytes, whose lengths and checksums kio checks."""
    batches, offset = [], 0
    while offset < len(data):
        batch, size = read_batch(data, offset)
        batches.append(batch)
        offset += size
    return batches
