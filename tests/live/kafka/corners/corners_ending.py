"""Corners of EndTxn: twice, crossed, empty, and while the transaction before is still being completed."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import CORRECTED, Bench, Steps, corner
from gate import WRITE_TXN_MARKERS
from kio.schema.errors import ErrorCode as E


@corner(
    "end-v1", on="v1", rules="txn.7 txn.8",
    says="""In v1 EndTxn without a transaction is 48 for commit and abort. After the end the same result again is a
        success, the other one 48; any other epoch is 90.""",
    answered="All of it.",
)  # fmt: skip
def end_v1(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.end("A", 0, COMMIT), E.invalid_txn_state
    yield ask.end("A", 0, ABORT), E.invalid_txn_state
    for first, other, state in ((COMMIT, ABORT, "CompleteCommit"), (ABORT, COMMIT, "CompleteAbort")):
        yield ask.add("A", 0, 0), E.none
        yield ask.end("A", 0, first), E.none
        yield ask.settled(), (state, 0)
        yield ask.end("A", 0, first), E.none
        yield ask.end("A", 0, other), E.invalid_txn_state
        yield ask.end("A", 1, first), E.producer_fenced


@corner(
    "end-v1-late-decides-next", on="v1", rules="txn.7 txn.9",
    says="""In v1 nothing tells the EndTxn of one transaction from that of the next: a late copy decides it
        (KAFKA-17754).""",
    answered="The late commit commits the next transaction, which its producer had not finished.",
)  # fmt: skip
def late_end(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), E.none
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 1), 2
    yield ask.end("A", 0, COMMIT), E.none
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.end("A", 0, ABORT), E.invalid_txn_state
    yield ask.log(committed=True), (["A/0/0", "COMMIT", "A/0/1", "COMMIT"], 4, [])


@corner(
    "end-v2-complete-commit", on="v2", rules="txn.7 txn.9",
    says="""In v2 in CompleteCommit (e + 1): commit with e is a retry and succeeds, abort with e is 48, commit with
        e + 1 is 48, and abort with e + 1 aborts a transaction that was never begun, and bumps.""",
    answered="All of it; the empty abort writes no marker.",
)  # fmt: skip
def complete_commit(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.producers(), [("A", 1, -1, -1)]
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.end("A", 0, ABORT), E.invalid_txn_state
    yield ask.end("A", 1, COMMIT), E.invalid_txn_state
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.log(), (["A/0/0", "COMMIT"], 2, [])


@corner(
    "end-v2-complete-abort", on="v2", rules="txn.7 txn.9",
    says="""In CompleteAbort (e + 1): abort with e is a retry and succeeds, commit with e or e + 1 is 48, abort with
        e + 1 bumps again; what is older is 90.""",
    answered="All of it.",
)  # fmt: skip
def complete_abort(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init("A", 0), ("A", 1)
    yield ask.produce("A", 1, 0), 0
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.end("A", 1, COMMIT), E.invalid_txn_state
    yield ask.end("A", 2, COMMIT), E.invalid_txn_state
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.end("A", 3, ABORT), E.producer_fenced
    yield ask.end("A", 2, ABORT), ("A", 3)
    yield ask.settled(), ("CompleteAbort", 3)


@corner(
    "end-v2-empty", on="v2", rules="txn.7 txn.9",
    says="""In Empty: commit is 48, abort bumps; the epoch before the last InitProducerId is 90 for both, retry or
        not.""",
    answered="All of it.",
)  # fmt: skip
def empty(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init("A", 0), ("A", 1)
    yield ask.end("A", 1, COMMIT), E.invalid_txn_state
    yield ask.end("A", 0, COMMIT), E.producer_fenced
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.end("A", 2, ABORT), E.producer_fenced
    yield ask.end("A", 1, ABORT), ("A", 2)
    yield ask.settled(), ("CompleteAbort", 2)


@corner(
    "end-v2-ongoing", on="v2", rules="txn.6 txn.7",
    says="In Ongoing only the exact epoch ends; a late EndTxn of the transaction before is 90 (KAFKA-17754 mended).",
    answered="All of it.",
)  # fmt: skip
def ongoing(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.produce("A", 1, 0), 2
    yield ask.end("A", 0, COMMIT), E.producer_fenced
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.end("A", 2, COMMIT), E.producer_fenced
    yield ask.described(), ("Ongoing", "A", 1, [0])
    yield ask.end(999, 1, COMMIT), E.invalid_producer_id_mapping


@corner(
    "prepared", on="v2", rules="txn.5 txn.7 txn.8",
    says="""Between Prepare and Complete EndTxn says 51 to the same result, 48 to the other one, and 90 to another
        epoch; everything else says 51.""",
    answered="""51 to every EndTxn, whatever its epoch and result: from the moment that Prepare is written the
        completion is pending, and what is pending is looked at first. So too for InitProducerId with any pair, for
        adding, and for writing to a new partition. The commit is acknowledged although no marker is written yet.""",
    verdict=CORRECTED,
    follows="""The reference looks at what is pending first too; its table for Prepare states is never reached by
        EndTxn.""",
)  # fmt: skip
def prepared(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    for epoch, result, state in ((0, COMMIT, "Commit"), (1, ABORT, "Abort")):
        yield ask.produce("A", epoch, 0), 2 * epoch
        at.gate.hold(WRITE_TXN_MARKERS)
        yield ask.end("A", epoch, result), ("A", epoch + 1)
        yield ask.described(), (f"Prepare{state}", "A", epoch + 1, [0])
        for named in (epoch - 1, epoch, epoch + 1):
            yield ask.end("A", named, COMMIT), E.concurrent_transactions
            yield ask.end("A", named, ABORT), E.concurrent_transactions
        for pair in ((-1, -1), ("A", epoch), ("A", epoch + 1)):
            yield ask.init(*pair), E.concurrent_transactions
        yield ask.add("A", epoch + 1, 1), E.concurrent_transactions
        yield ask.produce("A", epoch + 1, 0, partition=1), E.concurrent_transactions
        at.gate.release(WRITE_TXN_MARKERS)
        yield ask.settled(), (f"Complete{state}", epoch + 1)
    yield ask.log(committed=True), (["A/0/0", "COMMIT", "A/1/0", "ABORT"], 4, [("A", 2)])


@corner(
    "prepared-v1", on="v1", rules="txn.5 txn.7 txn.8",
    says="The same for v1: 51 to the same result, 48 to the other one.",
    answered="""51 to both, after producer id (49) and epoch (90) have been looked at: of all requests only EndTxn
        before version 5 compares them before it looks at what is pending.""",
    verdict=CORRECTED,
    follows="""In the reference what is pending comes first in v1 too (txn.5), and `codes.py` expects it: an EndTxn
        of the past hears 51, and 90 or 49 when it asks again.""",
)  # fmt: skip
def prepared_v1(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    at.gate.hold(WRITE_TXN_MARKERS)
    yield ask.end("A", 0, COMMIT), E.none
    yield ask.described(), ("PrepareCommit", "A", 0, [0])
    yield ask.end("A", 0, COMMIT), E.concurrent_transactions
    yield ask.end("A", 0, ABORT), E.concurrent_transactions
    yield ask.end("A", 1, COMMIT), E.producer_fenced
    yield ask.end(999, 0, COMMIT), E.invalid_producer_id_mapping
    yield ask.add("A", 0, 1), E.concurrent_transactions
    yield ask.add("A", 1, 1), E.concurrent_transactions
    yield ask.init("A", 5), E.concurrent_transactions
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 0)


@corner(
    "prepared-late-record", on="v2", rules="txn.8 txn.12 txn.15",
    says="""A record of a transaction that is committed but whose marker has not arrived: its partition still has
        the transaction open, so it is taken, and committed with the rest. On a new partition it is refused.""",
    answered="""All of it: success, and a read_committed reader gets the record; 51 on a new partition; 47 after the
        marker.""",
    follows="The reference does the same. No promise speaks of a record that its own producer sent after its EndTxn.",
)  # fmt: skip
def late_record(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.produce("A", 0, 1), 1
    yield ask.produce("A", 0, 0, partition=1), E.concurrent_transactions
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True), (["A/0/0", "A/0/1", "COMMIT"], 3, [])
    yield ask.produce("A", 0, 2), E.invalid_producer_epoch
    yield ask.produce("A", 0, 0, partition=1), E.invalid_producer_epoch
