"""This module defines the rows of a history that each step of the models of group fencing stands for.

A member of the model is an instance with its producer, whose epoch is another one in each transaction. The auditor
reads what is committed at once. The group before its first generation is epoch 1 of the model, and 0 here.
"""

from fencepost.model.group_fencing.by_requests import ShippedByRequests
from fencepost.model.group_fencing.classic import (
    ByAssignment,
    ByGeneration,
    ByGenerationStatic,
    Draft,
    GroupIdOnly,
    Probing,
    Shipped,
)
from fencepost.model.group_fencing.cooperative import Cooperative, LateCopies
from fencepost.model.group_fencing.core import Fate, Offset, Partition, Stage
from fencepost.model.group_fencing.modern import AtSend, AtSendListening, Modern, Relaxed, RelaxedAtSend
from fencepost.model.group_fencing.over_core import ShippedOverCore
from fencepost.model.group_fencing.upgrade import Upgrade
from fencepost.model.language import exists, when
from fencepost.properties.emitted_events import EmittedEvents, Number, Remembered, Row

ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, UNSTABLE = 22, 25, 88
COMMIT, ABORT = 1, 0

_client = {"slot": "m", "client": "m"}
_pair = {"producer_id": "m", "epoch": Remembered("epoch", at="m")}
_producer = {**_client, "txn": "m", **_pair}


def _of(epoch):
    """Return the generation that an epoch of the model is, or -1 for none."""
    return epoch + (-1)


def _knows(s, p):
    return _of(s.knows[p.m])


def _polled_in(s, p, t):
    return _of(t.stamp[p.m])


def _is_in(s, p):
    return s.is_in(p.m, p.q)


def _next(s, p):
    return s.next[p.m, p.q]


def _each(holds):
    return {"each": {"q": Partition}, "when": holds}


def _ended(outcome):
    return Row("end_sent", **_producer, outcome=outcome), Row("end_told", **_producer, outcome=outcome)


def _begins(s, p):
    return s.stage[p.m] == Stage.POLLING


def _code(s, p):
    return when(s.epoch[p.m] == 0, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION)


def _committed(s, p):
    return when(s.committed[p.p] == 0, s.committed[p.p] + (-1), s.committed[p.p])


GROUP = {
    "fetch": [
        Row("fetch_answered", partition="p", offset=_committed, outcome=1),
        Row("offset_fetched", **_client, partition="p", offset=_committed),
    ],
    "process": [
        Row("txn_begun", when=_begins, **_client, txn="m", producer_id="m", epoch=Number("epoch", at="m")),
        Row("consumed", **_client, partition="p", offset=lambda s, p: s.next[p.m, p.p], generation=_polled_in),
        Row("output_sent", **_producer, output=0, partition="p", offset=lambda s, p: s.next[p.m, p.p]),
    ],
    "send": [
        Row("offset_sent", **_each(_is_in), **_producer, partition="q", offset=_next, member="m",
            generation=lambda s, p: _of(s.epoch_sent(p.m))),
    ],
    "accept": [
        Row("offset_taken", **_each(_is_in), **_pair, partition="q", offset=_next, member="m",
            generation=lambda s, p: _of(s.stamp[p.m])),
    ],
    "refuse": [
        Row("offset_refused", **_each(_is_in), **_pair, partition="q", offset=_next, member="m",
            generation=lambda s, p: _of(s.stamp[p.m]), error=_code),
        *_ended(ABORT),
    ],
    "commit": [
        *_ended(COMMIT),
        Row("output_read", each={"q": Partition, "i": Offset},
            when=lambda s, p: (s.first[p.m, p.q] <= p.i) & (p.i < s.next[p.m, p.q]),
            output=0, position=Number("position"), partition="q", offset="i"),
    ],
    "abort": [*_ended(ABORT)],
    "initialise": [Row("init_told", **_producer)],
    "end": [
        Row("offset_settled", **_each(lambda s, p: 0 < s.pending[p.m, p.q]), **_pair, partition="q",
            offset=lambda s, p: s.pending[p.m, p.q], outcome=lambda s, p: when(s.fate[p.m] == Fate.COMMITTED, 1, 0)),
    ],
}  # fmt: skip


def _is_new(s, p):
    return s.epoch[p.m] != s.newest


def _newest(s, p):
    return _of(s.newest)


CLASSIC = {
    **GROUP,
    "rebalance": [Row("generation_begun", generation=lambda s, p: _of(p.g))],
    "give": [
        Row("revoked", each={"q": Partition}, when=lambda s, p: _is_new(s, p) & s.assigned[p.m, p.q], **_client,
            partition="q"),
        Row("joined", when=_is_new, **_client, generation=_newest, member="m"),
        Row("assigned", **_client, partition="p", generation=_newest),
    ],
}  # fmt: skip


def _fences(s, p):
    return s.assigned[p.m, p.q] & (0 < s.pending[p.n, p.q])


DRAFT = {
    **CLASSIC,
    "answer": [Row("init_told", **_producer)],
    "abort_for": [
        Row("producer_fenced", **_each(_fences), generation=_knows, member="m", partition="q", txn="n",
            producer_id="n", epoch=Remembered("epoch", at="n")),
    ],
    "fail_over": [Row("coordinator_loaded", generation=_newest)],
}  # fmt: skip


_member = {**_client, "member": "m"}


def _given(outcome, generation):
    return Row("partition_given", member="m", partition="p", generation=generation, outcome=outcome)


def _epoch(s, p, t):
    return _of(t.epoch[p.m])


_EPOCH = Row("epoch_given", member="m", generation=_epoch)
_LOST = [Row("lost", **_each(lambda s, p: s.assigned[p.m, p.q]), **_client, partition="q")]

MODERN = {
    **GROUP,
    "expel": [
        Row("member_removed", member="m", generation=lambda s, p: _of(p.g)),
        Row("generation_begun", generation=lambda s, p: _of(p.g)),
    ],
    "join": [_EPOCH, Row("joined", **_member, generation=_epoch)],
    "join_again": [_EPOCH, Row("joined", **_member, generation=_epoch)],
    "advance": [_EPOCH],
    "assign": [_given(1, _epoch), Row("assigned", **_client, partition="p", generation=_epoch)],
    "give_back": [Row("assigned", **_client, partition="p", generation=_epoch)],
    "release": [_given(0, _epoch), _EPOCH],
    "withdraw": [_given(0, _epoch)],
    "learn": [Row("joined", **_member, generation=_epoch)],
    "revoke": [Row("revoked", **_client, partition="p")],
    "fall_out": _LOST,
    "be_fenced": _LOST,
    "be_unknown": _LOST,
    "fetch": [
        Row("fetch_answered", partition="p", offset=_committed, outcome=1, generation=_knows, member="m"),
        GROUP["fetch"][1],
    ],
}  # fmt: skip
AT_SEND = {
    **MODERN,
    "process": [
        *GROUP["process"][:1],
        Row("consumed", **_client, partition="p", offset=lambda s, p: s.next[p.m, p.p], generation=_knows),
        *GROUP["process"][2:],
    ],
}


def _config(bounds):
    return {"inputs": bounds["partitions"], "records": bounds["inputs"]}


def _is_pending(s, p):
    return exists(Partition, lambda q: 0 < s.pending[p.m, q])


NEVER = ("crash", "replace", "fence", "leave", "mishear")
"""The steps in `NEVER` have no rows: a member that has lost its memory goes on as another instance, what else fences a
producer is not in histories, static members have instance ids that no model has, and no model follows a late heartbeat.
"""
ONLY = {"give_up": _is_pending}
"""The steps in `ONLY` have rows only under a condition: a time-out is observed by its pending offsets."""


OLDER_OWNER = (
    "the model adds a partition to a member in whatever epoch it is, which may be older than one in which it was "
    "consumed; Kafka moves the member to that of the newest assignment (CurrentAssignmentBuilder.computeNextAssignment)"
)


def _emitting(mode, rows, **more):
    return EmittedEvents(mode, rows, never=NEVER, only=ONLY, config=_config, **more)


def _with_epochs(mode, rows):
    return _emitting(mode, rows, undecidable={"newest_owner_commits": OLDER_OWNER})


EMITTED = {
    ShippedOverCore: "its transactions are a core of their own, whose steps histories of a group do not have",
    ShippedByRequests: "which copy of a request arrives is in no history of a group",
    Cooperative: "histories of classic groups tell of members that give up all they have at a rebalance",
    LateCopies: "which copy of a commit arrives is in no history of a group",
    Upgrade: "applications with a producer for each partition are told by no events of this model",
    RelaxedAtSend: _with_epochs("new-protocol-relaxed-metadata-at-send", AT_SEND),
    AtSendListening: _with_epochs("new-protocol", AT_SEND),
    AtSend: _with_epochs("new-protocol-metadata-at-send", AT_SEND),
    Relaxed: _with_epochs("new-protocol-relaxed", MODERN),
    Modern: _with_epochs("new-protocol", MODERN),
    ByAssignment: "which initialisation fences a producer without a transaction is not told yet",
    Probing: "the version of a coordinator is in no history",
    ByGenerationStatic: "it is about static members, whose instance ids the model does not have",
    GroupIdOnly: _emitting("group-id-only", CLASSIC),
    Shipped: _emitting("shipped", CLASSIC),
    ByGeneration: _emitting("draft-repaired-by-generation", DRAFT),
    Draft: _emitting("draft", DRAFT),
}
