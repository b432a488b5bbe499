"""This module gives the rows of a history that each step of the full models of transactions emits.

There is one transactional id, and one producer id, whose epochs do not end. A record stands for everything that a
transaction has in a partition, and is acknowledged as soon as it is there. A reader of committed records reads each
partition on whenever a marker arrives.
"""

from fencepost.model.language import when
from fencepost.model.transactions.abstract.core import Fate, Outcome, Phase, Txn
from fencepost.model.transactions.abstract.cores import Prompt
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.model.transactions.detailed.expiry import Forgetting
from fencepost.model.transactions.detailed.full import V1, V2, LateEnds, Verified
from fencepost.model.transactions.detailed.releases import V2Of400
from fencepost.properties.emitted_events import EmittedEvents, Note, Number, Remembered, Row
from fencepost.properties.history import HistoryError
from fencepost.properties.transactions.events.kinds import (
    ABORT,
    COMMIT,
    CONCURRENT,
    FAILED,
    FENCED,
    INVALID_STATE,
    State,
)

NODE, ID = 0, 0
READER = 1000

_at = {"node": NODE}
_log = {"node": NODE, "txn_id": ID, "coordinator_epoch": lambda s, p: s.term}


def _pair_of(number):
    return {"producer_id": lambda s, p: when(number(s, p) == 0, number(s, p) + (-1), 0),
            "epoch": lambda s, p: number(s, p) + (-1)}  # fmt: skip


def _number(s, p):
    return s.number[p.t]


def _owner(s, p):
    return s.owner[p.t]


def _txn(name):
    return Remembered("txn", at=name)


_of_txn = {"client": _owner, "txn": _txn("t"), **_pair_of(_number)}
_record = Remembered("record", at=("t", "p"))
_request = Remembered("request", at="c")
_end = {"txn_id": ID, "request": Remembered("end", at="t")}


def _choice(s, p):
    return when(s.choice[p.t] == Outcome.COMMIT, COMMIT, ABORT)


def _asks(named):
    return Row("init_sent", client="c", txn_id=ID, request=Number("request", at="c"), **named)


_again = _pair_of(lambda s, p: when(s.again[p.c], s.holds[p.c], 0))
PRODUCERS = {
    "start": [Row("client_started", client="c", txn_id=ID), _asks({})],
    "start_again": [_asks(_pair_of(lambda s, p: s.holds[p.c]))],
    "take": [Row("init_taken", client="c", request=_request, **_pair_of(lambda s, p: s.answered[p.c]))],
    "begin": [
        Row("txn_begun", client="c", txn_id=ID, txn=Number("txn", at="t"), **_pair_of(lambda s, p: p.e)),
    ],
    "send": [
        Row("record_sent", **_of_txn, txn_id=ID, partition="p", record=Number("record", at=("t", "p")),
            request=Number("sent", at=("t", "p"), of="request")),
    ],
    "commit": [
        Row("end_sent", **_of_txn, txn_id=ID, outcome=COMMIT, request=Number("end", at="t", of="request")),
    ],
    "abort": [
        Row("end_sent", **_of_txn, txn_id=ID, outcome=ABORT, request=Number("end", at="t", of="request")),
    ],
    "learn": [
        Row("end_told", client=_owner, txn=_txn("t"), outcome=_choice, request=Remembered("end", at="t"),
            **_pair_of(lambda s, p: s.follows[p.t])),
    ],
}  # fmt: skip


def _prepared(s, p):
    return when(s.choice[p.t] == Outcome.COMMIT, State.PrepareCommit, State.PrepareAbort)


def _completed(s, p):
    return when(s.outcome == Outcome.COMMIT, State.CompleteCommit, State.CompleteAbort)


def _stopping(code):
    return [
        Row("init_handled", **_at, txn_id=ID, request=_request, error=code),
        Row("init_taken", client="c", request=_request, error=code),
        Row("client_failed", client="c", error=code),
    ]


COORDINATOR = {
    "initialize": [
        Row("txn_logged", **_log, state=State.Empty, **_pair_of(lambda s, p: p.to)),
        Row("init_handled", **_at, txn_id=ID, request=_request, **_pair_of(lambda s, p: p.to)),
    ],
    "answer_init_again": [
        Row("init_handled", **_at, txn_id=ID, request=_request, **_pair_of(lambda s, p: s.epoch)),
    ],
    "refuse_init": _stopping(FENCED),
    "fail_init": _stopping(FAILED),
    "fence_first": [
        Row("init_handled", **_at, txn_id=ID, request=_request, error=CONCURRENT),
        _asks(_again),
    ],
    "time_out": [Row("timed_out", **_at, txn_id=ID, **_pair_of(lambda s, p: s.live()))],
    "take_over": [Row("txn_logged", **_log, state=State.PrepareAbort, **_pair_of(lambda s, p: p.marker))],
    "end": [
        Row("txn_logged", **_log, state=_prepared, **_pair_of(lambda s, p: p.marker)),
        Row("end_handled", **_at, **_end, outcome=_choice, **_pair_of(lambda s, p: p.to)),
    ],
    "answer_again": [Row("end_handled", **_at, **_end, outcome=_choice, **_pair_of(lambda s, p: s.epoch))],
    "complete": [Row("txn_logged", **_log, state=_completed, **_pair_of(lambda s, p: s.epoch))],
    "fail_over": [Row("coordinator_loaded", **_at, coordinator_epoch=lambda s, p, t: t.term)],
}  # fmt: skip


_adds = Row("txn_logged", when=lambda s, p: s.pending == Pending.ADD, **_log, state=State.Ongoing, **_pair_of(_number))
_asked = {"partition": "p", **_pair_of(_number), "request": Remembered("sent", at=("t", "p"))}
_marker = {"node": NODE, "partition": "p", **_pair_of(lambda s, p: p.e)}


def _outcome(s, p):
    return when(p.commit, COMMIT, ABORT)


_MARK = [
    Row("marker_appended", **_marker, outcome=_outcome, coordinator_epoch=lambda s, p: p.k, offset=Number("offset")),
    Row("stable_moved", partition="p", upto=Remembered("offset", at=0, plus=1)),
    Row("fetched", client=READER, partition="p", offset=Remembered("upto", at="p", none=0),
        upto=Remembered("offset", at=0, plus=1)),
    Row("record_read", each={"q": Txn}, when=lambda s, p: p.commit & (s.fate[p.q, p.p] == Fate.OPEN), client=READER,
        partition="p",
        offset=Remembered("place", at=("q", "p")), record=Remembered("record", at=("q", "p"))),
    Note("upto", at="p", value=Remembered("offset", at=0, plus=1)),
]  # fmt: skip
PARTITIONS = {
    "append": [
        Row("batch_appended", **_at, partition="p", offset=Number("offset"), **_pair_of(_number), record=_record,
            request=Remembered("sent", at=("t", "p"))),
        Note("place", at=("t", "p"), value=Remembered("offset", at=0)),
        Row("record_acked", client=_owner, txn=_txn("t"), partition="p", record=_record,
            request=Remembered("sent", at=("t", "p")), offset=Remembered("offset", at=0)),
    ],
    "mark": [*_MARK, Row("marker_acked", **_marker, txn_id=ID)],
    "mark_unheard": _MARK,
    "mark_late": _MARK,
    "ask": [Row("check_asked", **_at, **_asked)],
}  # fmt: skip
BASE = {**PRODUCERS, **COORDINATOR, **PARTITIONS}


def _end_code(s, p):
    """Return the error of an EndTxn: INVALID_TXN_STATE for another outcome than that of the one before, or where there
    is nothing to commit."""
    again = s.is_retry(p.t) & s.is_next_to_present(p.t) & (s.outcome != Outcome.NONE) & (s.phase == Phase.IDLE)
    other = again & (s.outcome != s.choice[p.t])
    return when(other | (s.number[p.t] == s.live()), INVALID_STATE, FENCED)


def _refusing(code):
    return [
        Row("end_handled", **_at, **_end, outcome=_choice, error=code),
        Row("end_told", client=_owner, txn=_txn("t"), outcome=_choice, request=Remembered("end", at="t"), error=code),
        Row("client_failed", client=_owner, error=code),
    ]  # fmt: skip


V2_ROWS = {
    **BASE,
    "verify": [_adds, Row("partition_checked", **_at, txn_id=ID, **_asked)],
    "refuse_end": _refusing(_end_code),
}  # fmt: skip


_add = {"request": Remembered("add", at=("t", "p")), "partition": "p"}
_add_sent = Row("add_sent", **_of_txn, txn_id=ID, partition="p", request=Number("add", at=("t", "p"), of="request"))
V1_ROWS = {
    **BASE,
    "add_partition": [
        _add_sent, _adds,
        Row("add_handled", **_at, txn_id=ID, **_add, **_pair_of(_number)),
        Row("add_taken", client=_owner, txn=_txn("t"), **_add),
    ],
    "refuse_add": [
        _add_sent, Row("add_handled", **_at, txn_id=ID, **_add, error=FENCED),
        Row("add_taken", client=_owner, txn=_txn("t"), **_add, error=FENCED),
        Row("client_failed", client=_owner, error=FENCED),
    ],
    "refuse_end": _refusing(lambda s, p: when(s.number[p.t] != s.live(), FENCED, INVALID_STATE)),
}  # fmt: skip
VERIFIED_ROWS = {**V1_ROWS, "verify": [Row("partition_checked", **_at, txn_id=ID, **_asked)]}


def _config(bounds):
    if bounds["last"] + 1 < bounds["epochs"]:
        raise HistoryError(
            f"an epoch past the last one needs another producer id; give last={bounds['epochs']} or more"
        )
    return {"partitions": bounds["partitions"]}


ONLY = {
    "send": lambda s, p: ~s.sent[p.t, p.p],
    "refuse_end": lambda s, p: (s.pending == Pending.NOTHING) & (s.phase != Phase.PREPARED),
}


def _emitting(mode, rows, only=ONLY, config=_config, **more):
    """Return the emitted events of a mode. A producer does not send again what it has sent, and a late copy of its
    first request takes no request's place. Histories have no event for a fence that is under way."""
    return EmittedEvents(
        mode, rows, never=("come_late", "append_fails"), only=only, config=config, narrower=(LateEnds, Prompt), **more
    )  # fmt: skip


EMITTED = {
    Forgetting: "an id that is forgotten goes on with another producer id, which has no number in the model",
    Verified: _emitting("v1-verified", VERIFIED_ROWS, {**ONLY, "verify": lambda s, p: s.pending != Pending.FENCE}),
    V1: _emitting("v1", V1_ROWS),
    V2Of400: _emitting("v2", V2_ROWS),
    V2: _emitting("v2", V2_ROWS, config=lambda bounds: {**_config(bounds), "release": "4.3"}),
}  # fmt: skip
