"""Corners of the epochs' end: 32766 is the last one given out, 32767 is kept for a fence, then comes another id."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import Bench, Steps, corner
from forged_log import forge_epoch
from gate import WRITE_TXN_MARKERS
from kio.schema.errors import ErrorCode as E

LAST = 32766


def at_epoch(ask: Asker, at: Bench, epoch: int) -> None:
    """Bring the id of `ask` to this epoch."""
    ask.init()
    forge_epoch(ask, "A", epoch)
    at.restart(ask)


def init(ask: Asker, producer: str | int = -1, epoch: int = -1) -> object:
    """InitProducerId; a broker that has just started may not have its block of producer ids yet, and says 14."""
    return ask.until(lambda: (answer := ask.init(producer, epoch)) != E.coordinator_load_in_progress and answer)


@corner(
    "last-rotates", on="v2", rules="txn.4",
    says="""From 32766 InitProducerId leads to a new producer id at epoch 0; a retry that names (A, 32766) gets the
        same; A is fenced from then on.""",
    answered="All of it, with a pair; without one the retry memory is empty, and (A, 32766) is 90.",
)  # fmt: skip
def rotates(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield init(ask, "A", LAST), ("B", 0)
    yield init(ask, "A", LAST), ("B", 0)
    yield init(ask, "A", LAST - 1), E.producer_fenced
    yield init(ask, "B", 0), ("B", 1)
    yield init(ask, "A", LAST), E.producer_fenced
    yield ask.end("A", LAST, ABORT), E.invalid_producer_id_mapping


@corner(
    "last-retry", on="v2", rules="txn.2 txn.4",
    says="""With 32766 stored, a retry that names 32765 (its answer was lost), and any older epoch, meets an
        internal error: the epoch is bumped before the retry is looked at [INFER].""",
    answered="UNKNOWN_SERVER_ERROR (-1) for 32765 and for 32764. Only 32766, or no pair, leads on.",
    follows="""A lone producer that loses this one answer is told -1, which is fatal. So is the reference's; that a
        mend is enough, the model shows (transactions/v2-mended).""",
)  # fmt: skip
def last_retry(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST - 2)
    yield init(ask, "A", LAST - 2), ("A", LAST - 1)
    yield init(ask, "A", LAST - 2), ("A", LAST - 1)
    yield init(ask, "A", LAST - 1), ("A", LAST)
    yield init(ask, "A", LAST - 1), E.unknown_server_error
    yield init(ask, "A", LAST - 2), E.unknown_server_error
    yield ask.described(), ("Empty", "A", LAST, [])
    yield init(ask), ("B", 0)


@corner(
    "last-end-v2", on="v2", rules="txn.4 txn.9",
    says="""EndTxn of v2 at 32766: the marker carries 32767, the answer the pair for the next transaction, another
        producer id at epoch 0, and a retry is recognized by the id before.""",
    answered="All of it: Prepare is (A, 32767), Complete (B, 0), and the answer says (B, 0) before that.",
)  # fmt: skip
def last_end(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield ask.produce("A", LAST, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield end(ask, LAST, COMMIT), ("B", 0)
    yield ask.described(), ("PrepareCommit", "A", LAST + 1, [0])
    yield ask.end("A", LAST, COMMIT), E.concurrent_transactions
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.described()[1], "B"
    yield ask.producers(), [("A", LAST + 1, -1, -1)]
    yield ask.end("A", LAST, COMMIT), ("B", 0)
    yield ask.end("A", LAST, ABORT), E.invalid_txn_state
    yield ask.produce("A", LAST, 1), E.invalid_producer_epoch
    yield ask.produce("B", 0, 0), 2
    yield ask.end("B", 0, COMMIT), ("B", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True)[1], 4


@corner(
    "last-end-v2-fail-over", on="v2", rules="txn.4 txn.9 txn.19",
    says="""The log keeps the next and the previous producer id: an overflow over a fail-over in Prepare ends at the
        same id (an older version lost it [INFER]).""",
    answered="It does: (B, 0), as the answer before the fail-over said, and the retry is recognized.",
)  # fmt: skip
def last_end_fail_over(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield ask.produce("A", LAST, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield end(ask, LAST, COMMIT), ("B", 0)
    at.restart(ask)
    yield ask.described(), ("PrepareCommit", "A", LAST + 1, [0])
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteCommit", 0)
    yield ask.described(), ("CompleteCommit", "B", 0, [])
    yield ask.end("A", LAST, COMMIT), ("B", 0)
    yield ask.log(committed=True), ([f"A/{LAST}/0", "COMMIT"], 2, [])


@corner(
    "last-fence-v2", on="v2", rules="txn.4 txn.18",
    says="""A fence at 32766 takes 32767, the abort does not go past it, and the id rotates (KAFKA-19367,
        KAFKA-20090).""",
    answered="Prepare is (A, 32767), Complete (B, 0); the InitProducerId that follows gets (B, 1).",
)  # fmt: skip
def last_fence(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield ask.produce("A", LAST, 0), 0
    at.gate.hold(WRITE_TXN_MARKERS)
    yield init(ask), E.concurrent_transactions
    yield ask.described(), ("PrepareAbort", "A", LAST + 1, [0])
    at.gate.release(WRITE_TXN_MARKERS)
    yield ask.settled(), ("CompleteAbort", 0)
    yield ask.described()[1], "B"
    yield ask.end("A", LAST, ABORT), ("B", 0)
    yield ask.init(), ("B", 1)


@corner(
    "last-time-out-v2", on="v2", rules="txn.4 txn.18",
    says="A time-out at 32766 does the same; the late EndTxn of its producer is a retry over the overflow.",
    answered="It does: abort gets (B, 0), commit 48.",
)  # fmt: skip
def last_time_out(ask: Asker, at: Bench) -> Steps:
    ask.init()
    forge_epoch(ask, "A", LAST, timeout_ms=500)
    at.restart(ask)
    yield ask.produce("A", LAST, 0), 0
    ask.until(lambda: ask.described()[0] == "CompleteAbort")
    yield ask.described(), ("CompleteAbort", "B", 0, [])
    yield ask.end("A", LAST, COMMIT), E.invalid_txn_state
    yield ask.end("A", LAST, ABORT), ("B", 0)
    yield ask.produce("B", 0, 0), 2


@corner(
    "last-fence-v1", on="v1", rules="txn.4 txn.18",
    says="In v1 a fence at 32766 leaves (A, 32767) in Complete, and the InitProducerId that follows rotates.",
    answered="It does.",
)  # fmt: skip
def last_fence_v1(ask: Asker, at: Bench) -> Steps:
    at_epoch(ask, at, LAST)
    yield ask.add("A", LAST, 0), E.none
    yield ask.produce("A", LAST, 0), 0
    yield init(ask), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", LAST + 1)
    yield init(ask), ("B", 0)
    yield ask.produce("A", LAST, 1), E.invalid_producer_epoch


def end(ask: Asker, epoch: int, committed: bool) -> object:
    """EndTxn, for which a broker that has just started may need a producer id that it does not have yet."""
    return ask.until(lambda: (answer := ask.end("A", epoch, committed)) != E.coordinator_load_in_progress and answer)
