"""Corners of older releases: where 4.0 answers otherwise than the newest release, with what comes of it."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import Bench, Steps, corner
from corners_last_epochs import LAST, at_epoch, end
from gate import WRITE_TXN_MARKERS
from kio.schema.errors import ErrorCode as E


@corner(
    "fence-v2-in-4.0", on="4.0, v2", rules="txn.3 txn.9 txn.18",
    says="Before KAFKA-19367 a fence takes one epoch and the abort that follows another, and the fenced one gets 90.",
    answered="All of it: the fencing producer is given e + 3.",
)  # fmt: skip
def fence(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.init(), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.init("A", 0), E.producer_fenced
    yield ask.init(), ("A", 3)


@corner(
    "marker-in-4.0", on="4.0, v2", rules="txn.23 txn.P3 txn.P5",
    says="""Before KIP-1228 a marker only has to be not older than what is open: a late copy of a marker, as
        brokers send it among themselves, decides the producer's next transaction, whose epoch it carries.""",
    answered="It does: the record of an open transaction is read as committed, and its abort changes nothing.",
)  # fmt: skip
def late_marker(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.produce("A", 1, 0), 2
    yield ask.read(), ["A/0/0"]
    of_v2 = 2 if ask.newest(WRITE_TXN_MARKERS) > 1 else None
    yield ask.marker("A", 1, COMMIT, transaction_version=of_v2), E.none
    yield ask.read(), ["A/0/0", "A/1/0"]
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.read(), ["A/0/0", "A/1/0"]


@corner(
    "last-end-in-4.0", on="4.0, v2", rules="txn.4 txn.25",
    says="""Before KAFKA-20310 the log does not keep the next producer id: a rotation over a fail-over in Prepare ends
        at the old id and the epoch that is no owner's.""",
    answered="It does: the answer before the fail-over was (B, 0), and the coordinator goes on with (A, 32767).",
)  # fmt: skip
def rotation_over_a_fail_over(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield ask.produce("A", LAST, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield end(ask, LAST, COMMIT), ("B", 0)
    at.restart(ask)
    yield ask.described(), ("PrepareCommit", "A", LAST + 1, [0])
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", LAST + 1)
    yield ask.described(), ("CompleteCommit", "A", LAST + 1, [])
    yield ask.produce("B", 0, 0), E.invalid_producer_id_mapping


@corner(
    "first-sequence-in-4.0", on="4.0, v2", rules="txn.6 txn.13",
    says="""Before KAFKA-18202 a leader that knows nothing of a producer takes any sequence number first, in v2 too: the
        second batch where the first is late or lost.""",
    answered="It does: the second is read as committed, and the first, which comes after it, is 45.",
)  # fmt: skip
def second_batch_first(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 1), 0
    yield ask.produce("A", 0, 0), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 2), 1
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.read(), ["A/0/1", "A/0/2"]
