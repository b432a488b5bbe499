"""Corners of versions: error codes by the request's version, and requests of v2 where the cluster is not."""

from __future__ import annotations

from asking import ABORT, COMMIT, Asker
from corner import CORRECTED, Bench, Steps, corner
from kio.schema.errors import ErrorCode as E


@corner(
    "codes-by-version", on="v2", rules="txn.6 txn.7",
    says="""A fenced producer is 90 from InitProducerId 4, AddPartitionsToTxn 2 and EndTxn 2 on, and 47 before; at a
        partition it is 47 always; another producer id is 49.""",
    answered="All of it.",
)  # fmt: skip
def by_version(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.init(), ("A", 1)
    for version, code in ((3, E.invalid_producer_epoch), (4, E.producer_fenced), (5, E.producer_fenced)):
        yield ask.init("A", 0, version=version), code
    for version, code in ((1, E.invalid_producer_epoch), (2, E.producer_fenced), (5, E.producer_fenced)):
        yield ask.end("A", 0, COMMIT, version=version), code
    for version, code in ((1, E.invalid_producer_epoch), (2, E.producer_fenced), (3, E.producer_fenced)):
        yield ask.add("A", 0, 0, version=version), code
    yield ask.add("A", 2, 0), E.producer_fenced
    yield ask.add(999, 1, 0), E.invalid_producer_id_mapping
    yield ask.end(999, 1, COMMIT), E.invalid_producer_id_mapping
    yield ask.produce("A", 0, 0), E.invalid_producer_epoch


@corner(
    "unknown-id", on="v2", rules="txn.6 txn.7",
    says="""Of a transactional id that was never initialized adding, ending and writing are 49; DescribeTransactions
        says 105.""",
    answered="All of it.",
)  # fmt: skip
def unknown_id(ask: Asker, _: Bench) -> Steps:
    yield ask.end(5, 0, COMMIT), E.invalid_producer_id_mapping
    yield ask.add(5, 0, 0), E.invalid_producer_id_mapping
    yield ask.add_offsets(5, 0), E.invalid_producer_id_mapping
    yield ask.produce(5, 0, 0), E.invalid_producer_id_mapping
    yield ask.commit_offset(5, 0, 0), E.invalid_producer_id_mapping
    yield ask.described(), E.transactional_id_not_found


@corner(
    "add-unknown-partition", on="v1", rules="txn.6",
    says="AddPartitionsToTxn with a partition that is not there: 3 for it, 55 for the others, and nothing is added.",
    answered="All of it.",
)  # fmt: skip
def unknown_partition(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0, 99), [E.operation_not_attempted, E.unknown_topic_or_partition]
    yield ask.described(), ("Empty", "A", 0, [])
    yield ask.add("A", 0, 99), E.unknown_topic_or_partition
    yield ask.add("A", 0, 0, 1), [E.none, E.none]
    yield ask.add("A", 0, 1), E.none
    yield ask.described(), ("Ongoing", "A", 0, [0, 1])


@corner(
    "mixed-versions", on="v2", rules="txn.7 txn.9",
    says="""The version of EndTxn says how a transaction ends, whatever began it. After an end with 5 a retry with 4
        is compared exactly: 90 with the old epoch, and with the new one as if the transaction had been its own.""",
    answered="All of it; and a retry with 5 after an end with 4 is 48, or an empty abort.",
)  # fmt: skip
def mixed(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.add("A", 0, 0), E.none
    yield ask.produce("A", 0, 0, version=11), 0
    yield ask.end("A", 0, COMMIT, version=5), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.end("A", 0, COMMIT, version=4), E.producer_fenced
    yield ask.end("A", 1, COMMIT, version=4), E.none
    yield ask.end("A", 1, ABORT, version=4), E.invalid_txn_state
    yield ask.add("A", 1, 0), E.none
    yield ask.end("A", 1, COMMIT, version=4), E.none
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.end("A", 1, COMMIT, version=5), E.invalid_txn_state
    yield ask.end("A", 1, ABORT, version=5), ("A", 2)


@corner(
    "v2-requests-at-1", on="v1, verified", rules="txn.9 txn.15",
    says="Requests of v2 are for clusters with transaction.version 2 [what of 1?].",
    answered="The request alone decides: at 1 they add, and bump, as at 2. Only clients look at the feature.",
    verdict=CORRECTED,
    follows="A test that lowers the feature must lower the versions of its requests too.",
)  # fmt: skip
def at_one(ask: Asker, _: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0, version=12), 0
    yield ask.end("A", 0, COMMIT, version=5), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)


@corner(
    "v2-requests-at-0", on="v1", rules="txn.5 txn.18",
    says="""At 0 the transaction log has no field for what v2 writes [what becomes of a client that has not heard of
        a downgrade yet?].""",
    answered="""The first request is 35. After it the id answers 51 to everything: the append failed before it
        began, and what was pending is never taken back. A transaction that is open stays open past its time-out,
        and with it the last stable offset, until another coordinator loads the log.""",
    verdict=CORRECTED,
    follows="A defect of Kafka: see below. Nothing follows for model and reference, whose clusters have one version.",
)  # fmt: skip
def at_zero(ask: Asker, at: Bench) -> Steps:
    other = ask.other("other")
    yield ask.init(timeout_ms=1500), ("A", 0)
    yield other.init(timeout_ms=1500), ("B", 0)
    yield ask.add("A", 0, 0), E.none
    yield other.add("B", 0, 0), E.none
    yield ask.produce("A", 0, 0), 0
    yield other.produce("B", 0, 0), 1
    yield ask.end("A", 0, COMMIT, version=5), E.unsupported_version
    yield ask.end("A", 0, COMMIT, version=4), E.concurrent_transactions
    yield ask.init(), E.concurrent_transactions
    ask.until(lambda: other.described()[0] == "CompleteAbort")  # time is up for both by now
    yield ask.described(), ("Ongoing", "A", 0, [0])
    yield ask.log(committed=True), ([], 0, [])
    at.restart(ask)
    ask.until(lambda: ask.described()[0] == "CompleteAbort")
    yield ask.log(committed=True)[1], 4


@corner(
    "v2-produce-at-0", on="v1", rules="txn.5",
    says="The same for Produce 12 and TxnOffsetCommit 5 [what of them?].",
    answered="35, and then 51 to everything.",
    verdict=CORRECTED,
    follows="The same defect.",
)  # fmt: skip
def produce_at_zero(ask: Asker, _: Bench) -> Steps:
    other = ask.other("other")
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0, version=12), E.unsupported_version
    yield ask.init(), E.concurrent_transactions
    yield ask.add("A", 0, 0), E.concurrent_transactions
    yield other.init(), ("B", 0)
    yield other.commit_offset("B", 0, 5, version=5), E.unsupported_version
    yield other.init(), E.concurrent_transactions


@corner(
    "downgrade-under-open", on="v2", rules="txn.5 txn.P10",
    says="""transaction.version may be lowered while clients are connected; they hear of it with their next
        ApiVersions [what of a transaction that is open?].""",
    answered="""The client ends it as it began it, with EndTxn 5: 35, and then 51 to everybody. Raising the feature
        again does not help: what is pending stays until the coordinator loads its log.""",
    verdict=CORRECTED,
    follows="The same defect: it takes no faulty client.",
)  # fmt: skip
def downgrade(ask: Asker, at: Bench) -> Steps:
    yield ask.init(), ("A", 0)
    yield ask.produce("A", 0, 0), 0
    at.cluster.set_feature("transaction.version", 0)
    try:
        yield ask.end("A", 0, COMMIT), E.unsupported_version
    finally:
        at.cluster.set_feature("transaction.version", 2)
    yield ask.end("A", 0, COMMIT), E.concurrent_transactions
    yield ask.init(), E.concurrent_transactions
    yield ask.described(), ("Ongoing", "A", 0, [0])
    at.restart(ask)
    yield ask.end("A", 0, COMMIT), ("A", 1)
    yield ask.settled(), ("CompleteCommit", 1)
    yield ask.log(committed=True), (["A/0/0", "COMMIT"], 2, [])
