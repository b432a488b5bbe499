"""What a broker that acts by itself may have done: the steps of the model behind one request that was delivered to it,
and those that nothing calls for.

A request is served from its arrival to its answer before the call that delivers it returns, so that what takes several
steps in the model (asked for, written to the log, answered) is one kind here.  No kind is ever shown: each is a guess,
kept until an answer or a reader says otherwise.  ``…_refused`` changes nothing; ``record_added`` is a record that is
refused by its partition when the coordinator has already made that part of the transaction (v2).
"""

from fencepost.model.language import exists, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Fate, Phase, Txn
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.events import ADDING, CLIENTS, ask_for_epoch, fence_first
from fencepost.properties.transactions.observations.partitions import MARKER, PARTITIONS, RECORD

OLD_OR_LATER = 1_000
"""No code of Kafka's: stands for `codes.OLD_EPOCH` or one that is tried again."""

_client = {"c": "client"}
_txn = {"t": "txn"}

# InitProducerId


def _is_new(s, e):
    return s.epoch < e.number


def _gives(s, e):
    return (s.phase == Phase.IDLE) & (s.pending == Pending.NOTHING) & _is_new(s, e)


def _fences(s, e):
    return (s.phase == Phase.ONGOING) & (s.pending == Pending.NOTHING)


def _may_give(s, e):
    """A new epoch to whoever names none, or the present one; the same once more to whoever names the one before."""
    new = _is_new(s, e) & ((e.named == 0) | (e.named == s.live()))
    again = ~_is_new(s, e) & (e.named != 0) & (e.named == s.remembers)
    return (s.phase == Phase.IDLE) & (new | again)


def _answers_again(s, e):
    return e.counts & s.asking[e.client] & (s.answered[e.client] == 0) & ~_is_new(s, e)


def _nobody_takes(s, e):
    return ~e.counts & s.asking[e.client] & (s.answered[e.client] == s.epoch) & ~s.again[e.client]


INIT = (
    Observation(
        "init_given",
        (
            Do("answer_init_again", _client, when=_answers_again),
            *ask_for_epoch(_gives),
            Do("initialize", {"c": "client", "to": "number"}, when=lambda s, e: s.pending == Pending.INIT),
            Do("lose_answer", _client, when=_nobody_takes),
        ),
        before=_may_give,
        after=lambda s, e: s.epoch == e.number,
        rule="txn.2",
    ),
    *(
        Observation(
            kind,
            (
                *fence_first(_fences),
                Do("take_over", {"marker": "number", "to": "to"}, when=lambda s, e: s.pending == Pending.FENCE),
            ),
            before=lambda s, e: s.phase == Phase.ONGOING,
            rule="txn.3",
        )
        for kind in ("init_fenced", "fenced_before")
    ),
    Observation("init_refused", before=codes.init_code, rule="txn.2"),
)  # fmt: skip

# AddPartitionsToTxn and AddOffsetsToTxn (v1)


def _is_new_part(s, e):
    return ~(s.parts[e.partition] & (s.phase == Phase.ONGOING))


ADD = (
    *(o for o in ADDING if o.kind != "add_handled"),
    Observation(
        "add_done", (Do("ask_to_add_partition", RECORD, when=_is_new_part), Do("add_partition", RECORD)), rule="txn.6"
    ),
    Observation("add_refused", before=codes.add_code, rule="txn.6"),
)

# EndTxn


def _ends(s, e):
    return (s.pending == Pending.NOTHING) & (s.number[e.txn] == s.live()) & s.may_end(e.txn)


def _end(code):
    return (
        Observation(
            "end_done",
            (
                Do("ask_to_end", _txn, when=_ends),
                Do("end", {"t": "txn", "marker": "number", "to": "to"}, when=lambda s, e: s.pending == Pending.END),
                Do("answer_again", _txn, when=lambda s, e: s.phase == Phase.IDLE),
            ),
            before=lambda s, e: s.phase != Phase.PREPARED,
            after=lambda s, e: s.success[e.txn] & (s.outcome == s.choice[e.txn]),
            rule="txn.7",
        ),
        Observation("end_refused", before=code, rule="txn.7"),
    )


# Produce and TxnOffsetCommit


def _is_absent(s, e):
    return s.fate[e.txn, e.partition] == Fate.ABSENT


def _nothing_open(s, e):
    return ~exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)


def _first(s, e):
    """The leader has to ask."""
    return _is_absent(s, e) & _nothing_open(s, e)


ASKED = (Do("ask", RECORD, when=_first),)
ADDED = (
    *ASKED,
    Do("ask_to_verify", RECORD, when=lambda s, e: _first(s, e) & _is_new_part(s, e)),
    Do("verify", RECORD, when=_first),
)
VERIFIED = (*ASKED, Do("verify", RECORD, when=_first))


def _is_behind(s, e):
    return e.number < s.known[e.partition]


def _would_be_added(s, e):
    """The coordinator makes it part of the transaction, whatever the partition says afterwards."""
    return _first(s, e) & _is_new_part(s, e) & (e.number == s.live()) & (s.phase != Phase.PREPARED)


def _refused_v1(s, e):
    return ((e.error == codes.OUT_OF_ORDER) | (e.error == codes.OLD_EPOCH)) & implies(
        e.error == codes.OLD_EPOCH, _is_behind(s, e)
    )


def _refused_asking(s, e):
    """Whoever is not in a transaction here is asked for first, and only then the sequence number counts.

    ``CONCURRENT`` stands for every code with which a coordinator tells the leader to let its producer wait.
    """
    gap_or_later = (e.error == codes.OUT_OF_ORDER) | (e.error == codes.CONCURRENT)
    told = (e.error == codes.INVALID_MAPPING) | (e.error == codes.ABORTABLE) | (e.error == codes.INVALID_STATE)
    old = _is_behind(s, e) | (~_joins(s, e) & (e.number != s.live()))
    return (
        (gap_or_later | told | (e.error == codes.OLD_EPOCH))
        & implies(e.error == codes.OLD_EPOCH, old)
        & implies(e.error == codes.CONCURRENT, ~_joins(s, e) & (s.phase == Phase.PREPARED))
        & implies(e.error == codes.INVALID_MAPPING, ~_joins(s, e) & codes.foreign(s, e.number))
        & implies(e.error == codes.INVALID_STATE, ~_joins(s, e) & (e.number != s.live()))
        & implies(e.error == codes.OUT_OF_ORDER, _joins(s, e) | _is_part(s, e))
    )


def _joins(s, e):
    """Something of this very epoch is open here: nobody is asked."""
    return exists(Txn, lambda t: (s.fate[t, e.partition] == Fate.OPEN) & (s.number[t] == e.number))


def _is_part(s, e):
    """The coordinator says yes, and nothing new."""
    return (e.number == s.live()) & (s.phase == Phase.ONGOING) & s.parts[e.partition]


def _may_write_verified(s, e):
    return _joins(s, e) | _is_part(s, e)


def _refused_verified(s, e):
    missing = (e.number == s.live()) & ~s.parts[e.partition] & (s.phase != Phase.PREPARED) & ~_joins(s, e)
    return (
        _refused_asking(s, e)
        & implies(e.error == codes.ABORTABLE, missing)
        & implies(e.error == codes.CONCURRENT, e.number == s.live())
    )


def _refused_v2(s, e):
    """The coordinator looks at what is pending before it looks at the epoch; since KAFKA-19690 the partition does not
    ask it then."""
    either = _is_behind(s, e) & (s.phase == Phase.PREPARED)
    return (
        (_refused_asking(s, e) | (e.error == OLD_OR_LATER))
        & (e.error != codes.ABORTABLE)
        & implies(e.error == codes.OLD_EPOCH, s.phase != Phase.PREPARED)
        & implies(e.error == codes.CONCURRENT, ~either)
        & implies(e.error == OLD_OR_LATER, either)
    )


def _anybody(s, e):
    return True


def _record(steps, refused, may_write):
    return (
        Observation(
            "record_written",
            (*steps, Do("append", RECORD, when=_is_absent)),
            before=lambda s, e: ~_is_behind(s, e) & may_write(s, e),
            after=lambda s, e: ~_is_absent(s, e),
            rule="txn.12",
        ),
        Observation("record_refused", before=refused, rule="txn.12"),
    )


# What nothing calls for

UNCALLED = (
    Observation("marked", (Do("mark", MARKER),), rule="txn.12"),
    Observation("completed", (Do("complete", {}),), rule="txn.10"),
    Observation("unanswered"),
    Observation("nothing_seen", before=_is_absent, rule="txn.12"),
    Observation(
        "timed_out",
        (Do("time_out", {}), Do("take_over", {"marker": "number", "to": "to"})),
        before=_fences,
        rule="txn.18",
    ),
)

_SHOWN = ("record_read", "record_seen", "offset_fetched", "fetched")
EVERYBODY = (*CLIENTS, *(o for o in PARTITIONS if o.kind in _SHOWN), *INIT, *UNCALLED)

BY_VARIANT = {
    "v1": (*EVERYBODY, *ADD, *_end(codes.end_code_v1_over_the_wire), *_record((), _refused_v1, _anybody)),
    "v1-verified": (
        *EVERYBODY, *ADD, *_end(codes.end_code_v1_over_the_wire),
        *_record(VERIFIED, _refused_verified, _may_write_verified),
    ),
    "v2": (
        *EVERYBODY, *_end(codes.end_code_v2), *_record(ADDED, _refused_v2, _anybody),
        Observation("record_added", ADDED, before=_would_be_added, rule="txn.15"),
    ),
}  # fmt: skip
"""Shown and unshown kinds, per variant."""
