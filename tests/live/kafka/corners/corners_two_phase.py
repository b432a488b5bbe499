"""Corners of two-phase commit (KIP-939), with the unstable version 6 of InitProducerId switched on."""

from __future__ import annotations

import time

from asking import ABORT, COMMIT, Answer, Asker
from corner import Bench, Steps, corner
from kio.schema.errors import ErrorCode as E

NEVER = 2**31 - 1
INIT_PRODUCER_ID = 22
SHORT_MS, LONGER_S = 200, 1.0


def init(ask: Asker, *, two_phase: bool = True, keep: bool = False, timeout_ms: int = 60_000) -> Answer:
    """InitProducerId in version 6."""
    return ask.init(version=6, timeout_ms=timeout_ms, enable2_pc=two_phase, keep_prepared_txn=keep)


@corner(
    "two-phase-time-out", on="v2, two-phase", rules="939.1",
    says="""A transaction of two-phase commit has no time-out: what the client asks for is not looked at, and only the
        client, or an operator, ends it, also after the coordinator has restarted.""",
    answered="""All of it: any time-out is taken, also a negative one and one above the broker's maximum, and
        DescribeTransactions has the largest number, by which the coordinator knows such a transaction.""",
)  # fmt: skip
def no_time_out(ask: Asker, at: Bench) -> Steps:
    for epoch, timeout_ms in enumerate((900_001, 0, -1, SHORT_MS)):
        yield init(ask, timeout_ms=timeout_ms), ("A", epoch)
    yield ask.time_out_ms(), NEVER
    ordinary = ask.other("ordinary")
    yield ordinary.init(timeout_ms=SHORT_MS), ("B", 0)
    yield ask.produce("A", 3, 0), 0
    yield ordinary.produce("B", 0, 0, partition=1), 0
    yield ordinary.until(lambda: ordinary.described()[0] == "CompleteAbort"), True
    yield ask.described(), ("Ongoing", "A", 3, [0])
    at.restart(ask)
    time.sleep(LONGER_S)
    yield ask.described(), ("Ongoing", "A", 3, [0])
    yield ask.end("A", 3, COMMIT), ("A", 4)
    yield ask.settled(), ("CompleteCommit", 4)
    yield ask.read(), ["A/3/0"]


@corner(
    "two-phase-keep", on="v2, two-phase", rules="939.2 939.26",
    says="""InitProducerId with keepPreparedTxn leaves the open transaction as it is, and answers its pair beside the
        new one.""",
    answered="""It is refused with 35 on any id, with two-phase commit and without, and the open transaction is as it
        was: a client can not find out what it has prepared (PR 21735 is open).""",
)  # fmt: skip
def keep(ask: Asker, _: Bench) -> Steps:
    yield init(ask, keep=True), E.unsupported_version
    yield init(ask), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    for two_phase in (True, False):
        yield init(ask, two_phase=two_phase, keep=True), E.unsupported_version
    yield ask.described(), ("Ongoing", "A", 0, [0])
    yield ask.end("A", 0, COMMIT), ("A", 1)


@corner(
    "two-phase-begin-anew", on="v2, two-phase", rules="939.26",
    says="""InitProducerId without keepPreparedTxn aborts what is open, also what was prepared: so does a client that
        knows nothing of two-phase commit, and an operator's forced abort.""",
    answered="""All of it, in version 5 and 6; and an open transaction of an ordinary client, by one with two phases.
        Who had prepared it gets 48 for its commit, and 90 once another has begun.""",
)  # fmt: skip
def begin_anew(ask: Asker, _: Bench) -> Steps:
    yield init(ask), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield init(ask), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 1)
    yield ask.end("A", 0, COMMIT), E.invalid_txn_state
    yield init(ask), ("A", 2)
    yield ask.end("A", 0, COMMIT), E.producer_fenced
    yield ask.produce("A", 2, 0), 2
    yield ask.init(), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 3)
    yield ask.init(), ("A", 4)
    yield ask.produce("A", 4, 0), 4
    yield init(ask), E.concurrent_transactions
    yield ask.settled(), ("CompleteAbort", 5)
    yield init(ask), ("A", 6)
    yield ask.read(), []


@corner(
    "two-phase-in-turn", on="v2, two-phase", rules="939.27",
    says="An id may be used with two-phase commit and without in turn: each InitProducerId says which it is.",
    answered="It may: the time-out is that of the last one, and the transaction of an ordinary client is timed out.",
)  # fmt: skip
def in_turn(ask: Asker, _: Bench) -> Steps:
    yield init(ask), ("A", 0)
    yield ask.time_out_ms(), NEVER
    yield ask.init(timeout_ms=SHORT_MS), ("A", 1)
    yield ask.time_out_ms(), SHORT_MS
    yield ask.produce("A", 1, 0), 0
    yield ask.until(lambda: ask.described()[0] == "CompleteAbort"), True
    yield ask.end("A", 1, COMMIT), E.invalid_txn_state
    yield init(ask, two_phase=False, timeout_ms=SHORT_MS), ("A", 3)
    yield ask.time_out_ms(), SHORT_MS
    yield init(ask), ("A", 4)
    yield ask.time_out_ms(), NEVER


@corner(
    "two-phase-end-again", on="v2, two-phase", rules="939.18",
    says="What was decided is answered as success again, and the other decision is refused.",
    answered="All of it: as for any transaction of version 2.",
)  # fmt: skip
def end_again(ask: Asker, _: Bench) -> Steps:
    yield init(ask), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.end("A", 0, ABORT), E.invalid_txn_state
    yield ask.read(), ["A/0/0"]


@corner(
    "two-phase-not-enabled", on="v2, unstable versions", rules="939.9",
    says="Where the broker does not enable it, two-phase commit is refused with 53.",
    answered="""It is, and keepPreparedTxn with 35, before it is looked at whether there is something to keep. Without
        a transactional id neither flag is looked at.""",
)  # fmt: skip
def not_enabled(ask: Asker, _: Bench) -> Steps:
    yield ask.newest(INIT_PRODUCER_ID), 6
    yield init(ask), E.transactional_id_authorization_failed
    yield init(ask, two_phase=False, keep=True), E.unsupported_version
    yield init(ask, two_phase=False), ("A", 0)
    yield ask.init(txn=None, version=6, enable2_pc=True, keep_prepared_txn=False), ("B", 0)
    yield ask.init(txn=None, version=6, enable2_pc=True, keep_prepared_txn=True), ("C", 0)


@corner(
    "two-phase-not-there", on="v2", rules="939.9",
    says="Version 6 of InitProducerId is unstable.",
    answered="A broker as it is shipped has 5 as the newest, so that no client can ask for two-phase commit.",
)  # fmt: skip
def not_there(ask: Asker, _: Bench) -> Steps:
    yield ask.newest(INIT_PRODUCER_ID), 5
