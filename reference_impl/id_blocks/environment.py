"""The environment that all nodes of one cluster share: clock, log, network, configuration, and the cluster's
registrations.

Registrations (broker id -> broker epoch) stand outside the metadata log: a broker serves clients only after its
registration is committed, so no fail-over can take it back, and nothing here depends on how it is stored.
"""

from fencepost.reference_impl.id_blocks.config import Config
from fencepost.reference_impl.id_blocks.events import IdBlockLog
from fencepost.reference_impl.simulation import Kernel, Network, Node
from fencepost.reference_impl.simulation import environment as shared
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.simulation.kernel import Handler

# Alias of the node that is the active controller at the moment a message is delivered.
ACTIVE_CONTROLLER = "active-controller"


def controller_name(node_id: int) -> str:
    """The address of one controller node, active or not."""
    return f"controller-{node_id}"


class DrivenPace:
    """Commits and ZooKeeper operations wait for the driver."""

    __slots__ = ()

    def commit_later(self, leader: Node, commit: Handler, grant: int) -> None:
        """The record `grant` was appended by `leader` and will be committed, unless the leader dies first."""

    def zookeeper_later(self, client: Node, step: Handler) -> None:
        """A client of ZooKeeper has its next operation ready."""


class SeededPace:
    """Commits and ZooKeeper operations happen by themselves after a random while."""

    __slots__ = ("_follower_us", "_followers", "_kernel", "_zookeeper_us")

    def __init__(self, kernel: Kernel, controllers: int, follower_us: int, zookeeper_us: int) -> None:
        self._kernel = kernel
        self._followers = controllers - 1
        self._follower_us = follower_us
        self._zookeeper_us = zookeeper_us

    def commit_later(self, leader: Node, commit: Handler, grant: int) -> None:
        """Committed when the last follower of the fastest majority has fetched the record."""
        fetches = sorted([self._kernel.spread(self._follower_us) for _ in range(self._followers)])
        needed = (self._followers + 1) // 2  # besides the leader itself
        leader.after(fetches[needed - 1] if needed else 0, commit, grant)

    def zookeeper_later(self, client: Node, step: Handler) -> None:
        """One round trip to ZooKeeper."""
        client.after(self._kernel.spread(self._zookeeper_us), step)


class Environment(shared.Environment[Config]):
    """One per cluster. `registered` maps broker id to epoch; `without_cluster_action` are brokers the ACL denies."""

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
        """The address of the node that is the active controller now."""
        return controller_name(self.active_controller)
