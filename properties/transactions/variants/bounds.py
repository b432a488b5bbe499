"""This module has the bounds within which transactions are explored, one feature at a time, and the reason for each."""

from collections.abc import Mapping

from fencepost.properties.entries import Scenario


def played(name: str, says: str, broken: str, fixed: str) -> Scenario:
    return Scenario(name, says, broken, fixed, played=True)


CORE = dict(clients=2, transactions=2, partitions=1, epochs=3, fail_overs=1, fences=1)
_TWO_PARTITIONS = dict(clients=1, partitions=2, epochs=2, fail_overs=0)
TWO_PARTITIONS = dict(_TWO_PARTITIONS, fences=0)
CORE_PROGRESS = (
    dict(clients=2, transactions=1, partitions=1, epochs=5, fail_overs=1, fences=0),
    dict(clients=1, transactions=2, partitions=1, epochs=4, fail_overs=0, fences=0),
)
TIMED_OUT = dict(CORE, failed_appends=1)
TIMED_OUT_PROGRESS = (
    dict(clients=2, transactions=1, partitions=1, epochs=5, fail_overs=1, fences=0, failed_appends=1),
    dict(clients=1, transactions=2, partitions=1, epochs=4, fail_overs=0, fences=0, failed_appends=1),
)
OVERLAPPING_PROGRESS = (
    dict(clients=2, transactions=1, partitions=1, epochs=5, fail_overs=1, fences=0),
    dict(clients=1, transactions=2, partitions=1, epochs=4, fail_overs=1, fences=0),
)
_QUIET = dict(reinits=0, copies=0, losses=0, failed_appends=0, fail_overs=0, stragglers=0)
FULL = dict(_QUIET, clients=2, transactions=2, partitions=1, epochs=4, last=9)
_RETRY = dict(clients=1, transactions=1, reinits=1, losses=1, fail_overs=1)
FAIL_OVER_IN_A_RETRY = dict(FULL, **_RETRY)
FEATURES: Mapping[str, Mapping[str, int]] = {
    "two partitions": _TWO_PARTITIONS,
    "retries": dict(clients=1, epochs=5, reinits=1, losses=1, failed_appends=1),
    "late copies": dict(clients=1, copies=1),
    "a fenced producer asks again": dict(reinits=1),
    "the last epoch": dict(clients=1, epochs=8, last=1, failed_appends=1, fail_overs=1, losses=1),
    "a retry at the last epoch": dict(
        clients=1, transactions=1, epochs=8, last=1, failed_appends=1, fail_overs=1, losses=1, reinits=1, copies=1
    ),
    "fail-over": dict(clients=1, fail_overs=1, failed_appends=1, losses=1),
    "fail-over in a retry": _RETRY,
    "two answers at once": dict(clients=1, stragglers=1),
}
OF_V1: Mapping[str, Mapping[str, int]] = {
    "two owners": dict(clients=2, epochs=4),
    "two partitions of v1": dict(partitions=2, epochs=1),
    "the last epoch of v1": dict(transactions=1, epochs=8, last=1, failed_appends=1),
}
"""The bounds `OF_V1` have two owners to reach the last epoch, because v1 bumps the epoch for an owner only."""
LATE = dict(FULL, clients=1, epochs=2, last=3)
"""`LATE` has the smallest bounds in which a late request of one transaction affects the next."""
LAST_EPOCH = dict(FULL, clients=1, epochs=8, last=1, failed_appends=1)
ROTATION = dict(FULL, clients=1, epochs=8, last=1, fail_overs=1, losses=1)
"""`ROTATION` has bounds with a fail-over while the producer id changes."""
OVERLAPPING = dict(clients=1, transactions=2, partitions=2, epochs=1, fail_overs=1, fences=0)
LATE_MARKER = dict(clients=1, transactions=2, partitions=2, epochs=1, fail_overs=0, fences=0)
"""In the bounds `LATE_MARKER` a late marker, or a stale answer, gives one transaction of v1 two outcomes: one epoch
serves two transactions, and no fence is needed."""
BEFORE_KIP_1228 = dict(clients=1, transactions=2, partitions=2, epochs=3, fail_overs=0, fences=0)
VERSIONS = dict(clients=1, transactions=2, partitions=1, epochs=3, fail_overs=0, fences=0, changes=1)
HANGING = dict(clients=1, transactions=1, partitions=1, epochs=2, fail_overs=0, fences=0)
EXPIRING = dict(FULL, last=1, epochs=7, transactions=1, expiries=1)
PROGRESS = (
    dict(FULL, clients=1, transactions=1, epochs=6, losses=1, failed_appends=1, reinits=1),
    dict(FULL, clients=1, epochs=6, stragglers=1, losses=1),
    dict(FULL, clients=1, epochs=6, fail_overs=1),
    dict(FULL, transactions=1, epochs=6),
)
VERIFIED_PROGRESS = (
    *PROGRESS[:2], dict(FULL, clients=1, transactions=1, epochs=6, fail_overs=1, losses=1), PROGRESS[3],
)  # fmt: skip
"""Progress is about the time after the last fault, so these bounds have one fault of each kind that leaves something to
wait for. The epochs suffice for all that happens, or else the end of the bounds would look like an end of the run."""


REASONS = {
    "clients": "a producer and the one that fences it; a third only repeats what the second does",
    "transactions": "one whose requests come late and one that they meet; a third repeats the second",
    "partitions": "two have two fates and may be torn apart; one is enough where fates are not compared",
    "epochs": "enough for two owners and the ends of two transactions; at the end of a producer id, for two ids",
    "last": "9 is never reached; 1 is reached by the second owner, or at the end of the second transaction",
    "reinits": "one request that names its epoch, answered, lost and repeated",
    "copies": "a copy is one more delivery",
    "losses": "one lost answer leaves one side not knowing",
    "failed_appends": "one failure leaves a transition to be tried again",
    "fail_overs": "one fail-over loses all that only memory knows, and leaves one coordinator's markers behind",
    "fences": "one call of an admin; a second raises the epoch once more",
    "changes": "transaction.version is raised while a transaction is open; nightly it is lowered again",
    "stragglers": "one second callback meets one newer entry",
    "expiries": "an id is forgotten once",
}
