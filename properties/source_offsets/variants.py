"""This module has the variants of source offsets, of reading them to the end, of migrating and of what ships.

The variants of reading to the end (618.32) are the reading, the single step that stands for it, and faulty readings.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import ENABLED, TEXT, UNVERIFIED, Kafka
from fencepost.model.source_offsets.migrating import FencedLate
from fencepost.model.source_offsets.mistakes import LateCopies, NullBeforeAny, TopicTaken
from fencepost.model.source_offsets.reading import HangingReading
from fencepost.model.source_offsets.shipped import CopiesWhenSent, NullsHide, OwnTopicGiven, OwnTopicTaken
from fencepost.properties.entries import SELDOM_TAKEN, Claim, ProtocolEntry, Scenario, Variant, wrong
from fencepost.properties.source_offsets.claims.core import (
    Lemmas,
    MendedLemmas,
    OwnTopicFromTheStartLemmas,
    Promises,
    WorkersTopicLemmas,
)
from fencepost.properties.source_offsets.claims.reading import (
    DowngradingLemmas,
    MergedLemmas,
    MigratingLemmas,
    MigratingPromises,
    ReadingLemmas,
    ReadingPromises,
    SnapshotPromises,
)
from fencepost.properties.source_offsets.events import IMPLEMENTATIONS, NOW_AND_THEN, SIMULATORS

SMALL = dict(writers=2, log=4, entries=2, restarts=0, retries=0)
BASE = dict(SMALL, log=6, entries=3)
READING_FEATURES: Mapping[str, Mapping[str, int]] = {
    "a reading that begins anew": dict(log=2, entries=1, restarts=1, retries=1),
}
READING_REASONS: Mapping[str, str] = {
    "writers": "a predecessor, and another task that has the partition too",
    "log": "each entry, and a marker for each",
    "entries": "two of one transaction, and one of another producer's between them or behind them",
    "restarts": "a task that is gone while it reads, and the one after it",
    "retries": "an end that is asked for once more",
    "late": "an entry that comes when its transaction is over",
}


BEGINS, BEFORE, ONLY = "begins_with_all", "all_before_the_end", "nothing_uncommitted"

READING_VARIANTS = (
    Variant(
        "reading", ReadingLemmas,
        "a task reads its source offsets to an end that it asked for with read_uncommitted, and consumes with "
        "read_committed: as if it read all at once, after the fence",
        bounds={"smoke": SMALL, "ci": BASE}, features=READING_FEATURES, progress_bounds=(SMALL,),
        of=Kafka(settings=ENABLED),
    ),
    wrong("up-to-the-last-stable", ReadingLemmas,
          "the end is asked with read_committed, and is before all that is behind another task's open transaction",
          "618.32", SMALL, BEGINS, BEFORE, reading="up_to_the_last_stable"),
    wrong("read-uncommitted", ReadingLemmas, "what is consumed has entries that are aborted", "618.32", SMALL, BEGINS,
          ONLY, reading="read_uncommitted"),
    wrong("read-gives-up", ReadingLemmas, "a task that has waited for too long begins with what it has read", "618.32",
          SMALL, BEGINS, BEFORE, reading="finish: guard 1 dropped"),
    wrong("asked-before-the-fence", ReadingLemmas,
          "the end is asked when a predecessor can commit yet, and something of it comes behind that", "618.18", SMALL,
          BEGINS, reading="before_the_fence"),
    wrong("read-as-a-snapshot", SnapshotPromises,
          "what was read of other tasks is taken for the topic at one moment: it may be half of a transaction",
          "618.32", SMALL, "whole_transactions"),
    wrong("a-transaction-hangs", ReadingPromises.asked_of(HangingReading),
          "another task's transaction is never decided, and no task that shares the partition begins", "618.32",
          dict(SMALL, log=5, late=1), "reads_to_the_end", progress_bounds=(dict(SMALL, log=5, late=1),),
          of=Kafka(settings=ENABLED | UNVERIFIED)),
)  # fmt: skip

SCENARIOS = (
    Scenario("last-stable-offset", "source offsets behind another task's open transaction are not read",
             "up-to-the-last-stable", "reading"),
    Scenario("hanging-transaction", "a transaction that hangs keeps tasks from beginning (KAFKA-14402)",
             "a-transaction-hangs", "reading"),
)  # fmt: skip


# These variants are about an offsets topic of a connector's own: merged with the global one (618.31), filled from it as
# the earlier text has it (618.30, 618.45), and found again after a downgrade (618.36), with what goes wrong.

MERGED = dict(partitions=2, records=3, stops=1)
MIGRATING = dict(partitions=2, records=2, stops=1, workers=2, rebalances=1, crashes=1)
THREE = dict(MIGRATING, records=3, workers=3, rebalances=2)
RACE = dict(MIGRATING, partitions=1, records=3, crashes=0)
DOWNGRADING = dict(partitions=2, records=3, stops=2, downgrades=1)
MIGRATING_REASONS: Mapping[str, str] = {
    "partitions": "one that has an offset here, and one that has it there alone; one that is copied, and one to be",
    "records": "one stored before, and one after; a third one behind an offset that was gone back to",
    "stops": "tasks that run, and those after them; after a downgrade again",
    "workers": "an owner that goes on late, and the one after it",
    "rebalances": "the Connector is given to another worker once",
    "crashes": "an owner that is gone with its copy",
    "downgrades": "one, and the upgrade after it",
}
RESUMES, OLDER, GROWS, MIGRATING_BEGINS = "resumes_in_step", "older_in_step", "separate_only_grows", "begins"

MIGRATING_VARIANTS = (
    Variant(
        "merged-at-the-start", MergedLemmas,
        "a connector gets an offsets topic of its own: its tasks see both topics as one, and nothing is moved",
        bounds={"smoke": MERGED}, of=TEXT,
    ),
    Variant(
        "migration-sentinel", MigratingLemmas,
        "the earlier text, with what it lacks: the owner's producer is opened before the look, and has a transactional "
        "id; the global topic is read when the tasks before are fenced",
        bounds={"smoke": MIGRATING, "nightly": THREE}, progress_bounds=(RACE,), of=TEXT,
    ),
    wrong("migration-race", MigratingLemmas,
          "the earlier text as it is: two owners find the topic empty, and the later copy is over newer offsets",
          "618.45", RACE, RESUMES, GROWS, reading="by_whomever", of=TEXT),
    wrong("migration-fenced-late", MigratingPromises.asked_of(FencedLate),
          "the owner's producer is opened when the topic was found empty, and it is not empty any more", "618.45", RACE,
          RESUMES, GROWS, of=TEXT),
    wrong("copied", MigratingLemmas,
          "all offsets are copied over as the Connector starts, when tasks still store in the global topic: the "
          "merged view has what they store later", "618.39", MIGRATING, RESUMES,
          reading=("618.30", "over_running_tasks"), of=TEXT),
    wrong("migration-piecemeal", MigratingLemmas,
          "offsets are copied without a transaction: an owner that is gone leaves a part, which is taken for all",
          "618.30", MIGRATING, RESUMES, reading="each_by_itself", of=TEXT),
    wrong("migration-not-waited-for", MigratingLemmas, "tasks begin before the topic is filled", "618.45", MIGRATING,
          RESUMES, reading="not_waited_for", of=TEXT),
    wrong("migration-without-sentinel", MigratingLemmas,
          "where nothing is to be copied nothing is written, and tasks wait for ever", "618.30", RACE, MIGRATING_BEGINS,
          reading="no_sentinel", progress_bounds=(RACE,), of=TEXT),
    Variant(
        "downgrade-and-back", DowngradingLemmas,
        "the old software with the global topic, and then the new one when the separate topic is deleted",
        bounds={"smoke": DOWNGRADING}, progress_bounds=(DOWNGRADING,), of=TEXT,
    ),
    wrong("stale-topic", DowngradingLemmas,
          "the separate topic is as it was before the downgrade, and wins: all since is repeated", "618.36",
          DOWNGRADING, RESUMES, reading="fence_older: guard 1 dropped", of=TEXT),
    wrong("downgrade-before-copies", DowngradingLemmas,
          "a downgrade does not wait until offsets are in the global topic: the old software repeats what is missing",
          "618.36", DOWNGRADING, OLDER, reading="at_once", of=TEXT),
)  # fmt: skip

MIGRATING_SCENARIOS = (
    Scenario("two-migrations", "a stale copy of source offsets is written over newer ones (H8)", "migration-race",
             "migration-sentinel"),
    Scenario("copied-too-early", "tasks of the set before go on in the topic that was copied", "copied",
             "merged-at-the-start"),
    Scenario("upgraded-again", "an offsets topic of before a downgrade has the last word", "stale-topic",
             "downgrade-and-back"),
)  # fmt: skip


# These variants are about source offsets as Kafka is released: with one topic, as it is by default; with an offsets
# topic of the connector's own, from the start, later, or for a while; and with what would repair that.
#
# This was observed on live clusters of 3.3.2, 3.9.1, 4.3.1 and 4.4.0 with a topic that is given later, of 3.3.2 and
# 4.4.0 with one that is taken away, and on the classes of 3.9.1, 4.0.0, 4.3.1 and 4.4.0.

SHIPPED_BASE = dict(
    instances=2, partitions=1, records=2, sets=2, topics=0, nulls=0, drops=0, aborts=0, failures=1, crashes=0,
    fencings=0,
)  # fmt: skip
TWO_TOPICS = dict(SHIPPED_BASE, topics=1, failures=0)
GIVEN = dict(TWO_TOPICS, failures=1)
TAKEN = dict(GIVEN, topics=2)
ONE_TOPIC: Mapping[str, Mapping[str, int]] = {
    "a null offset": dict(nulls=1, failures=0),
    "a batch is dropped": dict(drops=1, failures=0),
}


def _release(topic: str) -> Kafka:
    return Kafka(
        settings=ENABLED | {"offsets.storage.topic of the connector": topic},
        lacks="618.P1, which is taken for granted here, is not kept (see there)",
    )


REMOVED_TASK = Kafka(
    settings=ENABLED
    | {"offsets.storage.topic of the connector": "none", "connect.protocol": ("compatible", "sessioned")}
)


ALL_THE_TIME: dict[str, Any] = dict(
    bounds={"smoke": SHIPPED_BASE}, features=ONE_TOPIC, judged=(),
    progress_bounds=(dict(SHIPPED_BASE, failures=0, crashes=1),),
)  # fmt: skip
"""With the settings in `ALL_THE_TIME` one topic is in use all the time."""


def _refuted(
    name: str, properties: Any, says: str, bounds: Mapping[str, int], *breaks: str, topic: str, **more: Any
) -> Variant:
    """Return a variant of what ships and breaks these promises."""
    return Variant(
        name, properties, says, expected=dict.fromkeys(breaks, "violated"), bounds={"smoke": bounds},
        judged=(), proof=False, progress_bounds=(dict(bounds, failures=0),), of=_release(topic), **more,
    )  # fmt: skip


BEHIND, AHEAD, TWICE, ORDER = "resume_not_behind", "resume_not_ahead", "nothing_twice", "in_order"
UPSTREAM, REPEATED = "nothing_lost_upstream", (BEHIND, TWICE, ORDER)

SHIPPED_VARIANTS = (
    Variant("shipped", WorkersTopicLemmas,
            "Kafka with exactly-once support on, and else its defaults: offsets are in the worker's topic, and no "
            "connector has one of its own", **ALL_THE_TIME, of=_release("none")),
    Variant("shipped-own-topic-from-the-start", OwnTopicFromTheStartLemmas,
            "Kafka with a connector that has had its own offsets topic since it was created, and keeps it",
            **ALL_THE_TIME, of=_release("from the start")),
    wrong("shipped-removed-task", WorkersTopicLemmas,
          "Kafka with its default connect.protocol: a task that the newest set does not have is started again, and "
          "its second look finds no newer set (task-counts/core-shipped-claims): what two tasks read is committed "
          "twice", "618.19", dict(SHIPPED_BASE, failures=0), *REPEATED, reading="check: guard 1 dropped",
          asks=(AHEAD, UPSTREAM, "gets_on"), progress_bounds=(dict(SHIPPED_BASE, failures=0, crashes=1),),
          of=REMOVED_TASK),
    _refuted("shipped-own-topic-later", Promises.asked_of(OwnTopicGiven),
             "Kafka with a connector that is given its own offsets topic: that has no offset yet, which hides what the "
             "worker's topic has, and all is read again", GIVEN, *REPEATED, topic="later"),
    _refuted("shipped-own-topic-taken", Promises.asked_of(OwnTopicTaken),
             "Kafka with a connector that had its own offsets topic and has it no more: the worker's topic has an offset "
             "whose transaction was aborted, and records are lost", TAKEN, *REPEATED, AHEAD, UPSTREAM, "everything_copied",
             topic="for a while"),
    wrong("falls-back-alone", Promises.asked_of(CopiesWhenSent),
          "half a mend: the worker's topic is looked at where the own one has no offset, and has offsets that were "
          "not committed: records are lost", "618.31", GIVEN, AHEAD, UPSTREAM),
    wrong("copies-when-committed-alone", Promises.asked_of(NullsHide),
          "the other half: offsets are copied when they are committed, and the own topic's nulls hide them", "618.31",
          GIVEN, *REPEATED),
    Variant(
        "both-mends", MendedLemmas,
        "both: the worker's topic is looked at where the own one has no offset, and has committed offsets only, of a "
        "source without null offsets; copies may come late",
        bounds={"smoke": TWO_TOPICS}, features={
            "a copy is older": dict(records=3, sets=3),
            "a batch is dropped": dict(drops=1),
        }, judged=(), progress_bounds=(TWO_TOPICS,), of=TEXT,
    ),
)  # fmt: skip

SHIPPED_SCENARIOS = (
    Scenario("nulls-override", "a connector is given its own topic, and begins anew (ConnectorOffsetBackingStore.get); "
             "no release has this mended", "shipped-own-topic-later", "both-mends"),
    Scenario("copied-uncommitted", "an offset whose transaction is aborted is in the worker's topic, and counts when the "
             "connector's own topic is taken away: a record is lost; copied when it is committed, it is repeated, which no "
             "release does", "shipped-own-topic-taken", "topic-taken"),
)  # fmt: skip


# These variants are about exactly-once source tasks: the merged view of two offsets topics, as the text has it, and
# what breaks it. `shipped` has what Kafka does.
#
# The consequence of a misread rule, and each deviation of a source, a worker or an operator, is a variant of its own.

FEATURES: Mapping[str, Mapping[str, int]] = {
    "a topic of its own": dict(topics=1, records=3, failures=0),
    "a null offset": dict(topics=1, nulls=1, failures=0),
    "a batch is dropped": dict(drops=1),
    "a batch is aborted": dict(aborts=1, failures=0),
    "an instance crashes": dict(crashes=1, failures=0),
    "a transaction times out": dict(fencings=1, failures=0),
    "two source partitions": dict(partitions=2, records=1, failures=0),
    "two tasks": dict(partitions=2, records=1, failures=0, sets=3),
}
REASONS: Mapping[str, str] = {
    **READING_REASONS,
    **MIGRATING_REASONS,
    "instances": "one that works, and one of the next set or left behind; each may be started again",
    "partitions": "one; a second one shares transactions and instances",
    "records": "one that is committed, and one behind it; a third one where a copy is older than what is stored",
    "sets": "a set, and the one that takes its place",
    "topics": "the connector is given its own topic once",
    "nulls": "one tombstone, and records before and behind it",
    "drops": "a batch that is dropped whole",
    "aborts": "a transaction that the connector has aborted",
    "failures": "an instance that fails, perhaps when the end of its transaction was asked for",
    "crashes": "a process that is gone",
    "fencings": "a producer that is fenced while its instance goes on",
}

VARIANTS = (
    Variant(
        "text-merged-view", Lemmas,
        "the proposal's text, as no release does it: the connector's own offsets topic and the worker's are read as one, "
        "the own one winning for each source partition", bounds={"smoke": SHIPPED_BASE}, features=FEATURES, of=TEXT,
        progress_bounds=(SHIPPED_BASE, dict(SHIPPED_BASE, crashes=1, fencings=1, failures=0), TWO_TOPICS),
    ),
    wrong("separate-transactions", Lemmas, "a transaction with records is committed before the one with their offsets",
          "618.27", SHIPPED_BASE, BEHIND, TWICE, reading="offsets_not_in_it"),
    wrong("beside-the-transaction", Lemmas,
          "offsets are written beside the transaction of their records, before its end", "618.27",
          TWO_TOPICS | dict(failures=1), AHEAD, reading="beside_the_transaction"),
    wrong("tombstone-primary-first", Lemmas,
          "a tombstone is in the connector's own topic, and the worker's keeps its offset", "618.31",
          dict(TWO_TOPICS, nulls=1, failures=1), BEHIND, TWICE, reading="primary_first"),
    wrong("late-copies", Promises.asked_of(LateCopies),
          "a copy arrives in the worker's topic when a later instance has erased the offset in both", "618.31",
          dict(TWO_TOPICS, nulls=1), BEHIND, of=TEXT),
    wrong("null-before-any", Promises.asked_of(NullBeforeAny),
          "the first offset of a partition in the connector's own topic is null: the worker's is erased before that "
          "is committed", "618.31", dict(TWO_TOPICS, nulls=1), BEHIND, of=TEXT),
    wrong("worker-wins", Lemmas, "the worker's topic wins over the connector's own", "618.31",
          dict(TWO_TOPICS, failures=1), TWICE, reading="worker_wins"),
    wrong("topic-taken", Promises.asked_of(TopicTaken),
          "a connector goes back to the worker's topic, where copies are missing that were not waited for: something "
          "is repeated, and nothing lost", "618.31", dict(TWO_TOPICS, topics=2, failures=1), BEHIND, TWICE, ORDER,
          asks=(AHEAD, UPSTREAM), of=TEXT),
    *SHIPPED_VARIANTS,
    *READING_VARIANTS,
    *MIGRATING_VARIANTS,
)  # fmt: skip

ELSEWHERE = frozenset({"aborted_as_asked", "tombstones_beside_first"})
"""The properties in `ELSEWHERE` are undecided: transactions of simulated tasks end with each poll, and null offsets are
in histories of late-copies alone. The earlier text copies nothing, and its model has no tasks that could be followed. A
connector with one topic does not copy either."""

HIDDEN_BY_CONNECT = ELSEWHERE | {
    "resume_not_behind", "resume_not_ahead", "everything_copied", "offsets_with_records", "commit_is_called",
    "end_is_the_end", "read_to_the_end", "asked_when_fenced", "checked_against_newest", "checked_when_opened",
    "no_older_set_commits", "conformance",
}  # fmt: skip
"""Recordings of live connectors cannot decide these properties: what a connector reports, and the topic of its records,
reveal no step of a transaction and no entry of an offsets topic."""
RECORDED = {
    "source-offsets-connect-own-topic-later": frozenset({TWICE, ORDER}),
    "source-offsets-connect-own-topic-taken": frozenset({"nothing_lost", "nothing_skipped"}),
}
"""By recording, the promises that the connector broke."""

ENTRIES = (
    ProtocolEntry(
        "source-offsets",
        "Exactly-once source tasks: records and source offsets in one transaction, and where a restart resumes.",
        VARIANTS,
        REASONS,
        IMPLEMENTATIONS,
        SIMULATORS,
        on_request=NOW_AND_THEN,
        examples={"smoke": 10},
        left_out={
            "text-merged-view": dict.fromkeys(("abort_batch", "copy_in_vain"), SELDOM_TAKEN),
            "shipped": dict.fromkeys(
                ("give_own_topic", "abandon", "abort_batch", "copy", "copy_in_vain"), SELDOM_TAKEN
            ),
        },
        histories={"smoke": 30, "ci": 1_000, "nightly": 50_000},
        undecided={
            "text-merged-view": ELSEWHERE,
            "migration-sentinel": ELSEWHERE | {"copied_when_committed", "conformance"},
            "shipped": ELSEWHERE | {"copied_when_committed"},
            "shipped-own-topic-from-the-start": ELSEWHERE,
            **dict.fromkeys(RECORDED, HIDDEN_BY_CONNECT),
        },
        violated=RECORDED,
        claims=(
            Claim("618.28", "text-merged-view", ("nothing_lost_upstream", AHEAD), ("dropped_and_discarded",),
                  "a batch that is dropped whole stores no offset and is discarded upstream, and nothing is lost by that"),
        ),
        scenarios=(
            Scenario("KAFKA-15018", "a tombstone in the connector's own topic alone brings the worker's offset back (B35)",
                     "tombstone-primary-first", "text-merged-view"),
            Scenario("two-transactions", "an instance fails between the records' transaction and the offsets' (C24)",
                     "separate-transactions", "text-merged-view"),
            Scenario("late-copy", "a copy of an instance that was left behind comes after a tombstone", "late-copies",
                     "text-merged-view"),
            Scenario("null-first", "a tombstone that is not committed has erased the only offset", "null-before-any",
                     "text-merged-view"),
            *SHIPPED_SCENARIOS,
            *SCENARIOS,
            *MIGRATING_SCENARIOS,
        ),
    ),
)  # fmt: skip
