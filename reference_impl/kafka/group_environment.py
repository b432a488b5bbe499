"""What all members of a group and its brokers share: variants, configuration, events, and what records carry."""

from collections import deque, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Self

from fencepost.reference_impl.kafka import environment
from fencepost.reference_impl.kafka.environment import MODES as TRANSACTION_MODES
from fencepost.reference_impl.kafka.environment import Config as TransactionsConfig
from fencepost.reference_impl.kafka.environment import DrivenPace, SeededPace, TransactionEventLog, partition_name
from fencepost.reference_impl.simulation import EventLog, Kernel, Network
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Natural, OneOf, Positive, split
from fencepost.reference_impl.simulation.environment import numbered

# What a configuration consists of whose `mode` is the name of a variant.
#
# A repaired draft fences by one of two means; what an application leaves out makes a variant of what shipped.

AT_SEND = {"listener": False, "metadata_at": "send"}

VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "draft-repaired-by-generation": {"mode": "draft-repaired", "repair": "generation", "static": False},
    "draft-repaired-by-assignment": {"mode": "draft-repaired", "repair": "assignment"},
    "draft-static-members": {
        "mode": "draft-repaired", "repair": "generation", "static": True, "stable_ids": False, "identities": 2,
    },
    "group-id-only": {"mode": "shipped", "metadata": False},
    "new-protocol-metadata-at-send": {"mode": "new-protocol", **AT_SEND},
    "new-protocol-relaxed-metadata-at-send": {"mode": "new-protocol-relaxed", **AT_SEND},
})  # fmt: skip


# The configuration of one cluster with its consumer group and its applications: keys, defaults, ranges and reasons.

SHIPPED, NEW, RELAXED = "shipped", "new-protocol", "new-protocol-relaxed"
DRAFT, REPAIRED = "draft", "draft-repaired"
MODES = (DRAFT, REPAIRED, SHIPPED, NEW, RELAXED)


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """One cluster. Times are virtual milliseconds; the defaults are Kafka's."""

    seed: int = 0
    # shipped: classic groups (KIP-447 as released); new-protocol: KIP-848 up to 4.2; new-protocol-relaxed: with
    # KIP-1251 (4.3); draft: the early text of KIP-447; draft-repaired: with what it lacks
    mode: Annotated[str, OneOf(*MODES)] = SHIPPED
    transactions: Annotated[str, OneOf(*TRANSACTION_MODES)] = "v2"  # of the protocol below (KIP-890)
    members: Positive = 2  # instances of the application
    inputs: Positive = 2  # partitions of the input topic
    records: Natural = 6  # in each of them, there from the beginning
    outputs: Positive = 1  # partitions of the output topic
    # Of the repaired draft: who is fenced. assignment: whom the transaction coordinator remembers with a partition;
    # generation: who commits in any but the group's current one
    repair: Annotated[str, OneOf("assignment", "generation")] = "assignment"
    # The group
    session_timeout_ms: Positive = 45_000
    heartbeat_ms: Positive = 3_000
    max_poll_ms: Positive = 300_000  # max.poll.interval.ms, which is the rebalance time-out as well
    initial_delay_ms: Natural = 3_000  # group.initial.rebalance.delay.ms
    # group.consumer.assignment.interval.ms: so long a group of the new protocol keeps an assignment at least. It is new
    # in 4.3, where 1,000 is the default; with 0 each change of the group is followed by an assignment, as before
    assignment_interval_ms: Natural = 0
    static: bool = False  # whether instances have a group.instance.id
    # The application
    max_poll_records: Positive = 2
    fetch_records: Positive = 100  # of a partition in a fetch (max.partition.fetch.bytes); then another's turn
    metadata_at: Annotated[str, OneOf("poll", "send")] = "send"  # when the loop asks groupMetadata()
    metadata: bool = True  # False: sendOffsetsToTransaction() names the group only (B38)
    listener: bool = True  # whether it subscribes with a rebalance listener (447.21)
    offsets_inside: bool = True  # False: offsets are committed outside the transaction (447.18)
    # Slot s has the transactional id (and, if static, the instance id) s % identities; 0: each has its own
    identities: Natural = 0
    stable_ids: bool = True  # False: each instance has a transactional id that no other one has had
    old: Natural = 0  # so many instances, the first ones, are from before: a producer per input partition, no metadata
    old_brokers: bool = False  # brokers from before: they know none of this
    group_aware: bool = True  # consumer.group.aware.transaction: False: a producer per input partition (447.11)
    commit_version: Annotated[int, AtLeast(3), AtMost(6, "TxnOffsetCommit has versions to 6")] = 6  # of those not old
    # Below
    transaction_timeout_ms: Positive = 60_000
    request_timeout_ms: Positive = 30_000
    timeout_check_ms: Positive = 10_000

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Read the config as any; its mode may be the name of a variant."""
        return cls(**split({**config, **VARIANTS.get(config.get("mode", ""), {})}, cls)[0])

    def relate(self) -> None:
        if self.old > self.members:
            raise ValueError(f"config old={self.old}: there are only members={self.members} instances")
        if self.heartbeat_ms >= self.session_timeout_ms:  # Heartbeat.java, GroupCoordinatorConfig.java
            raise ValueError(
                f"config heartbeat_ms={self.heartbeat_ms}: as in Kafka, members are to be heard of more often than "
                f"session_timeout_ms={self.session_timeout_ms}; lower it"
            )

    def identity_of(self, slot: int) -> int:
        """Whom an instance in this slot takes itself for."""
        return slot % self.identities if self.identities else slot

    @property
    def is_draft(self) -> bool:
        """Return whether the transaction coordinator fences by group."""
        return self.mode in (DRAFT, REPAIRED)

    @property
    def fences_by_assignment(self) -> bool:
        """Return whether it fences whom it remembers, and not only ongoing transactions."""
        return self.mode == REPAIRED and self.repair == "assignment"

    @property
    def fences_by_generation(self) -> bool:
        """Return whether the draft's group coordinator holds commits against the group as it is."""
        return self.mode == REPAIRED and self.repair == "generation"

    @property
    def is_new_protocol(self) -> bool:
        """Return whether members are clients of KIP-848."""
        return self.mode in (NEW, RELAXED)

    @property
    def below(self) -> TransactionsConfig:
        """The configuration of the transactions' brokers and clients: one group, whose offsets partition is numbered
        behind the output partitions."""
        return TransactionsConfig(
            seed=self.seed, mode=self.transactions, clients=self.members, ids=self.members, partitions=self.outputs,
            groups=1, keys=self.inputs, transaction_timeout_ms=self.transaction_timeout_ms,
            request_timeout_ms=self.request_timeout_ms, timeout_check_ms=self.timeout_check_ms, release="4.3",
        )  # fmt: skip


# The events of a history of a consumer group that copies its input: one row of integers each, in the order in which
# things happened.
#
# All but the coordinator's are what a client or an auditor sees. -1 stands in a column that does not apply, and 0 in
# `error`. `partition` and `offset` are of the input, `output` and `position` of the output; `generation` is a classic
# group's generation, or a member epoch; `client` is the number of an instance of the application, or of an auditor,
# each of which reads every output record once.


class Kind:
    """Kinds of event; the number is the code in column `kind`. Plain integers, because rows hold nothing else."""

    # Instances of the application
    INSTANCE_STARTED, INSTANCE_STOPPED, INSTANCE_FAILED, PAUSED, RESUMED = range(1, 6)
    # Their consumers
    JOINED, ASSIGNED, REVOKED, LOST, OFFSET_FETCHED, CONSUMED, LEFT = range(10, 17)
    # Their producers
    INIT_TOLD, TXN_BEGUN, OUTPUT_SENT, OFFSET_SENT, END_SENT, END_TOLD, OFFSET_PUT = range(20, 27)
    # The group's coordinator
    GENERATION_BEGUN, MEMBER_REMOVED, OFFSET_TAKEN, OFFSET_REFUSED, FETCH_HELD, COORDINATOR_LOADED = range(40, 46)
    OFFSET_SETTLED, FETCH_ANSWERED, EPOCH_GIVEN, PARTITION_GIVEN = range(46, 50)
    # The transaction coordinator, where it knows of groups
    PRODUCER_FENCED, INIT_REFUSED = range(50, 52)
    # An auditor, who reads the output as far as it is committed, and the group's offsets
    OUTPUT_READ, AUDITED = range(60, 62)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind slot client member generation instance partition offset output position txn producer_id epoch "
    "outcome error",
)  # fmt: skip


class GroupEventLog(EventLog, kinds=Kind, event=Event):
    """The log of one history of a consumer group."""

    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = GroupEventLog.kind_names
readable = GroupEventLog.readable


# The environment of one cluster: that of the transactions below, with what records carry, and events of its own.


class Place(NamedTuple):
    """A place in the input. An output record carries that of the input record it is a copy of, a committed offset that
    of the next record to read."""

    partition: int
    offset: int


def consumer_name(slot: int) -> str:
    """The address of the consumer of the instance that holds a slot at the moment a message is delivered."""
    return f"consumer-{slot}"


def producer_name(number: int) -> str:
    """The address of a producer: that of a slot's instance has the slot's number; those that an instance has for each
    partition of the input are numbered behind."""
    return f"producer-{number}"


class Environment(environment.Environment):
    """One per cluster. `contents` has what each record of the transactions below carries; `writing`, what the records
    numbered next will; `report` writes an event; `assignments` has, by member, the answer that named its partitions."""

    __slots__ = ("assignments", "contents", "hidden", "old", "options", "parts", "report", "writing")

    log_type = GroupEventLog
    next_instance = numbered("instance")  # instances of the application, also after a restart
    next_member = numbered("member")  # member ids, made by broker or client: Kafka's are UUIDs

    def __init__(
        self, options: Config, kernel: Kernel, network: Network, pace: DrivenPace | SeededPace, parts: Any
    ) -> None:
        super().__init__(options.below, kernel, network, pace)
        self.options = options
        self.parts = parts
        self.report = self.log.emit
        self.emit = TransactionEventLog.unheard  # which are another history's
        self.old = set(range(options.old))  # slots whose instances are from before KIP-447
        self.hidden = False  # whether the brokers' metadata do not have the input topic (yet)
        self.assignments: dict[int, object] = {}
        self.contents: dict[int, Place] = {}
        self.writing: deque[Place] = deque()

    @property
    def offsets_partition(self) -> int:
        """The number of the group's offsets partition."""
        return self.options.outputs

    def output_partition(self, output: int) -> int:
        """The number of an output partition, among all partitions of the cluster."""
        return output

    def input_end(self, partition: int) -> int:
        """The offset behind the last record of the input that a consumer can read now."""
        return self.options.records

    def input_place(self, partition: int, offset: int) -> Place:
        """The input record there, as a consumer gets it."""
        return Place(partition, offset)

    @property
    def group_address(self) -> str:
        """The address of the group's coordinator, which leads that partition."""
        return partition_name(self.offsets_partition)

    @property
    def upcoming_record(self) -> int:
        """The number that the next record will have."""
        return self._given.get("record", 0)

    def next_record(self) -> int:
        number = super().next_record()
        self.contents[number] = self.writing.popleft()
        return number
