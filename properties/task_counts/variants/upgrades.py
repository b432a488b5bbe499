"""Upgrades and mixed clusters in the catalogue: where the guarantee begins, and what happens to those who claim it
elsewhere."""

from collections.abc import Mapping

from fencepost.model.releases import ENABLED, MISTAKE, TEXT, Kafka, Of
from fencepost.properties.entries import Claim, Names, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.task_counts.claims.upgrades import (
    AfterwardsProperties,
    ClaimedEarlyProperties,
    CountedOnlyProperties,
    MassUpgradeProperties,
    RestartedOnlyProperties,
    StrangersProperties,
    UpgradesInStepsProperties,
    UpgradesProperties,
    UpgradesWithAbortsProperties,
)
from fencepost.properties.task_counts.variants.releases import SHIPPED, UPGRADING

Bounds = Mapping[Profile, Mapping[str, int]]

_TWO_SETS = dict(workers=2, tasks=2, sets=2)
_THREE_SETS = dict(_TWO_SETS, sets=3)
_BOUNDS: Bounds = {
    "smoke": _THREE_SETS,
    "ci": dict(_THREE_SETS, sets=4),
    "nightly": dict(_TWO_SETS, workers=3),
}
_ONE_TASK = dict(_THREE_SETS, tasks=1)
_NOT_BOUNDED: Mapping[Profile, int] = {"smoke": 0, "ci": 0, "nightly": 0}
_DEPTH: Mapping[Profile, int] = {"smoke": 0, "ci": 6, "nightly": 8}
_UNCHECKED: Mapping[Profile, int] = {"smoke": 0, "ci": 6, "nightly": 8}
_STRANGERS = dict(without_support=0, foreign_sets=0, foreign_counts=0, shared_ids=0)
_WITNESSES = Names(lambda: (n for n, p in UpgradesProperties.properties.items() if p.role == "witness"))
_ZOMBIES = {"no_zombie": "violated", "covered": "violated"}
BY_OTHERS = Kafka(settings=ENABLED | {"config topic": "written by others too"})
_IN_VAIN = {"nobody_asks_in_vain": "violated"}


def _rolling(then: str) -> Kafka:
    """Every release, in a cluster that got there by two rolling upgrades and what came then."""
    return Kafka(settings=ENABLED | {"workers were upgraded": then}, lacks=SHIPPED.lacks)


def _strange(
    name: str, says: str, rule: str, bounds: Mapping[str, int], expected: Mapping[str, str] = _ZOMBIES,
    asks: tuple[str, ...] = (), *, of: Of,
) -> Variant:  # fmt: skip
    """The guarantee of a cluster in which one thing is not as it has to be."""
    return Variant(
        name, StrangersProperties, says, rule, None, expected, {"smoke": {**_STRANGERS, **bounds}},
        Names(lambda: (*_WITNESSES, "nobody_asks_in_vain")), depth=_UNCHECKED, asks=asks, of=of,
    )  # fmt: skip


def _hasty(
    name: str, says: str, rule: str, alternative: str, expected: Mapping[str, str], asks: tuple[str, ...] = (),
    of: Of = MISTAKE, **bounds: int,
) -> Variant:  # fmt: skip
    """An upgrade by another road than the one that is safe."""
    return Variant(
        name, UpgradesProperties, says, rule, (rule, alternative), expected, {"smoke": _TWO_SETS | bounds}, _WITNESSES,
        depth=_UNCHECKED, asks=asks, of=of,
    )  # fmt: skip


def _early(name: str, properties: type[UpgradesWithAbortsProperties], says: str, then: str) -> Variant:
    """The guarantee as Kafka has it, claimed too early."""
    return Variant(
        name, properties, says, "618.35", None, _ZOMBIES, {"smoke": _TWO_SETS}, depth=_UNCHECKED, of=_rolling(then),
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
            bounds=_BOUNDS,
            depth=_DEPTH,
            of=TEXT,
        ),
        Variant(
            "two-rolling-upgrades-in-steps",
            UpgradesInStepsProperties,
            "the same, where a round fences id by id, a task starts in several steps, and all else goes on meanwhile",
            bounds={"smoke": _ONE_TASK, "ci": _TWO_SETS},
            depth=_NOT_BOUNDED,
            judged=(),
            of=TEXT,
        ),
        Variant(
            "two-rolling-upgrades-read-committed",
            UpgradesWithAbortsProperties,
            "the same, where writes to the config topic are aborted, and every worker reads it in read_committed",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            depth=_NOT_BOUNDED,
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
            depth=_UNCHECKED,
            asks=("nobody_asks_in_vain",),
            of=_rolling("two rolling upgrades"),
        ),
        Variant(
            "upgraded-counted-restarted",
            AfterwardsProperties,
            "Kafka: the guarantee from later on: a set got its count when all had the feature on, and each worker was "
            "restarted once more after that",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            depth=_NOT_BOUNDED,
            judged=(),
            of=_rolling("two rolling upgrades, then a new set, then a restart of each worker"),
        ),
        _early(
            "upgraded-restarted",
            RestartedOnlyProperties,
            "Kafka: the guarantee claimed after each worker was restarted once more, without a new set",
            "two rolling upgrades, then a restart of each worker",
        ),
        _early(
            "upgraded-counted",
            CountedOnlyProperties,
            "Kafka: the guarantee claimed after a set got its count, without another restart",
            "two rolling upgrades, then a new set",
        ),
        Variant(
            "mass-upgrade",
            MassUpgradeProperties,
            "all workers are stopped, upgraded, and started again with the feature on",
            bounds={"smoke": _TWO_SETS, "ci": _THREE_SETS},
            # Nobody can ask in vain: all workers know the question from the same moment on.
            leaves_out=("nobody_asks_in_vain", "asked_before_all_are_enabled"),
            proof=False,
            depth=_UNCHECKED,
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
            ClaimedEarlyProperties,
            "the guarantee claimed before the last worker has finished the second upgrade",
            "618.35",
            None,
            _ZOMBIES,
            {"smoke": _TWO_SETS},
            _WITNESSES,
            depth=_UNCHECKED,
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
            "a follower, or somebody else, writes one set of task configurations",
            "618.34",
            dict(_THREE_SETS, foreign_sets=1),
            of=BY_OTHERS,
        ),
        _strange(
            "foreign-count",
            "somebody else writes one count",
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
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
        ),
        Scenario(
            "follower-writes-a-set",
            "a set written between a round and its count: the count is of another set, and too small",
            "foreign-set",
            "two-rolling-upgrades",
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
        ),
        Scenario(
            "618.34",
            "a count that nobody has fenced for",
            "foreign-count",
            "two-rolling-upgrades",
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
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
