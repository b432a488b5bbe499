"""This module has the catalogue's entries for KIP-618, who may run, in the forms of the documents and of Kafka.

The cores are proved and judge most mechanisms, and the full models refine them. The consequence of a misread rule,
where it is known or instructive, is a variant of its own.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import ENABLED, TEXT, Kafka, Of
from fencepost.model.task_counts.abstract.as_shipped import Released
from fencepost.model.task_counts.abstract.cores import ABehindCore, LateCommits
from fencepost.model.task_counts.abstract.removed import (
    Dropped,
    DroppedTaken,
    Mended,
    Refused,
    RefusedDropped,
    RefusedTaken,
    Removed,
    Taken,
)
from fencepost.properties.entries import Claim, Profile, ProtocolEntry, Variant, Wider, wrong
from fencepost.properties.kip618_yardstick import YARDSTICK
from fencepost.properties.task_counts.claims.core import (
    ALemmas,
    BLemmas,
    ClaimsRefusedLemmas,
    ClaimsRefusedMutantLemmas,
    ClaimsTakenLemmas,
    LingeringLemmas,
    MLemmas,
    Promises,
    RemovedLemmas,
    RepairedLemmas,
    Serving,
    ShippedLemmas,
)
from fencepost.properties.task_counts.variants.bounds import REASONS as FULL_REASONS
from fencepost.properties.task_counts.variants.bounds import SHIPPED
from fencepost.properties.task_counts.variants.connectors import CONNECTORS, DELETION, UPGRADES
from fencepost.properties.task_counts.variants.full import (
    CONFIG_TOPIC,
    FULL_CLAIMS,
    FULL_SCENARIOS,
    FULL_SURVIVORS,
    FULL_VARIANTS,
    WRITES,
)

Bounds = Mapping[Profile, Mapping[str, int]]

CORE = dict(workers=1, instances=2, tasks=2, generations=3, elections=1, failures=0)
FEATURES: dict[str, Mapping[str, int]] = {
    "leaders, and one that comes back": dict(workers=2, instances=1, elections=3),
    "four sets": dict(instances=1, generations=4),
    "failing rounds": dict(failures=1),
}
WIDE: Bounds = {
    "smoke": CORE,
    "ci": dict(CORE, workers=2, elections=2),
    "nightly": dict(CORE, workers=2, elections=3),
}
A_THIRD = {"a third worker": dict(workers=3)}
WIDER: Wider = {"ci": A_THIRD, "nightly": A_THIRD}
"""The bounds `WIDER` add a worker that has not led while two others did; nightly has elections for all three."""
PROGRESS = (dict(CORE, workers=2, instances=1, generations=2, elections=3, failures=1),)
FEWER_STEPS = (dict(PROGRESS[0], elections=2),)
"""The bounds `FEWER_STEPS` are for the forms that differ from what shipped only in how a task starts."""

REASONS = {
    "workers": "a former leader and the one after it; a third repeats the second (ci and nightly have it)",
    "instances": "one that is late and one that it meets; three are two old tasks, of which a round fences each, and a new one",
    "tasks": "sets may shrink, grow and be empty; with one task, fencing would be skipped always",
    "generations": "one that runs, one whose round is late, one that it meets; a fourth shows what a wrong count left out",
    "elections": "one leader and the one after it; a third election gives the topic back to the first",
    "failures": "a round that failed half-way is begun again",
    "copies": "one commit that is taken late",
}


def _core(name: str, properties: Any, says: str, **more: Any) -> Variant:
    settings: dict[str, Any] = dict(
        bounds=WIDE, features=FEATURES, wider=WIDER, progress_bounds=PROGRESS,
    )  # fmt: skip
    return Variant(name, properties, says, **(settings | more))


def _mended(name: str, properties: Any, says: str, rule: str, **more: Any) -> Variant:
    """Return a variant with a deviation of Kafka from the text, and with a rule that makes up for it."""
    features = {name: bounds for name, bounds in FEATURES.items() if name != "four sets"}
    settings: dict[str, Any] = dict(judged=(rule,), features=features, progress_bounds=FEWER_STEPS, of=TEXT)
    return _core(name, properties, says, **(settings | more))


def _released(
    name: str, properties: Any, says: str, rule: str, reading: str | None, of: Of, **bounds: int,
) -> Variant:  # fmt: skip
    """Return a variant in which Kafka deviates from a rule, with what that breaks and what still holds."""
    return wrong(
        name, properties, says, rule, dict(CORE, **bounds), *_BOTH, reading=reading, leaves_out=(),
        progress_bounds=FEWER_STEPS, asks=_KEPT, of=of,
    )  # fmt: skip


_EAGER = {**ENABLED, "connect.protocol": "eager"}
_INCREMENTAL: Mapping[str, str | tuple[str, ...]] = {**ENABLED, "connect.protocol": ("compatible", "sessioned")}
_BOTH = ("no_zombie", "all_covered")
_OF_EACH = (*_BOTH, "one_of_each")
_KEPT = ("one_of_each", "counted_in_the_end", "polls_or_stops")

CORES = (
    _core(
        "core-A", ALemmas, "the core of A: the leader fences in the rebalance, starts trust their worker's view",
        judged=("618.14", "618.43"), of=TEXT,
    ),
    _core(
        "core-M", MLemmas, "the core of M: the Connector's owner asks for rounds, starts wait for the record",
        judged=("618.44",), progress_bounds=FEWER_STEPS, of=TEXT,
    ),
    _core(
        "core-B", BLemmas, "the core of B: each start asks for a round, and reads to the end",
        judged=("618.2", "618.15", "618.16"), progress_bounds=FEWER_STEPS, of=TEXT,
    ),
    _core(
        "core-shipped", ShippedLemmas,
        "the leader's answer stands for that read, as in Kafka; a round is gone as soon as its count is written, and a "
        "task that the newest set does not have is not started again, as in no release", of=SHIPPED,
    ),
    wrong("core-shortcut-as-worded", ALemmas,
          "A's words for the shortcut, of a connector that is given no tasks at all", "618.5", CORE, *_BOTH,
          reading="at_most_one"),
    wrong("core-new-set-is-one", ShippedLemmas, "fencing is skipped whenever the new set has one task", "618.5", CORE,
          *_BOTH, reading="new_is_one"),
    wrong("core-count-stands-after", ShippedLemmas, "after the producer opened, any count after the newest set will do",
          "618.19", CORE, *_BOTH, reading="a_count_stands_after"),
    wrong("core-no-check-after", ShippedLemmas, "a start does not look again after its producer opened", "618.19", CORE,
          *_BOTH, reading="unchecked"),
    wrong("core-late-round", ShippedLemmas, "the leader does not look for a newer set before it writes the count",
          "618.43", dict(CORE, generations=4), *_BOTH, "latest_leader_writes", reading="no_round_check"),
    wrong("core-plain-leader", ShippedLemmas, "a former leader can still write", "618.24",
          dict(CORE, instances=1, workers=2, elections=2), "all_covered", "latest_leader_writes", reading="anyone"),
    wrong("core-reclaimed", ShippedLemmas, "the leader claims the topic back between check and write", "618.43",
          dict(CORE, instances=1, workers=2, elections=3), "all_covered", "latest_leader_writes",
          reading="elect: guard 1 dropped"),
    wrong("core-A-behind", Promises.asked_of(ABehindCore),
          "a new leader decides whom to fence before it has read the topic to its end", "618.43",
          dict(CORE, instances=1, workers=2, elections=2), "all_covered", "latest_leader_writes"),
    wrong("core-late-commits", Promises.asked_of(LateCommits),
          "over brokers that take a late commit of a producer that was fenced (no txn.P1)", "618.12",
          dict(CORE, generations=2, copies=1), *_OF_EACH),
)  # fmt: skip

AS_SHIPPED = (
    _mended(
        "core-rounds-by-set", LingeringLemmas,
        "a round that is over stays in the leader's map until another thread takes it out, and answers for its own set",
        "618.51",
    ),
    _released(
        "core-shipped-lingering-round", LingeringLemmas,
        "Kafka: a round that is over stays in the leader's map until another thread takes it out, and answers for "
        "whatever set is the newest by then", "618.51", "whatever_set_it_was_for",
        (Kafka(settings=_EAGER), Kafka(settings=_INCREMENTAL, lacks="tasks are claimed: see core-released")),
        generations=4,
    ),
    _mended(
        "core-claims-taken", ClaimsTakenLemmas,
        "a worker that was away claims what it had, and the assignor takes from it what the newest set does not have",
        "618.53",
    ),
    _mended(
        "core-claims-refused", ClaimsRefusedLemmas,
        "a worker that was away is left with what it had, and does not start what the newest set does not have",
        "618.52", for_mutants=ClaimsRefusedMutantLemmas,
    ),
    _released(
        "core-shipped-claims", ClaimsRefusedLemmas,
        "Kafka: a worker that was away claims a task that the newest set does not have, is left with it for one "
        "rebalance, and starts it again by the newest set with its old configuration", "618.52", "nowhere",
        Kafka(settings=_INCREMENTAL, lacks="a round that is over answers: see core-released"),
    ),
    _released(
        "core-released", Promises.asked_of(Released, Serving),
        "Kafka: rounds that are over answer for whatever set is the newest, and workers claim what that does not have",
        "618.51", None, Kafka(settings=_INCREMENTAL),
    ),
)  # fmt: skip
"""The variants in `AS_SHIPPED` have Kafka's deviations from the text, each with what would repair it."""

_IN_KAFKA = (
    "Kafka: a task that the newest set does not have is started again, as its worker claims it, as the leader is "
    "new, or as a user restarts it before the herder has heard of the set"
)
_NUMBER = "the worker compares the task's number with the count, as it starts the task and at its second look"
_CONFIGURATION = "a worker that reads a set drops the configurations of all tasks that the set does not have"
_REVOKED = "the leader revokes every task that is active and not configured"
_REPAIRS: Mapping[str, tuple[type[Removed], tuple[str, ...]]] = {
    "refused": (Refused, (_NUMBER,)),
    "dropped": (Dropped, (_CONFIGURATION,)),
    "refused-dropped": (RefusedDropped, (_NUMBER, _CONFIGURATION)),
    "refused-taken": (RefusedTaken, (_NUMBER, _REVOKED)),
    "dropped-taken": (DroppedTaken, (_CONFIGURATION, _REVOKED)),
    "all-three": (Mended, (_NUMBER, _CONFIGURATION, _REVOKED)),
}
REMOVED = (
    _released(
        "core-removed", RemovedLemmas, _IN_KAFKA, "618.52", None,
        Kafka(settings=_INCREMENTAL, lacks="a round that is over answers: see core-released"),
    ),
    _released(
        "core-removed-taken", RemovedLemmas.asked_of(Taken), f"the same, and {_REVOKED}: a restart is of no rebalance",
        "618.53", None, TEXT,
    ),
    *(
        _mended(
            f"core-removed-{name}", RepairedLemmas.asked_of(protocol), f"the same, and {'; '.join(says)}", "618.52",
            judged=(),
        )
        for name, (protocol, says) in _REPAIRS.items()
    ),
)  # fmt: skip
"""The variants in `REMOVED` have each repair of a removed task's start alone, each two, and all three."""

CLAIMS = (
    Claim(
        "618.5", "core-shipped", _BOTH, ("fenced_by_its_successor",),
        "where one task takes the place of one, the new one's producer is all the fencing it takes",
    ),
    Claim(
        "618.22", "core-shipped", _BOTH, ("an_earlier_task_left", "a_zombie_shut_out"),
        "where tasks may stop at any time and nothing waits for it, a task that is left running is fenced in time, as long "
        "as no round answers for a later set and no task that is gone is started again (no release: 618.51, 618.52)",
    ),
    Claim(
        "618.26", "core-shipped", ("latest_leader_writes", "all_covered"), ("a_former_leader_about_to_write",),
        "a former leader that wakes up does not write a count after a newer set",
    ),
    Claim(
        "618.40", "core-A", _BOTH, ("woken_up_late",),
        "fenced in the rebalance: a start that stalls before its producer, and wakes late, never polls",
    ),
    Claim(
        "618.40", "core-B", _BOTH, ("woken_up_late",),
        "fenced by request: a start that stalls before its producer, and wakes late, never polls",
    ),
)  # fmt: skip

LIVES = tuple(f"task-counts-connect-life-{release}" for release in ("3.9.1", "4.3.1", "4.3.1-v0", "4.4.0"))
"""`LIVES` are the recordings of clusters without trouble, by release; that with -v0 has transaction.version 0."""
REMOVED_TASK = "task-counts-connect-removed-task"
"""`REMOVED_TASK` is the recording of a worker that starts a task which the newest set does not have."""
BROKEN_BY_REMOVED = frozenset({"no_zombie_commits", "producers_covered", "sets_whole", "conformance"})
"""The recorded cluster broke these: the task commits next to the newest set, and no step of the model starts it."""

TASK_COUNTS = ProtocolEntry(
    "task-counts",
    "Task counts of a source connector: who may run, and who is fenced before.",
    CORES + AS_SHIPPED + REMOVED + FULL_VARIANTS,
    FULL_REASONS | REASONS,
    examples={"smoke": 12},
    implementations=tuple(
        ("fencepost.reference_impl.systems.task_counts:reference", mode) for mode in ("A", "M", "B", "shipped")
    ),
    simulators=tuple(
        (
            mode,
            "fencepost.reference_impl.systems.task_counts:simulate_with_stats",
            {"mode": mode, "events": 300, "quiet_end": True},
        )
        for mode in ("A", "M", "B", "shipped")
    ),
    histories={"smoke": 12, "ci": 500, "nightly": 20_000},
    undecided=dict.fromkeys((*LIVES, REMOVED_TASK), frozenset()),  # with the workers' logs all is decided
    violated={REMOVED_TASK: BROKEN_BY_REMOVED},
    claims=CLAIMS + FULL_CLAIMS,
    scenarios=FULL_SCENARIOS,
    survivors=FULL_SURVIVORS,
    parts=(
        "config-topic-writes",
        "task-count-deletion",
        "task-count-connectors",
        "exactly-once-upgrade",
        "config-topic",
    ),
)

ENTRIES = (TASK_COUNTS, WRITES, DELETION, CONNECTORS, UPGRADES, CONFIG_TOPIC, YARDSTICK)
"""`ENTRIES` has the entries of this protocol, including the parts, each of which is a protocol of its own."""
