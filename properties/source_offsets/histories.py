"""This module checks what KIP-618 promises of the records of a source and their source offsets, against what instances
of tasks, the topics and an auditor reveal.

The auditor reads the committed output in the order of its positions, and then asks where a restart would resume. What
it reads is the promise itself: every record once, in the order of its source partition, in step with the offsets. The
other properties locate the step at which the promise was broken. A record that a transformation drops, or whose
transaction the connector has aborted, need not be in the output.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.naming import Words
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, Setting, declared, each, first, following, greatest, last, when
from fencepost.properties.history.spreading import BY_ITSELF
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, move, put, swap
from fencepost.properties.source_offsets.events import (
    AUDITOR,
    DRIVEN,
    OFFSETS,
    OPERATOR,
    SOURCE_OFFSETS,
    TASK,
    WITH_TOMBSTONES,
    Kind,
)

MIGRATING = ("migration-sentinel", "migration-race")
COPIED_WHEN_COMMITTED = tuple(
    mode for mode in DRIVEN if mode != "falls-back-alone" and (mode == "shipped" or not mode.startswith("shipped"))
)
"""In the modes in `COPIED_WHEN_COMMITTED` an offset is copied at its commit. Kafka copies it when sent."""
MERGED = tuple(mode for mode in DRIVEN if mode not in (*MIGRATING, "copied"))
"""The modes in `MERGED` are of the text that merges two topics. The text that copies does not mention tombstones."""
PARTITION, ROUND, PLACE = ("partition",), ("partition", "round"), ("partition", "round", "offset")
INSTANCE, OF_INSTANCE, OF_TOPIC = ("instance",), ("instance", "partition"), ("instance", "topic")

saying = Words(SOURCE_OFFSETS).saying

READ_FIRST = first(Kind.output_read, by=PLACE)
READ = greatest("offset", Kind.output_read, by=ROUND)
DONE = greatest("offset", Kind.output_read, Kind.filtered, Kind.given_up, by=ROUND)
POLLED = greatest("offset", Kind.polled, by=ROUND)
FILTERED, GIVEN_UP = first(Kind.filtered, by=PLACE), first(Kind.given_up, by=PLACE)
NEWEST = last(Kind.configured, by=())
AUDITED_LATER = following(Kind.audited, by=PARTITION)


def _of(event: Any) -> Any:
    return when(event.missing, 0, event.offset)


EXACTLY_ONCE = NEWEST.missing | (NEWEST.runtime == 0)

PROMISES = (
    declared(
        "nothing_twice", "618.P2", "every record of the source is once in the committed output",
        each(Kind.output_read, by=PLACE),
        READ_FIRST.position != IT.position, saying("the same is"), explained=READ_FIRST,
    ),
    declared(
        "in_order", "618.P2", "records of a source partition are committed in its order",
        each(Kind.output_read, by=ROUND),
        IT.offset < READ.offset, saying("a later one was before, which is"), explained=READ,
    ),
    declared(
        "nothing_skipped", "618.P2",
        "a record is committed behind the one before it in its source partition, if that is not dropped or given up",
        each(Kind.output_read, by=ROUND),
        IT.offset > _of(DONE) + 1, saying("records before it were left out after", "records before it were left out"),
        explained=DONE,
    ),
    declared(
        "nothing_passed_over", "618.P2", "no task begins behind a record that no task was ever handed",
        each(Kind.polled, by=ROUND),
        IT.offset > _of(POLLED) + 1, saying("records before it were not polled after", "nothing before it was polled"),
        explained=POLLED,
    ),
    declared(
        "nothing_lost", "618.P2",
        "in the end whatever was polled is in the committed output, if it is not dropped or given up",
        each(Kind.polled, by=PLACE),
        READ_FIRST.missing & FILTERED.missing & GIVEN_UP.missing, saying("it is not in the committed output"),
        needs_quiet_end=True,
    ),
    declared(
        "resume_not_behind", "618.P2", "a restart repeats nothing that is committed",
        each(Kind.audited, by=ROUND),
        IT.offset < _of(READ), saying("this is committed,"), explained=READ, given=EXACTLY_ONCE,
    ),
    declared(
        "resume_not_ahead", "618.P2", "a restart leaves out nothing that is not committed",
        each(Kind.audited, by=ROUND),
        IT.offset > _of(DONE), saying("the last that is committed is", "nothing is committed"),
        explained=DONE, given=EXACTLY_ONCE,
    ),
    declared(
        "everything_copied", "618.P4", "once faults stop, all of the source is in the output",
        each(Kind.audited, by=PARTITION),
        (IT.round != Setting("last_round")) | (IT.offset != Setting("records")), saying("there are more records"),
        given=AUDITED_LATER.missing, needs_quiet_end=True,
    ),
)  # fmt: skip

BEGUN, RECORD = last(Kind.txn_begun, by=INSTANCE), last(Kind.record_sent, by=INSTANCE)
STARTED, OPENED = last(Kind.instance_started, by=INSTANCE), last(Kind.producer_opened, by=INSTANCE)
ENDED_NEXT, OFFSET_NEXT = following(Kind.end_sent, by=INSTANCE), following(Kind.offset_sent, by=OF_INSTANCE)
OFFSET = last(Kind.offset_sent, by=OF_INSTANCE)
COMMITTED = last(Kind.end_told, by=INSTANCE, where=(IT.outcome == 1) & (IT.error == 0))
COMMIT_NEXT, POLLED_NEXT = following(Kind.commit_called, by=INSTANCE), following(Kind.polled, by=INSTANCE)
SENT_NEXT, BATCH_NEXT = following(Kind.record_sent, by=INSTANCE), following(Kind.batch_ended, by=INSTANCE)
STANDS = last(Kind.entry_appended, Kind.topic_marked, Kind.topic_deleted, by=("topic",))
ASKED = last(Kind.end_asked, by=OF_TOPIC)
TOMBSTONE = last(Kind.copy_told, by=OF_INSTANCE, where=(IT.offset == 0) & (IT.error == 0))
LOOKED = last(Kind.looked, by=("owner",))

MECHANISMS = (
    declared(
        "offsets_with_records", "618.27", "no transaction with a record is committed without its source offset",
        each(Kind.record_sent, by=OF_INSTANCE),
        OFFSET_NEXT.at > ENDED_NEXT.at, saying("no offset of its partition is sent before"), explained=ENDED_NEXT,
        given=~ENDED_NEXT.missing & (ENDED_NEXT.outcome == 1) & (IT.producer_id >= 0),
    ),
    declared(
        "aborted_as_asked", "618.27", "a transaction that the connector wants aborted is aborted",
        each(Kind.boundary_asked, by=INSTANCE, where=IT.outcome == 0),
        ENDED_NEXT.outcome == 1, saying("it is committed by"), explained=ENDED_NEXT,
        given=~ENDED_NEXT.missing & (SENT_NEXT.at < BATCH_NEXT.at) & (ENDED_NEXT.at < POLLED_NEXT.at),
    ),
    declared(
        "commit_is_called", "618.28", "SourceTask.commit is called after every batch that is a transaction of its own",
        each(Kind.batch_ended, by=INSTANCE),
        COMMIT_NEXT.at > POLLED_NEXT.at, saying("it is not called before"), explained=POLLED_NEXT,
        given=~POLLED_NEXT.missing & (Setting("boundary") == 0),
    ),
    declared(
        "end_is_the_end", "618.32", "the end that is asked is behind all that stands in the topic",
        each(Kind.end_asked, by=("topic",)),
        IT.position <= STANDS.position, saying("there was"), explained=STANDS,
        given=~STANDS.missing & (IT.instance >= 0),
    ),
    declared(
        "read_to_the_end", "618.32", "an instance reads on until it is at the end that it has asked",
        each(Kind.end_reached, by=OF_TOPIC),
        ASKED.missing | (IT.position < ASKED.position), saying("that is before the end,", "no end was asked"),
        explained=ASKED, given=IT.instance >= 0,
    ),
    declared(
        "asked_when_fenced", "618.18", "the end is asked after the predecessor is fenced",
        each(Kind.end_asked, by=INSTANCE),
        OPENED.missing, saying("its producer was not open since"), explained=STARTED,
        given=~STARTED.missing & (STARTED.runtime == 0),
    ),
    declared(
        "checked_against_newest", "618.19", "no instance of an older set goes on when it has opened its producer",
        each(Kind.instance_checked, by=INSTANCE, where=IT.outcome == 1),
        STARTED.generation < NEWEST.generation, saying("there was"), explained=NEWEST,
        given=~STARTED.missing & ~NEWEST.missing,
    ),
    declared(
        "checked_when_opened", "618.19", "an instance looks for a newer set when it has opened its producer",
        each(Kind.instance_checked, by=INSTANCE, where=IT.outcome == 1),
        OPENED.missing, saying("its producer was not open since"), explained=STARTED, given=~STARTED.missing,
    ),
    declared(
        "no_older_set_commits", "618.P1", "once a set of tasks is there, no instance of an older one commits",
        each(Kind.end_told, by=INSTANCE, where=(IT.outcome == 1) & (IT.error == 0)),
        STARTED.generation < NEWEST.generation, saying("there was"), explained=NEWEST,
        given=~STARTED.missing & ~NEWEST.missing,
    ),
    declared(
        "tombstones_beside_first", "618.31", "a tombstone is in the worker's topic before it is in the connector's own",
        each(Kind.offset_sent, by=OF_INSTANCE, where=(IT.offset == 0) & (IT.topic == 1)),
        TOMBSTONE.missing | (TOMBSTONE.at < OFFSET.at),
        saying("none is there since", "none is there"),
        explained=OFFSET, given=IT.offset == 0, modes=MERGED,
    ),
    declared(
        "copied_when_committed", "618.31", "an offset goes to the worker's topic when it is committed in the own one",
        each(Kind.copy_sent, by=OF_INSTANCE, where=IT.offset > 0),
        COMMITTED.at < OFFSET.at, saying("it was not committed since"), explained=OFFSET,
        given=~OFFSET.missing & (OFFSET.producer_id >= 0), modes=COPIED_WHEN_COMMITTED,
    ),
    declared(
        "fills_what_is_empty", "618.30", "only a separate topic that was found empty is filled",
        each(Kind.migrated, by=("owner",)),
        LOOKED.missing | (LOOKED.outcome == 1), saying("it was not:", "never looked"), explained=LOOKED,
        modes=MIGRATING,
    ),
)  # fmt: skip

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "auditor": SOURCE_OFFSETS.observed_by(AUDITOR),
        "tasks": SOURCE_OFFSETS.observed_by(OPERATOR, TASK, AUDITOR),
        "tasks and offsets": SOURCE_OFFSETS.observed_by(OPERATOR, TASK, AUDITOR, OFFSETS),
        "all": tuple(SOURCE_OFFSETS.codes),
    }
)
"""`RECORDINGS` maps each recording to the kinds of event that it has."""

BOUNDARIES = ("poll", "interval", "connector")


class SourceView(EventView):
    """A `SourceView` has the parts of one piece. Settings of the connector that the config omits are as in Kafka."""

    def __init__(self, columns: Columns, config: Mapping[str, Any]) -> None:
        super().__init__(columns, config)
        self.records = int(config.get("records", 6))
        mode = config.get("mode", "text-merged-view")
        self.last_round = int(config.get("rounds", 1 + (mode in WITH_TOMBSTONES))) - 1
        self.boundary = BOUNDARIES.index(config.get("boundary", "poll"))


def figures(view: SourceView) -> dict[str, int]:
    """Return what became of the records of one piece. The figures of several pieces can be added."""
    kinds = {
        "polled": Kind.polled, "transactions": Kind.txn_begun, "read": Kind.output_read,
        "starts": Kind.instance_running, "failed": Kind.instance_failed, "sets": Kind.configured,
    }  # fmt: skip
    return {name: len(view.rows_of(kind)) for name, kind in kinds.items()}


HISTORY = HistoryProperties(
    SOURCE_OFFSETS,
    in_a_table(*PROMISES, *MECHANISMS),
    view=SourceView,
    mode="text-merged-view",
    figures=figures,
    spread_of_figures=BY_ITSELF,
)


# These edits seed violations in a history of source tasks that the reference wrote, with what each property must then
# report.
#
# Each edit is the smallest that only one property reports. Where an edit breaks several properties, the others are
# named too. Instance 0 of task 0 has source partition 0 and producer id 0. A second set of tasks replaces it.

_FIRST = {"task": 0, "instance": 0}
_LAST = {"task": 0, "instance": 7}
_PRODUCER = {"producer_id": 0, "epoch": 4}
_PLACE = {"partition": 0, "round": 0}

VIOLATIONS = {
    "written twice": Seeded(
        (put(END, Kind.output_read, position=99, offset=12, **_PLACE),), {"nothing_twice": 1},
    ),
    "the second before the first": Seeded(
        (swap((Kind.output_read, 0), (Kind.output_read, 1)),), {"in_order": 1, "nothing_skipped": 1},
    ),
    "a record left out": Seeded(
        (drop(Kind.output_read, 1),), {"nothing_skipped": 1, "nothing_lost": 1},
    ),
    "polled and never written": Seeded(
        (put(END, Kind.polled, offset=13, **_PLACE, **_LAST),), {"nothing_lost": 1},
    ),
    "a record never polled": Seeded(
        (put(END, Kind.polled, offset=14, **_PLACE, **_LAST), put(END, Kind.filtered, offset=14, **_PLACE, **_LAST)),
        {"nothing_passed_over": 1},
    ),
    "resumes before what is written": Seeded((change(Kind.audited, 0, offset=3),), {"resume_not_behind": 1}),
    "resumes behind what is not": Seeded((change(Kind.audited, 1, offset=9),), {"resume_not_ahead": 1}),
    "the last not done": Seeded((change(Kind.audited, 2, offset=0, round=1),), {"everything_copied": 1}),
    "no offset": Seeded((drop(Kind.offset_sent, 0),), {"offsets_with_records": 2}),
    "an abort that is none": Seeded(
        (put((Kind.txn_begun, 0), Kind.boundary_asked, outcome=0, **_FIRST),), {"aborted_as_asked": 1},
    ),
    "not called": Seeded((drop(Kind.commit_called, 0),), {"commit_is_called": 1}),
    "an end that is none": Seeded((change(Kind.end_asked, 2, position=6),), {"end_is_the_end": 1}),
    "not to the end": Seeded((change(Kind.end_reached, 1, position=1),), {"read_to_the_end": 1}),
    "asked too early": Seeded((move((Kind.end_asked, 0), (Kind.producer_opened, 0)),), {"asked_when_fenced": 1}),
    "checked too early": Seeded(
        (move((Kind.instance_checked, 0), (Kind.producer_opened, 0)),), {"checked_when_opened": 1},
    ),
    "an older set goes on": Seeded(
        (put(END, Kind.instance_checked, outcome=1, **_FIRST),), {"checked_against_newest": 1},
    ),
    "an older set commits": Seeded(
        (put(END, Kind.end_told, producer_id=0, epoch=0, outcome=1, **_FIRST),), {"no_older_set_commits": 1},
    ),
    "a tombstone in one topic": Seeded(
        (put(END, Kind.offset_sent, topic=1, partition=0, offset=0, **_LAST, **_PRODUCER),),
        {"tombstones_beside_first": 1},
    ),
    "copied too early": Seeded((move((Kind.copy_sent, 0), (Kind.end_told, 4)),), {"copied_when_committed": 1}),
    "filled unseen": Seeded((put(END, Kind.migrated, owner=0, partition=0, offset=1),), {"fills_what_is_empty": 1}),
}  # fmt: skip

EXAMPLE = "fencepost.properties.source_offsets.scenarios.known:rows"
SEEDED_HISTORY = SeededHistory(
    SOURCE_OFFSETS, EXAMPLE, VIOLATIONS, {"mode": "text-merged-view", "records": 12, "quiet_end": True}
)
simulate_many = SEEDED_HISTORY.simulate_many
