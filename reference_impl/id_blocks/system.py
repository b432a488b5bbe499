"""The plug: a whole cluster behind the few operations by which a driver moves it, step by step.

>>> system = reference({"seed": 1, "brokers": 2, "block_size": 10})
>>> system.init_producer_id(0)  # no block yet: 14, come back later; but a request is on its way
(14, -1)
>>> system.messages()
[(0, 'request', 0, 0)]
>>> system.deliver(0)
>>> system.commit()
>>> system.messages()
[(1, 'response', 0, 0)]
>>> system.deliver(1)
>>> system.init_producer_id(0)
(0, 0)

Nothing happens between two calls: deliveries, commits, ZooKeeper operations and time are the driver's. `Parts` are
the pieces that a broken implementation replaces.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.id_blocks.block_node import BlockNode, decode
from fencepost.reference_impl.id_blocks.broker import Broker, ProducerIds
from fencepost.reference_impl.id_blocks.config import Config
from fencepost.reference_impl.id_blocks.controller import Controller
from fencepost.reference_impl.id_blocks.environment import ACTIVE_CONTROLLER, DrivenPace, Environment
from fencepost.reference_impl.id_blocks.events import Kind
from fencepost.reference_impl.id_blocks.messages import Block, ProducerIdsRecord
from fencepost.reference_impl.id_blocks.metadata_log import MetadataLog
from fencepost.reference_impl.id_blocks.source import IdSource, SourceFactory
from fencepost.reference_impl.id_blocks.zookeeper import BlockLoop, DirectProducerIds, ZkController
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.simulation.environment import US_PER_MS
from fencepost.reference_impl.simulation.system import DrivenSystem


def next_id_after(block: Block) -> int:
    """Where KRaft starts when ZooKeeper's latest block is this one: behind its inclusive end (730.15)."""
    return block.last + 1


def uses_rpc(config: Config) -> bool:
    """Whether brokers ask the controller from the start, or take their blocks from ZooKeeper (730.21)."""
    return config.starts_with_rpc


@dataclass(frozen=True, slots=True)
class Parts:
    """The replaceable pieces of a cluster; the defaults are the correct ones."""

    ids: SourceFactory = ProducerIds
    controller: type[Controller] = Controller
    block_node: type[BlockNode] = BlockNode
    block_loop: type[BlockLoop] = BlockLoop
    migrated_next_id: Callable[[Block], int] = next_id_after
    migrates_early: bool = False  # without waiting for every broker to use the RPC (730.14)
    uses_rpc: Callable[[Config], bool] = uses_rpc


class System(DrivenSystem[Environment]):
    """One cluster. Brokers are numbered from 0, controllers too; -1 names the ZooKeeper-mode controller's loop."""

    def __init__(self, env: Environment, parts: Parts) -> None:
        config = env.config
        self.env = env
        self.parts = parts
        self.on_zookeeper = config.starts_with_zookeeper
        self.block_node = parts.block_node()
        self.metadata_log = MetadataLog()
        self.kraft = [parts.controller(env, node, self.metadata_log) for node in range(config.controllers)]
        self.zk_controllers = [
            ZkController(env, node, parts.block_loop(env, self.block_node, -1)) for node in range(config.controllers)
        ]
        self._connect_controllers()
        self.on_rpc = [parts.uses_rpc(config)] * config.brokers
        self.brokers = [Broker(env, broker, self.new_source) for broker in range(config.brokers)]
        for broker in self.brokers:
            env.network.nodes[broker.name] = broker

    def messages(self) -> list[tuple[int, str, int, int]]:
        """The messages in flight: (number, "request" | "response", broker, correlation number), oldest first."""
        flying = self.env.network.in_flight.values()
        return [(m.number, m.kind, self._broker_of(m.source, m.target), m.body.number) for m in flying]

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        """A client asks `broker` for an id: (0, id) or (error, -1)."""
        return self.brokers[broker].init_producer_id()

    def restart_broker(self, broker: int) -> None:
        """Crash, and come back under the next broker epoch with an empty memory."""
        self.brokers[broker].restart()

    def fail_over(self) -> None:
        """The active controller dies (and is back as a follower); the next one takes over from the committed log."""
        env = self.env
        self.active.restart()
        self.metadata_log.lose_uncommitted()
        env.active_controller = (env.active_controller + 1) % env.config.controllers
        if not self.on_zookeeper:
            self.kraft[env.active_controller].become_active()
        self._connect_controllers()
        env.emit(Kind.CONTROLLER_ELECTED, node=env.active_controller)

    def commit(self) -> None:
        """A majority gets everything appended, and the waiting answers are sent. Nothing to do on ZooKeeper."""
        if not self.on_zookeeper and (grant := self.metadata_log.last_grant()) >= 0:
            self.kraft[self.env.active_controller].commit(grant)

    def snapshot(self) -> None:
        """The active controller writes a snapshot of the committed state and truncates its log; not on ZooKeeper."""
        if not self.on_zookeeper:
            self.kraft[self.env.active_controller].take_snapshot()

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass: back-offs end, requests time out."""
        self.env.kernel.advance(ms * US_PER_MS)

    def upgrade_broker(self, broker: int) -> bool:
        """Restart a ZooKeeper-mode broker with a version that uses the RPC; False if it does already (730.21)."""
        if self.on_rpc[broker]:
            return False
        self.on_rpc[broker] = True
        self.brokers[broker].restart()
        self.env.emit(Kind.BROKER_UPGRADED, broker=broker)
        return True

    def migrate(self) -> bool:
        """Move from ZooKeeper to KRaft; False unless in bridge mode with every broker on the RPC (730.14, 730.15)."""
        all_ready = all(self.on_rpc) or self.parts.migrates_early
        if self.env.config.mode != "bridge" or not self.on_zookeeper or not all_ready:
            return False
        _, latest = decode(self.block_node.read()[0])
        next_free = self.parts.migrated_next_id(latest)
        self.active.restart()
        self.on_zookeeper = False
        self.metadata_log.install_snapshot([ProducerIdsRecord(-1, -1, next_free)] if next_free else [])
        self.kraft[self.env.active_controller].become_active()
        self._connect_controllers()
        self.env.emit(Kind.MIGRATED, first=next_free)
        return True

    def zk_step(self, broker: int) -> bool:
        """The next ZooKeeper operation of a broker, or of the controller (-1); False if there is none to do."""
        if broker >= 0:
            return self.brokers[broker].ids.step()
        return self.on_zookeeper and self.zk_controllers[self.env.active_controller].step()

    def unregister_broker(self, broker: int) -> None:
        """Forget a broker's registration, as an operator may; its next restart registers it again."""
        self.env.registered.pop(broker, None)

    def set_cluster_action(self, broker: int, allowed: bool) -> None:
        """Give or take the permission that AllocateProducerIds needs (730.5)."""
        denied = self.env.without_cluster_action
        (denied.discard if allowed else denied.add)(broker)

    def set_block_size(self, size: int) -> None:
        """The active KRaft controller makes blocks of this many ids, until another one takes over (730.8)."""
        self.kraft[self.env.active_controller].block_size = size

    @property
    def active(self) -> Controller | ZkController:
        """The controller node that is active now, of the kind in charge now."""
        in_charge = self.zk_controllers if self.on_zookeeper else self.kraft
        return in_charge[self.env.active_controller]

    def new_source(self, env: Environment, broker: Broker) -> IdSource:
        """The source of ids of a starting broker: the RPC, or ZooKeeper directly."""
        if self.on_rpc[broker.broker_id]:
            return self.parts.ids(env, broker)
        return DirectProducerIds(env, broker, self.parts.block_loop(env, self.block_node, broker.broker_id))

    def _connect_controllers(self) -> None:
        in_charge = self.zk_controllers if self.on_zookeeper else self.kraft
        for controller in in_charge:
            self.env.network.nodes[controller.name] = controller
        self.env.network.nodes[ACTIVE_CONTROLLER] = self.active

    @staticmethod
    def _broker_of(source: str, target: str) -> int:
        name = source if source.startswith("broker-") else target
        return int(name.removeprefix("broker-"))


def build(config: Mapping[str, Any], parts: Parts) -> System:
    """A driven cluster made of these parts."""
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace()), parts)


def reference(config: Mapping[str, Any]) -> System:
    """The reference implementation as a driven cluster; keys of `config`: `config.Config`. Raises ValueError."""
    return build(config, Parts())
