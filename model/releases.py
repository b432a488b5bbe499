"""This module has the releases of Kafka that verdicts are about, each with the settings that matter here and their
defaults.

A variant of a protocol declares to which releases it belongs (`Kafka`), with the settings that it needs there, or that
it belongs to none (`NoRelease`), as what a text describes, a mistake, or an abstraction. Nothing else about releases is
written by hand: which promises a release fulfils is computed from the verdicts on its variants.

A setting is a choice of an operator or of the author of an application: a configuration of a broker, worker or client,
a feature of the cluster, or how the application and its network behave. Some promises are made only where a protocol is
switched on (`Setting.switched_on`); a column of a release is then about the release with that protocol switched on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

NAMES = ("3.6", "3.9", "4.0.0", "4.0.1", "4.1", "4.2", "4.3", "4.4.0", "trunk")
"""``NAMES`` lists the releases in order. Without a third number a name stands for all its bug-fix releases, unless one
of them is named."""

TRUNK = "apache/kafka d79bd502ec of 22 August 2026, with KAFKA-20357, which was merged after it"
"""``TRUNK`` is the revision that the name trunk stands for."""


@dataclass(frozen=True)
class Setting:
    """A `Setting` has the ``default`` of the first release, and in ``later`` other defaults from a release on.
    ``values`` has each possible value, with the first and the last release that know it. ``switched_on`` names sources
    (the part of a rule's number before the point) whose promises are made where the setting has the given value."""

    name: str
    says: str
    source: str
    default: str
    values: Mapping[str, tuple[str, str]]
    later: Mapping[str, str] = field(default_factory=dict)
    switched_on: Mapping[str, str] = field(default_factory=dict)

    def of(self, release: str) -> str:
        """Return the setting's default in a release."""
        place = NAMES.index(release)
        return [self.default, *(value for since, value in self.later.items() if NAMES.index(since) <= place)][-1]

    def knows(self, release: str, value: str) -> bool:
        since, until = self.values[value]
        return NAMES.index(since) <= NAMES.index(release) <= NAMES.index(until)


EVER = (NAMES[0], NAMES[-1])

_ALL = (
    Setting(
        "transaction.version", "what a producer and its cluster speak: 2 ends each transaction with a new epoch; 1 "
        "stands for 0, 1, and clients of before 4.0 on any cluster; `changing`: while the feature changes",
        "TransactionVersion.java: TV_2 needs metadata.version 4.0-IV2, LATEST_PRODUCTION = TV_2; KIP-890, KIP-1022",
        "1", {"1": EVER, "2": ("4.0.0", "trunk"), "changing": ("4.0.0", "trunk")}, {"4.0.0": "2"},
    ),
    Setting(
        "transaction.partition.verification.enable", "a leader asks the coordinator before a transaction begins in its "
        "partition",
        "TransactionLogConfig.java: TRANSACTION_PARTITION_VERIFICATION_ENABLE_DEFAULT = true; KIP-890, since 3.6",
        "true", {"true": EVER, "false": EVER},
    ),
    Setting(
        "transactional.id", "whether the producer uses transactions; `none`: it is idempotent alone",
        "the promises txn.* are of transactions; ProducerConfig.java: enable.idempotence is true since 3.0", "set",
        {"set": EVER, "none": EVER},
    ),
    Setting(
        "max.in.flight.requests.per.connection", "of an idempotent producer: at most 5",
        "ProducerConfig.java: 5; more is refused with idempotence", "5", {"5": EVER, "1": EVER},
    ),
    Setting(
        "unclean.leader.election.enable", "a replica that lacks what was acknowledged may lead",
        "LogConfig.java: DEFAULT_UNCLEAN_LEADER_ELECTION_ENABLE = false", "false", {"false": EVER, "true": EVER},
    ),
    Setting(
        "transaction.two.phase.commit.enable", "transactions without time-out, for an outer coordinator",
        "KIP-939: false; the coordinator's half since 4.1 (TransactionCoordinator.handleInitProducerId)", "false",
        {"false": EVER, "true": ("4.1", "trunk")},
    ),
    Setting(
        "transaction log", "which release has written what a coordinator loads",
        "TransactionLogValue.json: NextProducerId is written since 4.3 (KAFKA-20310)", "of this release",
        {"of this release": EVER, "of 4.2 or before": ("4.3", "trunk")},
    ),
    Setting(
        "network", "`prompt`: nothing arrives when what it belongs to is over; deposed coordinators may still answer",
        "NetworkClient.java: what was sent on a connection that died may arrive yet", "any",
        {"any": EVER, "prompt": EVER},
    ),
    Setting(
        "metadata", "where a cluster keeps its metadata; `migrating`: while it moves from ZooKeeper to KRaft",
        "KafkaConfig: process.roles is empty until 3.9; 4.0 has KRaft alone (KIP-500); migration: KIP-866", "ZooKeeper",
        {"ZooKeeper": ("3.6", "3.9"), "migrating": ("3.6", "3.9"), "KRaft": EVER}, {"4.0.0": "KRaft"},
    ),
    Setting(
        "group.protocol", "of a consumer: `consumer` is that of KIP-848",
        "ConsumerConfig.java: DEFAULT_GROUP_PROTOCOL = CLASSIC; `consumer` is for production since 4.0", "classic",
        {"classic": EVER, "consumer": ("4.0.0", "trunk")},
    ),
    Setting(
        "groupMetadata()", "when the application reads the metadata that it sends with its offsets, and whether it "
        "has a rebalance listener",
        "KafkaProducer.java, sendOffsetsToTransaction: consumer.groupMetadata() as its argument, without a listener",
        "at the send", {"at the send": EVER, "at the send, with a listener": EVER, "at the poll": EVER},
    ),
    Setting(
        "subscription", "`changes`: an application subscribes to another pattern within a transaction, and polls",
        "KafkaConsumer.java: subscribe(pattern) may be called at any time", "fixed", {"fixed": EVER, "changes": EVER},
    ),
    Setting(
        "clients of the group", "`name no member`: some of them send offsets with the group's id alone",
        "KIP-447; TransactionManager.java sends generation and member since 2.5", "name their member",
        {"name their member": EVER, "name no member": EVER},
    ),
    Setting(
        "group.consumer.assignment.interval.ms", "how long a group is not assigned anew; before 4.3 there was no wait",
        "GroupCoordinatorConfig.java: CONSUMER_GROUP_ASSIGNMENT_INTERVAL_MS_DEFAULT = 1000, since 4.3.0", "0",
        {"0": EVER, "1000": ("4.3", "trunk")}, {"4.3": "1000"},
    ),
    Setting(
        "exactly.once.source.support", "of every worker; `mixed`: one has it not on; `upgrading`: while it is being "
        "switched on",
        "DistributedConfig.java: EXACTLY_ONCE_SOURCE_SUPPORT_DEFAULT = disabled; KIP-618", "disabled",
        {"disabled": EVER, "enabled": EVER, "mixed": EVER, "upgrading": EVER}, switched_on={"618": "enabled"},
    ),
    Setting(
        "workers were upgraded", "how the feature came to be on at every worker: all were stopped, or two rolling "
        "upgrades, and what came after the last restart",
        "KIP-618, upgrades; KafkaConfigBackingStore.java: workers that are preparing read what is not committed",
        "all at once",
        {
            "all at once": EVER, "two rolling upgrades": EVER,
            "two rolling upgrades, then a new set": EVER,
            "two rolling upgrades, then a restart of each worker": EVER,
            "two rolling upgrades, then a new set, then a restart of each worker": EVER,
        },
    ),
    Setting(
        "offsets.storage.topic of the connector", "whether a source connector has an offsets topic of its own, beside "
        "the worker's: never, since it was created, later, or for a while",
        "SourceConnectorConfig.java: OFFSETS_TOPIC_CONFIG, empty: the worker's is used", "none",
        {"none": EVER, "from the start": EVER, "later": EVER, "for a while": EVER},
    ),
    Setting(
        "errors.tolerance", "whether a source task goes on when a record fails", "ConnectorConfig.java: none", "none",
        {"none": EVER, "all": EVER},
    ),
    Setting(
        "failed tasks", "whether a user restarts a task that failed", "618.P4: given that they are restarted",
        "restarted", {"restarted": EVER, "left": EVER},
    ),
    Setting(
        "connect.protocol", "how workers rebalance: `eager`, or incrementally, with signed requests",
        "DistributedConfig.java: CONNECT_PROTOCOL_DEFAULT = sessioned (KIP-415, KIP-507)", "sessioned",
        {"sessioned": EVER, "compatible": EVER, "eager": EVER},
    ),
    Setting(
        "config topic", "who can write to it",
        "KIP-618, limitations: its ACLs are the operator's", "written by workers",
        {"written by workers": EVER, "written by others too": EVER},
    ),
    Setting(
        "internal.topics.automatic.creation.enable", "workers create their topics, and a connector's own offsets topic",
        "KIP-1209 (KAFKA-20430), since 4.4.0: true; before, they always do", "true",
        {"true": EVER, "false": ("4.4.0", "trunk")},
    ),
)  # fmt: skip

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}


@dataclass(frozen=True)
class Kafka:
    """A `Kafka` names the releases from ``since`` to ``until``, both included, to which a variant belongs. ``settings``
    restricts them, by name in `SETTINGS`, to the given value or values; a setting that is not named may have any value.

    ``lacks`` states what the release does and this variant does not, so that what holds of the variant does not count
    for the release; what fails in the variant fails in the release too.
    """

    since: str = NAMES[0]
    until: str = NAMES[-1]
    settings: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    lacks: str = ""

    def __post_init__(self) -> None:
        for name, wanted in self.settings.items():
            for value in _values(wanted):
                if name not in SETTINGS or value not in SETTINGS[name].values:
                    raise ValueError(f"there is no setting {name} = {value}: add it to SETTINGS, with its source")
        if not self.releases:
            raise ValueError(f"no release is from {self.since} to {self.until}; they are {', '.join(NAMES)}")

    @property
    def releases(self) -> tuple[str, ...]:
        return NAMES[NAMES.index(self.since) : NAMES.index(self.until) + 1]

    def has(self, release: str, settings: Mapping[str, str]) -> bool:
        """Return whether the variant belongs to a release with these settings."""
        return release in self.releases and all(
            settings.get(name) in _values(wanted) for name, wanted in self.settings.items()
        )

    def needs(self, release: str, usual: Mapping[str, str]) -> dict[str, str]:
        """Return the settings that must differ from the usual ones for the variant to belong to a release, each with
        the first wanted value that the release knows."""
        found = {}
        for name, wanted in self.settings.items():
            if usual[name] not in _values(wanted):
                found[name] = next((v for v in _values(wanted) if SETTINGS[name].knows(release, v)), "")
        return found

    def __str__(self) -> str:
        """Return the releases in words, then the settings that are not the default of each of them."""
        first, last = self.releases[0], self.releases[-1]
        ever = "every release" if (first, last) == EVER else f"Kafka {first}" + (f" to {last}" if last != first else "")
        changed = {
            name: values
            for name, values in ((name, _values(wanted)) for name, wanted in self.settings.items())
            if any(SETTINGS[name].of(release) not in values for release in self.releases)
        }
        return ever + "".join(f", {name} {' or '.join(values)}" for name, values in changed.items())


def _values(wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


@dataclass(frozen=True)
class NoRelease:
    """A `NoRelease` has a ``kind``: a text that did not ship so, a mistake, or an abstraction that others refine."""

    kind: Literal["text", "mistake", "abstraction"]

    def __str__(self) -> str:
        return {"text": "as a text has it", "mistake": "a mistake", "abstraction": "an abstraction"}[self.kind]


Of = Kafka | tuple[Kafka, ...] | NoRelease
"""A value of type ``Of`` names the releases to which a variant belongs, and is a tuple where the settings differ."""

TEXT, MISTAKE, ABSTRACTION = NoRelease("text"), NoRelease("mistake"), NoRelease("abstraction")


def each_of(of: Of | None) -> Iterator[Kafka]:
    """Yield the releases to which a variant belongs, and nothing if it belongs to no release."""
    if isinstance(of, Kafka):
        yield of
    elif isinstance(of, tuple):
        yield from of


@cache
def defaults(release: str, area: str = "") -> Mapping[str, str]:
    """Return a release's settings under which the promises of one source are made: as by default or as switched on."""
    return {name: setting.switched_on.get(area) or setting.of(release) for name, setting in SETTINGS.items()}


TRANSACTIONAL = {"transactional.id": "set"}
V1 = {"transaction.version": "1", **TRANSACTIONAL}
V2 = {"transaction.version": "2", **TRANSACTIONAL}
VERIFIED = V1 | {"transaction.partition.verification.enable": "true"}
UNVERIFIED = V1 | {"transaction.partition.verification.enable": "false"}
ANY_NETWORK, PROMPT = {"network": "any"}, {"network": "prompt"}
NOT_TRANSACTIONAL = {"transactional.id": "none"}
UNCLEAN = {"unclean.leader.election.enable": "true"}
CLASSIC = {"group.protocol": "classic"}
CONSUMER = {"group.protocol": "consumer"}
AT_THE_POLL = CONSUMER | {"groupMetadata()": "at the poll"}
AT_THE_SEND = CONSUMER | {"groupMetadata()": "at the send"}
LISTENING = CONSUMER | {"groupMetadata()": "at the send, with a listener"}
AT_ONCE = {"group.consumer.assignment.interval.ms": "0"}
DISABLED = {"exactly.once.source.support": "disabled"}
ENABLED = {"exactly.once.source.support": "enabled"}
"""Several variants need these settings."""
