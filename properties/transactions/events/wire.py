"""This module maps each event of brokers over the wire, or of a recording, to steps of the model.

It lists the steps of the model that may be behind one request that was delivered to a broker, and those that a broker
may take without a request.

A request is served from its arrival to its answer before the call that delivers it returns, so that several steps of
the model (asked for, written to the log, answered) are one kind here. No such kind is ever observed: each is a guess,
which holds until an answer or a reader contradicts it. ``…_refused`` changes nothing; ``record_added`` is a record that
its partition refuses after the coordinator has made that partition part of the transaction (v2).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.model.language import Bool, implies
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import Fate, Outcome, Partition, Phase
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.driven import (
    ADDING,
    CLIENT,
    CLIENTS,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    MARKER,
    ONGOING,
    PARTITIONS,
    PREPARED,
    RECORD,
    TXN,
    by_init,
    joins,
    something_open,
)
from fencepost.properties.transactions.events.driven import BY_VARIANT as OBSERVED
from fencepost.properties.transactions.events.driven import COLUMNS as SHARED
from fencepost.properties.transactions.events.kinds import NONE

OLD_OR_LATER = 1_000
"""`OLD_OR_LATER` is no code of Kafka's; it stands for `codes.OLD_EPOCH` or a code that is tried again."""

# InitProducerId


def _is_new(s, e):
    return s.epoch < e.number


def _fences(s, e):
    return (s.phase == Phase.ONGOING) & (s.pending == Pending.NOTHING)


INIT = (
    Observation(
        "init_given",
        (
            Do("answer_init_again", CLIENT, when=lambda s, e: (
                e.counts & s.asking[e.client] & (s.answered[e.client] == 0) & ~_is_new(s, e))),
            *by_init("ask_for_epoch", lambda s, e: (
                (s.phase == Phase.IDLE) & (s.pending == Pending.NOTHING) & _is_new(s, e))),
            Do("initialize", {**CLIENT, "to": "number"}, when=lambda s, e: s.pending == Pending.INIT),
            Do("lose_answer", CLIENT, when=lambda s, e: (
                ~e.counts & s.asking[e.client] & (s.answered[e.client] == s.epoch) & ~s.again[e.client])),
        ),
        # A new epoch for a request that names none, or the present one; the same again for one that names the former.
        before=lambda s, e: (s.phase == Phase.IDLE) & (
            (_is_new(s, e) & ((e.named == 0) | (e.named == s.live())))
            | (~_is_new(s, e) & (e.named != 0) & (e.named == s.remembers))
        ),
        after=lambda s, e: s.epoch == e.number,
        rule="txn.2",
    ),
    *(
        Observation(
            kind,
            (
                *by_init("fence_first", _fences),
                Do("take_over", PREPARED, when=lambda s, e: s.pending == Pending.FENCE),
            ),
            before=lambda s, e: s.phase == Phase.ONGOING,
            rule="txn.3",
        )
        for kind in ("init_fenced", "fenced_before")
    ),
    Observation("init_refused", before=kinds.init_code, rule="txn.2"),
)  # fmt: skip

# AddPartitionsToTxn and AddOffsetsToTxn (v1)


def _is_new_part(s, e):
    return ~(s.parts[e.partition] & (s.phase == Phase.ONGOING))


ADD = (
    *(o for o in ADDING if o.kind != "add_handled"),
    Observation(
        "add_done", (Do("ask_to_add_partition", RECORD, when=_is_new_part), Do("add_partition", RECORD)), rule="txn.6"
    ),
    Observation("add_refused", before=kinds.add_code, rule="txn.6"),
)

# EndTxn


def _end(code):
    return (
        Observation(
            "end_done",
            (
                Do(
                    "ask_to_end",
                    TXN,
                    when=lambda s, e: (s.pending == Pending.NOTHING) & (s.number[e.txn] == s.live()) & s.may_end(e.txn),
                ),
                Do("end", {**TXN, **PREPARED}, when=lambda s, e: s.pending == Pending.END),
                Do("answer_again", TXN, when=lambda s, e: s.phase == Phase.IDLE),
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


def _first(s, e):
    return _is_absent(s, e) & ~something_open(s, e)


ASKED = (Do("ask", RECORD, when=_first),)
ADDED = (
    *ASKED,
    Do("ask_to_verify", RECORD, when=lambda s, e: _first(s, e) & _is_new_part(s, e)),
    Do("verify", RECORD, when=_first),
)
VERIFIED = (*ASKED, Do("verify", RECORD, when=_first))


def _is_behind(s, e):
    return e.number < s.known[e.partition]


def _refused_v1(s, e):
    return ((e.error == kinds.OUT_OF_ORDER) | (e.error == kinds.OLD_EPOCH)) & implies(
        e.error == kinds.OLD_EPOCH, _is_behind(s, e)
    )


def _refused_asking(s, e):
    """Decide whether a producer's record may be refused where the leader asks the coordinator first and only then looks
    at the sequence number. ``CONCURRENT`` stands for every code with which a coordinator makes the leader's producer
    wait."""
    gap_or_later = (e.error == kinds.OUT_OF_ORDER) | (e.error == kinds.CONCURRENT)
    reported = (e.error == kinds.INVALID_MAPPING) | (e.error == kinds.ABORTABLE) | (e.error == kinds.INVALID_STATE)
    old = _is_behind(s, e) | (~joins(s, e.partition, e.number) & (e.number != s.live()))
    return (
        (gap_or_later | reported | (e.error == kinds.OLD_EPOCH))
        & implies(e.error == kinds.OLD_EPOCH, old)
        & implies(e.error == kinds.CONCURRENT, ~joins(s, e.partition, e.number) & (s.phase == Phase.PREPARED))
        & implies(e.error == kinds.INVALID_MAPPING, ~joins(s, e.partition, e.number) & kinds.foreign(s, e.number))
        & implies(e.error == kinds.INVALID_STATE, ~joins(s, e.partition, e.number) & (e.number != s.live()))
        & implies(e.error == kinds.OUT_OF_ORDER, joins(s, e.partition, e.number) | _is_part(s, e))
    )


def _is_part(s, e):
    return (e.number == s.live()) & (s.phase == Phase.ONGOING) & s.parts[e.partition]


def _refused_verified(s, e):
    missing = (
        (e.number == s.live()) & ~s.parts[e.partition] & (s.phase != Phase.PREPARED) & ~joins(s, e.partition, e.number)
    )
    return (
        _refused_asking(s, e)
        & implies(e.error == kinds.ABORTABLE, missing)
        & implies(e.error == kinds.CONCURRENT, e.number == s.live())
    )


def _refused_v2(s, e):
    """Decide whether v2 may refuse the record. The coordinator looks at what is pending before the epoch; since
    KAFKA-19690 the partition does not ask it then."""
    either = _is_behind(s, e) & (s.phase == Phase.PREPARED)
    return (
        (_refused_asking(s, e) | (e.error == OLD_OR_LATER))
        & (e.error != kinds.ABORTABLE)
        & implies(e.error == kinds.OLD_EPOCH, s.phase != Phase.PREPARED)
        & implies(e.error == kinds.CONCURRENT, ~either)
        & implies(e.error == OLD_OR_LATER, either)
    )


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


# Steps without a request.

UNCALLED = (
    Observation("marked", (Do("mark", MARKER),), rule="txn.12"),
    Observation("completed", (Do("complete", {}),), rule="txn.10"),
    Observation("unanswered"),
    Observation("nothing_seen", before=_is_absent, rule="txn.12"),
    Observation(
        "timed_out",
        (Do("time_out", {}), Do("take_over", PREPARED)),
        before=_fences,
        rule="txn.18",
    ),
)

_READ = ("record_read", "record_seen", "offset_fetched", "fetched")
EVERYBODY = (*CLIENTS, *(o for o in PARTITIONS if o.kind in _READ), *INIT, *UNCALLED)

BY_VARIANT = {
    "v1": (*EVERYBODY, *ADD, *_end(kinds.end_code_v1_over_the_wire), *_record((), _refused_v1, lambda s, e: True)),
    "v1-verified": (
        *EVERYBODY, *ADD, *_end(kinds.end_code_v1_over_the_wire),
        *_record(VERIFIED, _refused_verified,
            lambda s, e: joins(s, e.partition, e.number) | _is_part(s, e)),
    ),
    "v2": (
        *EVERYBODY, *_end(kinds.end_code_v2), *_record(ADDED, _refused_v2, lambda s, e: True),
        # The coordinator makes the partition part of the transaction, whatever the partition answers afterwards.
        Observation("record_added", ADDED, rule="txn.15", before=lambda s, e: (
            _first(s, e) & _is_new_part(s, e) & (e.number == s.live()) & (s.phase != Phase.PREPARED))),
    ),
}  # fmt: skip
"""`BY_VARIANT` maps each variant to its observed and unobserved kinds."""


# These observations map the rows of a recording of real brokers to the model of one transactional id.
#
# A recording has what clients observed and what lies in the logs. The rest is hidden: that a request arrived and was
# judged, that a leader asked the coordinator and was answered, that another coordinator took over, that a producer's
# time was up. Such a step is taken together with the row that reveals its effect, or, where a client was given an
# error, as a row of its own between the request and the answer.
#
# Columns that events of histories have mean the same here (`driven.py`). ``further`` is a second partition that the
# same record of the transaction log adds, where there is one (``more``).

COLUMNS: Mapping[str, Any] = {**SHARED, "further": Partition, "more": Bool}

HIDDEN = {"init_taken": "init_handled", "fence_told": "init_handled", "add_taken": "add_handled",
          "end_told": "end_handled"}  # fmt: skip
"""`HIDDEN` maps each answer that a client took to what the coordinator did, which is a row of its own where it was an
error."""

NOT_THE_COORDINATORS = frozenset({
    kinds.UNKNOWN_PARTITION, kinds.NOT_LEADER, kinds.TIMED_OUT, kinds.NOT_ENOUGH_REPLICAS,
})  # fmt: skip
"""`NOT_THE_COORDINATORS` lists codes that a client reports about itself, or about a partition, and that are no evidence
about the coordinator."""

_further = {**TXN, "p": "further"}


LOADED = Do("fail_over", {}, when=lambda s, e: s.term < e.term)
"""`LOADED` is the fail-over to another coordinator before the observed one, which then wrote the record or sent the
marker."""

# Answers without an error, and what the coordinator did for one where no record of its log reveals it.


def _holds(s, e):
    return implies(e.error == NONE, s.holds[e.client] == e.number)


def _follows(s, e):
    reported = (e.error == NONE) & s.begun[e.txn]
    return implies(reported, e.commit == (s.choice[e.txn] == Outcome.COMMIT)) & implies(
        reported & (e.number != 0), s.follows[e.txn] == e.number
    )


INIT_AGAIN = Do("answer_init_again", CLIENT, when=lambda s, e: (
    (e.error == NONE) & s.asking[e.client] & (s.answered[e.client] == 0)))  # fmt: skip
ANSWERED = {
    "init_taken": (INIT_AGAIN, _holds),
    "fence_told": (INIT_AGAIN, _holds),
    "end_told": (
        Do("answer_again", TXN, when=lambda s, e: (e.error == NONE) & s.begun[e.txn] & ~s.success[e.txn]),
        _follows,
    ),
    "add_taken": (
        Do("add_partition", RECORD, when=lambda s, e: (e.error == NONE) & ~s.added[e.txn, e.partition]),
        lambda s, e: implies(e.error == NONE, s.added[e.txn, e.partition]),
    ),
}

# Records


def _asks(s, e):
    knows = s.cleared[e.txn, e.partition] & s.asked[e.txn, e.partition]
    return (s.fate[e.txn, e.partition] == Fate.ABSENT) & ~joins(s, e.partition, s.number[e.txn]) & ~knows


RECORDED_ASKED = (Do("ask", RECORD, when=_asks), Do("verify", RECORD, when=_asks))

# The log of transactions


def _adding(variant):
    """Return the steps with which one record of the log adds one or two partitions; in v2 on behalf of a leader that
    asks."""
    ask, add = ("ask_to_verify", "verify") if variant == "v2" else ("ask_to_add_partition", "add_partition")
    steps = []
    for when, columns in (
        (lambda s, e: (e.logged == ONGOING) & e.more, _further),
        (lambda s, e: e.logged == ONGOING, RECORD),
    ):
        asked = (Do("ask", columns, when=when),) if variant == "v2" else ()
        steps += [*asked, Do(ask, columns, when=when), Do(add, columns, when=when)]
    return tuple(steps)


def _may_follow(s, e):
    """Decide whether the record may follow in the log: no deposed coordinator writes, and a retry of InitProducerId is
    written again with its epoch."""
    again = (e.logged == EMPTY) & ~(s.epoch < e.number)
    return (
        (s.term <= e.term) & (e.term <= s.term + 1)
        & implies(again, (s.epoch == e.number) & (s.remembers != 0))
        & implies(e.logged == COMPLETE_COMMIT, s.outcome == Outcome.COMMIT)
        & implies(e.logged == COMPLETE_ABORT, s.outcome == Outcome.ABORT)
    )  # fmt: skip


def _recorded(variant, o):
    if o.kind in ANSWERED:
        again, after = ANSWERED[o.kind]
        return replace(o, steps=(again, *o.steps), before=None, after=after)
    if o.kind == "batch_appended" and variant != "v1":
        return replace(o, steps=(*RECORDED_ASKED, *o.steps))
    if o.kind == "marker_appended":
        return replace(o, steps=(LOADED, *o.steps), before=lambda s, e: e.term <= s.term + 1)
    if o.kind == "txn_logged":
        adding = _adding(variant)
        others = tuple(do for do in o.steps if do.action not in {step.action for step in adding})
        return replace(o, steps=(LOADED, *adding, *others), before=_may_follow)
    if o.kind == "end_handled" and variant != "v2":
        return replace(o, before=kinds.end_code_v1_over_the_wire)
    return o


RECORDED: Mapping[str, tuple[Observation, ...]] = {
    variant: tuple(_recorded(variant, o) for o in observations) for variant, observations in OBSERVED.items()
}
