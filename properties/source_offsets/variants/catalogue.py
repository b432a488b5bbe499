"""Exactly-once source tasks in the catalogue: the merged view of two offsets topics, as the text has it, and what breaks
it.  `shipped` has what Kafka does.

What a rule misread leads to, and what a source, a worker or an operator does otherwise, is a variant of its own.
"""

from collections.abc import Mapping

from fencepost.model.releases import TEXT
from fencepost.properties.entries import Claim, ProtocolEntry, Scenario, Variant
from fencepost.properties.source_offsets.claims.core import Lemmas
from fencepost.properties.source_offsets.claims.mistakes import (
    LateCopiesPromises,
    NullBeforeAnyPromises,
    TopicTakenPromises,
)
from fencepost.properties.source_offsets.variants import migrating, reading, shipped
from fencepost.properties.source_offsets.variants.driven import IMPLEMENTATIONS, NOW_AND_THEN, SIMULATORS
from fencepost.properties.source_offsets.variants.reading import DEPTH, wrong
from fencepost.properties.source_offsets.variants.shipped import BASE, TWO_TOPICS

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
    **reading.REASONS,
    **migrating.REASONS,
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
BEHIND, AHEAD, TWICE = "resume_not_behind", "resume_not_ahead", "nothing_twice"

VARIANTS = (
    Variant(
        "text-merged-view", Lemmas,
        "the proposal's text, which no release does: the connector's own offsets topic and the worker's are read as one, "
        "the own one winning for each source partition", bounds={"smoke": BASE}, features=FEATURES, depth=DEPTH, of=TEXT,
        progress_bounds=(BASE, dict(BASE, crashes=1, fencings=1, failures=0), TWO_TOPICS),
    ),
    wrong("separate-transactions", Lemmas, "a transaction with records is committed before the one with their offsets",
          "618.27", BASE, BEHIND, TWICE, reading=("618.27", "offsets_not_in_it")),
    wrong("beside-the-transaction", Lemmas, "offsets are written beside the transaction of their records, before its end",
          "618.27", TWO_TOPICS | dict(failures=1), AHEAD, reading=("618.27", "beside_the_transaction")),
    wrong("tombstone-primary-first", Lemmas,
          "a tombstone is in the connector's own topic, and the worker's keeps its offset", "618.31",
          dict(TWO_TOPICS, nulls=1, failures=1), BEHIND, TWICE, reading=("618.31", "primary_first")),
    wrong("late-copies", LateCopiesPromises,
          "a copy arrives in the worker's topic when a later instance has erased the offset in both", "618.31",
          dict(TWO_TOPICS, nulls=1), BEHIND, of=TEXT),
    wrong("null-before-any", NullBeforeAnyPromises,
          "the first offset of a partition in the connector's own topic is null: the worker's is erased before that is "
          "committed", "618.31", dict(TWO_TOPICS, nulls=1), BEHIND, of=TEXT),
    wrong("worker-wins", Lemmas, "the worker's topic wins over the connector's own", "618.31",
          dict(TWO_TOPICS, failures=1), TWICE, reading=("618.31", "worker_wins")),
    wrong("topic-taken", TopicTakenPromises,
          "a connector goes back to the worker's topic, where copies are missing that were not waited for", "618.31",
          dict(TWO_TOPICS, topics=2), BEHIND, of=TEXT),
    *shipped.VARIANTS,
    *reading.VARIANTS,
    *migrating.VARIANTS,
)  # fmt: skip

ELSEWHERE = frozenset({"aborted_as_asked", "tombstones_beside_first"})
"""Transactions of simulated tasks end with each poll; null offsets are in histories of late-copies alone.  The earlier
text copies nothing, and its model has no tasks that could be followed; nor does a connector with one topic copy."""

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
        histories={"smoke": 30, "ci": 1_000, "nightly": 50_000},
        undecided={
            "text-merged-view": ELSEWHERE,
            "migration-sentinel": ELSEWHERE | {"copied_when_committed", "conformance"},
            "shipped": ELSEWHERE | {"copied_when_committed"},
            "shipped-own-topic-from-the-start": ELSEWHERE,
        },
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
            *shipped.SCENARIOS,
            *reading.SCENARIOS,
            *migrating.SCENARIOS,
        ),
    ),
)  # fmt: skip
