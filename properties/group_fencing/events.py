"""This module defines the events of a consumer group that copies its input exactly once (KIP-447): their kinds, their
columns, and who observes them.

Codes and names are a file format: histories written years ago carry them. Add new codes at the end, and never renumber.
Codes below 10 are events of instances of the application, from 10 on of their consumers, from 20 on of their producers,
from 40 on of the group's coordinator, from 50 on of the transactions' coordinator, and from 60 on of what an auditor
reads.

A copy is identified by the place of the record that it is a copy of: `partition` and `offset` are always of the input,
`output` and `position` of the output. A committed offset is that of the next record to read, as in Kafka.
"""

from fencepost.model.group_fencing.core import Epoch, Fate, Member, Offset, Partition, Stage
from fencepost.model.language import Bool, exists, forall, implies, when
from fencepost.model.language.observations import Condition, Do, Observation
from fencepost.properties.history.signs import Events, Sign, events
from fencepost.properties.history.vocabulary import KAFKA_ERROR, Column, EventKind, Vocabulary

CLIENT = "slot client"
PRODUCER = f"{CLIENT} txn producer_id epoch"
PLACE = "partition offset"
COMMIT = f"generation member instance {PLACE} producer_id epoch"

APPLICATION = "application"  # instances log it
AUDITOR = "auditor"  # who reads the output as far as it is committed, and asks for the group's offsets
OFFSETS = "offsets"  # it stands in the log that the group's offsets are stored in


class Kind(EventKind):
    instance_started = 1, CLIENT, APPLICATION  # an instance of the application, or its successor in the slot
    instance_stopped = 2, f"{CLIENT} error?", APPLICATION  # it ends in order, or was killed: what it sent stays
    instance_failed = 3, f"{CLIENT} error?", APPLICATION  # error: of its consumer or producer, if known
    paused = 4, CLIENT, APPLICATION  # the process stands still, heartbeats included
    resumed = 5, CLIENT, APPLICATION

    joined = 10, f"{CLIENT} generation member instance?", APPLICATION  # it knows that it is in this generation
    assigned = 11, f"{CLIENT} partition generation", APPLICATION  # it takes a partition that it did not have
    revoked = 12, f"{CLIENT} partition", APPLICATION  # it gives it up as the group wants it to
    lost = 13, f"{CLIENT} partition", APPLICATION  # it gives it up since it is out of the group
    offset_fetched = 14, f"{CLIENT} {PLACE}? error?", APPLICATION  # where it begins; -1: nothing is committed
    consumed = 15, f"{CLIENT} {PLACE} generation", APPLICATION  # a record is handed to the application
    left = 16, f"{CLIENT} generation? member? instance?", APPLICATION

    init_told = 20, f"{PRODUCER}! error?", APPLICATION  # initTransactions() has its answer
    txn_begun = 21, PRODUCER, APPLICATION
    output_sent = 22, f"{PRODUCER} output {PLACE}", APPLICATION  # the copy of one record is sent
    offset_sent = (
        23,
        f"{PRODUCER} {PLACE} generation? member? instance?",
        APPLICATION,
    )  # with the metadata that it sends
    end_sent = 24, f"{PRODUCER} outcome", APPLICATION
    end_told = 25, f"{PRODUCER} outcome error?", APPLICATION
    offset_put = 26, f"{CLIENT} {PLACE} generation?", APPLICATION  # committed outside any transaction

    generation_begun = 40, "generation", OFFSETS
    member_removed = 41, "member instance? generation"
    offset_taken = 42, COMMIT, OFFSETS  # one offset of a commit in a transaction: it is pending
    offset_refused = 43, f"{COMMIT} error"
    fetch_held = 44, "partition error"  # no offset is reported, as one is pending
    coordinator_loaded = 45, "generation", OFFSETS  # another coordinator goes on with this generation
    # the transaction of a pending offset has ended: outcome 1, and it counts, or 0, and it is no more
    offset_settled = 46, f"{PLACE} producer_id epoch outcome", OFFSETS
    # outcome 1 where the member asks for what no transaction can change any more (require_stable)
    fetch_answered = 47, f"{PLACE} outcome generation? member?"
    # under the new protocol (KIP-848): the member is at this epoch from now on; -2: a static one left for a while
    epoch_given = 48, "member generation", OFFSETS
    # outcome 1: it has the partition from this epoch on; 0: the partition is free again, and the epoch follows
    partition_given = 49, "member partition generation outcome", OFFSETS

    # by an initialisation of who was assigned that partition in that generation
    producer_fenced = 50, "generation? member? partition? txn? producer_id epoch"
    init_refused = 51, "generation? member? txn? producer_id? epoch? error"

    output_read = 60, f"output position {PLACE}", AUDITOR  # a committed copy
    audited = 61, PLACE, AUDITOR  # the group's offset in a partition; -1: none


COLUMNS = (
    Column("slot", "int32", "place of an instance, from 0: one after another holds it"),
    Column("client", "int64", "instance of the application, unique in its history"),
    Column("member", "int64", "member id in the group, numbered in the order in which they are given out"),
    Column("generation", "int64", "generation of a classic group; member epoch under the new protocol (KIP-848)"),
    Column("instance", "int32", "group.instance.id of a static member"),
    Column("partition", "int32", "partition of the input"),
    Column("offset", "int64", "offset in the input: of a record; of a commit, that of the next record to read"),
    Column("output", "int32", "partition of the output"),
    Column("position", "int64", "offset in the output"),
    Column("txn", "int64", "transactional id"),
    Column("producer_id", "int64", "producer id"),
    Column("epoch", "int32", "producer epoch"),
    Column("outcome", "int8", "1: commit, stable; 0: abort, whatever is there"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    KAFKA_ERROR,
)  # fmt: skip

GROUP_FENCING = Vocabulary(
    "group-fencing", Kind, COLUMNS, public=(APPLICATION, AUDITOR),
    recorded_with={APPLICATION: "--clients FILE", AUDITOR: "--clients FILE", OFFSETS: "LOG_DIR..."},
)  # fmt: skip


# Which events of a consumer group detect a danger; see `fencepost.properties.history.signs`.

FENCED_INSTANCE = 82


def _aborts(e: Events) -> int:
    return int((e["outcome"][e.of(Kind.offset_settled)] == 0).sum())


def _replaced(e: Events) -> int:
    return int((e["error"][e.of(Kind.instance_failed)] == FENCED_INSTANCE).sum())


SIGNS = (
    events("client-crash", "instances that end", Kind.instance_stopped),
    events("zombie", "instances that stand still and go on", Kind.resumed),
    Sign("zombie", "offsets refused of an instance that stood still",
         lambda e: len(e.after(e.of(Kind.offset_refused), e.of(Kind.resumed)))),
    Sign("zombie", "instances that another one replaces", _replaced),
    events("time-out", "members that are put out of the group", Kind.member_removed),
    Sign("time-out", "pending offsets that are aborted", _aborts),
    events("coordinator-fail-over", "coordinators of the group that take over", Kind.coordinator_loaded),
    Sign("rebalance", "generations that begin while offsets are sent",
         lambda e: len(e.after(e.of(Kind.generation_begun), e.of(Kind.offset_sent)))),
    Sign("several-partitions", "partitions of an instance beside its first",
         lambda e: e.further(e.of(Kind.assigned), ("client",), "partition")),
)  # fmt: skip


# These observations state which steps of the models of group fencing a row of the translation stands for, and what it
# checks.
#
# What an instance does by itself is translated to steps only where the model has them: a zombie may go on from an
# answer that arrived long ago, or from a position that the model does not know. What has to agree is whether its
# commits count, and the model accepts a commit only from a member that has reached it by steps.

MODEL_COLUMNS = {
    "client": Member, "other": Member, "partition": Partition, "offset": Offset, "first": Offset, "generation": Epoch,
    "outcome": Bool, "asked": Bool,
}  # fmt: skip

M, MP, MPO = {"m": "client"}, {"m": "client", "p": "partition"}, {"m": "client", "p": "partition", "i": "offset"}


def _is_over(s, e):
    """Return whether the client's fenced producer has no transaction left, so that it may begin anew."""
    return s.fenced[e.client] & (s.fate[e.client] == Fate.NONE)


def _may_fetch(s, e):
    """Return whether the member may fetch the partition's offset and the fetched offset is the committed one."""
    m, p = e.client, e.partition
    polls = (s.stage[m] == Stage.POLLING) & ~s.fenced[m] & ~s.crashed[m]
    return polls & s.assigned[m, p] & ~s.has[m, p] & s.is_stable(p) & (s.committed[p] == e.offset)


def _may_process(s, e):
    """Return whether the member may process inputs of the partition and continues from its position."""
    m, p = e.client, e.partition
    begins = (s.stage[m] == Stage.POLLING) & (s.fate[m] == Fate.NONE)
    goes_on = (s.stage[m] == Stage.PROCESSING) & (s.fate[m] == Fate.OPEN)
    return s.has[m, p] & (s.next[m, p] == e.first) & ~s.fenced[m] & (begins | goes_on)


def _may_send(s, e):
    """Return whether the member may send offsets and sends the epoch that the model's member would send."""
    return (s.stage[e.client] == Stage.PROCESSING) & (s.epoch_sent(e.client) == e.generation)


def _is_sent(s, e):
    """Return whether the offset is one that the model's member has sent and that was not accepted yet."""
    m, p = e.client, e.partition
    return s.has_arrived(m) & s.is_in(m, p) & (s.next[m, p] == e.offset)


def _ends(s, e):
    return (s.stage[e.client] != Stage.POLLING) & (s.fate[e.client] == Fate.OPEN) & ~s.fenced[e.client]


def _is_refused(s, e):
    m = e.client
    return s.has_arrived(m) & ~s.takes(m, s.stamp[m]) & ~s.crashed[m]


def _may_be_fenced(s, e):
    """Return whether another client that initialises the member's transactional id may fence the member."""
    return s.is_settled(e.client) & ~s.fenced[e.client]


def _nothing_pending(s, e):
    return forall(Partition, lambda p: s.pending[e.client, p] == 0)


def _decided(s, e):
    m = e.client
    is_so = (e.outcome & (s.fate[m] == Fate.COMMITTED)) | (~e.outcome & (s.fate[m] == Fate.ABORTED))
    return is_so & (0 < s.pending[m, e.partition])


def _is_replaced(s, e):
    """Return whether a static member that was in the group is replaced by an instance that is not in it yet."""
    return (0 < s.epoch[e.other]) & (s.epoch[e.client] == 0)


GENERATIONS = (
    Observation("generation_begun", (Do("rebalance", {"g": "generation"}),)),
    Observation("joined", (Do("replace", {"m": "other", "n": "client"}, when=_is_replaced),)),
    Observation(
        "assigned",
        (Do("give", MP, when=lambda s, e: s.owner[e.partition] != e.client),),
        after=lambda s, e: s.assigned[e.client, e.partition],
    ),
)

COORDINATOR = (
    Observation("coordinator_loaded", before=lambda s, e: s.newest == e.generation, rule="447.16"),
    Observation(
        "offset_taken",
        (Do("accept", M, when=lambda s, e: s.pending[e.client, e.partition] != e.offset),),
        after=lambda s, e: (s.pending[e.client, e.partition] == e.offset)
        & implies(s.stage[e.client] == Stage.ACCEPTED, s.stamp[e.client] == e.generation),
        rule="447.16",
    ),
    Observation(
        "offset_refused",
        before=lambda s, e: implies(_is_sent(s, e), ~s.takes(e.client, s.stamp[e.client])),
        rule="447.P3",
    ),
    Observation(
        "offset_settled",
        (
            Do("commit", M, when=lambda s, e: e.outcome & _ends(s, e)),
            Do("abort", M, when=lambda s, e: e.asked & _ends(s, e)),
            Do("give_up", M, when=lambda s, e: ~e.outcome & (s.fate[e.client] == Fate.OPEN)),
            Do("end", M, when=_decided),
        ),
        after=lambda s, e: (s.pending[e.client, e.partition] == 0)
        & implies(e.outcome, s.committed[e.partition] == e.offset),
        rule="447.18",
    ),
    Observation("fetch_held", before=lambda s, e: ~s.is_stable(e.partition), rule="447.9"),
)  # fmt: skip
"""The observations in `COORDINATOR` are of the group's coordinator."""


def _answered(*steps: Do) -> Observation:
    """Return the observation of an answered fetch, with ``steps`` where it names the member that asked."""
    return Observation(
        "fetch_answered",
        steps,
        before=lambda s, e: (s.committed[e.partition] == e.offset) & implies(e.outcome, s.is_stable(e.partition)),
        rule="447.9",
    )


def _application(may_fetch: Condition = _may_fetch, *initialised: Do) -> tuple[Observation, ...]:
    """Return the observations of the application, with the steps ``initialised`` where a producer begins anew."""
    anew = (Do("initialise", M, when=_is_over), *initialised)
    return (
        Observation("consumed", (Do("fetch", MP, when=may_fetch),)),
        Observation("processed", (Do("process", MPO, when=_may_process),)),
        Observation(
            "offset_sent",
            (Do("send", M, when=_may_send),),
            after=lambda s, e: implies(_is_sent(s, e), s.stamp[e.client] == e.generation),
            rule="447.16",
        ),
        Observation(
            "end_told",
            (
                Do("commit", M, when=lambda s, e: e.outcome & _ends(s, e)),
                Do("refuse", M, when=lambda s, e: ~e.outcome & _is_refused(s, e)),
                Do("abort", M, when=lambda s, e: ~e.outcome & _ends(s, e)),
                Do("end", M, when=lambda s, e: (s.fate[e.client] == Fate.ABORTED) & _nothing_pending(s, e)),
                *anew,
            ),
        ),
        Observation("init_told", anew),
        Observation("fenced", (Do("fence", M, when=_may_be_fenced),)),
        Observation("killed", (Do("crash", M, when=lambda s, e: ~s.crashed[e.client]),)),
    )  # fmt: skip


CLASSIC = (*GENERATIONS, *COORDINATOR, _answered(), *_application())


def _is_answered(s, e):
    """Return whether InitProducerId may be answered because nothing is pending. Where something is pending, the member
    is a zombie by the time it is reported."""
    return s.asks(e.client) & s.nothing_pending_for(e.client)


def _may_fetch_when_ready(s, e):
    return _may_fetch(s, e) & s.ready[e.client]


DRAFT = (
    *GENERATIONS, *COORDINATOR, _answered(), *_application(_may_fetch_when_ready, Do("answer", M, when=_is_answered)),
)  # fmt: skip


def _may_fence(s, e):
    """Return whether other members are remembered for the member's partitions, none of them in a later generation."""
    m = e.client
    none_later = forall(Member, lambda n: implies(s.is_in_the_way(m, n), s.may_be_fenced_by(m, n)))
    return s.asks(m) & exists(Member, lambda n: s.is_in_the_way(m, n)) & none_later


def _has_no_transaction(s, n):
    """Return whether the member has no transaction. A member with a transaction is only aborted, because its own abort
    may still be given the next epoch (KAFKA-19367)."""
    return s.fate[n] == Fate.NONE


def _fences_the_last(s, e):
    """Return whether all members that are in the way are fenced with this one."""
    m = e.client
    each = lambda n: _has_no_transaction(s, n) & ((n == e.other) | s.fenced[n])  # noqa: E731
    return _may_fence(s, e) & forall(Member, lambda n: implies(s.is_in_the_way(m, n), each(n)))


def _fences(s, e):
    return _has_no_transaction(s, e.other) & ~s.fenced[e.other]


def _is_answered_alone(s, e):
    """Return whether InitProducerId may be answered and no other member is remembered for the member's partitions."""
    return _is_answered(s, e) & ~exists(Member, lambda n: s.is_in_the_way(e.client, n))


BY_ASSIGNMENT = (
    *GENERATIONS,
    *COORDINATOR,
    Observation(
        "producer_fenced",
        (
            Do("initialise", M, when=_is_over),
            Do("abort_for", M, when=_fences_the_last),
            Do("fence", {"m": "other"}, when=_fences),
        ),
    ),
    _answered(),
    *_application(
        _may_fetch_when_ready, Do("abort_for", M, when=_may_fence), Do("answer", M, when=_is_answered_alone)
    ),
)  # fmt: skip


def _falls_out(s, e):
    """Return whether the member was removed from the group, or has partitions that it does not own."""
    m = e.client
    return ((s.epoch[m] == 0) & s.has_some(m)) | s.has_too_much(m)


def _is_fenced(s, e):
    """Return whether the member has missed an answer."""
    return (s.knows[e.client] < s.epoch[e.client]) & s.has_some(e.client)


def _is_unknown(s, e):
    """Return whether a former coordinator may not know the member, or not any more."""
    return (0 < s.epoch[e.client]) & s.has_some(e.client)


def _may_fetch_as_member(s, e):
    """Return whether the member may fetch with the epoch that the coordinator has for it."""
    m = e.client
    return _may_fetch(s, e) & (s.epoch[m] == s.knows[m]) & (0 < s.epoch[m])


def _learns(s, e):
    m = e.client
    return (s.epoch[m] == e.generation) & (s.knows[m] != e.generation) & ~s.has_too_much(m)


def _is_freed(s, e):
    return ~e.outcome & (s.owner[e.partition] == e.client)


def _gives_up(s, e):
    """Return whether a partition is freed that the member has not given up itself, because it never learnt of it."""
    return _is_freed(s, e) & s.assigned[e.client, e.partition]


def _is_released(s, e):
    """Return whether a partition is freed that the member has given up, so that its epoch advances."""
    return _is_freed(s, e) & ~s.assigned[e.client, e.partition] & (s.epoch[e.client] < e.generation)


def _is_given_back(s, e):
    """Return whether a partition is given back to a member that has joined again while it was known."""
    m, p = e.client, e.partition
    return (s.owner[p] == m) & (0 < s.epoch[m]) & ~s.assigned[m, p]


_OUT, _MG = Do("fall_out", M, when=_falls_out), {"m": "client", "g": "generation"}
EPOCHS = (
    Observation("generation_begun", (Do("expel", _MG, when=lambda s, e: (0 < s.epoch[e.client]) | s.left[e.client]),)),
    Observation(
        "epoch_given",
        (
            _OUT,
            Do("come_back", M, when=lambda s, e: s.left[e.client]),
            Do("join", _MG, when=lambda s, e: s.epoch[e.client] == 0),
            Do("advance", _MG, when=lambda s, e: s.epoch[e.client] < e.generation),
        ),
        after=lambda s, e: s.epoch[e.client] == e.generation,
    ),
    Observation(
        "partition_given",
        (
            Do("let_go", MP, when=lambda s, e: _is_freed(s, e) & s.left[e.client]),
            Do("revoke", MP, when=_gives_up),
            Do("release", {**MP, "g": "generation"}, when=_is_released),
            Do("withdraw", MP, when=_is_freed),  # a second one in the same epoch
            Do("assign", MP, when=lambda s, e: e.outcome),
        ),
        after=lambda s, e: when(
            e.outcome,
            (s.owner[e.partition] == e.client) & (s.since[e.partition] == e.generation),
            s.owner[e.partition] != e.client,
        ),
        rule="447.21",
    ),
    Observation(
        "away", (Do("leave", M, when=lambda s, e: 0 < s.epoch[e.client]),), after=lambda s, e: s.left[e.client]
    ),
    Observation(
        "replaced",
        (_OUT, Do("replace", {"m": "other", "n": "client"})),
        after=lambda s, e: s.epoch[e.client] == e.generation,
    ),
    Observation("assigned", (Do("give_back", MP, when=_is_given_back),)),
    Observation("joined", (Do("learn", M, when=_learns),)),
    Observation("revoked", (Do("revoke", MP, when=lambda s, e: s.assigned[e.client, e.partition]),)),
    Observation("lost", (_OUT, Do("be_fenced", M, when=_is_fenced), Do("be_unknown", M, when=_is_unknown))),
    _answered(Do("fetch", MP, when=_may_fetch_as_member)),
)
"""The observations in `EPOCHS` are of members with epochs, which are reported when they are stored."""

MODERN = (*EPOCHS, *COORDINATOR, *_application(_may_fetch_as_member))
