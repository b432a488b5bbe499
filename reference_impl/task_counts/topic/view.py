"""A worker's view of the config topic: what it has read so far, and its listeners.

A background thread reads on, one record at a time; a thread that needs to know more reads to the end itself, which
moves the same view on. The isolation level is read_committed only with exactly-once support enabled.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.tasks.threads import Operation, OperationError, Script, Wait
from fencepost.reference_impl.task_counts.topic import records
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.records import Parsed

if TYPE_CHECKING:
    from fencepost.reference_impl.task_counts.environment import Environment

# Told of a record: what it says, its offset, and whether its connector was known before.
Listener = Callable[[Parsed, int, bool], object]


class View:
    """One life of one worker. `position` is exclusive: the next record to read, or the end."""

    def __init__(self, env: "Environment", node: int, committed: bool, listener: Listener) -> None:
        self.env = env
        self.node = node
        self.committed = committed
        self.listener = listener
        self.state: ClusterConfigState = env.parts.state()
        self.position = 0

    def is_behind(self) -> bool:
        """Whether there is a record to read."""
        topic = self.env.topic
        # Asked over and over, mostly by who is at the very end of the log, readable or not.
        if self.position >= len(topic.leader.log.batches) or self.position >= topic.end(self.committed):
            return False
        return topic.read(self.position, self.committed) is not None

    def read_one(self) -> None:
        """Read the next record."""
        self.take_next()
        self.env.emit(Kind.TOPIC_READ, node=self.node, offset=self.position)

    def read_to_end(self) -> None:
        """Read everything that is there now (KafkaBasedLog.readToEnd)."""
        while self.take_next():
            pass
        self.env.emit(Kind.TOPIC_READ, node=self.node, offset=self.position)

    def take_next(self) -> bool:
        """Apply the next record, and tell the listener; False at the end."""
        topic = self.env.topic
        following = topic.read(self.position, self.committed)
        if following is None:
            self.position = topic.end(self.committed)
            return False
        offset, record = following
        parsed = records.parse(record)
        known = self.state.is_known(parsed.connector)
        self.state.apply(record, offset)
        self.position = topic.position(offset + 1, self.committed)
        self.listener(parsed, offset, known)
        return True

    def background(self) -> Script:
        """The thread that reads on for ever (KafkaBasedLog's work thread)."""
        while True:
            yield Wait(self.is_behind)
            try:
                yield Operation("read", self.node, self.read_one, interrupted=self.is_at_end)
            except OperationError:
                continue  # a poll without success is polled again

    def is_at_end(self) -> bool:
        """Whether another thread has read to the end meanwhile."""
        return not self.is_behind()
