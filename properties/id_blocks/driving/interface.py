"""The plug: what fencepost needs of an implementation of producer id blocks to drive it and to watch it.

Structural: nothing has to be imported or inherited.  ``factory(config)`` makes a cluster; the driver decides every
delivery, loss, restart, fail-over, commit and passing of time, and reads back events.  Config keys: ``seed``,
``brokers``, ``controllers``, ``block_size``, ``max_id`` (ids run from 0 to max_id - 1), ``mode`` ("kraft", "zookeeper",
"bridge"), ``prefetch`` (share of a block after which the next one is asked for; 0: not before it is used up).

Of the events only ``request_sent``, ``answer_sent``, ``id_handed_out`` and ``id_refused`` are needed; every further
kind of the history vocabulary that an implementation emits is held against the model as well, and makes the first
difference show earlier.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

from fencepost.properties import calls
from fencepost.properties.driving import Event
from fencepost.properties.id_blocks.history.events import ID_BLOCKS
from fencepost.properties.roles import Index, InFlight, OneOf

Message = tuple[int, str, int, int]
"""(number, "request" or "response", broker, correlation number of the request)."""

CONTROLLER = -1
"""In place of a broker: the ZooKeeper-mode controller."""

SIZES = (1, 2, 3, 5)
"""Lengths of blocks that a driver asks for."""

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
"""What every implementation can show."""

COLUMNS = ID_BLOCKS.names
"""What an event may say, by name."""


class System(Protocol):
    """A cluster that does nothing by itself: all brokers are up and registered, and nothing happens between two
    calls."""

    def messages(self) -> Sequence[Message]:
        """What is in flight, oldest first."""

    def deliver(self, number: Number, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: Lost) -> None:
        """Lose one message."""

    def init_producer_id(self, broker: Broker) -> tuple[int, int]:
        """A client asks: (0, id), or (14, -1) if there is none at hand.  Never blocks."""

    def restart_broker(self, broker: Broker) -> None:
        """Crash and come back with a new epoch and an empty memory; old messages stay in flight."""

    def fail_over(self) -> None:
        """The active controller dies, and another takes over from the committed log."""

    def commit(self) -> None:
        """Everything appended becomes majority-committed, and the answers that wait for it are sent."""

    def snapshot(self) -> None:
        """The active controller writes a snapshot and truncates its log."""

    def advance(self, ms: Ms) -> None:
        """Virtual milliseconds pass: a back-off is over after 50, a request is given up some time within two
        minutes."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


class BridgeSystem(System, Protocol):
    """In modes "zookeeper" and "bridge" also:"""

    def zk_step(self, broker: Broker) -> bool:
        """The next ZooKeeper operation of a broker (-1: of the controller); False if there is none to do."""

    def upgrade_broker(self, broker: Broker) -> bool:
        """Restart a broker with a version that uses the RPC; False if it does already."""

    def migrate(self) -> bool:
        """Move to KRaft; False if the cluster is not ready for it."""


class Permissions(Protocol):
    """Optional: a cluster that has it shows what it does about CLUSTER_AUTHORIZATION_FAILED."""

    def set_cluster_action(self, broker: Broker, allowed: bool) -> None:
        """Give a broker the permission that AllocateProducerIds needs, or take it away."""


class Lengths(Protocol):
    """Optional: a cluster that has it shows that brokers take the length of a block from the answer (730.8)."""

    def set_block_size(self, size: Size) -> None:
        """The active KRaft controller makes blocks of this many ids from now on, as one of another version does;
        a controller that takes over makes blocks of ``block_size``."""


def missing(system: Any, variant: str) -> list[str]:
    """Methods of the plug that an implementation lacks in the mode of a variant."""
    return calls.missing(system, (System,) if variant == "kraft" else (System, BridgeSystem))
