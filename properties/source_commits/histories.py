"""This module checks what is promised of source offsets and notifications, against tasks, topics and upstream.

An offset n in the offsets topic stands for all records up to the n-th of its source partition, and a restart resumes
after them. So no offset may be stored before all of these records are done, no offset may be reported before it is
stored, and upstream may discard nothing for which a restart would ask. The other properties locate the step at which
such a promise was broken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER, NONE, joined
from fencepost.properties.history.naming import Words
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.related import IT, declared, each, first, following, greatest, last, when
from fencepost.properties.history.spreading import BY_ITSELF
from fencepost.properties.seeded_violations import END, Seeded, SeededHistory, change, drop, move, put
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind

PARTITION = ("partition",)
OF_INSTANCE, THREAD = ("instance",), ("instance", "thread")
OWN_PARTITION, OWN_RECORD = ("instance", "partition"), ("instance", "partition", "record")
OWN_OFFSET = ("instance", "partition", "offset")

AT_LEAST_ONCE = (
    "proposed", "shipped", "shipped-mended", "last-polled", "newest-acknowledged", "ahead-of-the-flush",
    "previous-snapshot", "first-of-several", "failure-not-acknowledged", "told-by-two-threads", "empty-means-all",
    "snapshot-only", "zombie",
)  # fmt: skip
"""The modes in `AT_LEAST_ONCE` have acknowledgements and a committer, and no transactions."""
ONE_AT_A_TIME = tuple(mode for mode in AT_LEAST_ONCE if mode not in ("told-by-two-threads", "shipped"))
"""In the modes in `ONE_AT_A_TIME` one thread at a time commits offsets."""
WITH_MAP = (
    "proposed", "proposed-exactly-once", "first-of-several", "failure-not-acknowledged", "told-by-two-threads",
    "empty-means-all", "snapshot-only", "zombie",
)  # fmt: skip
"""In the modes in `WITH_MAP` commit has an argument."""
OFFSETS_OF_THEIR_OWN = tuple(mode for mode in AT_LEAST_ONCE if mode != "first-of-several")
"""In the modes in `OFFSETS_OF_THEIR_OWN` each record has another source offset than the record before."""

DONE = (Kind.produced, Kind.filtered, Kind.given_up)
"""A record with one of the events in `DONE` needs no restart, because it is in the output or is not wanted there."""
ACKNOWLEDGED = (Kind.acknowledged, Kind.filtered, Kind.given_up)
"""With one of the events in `ACKNOWLEDGED` the instance is done with a record."""

saying = Words(SOURCE_COMMITS).saying

STORED = last(Kind.offset_written, by=PARTITION)
WRITTEN = last(Kind.offset_written, by=OWN_OFFSET)
REPORTED_BEFORE = last(Kind.told_offset, by=PARTITION)
REPORTED_MOST = greatest("offset", Kind.told_offset, by=PARTITION)
DISCARDED_MOST = greatest("offset", Kind.discarded, by=PARTITION)
BEFORE = last(Kind.polled, Kind.resumed, by=OWN_PARTITION)
PLACE = when(BEFORE.record < 0, BEFORE.offset, BEFORE.record)
DONE_MOST = greatest("offset", Kind.acknowledged, Kind.given_up, by=PARTITION)
AUDITED_LATER = following(Kind.audited, by=PARTITION)

ENDED = following(Kind.instance_stopped, by=OF_INSTANCE)
LAST_REPORTED = following(Kind.told, by=OF_INSTANCE, where=IT.thread == 0)
WRITTEN_ONCE = first(Kind.offset_written, by=OWN_OFFSET)
COMMITTABLE_LATER = following(Kind.committable, by=OWN_PARTITION)
DELIVERED = first(*DONE, by=("partition", "record"))
BEGINS = following(Kind.resumed, by=OF_INSTANCE)
STARTED_LATER = following(Kind.instance_started, by=())

ACKNOWLEDGED_BEFORE = last(Kind.acknowledged, by=OWN_RECORD)
PRODUCED = last(Kind.produced, by=OWN_RECORD)
COMMITTABLE_BEFORE = last(Kind.committable, by=OWN_PARTITION)
COMMIT = last(Kind.flush_begun, Kind.flush_ended, by=THREAD)
BEGUN = last(Kind.flush_begun, Kind.told, by=THREAD)
FLUSHED = when(BEGUN.missing | (BEGUN.kind == int(Kind.told)), 0, BEGUN.entries)
FAILED = following(Kind.flush_ended, by=("instance", "flush"), where=IT.outcome == 0)
BEGUN_NEXT = following(Kind.flush_begun, by=OF_INSTANCE, asking=FAILED)
WRITTEN_OF_FLUSH = first(Kind.offset_written, by=("flush", "partition"))
ENTRY_NEXT = following(Kind.flush_entry, by=OWN_PARTITION)
DRAINED = last(Kind.drained, by=OF_INSTANCE)
ALL_ACKNOWLEDGED = last(Kind.drained, by=OF_INSTANCE, where=IT.outcome == 1)
CAUSE = last(Kind.send_failed, by=OF_INSTANCE)
FAILED_FLUSH = last(Kind.flush_ended, by=OF_INSTANCE, where=IT.outcome == 0)


@dataclass(frozen=True)
class Covered:
    """A `Covered` finds rows of `covering`, whose offset stands for all records up to it, that come before one of these
    records was done. Records and rows are of one source partition, and of one instance where `own`."""

    covering: Kind
    done: tuple[Kind, ...]
    own: bool

    def __call__(self, view: EventView) -> Rows:
        rows, polled = view.rows_of(self.covering), view.rows_of(Kind.polled)
        if not (len(rows) and len(polled)):
            return found(rows, np.zeros(len(rows), bool), np.full(len(rows), NONE))
        by = OWN_PARTITION if self.own else PARTITION
        done_at = view.numbers_of(*by, "record").first(view.rows_of(*self.done))[view.numbers_of(*by, "record").of]
        both = np.concatenate([polled, rows])
        group = joined(view.place[both], *(view.at(name, both) for name in by))
        key = joined(group, np.concatenate([view.at("record", polled), view.at("offset", rows)]))
        order = np.argsort(key[: len(polled)], kind="stable")
        late = np.minimum(done_at[polled], view.size)[order]  # a row, or one behind all
        ranks = np.unique(group, return_inverse=True)[1]
        reach = np.maximum.accumulate(late + ranks[: len(polled)][order] * (view.size + 1))
        place = np.searchsorted(key[: len(polled)][order], key[len(polled) :], side="right") - 1
        there = (place >= 0) & (ranks[: len(polled)][order][place] == ranks[len(polled) :])
        bad = there & (reach[place] - ranks[len(polled) :] * (view.size + 1) > rows)
        # the record whose completion comes latest, and the first such in the order of places
        other = polled[order][np.searchsorted(reach, reach[place])]
        return found(rows, bad, np.where(bad, other, NEVER))


def covered(
    name: str,
    rule: str,
    meaning: str,
    covering: Kind,
    done: tuple[Kind, ...],
    own: bool,
    reported: str,
    modes: tuple[str, ...] = (),
) -> HistoryProperty[Any]:
    """Return the history property that `Covered` checks."""
    key = ("history", *(OWN_PARTITION if own else PARTITION))
    needs: frozenset[IntEnum] = frozenset((covering, Kind.polled, *done))
    return HistoryProperty(
        name, rule, meaning, key, Covered(covering, done, own), saying(reported), needs, needs_order=True, modes=modes
    )


PROMISES = (
    declared(
        "told_is_durable", "src.P1", "an offset that a task is told of is stored, and by itself",
        each(Kind.told_offset, by=OWN_OFFSET),
        WRITTEN.missing, saying("it has not stored it"), modes=WITH_MAP,
    ),
    declared(
        "told_is_where_it_resumes", "src.P1", "an offset that a task is told of is not ahead of the stored one",
        each(Kind.told_offset, by=PARTITION),
        STORED.missing | (STORED.offset < IT.offset), saying("a restart would resume from", "nothing is stored"),
        explained=STORED, modes=WITH_MAP,
    ),
    declared(
        "told_in_order", "src.P1", "the offsets that are told of a source partition never go back",
        each(Kind.told_offset, by=PARTITION),
        IT.offset < REPORTED_BEFORE.offset, saying("it goes back from"), explained=REPORTED_BEFORE, modes=WITH_MAP,
    ),
    declared(
        "stored_in_order", "src.P1", "the stored offset of a source partition never goes back",
        each(Kind.offset_written, by=PARTITION),
        IT.offset < STORED.offset, saying("it goes back from"), explained=STORED,
    ),
    declared(
        "resumes_from_what_was_told", "src.P1", "no instance resumes behind an offset that was told",
        each(Kind.resumed, by=PARTITION),
        IT.offset < REPORTED_MOST.offset, saying("there was told"), explained=REPORTED_MOST,
    ),
    declared(
        "upstream_not_ahead", "src.8", "upstream forgets nothing beyond the stored offset",
        each(Kind.discarded, by=PARTITION),
        STORED.missing | (STORED.offset < IT.offset), saying("a restart would resume from", "nothing is stored"),
        explained=STORED,
    ),
    declared(
        "upstream_has_what_is_resumed", "src.8", "no instance resumes behind what upstream has forgotten",
        each(Kind.resumed, by=PARTITION),
        IT.offset < DISCARDED_MOST.offset, saying("it is gone up to"), explained=DISCARDED_MOST,
    ),
    declared(
        "nothing_skipped", "src.P2", "an instance polls every record behind the offset that it has resumed from",
        each(Kind.polled, by=OWN_PARTITION),
        IT.record != PLACE + 1, saying("there are others between it and"), explained=BEFORE, given=~BEFORE.missing,
    ),
    covered(
        "stored_is_done", "src.P2", "when an offset is stored, every record up to it is in the output, or unwanted",
        Kind.offset_written, DONE, False, "there is not yet, if ever",
    ),
    declared(
        "everything_stored", "src.P3", "once faults stop, the offsets of all that was acknowledged get stored",
        each(Kind.audited, by=PARTITION),
        IT.offset < DONE_MOST.offset, saying("it is still tracked:"),
        explained=DONE_MOST, given=AUDITED_LATER.missing, needs_quiet_end=True,
    ),
    declared(
        "orderly_end_covers_all", "src.P3",
        "an instance that has ended in order, with a last commit that succeeded, has stored all that was committable",
        each(Kind.committable, by=OWN_PARTITION),
        WRITTEN_ONCE.at > ENDED.at, saying("it was not stored before"), explained=ENDED,
        given=~ENDED.missing & (LAST_REPORTED.at < ENDED.at) & COMMITTABLE_LATER.missing,
    ),
    declared(
        "everything_delivered", "src.P4", "once faults stop, whatever was polled is delivered, or dropped or given up",
        each(Kind.polled, by=("partition", "record")),
        DELIVERED.missing, saying("it is not"), needs_quiet_end=True,
    ),
    declared(
        "begins_in_the_end", "src.P4", "once faults stop, an instance that is started reads its offsets and begins",
        each(Kind.instance_started, by=OF_INSTANCE),
        BEGINS.missing, saying("it does not"), given=STARTED_LATER.missing, needs_quiet_end=True,
    ),
)  # fmt: skip

MECHANISMS = (
    declared(
        "acknowledged_once", "src.1", "commitRecord is called once for a record that its instance has sent",
        each(Kind.acknowledged, by=OWN_RECORD),
        ~ACKNOWLEDGED_BEFORE.missing, saying("it was called before:"), explained=ACKNOWLEDGED_BEFORE,
    ),
    declared(
        "acknowledged_is_there", "src.1", "commitRecord has metadata only for a record that is in the output",
        each(Kind.acknowledged, by=OWN_RECORD),
        PRODUCED.missing, saying("it is in no output"),
    ),
    covered(
        "committable_is_acknowledged", "src.3", "what becomes committable has no record before it that is in flight",
        Kind.committable, ACKNOWLEDGED, True, "the task is not done with",
        AT_LEAST_ONCE,
    ),
    declared(
        "committable_once", "src.3", "what became committable is said once, and then goes on from there",
        each(Kind.committable, by=OWN_PARTITION),
        IT.offset <= COMMITTABLE_BEFORE.offset, saying("it was committable since"),
        explained=COMMITTABLE_BEFORE, modes=OFFSETS_OF_THEIR_OWN,
    ),
    declared(
        "told_after_its_flush", "src.4", "commit is called when the flush has succeeded, or had nothing to do",
        each(Kind.told, by=THREAD),
        (COMMIT.outcome == 0) | ((COMMIT.outcome < 0) & (COMMIT.entries > 0)), saying("the last of its thread is"),
        explained=COMMIT, given=~COMMIT.missing,
    ),
    declared(
        "map_is_what_was_flushed", "src.5", "the map has every source partition of the flush that has succeeded",
        each(Kind.told, by=THREAD, where=IT.entries >= 0),
        IT.entries != FLUSHED, saying("it differs from", "nothing was flushed"), explained=BEGUN,
        modes=WITH_MAP,
    ),
    declared(
        "fails_for_a_reason", "src.7", "a task fails for a record or a transaction, and for no exception of commit",
        each(Kind.stopping, by=OF_INSTANCE, where=IT.outcome == 0),
        CAUSE.missing & FAILED_FLUSH.missing, saying("no record, and no flush, of it has failed"),
    ),
    declared(
        "failed_flush_comes_back", "src.10", "the next flush has what one that failed has not written by then",
        each(Kind.flush_entry, by=OWN_PARTITION),
        ENTRY_NEXT.flush != BEGUN_NEXT.flush, saying("it is not in"),
        explained=BEGUN_NEXT, given=~FAILED.missing & ~BEGUN_NEXT.missing & (WRITTEN_OF_FLUSH.at > FAILED.at),
        modes=ONE_AT_A_TIME,
    ),
    declared(
        "final_commit_waits", "src.12", "the final commit has waited for what is in flight",
        each(Kind.flush_begun, by=OF_INSTANCE, where=IT.thread == 0),
        DRAINED.missing, saying("it has not waited"), modes=AT_LEAST_ONCE,
    ),
    declared(
        "time_out_is_no_success", "src.12", "where the wait has succeeded, nothing is acknowledged any more",
        each(Kind.acknowledged, Kind.given_up, Kind.send_failed, by=OF_INSTANCE),
        ~ALL_ACKNOWLEDGED.missing, saying("all were, says"), explained=ALL_ACKNOWLEDGED,
    ),
)  # fmt: skip

UPSTREAM_AHEAD = frozenset({
    "upstream_not_ahead", "upstream_has_what_is_resumed", "nothing_skipped", "stored_is_done", "everything_stored",
    "everything_delivered",
})  # fmt: skip
"""The properties in `UPSTREAM_AHEAD` break where a connector reports more upstream than is stored."""
GOES_BACK = frozenset({
    "stored_in_order", "told_in_order", "told_is_where_it_resumes", "resumes_from_what_was_told", "everything_stored",
    "orderly_end_covers_all",
})  # fmt: skip
"""The properties in `GOES_BACK` break where an older offset is stored after a newer one."""

PREDICTED: Mapping[str, frozenset[str]] = MappingProxyType({
    **dict.fromkeys(
        ("last-polled", "newest-acknowledged", "ahead-of-the-flush", "previous-snapshot", "empty-means-all"),
        UPSTREAM_AHEAD,
    ),
    "first-of-several": frozenset({
        "stored_is_done", "committable_is_acknowledged", "nothing_skipped", "everything_stored",
        "everything_delivered",
    }),
    "failure-not-acknowledged": frozenset({"everything_stored"}),
    "snapshot-only": frozenset({"map_is_what_was_flushed"}),
    "told-by-two-threads": GOES_BACK | UPSTREAM_AHEAD,
    "zombie": GOES_BACK | UPSTREAM_AHEAD,
    "shipped": frozenset({
        "stored_in_order", "upstream_has_what_is_resumed", "nothing_skipped", "everything_stored",
        "orderly_end_covers_all",
    }),
})  # fmt: skip
"""`PREDICTED` maps each mode that is a mistake to the properties that it is known to break."""

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tasks and topics": SOURCE_COMMITS.observed_by(*SOURCE_COMMITS.public),
        "all": tuple(SOURCE_COMMITS.codes),
    }
)
"""`RECORDINGS` maps each recording to the kinds of event that it has."""


def figures(view: EventView) -> dict[str, int]:
    """Return what became of the records and offsets of one piece. The figures of several pieces can be added."""
    kinds = {
        "polled": Kind.polled, "produced": Kind.produced, "offsets_stored": Kind.offset_written,
        "offsets_told": Kind.told_offset, "discarded": Kind.discarded, "instances": Kind.instance_started,
    }  # fmt: skip
    return {name: len(view.rows_of(kind)) for name, kind in kinds.items()}


HISTORY = HistoryProperties(
    SOURCE_COMMITS, in_a_table(*PROMISES, *MECHANISMS), mode="proposed", figures=figures,
    broken_by_design=PREDICTED, broken_by="what the connector or the runtime does",
    spread_of_figures=BY_ITSELF,
)  # fmt: skip


# These edits seed violations in a history of a source task that the reference wrote, with what each property must then
# report.
#
# Each edit is the smallest that only one property reports. Where an edit breaks several properties, the others are
# named too. Instance 0 is done with the first nine records of both source partitions, and has stored and reported that.
# Instances 1 and 2 have committed nothing. Instance 3 has stored and reported the eleventh record, and then the
# twelfth.

_LAST = {"instance": 3, "partition": 0}

VIOLATIONS = {
    "told of another's offset": Seeded(
        (put(END, Kind.told_offset, offset=12, thread=1, partition=0, instance=2),), {"told_is_durable": 1},
    ),
    "told before it is stored": Seeded(
        (put((Kind.offset_written, 5), Kind.told_offset, offset=11, thread=1, **_LAST),),
        {"told_is_durable": 1, "told_is_where_it_resumes": 1},
    ),
    "told of the past": Seeded(
        (put(END, Kind.told_offset, instance=0, thread=1, partition=0, offset=6),), {"told_in_order": 1},
    ),
    "stored of the past": Seeded(
        (put(END, Kind.offset_written, flush=4, offset=9, position=9, **_LAST),), {"stored_in_order": 1},
    ),
    "resumes before what was told": Seeded(
        (change(Kind.resumed, 2, offset=6), change(Kind.discarded, 0, offset=6)),
        {"resumes_from_what_was_told": 1, "nothing_skipped": 1},
    ),
    "forgotten before it is stored": Seeded(
        (put((Kind.offset_written, 5), Kind.discarded, offset=10, **_LAST),), {"upstream_not_ahead": 1},
    ),
    "resumes with what is forgotten": Seeded(
        (
            put((Kind.resumed, 2), Kind.discarded, instance=0, partition=0, offset=10),
        ),
        {"upstream_not_ahead": 1, "upstream_has_what_is_resumed": 3},
    ),
    "a record passed over": Seeded((drop(Kind.polled, 32),), {"nothing_skipped": 1}),
    "stored without a record": Seeded(
        (drop(Kind.produced, 13),), {"stored_is_done": 3, "acknowledged_is_there": 1, "everything_delivered": 1},
    ),
    "still tracked": Seeded((change(Kind.audited, 4, offset=11),), {"everything_stored": 1}),
    "left over at the end": Seeded(
        (put((Kind.told, 2), Kind.committable, instance=0, partition=0, offset=10),), {"orderly_end_covers_all": 1},
    ),
    "polled and not delivered": Seeded(
        (put(END, Kind.polled, record=13, offset=13, **_LAST),), {"everything_delivered": 1},
    ),
    "started and not begun": Seeded((put(END, Kind.instance_started, instance=4),), {"begins_in_the_end": 1}),
    "acknowledged again": Seeded(
        (put((Kind.stopping, 0), Kind.acknowledged, instance=0, partition=0, record=8, offset=8, output=0),),
        {"acknowledged_once": 1},
    ),
    "acknowledged and not there": Seeded(
        (change(Kind.acknowledged, 15, record=13),), {"acknowledged_is_there": 1},
    ),
    "committable before another": Seeded(
        (move((Kind.committable, 8), (Kind.acknowledged, 19)),), {"committable_is_acknowledged": 1},
    ),
    "committable again": Seeded(
        (put(END, Kind.committable, offset=12, **_LAST),), {"committable_once": 1},
    ),
    "told of a flush that failed": Seeded(
        (put((Kind.produced, 3), Kind.told, instance=0, thread=1, entries=2),), {"told_after_its_flush": 1},
    ),
    "a map that lacks something": Seeded((change(Kind.told, 4, entries=1),), {"map_is_what_was_flushed": 1}),
    "fails for nothing": Seeded((change(Kind.stopping, 1, outcome=0),), {"fails_for_a_reason": 1}),
    "not written again": Seeded((drop(Kind.flush_entry, 3),), {"failed_flush_comes_back": 1}),
    "does not wait": Seeded((drop(Kind.drained, 1),), {"final_commit_waits": 1}),
    "a time-out for a success": Seeded((change(Kind.drained, 1, outcome=1),), {"time_out_is_no_success": 4}),
}  # fmt: skip

EXAMPLE = "fencepost.properties.source_commits.scenarios.known:rows"
SEEDED_HISTORY = SeededHistory(SOURCE_COMMITS, EXAMPLE, VIOLATIONS, {"mode": "proposed", "quiet_end": True}, shifted=())
simulate_many = SEEDED_HISTORY.simulate_many
