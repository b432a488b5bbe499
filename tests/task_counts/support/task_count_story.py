"""This module builds histories of exactly-once source connectors step by step, as text B of KIP-618 has it, without a
simulation.

    story = TaskCountStory(workers=2)
    story.lead(0)
    story.configure(0, tasks=2)
    one = story.run(node=0, connector=0, task=0)
    story.commit(one)

`story.columns(history)` returns the columns of one history without violations, in which tests change one event.
"""

from collections import defaultdict
from typing import NamedTuple

from fencepost.properties.task_counts.events import SUPPORT, TASK_COUNTS, Kind
from fencepost.properties.task_counts.histories.view import OK
from reported import Reported

FENCED = 90  # PRODUCER_FENCED
LEADER_ID = 0  # producer id of the leader; those of tasks come after


class Instance(NamedTuple):
    """An `Instance` is one start of a task, with its producer id and epoch."""

    number: int
    node: int
    connector: int
    task: int
    set: int
    producer_id: int
    epoch: int


class TaskCountStory(Reported):
    """A `TaskCountStory` has the workers 0 to `workers` - 1, and connectors of up to `most` tasks."""

    vocabulary = TASK_COUNTS

    def __init__(self, workers: int = 2, most: int = 4) -> None:
        super().__init__()
        self.leader, self.most = -1, most
        self.end = 0  # of the config topic
        self.sets: dict[int, tuple[int, int]] = {}  # by connector: offset and size of the newest set
        self.counts: dict[int, tuple[int, int]] = {}  # by connector: offset and value of the latest count
        self._epochs: dict[int, int] = defaultdict(lambda: -1)  # by producer id
        self._numbers: dict[str, int] = defaultdict(int)
        for node in range(workers):
            self.emit(Kind.worker_started, node=node, support=SUPPORT["enabled"])

    def lead(self, node: int) -> None:
        """Rebalance so that this worker leads and claims the topic."""
        self.leader = node
        self.rebalance()
        self.emit(Kind.topic_claimed, node=node, producer_id=LEADER_ID, epoch=self._bumped(LEADER_ID))

    def rebalance(self) -> None:
        """Let the leader make the assignment and take its own."""
        member = self._next("member")
        self.emit(Kind.joined, node=self.leader, member=member)
        self.emit(Kind.assignment_made, node=self.leader, member=member, offset=self.end)
        self.emit(Kind.assigned, node=self.leader, member=member, offset=self.end, count=1)

    def write(self, kind: Kind, connector: int, **values: int) -> int:
        """Write a record in a transaction of the leader, and return its offset."""
        offset, self.end = self.end, self.end + 2  # the marker has an offset too
        own = {"producer_id": LEADER_ID, "epoch": self._epochs[LEADER_ID]}
        self.emit(kind, node=self.leader, connector=connector, offset=offset, **own, **values)
        return offset

    def configure(self, connector: int, tasks: int) -> None:
        """Let a user ask for this many tasks."""
        self.emit(Kind.asked, node=self.leader, connector=connector, count=tasks)
        self.write(Kind.connector_written, connector)
        for task in range(tasks):
            self.write(Kind.task_config_written, connector, task=task)
        self.write(Kind.set_written, connector, count=tasks, set=self.end)
        self.sets[connector] = (self.end - 2, tasks)

    def delete(self, connector: int) -> None:
        """Let a user delete the connector, whose count stays (618.38)."""
        self.emit(Kind.asked, node=self.leader, connector=connector, count=-1)
        self.write(Kind.connector_tombstoned, connector)

    def ask(self, node: int, connector: int, task: int) -> None:
        """Let a task ask for a round, which happens if the newest set needs one."""
        about = {"connector": connector, "request": self._next("request")}
        self.emit(Kind.round_asked, node=node, task=task, **about)
        newest, size = self.sets[connector]
        latest, count = self.counts.get(connector, (-1, 0))
        if latest < newest:
            ids = 0 if (count, size) == (1, 1) else count
            self.round(connector, newest, ids, about["request"])
        self.emit(Kind.round_answered, node=node, task=task, status=OK, **about)

    def round(self, connector: int, newest: int, ids: int, request: int) -> None:
        """Let the leader fence this many ids and write the count."""
        about = {"node": self.leader, "connector": connector, "set": newest, "request": request}
        self.emit(Kind.round_started, count=ids, **about)
        for task in range(ids):
            own = self.producer_id(connector, task)
            self.emit(Kind.id_fenced, task=task, producer_id=own, epoch=self._bumped(own), **about)
        if ids:
            self.emit(Kind.round_checked, **about)
        size = self.sets[connector][1]
        self.counts[connector] = (self.write(Kind.count_written, connector, set=newest, count=size), size)

    def run(self, node: int, connector: int, task: int) -> Instance:
        """Start a task, and let it poll."""
        about = {"node": node, "connector": connector, "task": task, "instance": self._next("instance")}
        about["set"] = self.sets[connector][0]
        self.emit(Kind.task_starting, **about)
        self.ask(node, connector, task)
        self.emit(Kind.topic_read, node=node, offset=self.end)
        self.emit(Kind.task_checked, status=OK, **about)
        own = self.producer_id(connector, task)
        pair = {"producer_id": own, "epoch": self._bumped(own)}
        self.emit(Kind.producer_opened, **about, **pair)
        self.emit(Kind.topic_read, node=node, offset=self.end)
        self.emit(Kind.task_checked_again, status=OK, **about, **pair)
        self.emit(Kind.task_running, **about, **pair)
        return Instance(about["instance"], node, connector, task, about["set"], own, pair["epoch"])

    def commit(self, instance: Instance) -> None:
        """Let the task commit records and their offsets in a transaction."""
        self.report(Kind.records_sent, instance)
        self.report(Kind.transaction_committed, instance)

    def stop(self, instance: Instance) -> None:
        self.report(Kind.task_stopped, instance)

    def refuse(self, instance: Instance) -> None:
        """Let the task send records and find itself fenced."""
        self.report(Kind.records_sent, instance)
        self.report(Kind.transaction_refused, instance, error=FENCED)
        self.report(Kind.task_failed, instance, error=FENCED)

    def report(self, kind: Kind, instance: Instance, **values: int) -> None:
        """Add an event of an instance, with all its known columns."""
        about = instance._asdict()
        self.emit(kind, instance=about.pop("number"), **about, **values)

    def producer_id(self, connector: int, task: int) -> int:
        """Return the producer id of a task's transactional id."""
        return LEADER_ID + 1 + connector * self.most + task

    def _bumped(self, producer_id: int) -> int:
        self._epochs[producer_id] += 1
        return self._epochs[producer_id]

    def _next(self, what: str) -> int:
        self._numbers[what] += 1
        return self._numbers[what] - 1
