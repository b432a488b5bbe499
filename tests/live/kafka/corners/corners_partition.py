"""Corners of a partition's leader: epochs, sequence numbers, duplicates, markers, and what readers are given."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import CORRECTED, Bench, Steps, corner
from kio.schema.errors import ErrorCode as E

LARGEST = 2**31 - 1  # sequence numbers go on with 0


@corner(
    "duplicates", on="v2", rules="txn.13 txn.14",
    says="""The last five batches of an epoch are known again by first and last sequence number, and answered with
        their offset; an older one, or one of another length, is 45.""",
    answered="All of it.",
)  # fmt: skip
def duplicates(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield [ask.produce("A", 0, sequence) for sequence in range(7)], list(range(7))
    yield [ask.produce("A", 0, sequence) for sequence in (6, 4, 2)], [6, 4, 2]
    yield ask.produce("A", 0, 1), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 0), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 8), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 7, count=2), 7
    yield ask.produce("A", 0, 7, count=1), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 7, count=2), 7


@corner(
    "duplicates-over-marker-v1", on="v1", rules="txn.13 txn.14",
    says="""A marker at the same epoch (v1) keeps the five batches and the sequence: a late copy of a record of an
        aborted transaction is answered with its old offset, and not written into the next one.""",
    answered="All of it.",
)  # fmt: skip
def duplicates_over_marker(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, ABORT), E.none
    yield ask.settled(), ("CompleteAbort", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.produce("A", 0, 1), 2
    yield ask.log(), (["A/0/0", "ABORT", "A/0/1"], 2, [])


@corner(
    "sequence-new-epoch", on="v2", rules="txn.12 txn.13",
    says="""A v2 marker is one epoch up, clears the batches and starts the sequence at 0; the old epoch is 47. The
        first batch of a producer that a v2 partition does not know must have sequence 0.""",
    answered="All of it; the first batch with another number is 45, but its partition is in the transaction by then.",
)  # fmt: skip
def new_epoch(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 3), E.out_of_order_sequence_number
    yield ask.described(), ("Ongoing", "A", 0, [0])
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.produce("A", 0, 1), E.invalid_producer_epoch
    yield ask.produce("A", 1, 1), E.out_of_order_sequence_number
    yield ask.end("A", 1, COMMIT), ("A", 2)
    yield ask.settled(), ("CompleteCommit", 2)
    yield ask.log(), (["A/0/0", "COMMIT", "COMMIT"], 3, [])


@corner(
    "sequence-unknown", on="v2", rules="txn.13",
    says="""Without a transaction a producer that a partition does not know may start with any number; a larger
        epoch must start at 0, may be any larger one up to 32767, and shuts out the smaller; int32 goes on with 0.""",
    answered="All of it, also in the middle of a batch.",
)  # fmt: skip
def unknown(ask: Asker, _: Bench) -> Steps:
    def write(producer: int, epoch: int, sequence: int, count: int = 1) -> object:
        return ask.produce(producer, epoch, sequence, count=count, transactional=False)

    yield write(900_001, 3, 41), 0
    yield write(900_001, 3, 42), 1
    yield write(900_001, 4, 43), E.out_of_order_sequence_number
    yield write(900_001, 32767, 0), 2
    yield write(900_001, 4, 0), E.invalid_producer_epoch
    yield write(900_002, 0, LARGEST), 3
    yield write(900_002, 0, 0), 4
    yield write(900_003, 0, LARGEST, count=3), 5
    yield write(900_003, 0, 2), 8
    yield write(900_003, 0, LARGEST, count=3), 5


@corner(
    "not-transactional", on="v2", rules="txn.12 txn.15",
    says="""A batch outside of transactions of a producer whose transaction is open on the partition is 48; on
        another partition it is taken.""",
    answered="All of it.",
)  # fmt: skip
def not_transactional(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.produce("A", 0, 1, transactional=False), E.invalid_txn_state
    yield ask.produce("A", 0, 0, transactional=False, partition=1), 0
    yield ask.log(1, committed=True), (["A/0/0"], 1, [])


@corner(
    "epoch-above-v1", on="v1", rules="txn.12",
    says="Without verification a partition takes any larger epoch, given out or not, and opens a transaction for it.",
    answered="It does, and no client can end that transaction: EndTxn with that epoch is 90.",
)  # fmt: skip
def epoch_above(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 9, 0), 0
    yield ask.producers(), [("A", 9, 0, 0)]
    yield ask.end("A", 9, ABORT), E.producer_fenced
    yield ask.log(committed=True), ([], 0, [])


@corner(
    "late-record-hangs-v1", on="v1", rules="txn.15",
    says="""Without verification a record that arrives after the marker opens a transaction that never ends
        (KIP-890).""",
    answered="It does: the coordinator is in CompleteCommit, and the last stable offset stays.",
)  # fmt: skip
def late_record_hangs(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), E.none
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.produce("A", 0, 1), 2
    yield ask.described(), ("CompleteCommit", "A", 0, [])
    yield ask.log(committed=True), (["A/0/0", "COMMIT"], 2, [])


@corner(
    "marker-v1", on="v2", rules="txn.11 txn.12",
    says="""A marker needs an epoch that is not lower (47) and a coordinator epoch that is not lower (52); equal
        ones are fine, higher ones are learned. One that ends nothing is written all the same. A partition that is
        not there is 3.""",
    answered="All of it, asked with WriteTxnMarkers 1; a marker makes an unknown producer known.",
)  # fmt: skip
def marker_v1(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.marker("A", 0, COMMIT), E.none
    yield ask.marker("A", 0, COMMIT), E.none
    yield ask.marker("A", 5, ABORT, coordinator_epoch=3), E.none
    yield ask.marker("A", 4, ABORT, coordinator_epoch=3), E.invalid_producer_epoch
    yield ask.marker("A", 6, ABORT, coordinator_epoch=2), E.transaction_coordinator_fenced
    yield ask.marker("A", 5, COMMIT, coordinator_epoch=3), E.none
    yield ask.log(), (["A/0/0", "COMMIT", "COMMIT", "ABORT", "COMMIT"], 5, [])
    yield ask.marker("A", 0, ABORT, partition=9), E.unknown_topic_or_partition
    yield ask.marker(900_004, 0, ABORT, partition=1), E.none
    yield ask.log(1), (["ABORT"], 1, [])


@corner(
    "marker-v2", on="v2", rules="txn.9 txn.11",
    says="""KIP-1228: a marker that says transaction version 2 needs a higher epoch than that of the open
        transaction (47); with none open an equal one passes as a retry.""",
    answered="All of it; the retry is written once more. Version 1 in the same request ends the transaction.",
)  # fmt: skip
def marker_v2(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.marker("A", 0, COMMIT, transaction_version=2), E.invalid_producer_epoch
    yield ask.log(), (["A/0/0"], 0, [])
    yield ask.marker("A", 0, COMMIT, transaction_version=1), E.none
    yield ask.marker("A", 0, ABORT, transaction_version=2), E.none
    yield ask.log(), (["A/0/0", "COMMIT", "ABORT"], 3, [])


@corner(
    "two-open", on="v2", rules="txn.17",
    says="""The last stable offset is the first one of the oldest open transaction, and moves when that one ends,
        not when a later one does. A fetch brings the aborted transactions that reach into it, and no others.""",
    answered="""The offsets are so. The list may also name aborted transactions that begin behind the last stable
        offset; a reader never gets there, so they do no harm.""",
    verdict=CORRECTED,
    follows="Readers must not take the list for exact; that of the reference does not.",
)  # fmt: skip
def two_open(ask: Asker, _: Bench) -> Steps:
    other = ask.other("other")
    yield ask.init(), ("A", 0)
    yield other.init(), ("B", 0)
    yield [ask.produce("A", 0, 0), other.produce("B", 0, 0), ask.produce("A", 0, 1)], [0, 1, 2]
    yield ask.log(committed=True), ([], 0, [])
    yield ask.end("A", 0, ABORT), ("A", 1)
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.log(committed=True), (["A/0/0"], 1, [("A", 0)])
    yield ask.log(), (["A/0/0", "B/0/0", "A/0/1", "ABORT"], 1, [])
    yield other.end("B", 0, COMMIT), ("B", 1)
    yield other.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True), (["A/0/0", "B/0/0", "A/0/1", "ABORT", "COMMIT"], 5, [("A", 0)])
    yield ask.log(committed=True, start=4), (["COMMIT"], 5, [])
    yield [ask.produce("A", 1, 0), other.produce("B", 1, 0)], [5, 6]
    yield other.end("B", 1, ABORT), ("B", 2)
    yield other.settled(), ("CompleteAbort", 2)
    yield ask.log(committed=True, start=4), (["COMMIT"], 5, [("B", 6)])


@corner(
    "expired-producer", on="v2, no verification", rules="txn.12 txn.15",
    says="""A producer idle for producer.id.expiration.ms is forgotten by the partition, and then any epoch and
        sequence is taken again: without verification a zombie writes [INFER].""",
    answered="""It does: 47 before, a success after, in a transaction that the coordinator does not know and that
        never ends. A producer with an open transaction is not forgotten.""",
)  # fmt: skip
def expired(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.produce("A", 0, 1, version=11), E.invalid_producer_epoch
    ask.until(lambda: ask.producers() == [])
    yield ask.produce("A", 0, 5, version=11), 2
    yield ask.described(), ("CompleteCommit", "A", 1, [])
    yield ask.log(committed=True), (["A/0/0", "COMMIT"], 2, [])


@corner(
    "expired-producer-verified", on="v1, verified", rules="txn.15",
    says="Verification closes that hole: the leader asks before it takes a record.",
    answered="120, and 48 for clients that do not know 120.",
)  # fmt: skip
def expired_verified(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 5), E.transaction_abortable
    yield ask.produce("A", 0, 5, version=10), E.invalid_txn_state
    yield ask.log(), ([], 0, [])


@corner(
    "older-epoch-open", on="v2, no verification", rules="txn.16",
    says="""While an older epoch's transaction is open on a partition, the leader refuses a v2 record of a newer
        epoch as retriable.""",
    answered="""The leader of 4.3.1 does not: it asks the coordinator, which says 51 as long as it is in Prepare,
        and nothing else. A transaction that only the partition knows (here: a v1 record without verification) is
        joined by the record of the next epoch, and decided with it.""",
    verdict=CORRECTED,
    follows="""The reference refuses at the leader (txn.16). With verification both come to the same, as long as
        every marker is written before Complete; see the defects below.""",
)  # fmt: skip
def older_epoch_open(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0, version=11), 0
    yield ask.described(), ("Empty", "A", 0, [])
    yield ask.init(), ("A", 1)
    yield ask.produce("A", 1, 0), 1
    yield ask.producers(), [("A", 1, 0, 0)]
    yield ask.end("A", 1, COMMIT), ("A", 2)
    yield ask.settled(), ("CompleteCommit", 2)
    yield ask.log(committed=True), (["A/0/0", "A/1/0", "COMMIT"], 3, [])
