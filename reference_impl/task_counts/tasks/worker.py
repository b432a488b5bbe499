"""A worker: a process that is started, stalls, crashes and is restarted, with its herder and its other threads."""

from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import SUPPORT_CODES, Kind
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.permissions import missing_topics

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment


INTERNAL_TOPICS = ("connect-configs", "connect-offsets", "connect-status")


class Worker:
    """One worker; `lives` counts its starts, `herder` is None while it is down; `failure` is why its start failed."""

    def __init__(self, env: "Environment", node: int, support: str) -> None:
        self.env = env
        self.node = node
        self.support = support
        self.lives = 0
        self.failure = ""
        self.herder: Herder | None = None

    @property
    def is_stalled(self) -> bool:
        """Whether it stands still."""
        return self.node in self.env.threads.stalled

    def start(self) -> None:
        """A new life: nothing is known but the configuration. It ends at once without its internal topics (618.54)."""
        self.lives += 1
        self.failure = ""
        self.env.emit(Kind.WORKER_STARTED, node=self.node, support=SUPPORT_CODES[self.support])
        missing = self.missing()
        if missing:
            self.failure = missing_topics(missing)
            self.env.emit(Kind.WORKER_STOPPED, node=self.node)
            return
        self.herder = self.env.parts.herder(self.env, self.node, self.support)
        self.env.threads.start(self.node, self.herder.run())
        self.env.threads.start(self.node, self.herder.view.background())

    def missing(self) -> list[str]:
        """The topics that workers share, and that there are not: none where workers create them."""
        if self.env.config.creates_internal_topics:
            return []
        return [topic for topic in INTERNAL_TOPICS if topic not in self.env.brokers.internal]

    def crash(self) -> None:
        """The process is gone at once; crashing twice is crashing once."""
        if self.herder is not None:
            self.env.threads.kill(self.node)
            self.env.threads.stalled.discard(self.node)
            self.herder = None
            self.env.emit(Kind.WORKER_STOPPED, node=self.node)
