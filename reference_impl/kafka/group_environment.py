"""This module has what a group and its brokers share: variants, configuration, events, and contents of records."""

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

# The keys of a configuration whose `mode` is the name of a variant.
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
    """A `Config` is the configuration of one cluster. Times are virtual milliseconds, and the defaults are Kafka's."""

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
    old: Natural = 0  # the number of old instances, which have a producer per input partition and no metadata
    old_brokers: bool = False  # brokers from before KIP-447
    group_aware: bool = True  # consumer.group.aware.transaction: False: a producer per input partition (447.11)
    commit_version: Annotated[int, AtLeast(3), AtMost(6, "TxnOffsetCommit has versions to 6")] = 6  # of those not old
    # Below
    transaction_timeout_ms: Positive = 60_000
    request_timeout_ms: Positive = 30_000
    timeout_check_ms: Positive = 10_000

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """Read the configuration, whose mode may also be the name of a variant."""
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
        return slot % self.identities if self.identities else slot

    @property
    def is_draft(self) -> bool:
        """Return whether the transaction coordinator fences by group."""
        return self.mode in (DRAFT, REPAIRED)

    @property
    def fences_by_assignment(self) -> bool:
        """Return whether the draft fences every producer that it remembers, and not only ongoing transactions."""
        return self.mode == REPAIRED and self.repair == "assignment"

    @property
    def fences_by_generation(self) -> bool:
        """Return whether the draft's group coordinator checks commits against the group's generation."""
        return self.mode == REPAIRED and self.repair == "generation"

    @property
    def is_new_protocol(self) -> bool:
        return self.mode in (NEW, RELAXED)

    @property
    def below(self) -> TransactionsConfig:
        """Return the configuration of the brokers and clients of transactions, with one group, whose offsets partition
        follows the output partitions."""
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
    """A `Kind` is a kind of event, whose plain number is its code in column `kind`."""

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
    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = GroupEventLog.kind_names
readable = GroupEventLog.readable


# The environment of one cluster: that of the transactions below, with what records carry, and events of its own.


class Place(NamedTuple):
    """A `Place` is a place in the input. An output record carries that of its input record, and a committed offset that
    of the next record to read."""

    partition: int
    offset: int


def consumer_name(slot: int) -> str:
    """Return the address of the consumer whose instance has a slot at the moment a message is delivered."""
    return f"consumer-{slot}"


def producer_name(number: int) -> str:
    """Return the address of a producer. The producer of a slot has the slot's number, and producers per input partition
    are numbered after those."""
    return f"producer-{number}"


class Environment(environment.Environment):
    """An `Environment` is shared by one cluster. ``contents`` has what each record carries, and ``writing`` what the
    records numbered next will carry. ``report`` writes an event. ``assignments`` has by member the answer that named
    its partitions."""

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
        return self.options.outputs

    def output_partition(self, output: int) -> int:
        return output

    def input_end(self, partition: int) -> int:
        """Return the offset after the last record of the input that a consumer can read now."""
        return self.options.records

    def input_place(self, partition: int, offset: int) -> Place:
        return Place(partition, offset)

    @property
    def group_address(self) -> str:
        return partition_name(self.offsets_partition)

    @property
    def upcoming_record(self) -> int:
        return self._given.get("record", 0)

    def next_record(self) -> int:
        number = super().next_record()
        self.contents[number] = self.writing.popleft()
        return number
