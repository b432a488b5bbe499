"""What the events of an id-blocks history say about the model's state and steps.

Four columns are computed, not stored.  ``slot``: the number under which the model knows a request or a copy of it; the
first time that a controller acts on a request its slot is the request's own number, and each further time (the network
delivered it again) a number of its own.  ``asker``: the broker whose request it is.  ``controller``: which
ZooKeeper-mode controller, one per election.  ``by_controller``: a ZooKeeper operation of the controller, not of a
broker.  Of a driven cluster also ``size``: the length of the blocks that the active controller makes.
"""

from fencepost.model.id_blocks.bridge import Controller
from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.language import Bool, Int, Nat, implies, when
from fencepost.model.language.observations import Do, Observation

COLUMNS = {
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
    """STALE_BROKER_EPOCH says what it says, wins over exhaustion, and stands for "not registered" too (730.18)."""
    return (
        (e.error != BROKER_ID_NOT_REGISTERED)
        & implies(e.error == STALE_BROKER_EPOCH, _is_stale(s, e))
        & implies(e.error == UNKNOWN_SERVER_ERROR, ~_is_stale(s, e))
    )


def _block_of_the_answer(s, e):
    return (s.first[e.slot] == e.first) & (e.length == s.length(e.slot))


def _good_answer(s, e):
    """Each conjunct on its own, so that a history that breaks one is told which."""
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
    """No ids are left for a block of the length that the active controller makes blocks of."""
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
"""Of a driven cluster, whose controllers make blocks of several lengths: ``size`` is that of the active one."""


def _no_ids_after(s, next):
    """A reader who finds the ids used up puts aside what it read, and reads again when somebody asks again: the same
    once more."""
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
    """A ZooKeeper-mode controller may also say BROKER_ID_NOT_REGISTERED."""
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

DRIVEN_COLUMNS = {**COLUMNS, "size": Id}

BY_VARIANT = {"kraft": KRAFT, "zookeeper": ZOOKEEPER, "bridge": BRIDGE}
DRIVEN = {**BY_VARIANT, "kraft": DRIVEN_KRAFT}
