"""This module is the interface of id blocks: a whole cluster behind the operations by which a driver moves it, its
replaceable parts, and free runs. The protocol is in `kafka/producer_ids`.

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

Nothing happens between two calls: the driver controls deliveries, commits, ZooKeeper operations and time. `Parts` are
the pieces that a broken implementation replaces.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.kafka.messages import Block, ProducerIdsRecord
from fencepost.reference_impl.kafka.producer_ids.broker import Broker, IdSource, ProducerIds, SourceFactory
from fencepost.reference_impl.kafka.producer_ids.controller import Controller, MetadataLog
from fencepost.reference_impl.kafka.producer_ids.environment import (
    ACTIVE_CONTROLLER,
    Config,
    DrivenPace,
    Environment,
    Kind,
    SeededPace,
)
from fencepost.reference_impl.kafka.producer_ids.zookeeper import (
    BlockLoop,
    BlockNode,
    DirectProducerIds,
    ZkController,
    decode,
)
from fencepost.reference_impl.simulation import Kernel, Network, free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem
from fencepost.reference_impl.simulation.free_run import LossyRun, NodeFaults
from fencepost.reference_impl.simulation.log import Row


def next_id_after(block: Block) -> int:
    """Return where KRaft starts when ZooKeeper's latest block is this one: after its inclusive end (730.15)."""
    return block.last + 1


def uses_rpc(config: Config) -> bool:
    """Return whether brokers ask the controller from the start, or else use ZooKeeper (730.21)."""
    return config.starts_with_rpc


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the replaceable pieces of a cluster; the defaults are the correct ones."""

    ids: SourceFactory = ProducerIds
    controller: type[Controller] = Controller
    block_node: type[BlockNode] = BlockNode
    block_loop: type[BlockLoop] = BlockLoop
    migrated_next_id: Callable[[Block], int] = next_id_after
    migrates_early: bool = False  # without waiting for every broker to use the RPC (730.14)
    uses_rpc: Callable[[Config], bool] = uses_rpc


class System(DrivenSystem[Environment]):
    """A `System` is one cluster. Brokers and controllers are numbered from 0; -1 is ZooKeeper's controller loop."""

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
        """Return (number, "request" | "response", broker, correlation number) in flight, oldest first."""
        flying = self.env.network.in_flight.values()
        return [(m.number, m.kind, self._broker_of(m.source, m.target), m.body.number) for m in flying]

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        """Let a client ask `broker` for an id, and return (0, id) or (error, -1)."""
        return self.brokers[broker].init_producer_id()

    def restart_broker(self, broker: int) -> None:
        """Crash the broker, and restart it under the next broker epoch with an empty memory."""
        self.brokers[broker].restart()

    def fail_over(self) -> None:
        """Let the active controller crash and restart; the next one takes over from the committed log."""
        env = self.env
        self.active.restart()
        self.metadata_log.lose_uncommitted()
        env.active_controller = (env.active_controller + 1) % env.config.controllers
        if not self.on_zookeeper:
            self.kraft[env.active_controller].become_active()
        self._connect_controllers()
        env.emit(Kind.CONTROLLER_ELECTED, node=env.active_controller)

    def commit(self) -> None:
        """Replicate everything appended to a majority, and send the waiting answers. On ZooKeeper this does nothing."""
        if not self.on_zookeeper and (grant := self.metadata_log.last_grant()) >= 0:
            self.kraft[self.env.active_controller].commit(grant)

    def snapshot(self) -> None:
        """Let the active KRaft controller write a snapshot of the committed state and truncate its log."""
        if not self.on_zookeeper:
            self.kraft[self.env.active_controller].take_snapshot()

    def advance(self, ms: int) -> None:
        self.env.kernel.advance(ms * US_PER_MS)

    def upgrade_broker(self, broker: int) -> bool:
        """Restart a ZooKeeper-mode broker with the RPC; return False if it uses that already (730.21)."""
        if self.on_rpc[broker]:
            return False
        self.on_rpc[broker] = True
        self.brokers[broker].restart()
        self.env.emit(Kind.BROKER_UPGRADED, broker=broker)
        return True

    def migrate(self) -> bool:
        """Move to KRaft; return False unless in bridge mode with every broker on the RPC (730.14, 730.15)."""
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
        """Do the next ZooKeeper operation of a broker, or of the controller (-1); return False if none."""
        if broker >= 0:
            return self.brokers[broker].ids.step()
        return self.on_zookeeper and self.zk_controllers[self.env.active_controller].step()

    def unregister_broker(self, broker: int) -> None:
        """Forget a broker's registration, as an operator may; its next restart registers it again."""
        self.env.registered.pop(broker, None)

    def set_cluster_action(self, broker: int, allowed: bool) -> None:
        """Grant or revoke the permission that AllocateProducerIds needs (730.5)."""
        denied = self.env.without_cluster_action
        (denied.discard if allowed else denied.add)(broker)

    def set_block_size(self, size: int) -> None:
        """Let the active KRaft controller make blocks of this many ids, until another one takes over (730.8)."""
        self.kraft[self.env.active_controller].block_size = size

    @property
    def active(self) -> Controller | ZkController:
        in_charge = self.zk_controllers if self.on_zookeeper else self.kraft
        return in_charge[self.env.active_controller]

    def new_source(self, env: Environment, broker: Broker) -> IdSource:
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
    checked = Config.parse(config)
    kernel = Kernel(checked.seed)
    return System(Environment(checked, kernel, Network(kernel), DrivenPace()), parts)


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven cluster; the keys of `config` are those of `config.Config`. Raise
    ValueError for an invalid configuration."""
    return build(config, Parts())


# This section has the node faults of a free-running history of id blocks: how often they occur, how long they last, and
# what they do.


@dataclass(frozen=True, slots=True)
class Run(LossyRun):
    """A `Run` has rates of faults, and the pace of clients and nodes as means in virtual microseconds."""

    events: Natural = 200
    drop: Rate = 0.03
    duplicate: Rate = 0.03
    delay: Rate = 0.03
    restart: Rate = 0.01  # per demand: a broker crashes, and is back after `down_us`
    pause: Rate = 0.005  # per demand: a broker stands still for `pause_us`
    fail_over: Rate = 0.01  # per demand: another controller takes over
    snapshot: Rate = 0.01  # per demand
    upgrade: Rate = 0.03  # per demand, on ZooKeeper: one more broker uses the RPC
    migrate: Rate = 0.05  # per demand, in bridge mode: move to KRaft, if every broker is ready
    client_us: Natural = 2_000
    retry_us: Natural = 100_000  # a refused client waits: retry.backoff.ms
    follower_us: Natural = 1_500
    zookeeper_us: Natural = 2_000
    down_us: Natural = 50_000
    pause_us: Natural = 500_000


class Faults(NodeFaults[Run, System]):
    """`Faults` has the node faults of one history; the place is a broker."""

    names = ("restart", "pause", "fail_over", "snapshot", "upgrade", "migrate")

    def restart(self, number: int) -> bool:
        broker = self.system.brokers[number]
        if not broker.running:
            return False
        broker.crash()
        self.kernel.after(self.kernel.spread(self.run.down_us), self.start, number)
        return True

    def start(self, number: int) -> None:
        if not self.system.brokers[number].running:  # an upgrade may have started it meanwhile
            self.system.restart_broker(number)

    def pause(self, number: int) -> bool:
        return self.pause_for(self.run.pause_us, self.system.brokers[number])

    def fail_over(self, _: int) -> bool:
        self.system.fail_over()
        return True

    def snapshot(self, _: int) -> bool:
        if self.system.on_zookeeper:
            return False
        self.system.snapshot()
        return True

    def upgrade(self, number: int) -> bool:
        return self.system.upgrade_broker(number)

    def migrate(self, _: int) -> bool:
        return self.system.migrate()


# This section has free-running histories of id blocks: `simulate(7, {"mode": "bridge", "events": 500, "restart":
# 0.02})`.
#
# One client per broker asks for ids in a loop; before each demand at most one node fault is drawn, so that rates are
# "per demand" in histories of any length. Message faults are "per message".


class FreeRun(free_run.FreeRun[Run, Config]):
    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # Blocks are small, so that short histories have many of them; stale controllers answer 41.
    cluster_defaults = {"block_size": 10, "controller_discovery": "at_sending"}  # noqa: RUF012
    defects = "fencepost.reference_impl.defects.id_blocks"

    def possible_faults(self) -> tuple[str, ...]:
        """Return the faults of the mode: KRaft has nothing to upgrade or to migrate, and ZooKeeper has no snapshots."""
        if self.config.mode == "kraft":
            return ("restart", "pause", "fail_over", "snapshot")
        return Faults.names if self.config.mode == "bridge" else ("restart", "pause", "fail_over", "upgrade")

    def begin(self, parts: Any) -> None:
        config, kernel, run = self.config, self.kernel, self.run
        pace = SeededPace(kernel, config.controllers, run.follower_us, run.zookeeper_us)
        env = Environment(config, kernel, run.network(kernel, self.faults), pace)
        self.rows = env.log.rows
        self.system = System(env, parts)
        self.nodes = Faults(self.system, run, kernel, self.faults)
        self.nodes.places = config.brokers
        for broker in range(config.brokers):
            kernel.after(kernel.spread(run.client_us), self.demand, broker)

    def demand(self, number: int) -> None:
        self.nodes.draw()
        kernel, run, broker = self.kernel, self.run, self.system.brokers[number]
        served = broker.running and not broker.paused and broker.init_producer_id()[0] == 0
        kernel.after(kernel.spread(run.client_us if served else run.retry_us), self.demand, number)


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats


# This is a history of a KRaft cluster without faults: brokers take blocks in turn and hand out all of them.


def rows(brokers: int = 3, rounds: int = 2, size: int = 40) -> list[Row]:
    """Return the rows of a history in which every broker hands out `rounds` blocks of `size` ids."""
    system = reference({"brokers": brokers, "block_size": size, "prefetch": 0, "controllers": 1})
    for _ in range(rounds):
        for broker in range(brokers):
            take_block(system, broker)
        for _ in range(size):
            for broker in range(brokers):
                error, _ = system.init_producer_id(broker)
                assert error == 0, f"broker {broker} has used up its block before its end: {error_text(error)}"
    return system.env.log.rows


def take_block(system: System, broker: int) -> None:
    """Ask a broker without ids for one, which it refuses, and let it get a block."""
    system.init_producer_id(broker)
    system.deliver(system.messages()[0][0])
    system.commit()
    system.deliver(system.messages()[0][0])
