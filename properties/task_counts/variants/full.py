"""This module has the variants of the full models, of writing record by record, and of compaction.

The full models of task counts in the catalogue are A, M, B and what shipped, and what a stalled worker costs (H5).

`catalogue.py` has the entry. The cores there are proved, and each step explored here is checked to be one of theirs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fencepost.model.releases import ABSTRACTION, ENABLED, MISTAKE, TEXT, Kafka
from fencepost.model.task_counts.detailed.attending import Attended, LateFence, Unanswered, Unattended
from fencepost.model.task_counts.detailed.claiming import (
    Forgetful,
    Refused,
    RestartingEager,
    RestartingRefused,
    RestartingTaken,
    Taken,
)
from fencepost.model.task_counts.parts.compaction import ReorderingTopic
from fencepost.properties.entries import Claim, Names, Profile, ProtocolEntry, Scenario, Variant, wrong
from fencepost.properties.task_counts.claims.full import (
    APromises,
    BPromises,
    ClusterPromises,
    ConfigTopicProperties,
    CooperativePromises,
    EagerPromises,
    GrainPromises,
    MPromises,
    ReleasedEagerPromises,
    ReleasedPromises,
    ShippedPromises,
    WritingPromises,
)
from fencepost.properties.task_counts.variants.bounds import (
    CI,
    CLAIMED,
    FAILING,
    FALLING_OUT,
    FEATURES,
    FULL,
    GRAIN,
    GRAIN_FEATURES,
    IN_FULL,
    LINGERING,
    LINGERING_FEATURES,
    NIGHTLY,
    PROGRESS,
    REBALANCING,
    REBALANCING_FEATURES,
    REBALANCING_PROGRESS,
    ROUNDS,
    SHIPPED,
    STALLED,
    WIDER,
    YARDSTICK,
)

Bounds = Mapping[Profile, Mapping[str, int]]
_WIDE: Bounds = {"smoke": FULL, "ci": CI, "nightly": NIGHTLY}
_BOTH = ("no_zombie", "all_covered")


def _full(name: str, properties: Any, says: str, **more: Any) -> Variant:
    settings: dict[str, Any] = dict(
        bounds=_WIDE, features=FEATURES, proof=False, judged=(), progress_bounds=PROGRESS,
    )  # fmt: skip
    return Variant(name, properties, says, **(settings | more))


_ALONE: dict[str, Any] = dict(
    bounds={**_WIDE, "smoke": STALLED}, leaves_out=("one_task_twice",), progress_bounds=PROGRESS[:1],
    wider=WIDER,
)  # fmt: skip
"""One task twice is left to what shipped and to the wider profiles, because it does not distinguish the forms."""

_SEEN = ("a_zombie_shut_out", "woken_up_late", "one_task_twice", "its_next_start", "an_earlier_task_left", "wanted",
         "polls_in_the_end")  # fmt: skip


def _rebalancing(name: str, properties: Any, says: str, protocol: str) -> Variant:
    bounds: Bounds = {
        "smoke": REBALANCING,
        "ci": dict(REBALANCING, failures=1),
        "nightly": dict(REBALANCING, stops=1),
    }
    return _full(
        name, properties, says, bounds=bounds, features=REBALANCING_FEATURES, progress_bounds=REBALANCING_PROGRESS,
        leaves_out=("woken_up_late", "one_task_twice"),
        of=Kafka(settings=ENABLED | {"connect.protocol": protocol}, lacks=SHIPPED.lacks),
    )  # fmt: skip


LEFT = Kafka(settings=ENABLED | {"failed tasks": "left"})
"""With `LEFT` no user restarts what failed."""


def _claims(name: str, properties: Any, says: str, rule: str, **more: Any) -> Variant:
    """Return a variant where a worker that fell out of the group claims what it had, to check what is covered."""
    settings: dict[str, Any] = dict(asks=("all_covered",))
    return Variant(name, properties, says, rule, bounds={"smoke": CLAIMED}, **(settings | more))


def _released(
    name: str, properties: Any, says: str, breaks: tuple[str, ...], protocol: str | tuple[str, ...]
) -> Variant:
    """Return a variant where rounds that are over answer, to check what polls and commits in the end."""
    return Variant(
        name, properties, says, "618.51", None, dict.fromkeys(breaks, "violated"), {"smoke": LINGERING},
        features=LINGERING_FEATURES, progress_bounds=(FALLING_OUT, ROUNDS), asks=("polls_in_the_end",),
        of=Kafka(settings=ENABLED | {"connect.protocol": protocol}),
    )  # fmt: skip


FULL_VARIANTS = (
    _full(
        "grain", GrainPromises, "what all forms share, step for step the yardstick's", features=GRAIN_FEATURES,
        progress_bounds=(),
        bounds={"smoke": GRAIN, "ci": dict(YARDSTICK, tasks=1), "nightly": YARDSTICK}, of=ABSTRACTION,
    ),
    _full("shipped", ShippedPromises,
          "each start asks for a round, and takes the answer for the check, as Kafka does; a round is gone as soon as its "
          "count is written, and no worker claims a task, as in no release",
          features=FEATURES | IN_FULL["shipped"], wider=WIDER, of=SHIPPED),
    _full("B", BPromises, "each start asks for a round, and reads to the end",
          **_ALONE | {"features": FEATURES | IN_FULL["B"], "of": TEXT}),
    _full("A", APromises, "the leader fences in the rebalance, and hands out the offset that it has read to",
          **_ALONE | {"judged": ("618.8",), "progress_bounds": PROGRESS, "features": FEATURES | IN_FULL["A"],
                      "of": TEXT}),
    _full("M", MPromises, "the Connector's owner asks for rounds, and starts wait for the count",
          **_ALONE | {"judged": ("618.21",), "of": TEXT}),
    _rebalancing("shipped-eager", EagerPromises, "shipped, and before a rebalance everything stops", "eager"),
    _rebalancing(
        "shipped-cooperative", CooperativePromises, "shipped, and a rebalance stops only what is superseded or moves",
        "sessioned",
    ),
    _claims(
        "shipped-cooperative-claims", CooperativePromises.asked_of(Forgetful),
        "Kafka: cooperative rebalances, and a task that the newest set does not have stays where it is until the next "
        "one, if its worker was away and claims it, or if the leader is new", "618.53",
        expected={"all_covered": "violated"}, asks=(),
        of=Kafka(settings=ENABLED | {"connect.protocol": ("compatible", "sessioned")}),
    ),
    _claims(
        "cooperative-claims-taken", CooperativePromises.asked_of(Taken),
        "the same, and the assignor takes what is claimed and not configured, whichever worker had it last", "618.53",
        of=TEXT,
    ),
    _claims(
        "cooperative-claims-refused", CooperativePromises.asked_of(Refused),
        "the same, and a worker does not start a task that the newest set does not have", "618.52", of=TEXT,
    ),
    _claims(
        "cooperative-restarted-taken", CooperativePromises.asked_of(RestartingTaken),
        "the same as taken, and a user restarts a task on a worker whose herder has not heard of the newest set",
        "618.53", expected={"all_covered": "violated"}, asks=(), of=TEXT,
    ),
    _claims(
        "cooperative-restarted-refused", CooperativePromises.asked_of(RestartingRefused),
        "the same as refused, and such a restart is refused as well", "618.52", of=TEXT,
    ),
    _claims(
        "shipped-eager-restarted", EagerPromises.asked_of(RestartingEager),
        "Kafka with eager rebalances: a user restarts a task on a worker whose herder has not heard of the newest set, "
        "which does not have the task", "618.52", expected={"all_covered": "violated"}, asks=(),
        of=Kafka(settings=ENABLED | {"connect.protocol": "eager"}),
    ),
    _released(
        "shipped-released", ReleasedPromises,
        "Kafka: cooperative rebalances, rounds that are over answer until another thread takes them out, and workers "
        "claim tasks that the newest set does not have", _BOTH, ("compatible", "sessioned"),
    ),
    _released(
        "shipped-released-eager", ReleasedEagerPromises,
        "Kafka with eager rebalances: no worker claims a task, and rounds that are over answer until another thread "
        "takes them out", ("no_zombie",), "eager",
    ),
    Variant(
        "shipped-cooperative-unsteady", CooperativePromises,
        "cooperative rebalances, and what is revoked for one worker is then given to another, again and again",
        "618.41", ("618.41", "another_one_each_time"), {"polls_in_the_end": "violated"},
        {"smoke": dict(REBALANCING, instances=2)},
        (*_BOTH, "one_of_each", *_SEEN[:-1], "left_running", "fell_out", "runs_through"), REBALANCING_PROGRESS[1:],
        of=MISTAKE,
    ),
    Variant(
        "A-shortcut-as-worded", APromises,
        "A's words for the shortcut: a connector that is given no tasks at all, and then two", "618.5",
        ("618.5", "at_most_one_each"), dict.fromkeys(_BOTH, "violated"),
        {"smoke": dict(STALLED, workers=1, tasks=2, log=6, generations=6, sets=3)},
        ("one_of_each", *_SEEN), of=TEXT,
    ),
    Variant(
        "shipped-two-holders", ShippedPromises,
        "a task's producer shuts no other out, and two workers have the same task", "618.18",
        ("618.18", "fences_nobody"), dict.fromkeys(("no_zombie", "one_of_each"), "violated"), {"smoke": FULL},
        _SEEN, of=MISTAKE,
    ),
    Variant(
        "shipped-unattended", ClusterPromises.asked_of(Unattended),
        "a start that wakes up late costs a healthy task, which is not restarted", "618.P4", None,
        {"polls_in_the_end": "violated"}, {"smoke": STALLED}, ("one_task_twice",), (STALLED,),
        of=LEFT,
    ),
    wrong("shipped-late-fence", ClusterPromises.asked_of(LateFence),
          "a request to fence that was given up for lost shuts out a task of the newest set, which is not restarted",
          "618.P4", FAILING, "polls_in_the_end", leaves_out=("one_task_twice",), progress_bounds=(FAILING,), of=LEFT),
    wrong("shipped-unanswered", ClusterPromises.asked_of(Unanswered),
          "the leader that a task asked for a round is paused, the request runs out of time, and the task is not "
          "restarted", "618.P4", FAILING, "polls_in_the_end", leaves_out=("one_task_twice",), progress_bounds=(FAILING,),
          of=replace(LEFT, since="4.0.0")),
    Variant(
        "shipped-attended", ClusterPromises.asked_of(Attended), "the same, and a user restarts every task that failed", "618.P4", None,
        {}, {"smoke": STALLED}, ("one_task_twice",), (STALLED, FAILING),
        asks=(*_BOTH, "one_of_each", "polls_in_the_end"), of=SHIPPED,
    ),
)  # fmt: skip


def _scenario(name: str, says: str, broken: str, fixed: str) -> Scenario:
    return Scenario(name, says, broken, fixed, played=True)


FULL_SCENARIOS = (
    Scenario(
        "A-1-to-0", "a connector is given no tasks, no producer is fenced, and its last task commits beside two new ones",
        "A-shortcut-as-worded", "A",
    ),
    _scenario(
        "H4", "a full second round goes by unseen, since a count stands after the newest set again",
        "core-count-stands-after", "core-shipped",
    ),
    _scenario(
        "H5", "a start that wakes up late costs a healthy task, which stays failed until a user restarts it",
        "shipped-unattended", "shipped-attended",
    ),
    _scenario("H12-check", "a late round writes its own count after a newer set", "core-late-round", "core-shipped"),
    _scenario("H12-leader", "a former leader writes its count after a newer set", "core-plain-leader", "core-shipped"),
    _scenario(
        "lingering-round", "a round of fencing that is over answers a task of a newer set, before its thread takes it away",
        "core-shipped-lingering-round", "core-rounds-by-set",
    ),
    _scenario(
        "removed-task", "a worker that was paused past its session starts a task that the newest set does not have, behind "
        "its fence; no release has this mended", "core-shipped-claims", "core-claims-refused",
    ),
    _scenario(
        "late-fence", "a fence of a former leader that was given up for lost shuts out a task of the newest set",
        "shipped-late-fence", "shipped-attended",
    ),
    _scenario(
        "paused-leader", "a task waits for a round of a leader that stands still, until its request fails, and it with it",
        "shipped-unanswered", "shipped-attended",
    ),
    _scenario(
        "B36", "a worker that fell out of the group still has a task that another one was given (KAFKA-9184)",
        "shipped-two-holders", "shipped",
    ),
)  # fmt: skip

FULL_CLAIMS = (
    Claim(
        "618.41", "shipped-eager", (*_BOTH, "polls_in_the_end"), ("left_running", "fell_out"),
        "eager rebalances: nothing polls that should not, and every task of the newest set polls in the end",
    ),
    Claim(
        "618.41", "shipped-cooperative", (*_BOTH, "polls_in_the_end"), ("left_running", "fell_out", "runs_through"),
        "cooperative rebalances: the same, with tasks that run through",
    ),
    Claim(
        "618.40", "A", _BOTH, ("woken_up_late",),
        "in full: fenced in the rebalance, a start that stalls before its producer and wakes late never polls",
    ),
    Claim(
        "618.40", "B", _BOTH, ("woken_up_late",),
        "in full: fenced by request, a start that stalls before its producer and wakes late never polls",
    ),
)  # fmt: skip

FULL_SURVIVORS: Mapping[tuple[str, str], str] = {
    ("618.43", "by_what_it_has_read"): "what this leader wrote it has read, and any other that wrote has shut it out",
    ("618.4", "start_round: guard 1 dropped"): "a round too many fences what runs, and writes the same count again",
    ("618.4", "start_round: guard 1 looser"): "the same",
}
"""The mutants in `FULL_SURVIVORS` survive in the full models, which are explored and not proved, and each entry gives
the reason why that is right."""


# These variants write sets configuration by configuration, with effect at their commit record.

_SMALL = dict(workers=2, tasks=2, calls=3, parts=1)
_WITNESSES = Names(lambda: (n for n, p in WritingPromises.properties.items() if p.role == "witness"))


def _misread(name: str, says: str, rule: str, mutation: str) -> Variant:
    return Variant(
        name, WritingPromises, says, rule, (rule, mutation), {"each_part_has_one_reader": "violated"},
        {"smoke": _SMALL}, Names(lambda: (*_WITNESSES, "in_effect_in_the_end")),
        of=MISTAKE,
    )  # fmt: skip


WRITES = ProtocolEntry(
    "config-topic-writes",
    "Sets of task configurations, written record by record by leaders that change.",
    (
        Variant(
            "record-by-record", WritingPromises, "a transaction for every record, and a commit record at the end",
            bounds={"smoke": _SMALL, "nightly": dict(_SMALL, workers=3, calls=4)},
            progress_bounds=(dict(_SMALL, calls=2),), of=SHIPPED,
        ),
        _misread(
            "in-effect-at-once", "a configuration takes effect when it is read, without a commit record", "618.3",
            "at_once",
        ),
        _misread(
            "commit-record-first", "the commit record does not wait for the configurations", "618.3",
            "commit_set: guard 1 dropped",
        ),
        _misread("former-leaders-write", "the leader writes with a plain producer", "618.24", "anyone"),
        _misread(
            "claimed-in-a-call", "the leader claims the topic back in the middle of a call", "618.43",
            "claim: guard 1 dropped",
        ),
    ),
    {
        "workers": "a leader and the one that takes over from it",
        "tasks": "two, so that a set can be torn",
        "parts": "one that two tasks of two sets may read; another one is read in the same way",
        "calls": "one that was never finished, one in effect and one under way",
    },
)  # fmt: skip


# These variants have the config topic as records: as it is, and where it is read or compacted differently.

_COMPACTION_SMALL = dict(workers=2, tasks=2, sets=3, log=7, removals=1, restarts=1, crashes=0)
_ONE_TASK = dict(tasks=1, log=6, restarts=0, removals=2, crashes=0)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _COMPACTION_SMALL,
    "ci": dict(_COMPACTION_SMALL, crashes=1),
    "nightly": dict(_COMPACTION_SMALL, log=8, crashes=1),
}
_COMPACTION_WITNESSES = Names(lambda: (n for n, p in ConfigTopicProperties.properties.items() if p.role == "witness"))


CONFIG_TOPIC = ProtocolEntry(
    "config-topic",
    "The config topic record by record: sets that count from their commit on, and what compaction leaves of them.",
    (
        Variant(
            "config-topic",
            ConfigTopicProperties,
            "sets, commits and counts, compacted in order, and read from the start by who is restarted",
            bounds=_BOUNDS,
            features={"a leader falls silent": dict(tasks=1, log=6, crashes=1), "a third set begun": _ONE_TASK},
            proof=False,
            of=TEXT,
        ),
        wrong(
            "slow-reader",
            ConfigTopicProperties,
            "compaction takes a configuration from under a reader, who has one that was never committed in its place",
            "618.3",
            _COMPACTION_SMALL | _ONE_TASK | dict(log=5, crashes=1),
            "runs_that_set",
            proof=False,
            of=Kafka(settings=ENABLED),
        ),
        wrong(
            "complete-sets-counted",
            ConfigTopicProperties,
            "workers count a set only if they have all of its configurations (shipped)",
            "618.19",
            _COMPACTION_SMALL | _ONE_TASK,
            "starts_from_the_newest",
            reading="complete_sets_only",
            proof=False,
            of=Kafka(settings=ENABLED),
        ),
        wrong(
            "numbers-remembered",
            ConfigTopicProperties,
            "a number that one process has counted is compared by another one, which has read what compaction left",
            "618.19",
            _COMPACTION_SMALL | _ONE_TASK | dict(restarts=1),
            "starts_from_the_newest",
            reading="remembered_by_number",
            proof=False,
        ),
        Variant(
            "order-not-kept",
            ConfigTopicProperties.asked_of(ReorderingTopic),
            "a compaction that does not keep the order: a count comes to stand after a set that was not fenced for",
            "618.2",
            None,
            {"runs_what_was_fenced_for": "violated"},
            {"smoke": dict(_COMPACTION_SMALL, workers=1, removals=0, restarts=0, reorderings=1)},
            Names(lambda: ("runs_that_set", "starts_from_the_newest", *_COMPACTION_WITNESSES)),
            proof=False,
            of=MISTAKE,
        ),
    ),
    {
        "workers": "one that read along, and one that read from the start",
        "tasks": "two, so that one configuration of a set can be gone, and the other be there",
        "sets": "two, and a third that is begun",
        "log": "a set of two, its commit and count, and a set of one with commit and count: seven records",
        "removals": "a configuration of an old set and one of the newest; more is slow-reader's",
        "restarts": "one worker reads from the start",
        "crashes": "one set that is begun and never committed",
        "reorderings": "one record that is moved",
    },
    scenarios=(
        Scenario(
            "compaction-order",
            "a count is moved behind a set that was not fenced for",
            "order-not-kept",
            "config-topic",
            played=True,
        ),
    ),
)
