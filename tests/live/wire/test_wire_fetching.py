"""Record batches as a broker sends them: what is read of them, what is let pass, and what is refused."""

import random
import struct

import pytest
from fencepost.reference_impl.kafka.messages import Batch
from fencepost.reference_impl.kafka.record_batches import encode
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.transactions.config import Names, Place
from fencepost.reference_impl.live.transactions.fetching import parse

KEY = b"mine"
CRC_AT, MAGIC_AT = 17, 16


def names() -> Names:
    """Of the system that the records belong to."""
    return Names(KEY.decode(), [Place("topic", 0, 0)])


def data(offset: int, record: int, producer_id: int = 0, epoch: int = 0) -> Batch:
    """A transactional batch of one record."""
    return Batch(offset, producer_id, epoch, 7, record, True, 5_000, 2)


def marker(offset: int, outcome: int, producer_id: int = 0, epoch: int = 0) -> Batch:
    """A control batch: 0 abort, 1 commit."""
    return Batch(offset, producer_id, epoch, -1, -1, True, 5_000, 2, outcome, 3)


def test_a_log_is_read_back_as_it_was_written() -> None:
    """Any log of the reference implementation, encoded as a real segment, is parsed to the same batches."""
    for seed in range(20):
        dice = random.Random(seed)
        log = [
            data(at, dice.randrange(1000), at % 3, dice.randrange(5))
            if dice.random() < 0.7
            else marker(at, dice.randrange(2), at % 3, dice.randrange(5))
            for at in range(30)
        ]
        ours = names()
        for producer_id in range(3):
            ours.numbered_producer_id(producer_id)
        found = list(parse(encode(log, KEY), 0, ours))
        # A marker's coordinator epoch is not asked for.
        assert found == [batch._replace(coordinator_epoch=-1) for batch in log], f"seed {seed}"


def test_only_from_the_offset_asked_for() -> None:
    """A broker answers with the whole batch that an offset lies in; what is before it is left out."""
    found = list(parse(encode([data(4, 1), data(5, 2), marker(6, 1)], KEY), 5, names()))
    assert [batch.base_offset for batch in found] == [5, 6]


def test_an_unfinished_batch_is_left_for_the_next_fetch() -> None:
    """A fetch may end in the midst of a batch."""
    whole = encode([data(0, 1), data(1, 2)], KEY)
    for cut in (1, 20, 60):
        assert [batch.record for batch in parse(whole[:-cut], 0, names())] == [1]


def test_a_marker_counts_whatever_its_checksum() -> None:
    """librdkafka's mock writes markers with checksum 0, and they are markers all the same."""
    broken = bytearray(encode([marker(0, 1), marker(1, 0)]))
    struct.pack_into(">I", broken, CRC_AT, 0)
    assert [batch.marker for batch in parse(bytes(broken), 0, names())] == [1, 0]


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (CRC_AT, b"\0\0\0\0", "offset 3: a record batch that cannot be read: Checksum"),
        (MAGIC_AT, b"\1", "offset 3: no record batch of format 2: magic 1"),
        (8, struct.pack(">i", 10), "offset 3: no record batch of format 2: magic 2, length 10"),
    ],
)
def test_a_broken_batch_is_refused(at: int, value: bytes, words: str) -> None:
    """Records are not believed with a wrong checksum, nor is anything that is no batch of format 2."""
    broken = bytearray(encode([data(3, 1), data(4, 2)], KEY))
    broken[at : at + len(value)] = value
    with pytest.raises(WireError, match=words):
        list(parse(bytes(broken), 0, names()))


@pytest.mark.parametrize("key", [None, b"yours"])
def test_a_foreign_key_is_refused(key: bytes | None) -> None:
    """A record with another key, or none, is another client's."""
    with pytest.raises(WireError, match="offset 3: another client's record"):
        list(parse(encode([data(3, 1)], key), 0, names()))
