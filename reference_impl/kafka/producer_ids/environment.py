"""This module has what brokers and controllers share: configuration, events, clock, network and numbers."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Annotated

from fencepost.reference_impl.simulation import EventLog, Kernel, Network, Node, environment
from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, OneOf, Positive
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.simulation.kernel import Handler

# The configuration of one cluster: keys, defaults, ranges and reasons.
#
# Where the KIP and the shipped code differ, both are an option here: `authorization_error`.

LONG_MAX = 2**63 - 1

# From this inter-broker protocol on a broker of a ZooKeeper-mode cluster uses the RPC (730.21).
RPC_SINCE = "3.0-IV0"


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """A `Config` is the configuration of one cluster. Times are virtual milliseconds."""

    seed: int = 0
    brokers: Positive = 3
    controllers: Positive = 3
    block_size: Positive = 1000  # ids per block: the controller's to choose (730.8)
    # The exhaustion point: ids run from 0 to max_id - 1 (730.16).
    max_id: Annotated[int, AtLeast(1), AtMost(LONG_MAX, "producer ids are int64")] = LONG_MAX
    # bridge: ZooKeeper that can migrate to KRaft
    mode: Annotated[str, OneOf("kraft", "zookeeper", "bridge")] = "kraft"
    prefetch: float = 0.9  # share of a block after which the next one is requested; 0 disables (730.12)
    inter_broker_protocol: str = "2.8-IV1"  # of all brokers at the start; below 3.0-IV0 they use ZooKeeper directly
    backoff_ms: int = 50
    request_timeout_ms: int = 1000  # shipped: 60 s; scaled to the histories
    # retried: as shipped; fatal: the broker terminates (730.5)
    authorization_error: Annotated[str, OneOf("retried", "fatal")] = "retried"
    # A request reaches the node that is active then.
    controller_discovery: Annotated[str, OneOf("at_delivery", "at_sending")] = "at_delivery"
    quota_per_second: float = 0.0  # AllocateProducerIds requests per broker before throttling (730.6); 0: unlimited

    def relate(self) -> None:
        """Raise ValueError for a prefetch that is no share, or an inter-broker protocol that Kafka never had."""
        if not 0 <= self.prefetch < 1:
            raise ValueError(f"config prefetch={self.prefetch}: a share of the block, 0 <= prefetch < 1; 0 disables it")
        if protocol_version(self.inter_broker_protocol) < (0, 8):
            raise ValueError(f"config inter_broker_protocol={self.inter_broker_protocol!r}: no such Kafka version")

    @property
    def starts_with_zookeeper(self) -> bool:
        return self.mode != "kraft"

    @property
    def starts_with_rpc(self) -> bool:
        """Return whether the brokers start with the RPC, in KRaft always and in ZooKeeper mode by version (730.21)."""
        return self.mode == "kraft" or protocol_version(self.inter_broker_protocol) >= protocol_version(RPC_SINCE)


def protocol_version(text: str) -> tuple[int, ...]:
    """Return `3.0-IV1` as (3, 0, 1), to compare versions. One without -IV stands for its last revision."""
    release, _, revision = text.partition("-IV")
    try:
        return (*(int(part) for part in release.split(".")), int(revision) if revision else 99)
    except ValueError:
        raise ValueError(f"inter-broker protocol {text!r}: expected a version such as 2.8-IV1 or {RPC_SINCE}") from None


# The events of an id-blocks history: twenty-three kinds, one row of integers each.
#
# -1 stands in a column that does not apply, and 0 in `error`.


class Kind:
    """A `Kind` is a kind of event, whose plain number is its code in column `kind`."""

    (
        BROKER_STARTED, BROKER_STOPPED, REQUEST_SENT, BLOCK_RECORDED, BLOCK_COMMITTED, ANSWER_SENT, ANSWER_TAKEN,
        ANSWER_DROPPED, ANSWER_REFUSED, ANSWER_FAILED, REQUEST_TIMED_OUT, BLOCK_INSTALLED, ID_HANDED_OUT, ID_REFUSED,
        BACKOFF_OVER, CONTROLLER_ELECTED, SNAPSHOT_TAKEN, ZK_READ, ZK_WRITTEN, ZK_CONFLICT, MIGRATED, BROKER_UPGRADED,
        REQUEST_REFUSED,
    ) = range(1, 24)  # fmt: skip


# The columns of a row; `kind` is its lower-case name.
Event = namedtuple("Event", "step time_us kind node broker broker_epoch request grant first length producer_id error")


class IdBlockLog(EventLog, kinds=Kind, event=Event):
    __slots__ = ()


COLUMNS = Event._fields
KIND_NAMES = IdBlockLog.kind_names
readable = IdBlockLog.readable


# The environment that all nodes of one cluster share: clock, log, network, configuration, and the cluster's
# registrations.
#
# Registrations (broker id -> broker epoch) stand outside the metadata log: a broker serves clients only after its
# registration is committed, so no fail-over can take it back, and nothing here depends on how it is stored.

# Alias of the node that is the active controller at the moment a message is delivered.
ACTIVE_CONTROLLER = "active-controller"


def controller_name(node_id: int) -> str:
    return f"controller-{node_id}"


class DrivenPace:
    """With a `DrivenPace`, commits and ZooKeeper operations wait for the driver."""

    __slots__ = ()

    def commit_later(self, leader: Node, commit: Handler, grant: int) -> None:
        """Leave the commit of the record ``grant`` to the driver. It happens unless the leader dies first."""

    def zookeeper_later(self, client: Node, step: Handler) -> None:
        """Leave the client's next ZooKeeper operation to the driver."""


class SeededPace:
    """With a `SeededPace`, commits and ZooKeeper operations happen after a random time."""

    __slots__ = ("_follower_us", "_followers", "_kernel", "_zookeeper_us")

    def __init__(self, kernel: Kernel, controllers: int, follower_us: int, zookeeper_us: int) -> None:
        self._kernel = kernel
        self._followers = controllers - 1
        self._follower_us = follower_us
        self._zookeeper_us = zookeeper_us

    def commit_later(self, leader: Node, commit: Handler, grant: int) -> None:
        """Commit when the last follower of the fastest majority has fetched the record."""
        fetches = sorted([self._kernel.spread(self._follower_us) for _ in range(self._followers)])
        needed = (self._followers + 1) // 2  # besides the leader itself
        leader.after(fetches[needed - 1] if needed else 0, commit, grant)

    def zookeeper_later(self, client: Node, step: Handler) -> None:
        client.after(self._kernel.spread(self._zookeeper_us), step)


class Environment(environment.Environment[Config]):
    """An `Environment` is shared by one cluster. ``registered`` maps broker id to epoch, and ``without_cluster_action``
    has the brokers that the ACL denies."""

    __slots__ = ("active_controller", "network", "pace", "registered", "without_cluster_action")

    log_type = IdBlockLog
    next_request = numbered("request")  # correlation numbers: an old answer never fits a new request

    def __init__(self, config: Config, kernel: Kernel, network: Network, pace: DrivenPace | SeededPace) -> None:
        super().__init__(config, kernel)
        self.network = network
        self.pace = pace
        self.registered: dict[int, int] = {}
        self.without_cluster_action: set[int] = set()
        self.active_controller = 0

    def active_controller_name(self) -> str:
        return controller_name(self.active_controller)
