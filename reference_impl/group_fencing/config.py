"""The configuration of one cluster with its consumer group and its applications: keys, defaults, ranges and reasons."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from fencepost.reference_impl.group_fencing.variants import VARIANTS
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Natural, OneOf, Positive, split
from fencepost.reference_impl.transactions.config import MODES as TRANSACTION_MODES
from fencepost.reference_impl.transactions.config import Config as TransactionsConfig

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
    offsets_inside: bool = True  # False: offsets are committed beside the transaction (447.18)
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
        """As any; its mode may be the name of a variant."""
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
        """Whether the transaction coordinator fences by group."""
        return self.mode in (DRAFT, REPAIRED)

    @property
    def fences_by_assignment(self) -> bool:
        """Whether it fences whom it remembers, and not only ongoing transactions."""
        return self.mode == REPAIRED and self.repair == "assignment"

    @property
    def fences_by_generation(self) -> bool:
        """Whether the draft's group coordinator holds commits against the group as it is."""
        return self.mode == REPAIRED and self.repair == "generation"

    @property
    def is_new_protocol(self) -> bool:
        """Whether members are clients of KIP-848."""
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
