"""This module checks what KIP-447 promises of a consumer group that copies its input, against what applications, an
auditor and the group's offsets reveal.

An auditor reads the committed output in the order of its positions, and asks for the group's offsets after that. What
it reads is the promise itself: every place of the input once. The other properties locate the fault: which member
committed after another had begun, and which was given an offset that was not settled. `ProtocolView` has the sizes and
time-outs that the config omits.
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_
from types import MappingProxyType
from typing import Any

from fencepost.properties.group_fencing.events import APPLICATION, AUDITOR, GROUP_FENCING, OFFSETS, Kind
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.naming import Words
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, Setting, declared, each, first, following, greatest, last, when
from fencepost.properties.history.spreading import BY_ITSELF
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, put

CLASSIC = ("shipped", "group-id-only")
NEW = ("new-protocol", "new-protocol-relaxed")
SINCE = (*CLASSIC, *NEW, *(f"{mode}-metadata-at-send" for mode in NEW))
"""The modes in `SINCE` are what shipped and what followed. The draft makes the same promise by other means."""
DRAFTS = ("draft", "draft-repaired-by-assignment", "draft-repaired-by-generation", "draft-static-members")

PARTITION, PLACE, OWNER = ("partition",), ("partition", "offset"), ("partition", "client")
OF_PRODUCER = ("partition", "producer_id")

NAMES = {"error": {85: "CONCURRENT_PRODUCER_COMMIT", 86: "PENDING_TRANSACTION"}}
"""KIP-447's draft has these errors. Kafka has given their numbers to others, which no member of a group meets."""
saying = Words(GROUP_FENCING, hidden=("slot",), names=NAMES).saying

READ_FIRST = first(Kind.output_read, by=PLACE)
READ = greatest("offset", Kind.output_read, by=PARTITION)
AUDITED_LATER = following(Kind.audited, by=PARTITION)
BEHIND = when(IT.offset < 0, 0, IT.offset)

TAKEN = last(Kind.offset_taken, by=PARTITION)
TAKEN_SETTLED = following(Kind.offset_settled, by=OF_PRODUCER, asking=TAKEN)
SETTLED = following(Kind.offset_settled, by=OF_PRODUCER)
NEWEST = greatest("generation", Kind.consumed, by=PARTITION)
SENT = last(Kind.offset_sent, by=(*OF_PRODUCER, "epoch"))  # several instances may have one producer id (447.11)
SENDER = greatest("generation", Kind.consumed, by=OWNER, asking=SENT)
CURRENT = last(Kind.generation_begun, Kind.coordinator_loaded, by=())
ASSIGNED_NEXT = following(Kind.assigned, by=PARTITION)
GIVEN_UP = following(Kind.revoked, Kind.lost, Kind.left, by=("client",), asking=ASSIGNED_NEXT)
INITIALISED = following(Kind.init_told, by=("client",), where=IT.error == 0, asking=ASSIGNED_NEXT)
SEEN = (Kind.instance_started, Kind.joined, Kind.init_told)
SEEN_NEWEST = greatest("client", *SEEN, by=())
TAKEN_ENDED = following(Kind.offset_settled, by=("producer_id",), asking=TAKEN)  # a marker is for all that is pending
TAKEN_COUNTS = (TAKEN_ENDED.at < IT.at) & (TAKEN_ENDED.outcome == 1)
PUT = last(Kind.offset_put, by=PARTITION)
FENCED = (22, 35, 47, 48, 49, 82, 85, 90, 111)
"""An instance may end with one of the errors in `FENCED`, because its place is taken (22, 82, 90, 111; 85 in the
draft), its transaction has timed out or a late copy has moved its epoch on (47, 48), its id has expired (49), or
brokers are older than the feature (35)."""
BY_ANOTHER_ERROR = reduce(and_, (IT.error != code for code in FENCED))
HOLDER = last(Kind.init_told, by=("producer_id",), where=IT.error == 0)

PROMISES = (
    declared(
        "nothing_twice", "447.P1", "every place of the input is copied once in the committed output",
        each(Kind.output_read, by=PLACE),
        (READ_FIRST.output != IT.output) | (READ_FIRST.position != IT.position), saying("the same was copied by"),
        explained=READ_FIRST,
    ),
    declared(
        "nothing_skipped", "447.P1", "a copy is committed behind those of all records before it in its partition",
        each(Kind.output_read, by=PARTITION),
        IT.offset > READ.offset + 1, saying("records before it were left out after", "records before it were left out"),
        explained=READ,
    ),
    declared(
        "offsets_agree", "447.P1", "at the end the offset is right behind the last committed copy",
        each(Kind.audited, by=PARTITION),
        BEHIND != READ.offset + 1, saying("the last copy is", "nothing is copied"),
        explained=READ, given=AUDITED_LATER.missing, needs_quiet_end=True,
    ),
    declared(
        "everything_copied", "447.P3", "once faults stop, all of the input is copied and committed",
        each(Kind.audited, by=PARTITION),
        BEHIND != Setting("records"), saying("there are more records"),
        given=AUDITED_LATER.missing, needs_quiet_end=True,
    ),
    declared(
        "one_producer_commits", "447.P2", "while an offset of a partition is pending, no other producer's is taken",
        each(Kind.offset_taken, by=PARTITION),
        ~TAKEN.missing & (TAKEN.producer_id != IT.producer_id) & (TAKEN_SETTLED.at > IT.at),
        saying("there is one pending by"), explained=TAKEN,
    ),
    declared(
        "newest_owner_commits", "447.P2",
        "once a member of a newer generation has consumed from a partition, no offset of an older owner is taken",
        each(Kind.offset_taken, by=PARTITION),
        (NEWEST.generation > SENDER.generation) & (NEWEST.client != SENT.client),
        saying("it was consumed in a newer generation by"),
        explained=NEWEST, given=~SENT.missing & ~SENDER.missing,
    ),
    declared(
        "no_other_error_ends_it", "447.P4",
        "no instance is ended by an error that says nothing of its place in the group or of its transaction",
        each(Kind.instance_failed, where=IT.error != 0),
        BY_ANOTHER_ERROR, saying("no other instance has to do with that"),
    ),
    declared(
        "lone_client_not_fenced", "447.P2",
        "no producer of an instance is fenced for its group that never had another one beside it",
        each(Kind.producer_fenced, by=("producer_id",)),
        (HOLDER.client == 0) & (SEEN_NEWEST.client == 0),
        saying("there was never another instance than that of"), explained=HOLDER, given=~HOLDER.missing, modes=DRAFTS,
    ),
)  # fmt: skip

MECHANISMS = (
    declared(
        "last_written_counts", "txn.21",
        "of several committed offsets of a partition the one counts that was written last, whichever was settled last",
        each(Kind.fetch_answered, Kind.audited, by=PARTITION, where=IT.offset >= 0),
        TAKEN_COUNTS & (IT.offset != TAKEN.offset), saying("committed, and written later, is"),
        explained=TAKEN, given=~TAKEN.missing & PUT.missing,
    ),
    declared(
        "stale_never_commits", "447.16", "no offset is taken of a generation that is not the group's",
        each(Kind.offset_taken, where=IT.generation >= 0),
        ~CURRENT.missing & (IT.generation != CURRENT.generation), saying("the group is at"),
        explained=CURRENT, modes=CLASSIC,
    ),
    declared(
        "fetches_are_stable", "447.9", "no offset is told as stable while one of its partition is pending",
        each(Kind.fetch_answered, by=PARTITION, where=IT.outcome == 1),
        ~TAKEN.missing & (TAKEN_SETTLED.at > IT.at), saying("there is one pending by"), explained=TAKEN,
    ),
    declared(
        "held_while_pending", "447.9", "a fetch is refused only while an offset of its partition is pending",
        each(Kind.fetch_held, by=PARTITION),
        TAKEN.missing | (TAKEN_SETTLED.at < IT.at), saying("the last that was pending is settled,", "none is pending"),
        explained=TAKEN, modes=SINCE,
    ),
    declared(
        "initialised_when_settled", "447.2",
        "initTransactions() returns only when no offset of an assigned partition is pending",
        each(Kind.offset_taken, by=OF_PRODUCER),
        (INITIALISED.at < SETTLED.at) & (INITIALISED.at < GIVEN_UP.at) & (Setting("old") == 0),
        saying("it was still pending at"),
        explained=INITIALISED, given=~ASSIGNED_NEXT.missing & ~INITIALISED.missing & (ASSIGNED_NEXT.at < SETTLED.at),
        modes=DRAFTS,
    ),
)  # fmt: skip

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "clients": GROUP_FENCING.observed_by(APPLICATION, AUDITOR),
        "clients and offsets": GROUP_FENCING.observed_by(APPLICATION, AUDITOR, OFFSETS),
        "all": tuple(GROUP_FENCING.codes),
    }
)
"""`RECORDINGS` maps each recording to the kinds of event that it has."""


class GroupView(EventView):
    """A `GroupView` has the parts of one piece. Settings of the cluster that the config omits are as in Kafka."""

    def __init__(self, columns: Columns, config: Mapping[str, Any]) -> None:
        super().__init__(columns, config)
        self.records = int(config.get("records", 6))
        self.old = int(config.get("old", 0))  # instances with a producer for each partition, which waits for that alone


def figures(view: GroupView) -> dict[str, int]:
    """Return what became of the copies of one piece. The figures of several pieces can be added."""
    kinds = {
        "consumed": Kind.consumed, "transactions": Kind.txn_begun, "offsets_taken": Kind.offset_taken,
        "offsets_refused": Kind.offset_refused, "fetches_held": Kind.fetch_held, "failed": Kind.instance_failed,
    }  # fmt: skip
    return {name: len(view.rows_of(kind)) for name, kind in kinds.items()}


HISTORY = HistoryProperties(
    GROUP_FENCING,
    in_a_table(*PROMISES, *MECHANISMS),
    view=GroupView,
    mode="shipped",
    figures=figures,
    values=NAMES,
    spread_of_figures=BY_ITSELF,
)


# These edits seed violations in a history of a consumer group that the reference wrote, with what each property must
# then report.
#
# Each edit is the smallest that only one property reports. Where an edit breaks several properties, the others are
# named too. Client 0 has producer id 0 and partition 0, of which client 1, with producer id 1, is the next owner.

_PENDING = {"partition": 0, "offset": 1, "producer_id": 1, "epoch": 0}
_FORMER = {"partition": 0, "offset": 2, "producer_id": 0, "epoch": 1}
_SUCCESSOR_CONSUMED = (Kind.txn_begun, 3)  # before that, client 1 has consumed what client 0 had

VIOLATIONS = {
    "copied twice": Seeded(
        (put(END, Kind.output_read, output=0, position=99, partition=0, offset=3),), {"nothing_twice": 1},
    ),
    "a record left out": Seeded(
        (drop(Kind.output_read, 9),), {"nothing_skipped": 1},
    ),
    "committed and not copied": Seeded(
        (drop(Kind.output_read, 19),), {"offsets_agree": 1},
    ),
    "copied and not committed": Seeded(
        (change(Kind.audited, 2, offset=9),), {"offsets_agree": 1, "everything_copied": 1, "last_written_counts": 1},
    ),
    "the last one not done": Seeded(
        (change(Kind.audited, 3, offset=9), drop(Kind.output_read, 19)),
        {"everything_copied": 1, "last_written_counts": 1},
    ),
    "ended for nothing": Seeded(
        (put(END, Kind.instance_failed, slot=0, client=0, error=-1),), {"no_other_error_ends_it": 1},
    ),
    "an older one counts": Seeded(
        (change(Kind.fetch_answered, 10, offset=1),), {"last_written_counts": 1},
    ),
    "two pending at once": Seeded(
        (
            put((Kind.offset_settled, 0), Kind.offset_taken, generation=1, member=1, **_PENDING),
            put((Kind.generation_begun, 1), Kind.offset_settled, outcome=0, **_PENDING),
        ),
        {"one_producer_commits": 1},
    ),
    "a former owner commits": Seeded(
        (
            put(_SUCCESSOR_CONSUMED, Kind.offset_taken, generation=4, member=0, **_FORMER),
            put(_SUCCESSOR_CONSUMED, Kind.offset_settled, outcome=1, **_FORMER),
        ),
        {"newest_owner_commits": 1},
    ),
    "of the generation before": Seeded(
        (change(Kind.offset_taken, 4, generation=3),), {"stale_never_commits": 1},
    ),
    "told before it is settled": Seeded(
        (put((Kind.offset_settled, 1), Kind.fetch_answered, partition=0, offset=1, outcome=1),),
        {"fetches_are_stable": 1},
    ),
    "held for nothing": Seeded(
        (put(END, Kind.fetch_held, partition=0, error=88),), {"held_while_pending": 1},
    ),
    "initialised too early": Seeded(
        (put((Kind.offset_settled, 1), Kind.init_told, slot=1, client=1, txn=0, producer_id=1, epoch=9),),
        {"initialised_when_settled": 1},
    ),
    "fenced by itself": Seeded(
        (
            drop(Kind.instance_started, 1),
            put((Kind.init_told, 1), Kind.producer_fenced, producer_id=0, epoch=0),
        ),
        {"lone_client_not_fenced": 1},
    ),
}  # fmt: skip

EXAMPLE = "fencepost.properties.group_fencing.scenarios.known:rows"
SEEDED_HISTORY = SeededHistory(
    GROUP_FENCING, EXAMPLE, VIOLATIONS, {"mode": "shipped", "records": 10, "quiet_end": True}
)
simulate_many = SEEDED_HISTORY.simulate_many
