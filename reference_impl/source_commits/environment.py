"""The environment of one source task: configuration, clock, event log, topics, upstream, and numbers."""

from typing import TYPE_CHECKING

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.environment import Environment as Shared
from fencepost.reference_impl.simulation.environment import numbered
from fencepost.reference_impl.source_commits.config import Config
from fencepost.reference_impl.source_commits.events import SourceEventLog
from fencepost.reference_impl.source_commits.kafka import Topics
from fencepost.reference_impl.source_commits.upstream import Upstream

if TYPE_CHECKING:
    from fencepost.reference_impl.source_commits.parts import Parts
    from fencepost.reference_impl.source_commits.runtime.exactly_once import ExactlyOnceTask


class Environment(Shared[Config]):
    """One per task. `parts` are what a broken implementation replaces; `unfinished` is the instance whose transaction
    is neither committed nor aborted, if there is one."""

    __slots__ = ("__weakref__", "next_waiting", "parts", "topics", "unfinished", "upstream")

    log_type = SourceEventLog
    next_instance = numbered("instance")
    next_flush = numbered("flush")

    def __init__(self, config: Config, kernel: Kernel, parts: "Parts") -> None:
        super().__init__(config, kernel)
        self.parts = parts
        self.topics = Topics(config.outputs, config.partitions)
        self.upstream = Upstream(config.partitions, config.records)
        self.unfinished: ExactlyOnceTask | None = None
        self.next_waiting = 0  # a number for each thing that waits for the driver

    def waiting_number(self) -> int:
        """A number for something that waits from now on."""
        number = self.next_waiting
        self.next_waiting = number + 1
        return number
