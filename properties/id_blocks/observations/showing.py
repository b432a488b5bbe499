"""What the steps of the models of id blocks show: the rows of a history that each of them is.

A request that a controller loses is refused by the next one.
"""

from fencepost.model.id_blocks.bridge import Bridge
from fencepost.model.id_blocks.brokers import Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.id_blocks.lengths import Malformed
from fencepost.model.id_blocks.rejected import FaultyController, Idempotent
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language import when
from fencepost.properties.history import HistoryError
from fencepost.properties.id_blocks.observations.events import STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR
from fencepost.properties.showing import Kept, Note, Number, Row, Showing

NOT_CONTROLLER = 41
NODE = 0

_request = Kept("request", at=lambda s, p: s.original[p.r])
_first, _length = {"first": lambda s, p: s.first[p.r]}, {"length": lambda s, p: s.length(p.r)}
_later = {"first": lambda s, p, t: t.first[p.r], "length": lambda s, p, t: t.length(p.r)}
_answer = {"broker": "b", "request": _request, "grant": Kept("grant", at="r"), **_first, **_length}


def _asker(s, p):
    return s.asker[p.r]


def _of_record(name):
    """The next record to be committed."""
    return Kept(name, at=lambda s, p: s.committed)


def _wrapped(s, p):
    """What runs past the last id begins anew."""
    return when(s.cursor[p.b] + 1 == s.ids, 0, s.cursor[p.b])


def _code(s, p):
    return when(s.registered[p.b] != s.asker_epoch[p.r], STALE_BROKER_EPOCH, UNKNOWN_SERVER_ERROR)


def _refused(broker, error, at="r", **further):
    """By the controller, and the answer with the same error."""
    said = {"broker": broker, "request": Kept("request", at=lambda s, p: s.original[getattr(p, at)]), "error": error}
    return (
        Row("request_refused", node=NODE, **said, **further),
        Row("answer_sent", node=NODE, **said, **further),
        Note("error", at=at, value=error, **further),
    )  # fmt: skip


_lost = {"each": {"q": Request}, "when": lambda s, p: s.stage[p.q] == Stage.RECORDED}

HANDED_OUT = {"hand_out": [Row("id_handed_out", broker="b", producer_id=lambda s, p: s.cursor[p.b])]}

RPC = {
    **HANDED_OUT,
    "ask": [
        Row("request_sent", broker="b", broker_epoch=lambda s, p: s.epoch[p.b], request=Number("request", at="r")),
        Note("grant", at="r", value=-1),
    ],
    "repeat": [Note("grant", at="copy", value=-1)],
    "take": [Row("answer_taken", **_answer)],
    "reject": [Row("answer_refused", **_answer)],
    "fail": [Row("answer_failed", broker="b", request=_request, error=Kept("error", at="r"))],
    "time_out": [Row("request_timed_out", broker="b", request=_request)],
    "time_out_early": [Row("request_timed_out", broker="b", request=_request)],
    "end_back_off": [Row("backoff_over", broker="b")],
    "install": [
        Row("block_installed", broker="b", first=lambda s, p, t: t.cursor[p.b],
            length=lambda s, p, t: t.end[p.b] - t.cursor[p.b]),
    ],
    "restart": [Row("broker_started", broker="b", broker_epoch=lambda s, p, t: t.epoch[p.b])],
}  # fmt: skip

KRAFT = {
    **RPC,
    "allocate": [
        Row("block_recorded", node=NODE, broker="b", broker_epoch=lambda s, p: s.asker_epoch[p.r], request=_request,
            grant=Number("grant", at="r"), first=lambda s, p, t: t.first[p.r], length=lambda s, p, t: t.length(p.r)),
        Note("record", at=lambda s, p, t: t.first[p.r], value=Kept("grant", at="r")),
        Note("for", at=lambda s, p, t: t.first[p.r], value="b"),
        Note("of epoch", at=lambda s, p, t: t.first[p.r], value=lambda s, p: s.asker_epoch[p.r]),
    ],
    "commit": [
        Row("block_committed", broker=_of_record("for"), broker_epoch=_of_record("of epoch"),
            grant=_of_record("record"), first=lambda s, p: s.committed,
            length=lambda s, p, t: t.committed - s.committed),
    ],
    "answer": [
        Row("answer_sent", node=NODE, broker=_asker, request=_request, grant=Kept("grant", at="r"), **_first,
            **_length),
        Note("remembered", at=_asker, value=Kept("grant", at="r")),
    ],
    "refuse": _refused("b", _code),
    "turn_away": _refused(_asker, NOT_CONTROLLER),
    "fail_over": [
        Row("controller_elected", node=NODE), *_refused(lambda s, p: s.asker[p.q], NOT_CONTROLLER, at="q", **_lost),
    ],
    "take_snapshot": [Row("snapshot_taken", node=NODE, first=lambda s, p, t: t.snapshot)],
    # Of mistaken controllers
    "answer_again": [
        Row("answer_sent", node=NODE, broker="b", request=_request, grant=Kept("remembered", at="b"), **_later),
        Note("grant", at="r", value=Kept("remembered", at="b")),
    ],
    "grant_overlapping": [Row("answer_sent", node=NODE, broker="b", request=_request, **_later)],
    "grant_past_the_end": [Row("answer_sent", node=NODE, broker="b", request=_request, **_later)],
    # Of brokers with several threads
    "swap": RPC["install"],
}  # fmt: skip

ZOOKEEPER = {
    **HANDED_OUT,
    "restart": [Row("broker_started", broker="b")],
    "read": [Row("zk_read", broker="b", first=lambda s, p: s.next_in_node())],
    "write": [Row("zk_written", broker="b", first=lambda s, p, t: t.cursor[p.b], length=lambda s, p: s.size)],
    "conflict": [Row("zk_conflict", broker="b")],
}

BRIDGE = {
    **ZOOKEEPER,
    **KRAFT,
    "controller_read": [Row("zk_read", first=lambda s, p: s.next_in_node())],
    "controller_write": [
        Row("zk_written", request=_request, **_later),
        Row("answer_sent", node=NODE, broker="b", request=_request, **_later),
    ],
    "controller_conflict": [Row("zk_conflict")],
    "upgrade": [Row("broker_upgraded", broker="b")],
    "move": [Row("migrated", first=lambda s, p, t: t.next)],
}  # fmt: skip

WRAPPED = {"hand_out": [Row("id_handed_out", broker="b", producer_id=_wrapped)]}


def _config(bounds):
    return {"block_size": bounds["size"], "max_id": bounds["ids"]}


def _of_node(bounds):
    """ZooKeeper gives the last id as well."""
    return {**_config(bounds), "max_id": bounds["ids"] - 1}


def _of_one_controller(bounds):
    if bounds["controllers"] > 1:
        raise HistoryError("histories of the bridge have one controller at a time: leave controllers=1")
    return _config(bounds)


STARTED = {"restart": "register"}
_TWICE = {"answers_disjoint": "the controller gives the same ids in several answers, and brokers are to make sure"}
SHOWING = {
    Bridge: Showing(
        "bridge",
        BRIDGE,
        STARTED,
        never=("fail_over", "write_unseen"),
        config=_of_one_controller,
        bounds={"size": 2, "ids": 4},
    ),
    Malformed: Showing("kraft", {**KRAFT, **WRAPPED}, STARTED, config=_config, undecidable=_TWICE),
    FaultyController: Showing("kraft", KRAFT, STARTED, config=_config, undecidable=_TWICE),
    Idempotent: Showing("kraft", KRAFT, STARTED, config=_config, undecidable=_TWICE),
    Kraft: Showing("kraft", KRAFT, STARTED, config=_config),
    Zookeeper: Showing("zookeeper", ZOOKEEPER, never=("write_unseen",), config=_of_node),
}
"""A broker that asks before it is registered shows nothing that histories could say; a write of which the broker does
not hear, neither; and in the bridge which of several controllers reads is told by elections."""
