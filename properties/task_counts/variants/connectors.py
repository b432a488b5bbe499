"""This module has the variants of several connectors, of deletion, and of upgrades.

The catalogue has several connectors in two forms: in one group, and in several groups with names whose ids collide.
"""

from collections.abc import Mapping

from fencepost.model.releases import ENABLED, MISTAKE, TEXT, Kafka, Of
from fencepost.model.task_counts.parts.deletion import ClaimedAcross, LateFences
from fencepost.model.task_counts.parts.upgrades import ClaimedEarly, MassUpgrade, Strangers
from fencepost.model.task_counts.parts.upgrades_uncommitted import CountedOnly, RestartedOnly
from fencepost.properties.entries import Claim, Names, Profile, ProtocolEntry, Scenario, Variant, wrong
from fencepost.properties.task_counts.claims.connectors import (
    CollidingNamesProperties,
    ConnectorsProperties,
    DeletionProperties,
    TombstoneAfterFencingProperties,
)
from fencepost.properties.task_counts.claims.upgrades import (
    AfterwardsProperties,
    UpgradesInStepsProperties,
    UpgradesProperties,
    UpgradesWithAbortsProperties,
)
from fencepost.properties.task_counts.variants.bounds import SHIPPED, UPGRADING

_SMALL = dict(workers=1, connectors=2, instances=1, tasks=2, sets=2, elections=1, failures=0, deletions=0)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, failures=1),
    "nightly": dict(_SMALL, workers=2, elections=2, tasks=1),
}
_FEATURES: Mapping[str, Mapping[str, int]] = {
    "writes that fail": dict(tasks=1, failures=1),
    "leaders": dict(workers=2, elections=2, tasks=1, sets=1),
    "leaders, and a connector that is deleted": dict(connectors=1, workers=2, elections=2, deletions=1),
    "old and new": dict(connectors=1, instances=2, failures=1),
    "deleted and created again": dict(connectors=1, instances=2, deletions=1),
}
_PROGRESS = (
    dict(_SMALL, tasks=1, failures=1),
    dict(_SMALL, connectors=1, tasks=1, failures=1, deletions=1),
    dict(_SMALL, connectors=1, workers=2, tasks=1, elections=2, failures=1),
)
_LOST = dict(_SMALL, tasks=1, sets=1, failures=1)
_ALIKE = dict(
    connectors=2, instances=1, tasks=1, sets=1, failures=0, collisions=1, workers=1, elections=1, deletions=0,
)  # fmt: skip
"""Workers, elections and deletions have the bounds of `connectors`, with which the collision is compared."""
_OTHERS = Names(lambda: (n for n in ConnectorsProperties.properties if n not in ("no_round_is_lost", "producer_gone")))
_SAFE = ("no_zombie", "covered")

CONNECTORS = ProtocolEntry(
    "task-count-connectors",
    "Rounds and task starts of several connectors side by side: what they share, and what one feels of another.",
    (
        Variant(
            "connectors",
            ConnectorsProperties,
            "connectors of one group: one leader at a time, its thread and its producer; ids of their own",
            bounds=_BOUNDS,
            features=_FEATURES,
            leaves_out=("no_round_is_lost", "producer_gone"),
            progress_bounds=_PROGRESS,
            judged=("618.2", "618.6"),
            of=SHIPPED,
        ),
        Variant(
            "one-write-fails",
            ConnectorsProperties,
            "a write fails for one connector, and the producer is gone for all, whose rounds fail until the next tick",
            "618.9",
            None,
            {"no_round_is_lost": "violated"},
            {"smoke": _LOST},
            _OTHERS,
            of=Kafka(settings=ENABLED),
        ),
        Variant(
            "names-may-collide",
            CollidingNamesProperties,
            "connectors of other groups may have the same ids: zombies are kept out all the same",
            bounds={
                "smoke": dict(_ALIKE, instances=2),
                "ci": dict(_ALIKE, instances=2, tasks=2),
            },
            features={"old and new": dict(connectors=1, tasks=2, sets=2, failures=1, collisions=0)},
            leaves_out=("only_its_own",),
            judged=(),
            of=SHIPPED,
        ),
        Variant(
            "names-collide",
            CollidingNamesProperties,
            "connector orders-1 of group connect, and connector 1 of group connect-orders, in one Kafka cluster",
            "618.49",
            None,
            {"only_its_own": "violated"},
            {"smoke": _ALIKE},
            (*_SAFE, "they_fence_one_another", "an_old_one_shut_out", "one_is_covered"),
            of=Kafka(settings=ENABLED),
        ),
    ),
    {
        "workers": "one leader; a former one and the one after it",
        "connectors": "two; what a third does to them, one of them does to the other",
        "instances": "one of each connector, or an old and a new one",
        "tasks": "two, so that something is fenced",
        "sets": "two: the second needs a round",
        "elections": "a leader, and the one after it; a former one claims the topic back without being elected",
        "failures": "a round or a write that fails leaves the other connectors alone, or it does not: one shows it",
        "deletions": "one connector that comes back",
        "collisions": "two connectors whose ids are the same",
    },
    claims=(
        Claim(
            "618.9",
            "connectors",
            (*_SAFE, "only_its_own"),
            ("rounds_side_by_side", "fenced_beside_another_round", "claimed_back"),
            "rounds of connectors that share a leader fence none but their own tasks, and let no zombie through where a "
            "round is gone as soon as its count is written (no release: core-shipped-lingering-round); but a write that "
            "fails for one takes the producer from all, until the leader's next tick",
        ),
        Claim(
            "618.49",
            "names-may-collide",
            _SAFE,
            ("they_fence_one_another",),
            "where ids collide, healthy tasks fence one another, and no zombie gets through",
        ),
    ),
    scenarios=(
        Scenario(
            "618.49",
            "a healthy task is shut out by one of a connector that its own cluster does not know",
            "names-collide",
            "connectors",
            played=True,
        ),
    ),
)


# These variants are about the deletion and creation of connectors: what preserves the count, and what loses it.

_DELETION_SMALL = dict(instances=2, tasks=2, sets=2, restarts=1)
_DELETION_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _DELETION_SMALL,
    "ci": dict(_DELETION_SMALL, sets=3),
    "nightly": dict(_DELETION_SMALL, instances=3, sets=3),
}
_QUIET: Mapping[Profile, Mapping[str, int]] = {"smoke": dict(_DELETION_SMALL, restarts=0)}
_DELETION_LOST = {"no_zombie": "violated", "covered": "violated"}
_ASIDE = ("counted_in_the_end", "a_former_life_is_shut_out", "a_deleted_one_can_commit")
_WAITS = (dict(instances=1, tasks=1, sets=2, restarts=1),)


DELETION = ProtocolEntry(
    "task-count-deletion",
    "A connector that is deleted and created again: its former tasks are still counted, and fenced.",
    (
        Variant(
            "deletion",
            DeletionProperties,
            "a deletion leaves the count record alone",
            bounds=_DELETION_BOUNDS,
            progress_bounds=_WAITS,
            of=SHIPPED,
        ),
        Variant(
            "deletion-late-fences",
            DeletionProperties.asked_of(LateFences),
            "the same, and requests to fence come late, or twice",
            bounds=_DELETION_BOUNDS,
            leaves_out=("counted_in_the_end",),
            judged=(),
            of=SHIPPED,
        ),
        Variant(
            "deletion-claims-refused",
            DeletionProperties.asked_of(ClaimedAcross),
            "a worker that was away has its tasks of before, and starts those alone that the newest set has",
            bounds=_DELETION_BOUNDS,
            leaves_out=("counted_in_the_end",),
            judged=(),
            of=TEXT,
        ),
        Variant(
            "deletion-claims",
            DeletionProperties.asked_of(ClaimedAcross),
            "the same, and it starts all of them: of the deletion compaction has left nothing that it could read",
            "618.52",
            ("618.52", "nowhere"),
            _DELETION_LOST,
            _QUIET,
            _ASIDE,
            of=MISTAKE,
        ),
        Variant(
            "tombstone-after-fencing",
            TombstoneAfterFencingProperties,
            "a deletion fences, then removes the count, and a task that starts looks whether its connector is there",
            bounds=_DELETION_BOUNDS,
            leaves_out=("counted_in_the_end",),
            judged=(),
            of=TEXT,
        ),
        Variant(
            "tombstone-after-fencing-as-written",
            TombstoneAfterFencingProperties,
            "the same, and a task that starts looks for a newer set only",
            "618.38",
            ("618.38", "whether_it_exists_or_not"),
            _DELETION_LOST,
            _QUIET,
            (*_ASIDE, "fenced_for_nothing"),
            of=TEXT,
        ),
        Variant(
            "tombstone-without-fencing",
            DeletionProperties,
            "a deletion removes the count record and fences no producer",
            "618.38",
            ("618.38", "tombstone"),
            _DELETION_LOST,
            _QUIET,
            _ASIDE,
            of=TEXT,
        ),
        Variant(
            "deletion-clears-memory",
            DeletionProperties,
            "the leader forgets the count of a deleted connector, and the record stays (KAFKA-14147, first patch)",
            "618.38",
            ("618.38", "memory_cleared"),
            _DELETION_LOST,
            _QUIET,
            _ASIDE,
            of=MISTAKE,
        ),
        Variant(
            "deletion-clears-generation",
            DeletionProperties,
            "workers count the sets of a connector that is created again from 1",
            "618.38",
            ("618.19", "counted_from_1_again"),
            _DELETION_LOST,
            _QUIET,
            _ASIDE,
            of=MISTAKE,
        ),
    ),
    {
        "instances": "a task of the former life and one of the present; a third is like one of them",
        "tasks": "two, since a single task is shut out by its successor, and hides what was not fenced",
        "sets": "one before the deletion and one after it; the third is counted by what the second left",
        "restarts": "one: the leader reads the topic again, where its memory and the record have to agree",
    },
    claims=(
        Claim(
            "618.38",
            "tombstone-after-fencing",
            ("no_zombie", "covered", "nothing_saved"),
            ("fenced_for_nothing",),
            "fencing on deletion is safe, if tasks that start see the deletion, and spares no fencing later",
        ),
    ),
    scenarios=(
        Scenario(
            "B34",
            "KAFKA-14147: the count of a deleted connector is forgotten, and a task of its former life goes on",
            "deletion-clears-memory",
            "deletion",
            played=True,
        ),
    ),
)


# These variants are about upgrades and mixed clusters: where the guarantee begins, and what happens to a cluster that
# claims it elsewhere.


_TWO_SETS = dict(workers=2, tasks=2, sets=2)
_THREE_SETS = dict(_TWO_SETS, sets=3)
_UPGRADES_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _THREE_SETS,
    "ci": dict(_THREE_SETS, sets=4),
    "nightly": dict(_TWO_SETS, workers=3),
}
_ONE_TASK = dict(_THREE_SETS, tasks=1)
_STRANGERS = dict(without_support=0, foreign_sets=0, foreign_counts=0, shared_ids=0)
_WITNESSES = Names(lambda: (n for n, p in UpgradesProperties.properties.items() if p.role == "witness"))
_ZOMBIES = {"no_zombie": "violated", "covered": "violated"}
BY_OTHERS = Kafka(settings=ENABLED | {"config topic": "written by others too"})
_IN_VAIN = {"nobody_asks_in_vain": "violated"}


def _rolling(then: str) -> Kafka:
    """Return every release, in a cluster that was upgraded by two rolling upgrades followed by ``then``."""
    return Kafka(settings=ENABLED | {"workers were upgraded": then}, lacks=SHIPPED.lacks)


def _strange(
    name: str, says: str, rule: str, bounds: Mapping[str, int], expected: Mapping[str, str] = _ZOMBIES,
    asks: tuple[str, ...] = (), *, of: Of,
) -> Variant:  # fmt: skip
    """Return a variant for the guarantee of a cluster in which one condition is not met."""
    return Variant(
        name, UpgradesProperties.asked_of(Strangers), says, rule, None, expected, {"smoke": {**_STRANGERS, **bounds}},
        Names(lambda: (*_WITNESSES, "nobody_asks_in_vain")), asks=asks, of=of,
    )  # fmt: skip


def _hasty(
    name: str, says: str, rule: str, alternative: str, expected: Mapping[str, str], asks: tuple[str, ...] = (),
    of: Of = MISTAKE, **bounds: int,
) -> Variant:  # fmt: skip
    """Return a variant in which a cluster is upgraded by another path than the safe one."""
    return Variant(
        name, UpgradesProperties, says, rule, (rule, alternative), expected, {"smoke": _TWO_SETS | bounds}, _WITNESSES,
        asks=asks, of=of,
    )  # fmt: skip


UPGRADES = ProtocolEntry(
    "exactly-once-upgrade",
    "From when on a cluster that is upgraded keeps zombies from committing, and which workers break it.",
    (
        Variant(
            "two-rolling-upgrades",
            UpgradesProperties,
            "the new version everywhere, with leaders that write in transactions; then the feature, worker by worker; "
            "nothing is read that is not committed, as in no release",
            bounds=_UPGRADES_BOUNDS,
            of=TEXT,
        ),
        Variant(
            "two-rolling-upgrades-in-steps",
            UpgradesInStepsProperties,
            "the same, where a round fences id by id, a task starts in several steps, and all else goes on meanwhile",
            bounds={"smoke": _ONE_TASK, "ci": _TWO_SETS},
            judged=(),
            of=TEXT,
        ),
        Variant(
            "two-rolling-upgrades-read-committed",
            UpgradesWithAbortsProperties,
            "the same, where writes to the config topic are aborted, and every worker reads it in read_committed",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            judged=("618.50",),
            of=TEXT,
        ),
        Variant(
            "two-rolling-upgrades-as-shipped",
            UpgradesWithAbortsProperties,
            "Kafka: leaders that are preparing read what is not committed, go by aborted records, and answer by them",
            "618.50",
            ("618.50", "where_it_is_not_on"),
            _ZOMBIES,
            {"smoke": _TWO_SETS},
            asks=("nobody_asks_in_vain",),
            of=_rolling("two rolling upgrades"),
        ),
        Variant(
            "upgraded-counted-restarted",
            AfterwardsProperties,
            "Kafka: the guarantee from later on: a set got its count when all had the feature on, and each worker was "
            "restarted once more after that",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            judged=(),
            of=_rolling("two rolling upgrades, then a new set, then a restart of each worker"),
        ),
        wrong(
            "upgraded-restarted",
            UpgradesWithAbortsProperties.asked_of(RestartedOnly),
            "Kafka: the guarantee claimed after each worker was restarted once more, without a new set",
            "618.35",
            _TWO_SETS,
            "no_zombie",
            "covered",
            leaves_out=(),
            of=_rolling("two rolling upgrades, then a restart of each worker"),
        ),
        wrong(
            "upgraded-counted",
            UpgradesWithAbortsProperties.asked_of(CountedOnly),
            "Kafka: the guarantee claimed after a set got its count, without another restart",
            "618.35",
            _TWO_SETS,
            "no_zombie",
            "covered",
            leaves_out=(),
            of=_rolling("two rolling upgrades, then a new set"),
        ),
        Variant(
            "mass-upgrade",
            UpgradesProperties.asked_of(MassUpgrade),
            "all workers are stopped, upgraded, and started again with the feature on",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            # No task can ask in vain, because all workers know the request from the same moment on.
            leaves_out=("nobody_asks_in_vain", "asked_before_all_are_enabled"),
            proof=False,
            judged=(),
            of=SHIPPED,
        ),
        _hasty(
            "one-rolling-upgrade",
            "version and feature at once, worker by worker: leaders that do not know the question, and plain ones",
            "618.35",
            "in_one_upgrade",
            _ZOMBIES | _IN_VAIN,
            sets=3,
        ),
        _hasty(
            "plain-leaders-before",
            "two rolling upgrades, and leaders write in transactions only with the feature on (A; shipped: disabled)",
            "618.24",
            "only_with_the_feature_on",
            _ZOMBIES,
            sets=3,
        ),
        _hasty(
            "endpoint-with-the-feature",
            "two rolling upgrades, and only leaders with the feature on know the question",
            "618.10",
            "only_with_the_feature_on",
            _IN_VAIN,
            ("no_zombie", "covered"),
        ),
        _hasty(
            "polls-before-the-end",
            "polls from before the end of the second upgrade counted as well",
            "618.35",
            "polls_before_it_as_well",
            {"no_zombie": "violated"},
            of=UPGRADING,
        ),
        Variant(
            "claimed-early",
            UpgradesProperties.asked_of(ClaimedEarly),
            "the guarantee claimed before the last worker has finished the second upgrade",
            "618.35",
            None,
            _ZOMBIES,
            {"smoke": _TWO_SETS},
            _WITNESSES,
            of=UPGRADING,
        ),
        _strange(
            "one-worker-without-support",
            "everybody has the feature on, but for one worker",
            "618.33",
            dict(_TWO_SETS, without_support=1),
            of=Kafka(settings={"exactly.once.source.support": "mixed"}),
        ),
        _strange(
            "foreign-set",
            "a follower, or another client, writes one set of task configurations",
            "618.34",
            dict(_THREE_SETS, foreign_sets=1),
            of=BY_OTHERS,
        ),
        _strange(
            "foreign-count",
            "another client writes one count",
            "618.34",
            dict(_TWO_SETS, foreign_counts=1),
            of=BY_OTHERS,
        ),
        _strange(
            "leader-id-shared",
            "a task of another cluster has the leader's id: the leader claims the topic again, and no harm is done",
            "618.49",
            dict(_THREE_SETS, shared_ids=2),
            {},
            ("no_zombie", "covered"),
            of=SHIPPED,
        ),
    ),
    {
        "workers": "one that is further in the upgrade than the other, or two leaders; a third is like one of them",
        "tasks": "two, so that a count can be too small",
        "sets": "two for old and new; a third for the count of the second, if that count was wrong",
        "without_support": "one worker is enough to break it",
        "foreign_sets": "one record is enough",
        "foreign_counts": "one record is enough",
        "shared_ids": "once before a round, and once between it and its count",
    },
    claims=(
        Claim(
            "618.35",
            "two-rolling-upgrades",
            ("no_zombie", "covered", "nobody_asks_in_vain"),
            ("old_ones_shut_out", "one_is_covered", "asked_before_all_are_enabled"),
            "where nothing is read that is not committed, as in no release, the guarantee begins when the last worker "
            "has finished the second upgrade, for what polls from then on",
        ),
        Claim(
            "618.35",
            "upgraded-counted-restarted",
            ("no_zombie", "covered", "nobody_asks_in_vain"),
            ("old_ones_shut_out", "one_is_covered", "asked_before_all_are_enabled"),
            "as Kafka reads the topic (3.6 to trunk), it begins when a set has got its count after that, and each worker "
            "was restarted once more; what Kafka does against 618.51 and 618.52 is left out of this",
        ),
    ),
    scenarios=(
        Scenario(
            "618.33",
            "a worker runs a task with a plain producer, which a new set does not stop",
            "one-worker-without-support",
            "mass-upgrade",
            played=True,
        ),
        Scenario(
            "follower-writes-a-set",
            "a set written between a round and its count: the count is of another set, and too small",
            "foreign-set",
            "two-rolling-upgrades",
            played=True,
        ),
        Scenario(
            "618.34",
            "a count that was not fenced for",
            "foreign-count",
            "two-rolling-upgrades",
            played=True,
        ),
        Scenario(
            "618.35",
            "a leader that is preparing goes by a count whose transaction was aborted, and which the others never read",
            "two-rolling-upgrades-as-shipped",
            "two-rolling-upgrades-read-committed",
        ),
        Scenario(
            "rolling-upgrade-in-one",
            "a leader of the old version, deposed and unaware, writes a set between a round and its count",
            "one-rolling-upgrade",
            "two-rolling-upgrades",
        ),
        Scenario(
            "no-preparing-leaders",
            "a leader without the feature, deposed and unaware, writes a set between a round and its count",
            "plain-leaders-before",
            "two-rolling-upgrades",
        ),
        Scenario(
            "endpoint-missing",
            "a Connector asks a leader that does not know the question, and fails",
            "endpoint-with-the-feature",
            "two-rolling-upgrades",
        ),
    ),
)
