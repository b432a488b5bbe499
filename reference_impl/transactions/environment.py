"""The environment that all nodes of one cluster share: clock, log, network, configuration, and the numbers that are
given out once."""

from collections.abc import Callable
from typing import ClassVar

from fencepost.reference_impl.simulation import EventLog, FaultMix, Kernel, Network, Node
from fencepost.reference_impl.simulation import environment as shared
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.simulation.kernel import Handler
from fencepost.reference_impl.transactions.config import Config
from fencepost.reference_impl.transactions.events import TransactionEventLog

# Alias of the node that coordinates the transactional ids at the moment a message is delivered.
COORDINATOR = "coordinator"

BROKERS = 3  # only for the column `node`: who leads or coordinates moves to the next broker


def partition_name(partition: int) -> str:
    """The address of a partition's leader: data partitions first, then the offsets partition of each group."""
    return f"partition-{partition}"


def client_name(slot: int) -> str:
    """The address of the producer instance that holds a slot at the moment a message is delivered."""
    return f"client-{slot}"


class DrivenPace:
    """Appends to the transaction log wait for the driver."""

    __slots__ = ()

    def append_later(self, node: Node, finish: Callable[[bool], object]) -> None:
        """One more append to the transaction log is under way."""

    def load_later(self, node: Node, load: Handler) -> None:
        """A new coordinator loads its log: at once, since nothing can happen between a driver's two calls."""
        load(None)


class SeededPace:
    """Appends finish, and fail, by themselves after a random while; a new coordinator takes its time to load."""

    __slots__ = ("_append_us", "_failure", "_faults", "_kernel", "_load_us")

    def __init__(self, kernel: Kernel, faults: FaultMix, append_failure: float, append_us: int, load_us: int) -> None:
        self._kernel = kernel
        self._faults = faults
        self._failure = append_failure
        self._append_us = append_us
        self._load_us = load_us

    def stop_faults(self) -> None:
        """From now on appends succeed."""
        self._failure = 0.0

    def append_later(self, node: Node, finish: Callable[[bool], object]) -> None:
        """Finish the *oldest* append of the log after a while, with or without success."""
        failed = self._kernel.random.random() < self._failure
        if failed:
            self._faults.count("append_failure")
        node.after(self._kernel.spread(self._append_us), finish, not failed)

    def load_later(self, node: Node, load: Handler) -> None:
        """Until then the coordinator answers COORDINATOR_LOAD_IN_PROGRESS."""
        node.after(self._kernel.spread(self._load_us), load)


class Environment(shared.Environment[Config]):
    """One per cluster. `without_write` are the transactional ids that the ACL denies (-1: ids without one).

    `leaderless` are the partitions of which the metadata says that they have no leader.
    """

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
        """Whether the coordinator's broker can give a producer id now, and need not ask for a block of them first."""
        return True

    def next_record(self) -> int:
        """The number of a new logical send."""
        return self.number("record")
