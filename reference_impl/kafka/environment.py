"""This module has what one cluster shares: configuration, the events of transactions, clock, network and numbers."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.reference_impl.simulation import EventLog, FaultMix, Kernel, Network, Node, environment
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, Natural, OneOf, Positive
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.simulation.kernel import Handler

# The configuration of one cluster with its clients: keys, defaults, ranges and reasons.

EPOCH_MAX = 32767  # the largest int16: reserved, so that the largest epoch in use can always be fenced (txn.4)

MODES = ("v1", "v1-verified", "v2")
RELEASES = ("4.0", "4.3", "trunk")


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one cluster. Times are virtual milliseconds, and the defaults are Kafka's."""

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
    def transaction_version(self) -> int:
        """Return the level of the feature transaction.version."""
        return MODES.index(self.mode)

    @property
    def asks_coordinator(self) -> bool:
        """Return whether a leader verifies the first append of a transaction (txn.15)."""
        return self.mode != "v1"

    @property
    def is_recent(self) -> bool:
        """Return whether brokers do what was measured on Kafka 4.3.1, even where that is newer or laxer."""
        return self.release != "4.0"

    @property
    def records_last_epoch(self) -> bool:
        """Return whether the log has the epoch before the last bump (KAFKA-20357), as a tagged field."""
        return self.release == "trunk" and self.mode != "v1"

    @property
    def is_v2(self) -> bool:
        """Return whether every EndTxn bumps the epoch, and the leader adds the partition for the client (txn.9)."""
        return self.mode == "v2"

    @property
    def all_partitions(self) -> int:
        return self.partitions + self.groups


# The events of a history of transactions: one row of integers each, in the order in which things happened.
#
# -1 stands in a column that does not apply, and 0 in `error`.


class Kind:
    """A `Kind` is a kind of event, whose plain number is its code in column `kind`."""

    # Clients
    (
        CLIENT_STARTED, CLIENT_STOPPED, INIT_SENT, INIT_TAKEN, TXN_BEGUN, ADD_SENT, ADD_TAKEN, RECORD_SENT,
        RECORD_ACKED, RECORD_FAILED, END_SENT, END_TOLD, CLIENT_FAILED, FENCE_TOLD,
    ) = range(1, 15)  # fmt: skip
    # The coordinator of a transactional id
    (
        INIT_HANDLED, ADD_HANDLED, END_HANDLED, TXN_LOGGED, APPEND_FAILED, TIMED_OUT, COORDINATOR_LOADED,
        PARTITION_CHECKED, MARKER_ACKED, ID_EXPIRED,
    ) = range(20, 30)  # fmt: skip
    # Leaders of partitions
    (
        BATCH_APPENDED, BATCH_DUPLICATE, BATCH_REFUSED, MARKER_APPENDED, MARKER_REFUSED, CHECK_ASKED, LEADER_CHANGED,
        STABLE_MOVED,
    ) = range(40, 48)  # fmt: skip
    # Readers
    FETCHED, RECORD_READ, RECORD_SEEN, OFFSET_FETCHED = range(50, 54)


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple(
    "Event",
    "step time_us kind node client txn_id producer_id epoch txn record partition offset sequence request outcome "
    "state coordinator_epoch upto error",
)  # fmt: skip


class TransactionEventLog(EventLog, kinds=Kind, event=Event):
    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = TransactionEventLog.kind_names
readable = TransactionEventLog.readable


# The environment that all nodes of one cluster share: clock, log, network, configuration, and the numbers that are
# given out once.

# Alias of the node that coordinates the transactional ids at the moment a message is delivered.
COORDINATOR = "coordinator"

BROKERS = 3  # only for the column `node`: who leads or coordinates moves to the next broker


def partition_name(partition: int) -> str:
    """Return the address of a partition's leader, offsets partitions being numbered after data partitions."""
    return f"partition-{partition}"


def client_name(slot: int) -> str:
    return f"client-{slot}"


class DrivenPace:
    """With a `DrivenPace`, appends to the transaction log wait for the driver."""

    __slots__ = ()

    def append_later(self, node: Node, finish: Callable[[bool], object]) -> None:
        """Leave the append to the driver."""

    def load_later(self, node: Node, load: Handler) -> None:
        """Load the log at once, since nothing can happen between a driver's two calls."""
        load(None)


class SeededPace:
    """With a `SeededPace`, appends end or fail, and a new coordinator loads, after a random time."""

    __slots__ = ("_append_us", "_failure", "_faults", "_kernel", "_load_us")

    def __init__(self, kernel: Kernel, faults: FaultMix, append_failure: float, append_us: int, load_us: int) -> None:
        self._kernel = kernel
        self._faults = faults
        self._failure = append_failure
        self._append_us = append_us
        self._load_us = load_us

    def stop_faults(self) -> None:
        self._failure = 0.0

    def append_later(self, node: Node, finish: Callable[[bool], object]) -> None:
        """Finish the *oldest* append of the log after a random time, with or without success."""
        failed = self._kernel.random.random() < self._failure
        if failed:
            self._faults.count("append_failure")
        node.after(self._kernel.spread(self._append_us), finish, not failed)

    def load_later(self, node: Node, load: Handler) -> None:
        """Load the log after a random time, until which the coordinator answers COORDINATOR_LOAD_IN_PROGRESS."""
        node.after(self._kernel.spread(self._load_us), load)


class Environment(environment.Environment[Config]):
    """An `Environment` is shared by one cluster. ``without_write`` has the transactional ids that the ACL denies (-1:
    requests without one). ``leaderless`` has the partitions that have no leader in the metadata."""

    __slots__ = ("leaderless", "network", "pace", "without_write")

    log_type: ClassVar[type[EventLog]] = TransactionEventLog
    next_client = numbered("client")  # client instances: a producer's, also after a restart, or an admin's
    next_request = numbered("request")  # correlation numbers: an old answer never fits a new request
    next_txn = numbered("txn")  # transactions of clients
    next_producer_id = numbered("producer id")  # blocks of them are another protocol's subject (KIP-730)

    def __init__(self, config: Config, kernel: Kernel, network: Network, pace: DrivenPace | SeededPace) -> None:
        super().__init__(config, kernel)
        self.network = network
        self.pace = pace
        self.without_write: set[int] = set()
        self.leaderless: set[int] = set()

    def has_producer_id(self) -> bool:
        """Return whether the coordinator's broker can give a producer id now without requesting a block first."""
        return True

    def next_record(self) -> int:
        return self.number("record")
