"""The promises of KIP-618 about who may run, held against observable events alone: no model, one pass, every
implementation.

Topics, coordinators and REST show enough for all of them.  With a worker that lacks support, or a foreign writer,
nothing is promised (618.33, 618.34): what breaks then is *predicted* where it is ``expecting`` to.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fencepost.properties.driving import Made, Message
from fencepost.properties.monitoring import Broken
from fencepost.properties.task_counts.driving.settling import Finished
from fencepost.properties.task_counts.monitoring.seen import Seen
from fencepost.properties.task_counts.monitoring.tasks import look_at_task
from fencepost.properties.task_counts.monitoring.topic import TopicWatch

BOUNDARY = frozenset({"618.P1", "618.P3"})
"""What breaks where the documents draw the line."""


class Monitor:
    """Feed it calls in order; ``found`` is the first promise or rule that is broken and should not be."""

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str] = frozenset()) -> None:
        self.seen = Seen(config)
        self.topic = TopicWatch(self.seen)
        self.expecting = expecting
        self.only: frozenset[str] | None = None
        self.observed: frozenset[str] | None = None
        self.calls = 0
        self.found: Broken | None = None
        self.predicted: list[Broken] = []

    def watch(self, made: Made, messages: Sequence[Message] = ()) -> None:
        """Take note of a call with its result and events; ``messages``: the threads that wait after it."""
        self.calls += 1
        for event in made.events:
            for broken in self._look(event):
                self._judge(broken)
        if isinstance(made.result, Finished):
            for broken in self._at_rest(made.result):
                self._judge(broken)

    def _look(self, event: Any) -> Iterator[Broken]:
        yield from self.topic.look(event)
        self.seen.note(event)
        yield from look_at_task(self.seen, event)

    def _at_rest(self, finished: Finished) -> Iterator[Broken]:
        """The faults are over: every task of the newest set polls."""
        up = set(range(self.seen.config["workers"])) - self.seen.down
        if not up or self.seen.outside:
            return
        if not finished.quiet:
            yield Broken("618.P4", "the cluster does not come to rest", check="result.quiet")
            return
        for connector, topic in sorted(self.seen.topics.items()):
            if topic.deleted or not topic.sets:
                continue
            at_work = {i.task for i in self.seen.running(connector) if i.set == topic.newest}
            for task in sorted(set(range(topic.size)) - at_work):
                words = f"task {task} of connector {connector} never polls, though all faults are over"
                check = "" if (connector, task) in finished.at_work else f"({connector}, {task}) in result.at_work"
                yield Broken("618.P4", words, check=check)

    def _judge(self, broken: Broken) -> None:
        broken = replace(broken, call=self.calls)
        if self.only is not None and broken.rule not in self.only:
            return
        if self.seen.outside and broken.rule in self.expecting:
            self.predicted.append(broken)
        elif not self.seen.outside or broken.rule not in BOUNDARY | LED:
            self.found = self.found or broken


LED = frozenset({"618.2", "618.3", "618.5", "618.7", "618.19", "618.24", "618.26", "618.42"})
"""Rules that seem broken where somebody has no part in them."""
