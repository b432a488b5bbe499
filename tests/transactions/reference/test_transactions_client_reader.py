"""txn.17, txn.21: Readers return records from hand-made answers and from a cluster."""

from collections import namedtuple

import pytest
from fencepost.properties.transactions.scenarios.known import Script
from fencepost.reference_impl.kafka.clients.consumer import Reader
from fencepost.reference_impl.kafka.environment import Config, DrivenPace, Environment, readable
from fencepost.reference_impl.kafka.messages import AbortedTransaction, Batch, FetchResponse
from fencepost.reference_impl.simulation import Kernel, Network

A, B = 7, 8  # two producers


def log_of(text):
    """Return a log from words such as A0 (record 0 of producer A), A- (its abort marker), A+ (its commit marker)."""
    batches = []
    for offset, (name, what) in enumerate(text.split()):
        producer = {"A": A, "B": B}[name]
        if what in "+-":
            batches.append(Batch(offset, producer, 0, -1, -1, True, 0, 0, int(what == "+"), 0))
        else:
            batches.append(Batch(offset, producer, 0, 0, int(what), True, 0, 0))
    return tuple(batches)


class Log(namedtuple("Log", "batches aborted upto partition")):
    """A `Log` answers every fetch with its fixed content, from the offset on."""

    def fetch(self, offset, committed):
        aborted = tuple(AbortedTransaction(*entry) for entry in self.aborted)
        return FetchResponse(self.upto, self.batches[offset : self.upto], aborted if committed else ())


def reader_of(number=0):
    kernel = Kernel(0)
    return Reader(Environment(Config.parse({}), kernel, Network(kernel), DrivenPace()), number)


@pytest.mark.parametrize(
    ("text", "aborted", "records"),
    [
        ("A0 A+", [], [0]),
        ("A0 A-", [(A, 0)], []),
        ("A0 A- A1 A+", [(A, 0)], [1]),
        ("A0 A+ A1 A-", [(A, 2)], [0]),
        ("A0 B1 A- B+", [(A, 0)], [1]),
        ("A0 B1 B- A2 A+", [(B, 1)], [0, 2]),
        ("A0 B1 B- A2 A-", [(B, 1), (A, 0)], []),
        ("A0 A- A1 A-", [(A, 0), (A, 2)], []),
        ("A- B0 B-", [(B, 1)], []),
        ("A- A0 A+", [], [0]),
    ],
)
def test_aborted_ranges_are_skipped(text, aborted, records):
    """txn.17: Records are skipped from the first offset in the list to the producer's next abort marker."""
    batches = log_of(text)
    found = reader_of().read(Log(batches, aborted, len(batches), 0), True)
    assert [record for _, record in found] == records


def test_read_uncommitted_returns_every_record():
    """txn.17: Only control batches are left out."""
    batches = log_of("A0 A- B1")
    reader = reader_of(3)
    assert reader.read(Log(batches, [(A, 0)], 3, 0), False) == [(0, 0), (2, 1)]
    events = [readable(row) for row in reader.env.log.drain_rows()]
    assert [(event.kind, event.client, event.record) for event in events] == [
        ("record_seen", 1003, 0), ("record_seen", 1003, 1),
    ]  # fmt: skip


def test_position_moves_over_everything_returned():
    """txn.17: The position moves over control batches and aborted records too, and no record is returned twice."""
    batches = log_of("A0 A- B1 B+")
    reader = reader_of()
    assert reader.read(Log(batches, [(A, 0)], 2, 0), True) == []
    assert reader.read(Log(batches, [], 4, 0), True) == [(2, 1)]
    assert reader.read(Log(batches, [], 4, 0), True) == []
    assert reader.read(Log(log_of("A5 A+"), [], 2, 1), True) == [(0, 5)]
    events = [readable(row) for row in reader.env.log.drain_rows()]
    assert [(e.partition, e.offset, e.upto) for e in events if e.kind == "fetched"] == [
        (0, 0, 2), (0, 2, 4), (0, 4, 4), (1, 0, 2),
    ]  # fmt: skip


def test_readers_and_isolation_levels_have_their_own_positions():
    """txn.17: Each reader has a position for each isolation level."""
    script = Script.of_reference()
    script.start(0)
    script.begin(0, 0)
    assert script.system.read(0, 0) == []
    assert script.system.read(0, 0, committed=False) == [(0, 0)]
    script.commit(0)
    assert script.system.read(0, 0) == [(0, 0)]
    assert script.system.read(0, 0) == []
    assert script.system.read(1, 0) == [(0, 0)]


def test_offsets_are_fetched_when_stable():
    """txn.21: OffsetFetch gets 88 while the transaction is open, then the offset's record, or -1 if none."""
    script = Script.of_reference(groups=1)
    assert script.system.fetch_offset(0, 2) == (0, -1)
    script.start(0)
    script.begin(0, 2)
    assert script.system.fetch_offset(0, 2) == (88, -1)
    script.commit(0)
    assert script.system.fetch_offset(0, 2) == (0, 0)
    assert [(e.client, e.error, e.record) for e in script.kinds("offset_fetched")] == [
        (1000, 0, -1), (1000, 88, -1), (1000, 0, 0),
    ]  # fmt: skip
