"""Source offsets as Kafka is released: with one topic, as it is by default; with an offsets topic of the connector's
own, from the start, later, or for a while; and what would mend that.

Seen on live clusters of 3.3.2, 3.9.1, 4.3.1 and 4.4.0 with a topic that is given later, and of 3.3.2 and 4.4.0 with one
that is taken away; and on the classes of 3.9.1, 4.0.0, 4.3.1 and 4.4.0.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import ENABLED, MISTAKE, TEXT, Kafka
from fencepost.properties.entries import Scenario, Variant
from fencepost.properties.source_offsets.claims.shipped import (
    CopiesWhenCommittedPromises,
    FallsBackPromises,
    MendedLemmas,
    OwnTopicFromTheStartLemmas,
    OwnTopicGivenPromises,
    OwnTopicTakenPromises,
    WorkersTopicLemmas,
)
from fencepost.properties.source_offsets.variants.reading import DEPTH, wrong

BASE = dict(
    instances=2, partitions=1, records=2, sets=2, topics=0, nulls=0, drops=0, aborts=0, failures=1, crashes=0,
    fencings=0,
)  # fmt: skip
TWO_TOPICS = dict(BASE, topics=1, failures=0)
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


def _one_topic(name: str, properties: Any, says: str, **more: Any) -> Variant:
    """Where one topic is in use all the time."""
    return Variant(
        name, properties, says, bounds={"smoke": BASE}, features=ONE_TOPIC, depth=DEPTH, judged=(),
        progress_bounds=(dict(BASE, failures=0, crashes=1),), **more,
    )  # fmt: skip


def _refuted(
    name: str, properties: Any, says: str, bounds: Mapping[str, int], *breaks: str, topic: str, **more: Any
) -> Variant:
    """What ships, and does not keep these promises."""
    return Variant(
        name, properties, says, expected=dict.fromkeys(breaks, "violated"), bounds={"smoke": bounds}, depth=DEPTH,
        judged=(), proof=False, progress_bounds=(dict(bounds, failures=0),), of=_release(topic), **more,
    )  # fmt: skip


BEHIND, AHEAD, UPSTREAM = "resume_not_behind", "resume_not_ahead", "nothing_lost_upstream"
TWICE, ORDER = "nothing_twice", "in_order"
REPEATED = (BEHIND, TWICE, ORDER)

VARIANTS = (
    _one_topic("shipped", WorkersTopicLemmas,
               "Kafka with exactly-once support on, and else its defaults: offsets are in the worker's topic, and no connector "
               "has one of its own",
               of=_release("none")),
    _one_topic("shipped-own-topic-from-the-start", OwnTopicFromTheStartLemmas,
               "Kafka with a connector that has had its own offsets topic since it was created, and keeps it",
               of=_release("from the start")),
    wrong("shipped-removed-task", WorkersTopicLemmas,
          "Kafka with its default connect.protocol: a task that the newest set does not have is started again, and its "
          "second look finds no newer set (task-counts/core-shipped-claims): what two tasks read is committed twice",
          "618.19", dict(BASE, failures=0), *REPEATED, reading=("618.19", "check: guard 1 dropped"),
          asks=(AHEAD, UPSTREAM, "gets_on"), progress_bounds=(dict(BASE, failures=0, crashes=1),), of=REMOVED_TASK),
    _refuted("shipped-own-topic-later", OwnTopicGivenPromises,
             "Kafka with a connector that is given its own offsets topic: that has no offset yet, which hides what the "
             "worker's topic has, and all is read again", GIVEN, *REPEATED, topic="later"),
    _refuted("shipped-own-topic-taken", OwnTopicTakenPromises,
             "Kafka with a connector that had its own offsets topic and has it no more: the worker's topic has an offset "
             "whose transaction was aborted, and records are lost", TAKEN, *REPEATED, AHEAD, UPSTREAM, "everything_copied",
             topic="for a while"),
    wrong("falls-back-alone", FallsBackPromises,
          "half a mend: the worker's topic is looked at where the own one has no offset, and has offsets that were not "
          "committed: records are lost", "618.31", GIVEN, AHEAD, UPSTREAM, of=MISTAKE),
    wrong("copies-when-committed-alone", CopiesWhenCommittedPromises,
          "the other half: offsets are copied when they are committed, and the own topic's nulls hide them", "618.31",
          GIVEN, *REPEATED, of=MISTAKE),
    Variant(
        "both-mends", MendedLemmas,
        "both: the worker's topic is looked at where the own one has no offset, and has committed offsets only, of a "
        "source without null offsets; copies may come late",
        bounds={"smoke": TWO_TOPICS}, features={
            "a copy is older": dict(records=3, sets=3),
            "a batch is dropped": dict(drops=1),
        }, depth=DEPTH, judged=(), progress_bounds=(TWO_TOPICS,), of=TEXT,
    ),
)  # fmt: skip

SCENARIOS = (
    Scenario("nulls-override", "a connector is given its own topic, and begins anew (ConnectorOffsetBackingStore.get); "
             "no release has this mended", "shipped-own-topic-later", "both-mends"),
    Scenario("copied-uncommitted", "an offset whose transaction is aborted is in the worker's topic, and counts when the "
             "connector's own topic is taken away: a record is lost; copied when it is committed, it is repeated, which no "
             "release does", "shipped-own-topic-taken", "topic-taken"),
)  # fmt: skip
