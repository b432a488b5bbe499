"""A worker: a process that is started, stalls, crashes and is restarted, with its herder and its other threads."""

from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import SUPPORT_CODES, Kind
from fencepost.reference_impl.task_counts.herder.herder import Herder

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment


class Worker:
    """One worker; `lives` counts its starts, `herder` is None while it is down."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        self.env = env
        self.node = node
        self.support = support
        self.lives = 0
        self.herder: Herder | None = None

    @property
    def is_stalled(self) -> bool:
        """Whether it stands still."""
        return self.node in self.env.threads.stalled

    def start(self) -> None:
        """A new life: nothing is known but the configuration."""
        self.lives += 1
        self.env.emit(Kind.WORKER_STARTED, node=self.node, support=SUPPORT_CODES[self.support])
        self.herder = self.env.parts.herder(self.env, self.node, self.support)
        self.env.threads.start(self.node, self.herder.run())
        self.env.threads.start(self.node, self.herder.view.background())

    def crash(self) -> None:
        """The process is gone at once; crashing twice is crashing once."""
        if self.herder is not None:
            self.env.threads.kill(self.node)
            self.env.threads.stalled.discard(self.node)
            self.herder = None
            self.env.emit(Kind.WORKER_STOPPED, node=self.node)
