"""What Hypothesis does with systems of producer id blocks: how large they are, and the scenarios.

Single calls (deliver this, lose that, restart, fail over, commit, snapshot, wait, ask) reach anything in time; the
scenarios (fetch a block, use it up, deliver everything, race) are aimed at the ends of blocks and the end of the ids,
where the mistakes are.
"""

from typing import Annotated, Any

from fencepost.properties import machine
from fencepost.properties.id_blocks.driving.interface import CONTROLLER, Broker, Waiting
from fencepost.properties.id_blocks.driving.programs import Call
from fencepost.properties.machine import scenario, variants
from fencepost.properties.roles import Between
from hypothesis import strategies as st

BURST = 24  # calls in a burst at most


def sizes(mode: str) -> st.SearchStrategy[dict[str, Any]]:
    """Small clusters with small blocks, most of them with few ids.

    In bridge mode no block ends exactly one past the last id: there ZooKeeper and KRaft, as shipped, draw the line
    differently.
    """

    def config(count: int, size: int, blocks: int, rest: int, prefetch: float) -> dict[str, Any]:
        max_id = blocks * size + min(rest, size - 1)
        if mode == "bridge" and (max_id + 1) % size == 0:
            max_id += 1
        return {"seed": 0, "brokers": count, "controllers": 3, "block_size": size, "max_id": max_id, "mode": mode,
                "prefetch": prefetch}  # fmt: skip

    smallest = 2 if mode == "bridge" else 1
    counts = st.sampled_from((2, 3, 1)) if mode == "bridge" else st.integers(1, 3)
    return st.builds(
        config, counts, st.integers(smallest, 4), st.sampled_from((500, 2, 3, 5, 8)),
        st.integers(0, 3),
        st.sampled_from((0.9, 0.0, 0.5)),
    )  # fmt: skip


class Machine(
    machine.Machine,
    steps={"client_asks": "init_producer_id", "restart": "restart_broker", "wait": "advance"},
):
    """What every mode has: clients, restarts and time."""

    call_type = Call

    def ask(self, broker: int) -> bool:
        """A client asks; was it given an id?"""
        made = self.call("init_producer_id", broker)
        return made is not None and made.result[0] == 0

    @scenario
    def client_asks_until_empty(self, broker: Broker) -> None:
        """A client asks until there is nothing left."""
        for _ in range(BURST):
            if not self.ask(broker):
                return


RPC = {
    "deliver": "deliver", "lose": "drop", "commit": "commit", "fail_over": "fail_over", "snapshot": "snapshot",
    "permit": "set_cluster_action",
}  # fmt: skip


class Rpc(Machine, steps=RPC):
    """Brokers that ask a controller: messages, commits, fail-overs, snapshots."""

    @scenario(when=machine.Machine.something_waits)
    def deliver_everything_twice(self) -> None:
        """The network kept a copy of everything that is under way now."""
        for message in self.waiting():
            self.send(message, keep=True)
        self.deliver_everything(BURST)

    @scenario
    def late_copy(self, message: Waiting) -> None:
        """A copy arrives when the first has long been dealt with."""
        self.send(message, keep=True)
        self.call("commit")
        self.send(message)

    @scenario
    def fetch(self, broker: Broker) -> None:
        """A broker asks for a block and gets it, unless it has one or waits for one already."""
        self.ask(broker)
        self.deliver_everything(BURST)
        self.call("commit")
        self.deliver_everything(BURST)

    @scenario
    def fetch_and_use_up(self, broker: Broker) -> None:
        self.fetch(broker)
        self.client_asks_until_empty(broker)


class Direct(Machine, steps={"zookeeper_step": "zk_step"}):
    """Brokers that take their blocks from ZooKeeper themselves, one operation at a time."""

    @scenario
    def race(self, broker: Broker, order: Annotated[list[bool], Between(3, 6)]) -> None:
        """Two of them are at it at the same time: a broker and its neighbour."""
        pair = (broker, self.index("brokers", broker + 1))
        for one in pair:
            self.ask(one)
        for first in order:
            self.call("zk_step", pair[0 if first else 1])

    @scenario
    def take_and_use_up(self, broker: Broker) -> None:
        self.ask(broker)
        for _ in range(4):
            if not self.did("zk_step", broker):
                break
        self.client_asks_until_empty(broker)


class Bridge(Direct, Rpc, steps={"upgrade": "upgrade_broker", "migrate": "migrate"}):
    """A cluster that is upgraded broker by broker and moves to KRaft."""

    @scenario
    def controller_race(self, broker: Broker, controller_first: bool) -> None:
        """The controller takes a block for an upgraded broker while its neighbour takes its own: one of the two
        writes in vain."""
        other = self.index("brokers", broker + 1)
        self.call("upgrade_broker", broker)
        self.client_asks_until_empty(broker)
        self.client_asks_until_empty(other)
        self.deliver_everything(BURST)
        one, two = (CONTROLLER, other) if controller_first else (other, CONTROLLER)
        for who in (one, two, two, one, one, one):
            self.call("zk_step", who)

    @scenario
    def controller_step(self) -> None:
        self.call("zk_step", CONTROLLER)

    @scenario
    def fetch(self, broker: Broker) -> None:
        self.ask(broker)
        self.deliver_everything(BURST)
        self.call("zk_step", CONTROLLER)
        self.call("zk_step", CONTROLLER)
        self.call("commit")
        self.deliver_everything(BURST)

    @scenario
    def move_and_go_on(self, broker: Broker) -> None:
        """A block from ZooKeeper, the move, and the next block from KRaft."""
        self.take_and_use_up(broker)
        for each in range(self.run.config["brokers"]):
            self.call("upgrade_broker", each)
        self.call("migrate")
        self.fetch_and_use_up(broker)


MACHINES = {
    **variants(Rpc, {"kraft": sizes("kraft")}),
    **variants(Direct, {"zookeeper": sizes("zookeeper")}),
    **variants(Bridge, {"bridge": sizes("bridge")}),
}
