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
from typing import Any, Protocol

from fencepost.properties.driving import Event
from fencepost.properties.id_blocks.history.events import ID_BLOCKS

Message = tuple[int, str, int, int]
"""(number, "request" or "response", broker, correlation number of the request)."""

BLACK_BOX = ID_BLOCKS.black_box
"""What every implementation can show."""

COLUMNS = ID_BLOCKS.names
"""What an event may say, by name."""


class System(Protocol):
    """A cluster that does nothing by itself: all brokers are up and registered, and nothing happens between two
    calls."""

    def messages(self) -> Sequence[Message]:
        """What is in flight, oldest first."""

    def deliver(self, number: int, keep: bool = False) -> None:
        """Deliver one message now; with ``keep`` a copy stays in flight."""

    def drop(self, number: int) -> None:
        """Lose one message."""

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        """A client asks: (0, id), or (14, -1) if there is none at hand.  Never blocks."""

    def restart_broker(self, broker: int) -> None:
        """Crash and come back with a new epoch and an empty memory; old messages stay in flight."""

    def fail_over(self) -> None:
        """The active controller dies, and another takes over from the committed log."""

    def commit(self) -> None:
        """Everything appended becomes majority-committed, and the answers that wait for it are sent."""

    def snapshot(self) -> None:
        """The active controller writes a snapshot and truncates its log."""

    def advance(self, ms: int) -> None:
        """Virtual milliseconds pass: a back-off is over after 50, a request is given up some time within two
        minutes."""

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order."""


class BridgeSystem(System, Protocol):
    """In modes "zookeeper" and "bridge" also:"""

    def zk_step(self, broker: int) -> bool:
        """The next ZooKeeper operation of a broker (-1: of the controller); False if there is none to do."""

    def upgrade_broker(self, broker: int) -> bool:
        """Restart a broker with a version that uses the RPC; False if it does already."""

    def migrate(self) -> bool:
        """Move to KRaft; False if the cluster is not ready for it."""


class Permissions(Protocol):
    """Optional: a cluster that has it shows what it does about CLUSTER_AUTHORIZATION_FAILED."""

    def set_cluster_action(self, broker: int, allowed: bool) -> None:
        """Give a broker the permission that AllocateProducerIds needs, or take it away."""


def missing(system: Any, variant: str) -> list[str]:
    """Methods of the plug that an implementation lacks in the mode of a variant."""
    needed = (System,) if variant == "kraft" else (System, BridgeSystem)
    names = [name for plug in needed for name in vars(plug) if not name.startswith("_")]
    return [name for name in names if not callable(getattr(system, name, None))]
