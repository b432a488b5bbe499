"""What the events of partitions and readers say about the model of transactions."""

from fencepost.model.language import exists, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Fate, Txn
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.codes import NONE

RECORD = {"t": "txn", "p": "partition"}
MARKER = {"p": "partition", "e": "number", "commit": "commit", "k": "term"}


def good(s, e):
    return e.error == NONE


def same_pair(s, e):
    return implies(s.begun[e.txn], s.number[e.txn] == e.number)


APPENDED = Observation(
    "batch_appended",
    (Do("append", RECORD, when=lambda s, e: s.fate[e.txn, e.partition] == Fate.ABSENT),),
    before=lambda s, e: same_pair(s, e) & s.sent[e.txn, e.partition],
    after=lambda s, e: s.fate[e.txn, e.partition] == Fate.OPEN,
    rule="txn.12",
)


def _something_open(s, e):
    return exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)


def _is_current(s, e):
    """The marker is one that the coordinator waits for."""
    return s.is_current(e.partition, e.number, e.commit) & (e.term == s.term)


PARTITIONS = (
    APPENDED,
    Observation("batch_duplicate", before=lambda s, e: s.fate[e.txn, e.partition] != Fate.ABSENT, rule="txn.14"),
    Observation(
        "marker_appended",
        (
            Do("mark", MARKER, when=_is_current),
            Do("mark_late", MARKER, when=lambda s, e: ~_is_current(s, e) & (s.known[e.partition] < e.next_base)),
        ),
        rule="txn.12",
    ),
    Observation("leader_changed"),
    Observation("stable_moved"),
    Observation("fetched"),
    Observation("record_read", before=lambda s, e: s.fate[e.txn, e.partition] == Fate.COMMITTED, rule="txn.17"),
    Observation("record_seen", before=lambda s, e: s.fate[e.txn, e.partition] != Fate.ABSENT, rule="txn.P6"),
    Observation(
        "offset_fetched",
        before=lambda s, e: (
            ((e.error == NONE) | (e.error == codes.UNSTABLE))
            & implies(_something_open(s, e), e.error == codes.UNSTABLE)
            & implies(e.error == codes.UNSTABLE, _something_open(s, e) | e.others)
            & implies((e.error == NONE) & e.reads, s.fate[e.txn, e.partition] == Fate.COMMITTED)
        ),
        rule="txn.21",
    ),
)  # fmt: skip

ASKED = Observation(
    "check_asked",
    (
        Do("ask", RECORD, when=lambda s, e: (
            (s.fate[e.txn, e.partition] == Fate.ABSENT) & (e.fresh | ~s.asked[e.txn, e.partition]))),
    ),
    before=lambda s, e: same_pair(s, e) & s.sent[e.txn, e.partition],
    rule="txn.15",
)  # fmt: skip


def refusals(produce_code, marker_code):
    return (
        Observation("batch_refused", before=produce_code, rule="txn.12"),
        Observation("marker_refused", before=marker_code, rule="txn.11"),
    )


def checked(code):
    """A leader's question is answered."""
    return Observation("partition_checked", (Do("verify", RECORD, when=good),), before=code, rule="txn.15")
