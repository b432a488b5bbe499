"""Promises about the config topic: who writes, when a count is written, and what a set consists of."""

from collections.abc import Iterator

from fencepost.properties.driving import Event, read
from fencepost.properties.monitoring import Broken
from fencepost.properties.task_counts.monitoring.seen import Seen

BY_LEADERS = frozenset({
    "connector_written", "connector_tombstoned", "task_config_written", "set_written", "count_written",
    "count_tombstoned",
})  # fmt: skip


class TopicWatch:
    """Looks at events before they are noted."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.writer = (-1, -1)  # producer id and epoch of the latest claimant, or writer

    def look(self, event: Event) -> Iterator[Broken]:
        """What an event says of the topic."""
        kind, node = read(event, "kind"), read(event, "node", -1)
        if kind == "topic_claimed":
            self.writer = max(self.writer, _producer(event))
        if kind in BY_LEADERS and node >= 0:
            yield from self._written(event, node)
        if kind == "set_written":
            yield from self._set(event)
        if kind == "count_written" and node >= 0:
            yield from self._count(event)

    def _written(self, event: Event, node: int) -> Iterator[Broken]:
        """Only the producer that was claimed last writes."""
        producer = _producer(event)
        if producer[0] < 0:
            yield Broken("618.24", f"worker {node} writes with a producer that nobody can fence", event)
        elif self.writer[0] not in (-1, producer[0]):
            yield Broken("618.24", f"worker {node} writes with another producer than the leader's", event)
        elif producer < self.writer:
            words = f"worker {node} writes with epoch {producer[1]} after epoch {self.writer[1]}"
            yield Broken("618.26", words, event)
        else:
            self.writer = producer

    def _set(self, event: Event) -> Iterator[Broken]:
        topic, size = self.seen.topics[read(event, "connector")], read(event, "count")
        absent = sorted(set(range(size)) - topic.written)
        if absent:
            words = f"the set of {size} tasks has no configuration of task {absent[0]}"
            yield Broken("618.3", words, event)

    def _count(self, event: Event) -> Iterator[Broken]:
        """It is the newest set's size, and every id of the count before that set was fenced since."""
        topic, count = self.seen.topics[read(event, "connector")], read(event, "count")
        if not topic.sets:
            yield Broken("618.42", f"a count of {count} where there is no set", event)
            return
        if count != topic.size:
            yield Broken(
                "618.42", f"the count after the set at {topic.newest} is {count}, its size {topic.size}", event
            )
        before = topic.count_before(topic.newest)
        if before == topic.size == 1:
            return
        unfenced = [task for task in range(before) if topic.fenced.get(task, -1) < topic.set_since]
        if unfenced:
            words = f"a count is written, and of {before} ids number {unfenced[0]} was not fenced since the set"
            yield Broken("618.7", words, event)


def _producer(event: Event) -> tuple[int, int]:
    return read(event, "producer_id", -1), read(event, "epoch", -1)
