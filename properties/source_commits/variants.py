"""This module has the variants of source commits, their bounds and reasons, and which of them are driven and simulated.

The module also determines which variants the reference implementation has, and how their histories are simulated.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import DISABLED, TEXT, Kafka
from fencepost.model.source_commits.connectors import (
    AheadOfTheFlush,
    AtThePreviousCommit,
    FirstOfSeveral,
    LastPolled,
    NewestAcknowledged,
    Shipped,
)
from fencepost.model.source_commits.left_behind import Altered, ClosedProducer, LateCopy, LateWrite, Zombie
from fencepost.model.source_commits.two_threads import SnapshotOnly, TakenAndPutApart, ToldByTwoThreads
from fencepost.properties.entries import SELDOM_TAKEN, Claim, ProtocolEntry, Scenario, Variant, wrong
from fencepost.properties.source_commits.claims.core import (
    Lemmas,
    MendedLemmas,
    Promises,
)
from fencepost.properties.source_commits.claims.exactly_once import NullPromises, OnceLemmas

REFERENCE = "fencepost.reference_impl.systems.source_commits"

RIGHT = ("proposed", "proposed-exactly-once", "shipped-mended")
MISTAKES = frozenset({
    "shipped",
    "last-polled", "newest-acknowledged", "ahead-of-the-flush", "previous-snapshot", "first-of-several",
    "failure-not-acknowledged", "told-by-two-threads", "empty-means-all", "snapshot-only", "zombie",
})  # fmt: skip
"""The mistakes in `MISTAKES` are driven and simulated to observe what they break. `shipped` is what Kafka does."""

CONFIG = {
    "events": 300, "partitions": 2, "records": 40, "outputs": 2, "batch": 3, "filtered": 5, "tolerance": "all",
    "quiet_end": True,
}  # fmt: skip
"""Simulated histories have faults for ``events`` events, and then everything gets committed, if it can be."""
OVERLAPPING = {"linger": 0.3, "delay_us": 100_000, "stop": 0.2, "kill": 0.0, "timeout_us": 400_000}
"""The settings in `OVERLAPPING` make the final commit likely to overlap with the committer, which often stalls."""

PACE = {"told-by-two-threads": OVERLAPPING, "shipped": {**OVERLAPPING, "stop": 0.5}}

DRIVEN = (*RIGHT, *sorted(MISTAKES))
IMPLEMENTATIONS = tuple((f"{REFERENCE}:reference", mode) for mode in DRIVEN)
SIMULATORS = tuple(
    (
        mode,
        f"{REFERENCE}:simulate_with_stats",
        {"mode": mode, **CONFIG, **PACE.get(mode, {})},
    )
    for mode in DRIVEN
)


# These variants of SourceTask.commit are the proposed one, what ships, and what tasks and runtimes get wrong.
#
# The consequence of a misread rule, and each deviation of a connector or an environment, is a variant of its own.

BASE = dict(
    partitions=1, records=2, threads=2, crashes=1, drops=0, failures=0, cancellations=1, repeats=0,
)  # fmt: skip
CALM = dict(BASE, crashes=0, cancellations=0)
FEATURES: Mapping[str, Mapping[str, int]] = {
    "a record is refused at once": dict(drops=1),
    "a record fails": dict(failures=1),
    "a record is acknowledged twice": dict(repeats=1),
    "three records": dict(records=3, cancellations=0),
    "two source partitions": dict(partitions=2, records=1),
}
SMALL = dict(BASE, threads=1)
ONCE = dict(partitions=1, records=3, crashes=1, failures=0, replacements=1, aborts=1)
ONCE_FEATURES: Mapping[str, Mapping[str, int]] = {
    "a transaction fails": dict(failures=1),
    "two source partitions": dict(partitions=2, records=2, crashes=0),
}
NULL = dict(partitions=1, records=3, crashes=1)
REASONS = {
    "replacements": "an instance that is fenced, and may be told later",
    "aborts": "a transaction that the connector has aborted",
    "partitions": "one; a second one has a queue of its own, and shares flushes",
    "records": "one that is behind another in its queue; a third one is collected after a restart",
    "threads": "the committer, and the task's own at its end",
    "crashes": "an instance that is gone, and the one after it",
    "drops": "a record that is submitted once more",
    "failures": "a record that fails, with and without tolerance",
    "cancellations": "a flush that fails, and the one after it",
    "repeats": "a record that is acknowledged once more",
    "copies": "a write that is there twice",
    "alterations": "an operator who takes offsets back once",
}


def _main(name: str, properties: Any, says: str, bounds: Mapping[str, int], **more: Any) -> Variant:
    settings: dict[str, Any] = dict(progress_bounds=(dict(bounds, failures=1),))
    return Variant(name, properties, says, bounds={"smoke": bounds}, **(settings | more))


RELEASES = Kafka(settings=DISABLED)
AHEAD = ("told_is_stored", "kept_for_a_restart")
LOST = (*AHEAD, "nothing_lost_upstream")
BACK = ("told_is_stored", "stored_only_grows", "kept_for_a_restart")

VARIANTS = (
    _main(
        "proposed", Lemmas,
        "commit(offsets) as CONTRACT.md has it: what the flush before the call wrote, in the order of flushes",
        BASE, features=FEATURES, of=TEXT,
    ),
    _main(
        "shipped", Promises.asked_of(Shipped),
        "Kafka, of a task that reads the offsets topic when commit() is called: the committer takes what may be "
        "committed, and hands it to the writer when the last commit has stored something newer", BASE,
        expected=dict.fromkeys((*BACK, "told_only_grows", "clean_end_covers_all"), "violated"),
        features={"three records": FEATURES["three records"]}, judged=(), proof=False,
        progress_bounds=(CALM,), of=RELEASES,
    ),
    _main(
        "shipped-mended", MendedLemmas,
        "the same, where what one thread takes goes to the writer before another one takes more", BASE,
        features={"three records": FEATURES["three records"]}, judged=("src.13",),
        progress_bounds=(CALM,), of=TEXT,
    ),
    _main(
        "proposed-exactly-once", OnceLemmas,
        "commit(offsets) of a task with transactions: the offsets of the transaction that was committed before the call",
        ONCE, features=ONCE_FEATURES, of=TEXT,
    ),
    _main(
        "null-offsets-left-out", NullPromises, "a record without a source offset changes no stored one, and is in no map",
        NULL, progress_bounds=(NULL,), of=TEXT,
    ),
    wrong("null-offsets", NullPromises,
          "a record without a source offset, at the end of what may be committed, erases the stored one", "src.5", NULL,
          "told_is_stored", "stored_only_grows", reading="erased", of=TEXT),
    wrong("last-polled", Promises.asked_of(LastPolled), "commit() is taken for: all that was polled is committed",
          "src.5", SMALL, *LOST),
    wrong("newest-acknowledged", Promises.asked_of(NewestAcknowledged),
          "the newest record that commitRecord was called with is taken to be committed", "src.1", SMALL, *LOST),
    wrong("ahead-of-the-flush", Promises.asked_of(AheadOfTheFlush),
          "all that was delivered without a gap is taken to be committed", "src.4", SMALL, *AHEAD),
    wrong("previous-snapshot", Promises.asked_of(AtThePreviousCommit),
          "what was delivered without a gap at the commit before is taken to be committed", "src.4", SMALL, *AHEAD),
    wrong("first-of-several", Promises.asked_of(FirstOfSeveral),
          "records of one event bear its offset, and it is committed after the first of them", "src.3", SMALL,
          "nothing_skipped", "nothing_lost_upstream"),
    wrong("failure-not-acknowledged", Lemmas,
          "a failure that is tolerated leaves its record in the queue without an answer", "src.11",
          dict(SMALL, failures=1), "leaves_the_queue", reading="not_acknowledged",
          progress_bounds=(dict(SMALL, failures=1),)),
    wrong("empty-means-all", Lemmas, "a map without entries is taken for: all that was polled is committed", "src.5",
          SMALL, *LOST, reading="all_polled_if_empty"),
    wrong("snapshot-only", Promises.asked_of(SnapshotOnly),
          "the map has what the thread took, and not what a failed flush left with the writer", "src.10", SMALL,
          "told_is_the_latest", of=TEXT),
    wrong("told-by-two-threads", Promises.asked_of(ToldByTwoThreads),
          "a thread tells the task of its flush when another one may flush already", "src.4", BASE, "told_only_grows",
          of=TEXT),
    wrong("taken-and-put-apart", Promises.asked_of(TakenAndPutApart),
          "commit(offsets) on the runtime of today: what the committer took goes to the writer after what the last "
          "commit took later", "src.13", BASE, *BACK),
    wrong("zombie", Promises.asked_of(Zombie),
          "an instance that was left behind writes its offsets when another one runs", "src.9", SMALL, *BACK,
          of=Kafka(settings=DISABLED)),
    wrong("late-write", Promises.asked_of(LateWrite), "a write arrives when the next instance runs", "src.9", SMALL,
          *BACK, of=Kafka(settings=DISABLED)),
    wrong("late-copy", Promises.asked_of(LateCopy), "a write arrives a second time, after a newer one", "src.4",
          dict(SMALL, crashes=0, cancellations=0, copies=1), *BACK, of=Kafka(settings=DISABLED)),
    wrong("altered-offsets", Promises.asked_of(Altered), "an operator takes stored offsets back", "src.9",
          dict(SMALL, alterations=1), *BACK),
    wrong("failed-by-its-own-end", Promises.asked_of(ClosedProducer),
          "a task that is cancelled fails its own records, which counts as tolerated", "src.11",
          dict(SMALL, failures=1, crashes=0), "nothing_skipped", "nothing_lost_upstream",
          of=Kafka(settings=DISABLED | {"errors.tolerance": "all"})),
)  # fmt: skip

ENTRIES = (
    ProtocolEntry(
        "source-commits",
        "SourceTask.commit: what a source task is told of committed offsets, today and as proposed.",
        VARIANTS,
        REASONS,
        IMPLEMENTATIONS,
        SIMULATORS,
        on_request=MISTAKES,
        examples={"smoke": 10},
        left_out=dict.fromkeys(
            ("proposed", "shipped-mended"), dict.fromkeys(("tolerate", "wait_in_vain"), SELDOM_TAKEN)
        ),
        histories={"smoke": 30, "ci": 1_000, "nightly": 50_000},
        undecided={"proposed-exactly-once": frozenset({"orderly_end_covers_all"})},  # its offsets are in transactions
        claims=(
            Claim("src.8", "proposed", ("kept_for_a_restart", "nothing_lost_upstream"), ("discards_late", "discarded"),
                  "a watermark that follows commit(offsets) never discards what a restart needs, nor what was not delivered"),
        ),
        scenarios=(
            Scenario("KAFKA-15091", "commit() is taken for: all that was polled is safe (B42)", "last-polled", "proposed"),
            Scenario("KAFKA-14079", "a failure that is tolerated is never acknowledged, and blocks its queue (B43)",
                     "failure-not-acknowledged", "proposed"),
            Scenario("newest-delivered", "the last call of commitRecord counts, with an earlier record under way (B45a)",
                     "newest-acknowledged", "proposed"),
            Scenario("newest-position", "what was delivered since the flush counts as committed (B45b)",
                     "ahead-of-the-flush", "shipped-mended"),
            Scenario("two-snapshots", "what was delivered by the commit before counts as committed (a repair of B45b)",
                     "previous-snapshot", "shipped-mended"),
            Scenario("first-of-several", "an offset is committed after the first of its records (B45c)",
                     "first-of-several", "proposed"),
            Scenario("failed-flush", "the map leaves out what an earlier flush failed to write (H7a)", "snapshot-only",
                     "proposed"),
            Scenario("two-threads", "commit is called with an older map after a newer one (H7b)", "told-by-two-threads",
                     "proposed"),
            Scenario("put-late", "the committer hands over what it took when the last commit is over, and the stored "
                     "offset goes back; no release has this mended", "shipped", "shipped-mended"),
            Scenario("empty-flush", "commit is called where nothing was flushed (H7c)", "empty-means-all", "proposed"),
            Scenario("null-offset", "the stored offset is erased, and the task was told of it (H7d)", "null-offsets",
                     "null-offsets-left-out"),
            Scenario("left-behind", "an instance that was left behind writes an older offset (KAFKA-9184)", "zombie",
                     "proposed"),
            Scenario("closed-producer", "records that fail as their task is cancelled count as tolerated",
                     "failed-by-its-own-end", "proposed"),
        ),
    ),
)  # fmt: skip
