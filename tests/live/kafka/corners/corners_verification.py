"""Corners of verification (KIP-890): what a leader asks, whose question counts, and what a late answer is worth."""

from __future__ import annotations

from concurrent.futures import as_completed

from asking import ABORT, COMMIT, Asker
from corner import CORRECTED, Bench, Steps, corner
from gate import ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS
from kio.schema.errors import ErrorCode as E


@corner(
    "verified-codes", on="v1, verified", rules="txn.6 txn.15",
    says="""A first record on a partition that is not in the transaction is 120 to clients that know it (Produce
        11), 48 to older ones; a wrong epoch is 47, an unknown transactional id or producer id is 49.""",
    answered="All of it; a record within the open transaction is not asked for again, whatever its epoch says.",
)  # fmt: skip
def codes(ask: Asker, _: Bench) -> Steps:
    other = ask.other("never")
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), E.transaction_abortable
    yield ask.produce("A", 0, 0, version=10), E.invalid_txn_state
    yield ask.produce("A", 0, 0, version=3), E.invalid_txn_state
    yield ask.produce("A", 1, 0), E.invalid_producer_epoch
    yield other.produce("A", 0, 0), E.invalid_producer_id_mapping
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.produce("A", 0, 1, version=3), 1


@corner(
    "verified-aba", on="v1, verified", rules="txn.15",
    says="""An answer "verified" that comes after an abort, when the next transaction is open at the same epoch,
        must not let the old batch in: the guard is another one by then, 48.""",
    answered="48, and the batch is taken when it is sent again.",
)  # fmt: skip
def aba(ask: Asker, at: Bench) -> Steps:
    late = ask.other()
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    at.gate.hold(ADD_PARTITIONS_TO_TXN)
    written = at.later(lambda: late.produce("A", 0, 0))
    at.gate.wait_for(ADD_PARTITIONS_TO_TXN)
    yield ask.end("A", 0, ABORT), E.none
    yield ask.settled(), ("CompleteAbort", 0)
    yield ask.add("A", 0, 0), E.none
    at.gate.release(ADD_PARTITIONS_TO_TXN)
    yield written.result(20), E.invalid_txn_state
    yield ask.produce("A", 0, 0), 1
    yield ask.log(), (["ABORT", "A/0/0"], 1, [])


@corner(
    "verified-superseded", on="v1, verified", rules="txn.15",
    says="""A leader keeps one question a transactional id and coordinator in its queue: a retry at the same epoch
        takes the place of the older one, whose producer is told 13, as 19; a newer epoch displaces an older one,
        which is told 47; a lower epoch is refused with 47.""",
    answered="All of it. The question that was sent already is answered, and so is the one that took the place.",
)  # fmt: skip
def superseded(ask: Asker, at: Bench) -> Steps:
    busy, *copies = ask.other("busy"), ask.other(), ask.other(), ask.other()
    yield busy.init(), ("A", 0)
    yield busy.add("A", 0, 0), E.none
    yield ask.init(), ("B", 0)
    yield ask.add("B", 0, 0), E.none
    at.gate.hold(ADD_PARTITIONS_TO_TXN)
    in_flight = at.later(lambda: busy.produce("A", 0, 0))
    at.gate.wait_for(ADD_PARTITIONS_TO_TXN)
    pair = [at.later(lambda each=each: each.produce("B", 0, 0)) for each in copies[:2]]
    first = next(as_completed(pair, 20))  # whichever came first: the other one took its place
    yield first.result(), E.not_enough_replicas
    newest = at.later(lambda: copies[2].produce("B", 1, 0, partition=1))
    yield [each.result(20) for each in pair if each is not first], [E.invalid_producer_epoch]
    yield ask.produce("B", 0, 0, partition=2), E.invalid_producer_epoch
    at.gate.release(ADD_PARTITIONS_TO_TXN)
    yield in_flight.result(20), 0
    yield newest.result(20), E.invalid_producer_epoch
    yield ask.produce("B", 0, 0), 1


@corner(
    "v2-adds", on="v2", rules="txn.6 txn.15",
    says="""In v2 the same question adds the partition: the transaction begins with the leader's question, whatever
        becomes of the batch; a wrong epoch is 47, an unknown id 49.""",
    answered="All of it. A v1 client at transaction.version 2 is verified, not added: 120.",
)  # fmt: skip
def v2_adds(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0, version=11), E.transaction_abortable
    yield ask.produce("A", 1, 0), E.invalid_producer_epoch
    yield ask.produce(999, 0, 0), E.invalid_producer_id_mapping
    yield ask.described(), ("Empty", "A", 0, [])
    yield ask.produce("A", 0, 7), E.out_of_order_sequence_number
    yield ask.described(), ("Ongoing", "A", 0, [0])
    yield ask.produce("A", 0, 0, partition=2), 0
    yield ask.described(), ("Ongoing", "A", 0, [0, 2])


@corner(
    "v2-question-stops-older", on="v2", rules="txn.13 txn.16",
    says="""A verification entry makes a batch wait its turn: one whose first sequence number is above the lowest
        that waits is 45. Entries are kept by producer id alone [what of two epochs?].""",
    answered="""The question of a newer epoch stops the older one: while epoch e + 1 hears 51, a late batch of e
        with a number above 0 is 45, where it was taken before the question. A refused question stays too: after a
        batch with an epoch that was never given (47), the owner's next batch within its open transaction is 45,
        until a marker comes.""",
    verdict=CORRECTED,
    follows="""The reference refuses the newer epoch without asking (51 at the leader), so its older batch is still
        taken. Only a producer that invents epochs can stop another one by this.""",
)  # fmt: skip
def stops_older(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.produce("A", 0, 1), 1
    yield ask.produce("A", 1, 0), E.concurrent_transactions
    yield ask.produce("A", 0, 2), E.out_of_order_sequence_number
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.produce("A", 1, 0), 3
    yield ask.produce("A", 5, 0), E.invalid_producer_epoch
    yield ask.produce("A", 1, 1), E.out_of_order_sequence_number
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)
    yield [ask.produce("A", 2, 0), ask.produce("A", 2, 1)], [5, 6]


@corner(
    "v2-late-first-record", on="v2", rules="txn.15 txn.9",
    says="""A first record of a transaction that was ended before its question reached the coordinator: the epoch
        has moved on, so the coordinator does not add it.""",
    answered="47, and no transaction begins.",
)  # fmt: skip
def late_first(ask: Asker, at: Bench) -> Steps:
    late = ask.other()
    yield ask.init(), ("A", 0)
    at.gate.hold(ADD_PARTITIONS_TO_TXN)
    written = at.later(lambda: late.produce("A", 0, 0))
    at.gate.wait_for(ADD_PARTITIONS_TO_TXN)
    yield ask.end("A", 0, ABORT), ("A", 1)
    yield ask.settled(), ("CompleteAbort", 1)
    at.gate.release(ADD_PARTITIONS_TO_TXN)
    yield written.result(20), E.invalid_producer_epoch
    yield ask.described(), ("CompleteAbort", "A", 1, [])
    yield ask.log(), ([], 0, [])
