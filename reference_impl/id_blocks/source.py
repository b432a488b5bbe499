"""Where a broker gets its ids from: over the RPC (`broker.ProducerIds`) or straight from ZooKeeper
(`zookeeper.DirectProducerIds`). An upgrade replaces the one by the other; a broken implementation is a third."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from fencepost.reference_impl.id_blocks.environment import Environment
from fencepost.reference_impl.id_blocks.messages import ResponseBody

if TYPE_CHECKING:  # the broker makes its source anew in every life, so each needs the other's type
    from fencepost.reference_impl.id_blocks.broker import Broker


class IdSource(Protocol):
    """One life's supply of producer ids."""

    def claim(self) -> int:
        """The next id, or -1 when there is none at hand; then a block is asked for. Never blocks."""

    def after_claim(self, producer_id: int) -> None:
        """The id has been handed out: prefetch if it is time."""

    def answer(self, body: ResponseBody) -> None:
        """An answer of the controller arrives."""

    def step(self) -> bool:
        """Do the next ZooKeeper operation; False if there is none to do."""


SourceFactory = Callable[[Environment, "Broker"], IdSource]
