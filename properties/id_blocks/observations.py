"""What the events of an id-blocks history say about the model's state and steps.

Column ``slot`` is computed, not stored: the number under which the model knows a request or a copy of it.  The first time a request
is recorded its slot is the request's own number, and each further time (the network delivered it again) a number of its own.
"""

from fencepost.model.id_blocks.brokers import Broker, Id, Request, Stage
from fencepost.model.language import Nat
from fencepost.model.language.observations import Do, Observation

COLUMNS = {
    "broker": Broker, "request": Request, "slot": Request, "first": Id, "producer_id": Id, "error": Nat,
}  # fmt: skip

_broker = {"b": "broker"}
_request = {"b": "broker", "r": "request"}
_slot = {"b": "broker", "r": "slot"}


def _is_copy(s, e):
    return e.slot != e.request


def _nothing_to_give(s, e):
    return (s.cursor[e.broker] == s.end[e.broker]) & ~s.ready[e.broker]


HANDED_OUT = Observation(
    "id_handed_out", (Do("hand_out", _broker),), before=lambda s, e: s.cursor[e.broker] == e.producer_id
)

KRAFT = (
    Observation("broker_started", (Do("restart", _broker), Do("register", _broker))),
    Observation("request_sent", (Do("ask", _request),)),
    Observation(
        "block_recorded",
        (Do("repeat", {"r": "request", "copy": "slot"}, when=_is_copy), Do("allocate", _slot)),
        before=lambda s, e: s.next == e.first,
    ),
    Observation("block_committed", (Do("commit", {}),), after=lambda s, e: s.committed == e.first + s.size),
    Observation(
        "request_refused",
        (
            Do("refuse", _request, when=lambda s, e: (s.stage[e.request] == Stage.SENT) & s.refusable(e.broker, e.request)),
            Do("turn_away", {"r": "request"}, when=lambda s, e: (s.stage[e.request] == Stage.SENT)),
        ),
    ),
    Observation(
        "answer_sent",
        (Do("answer", {"r": "slot"}, when=lambda s, e: e.error == 0),),
        before=lambda s, e: (e.error != 0) | (s.first[e.slot] == e.first),
    ),
    Observation("answer_taken", (Do("take", _slot),), before=lambda s, e: s.first[e.slot] == e.first),
    Observation("answer_dropped", before=lambda s, e: s.outstanding[e.broker] != e.request),
    Observation("answer_refused", (Do("reject", _slot),)),
    Observation(
        "answer_failed",
        (Do("fail", _request),),
    ),
    Observation("request_timed_out", (Do("time_out_early", _request),)),
    Observation("backoff_over", (Do("end_back_off", _broker),)),
    Observation("block_installed", (Do("install", _broker),), after=lambda s, e: s.cursor[e.broker] == e.first),
    HANDED_OUT,
    Observation("id_refused", before=_nothing_to_give),
    Observation("controller_elected", (Do("fail_over", {}),)),
    Observation(
        "snapshot_taken",
        (Do("take_snapshot", {}, when=lambda s, e: s.record_follows),),
        before=lambda s, e: s.committed == e.first,
    ),
)

ZOOKEEPER = (
    HANDED_OUT,
    Observation("broker_started", (Do("restart", _broker),)),
    Observation("zk_read", (Do("read", _broker),), before=lambda s, e: s.next_in_node() == e.first),
    Observation("zk_written", (Do("write", _broker),), before=lambda s, e: s.read_next[e.broker] == e.first),
    Observation("zk_conflict", (Do("conflict", _broker),)),
)


BY_VARIANT = {"kraft": KRAFT, "zookeeper": ZOOKEEPER}
