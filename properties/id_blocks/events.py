"""This module defines the events of producer id blocks (KIP-730): kinds, columns, and which kind uses which columns.

Codes and names are a file format: histories written years ago carry them. Add new codes at the end, and never renumber.
"""

from typing import Any

import numpy as np
from fencepost.model.id_blocks.bridge import Controller
from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.language import Bool, Int, Nat, exists, implies, when
from fencepost.model.language.observations import Do, Observation
from fencepost.properties.conformance_spec import Allowed
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

BLOCK = "first length"

OUTSIDE = "outside"  # what every implementation can show


class Kind(EventKind):
    broker_started = 1, "broker broker_epoch"  # (re)started with an empty memory and registered under that epoch
    broker_stopped = 2, "broker"  # crashed: its blocks, its outstanding request and its back-off are gone
    request_sent = 3, "broker broker_epoch request", OUTSIDE  # AllocateProducerIds leaves the broker
    # the active controller appended the record; it is not committed yet
    block_recorded = 4, f"node broker broker_epoch request grant {BLOCK}"
    block_committed = 5, f"broker broker_epoch grant {BLOCK}"  # the record is majority-committed
    # the controller answers; with an error, grant and first are absent
    answer_sent = 6, f"node broker request grant {BLOCK} error", OUTSIDE
    answer_taken = 7, f"broker request grant {BLOCK}"  # the broker accepted the block as its next, prefetched one
    # ignored: late, or a second copy, and so not for the outstanding request
    answer_dropped = 8, "broker request error"
    # malformed, or starts at or below the last id held: back-off starts
    answer_refused = 9, f"broker request grant {BLOCK}"
    answer_failed = 10, "broker request error"  # an error answers the outstanding request: back-off starts
    request_timed_out = 11, "broker request"  # given up: the in-flight flag is cleared, without a back-off
    # the prefetched block becomes the current one; the in-flight flag is cleared
    block_installed = 12, f"broker {BLOCK}"
    id_handed_out = 13, "broker producer_id", OUTSIDE  # a client's InitProducerId was answered with this id
    id_refused = 14, "broker error", OUTSIDE  # a client's InitProducerId was answered with an error
    backoff_over = 15, "broker"  # the back-off deadline has passed; seen at the next demand after it
    controller_elected = 16, "node"  # a controller became active; uncommitted records and waiting requests are gone
    snapshot_taken = 17, "node first"  # a snapshot with the next free id `first`; the log before it is dropped
    zk_read = 18, "broker first"  # read ZooKeeper's block node; `first` is the first id it will try to take
    zk_written = 19, f"broker request {BLOCK}"  # the conditional write won: the block is taken
    zk_conflict = 20, "broker request"  # the conditional write lost
    migrated = 21, "first"  # KRaft took over from ZooKeeper with next free id `first`
    broker_upgraded = 22, "broker"  # from now on the broker uses the RPC instead of ZooKeeper
    # the controller refuses; the answer_sent with the same error follows
    request_refused = 23, "node broker request error"


COLUMNS = (
    Column("node", "int32", "controller node that acted"),
    Column("broker", "int32", "broker that acted or is addressed; for ZooKeeper events, absent = the controller"),
    Column("broker_epoch", "int64", "epoch under which the broker registered"),
    Column("request", "int64", "correlation number of an AllocateProducerIds request, unique in its history"),
    Column("grant", "int64", "ordinal of the record in the order of appending, lost records counted", "records"),
    Column("first", "int64", "first id of a block, inclusive; in snapshot_taken and migrated: next free id", "ids"),
    Column("length", "int32", "number of ids in the block", "ids"),
    Column("producer_id", "int64", "the id that a client was given"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    KAFKA_ERROR,
)

ID_BLOCKS = Vocabulary("id-blocks", Kind, COLUMNS, public=(OUTSIDE,))


# Which events of producer id blocks detect a danger; see `fencepost.properties.history.signs`.


def _granted_twice(e: Events) -> int:
    return e.further(e.of(Kind.block_recorded), ("request",), "step")


def _given_up(e: Events, *, answered: bool) -> int:
    """Return how many requests were given up though a block was recorded (``answered``), or were never seen."""
    given_up = e.of(Kind.request_timed_out)
    seen = e.of(Kind.block_recorded) if answered else e.of(Kind.block_recorded, Kind.request_refused, Kind.answer_sent)
    mine, theirs = e.together((given_up, seen), "request")
    known = np.isin(mine, theirs)
    return int((known if answered else ~known).sum())


def _late(e: Events) -> int:
    return len(e.after(e.of(Kind.answer_dropped), e.of(Kind.request_timed_out), "request"))


SIGNS = (
    Sign("late-copy", "answers to requests that were given up", _late),
    Sign("duplicate", "blocks granted to a request that had one", _granted_twice),
    Sign("loss", "requests given up that no controller saw", lambda e: _given_up(e, answered=False)),
    Sign("lost-answer", "requests given up for which a block was recorded", lambda e: _given_up(e, answered=True)),
    events("time-out", "requests given up", Kind.request_timed_out),
    events("broker-restart", "brokers that crash", Kind.broker_stopped),
    Sign("coordinator-fail-over", "elections of a controller after the first block",
         lambda e: len(e.after(e.of(Kind.controller_elected), e.of(Kind.block_recorded)))),
    events("truncation", "snapshots that replace the log before them", Kind.snapshot_taken),
    events("mixed-clients", "brokers upgraded one by one", Kind.broker_upgraded),
)  # fmt: skip


# These observations relate the events of an id-blocks history to the model's state and steps.
#
# Four columns are computed, not stored. ``slot`` is the number under which the model knows a request or a copy of it:
# the first time that a controller acts on a request its slot is the request's own number, and each further time (the
# network delivered it again) a number of its own. ``asker`` is the broker whose request it is. ``controller`` is the
# ZooKeeper-mode controller, one per election. ``by_controller`` is whether a ZooKeeper operation is the controller's,
# not a broker's. A driven cluster also has ``size``, the length of the blocks that the active controller makes.

MODEL_COLUMNS = {
    "broker": Broker, "request": Request, "slot": Request, "first": Id, "length": Nat, "producer_id": Id, "error": Int,
    "asker": Broker, "controller": Controller, "by_controller": Bool,
}  # fmt: skip

_broker = {"b": "broker"}
_request = {"b": "broker", "r": "request"}
_slot = {"b": "broker", "r": "slot"}
_controller = {"c": "controller"}

UNKNOWN_SERVER_ERROR, STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED = -1, 77, 102


def _is_copy(s, e):
    return e.slot != e.request


REPEAT = Do("repeat", {"r": "request", "copy": "slot"}, when=_is_copy)


def _nothing_to_give(s, e):
    return (s.cursor[e.broker] == s.end[e.broker]) & ~s.ready[e.broker]


def _is_stale(s, e):
    return s.registered[e.broker] != s.asker_epoch[e.request]


def _kraft_code(s, e):
    """Check that STALE_BROKER_EPOCH is answered only to a stale broker, has precedence over exhaustion, and stands for
    "not registered" too (730.18)."""
    return (
        (e.error != BROKER_ID_NOT_REGISTERED)
        & implies(e.error == STALE_BROKER_EPOCH, _is_stale(s, e))
        & implies(e.error == UNKNOWN_SERVER_ERROR, ~_is_stale(s, e))
    )


def _block_of_the_answer(s, e):
    return (s.first[e.slot] == e.first) & (e.length == s.length(e.slot))


def _good_answer(s, e):
    """Check first id and length in conjuncts of their own, so that a violation names the one that is broken."""
    return implies(e.error == 0, s.first[e.slot] == e.first) & implies(e.error == 0, e.length == s.length(e.slot))


HANDED_OUT = Observation(
    "id_handed_out", (Do("hand_out", _broker),), before=lambda s, e: s.cursor[e.broker] == e.producer_id, rule="730.4"
)

REFUSED = Observation(
    "request_refused",
    (
        REPEAT,
        Do("refuse", _slot, when=lambda s, e: (s.stage[e.slot] == Stage.SENT) & s.refusable(e.broker, e.slot)),
        Do("turn_away", {"r": "slot"}, when=lambda s, e: s.stage[e.slot] == Stage.SENT),
    ),
    before=_kraft_code,
    rule="730.18",
)

STOPPED = Observation("broker_stopped")  # a stopped broker does nothing, and the model's crash is when it is back

RPC = (
    STOPPED,
    Observation("broker_started", (Do("restart", _broker), Do("register", _broker))),
    Observation("request_sent", (Do("ask", _request),)),
    Observation("answer_taken", (Do("take", _slot),), before=_block_of_the_answer, rule="730.4"),
    Observation("answer_dropped", before=lambda s, e: s.outstanding[e.broker] != e.request, rule="730.19"),
    Observation("answer_refused", (Do("reject", _slot),), before=_block_of_the_answer, rule="730.4"),
    Observation("answer_failed", (Do("fail", _slot),)),
    Observation(
        "request_timed_out",
        (
            Do("time_out", _request, when=lambda s, e: s.stage[e.request] == Stage.LOST),
            Do("time_out_early", _request, when=lambda s, e: s.outstanding[e.broker] == e.request),
        ),
        before=lambda s, e: s.outstanding[e.broker] == e.request,
    ),
    Observation("backoff_over", (Do("end_back_off", _broker),)),
    Observation(
        "block_installed",
        (Do("install", _broker),),
        after=lambda s, e: (s.cursor[e.broker] == e.first) & (s.end[e.broker] == e.first + e.length),
        rule="730.8",
    ),
    HANDED_OUT,
    Observation("id_refused", before=_nothing_to_give),
)

LOG = (
    Observation(
        "block_recorded",
        (REPEAT, Do("allocate", _slot)),
        before=lambda s, e: (s.next == e.first) & (e.length == s.size),
        rule="730.8",
    ),
    Observation(
        "block_committed",
        (Do("commit", {}),),
        after=lambda s, e: (s.committed == e.first + s.size) & (e.length == s.size),
        rule="730.7",
    ),
    Observation("controller_elected", (Do("fail_over", {}),)),
    Observation(
        "snapshot_taken",
        (Do("take_snapshot", {}, when=lambda s, e: s.record_follows),),
        before=lambda s, e: s.committed == e.first,
        rule="730.10",
    ),
)

KRAFT = (
    *RPC,
    *LOG,
    REFUSED,
    Observation(
        "answer_sent",
        (Do("answer", {"r": "slot"}, when=lambda s, e: e.error == 0),),
        before=lambda s, e: _good_answer(s, e) & _kraft_code(s, e),
        rule="730.4",
    ),
)


def _driven_code(s, e):
    """Check that UNKNOWN_SERVER_ERROR is answered only if no ids are left for the controller's block length."""
    return _kraft_code(s, e) & implies(e.error == UNKNOWN_SERVER_ERROR, s.ids < s.next + e.size)


DRIVEN_KRAFT = (
    *RPC,
    Observation(
        "block_recorded",
        (REPEAT, Do("allocate", {**_slot, "n": "size"})),
        before=lambda s, e: (s.next == e.first) & (e.length == e.size),
        rule="730.8",
    ),
    Observation(
        "block_committed",
        (Do("commit", {"r": "slot"}),),
        after=lambda s, e: (s.first[e.slot] == e.first) & (e.length == s.length(e.slot)),
        rule="730.7",
    ),
    *LOG[2:],
    Observation(REFUSED.kind, REFUSED.steps, before=_driven_code, rule="730.18"),
    KRAFT[-1],
)
"""The observations in `DRIVEN_KRAFT` are of a driven cluster whose controllers make blocks of several lengths. ``size``
is the length of the active controller's blocks."""


def _no_ids_after(s, next):
    """Return whether no ids are left after ``next``. A reader that finds the ids used up discards what it has read, and
    reads the same again when a broker asks again."""
    return s.ids < next + s.size


ZOOKEEPER = (
    STOPPED,
    HANDED_OUT,
    Observation("controller_elected"),  # brokers that write to ZooKeeper themselves do not care
    Observation("id_refused", before=lambda s, e: s.cursor[e.broker] == s.end[e.broker]),
    Observation("broker_started", (Do("restart", _broker),)),
    Observation(
        "zk_read",
        (Do("read", _broker, when=lambda s, e: ~s.has_read[e.broker]),),
        before=lambda s, e: (
            (s.next_in_node() == e.first) & (~s.has_read[e.broker] | _no_ids_after(s, s.read_next[e.broker]))
        ),
        rule="730.2",
    ),
    Observation(
        "zk_written",
        (Do("write", _broker),),
        before=lambda s, e: (s.read_next[e.broker] == e.first) & (e.length == s.size),
        rule="730.2",
    ),
    Observation("zk_conflict", (Do("conflict", _broker),)),
)


def _may_read(s, e):
    return when(
        e.by_controller,
        ~s.controller_has_read[e.controller] | _no_ids_after(s, s.controller_next[e.controller]),
        ~s.has_read[e.broker] | _no_ids_after(s, s.read_next[e.broker]),
    )


def _bridge_code(s, e):
    """Check the error code in the bridge, where a ZooKeeper-mode controller may answer BROKER_ID_NOT_REGISTERED."""
    return implies((e.error == STALE_BROKER_EPOCH) | (e.error == BROKER_ID_NOT_REGISTERED), _is_stale(s, e)) & implies(
        e.error == UNKNOWN_SERVER_ERROR, ~_is_stale(s, e)
    )


BRIDGE = (
    *RPC,
    *LOG,
    Observation(REFUSED.kind, REFUSED.steps, before=_bridge_code, rule="730.18"),
    Observation(
        "answer_sent",
        (Do("answer", {"r": "slot"}, when=lambda s, e: (e.error == 0) & s.moved),),
        before=lambda s, e: (
            _good_answer(s, e)
            & implies(e.error == 0, s.moved | (s.stage[e.slot] == Stage.ANSWERED))
            & _bridge_code(s, e)
        ),
        rule="730.4",
    ),
    Observation("broker_upgraded", (Do("upgrade", _broker),)),
    Observation(
        "zk_read",
        (
            Do("read", _broker, when=lambda s, e: ~e.by_controller & ~s.has_read[e.broker]),
            Do(
                "controller_read", _controller, when=lambda s, e: e.by_controller & ~s.controller_has_read[e.controller]
            ),
        ),
        before=lambda s, e: (s.next_in_node() == e.first) & _may_read(s, e),
        rule="730.2",
    ),
    Observation(
        "zk_written",
        (
            Do("repeat", {"r": "request", "copy": "slot"}, when=lambda s, e: e.by_controller & _is_copy(s, e)),
            Do("write", _broker, when=lambda s, e: ~e.by_controller),
            Do("controller_write", {"c": "controller", "b": "asker", "r": "slot"}, when=lambda s, e: e.by_controller),
        ),
        before=lambda s, e: (
            (when(e.by_controller, s.controller_next[e.controller], s.read_next[e.broker]) == e.first)
            & (e.length == s.size)
        ),
        rule="730.2",
    ),
    Observation(
        "zk_conflict",
        (
            Do("conflict", _broker, when=lambda s, e: ~e.by_controller),
            Do("controller_conflict", _controller, when=lambda s, e: e.by_controller),
        ),
    ),
    Observation("migrated", (Do("move", {}),), after=lambda s, e: s.next == e.first, rule="730.15"),
)

DRIVEN_COLUMNS = {**MODEL_COLUMNS, "size": Id}

BY_VARIANT = {"kraft": KRAFT, "zookeeper": ZOOKEEPER, "bridge": BRIDGE}
DRIVEN = {**BY_VARIANT, "kraft": DRIVEN_KRAFT}


# This table has what each call lets happen, observed or not, and what must hold when it returns.
#
# A driver knows what it does itself: a restart happens in ``restart_broker`` and nowhere else. So of an implementation
# that reveals little, only what this table allows is guessed.

BACK_OFF_MS = (50, 100)
"""A back-off lasts between the two times in `BACK_OFF_MS` (shipped: 50 ms)."""

GIVEN_UP_MS = 120_000
"""A request that was not answered for `GIVEN_UP_MS` is given up (shipped: 60 s)."""


CALLS = {
    "deliver request": Allowed(once=("block_recorded", "request_refused")),
    "deliver response": Allowed(once=("answer_taken", "answer_dropped", "answer_refused", "answer_failed"), must=True),
    "drop": Allowed(),
    "init_producer_id": Allowed(
        once=("id_handed_out", "id_refused"), often=("backoff_over", "block_installed"), must=True
    ),
    "restart_broker": Allowed(once=("broker_started",), must=True),
    "fail_over": Allowed(once=("controller_elected",), must=True),
    "commit": Allowed(often=("block_committed",)),
    "snapshot": Allowed(often=("snapshot_taken",)),
    "advance": Allowed(often=("request_timed_out", "backoff_over")),
    "set_cluster_action": Allowed(),
    "set_block_size": Allowed(),
    "zk_step": Allowed(once=("zk_read", "zk_written", "zk_conflict", "request_refused"), must=True),
    "upgrade_broker": Allowed(once=("broker_upgraded",), must=True),
    "migrate": Allowed(once=("migrated",), must=True),
}


def _everything_committed_and_answered(s: Any, e: Any) -> Any:
    return (s.committed == s.logged) & ~exists(
        Request, lambda r: (s.stage[r] == Stage.RECORDED) & (s.block_end(r) <= s.committed)
    )


AFTERWARDS = {
    "refused": "a broker with no id to give waits for a block or backs off; no other one would ask for one",
    "commit": "everything appended is committed, and every request that waited for it is answered",
    "snapshot": "the snapshot says as much as the committed log",
}
"""`AFTERWARDS` describes what is checked when a call returns, by the name of the check."""

_LOG = (
    Observation("commit", before=_everything_committed_and_answered, rule="730.7"),
    Observation("snapshot", before=lambda s, e: ~s.record_follows, rule="730.7"),
)

AFTERWARDS_BY_VARIANT = {
    "kraft": (
        Observation("refused", before=lambda s, e: s.in_flight[e.broker] | s.backing_off[e.broker], rule="730.P3"),
        *_LOG,
    ),
    "zookeeper": (),
    "bridge": (
        Observation(
            "refused",
            before=lambda s, e: s.direct[e.broker] | s.in_flight[e.broker] | s.backing_off[e.broker],
            rule="730.P3",
        ),
        *_LOG,
    ),
}
