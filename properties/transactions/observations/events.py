"""What the events of a history of transactions say about the model's state and steps, for one transactional id.

The model numbers the epochs of all producer ids in one row (`numbering.py`).  An event's pair is so one ``number``, 0
for none; ``next_base`` is the first number of the producer id after it.  What else is not a stored column:

- of the request that is answered: ``client`` or ``txn``, and ``named``, the pair that InitProducerId expects;
- ``counts``: the client still waits for the answer to this request; ``late``: nobody takes the answer to this copy;
- of a record of the transaction log: ``to``, the epoch after it, and where its cause was not seen to begin (in a
  history), ``by_owner``: an EndTxn of ``txn``, or else a fence, ``of_init``: begun by an InitProducerId of ``client``;
- ``fresh``: the leader has not asked before, or has forgotten; ``reads``: a record is named; ``durable``: what was
  under way to the log made it there;
- ``busy``, ``away``: what explains codes to be tried again (`codes.py`);
- ``others``: producers of another transactional id may have an offset pending in the partition.

A transaction with several records in a partition has one in the model: the first one opens it, and the others must
find it open.  A transaction begins when its first request leaves: of one without any nobody hears.
"""

from fencepost.model.language import Bool, Int, implies, when
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
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.codes import NONE
from fencepost.properties.transactions.observations.partitions import (
    ASKED,
    PARTITIONS,
    RECORD,
    checked,
    good,
    refusals,
    same_pair,
)

COLUMNS = {
    "client": Client, "txn": Txn, "partition": Partition, "number": Epoch, "next_base": Epoch, "named": Epoch,
    "to": Epoch, "commit": Bool, "logged": Int, "term": Term, "error": Int, "counts": Bool, "late": Bool,
    "by_owner": Bool, "of_init": Bool, "fresh": Bool, "reads": Bool, "durable": Bool, "busy": Bool, "away": Bool,
    "others": Bool,
}  # fmt: skip

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)

_client = {"c": "client"}
_txn = {"t": "txn"}


def _outcome(e):
    return when(e.commit, Outcome.COMMIT, Outcome.ABORT)


# What clients do and are told


def _named(s, e):
    """A request names the pair that its producer was told last, and a retry names it again."""
    return implies(e.number != 0, s.holds[e.client] == e.number) & implies(
        s.asking[e.client], s.again[e.client] == (e.number != 0)
    )


def _fenced_init(s, e):
    return (e.error == codes.FENCED) & codes.quiet(s) & s.is_sent(e.client) & (s.expected(e.client) != 0) & (
        s.phase == Phase.IDLE
    ) & (s.expected(e.client) != s.live()) & (s.expected(e.client) != s.remembers) & (
        ~s.fails_at_the_end(e.client)
    )  # fmt: skip


def _failed_init(s, e):
    return (e.error == codes.FAILED) & codes.quiet(s) & s.is_sent(e.client) & (s.phase == Phase.IDLE) & (
        s.fails_at_the_end(e.client)
    )  # fmt: skip


def _refused_end(s, e):
    repeats = s.is_retry(e.txn) & s.is_next_to_present(e.txn) & (s.outcome == s.choice[e.txn])
    waits = (e.error != NONE) & s.begun[e.txn] & ~s.success[e.txn] & s.ready[s.owner[e.txn]] & codes.quiet(s)
    ends = (s.number[e.txn] == s.live()) & s.may_end(e.txn)
    return waits & ~ends & ~((s.phase == Phase.IDLE) & repeats)


BEGIN = Do("begin", {"c": "client", "t": "txn", "e": "number"}, when=lambda s, e: ~s.begun[e.txn])

CLIENTS = (
    Observation("client_started"),
    Observation("client_stopped"),
    Observation("client_failed"),
    Observation("record_failed"),
    Observation(
        "init_sent",
        (
            Do("lose_answer", _client, when=lambda s, e: s.asking[e.client] & (s.answered[e.client] != 0)),
            Do("start", _client, when=lambda s, e: ~s.asking[e.client] & (e.number == 0)),
            Do("start_again", _client, when=lambda s, e: ~s.asking[e.client]),
        ),
        before=_named,
        rule="txn.2",
    ),
    Observation(
        "init_taken",
        (
            Do("take", _client, when=good),
            Do("refuse_init", _client, when=_fenced_init),
            Do("fail_init", _client, when=_failed_init),
        ),
        before=lambda s, e: implies(e.error == NONE, s.answered[e.client] == e.number),
        rule="txn.2",
    ),
    Observation(
        "fence_told",
        (Do("take", _client, when=good),),
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
            Do("commit", _txn, when=lambda s, e: (s.choice[e.txn] == Outcome.NONE) & e.commit),
            Do("abort", _txn, when=lambda s, e: s.choice[e.txn] == Outcome.NONE),
        ),
        before=lambda s, e: (
            same_pair(s, e)
            & implies(s.choice[e.txn] != Outcome.NONE, s.choice[e.txn] == _outcome(e))
        ),
    ),
    Observation(
        "end_told",
        (
            Do("learn", _txn, when=lambda s, e: (e.error == NONE) & s.begun[e.txn]),
            Do("refuse_end", _txn, when=_refused_end),
        ),
        before=lambda s, e: implies((e.error == NONE) & s.begun[e.txn], s.follows[e.txn] == e.number),
        rule="txn.9",
    ),
)  # fmt: skip


def _may_refuse_add(s, e):
    return (
        (e.error == codes.FENCED)
        & (s.choice[e.txn] == Outcome.NONE)
        & s.ready[s.owner[e.txn]]
        & codes.quiet(s)
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
    Observation("add_handled", (Do("add_partition", RECORD, when=good),), before=codes.add_code, rule="txn.6"),
)

# What the coordinator does


def _unseen(s, e):
    """Nobody saw the beginning of what is now in the log."""
    return s.pending == Pending.NOTHING


def _prepared(e):
    return (e.logged == PREPARE_COMMIT) | (e.logged == PREPARE_ABORT)


def _completed(e):
    return (e.logged == COMPLETE_COMMIT) | (e.logged == COMPLETE_ABORT)


def _new_epoch(s, e):
    """A retry that names the epoch before is written to the log as well, and nothing changes."""
    return (e.logged == EMPTY) & (s.epoch < e.number)


def ask_for_epoch(starts):
    """A request for the next epoch arrives, or another copy of it."""
    return (
        Do("lose_answer", _client, when=lambda s, e: (
            starts(s, e) & s.asking[e.client] & (s.answered[e.client] != 0) & ~e.late & ~s.stray[e.client])),
        Do("come_late", _client, when=lambda s, e: starts(s, e) & ~s.is_sent(e.client)),
        Do("ask_for_epoch", _client, when=starts),
    )  # fmt: skip


def fence_first(starts):
    """The same, and a transaction is open."""
    return (
        Do("lose_answer", _client, when=lambda s, e: (
            starts(s, e) & s.asking[e.client] & (s.answered[e.client] != 0) & ~e.late & ~s.stray[e.client])),
        Do("come_late", _client, when=lambda s, e: starts(s, e) & ~s.is_sent(e.client)),
        Do("fence_first", _client, when=starts),
    )  # fmt: skip


def _fence_unseen(s, e):
    return _prepared(e) & _unseen(s, e) & ~e.by_owner


CLOCK = (
    *fence_first(lambda s, e: _fence_unseen(s, e) & e.of_init),
    Do("time_out", {}, when=lambda s, e: _fence_unseen(s, e) & ~e.of_init),
)


def _logged(s, e):
    """What was pending, and what is now in the log."""
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
    """A retry gets the answer that the first request got."""
    return e.counts & s.asking[e.client] & (s.answered[e.client] == 0) & (e.named != 0)


def logged(ask, add):
    """A record of the transaction log."""
    return Observation(
        "txn_logged",
        (
            *ask_for_epoch(lambda s, e: _new_epoch(s, e) & _unseen(s, e)),
            Do("answer_init_again", _client, when=lambda s, e: (
                (e.logged == EMPTY) & ~_new_epoch(s, e) & _answers_again(s, e))),
            Do("initialize", {"c": "client", "to": "number"}, when=_new_epoch),
            Do(ask, RECORD, when=lambda s, e: (e.logged == ONGOING) & _unseen(s, e)),
            Do(add, RECORD, when=lambda s, e: e.logged == ONGOING),
            Do("ask_to_end", _txn, when=lambda s, e: _prepared(e) & _unseen(s, e) & e.by_owner),
            *CLOCK,
            Do("end", {"t": "txn", "marker": "number", "to": "to"}, when=lambda s, e: (
                _prepared(e) & (s.pending == Pending.END))),
            Do("take_over", {"marker": "number", "to": "to"}, when=lambda s, e: (
                _prepared(e) & (s.pending == Pending.FENCE))),
            Do("complete", {}, when=lambda s, e: _completed(e)),
        ),
        before=_logged,
        after=_in_log,
        rule="txn.8",
    )  # fmt: skip


def coordinator(end_code):
    return (
        Observation(
            "init_handled",
            (
                Do("answer_init_again", _client, when=lambda s, e: (e.error == NONE) & _answers_again(s, e)),
                Do("lose_answer", _client, when=lambda s, e: (
                    (e.error == NONE) & ~e.counts & s.asking[e.client] & (s.answered[e.client] == s.epoch)
                    & ~s.again[e.client])),
            ),
            before=codes.init_code,
            rule="txn.2",
        ),
        Observation(
            "end_handled",
            (Do("answer_again", _txn, when=lambda s, e: (e.error == NONE) & (s.phase == Phase.IDLE)),),
            before=end_code,
            after=lambda s, e: implies(e.error == NONE, s.success[e.txn]),
            rule="txn.7",
        ),
        Observation(
            "append_failed",
            (*CLOCK, Do("append_fails", {}, when=lambda s, e: s.pending != Pending.NOTHING)),
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

V1 = (
    *EVERYBODY, *ADDING, *coordinator(codes.end_code_v1), logged("ask_to_add_partition", "add_partition"),
    *refusals(codes.produce_code_v1, codes.marker_code_v1),
)  # fmt: skip

VERIFIED = (
    *EVERYBODY, *ADDING, *coordinator(codes.end_code_v1), logged("ask_to_add_partition", "add_partition"), ASKED,
    checked(codes.verify_code), *refusals(codes.produce_code_verified, codes.marker_code_v1),
)  # fmt: skip

V2 = (
    *EVERYBODY, *coordinator(codes.end_code_v2), logged("ask_to_verify", "verify"), ASKED, checked(codes.add_code),
    *refusals(codes.produce_code_v2, codes.marker_code_v2),
)  # fmt: skip

BY_VARIANT = {"v1": V1, "v1-verified": VERIFIED, "v2": V2}
