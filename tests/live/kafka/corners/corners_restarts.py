"""Corners of a restart: what a coordinator and a partition's leader remember, and what they have forgotten."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import Bench, Steps, corner
from gate import WRITE_TXN_MARKERS
from kio.schema.errors import ErrorCode as E


@corner(
    "restart-forgets-last-epoch", on="v2", rules="txn.2 txn.19",
    says="""The last epoch is not in the transaction log: a producer that repeats its InitProducerId over a
        fail-over of the coordinator is fenced, although no other was there.""",
    answered="90; with the epoch that it never heard of it is bumped.",
)  # fmt: skip
def forgets_last_epoch(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init("A", 0), ("A", 1)
    at.restart(ask)
    yield ask.described(), ("Empty", "A", 1, [])
    yield _settled_init(ask, 0), E.producer_fenced
    yield _settled_init(ask, 1), ("A", 2)


@corner(
    "restart-end-retry", on="v2", rules="txn.7 txn.19",
    says="EndTxn of v2 is known again by its epoch alone, which is in the log: a retry over a fail-over succeeds.",
    answered="It does, and the other result is 48.",
)  # fmt: skip
def end_retry(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    at.restart(ask)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.end("A", 0, ABORT), E.invalid_txn_state


@corner(
    "restart-one-batch", on="v2", rules="txn.14",
    says="""A snapshot of a partition's producers has one batch each: after a restart the last one is known again,
        and older ones are 45. The open transaction is open still.""",
    answered="All of it.",
)  # fmt: skip
def one_batch(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield [ask.produce("A", 0, sequence) for sequence in range(4)], [0, 1, 2, 3]
    at.restart(ask)
    yield ask.producers(), [("A", 0, 3, 0)]
    yield ask.produce("A", 0, 2), E.out_of_order_sequence_number
    yield ask.produce("A", 0, 3), 3
    yield ask.produce("A", 0, 4), 4
    yield ask.log(committed=True), ([], 0, [])
    yield ask.described(), ("Ongoing", "A", 0, [0])
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True), ([f"A/0/{sequence}" for sequence in range(5)] + ["COMMIT"], 6, [])


@corner(
    "restart-prepared", on="v2", rules="txn.8 txn.10 txn.19",
    says="""A coordinator that finds Prepare in the log sends the markers again, under its new epoch, and asks 51 of
        everybody until they are written; the outcome stays.""",
    answered="All of it.",
)  # fmt: skip
def prepared(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    at.restart(ask)
    at.gate.wait_for(WRITE_TXN_MARKERS)
    yield ask.described(), ("PrepareCommit", "A", 1, [0])
    yield ask.end("A", 0, COMMIT), E.concurrent_transactions
    yield ask.end("A", 1, ABORT), E.concurrent_transactions
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True), (["A/0/0", "COMMIT"], 2, [])


def _settled_init(ask: Asker, epoch: int) -> object:
    """A restarted broker has no block of producer ids at first, and says 14 until it has one, if it needs one."""
    return ask.until(lambda: (answer := ask.init("A", epoch)) != E.coordinator_load_in_progress and answer)
