"""Scenarios on producer id blocks: fetch a block, use it up, deliver everything, race.

Single calls (deliver this, lose that, restart, fail over, commit, snapshot, wait, ask) reach anything in time; the
scenarios are aimed at the ends of blocks and the end of the ids, where the mistakes are.
"""

from typing import Annotated

from fencepost.properties import machine
from fencepost.properties.id_blocks.driving.interface import CONTROLLER, SIZES, Broker, Waiting
from fencepost.properties.id_blocks.driving.programs import Call
from fencepost.properties.machine import scenario
from fencepost.properties.roles import Between, OneOf

BURST = 24  # calls in a burst at most
GIVEN_UP_MS = 150_000
"""After this a request that is not answered is given up."""


class Machine(
    machine.Machine,
    steps={"client_asks": "init_producer_id", "restart": "restart_broker", "wait": "advance"},
):
    """What every mode has: clients, restarts and time."""

    call_type = Call
    apart = True

    def teardown(self) -> None:
        """The faults are over, and the clients of every broker ask for ids; not in a system that Hypothesis has given
        up before anything was called."""
        if hasattr(self, "run") and self.run.made:
            self.call("settle")

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
        self.deliver_all(BURST)

    @scenario
    def late_copy(self, message: Waiting) -> None:
        """A copy arrives when the first has long been dealt with."""
        self.send(message, keep=True)
        self.call("commit")
        self.send(message)

    def answered(self) -> None:
        """What requests have set off comes about, up to the answers."""
        self.deliver_all(BURST, without=("response",))
        self.call("commit")

    @scenario
    def answer_comes_again(self, broker: Broker, life: Annotated[str, OneOf("this", "another", "asking")]) -> None:
        """A broker uses up a block, and then a copy of the answer arrives by which it was given: in ``this`` life of
        the broker, in ``another`` one, or in another one that is ``asking`` as well."""
        self.deliver_all(BURST)
        if life != "this":
            self.call("restart_broker", broker)
        self.client_asks_until_empty(broker)
        self.answered()
        answer = next(iter(self.waiting("response", broker)), None)
        if answer is None:
            return
        self.send(answer, keep=True)
        self.client_asks_until_empty(broker)
        if life != "this":
            self.call("restart_broker", broker)
        if life == "asking":
            self.ask(broker)
        copy = next((message for message in self.waiting("response", broker) if message[3] == answer[3]), None)
        if copy is not None:
            self.send(copy)
        self.client_asks_until_empty(broker)

    @scenario(when=lambda self: callable(getattr(self.run.system, "set_cluster_action", None)))
    def refused_once(self, broker: Broker) -> None:
        """A broker that needs a block is refused it, and then is not any more."""
        self.call("set_cluster_action", broker, False)
        self.client_asks_until_empty(broker)
        self.answered()
        self.deliver_all(BURST)
        self.call("set_cluster_action", broker, True)

    @scenario
    def leader_fails(
        self, broker: Broker, before: Annotated[str, OneOf("commit", "commit", "request", "answer")],
        after: Annotated[int, Between(1, 3)],
    ) -> None:  # fmt: skip
        """The controller fails before a broker's request, the commit of its block, or its answer is there.  The
        broker's neighbour takes a block and uses it up, under the next controller or a later one; then the first one
        leads again, and the broker gets what still comes."""
        self.deliver_all(BURST)
        self.client_asks_until_empty(broker)
        if before != "request":
            self.deliver_all(BURST, without=("response",))
        if before == "answer":
            self.answered()
        controllers = int(self.run.config["controllers"])
        for _ in range(after):
            self.call("fail_over")
        self.fetch_and_use_up(self.index("brokers", broker + 1))
        for _ in range(-after % controllers):
            self.call("fail_over")
        self.answered()
        self.deliver_all(BURST)
        self.client_asks_until_empty(broker)

    @scenario
    def given_up(self, broker: Broker, kind: Annotated[str, OneOf("request", "response")], late: bool) -> None:
        """A broker's request, or the answer, does not come; the broker gives up and asks again, and then the first one
        is ``late``, or lost."""
        self.client_asks_until_empty(broker)
        if kind == "response":
            self.answered()
        message = next(iter(self.waiting(kind, broker)), None)
        if message is None:
            return
        if not late:
            self.send(message, "drop")
        self.call("advance", GIVEN_UP_MS)
        self.ask(broker)
        if late:
            self.send(message)
        self.answered()
        self.deliver_all(BURST)
        self.client_asks_until_empty(broker)

    @scenario
    def fetch(self, broker: Broker) -> None:
        """A broker asks for a block and gets it, unless it has one or waits for one already."""
        self.ask(broker)
        self.deliver_all(BURST)
        self.call("commit")
        self.deliver_all(BURST)

    @scenario
    def fetch_and_use_up(self, broker: Broker) -> None:
        self.fetch(broker)
        self.client_asks_until_empty(broker)


class Kraft(Rpc, steps={}):
    """Brokers whose controllers make blocks of several lengths."""

    @scenario(when=lambda self: callable(getattr(self.run.system, "set_block_size", None)))
    def resize(self, broker: Broker, size: Annotated[int, OneOf(1, *SIZES)]) -> None:
        """A broker uses up a block of another length, and its neighbour takes the next one: a broker that goes by its
        own notion of the length hands out its neighbour's, where that is longer."""
        self.call("set_block_size", size)
        for one in (broker, self.index("brokers", broker + 1)):
            self.client_asks_until_empty(one)
            self.fetch_and_use_up(one)


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
        self.deliver_all(BURST)
        one, two = (CONTROLLER, other) if controller_first else (other, CONTROLLER)
        for who in (one, two, two, one, one, one):
            self.call("zk_step", who)

    def answered(self) -> None:
        self.deliver_all(BURST, without=("response",))
        for _ in range(2):
            self.call("zk_step", CONTROLLER)
        self.call("commit")

    @scenario
    def controller_step(self) -> None:
        self.call("zk_step", CONTROLLER)

    @scenario
    def fetch(self, broker: Broker) -> None:
        self.ask(broker)
        self.deliver_all(BURST)
        self.call("zk_step", CONTROLLER)
        self.call("zk_step", CONTROLLER)
        self.call("commit")
        self.deliver_all(BURST)

    @scenario
    def move_and_go_on(self, broker: Broker) -> None:
        """A block from ZooKeeper, the move, and the next block from KRaft."""
        self.take_and_use_up(broker)
        for each in range(self.run.config["brokers"]):
            self.call("upgrade_broker", each)
        self.call("migrate")
        self.fetch_and_use_up(broker)
