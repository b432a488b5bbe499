"""The configuration of one cluster with its clients: keys, defaults, ranges and reasons."""

from dataclasses import dataclass
from typing import Annotated

from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Natural, OneOf, Positive

EPOCH_MAX = 32767  # the largest int16: reserved, so that the largest epoch in use can always be fenced (txn.4)

MODES = ("v1", "v1-verified", "v2")
RELEASES = ("4.0", "4.3", "trunk")


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """One cluster. Times are virtual milliseconds; the defaults are Kafka's."""

    seed: int = 0
    mode: Annotated[str, OneOf(*MODES)] = "v2"  # v1-verified: KIP-890 part 1; v2: KIP-890 part 2
    clients: Positive = 2  # producer slots
    ids: Positive = 1  # transactional ids: slot s of a driven cluster has the id s % ids
    partitions: Positive = 2
    groups: Natural = 0  # consumer groups; their offsets partitions are numbered behind the data partitions
    keys: Positive = 1  # partitions of a group's input: a commit of a driven cluster's producer has an offset for each
    transaction_timeout_ms: Positive = 60_000  # what producers ask for
    max_transaction_timeout_ms: Positive = 900_000  # transaction.max.timeout.ms
    # The epoch that is never handed out; a small one is reached by short histories.
    max_epoch: Annotated[int, AtLeast(1), AtMost(EPOCH_MAX, "epochs are int16")] = EPOCH_MAX
    request_timeout_ms: Positive = 30_000  # of clients, of markers, of a leader's question to the coordinator
    timeout_check_ms: Positive = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    expiration_ms: Positive = 7 * 24 * 3600 * 1000  # transactional.id.expiration.ms
    expiration_check_ms: Positive = 3600 * 1000  # transaction.remove.expired.transaction.cleanup.interval.ms
    # 4.3: as measured on Kafka 4.3.1, where what is written here is older, or stricter (KAFKA.md); trunk: and with
    # KAFKA-20357, which is merged and in no release yet (read, not measured)
    release: Annotated[str, OneOf(*RELEASES)] = "4.0"
    # A new leader knows the last five batches (replica), or the last one (restart).
    leader_change: Annotated[str, OneOf("replica", "restart")] = "replica"
    unclean_elections: bool = False  # unclean.leader.election.enable

    @property
    def asks_coordinator(self) -> bool:
        """Whether a partition's leader asks the coordinator before the first append of a transaction (txn.15)."""
        return self.mode != "v1"

    @property
    def is_recent(self) -> bool:
        """Whether brokers do what was measured on Kafka 4.3.1, also where that is newer, or laxer."""
        return self.release != "4.0"

    @property
    def records_last_epoch(self) -> bool:
        """Whether the transaction log has the epoch before the last bump (KAFKA-20357), in records that have tags."""
        return self.release == "trunk" and self.mode != "v1"

    @property
    def is_v2(self) -> bool:
        """Whether every EndTxn bumps the epoch, and the leader adds the partition for the client (txn.9)."""
        return self.mode == "v2"

    @property
    def all_partitions(self) -> int:
        """Data partitions and offsets partitions together."""
        return self.partitions + self.groups
