"""This module maps each event of a driven run, or of a simulated history, to steps of the model of transactions, events
of partitions and readers included."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.model.language import Bool, Int, exists, implies, when
from fencepost.model.language.observations import Do, Observation
from fencepost.model.transactions.abstract.core import (
    Client,
    Epoch,
    Fate,
    Outcome,
    Partition,
    Phase,
    Term,
    Txn,
)
from fencepost.model.transactions.detailed.coordinator import Pending
from fencepost.properties.history import HistoryError, Manifest
from fencepost.properties.transactions.events import kinds
from fencepost.properties.transactions.events.kinds import NONE

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


def something_open(s, e):
    return exists(Txn, lambda t: s.fate[t, e.partition] == Fate.OPEN)


def joins(s, partition, number):
    """Decide whether a record of that epoch is open in the partition, so that the leader asks no coordinator."""
    return exists(Txn, lambda t: (s.fate[t, partition] == Fate.OPEN) & (s.number[t] == number))


def _is_current(s, e):
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
            ((e.error == NONE) | (e.error == kinds.UNSTABLE))
            & implies(something_open(s, e), e.error == kinds.UNSTABLE)
            & implies(e.error == kinds.UNSTABLE, something_open(s, e) | e.others)
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
    return Observation("partition_checked", (Do("verify", RECORD, when=good),), before=code, rule="txn.15")


# These observations map the events of a history to the model's state and steps, for one transactional id.
#
# The model numbers the epochs of all producer ids in one row (`guessing.py`).  An event's pair is so one ``number``, 0
# for none; ``next_base`` is the first number of the producer id after it.  What else is not a stored column:
#
# - of the request that is answered: ``client`` or ``txn``, and ``named``, the pair that InitProducerId expects;
# - ``counts``: the client still waits for the answer to this request; ``late``: no client takes the answer to this
# copy; - of a record of the transaction log: ``to``, the epoch after it, and where its cause was not seen to begin (in
# a   history), ``by_owner``: an EndTxn of ``txn``, or else a fence, ``of_init``: begun by an InitProducerId of
#   ``client``;
# - ``fresh``: the leader has not asked before, or has forgotten; ``reads``: a record is named; ``durable``: what was
#   under way to the log made it there;
# - ``busy``, ``away``: what explains codes to be tried again (`codes.py`);
# - ``others``: producers of another transactional id may have an offset pending in the partition.
#
# A transaction with several records in a partition has one in the model: the first one opens it, and the others must
# find it open.  A transaction begins when its first request leaves: the coordinator does not hear of one without any.

COLUMNS = {
    "client": Client, "txn": Txn, "partition": Partition, "number": Epoch, "next_base": Epoch, "named": Epoch,
    "to": Epoch, "commit": Bool, "logged": Int, "term": Term, "error": Int, "counts": Bool, "late": Bool,
    "by_owner": Bool, "of_init": Bool, "fresh": Bool, "reads": Bool, "durable": Bool, "busy": Bool, "away": Bool,
    "others": Bool,
}  # fmt: skip

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)

CLIENT, TXN = {"c": "client"}, {"t": "txn"}
PREPARED = {"marker": "number", "to": "to"}


def _outcome(e):
    return when(e.commit, Outcome.COMMIT, Outcome.ABORT)


# What clients do and are answered


def _named(s, e):
    """Decide whether the request names the pair that its producer was given last; a retry has to name it again."""
    return implies(e.number != 0, s.holds[e.client] == e.number) & implies(
        s.asking[e.client], s.again[e.client] == (e.number != 0)
    )


def _fenced_init(s, e):
    return (e.error == kinds.FENCED) & kinds.quiet(s) & s.is_sent(e.client) & (s.expected(e.client) != 0) & (
        s.phase == Phase.IDLE
    ) & (s.expected(e.client) != s.live()) & (s.expected(e.client) != s.remembers) & (
        ~s.fails_at_the_end(e.client)
    )  # fmt: skip


def _refused_end(s, e):
    repeats = s.is_retry(e.txn) & s.is_next_to_present(e.txn) & (s.outcome == s.choice[e.txn])
    waits = (e.error != NONE) & s.begun[e.txn] & ~s.success[e.txn] & s.ready[s.owner[e.txn]] & kinds.quiet(s)
    ends = (s.number[e.txn] == s.live()) & s.may_end(e.txn)
    return waits & ~ends & ~((s.phase == Phase.IDLE) & repeats)


BEGIN = Do("begin", {**CLIENT, **TXN, "e": "number"}, when=lambda s, e: ~s.begun[e.txn])

CLIENTS = (
    Observation("client_started"),
    Observation("client_stopped"),
    Observation("client_failed"),
    Observation("record_failed"),
    Observation(
        "init_sent",
        (
            Do("lose_answer", CLIENT, when=lambda s, e: s.asking[e.client] & (s.answered[e.client] != 0)),
            Do("start", CLIENT, when=lambda s, e: ~s.asking[e.client] & (e.number == 0)),
            Do("start_again", CLIENT, when=lambda s, e: ~s.asking[e.client]),
        ),
        before=_named,
        rule="txn.2",
    ),
    Observation(
        "init_taken",
        (
            Do("take", CLIENT, when=good),
            Do("refuse_init", CLIENT, when=_fenced_init),
            Do("fail_init", CLIENT, when=lambda s, e: (
                (e.error == kinds.FAILED) & kinds.quiet(s) & s.is_sent(e.client) & (s.phase == Phase.IDLE)
                & s.fails_at_the_end(e.client))),
        ),
        before=lambda s, e: implies(e.error == NONE, s.answered[e.client] == e.number),
        rule="txn.2",
    ),
    Observation(
        "fence_told",
        (Do("take", CLIENT, when=good),),
        before=lambda s, e: implies(e.error == NONE, s.answered[e.client] == e.number),
        rule="txn.22",
    ),
    Observation(
        "txn_begun",
        before=lambda s, e: s.ready[e.client] & (s.holds[e.client] == e.number) & ~s.begun[e.txn],
        rule="txn.1",
    ),
    Observation(
        "record_sent", (BEGIN, Do("send", RECORD, when=lambda s, e: ~s.sent[e.txn, e.partition])), before=same_pair
    ),
    Observation("record_acked", before=lambda s, e: s.fate[e.txn, e.partition] != Fate.ABSENT, rule="txn.P4"),
    Observation(
        "end_sent",
        (
            Do("commit", TXN, when=lambda s, e: (s.choice[e.txn] == Outcome.NONE) & e.commit),
            Do("abort", TXN, when=lambda s, e: s.choice[e.txn] == Outcome.NONE),
        ),
        before=lambda s, e: (
            same_pair(s, e)
            & implies(s.choice[e.txn] != Outcome.NONE, s.choice[e.txn] == _outcome(e))
        ),
    ),
    Observation(
        "end_told",
        (
            Do("learn", TXN, when=lambda s, e: (e.error == NONE) & s.begun[e.txn]),
            Do("refuse_end", TXN, when=_refused_end),
        ),
        before=lambda s, e: implies((e.error == NONE) & s.begun[e.txn], s.follows[e.txn] == e.number),
        rule="txn.9",
    ),
)  # fmt: skip


def _may_refuse_add(s, e):
    return (
        (e.error == kinds.FENCED)
        & (s.choice[e.txn] == Outcome.NONE)
        & s.ready[s.owner[e.txn]]
        & kinds.quiet(s)
        & (s.number[e.txn] != s.live())
    )


ADDING = (
    Observation("add_sent", (BEGIN,), before=same_pair),
    Observation(
        "add_taken",
        (Do("refuse_add", RECORD, when=_may_refuse_add),),
        before=lambda s, e: implies(e.error == NONE, s.added[e.txn, e.partition]),
        rule="txn.6",
    ),
    Observation("add_handled", (Do("add_partition", RECORD, when=good),), before=kinds.add_code, rule="txn.6"),
)

# What the coordinator does


def _unseen(s, e):
    return s.pending == Pending.NOTHING


def _prepared(e):
    return (e.logged == PREPARE_COMMIT) | (e.logged == PREPARE_ABORT)


def _completed(e):
    return (e.logged == COMPLETE_COMMIT) | (e.logged == COMPLETE_ABORT)


def _new_epoch(s, e):
    """Decide whether the record has a new epoch. A retry that names the epoch before is written to the log as well, and
    changes nothing."""
    return (e.logged == EMPTY) & (s.epoch < e.number)


def not_asked(s, e):
    return ~s.is_sent(e.client)


def by_init(action, starts, comes_late=not_asked):
    """Return the steps of an InitProducerId that arrives, or of another copy of it. It begins ``ask_for_epoch``, or
    ``fence_first`` where a transaction is open. ``comes_late`` decides when it may be a copy whose answer no client
    takes."""
    return (
        Do("lose_answer", CLIENT, when=lambda s, e: (
            starts(s, e) & s.asking[e.client] & (s.answered[e.client] != 0) & ~e.late & ~s.stray[e.client])),
        Do("come_late", CLIENT, when=lambda s, e: starts(s, e) & comes_late(s, e)),
        Do(action, CLIENT, when=starts),
    )  # fmt: skip


def _fence_unseen(s, e):
    return _prepared(e) & _unseen(s, e) & ~e.by_owner


def _by_the_clock(comes_late):
    return (
        *by_init("fence_first", lambda s, e: _fence_unseen(s, e) & e.of_init, comes_late),
        Do("time_out", {}, when=lambda s, e: _fence_unseen(s, e) & ~e.of_init),
    )


def _logged(s, e):
    """Decide whether the record now in the log is what was pending."""
    cause = when(
        s.pending == Pending.NOTHING, True,
        ((e.logged == EMPTY) & (s.pending == Pending.INIT)) | ((e.logged == ONGOING) & (s.pending == Pending.ADD))
        | (_prepared(e) & ((s.pending == Pending.END) | (s.pending == Pending.FENCE))),
    )  # fmt: skip
    same = implies((e.logged == EMPTY) & ~(s.epoch < e.number), (s.epoch == e.number) & (s.remembers != 0))
    return (
        (s.term == e.term) & cause & same
        & implies(e.logged == COMPLETE_COMMIT, s.outcome == Outcome.COMMIT)
        & implies(e.logged == COMPLETE_ABORT, s.outcome == Outcome.ABORT)
    )  # fmt: skip


def _in_log(s, e):
    return (
        implies(~_prepared(e), s.epoch == e.number)
        & implies(_prepared(e), s.marker_epoch == e.number)
        & implies(e.logged == PREPARE_COMMIT, s.outcome == Outcome.COMMIT)
        & implies(e.logged == PREPARE_ABORT, s.outcome == Outcome.ABORT)
    )


def _answers_again(s, e):
    return e.counts & s.asking[e.client] & (s.answered[e.client] == 0) & (e.named != 0)


def logged(ask, add, comes_late):
    """Return the observation of a record of the transaction log."""
    return Observation(
        "txn_logged",
        (
            *by_init("ask_for_epoch", lambda s, e: _new_epoch(s, e) & _unseen(s, e), comes_late),
            Do("answer_init_again", CLIENT, when=lambda s, e: (
                (e.logged == EMPTY) & ~_new_epoch(s, e) & _answers_again(s, e))),
            Do("initialize", {**CLIENT, "to": "number"}, when=_new_epoch),
            Do(ask, RECORD, when=lambda s, e: (e.logged == ONGOING) & _unseen(s, e)),
            Do(add, RECORD, when=lambda s, e: e.logged == ONGOING),
            Do("ask_to_end", TXN, when=lambda s, e: _prepared(e) & _unseen(s, e) & e.by_owner),
            *_by_the_clock(comes_late),
            Do("end", {**TXN, **PREPARED}, when=lambda s, e: (
                _prepared(e) & (s.pending == Pending.END))),
            Do("take_over", PREPARED, when=lambda s, e: (
                _prepared(e) & (s.pending == Pending.FENCE))),
            Do("complete", {}, when=lambda s, e: _completed(e)),
        ),
        before=_logged,
        after=_in_log,
        rule="txn.8",
    )  # fmt: skip


def coordinator(end_code, comes_late):
    return (
        Observation(
            "init_handled",
            (
                Do("answer_init_again", CLIENT, when=lambda s, e: (e.error == NONE) & _answers_again(s, e)),
                Do("lose_answer", CLIENT, when=lambda s, e: (
                    (e.error == NONE) & ~e.counts & s.asking[e.client] & (s.answered[e.client] == s.epoch)
                    & ~s.again[e.client])),
            ),
            before=kinds.init_code,
            rule="txn.2",
        ),
        Observation(
            "end_handled",
            (Do("answer_again", TXN, when=lambda s, e: (e.error == NONE) & (s.phase == Phase.IDLE)),),
            before=end_code,
            after=lambda s, e: implies(e.error == NONE, s.success[e.txn]),
            rule="txn.7",
        ),
        Observation(
            "append_failed",
            (*_by_the_clock(comes_late), Do("append_fails", {}, when=lambda s, e: s.pending != Pending.NOTHING)),
        ),
        Observation("timed_out", (Do("time_out", {}),), before=lambda s, e: s.live() == e.number, rule="txn.18"),
        Observation(
            "coordinator_loaded",
            (Do("fail_over", {}),),
            before=lambda s, e: ~e.durable | (s.pending == Pending.NOTHING),
            after=lambda s, e: s.term == e.term,
            rule="txn.19",
        ),
        Observation("id_expired", (Do("expire", {}, when=lambda s, e: s.is_recorded()),), rule="txn.20"),
        Observation(
            "marker_acked",
            before=lambda s, e: (s.phase == Phase.PREPARED) & s.marked[e.partition] & (s.marker_epoch == e.number),
            rule="txn.10",
        ),
    )  # fmt: skip


EVERYBODY = (*CLIENTS, *PARTITIONS)


def _by_variant(comes_late):
    below_v2 = (
        *EVERYBODY, *ADDING, *coordinator(kinds.end_code_v1, comes_late),
        logged("ask_to_add_partition", "add_partition", comes_late),
    )  # fmt: skip
    return {
        "v1": (*below_v2, *refusals(kinds.produce_code_v1, kinds.marker_code_v1)),
        "v1-verified": (
            *below_v2, ASKED, checked(kinds.verify_code), *refusals(kinds.produce_code_verified, kinds.marker_code_v1),
        ),
        "v2": (
            *EVERYBODY, *coordinator(kinds.end_code_v2, comes_late), logged("ask_to_verify", "verify", comes_late),
            ASKED, checked(kinds.add_code), *refusals(kinds.produce_code_v2, kinds.marker_code_v2),
        ),
    }  # fmt: skip


BY_VARIANT: Mapping[str, tuple[Observation, ...]] = _by_variant(not_asked)


# These observations of histories differ from those of driven runs.
#
# A history has every event except for the moment when a record is sent to the transaction log. So ``busy`` and ``away``
# follow from the events: a record that is logged later was asked for before, or a coordinator goes away.

HISTORY_COLUMNS: Mapping[str, Any] = COLUMNS
"""`HISTORY_COLUMNS` adds the columns of simulated histories; ``others`` is set where producers of another transactional
id have an offset pending in the partition."""


OFFSET_FETCHED = Observation(
    "offset_fetched",
    before=lambda s, e: (
        ((e.error == kinds.NONE) | (e.error == kinds.UNSTABLE))
        & ((something_open(s, e) | e.others) == (e.error == kinds.UNSTABLE))
        & implies((e.error == kinds.NONE) & e.reads, s.fate[e.txn, e.partition] == Fate.COMMITTED)
    ),
    rule="txn.21",
)


def _not_asked_or_again(s, e):
    """Decide whether a copy of a client's first InitProducerId may arrive; it may also arrive while the client asks
    again and names its pair."""
    return not_asked(s, e) | (s.again[e.client] & (e.named == 0) & ~s.stray[e.client])


def _held(variant, o):
    if o.kind == "offset_fetched":
        return OFFSET_FETCHED
    if o.kind == "partition_checked" and variant == "v1-verified":
        return replace(  # a fence is in memory before it is in the log
            o, before=lambda s, e: ((e.error == kinds.FENCED) & e.busy) | kinds.verify_code(s, e)
        )
    return o


def _further(is_taken):
    """Return the observation of one more record of a transaction that is over in the partition. The model has another
    record in its place there and nothing changes; only the condition that lets the record in is compared with the
    model."""
    return Observation(
        "further_record",
        before=lambda s, e: (
            same_pair(s, e) & s.sent[e.txn, e.partition] & (s.known[e.partition] <= e.number)
            & ((s.fate[e.txn, e.partition] == Fate.COMMITTED) | (s.fate[e.txn, e.partition] == Fate.ABORTED))
            & is_taken(s, e)
        ),
        rule="txn.12",
    )  # fmt: skip


_FURTHER = {
    "v1": (_further(lambda s, e: s.known[e.partition] <= e.number),),
    "v1-verified": (_further(lambda s, e: s.cleared[e.txn, e.partition] | joins(s, e.partition, e.number)),),
}

_BY_MODE: Mapping[str, tuple[Observation, ...]] = {
    variant: (*(_held(variant, o) for o in observations), *_FURTHER.get(variant, ()))
    for variant, observations in _by_variant(_not_asked_or_again).items()
}
RELEASES = {"4.0": "v2", "4.3": "v2-4.3"}
"""`RELEASES` maps releases of Kafka to variants of v2: since KAFKA-19367 (4.3) a fence bumps the epoch once, which is
not visible in the events."""
HISTORY_BY_VARIANT = {**_BY_MODE, RELEASES["4.3"]: _BY_MODE["v2"]}


def variant_of(manifest: Manifest) -> str:
    """Return the variant for the mode that the config names, and for v2 its release, 4.0 by default. Errors:
    `HistoryError`."""
    mode, release = str(manifest.config.get("mode", "v2")), str(manifest.config.get("release", "4.0"))
    if mode not in BY_VARIANT:
        raise HistoryError(f"no model for mode {mode!r}")
    if mode == "v2" and release not in RELEASES:
        raise HistoryError(f"no model for v2 of release {release!r}; known: {', '.join(RELEASES)}")
    return RELEASES[release] if mode == "v2" else mode
