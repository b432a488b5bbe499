"""This module defines what fencepost needs of an implementation of producer id blocks to drive it and to watch it, how
a run comes to rest, and calls as data.

The interface is structural: nothing has to be imported or inherited. ``factory(config)`` makes a cluster. The driver
decides every delivery, loss, restart, fail-over, commit and passing of time, and reads back events. The config keys are
``seed``, ``brokers``, ``controllers``, ``block_size``, ``max_id`` (ids run from 0 to max_id - 1), ``mode`` ("kraft",
"zookeeper", "bridge"), and ``prefetch`` (share of a block after which the next one is asked for; 0: not before it is
used up).

An implementation has to emit only ``request_sent``, ``answer_sent``, ``id_handed_out`` and ``id_refused``. Each further
kind of the history vocabulary that it emits is checked against the model as well, and reveals the first difference
earlier.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.roles import Amount, FromConfig, Index, InFlight, Named, OneOf, Simplest

Message = tuple[int, str, int, int]
"""A `Message` is (number, "request" or "response", broker, correlation number of the request)."""

CONTROLLER = -1
"""`CONTROLLER` stands in place of a broker for the ZooKeeper-mode controller."""

SIZES = (1, 2, 3, 5)
"""A driver asks for blocks of the lengths in `SIZES`."""

Broker = Annotated[int, Index("brokers")]


def _remark(message: Message) -> str:
    return f"{message[1]} {'to' if message[1] == 'response' else 'of'} broker {message[2]}"


_WAITING = InFlight((None, Index("brokers")), _remark, among=6)
Number = Annotated[int, _WAITING]
Waiting = Annotated[Message, _WAITING]
Lost = Annotated[int, InFlight((None, Index("brokers")), _remark, happens=False, among=6)]
Size = Annotated[int, OneOf(*SIZES)]
Ms = Annotated[int, OneOf(20, 50, 200, 1_200, 150_000)]

BLACK_BOX = ID_BLOCKS.black_box

COLUMNS = ID_BLOCKS.names


class System(Protocol):
    """A `System` is a cluster with all brokers up and registered, in which nothing happens between two calls."""

    def messages(self) -> Sequence[Message]:
        """Return the messages in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now. With ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def init_producer_id(self, broker: Broker) -> tuple[int, int]:
        """Ask for an id as a client, without blocking, and return (0, id), or (14, -1) if there is none at hand."""

    def restart_broker(self, broker: Broker) -> None:
        """Crash a broker, which comes back with a new epoch and an empty memory, while old messages stay in flight."""

    def fail_over(self) -> None:
        """End the active controller, so that another one takes over from the committed log."""

    def commit(self) -> None:
        """Commit everything appended by a majority, and send the answers that wait for it."""

    def snapshot(self) -> None:
        """Let the active controller write a snapshot and truncate its log."""

    def advance(self, ms: Ms) -> None:
        """Let virtual milliseconds pass. A back-off ends after 50, and a request is given up within two minutes."""

    def drain_events(self) -> Sequence[Event]:
        """Return the events since the last call, in order."""


class BridgeSystem(System, Protocol):
    """A system in modes "zookeeper" and "bridge" also has the methods of `BridgeSystem`."""

    def zk_step(self, broker: Broker) -> bool:
        """Do the next ZooKeeper operation of a broker (-1: of the controller), and return False if there is none."""

    def upgrade_broker(self, broker: Broker) -> bool:
        """Restart a broker with a version that uses the RPC, and return False if it does already."""

    def migrate(self) -> bool:
        """Move to KRaft, and return False if the cluster is not ready for it."""


class Permissions(Protocol):
    """A cluster with the optional method of `Permissions` reveals its behaviour after CLUSTER_AUTHORIZATION_FAILED."""

    def set_cluster_action(self, broker: Broker, allowed: bool) -> None:
        """Grant or revoke the broker's permission that AllocateProducerIds needs."""


class Lengths(Protocol):
    """A cluster with `Lengths` reveals that brokers take a block's length from the answer (730.8)."""

    def set_block_size(self, size: Size) -> None:
        """Let the active KRaft controller make blocks of this many ids from now on, as a controller of another version
        does. A controller that takes over makes blocks of ``block_size``."""


def missing(system: Any, variant: str) -> list[str]:
    return calls.missing(system, (System,) if variant == "kraft" else (System, BridgeSystem))


# `settle` ends the faults, lets everything arrive, and lets a client of every broker ask for ids again and again.
#
# The machines use it at the end of every example, as do the programs that they write, so it needs nothing but the
# interface.

PATIENCE_MS = 150_000
"""After `PATIENCE_MS` back-offs are over, and requests that are not answered are given up."""
ROUNDS, FEW_IDS, USED_UP = 5, 200, 60
"""A broker must get an id within `ROUNDS` rounds. With at most `FEW_IDS` ids there are further rounds, until no id is
given any more or `USED_UP` rounds are over."""
ASKS = 24
"""The clients of a broker ask at most `ASKS` times in one round."""
OPERATIONS = 40
"""A round with more than `OPERATIONS` deliveries, or ZooKeeper steps of one broker, never comes to rest."""


class Settled(NamedTuple):
    """A `Settled` is the result of `settle`. ``quiet`` is False if some activity never ended. ``starving`` has the
    brokers whose clients got no id after the first round, however often they asked. ``asked_for`` is how many blocks
    may have been asked for."""

    quiet: bool
    starving: tuple[int, ...]
    asked_for: int


def settle(
    system: System,
    brokers: Annotated[int, FromConfig("brokers")],
    ids: Annotated[int, FromConfig("max_id")],
    zookeeper: Annotated[bool, FromConfig(lambda config: config.get("mode", "kraft") != "kraft")] = False,
) -> Settled:
    """Let every broker ask the controller, let everything arrive, be committed and written, let time pass, and let
    clients ask until there is nothing left, in each of some rounds."""
    permit = getattr(system, "set_cluster_action", None)
    if callable(permit):
        for broker in range(brokers):
            permit(broker, True)
    quiet, asked_for, given = True, 0, Counter[int]()
    for number in range(USED_UP):
        got = [next((n for n in range(ASKS) if system.init_producer_id(b)[0]), ASKS) for b in range(brokers)]
        if number >= ROUNDS and (ids > FEW_IDS or not any(got)):
            break
        given.update(dict(enumerate(got)) if 0 < number < ROUNDS else {})
        for _ in range(2):  # an answer may have to wait for the commit
            rests, requests = _deliver(system, brokers, zookeeper)
            quiet, asked_for = quiet and rests, asked_for + requests
            system.commit()
        system.advance(PATIENCE_MS)
    return Settled(quiet, tuple(broker for broker in range(brokers) if not given[broker]), asked_for)


def _deliver(system: System, brokers: int, zookeeper: bool) -> tuple[bool, int]:
    """Deliver and write everything, and return whether that ends and how many blocks may have been asked for."""
    asked_for = 0
    for _ in range(OPERATIONS):
        waiting = system.messages()
        if waiting:
            asked_for += waiting[0][1] == "request"
            system.deliver(waiting[0][0])
        elif not zookeeper or not sum(_step(system, one) for one in (CONTROLLER, *range(brokers))):
            return True, asked_for
        else:
            asked_for += brokers
    return False, asked_for


def _step(system: System, broker: int) -> bool:
    assert hasattr(system, "zk_step"), BridgeSystem.__doc__
    return bool(system.zk_step(broker))


# These are the programs on producer id blocks: the calls of the interface, what makes a program simpler, and the calls
# for a run of the model.


class Call(calls.Call):
    interface = (System, BridgeSystem, Permissions, Lengths)
    helpers = (settle,)
    columns = COLUMNS
    errors = ID_BLOCKS.errors
    filled = ID_BLOCKS.used_by
    keys: ClassVar = {
        "brokers": Amount(),
        "controllers": Amount(),
        "prefetch": Simplest(0.0),
        "block_size": Amount(lambda config: 2 if config["mode"] == "bridge" else 1),
        "max_id": Simplest(1_000_001),  # odd and large: the end of the ids plays no part
    }
    moving = ("brokers",)
    dangerous: ClassVar = {
        "deliver keep": ("duplicate",), "drop": ("loss",), "drop response": ("lost-answer",),
        "restart_broker": ("broker-restart",), "fail_over": ("coordinator-fail-over",), "snapshot": ("truncation",),
        "upgrade_broker": ("mixed-clients",),
    }  # fmt: skip


_BROKER_CALLS = {
    "ask": "init_producer_id", "hand_out": "init_producer_id", "install": "init_producer_id",
    "restart": "restart_broker",
    "read": "zk_step", "write": "zk_step", "conflict": "zk_step", "upgrade": "upgrade_broker",
}  # fmt: skip
_CONTROLLER_CALLS = {
    "commit": "commit", "fail_over": "fail_over", "take_snapshot": "snapshot", "move": "migrate",
    "controller_read": "zk_step", "controller_write": "zk_step", "controller_conflict": "zk_step",
}  # fmt: skip
_WAITS = {"end_back_off": 200, "time_out": 150_000, "time_out_early": 150_000}
_REQUEST_DELIVERED = frozenset({"allocate", "refuse", "turn_away", "answer_again"})
_ANSWER_DELIVERED = frozenset({"take", "fail", "reject"})


def call_of(action: str, parameters: Mapping[str, Any]) -> Call | None:
    """Return the call for a step of the model.

    A step that no driver causes (registering, answering, forgetting) has none, nor has an unknown variant's action.
    """
    broker = parameters.get("b", -1)
    if action in _BROKER_CALLS:
        return Call(_BROKER_CALLS[action], broker)
    if action in _CONTROLLER_CALLS:
        name = _CONTROLLER_CALLS[action]
        return Call(name, CONTROLLER) if name == "zk_step" else Call(name)
    if action in _WAITS:
        return Call("advance", _WAITS[action])
    if action in _REQUEST_DELIVERED and broker >= 0:
        return Call("deliver", Named(("request", broker)))
    if action in _ANSWER_DELIVERED:
        return Call("deliver", Named(("response", broker)))
    return None
