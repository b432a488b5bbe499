"""Corners of InitProducerId: what is refused, what is a retry, and what it does to an open transaction."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import CORRECTED, Bench, Steps, corner
from kio.schema.errors import ErrorCode as E


@corner(
    "init-malformed", on="v2", rules="txn.1",
    says="""An empty transactional id, or exactly one of producer id and epoch, is 42; a time-out that is not
        positive or is above the maximum is 50; without a transactional id the time-out is not looked at.""",
    answered="All of it, and half a pair is 42 without a transactional id too.",
)  # fmt: skip
def malformed(ask: Asker, _: Bench) -> Steps:
    yield ask.init(txn=""), E.invalid_request
    yield ask.init(5, -1), E.invalid_request
    yield ask.init(-1, 5), E.invalid_request
    yield ask.init(5, -1, txn=None), E.invalid_request
    for timeout_ms in (0, -1, 900_001):
        yield ask.init(timeout_ms=timeout_ms), E.invalid_transaction_timeout
    yield ask.init(timeout_ms=900_000), ("A", 0)
    yield ask.init(timeout_ms=900_001, txn=None), ("B", 0)
    yield ask.init(5, 3, txn=None), ("C", 0)


@corner(
    "init-retry", on="v2", rules="txn.1 txn.2",
    says="""A producer that names its pair is bumped once, and told the same when it asks again; any other epoch,
        higher or lower, or another producer id is 90. A bump without a pair erases what a retry is recognized by.""",
    answered="All of it.",
)  # fmt: skip
def retry(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init(5, 0), E.producer_fenced
    yield ask.init("A", 0), ("A", 1)
    yield ask.init("A", 0), ("A", 1)
    yield ask.init("A", 1), ("A", 2)
    yield ask.init("A", 0), E.producer_fenced
    yield ask.init("A", 9), E.producer_fenced
    yield ask.init(), ("A", 3)
    yield ask.init("A", 2), E.producer_fenced
    yield ask.init("A", 1), E.producer_fenced
    yield ask.described(), ("Empty", "A", 3, [])


@corner(
    "init-unknown-with-pair", on="v2", rules="txn.2 txn.20",
    says="A transactional id that is not known has no epoch yet, and then any pair is taken.",
    answered="""A producer with a pair of its own is given a new producer id at epoch 0: also one whose id has
        expired, and who was fenced before (KAFKA-18019 mends the Java client, not the broker).""",
)  # fmt: skip
def unknown_with_pair(ask: Asker, _: Bench) -> Steps:
    yield ask.init(5, 7), ("A", 0)
    yield ask.init(5, 7), E.producer_fenced


@corner(
    "init-old-pair-aborts", on="v2", rules="txn.3",
    says="""While a transaction is open only the producer id of the pair is compared, not the epoch: a request with
        an epoch of the past is not fenced, but ends the transaction of the current instance.""",
    answered="""51, and the open transaction is aborted. In Complete the epoch is compared again, and the current
        owner, whose transaction was aborted, gets its bump as a retry.""",
    follows="The reference does the same: it aborts before it compares.",
)  # fmt: skip
def old_pair_aborts(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init("A", 0), ("A", 1)
    yield ask.init("A", 1), ("A", 2)
    yield ask.produce("A", 2, 0), 0
    yield ask.init("A", 0), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 3)
    yield ask.init("A", 0), E.producer_fenced
    yield ask.init("A", 2), ("A", 3)


@corner(
    "fence-v1", on="v1", rules="txn.3 txn.18",
    says="""InitProducerId meets an open transaction: 51, the transaction is aborted at the epoch above, and the
        next request gets the one above that. The fenced producer is 90 for every request.""",
    answered="All of it; the fence keeps no last epoch.",
)  # fmt: skip
def fence_v1(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield ask.init(), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.producers(), [("A", 1, -1, -1)]
    yield ask.init("A", 0), E.producer_fenced
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.produce("A", 0, 1), E.invalid_producer_epoch
    yield ask.init(), ("A", 2)


@corner(
    "fence-v2", on="v2", rules="txn.3 txn.9 txn.18",
    says="""The fence takes one epoch and the abort another: a fence from epoch e ends at e + 2, and keeps no last
        epoch [deduced from a text older than KAFKA-19367].""",
    answered="""The abort of a fence does not bump again: Prepare, marker and Complete carry e + 1, and the
        InitProducerId that follows gets e + 2.""",
    verdict=CORRECTED,
    follows="""The reference did so too; with release='4.3' it bumps once. So does the model of v2; the one that
        follows the reference bumps twice (`releases.py`), and that of brokers of any release allows both.""",
)  # fmt: skip
def fence_v2(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    at.gate.hold(27)
    yield ask.init(), E.concurrent_transactions
    yield ask.described(), ("PrepareAbort", "A", 1, [0])
    at.gate.release(27)
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.producers(), [("A", 1, -1, -1)]
    yield ask.produce("A", 0, 1), E.invalid_producer_epoch
    yield ask.init(), ("A", 2)
    yield ask.init("A", 0), E.producer_fenced
    yield ask.end("A", 0, ABORT), E.producer_fenced


@corner(
    "fence-v2-comes-back", on="v2", rules="txn.2 txn.7 txn.18",
    says="A fence forgets the last epoch, so an instance that was fenced gets 90 from then on.",
    answered="""The abort of a fence keeps e as the last epoch. Until the next InitProducerId bumps it away the
        producer that was fenced is taken for one that missed an answer: InitProducerId(A, e) and EndTxn(A, e,
        abort) give it (A, e + 1), EndTxn(A, e, commit) is 48, and it may go on writing with e + 1.""",
    verdict=CORRECTED,
    follows="""The reference does the same with release='4.3'. No promise breaks by it: an instance that called
        InitProducerId has heard nothing but 51 yet, and the fence is acknowledged only with the bump that follows.""",
)  # fmt: skip
def fence_v2_comes_back(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.init(), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.end("A", 0, COMMIT), E.invalid_txn_state
    yield ask.end("A", 0, ABORT), ("A", 1)
    yield ask.init("A", 0), ("A", 1)
    yield ask.produce("A", 1, 0), 2
    yield ask.init(), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 2)
    yield ask.init(), ("A", 3)
    yield ask.init("A", 1), E.producer_fenced
    yield ask.produce("A", 1, 1), E.invalid_producer_epoch


@corner(
    "time-out-v1", on="v1", rules="txn.18",
    says="A transaction whose time is up is fenced as by InitProducerId, and aborted.",
    answered="Epoch e + 1; EndTxn(A, e) is 90; a client that names e + 1, which was never given out, gets e + 2.",
)  # fmt: skip
def time_out_v1(ask: Asker, _: Bench) -> Steps:
    yield ask.init(timeout_ms=200), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    ask.until(lambda: ask.described()[0] != "Ongoing")
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.end("A", 0, ABORT), E.producer_fenced
    yield ask.init("A", 0), E.producer_fenced
    yield ask.init("A", 1), ("A", 2)


@corner(
    "time-out-v2", on="v2", rules="txn.9 txn.18",
    says="The same with two bumps in v2: e + 2, and 90 for the producer whose time was up.",
    answered="""One bump: e + 1. EndTxn(A, e, abort) succeeds with (A, e + 1), so a slow producer aborts and goes
        on; EndTxn(A, e, commit) is 48.""",
    verdict=CORRECTED,
    follows="As for fence-v2: the producer whose time was up is not fenced, it only cannot commit.",
)  # fmt: skip
def time_out_v2(ask: Asker, _: Bench) -> Steps:
    yield ask.init(timeout_ms=200), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    ask.until(lambda: ask.described()[0] != "Ongoing")
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.log(), (["A/0/0", "ABORT"], 2, [])
    yield ask.produce("A", 0, 1), E.invalid_producer_epoch
    yield ask.end("A", 0, COMMIT), E.invalid_txn_state
    yield ask.end("A", 0, ABORT), ("A", 1)
    yield ask.produce("A", 1, 0), 2


@corner(
    "id-expires", on="v2, ids expire", rules="txn.20",
    says="""An idle transactional id is forgotten after transactional.id.expiration.ms, one with an open transaction
        is not. To EndTxn and to a leader's question it is unknown (49) after that; a client that names a pair, fenced
        before or not, is given a new producer id.""",
    answered="""All of it. A partition remembers the old producer id on its own account, and a new one starts beside
        it.""",
)  # fmt: skip
def expires(ask: Asker, _: Bench) -> Steps:
    busy = ask.other("busy")
    yield busy.init(), ("A", 0)
    yield busy.produce("A", 0, 0), 0
    yield ask.init(), ("B", 0)
    yield ask.init("B", 0), ("B", 1)
    yield ask.produce("B", 1, 0), 1
    yield ask.end("B", 1, COMMIT), ("B", 2)
    ask.until(lambda: ask.described() == E.transactional_id_not_found)
    yield ask.end("B", 1, COMMIT), E.invalid_producer_id_mapping
    yield ask.end("B", 2, ABORT), E.invalid_producer_id_mapping
    yield ask.produce("B", 2, 0), E.invalid_producer_id_mapping
    yield ask.init("B", 0), ("C", 0)
    yield ask.produce("C", 0, 0), 3
    yield ask.producers(), [("A", 0, 0, 0), ("B", 2, -1, -1), ("C", 0, 0, 3)]
    yield busy.described(), ("Ongoing", "A", 0, [0])
    yield busy.end("A", 0, COMMIT), ("A", 1)
