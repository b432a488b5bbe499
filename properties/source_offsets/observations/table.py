"""Which steps of the model of source offsets a row of the retelling stands for, and what it checks."""

from fencepost.model.language import Bool, forall
from fencepost.model.language.observations import Do, Observation
from fencepost.model.source_offsets.core import Instance, Partition, Place, Stage
from fencepost.model.source_offsets.delivered import Offset

COLUMNS = {
    "instance": Instance, "partition": Partition, "record": Offset, "offset": Offset, "outcome": Bool, "failed": Bool,
    "separate": Bool, "sent": Bool,
}  # fmt: skip

N = {"n": "instance"}
NP = {**N, "p": "partition"}
NPI = {**NP, "i": "record"}


def _runs(s, e):
    return ~s.over[e.instance] & (s.stage[e.instance] != Stage.NEW)


def _is_followed(s, e):
    """Not one of an older set that has opened its producer late."""
    return s.stage[e.instance] != Stage.NEW


def _is_to_resume(s, e):
    return _runs(s, e) & (s.stage[e.instance] == Stage.CHECKED)


def _is_older(s, e):
    """Of a set that another one has taken the place of, as it finds."""
    return _runs(s, e) & (s.stage[e.instance] == Stage.OPENED) & ~s.is_newest(e.instance)


def _works(s, e):
    return _runs(s, e) & ((s.stage[e.instance] == Stage.WORKING) | (s.stage[e.instance] == Stage.ASKED))


def _place(s, e):
    return s.place[e.instance, e.partition, e.record]


def _is_copied(s, e):
    return (0 < s.copying[e.instance, e.partition]) & (s.copying[e.instance, e.partition] == e.offset)


OVER = (Do("crash", N, when=_runs), Do("forget", N))

SETS = (
    Observation("configured", (Do("give_own_topic", {}, when=lambda s, e: e.separate & ~s.separate),),
                after=lambda s, e: s.separate == e.separate),
    Observation("given", (Do("assign", NP, when=lambda s, e: s.newest[e.partition] != e.instance),)),
    Observation("fenced", (Do("fence", N, when=lambda s, e: _is_followed(s, e) & ~s.fenced[e.instance]),)),
)  # fmt: skip
INSTANCES = (
    Observation("producer_opened", (Do("open", N),)),
    Observation(
        "instance_checked",
        (Do("check", N, when=lambda s, e: e.outcome), Do("abandon", N, when=lambda s, e: ~e.outcome & _is_older(s, e))),
    ),
    Observation("end_reached", (Do("resume", N, when=_is_to_resume),)),
    Observation("offset_found", before=lambda s, e: s.polled[e.instance, e.partition] == e.offset, rule="618.31"),
    Observation("instance_running", before=lambda s, e: s.stage[e.instance] == Stage.WORKING, rule="618.20"),
    Observation("instance_stopped", OVER),
    Observation(
        "instance_failed",
        (Do("find_out", N, when=lambda s, e: _runs(s, e) & s.fenced[e.instance]), Do("fail", N, when=_works), *OVER),
    ),
    Observation("instance_killed", OVER),
)  # fmt: skip
RECORDS = (
    Observation("filtered", (Do("filter_out", NPI),)),
    Observation("record_sent", (Do("submit", NPI),)),
    Observation("given_up", (Do("abort_batch", N, when=lambda s, e: _place(s, e) == Place.INSIDE),),
                after=lambda s, e: _place(s, e) == Place.LEFT_OUT),
    Observation("offset_sent", before=lambda s, e: s.data[e.instance, e.partition] == e.offset, rule="618.27"),
    Observation("flushed", before=lambda s, e: (0 < s.data[e.instance, e.partition]) == e.sent, rule="618.27"),
    Observation("end_sent", (Do("flush", N),)),
    Observation("topic_marked", (Do("commit", N),)),
    Observation(
        "commit_called",
        (Do("call_commit", N, when=lambda s, e: (s.stage[e.instance] == Stage.COMMITTED) | s.has_polled(e.instance)),),
        before=lambda s, e: (s.stage[e.instance] == Stage.COMMITTED)
        | forall(Partition, lambda p: s.data[e.instance, p] == 0),
        after=lambda s, e: s.stage[e.instance] == Stage.WORKING,
        rule="618.28",
    ),
    Observation(
        "copy_told",
        (
            Do("copy", NP, when=lambda s, e: ~e.failed & _is_copied(s, e)),
            Do("copy_in_vain", NP, when=lambda s, e: e.failed & _is_copied(s, e)),
        ),
    ),
    Observation("output_read", before=lambda s, e: e.record <= s.found(e.partition), rule="618.P2"),
    Observation("audited", before=lambda s, e: s.found(e.partition) == e.offset, rule="618.P2"),
)  # fmt: skip

TABLE = (*SETS, *INSTANCES, *RECORDS)
