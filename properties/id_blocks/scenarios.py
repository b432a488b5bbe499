"""This module drives implementations of id blocks: scenarios, the machines that run them, and the run's monitor.

Scenarios on producer id blocks fetch a block, use it up, deliver everything, or race.

Single calls (deliver this, lose that, restart, fail over, commit, snapshot, wait, ask) reach every state in time. The
scenarios aim at the ends of blocks and the end of the ids, where the faults are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

from fencepost.model.id_blocks.bridge import Bridge as BridgeModel
from fencepost.model.id_blocks.lengths import Lengths
from fencepost.model.id_blocks.zookeeper import Zookeeper
from fencepost.model.language.derived.mutations import settle
from fencepost.properties import machine
from fencepost.properties.conformance_spec import Agreeing, Followed
from fencepost.properties.driving import Event, Made, Message, Run, read
from fencepost.properties.id_blocks.events import AFTERWARDS, AFTERWARDS_BY_VARIANT, CALLS, DRIVEN, DRIVEN_COLUMNS
from fencepost.properties.id_blocks.interface import (
    BLACK_BOX,
    CONTROLLER,
    SIZES,
    Broker,
    Call,
    Settled,
    Waiting,
    call_of,
    missing,
)
from fencepost.properties.id_blocks.translator import SLOTS, BlocksInterpreter
from fencepost.properties.machine import KnownBugs, scenario, variants
from fencepost.properties.monitoring import Broken, Concerned, RunContext
from fencepost.properties.roles import Between, Named, OneOf
from hypothesis import strategies as st

BURST = 24  # calls in a burst at most
GIVEN_UP_MS = 150_000
"""After `GIVEN_UP_MS` a request that is not answered is given up."""


class Machine(
    machine.Machine,
    steps={"client_asks": "init_producer_id", "restart": "restart_broker", "wait": "advance"},
):
    """Every mode has these steps: clients, restarts and time."""

    call_type = Call

    def teardown(self) -> None:
        """End the faults, and let the clients of every broker ask for ids, except in a system that Hypothesis has given
        up before anything was called."""
        if hasattr(self, "run") and self.run.made:
            self.call("settle")

    def ask(self, broker: int) -> bool:
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
    """The scenarios of `Rpc` are for brokers that ask a controller: messages, commits, fail-overs, snapshots."""

    @scenario(when=machine.Machine.something_waits)
    def deliver_everything_twice(self) -> None:
        """The network delivers everything in flight twice."""
        for message in self.waiting():
            self.send(message, keep=True)
        self.deliver_all(BURST)

    @scenario
    def late_copy(self, message: Waiting) -> None:
        """A copy of a message arrives long after the message."""
        self.send(message, keep=True)
        self.call("commit")
        self.send(message)

    def answered(self) -> None:
        """Deliver the requests and commit what they have appended, but no answers."""
        self.deliver_all(BURST, without=("response",))
        self.call("commit")

    @scenario
    def answer_comes_again(self, broker: Broker, life: Annotated[str, OneOf("this", "another", "asking")]) -> None:
        """A broker uses up a block, and then a copy of the answer with that block arrives: in ``this`` life of the
        broker, in ``another`` one, or in another one that is ``asking`` as well."""
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
        """A broker that needs a block is refused it, and then is no longer refused."""
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
        """The controller fails before a broker's request, the commit of its block, or its answer. The broker's
        neighbour takes a block and uses it up, under the next controller or a later one. Then the first controller
        leads again, and the broker gets the messages that are left."""
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
        """A broker's request, or the answer, does not arrive. The broker gives up and asks again, and then the first
        message arrives ``late``, or is lost."""
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
    """The scenarios of `Kraft` are for brokers whose controllers make blocks of several lengths."""

    @scenario(when=lambda self: callable(getattr(self.run.system, "set_block_size", None)))
    def resize(self, broker: Broker, size: Annotated[int, OneOf(1, *SIZES)]) -> None:
        """A broker uses up a block of another length, and its neighbour takes the next one. A broker that uses its own
        block length hands out its neighbour's ids where that length is greater."""
        self.call("set_block_size", size)
        for one in (broker, self.index("brokers", broker + 1)):
            self.client_asks_until_empty(one)
            self.fetch_and_use_up(one)


class Direct(Machine, steps={"zookeeper_step": "zk_step"}):
    """The scenarios of `Direct` are for brokers that take blocks from ZooKeeper themselves, step by step."""

    @scenario
    def race(self, broker: Broker, order: Annotated[list[bool], Between(3, 6)]) -> None:
        """A broker and its neighbour take a block at the same time."""
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
    """The scenarios of `Bridge` are for a cluster that is upgraded broker by broker and moves to KRaft."""

    @scenario
    def controller_race(self, broker: Broker, controller_first: bool) -> None:
        """The controller takes a block for an upgraded broker while the broker's neighbour takes its own, so that one
        of the two writes in vain."""
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
        """A broker uses a block from ZooKeeper, the cluster moves, and the broker takes the next block from KRaft."""
        self.take_and_use_up(broker)
        for each in range(self.run.config["brokers"]):
            self.call("upgrade_broker", each)
        self.call("migrate")
        self.fetch_and_use_up(broker)


# These programs lead a cluster through every kind of event once, and on from a disagreement to observe its
# consequences.
#
# The model reports a deviation at its first event, while the id that is handed out twice may come much later. A few
# ways of going on are tried, each until every broker has used up some blocks.

SMALL: Mapping[str, Any] = dict(seed=0, brokers=2, controllers=3, block_size=2, max_id=8, prefetch=0.0)
"""The cluster `SMALL` is large enough for every call to be tried."""

ROUNDS, ASKS, DELIVERIES = 3, 6, 12


def tour(variant: str) -> list[Call]:
    """Return calls that make every kind of event happen in a correct implementation."""

    def deliver(kind: str, keep: bool = False) -> Call:
        return Call("deliver", Named((kind, 0)), keep)

    ask, commit = Call("init_producer_id", 0), Call("commit")
    direct = [
        ask, Call("zk_step", 0), Call("init_producer_id", 1), *[Call("zk_step", 1)] * 2, *[Call("zk_step", 0)] * 3,
        ask, ask, ask, Call("restart_broker", 0),
    ]  # fmt: skip
    fetch = [
        ask, deliver("request"), Call("zk_step", -1), Call("zk_step", -1), commit, deliver("response", True),
        ask, deliver("response"),
    ]  # fmt: skip
    failing = [
        ask, Call("restart_broker", 0), deliver("request"), deliver("response"), ask, deliver("request"),
        Call("fail_over"),
        Call("advance", 150_000), ask, deliver("request"), commit, Call("restart_broker", 0), deliver("response"),
        Call("snapshot"),
    ]  # fmt: skip
    exhausting = [*[ask, deliver("request"), commit, deliver("response"), ask, ask, Call("advance", 200)] * 5]
    bridge = [Call("upgrade_broker", 0), Call("upgrade_broker", 1), *fetch, Call("migrate")]
    middle = bridge if variant == "bridge" else []
    return [
        *(direct if variant != "kraft" else []),
        *middle,
        *(fetch + failing + exhausting if variant != "zookeeper" else []),
    ]


def go_on(calls: tuple[str, ...], run: Run) -> Iterator[None]:
    """Make these calls, and then some rounds, and yield after each round so that the state can be judged."""
    for call_name in calls:
        if call_name == "restart_broker":
            for broker in range(run.config["brokers"]):
                run.call(Call(call_name, broker))
        else:
            run.call(Call(call_name))
    for _ in range(ROUNDS):
        _a_round(run)
        yield


WAYS: dict[str, Callable[[Run], Iterator[None]]] = {
    "": partial(go_on, ()),
    "a fail-over": partial(go_on, ("fail_over",)),
    "a snapshot and a fail-over": partial(go_on, ("commit", "snapshot", "fail_over")),
    "restarts": partial(go_on, ("restart_broker",)),
    "a fail-over and restarts": partial(go_on, ("fail_over", "restart_broker")),
}


def _a_round(run: Run) -> None:
    zookeeper = run.config["mode"] != "kraft"
    for broker in range(run.config["brokers"]):
        for _ in range(ASKS):
            run.call(Call("init_producer_id", broker))
        for operations in range(4 if zookeeper else 0):
            run.call(Call("zk_step", broker if operations % 2 == 0 else -1))
    for kind in ("request", "response"):
        for message in list(run.system.messages())[:DELIVERIES]:
            if message[1] == kind:
                run.call(Call("deliver", Named((kind, message[2]))))
        for _ in range(2 if zookeeper else 0):
            run.call(Call("zk_step", -1))
        run.call(Call("commit"))
    run.call(Call("advance", 200))


# These strategies determine what Hypothesis does with clusters that hand out producer ids: their sizes, and how each
# mode is driven.


def sizes(mode: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for small clusters with small blocks, most of them with few ids.

    In bridge mode no block ends exactly one past the last id, where ZooKeeper and KRaft have different limits.
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
        config, counts, st.integers(smallest, 4), st.sampled_from((500, 2, 3, 500, 5, 8)),
        st.integers(0, 3),
        st.sampled_from((0.9, 0.0, 0.5)),
    )  # fmt: skip


MACHINES = {
    **variants(Kraft, {"kraft": sizes("kraft")}),
    **variants(Direct, {"zookeeper": sizes("zookeeper")}),
    **variants(Bridge, {"bridge": sizes("bridge")}),
}


# This context has what a driven run of producer id blocks reveals in addition to its events, and the limits of its ids.

BLOCK = 1_000
"""A block has `BLOCK` ids, unless the configuration sets another length (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""


class BlocksContext(RunContext):
    """`BlocksContext` judges only the promises. What else must hold of histories is left to the model, which reports a
    deviation where this context would report only the harm."""

    left_to_the_model = frozenset({
        "answered_after_commit", "handed_out_after_grant", "ids_within_blocks", "ids_increase", "blocks_contiguous",
        "blocks_well_formed",
    })  # fmt: skip

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.answers: set[tuple[int, ...]] = set()
        self.longest = int(config.get("block_size", BLOCK))
        self.asked_for = 0
        self.alive = True

    def events(self, made: Made) -> Sequence[Event]:
        """Return the events of a call. A client that was given an id counts as an event even if the system emits none,
        and a repeated answer grants nothing."""
        observed = [event for event in made.events if not self._is_repeated(event)]
        if made.call.name == "init_producer_id" and not any(read(e, "kind") == "id_handed_out" for e in observed):
            error, producer_id = made.result
            handed_out = {"kind": "id_handed_out", "broker": made.call.index("brokers"), "producer_id": producer_id}
            return observed if error else [*observed, handed_out]
        return observed

    def _is_repeated(self, event: Event) -> bool:
        if read(event, "kind") != "answer_sent" or read(event, "error", 0) or read(event, "request", -1) < 0:
            return False
        answer = tuple(read(event, column) for column in ("request", "first", "length"))
        if answer in self.answers:
            return True
        self.answers.add(answer)
        return False

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterator[tuple[Broken, Concerned]]:
        """Yield a violation if an id is outside the configured ids, to which ZooKeeper may add the id max_id."""
        ids = self.config["max_id"] + (self.config["mode"] != "kraft")
        for event in events:
            if read(event, "kind") == "id_handed_out" and not 0 <= read(event, "producer_id") < ids:
                words = f"id {read(event, 'producer_id')} is handed out, and ids run from 0 to {ids - 1}"
                yield Broken("730.16", words, event), frozenset()
        self._note(made)
        if isinstance(made.result, Settled) and self.alive:
            yield from ((broken, frozenset()) for broken in self._starving(made.result))

    def _note(self, made: Made) -> None:
        """Count how many ids blocks may have taken at most, used or lost."""
        match made.call.name:
            case "deliver" if made.call.kind == "request":
                self.asked_for += 1
            case "zk_step":
                self.asked_for += 1
            case "settle":
                self.asked_for += getattr(made.result, "asked_for", 0)
            case "set_block_size":
                self.longest = max(self.longest, made.call.get("size"))
            case "set_cluster_action" if self.config.get("authorization_error") == "fatal":
                self.alive = False  # a broker that may not ask terminates (730.5)

    def _starving(self, settled: Settled) -> Iterator[Broken]:
        """Yield violations of 730.P3, as long as there are ids."""
        if not settled.quiet:
            yield Broken("730.P3", "messages, or writes to ZooKeeper, do not come to an end", check="result.quiet")
        elif settled.starving and (self.asked_for + 1) * self.longest < self.config["max_id"]:
            words = f"broker {settled.starving[0]} gets no id though faults are over, however often its clients ask"
            yield Broken("730.P3", words, check=f"{settled.starving[0]} not in result.starving")


# What producer id blocks bring to agreement: the plug, the machines, and three variants of the model.

MODELS = {"kraft": Lengths, "zookeeper": Zookeeper, "bridge": BridgeModel}
ENOUGH = 1 << 20  # more restarts, elections and writes than any program has
EXPECTED = {
    "init_producer_id": ("request_sent",),
    "commit": ("block_committed", "answer_sent"), "snapshot": ("snapshot_taken",),
    "advance": ("request_timed_out",),
}  # fmt: skip


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    return _followed(variant, config["brokers"], config["block_size"], config["max_id"])


@lru_cache(maxsize=256)
def _followed(variant: str, brokers: int, size: int, max_id: int) -> Followed:
    """Return the model of a cluster of this size.

    ZooKeeper mode compares the last id of the present block with the end of the ids, and KRaft the first id of the next
    one, so that ZooKeeper may give away the id ``max_id`` as well (ProducerIdManager.scala until 3.9). In the model of
    KRaft ``size`` is the longest block.
    """
    longest = max(size, *SIZES) if variant == "kraft" else size
    return Followed(
        variant=variant,
        spec=settle(MODELS[variant].spec),
        constants={"size": longest, "ids": max_id + 1 if variant == "zookeeper" else max_id},
        bounds={
            "brokers": brokers, "requests": SLOTS, "controllers": ENOUGH, "ids": max_id + longest, "restarts": ENOUGH,
        },
        columns=DRIVEN_COLUMNS, observations=DRIVEN[variant],
        afterwards=AFTERWARDS_BY_VARIANT[variant],
        says=AFTERWARDS,
        calls=CALLS,
        interpreter=partial(BlocksInterpreter, brokers, size),
        expected=EXPECTED,
        ignored=frozenset({"broker_stopped"}),  # a restart is one step of the model
        unguessed=frozenset({"request_refused"}),  # its error answer reveals it
        errors=Call.errors,
        cleared=frozenset({"lose", "forget"}),
    )  # fmt: skip


ID_BLOCKS = Agreeing(
    protocol="id-blocks",
    says="producer id blocks",
    machines=MACHINES,
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    context=BlocksContext,
    call=Call,
    ways=WAYS,
    follow=follow,
    call_of=call_of,
    composite=frozenset({"settle"}),
    ending=frozenset({"settle"}),
    steps=14,
)


# Known bugs, each on the machine of its mode.

KNOWN_BUGS = KnownBugs(seed=0, brokers=2, controllers=3, block_size=10, max_id=1000)


@KNOWN_BUGS.bug("KAFKA-15552", defect="migrates_from_block_start", mode="bridge")
def migration_reissues_a_block(machine: Bridge) -> None:
    """KAFKA-15552: ZooKeeper holds the block in use, KRaft needs the next free id, and the migration copied the former.

    Broker 0 takes [0, 9] from ZooKeeper through the controller and hands out 0. After the migration broker 1 asks
    KRaft: starting at the block's first id it gets [0, 9] again, starting after its last it gets [10, 19].
    """
    for broker in (0, 1):
        machine.call("upgrade_broker", broker)
    machine.fetch(0)
    machine.ask(0)
    machine.call("migrate")
    machine.fetch(1)
    machine.ask(1)


@KNOWN_BUGS.bug("KAFKA-14694", defect="shared_claim_counter", mode="kraft")
def claim_counter_shared_over_blocks(machine: Rpc) -> None:
    """KAFKA-14694: a first asynchronous version let the claim counter of one block act on another.

    The prefetched block arrives while the current one still has an id. A counter that is not tied to its block starts
    again, and the current block is handed out from its beginning.
    """
    for _ in range(11):  # the last of these is the 90 % mark: the next block is requested
        machine.fetch(0)
    machine.ask(0)


@KNOWN_BUGS.bug("KAFKA-20114", defect="double_prefetch", mode="kraft")
def second_prefetch_overwrites_the_first(machine: Rpc) -> None:
    """KAFKA-20114: two demands see the block used up and both ask, and the second answer replaces the first.

    No id is handed out twice, broken or not, but the broken broker loses a whole block.
    """
    machine.ask(0)
    machine.fetch(0)
    machine.ask(0)


@KNOWN_BUGS.bug("answer-before-commit", defect="answers_before_commit", mode="kraft")
def answered_before_commit(machine: Rpc) -> None:
    """A controller that answers before its record is committed loses the block. The KIP does not state that the commit
    comes *before* the answer.

    Broker 0 gets [0, 9] from a controller that dies with the record uncommitted. The next one gives [0, 9] to broker 1.
    If the controller waits for the commit, broker 0's answer dies with the controller instead.
    """
    machine.ask(0)
    machine.deliver_all()
    machine.call("fail_over")
    machine.fetch(1)
    for broker in (0, 1):
        machine.ask(broker)
