"""Starts of source tasks, and herders, with one thing wrong each. `broken.py` says what each of them breaks."""

from dataclasses import replace

from fencepost.reference_impl.task_counts.herder.connector import Connector
from fencepost.reference_impl.task_counts.herder.group import Handed
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.permissions import of_task, task_transactional_id
from fencepost.reference_impl.task_counts.tasks.producers import TransactionalProducer
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask, TaskFailed
from fencepost.reference_impl.task_counts.tasks.threads import Script
from fencepost.reference_impl.task_counts.topic.writes import Writes


class DoesNotAsk(SourceTask):
    """A start does not ask for a round (618.15)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "ask")


class NoCheckBefore(SourceTask):
    """A start does not look whether there is a count record after the latest set (C02)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step not in ("look", "await_count", "check_before"))


class NoCheckAfter(SourceTask):
    """Once its producer is open, a task polls, without another look (C04)."""

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "check_after")


class CheckAfterBeforeProducer(SourceTask):
    """The last look comes before the producer is opened, not after (C05)."""

    def steps(self) -> tuple[str, ...]:
        steps = [step for step in super().steps() if step not in ("open_producer", "check_after")]
        return (*steps, "check_after", "open_producer")


class CheckAfterStaleView(SourceTask):
    """The last look is at what the worker happens to know (C07)."""

    def check_generation(self) -> bool:
        view = self.herder.view
        read_to_end, view.read_to_end = view.read_to_end, lambda: None  # type: ignore[method-assign]
        try:
            return super().check_generation()
        finally:
            view.read_to_end = read_to_end  # type: ignore[method-assign]


class CheckAfterCountOnly(SourceTask):
    """The last look is whether a count record stands after the latest set: after another whole round it does (H4)."""

    def is_overtaken(self) -> bool:
        return not self.may_start()


class MismatchIgnored(SourceTask):
    """A newer set at the last look is logged, and the task polls all the same (618.19)."""

    def is_overtaken(self) -> bool:
        super().is_overtaken()
        return False


class PlainTaskProducer(SourceTask):
    """Every instance has a transactional id of its own, so that opening its producer fences no other, and no round
    fences it (618.6, 618.18)."""

    def open_producer(self) -> Script:
        name = f"{self.env.config.group_id}-{self.id[0]}-{self.id[1]}-{self.instance}"
        self.producer = TransactionalProducer(self.env.brokers, name, ())
        ending = yield from super().open_producer()
        return ending


class FencedTaskGoesOn(SourceTask):
    """A task whose producer was fenced opens another one, and polls on without a look at anything (618.18)."""

    def send_records(self) -> None:
        try:
            super().send_records()
        except TaskFailed:
            self.open_another()
            super().send_records()

    def commit(self) -> None:
        try:
            super().commit()
        except TaskFailed:
            self.open_another()
            super().send_records()
            super().commit()

    def open_another(self) -> None:
        """Takes the transactional id back."""
        name = task_transactional_id(self.env.config.group_id, *self.id)
        self.producer = TransactionalProducer(self.env.brokers, name, of_task(self.env.config.group_id, *self.id))
        self.open()


class AssignmentOffsetIgnored(Herder):
    """An assigned task starts from what the worker has read, also where the leader had read on (618.8)."""

    def take(self, handed: Handed) -> Script:
        yield from super().take(replace(handed, offset=min(handed.offset, self.view.position)))


class NoPreemptiveStop(Herder):
    """Tasks of older sets run on while the group rebalances (C29): a control."""

    def let_go(self) -> Script:
        if self.is_eager:
            yield from super().let_go()


class SelfMade(Connector):
    """A Connector whose own worker writes its set, whether or not it leads."""

    def hand_to_leader(self, configs: list[dict[str, str]]) -> Request | None:
        writes, name = self.herder.writes, self.name
        return self.herder.submit(lambda request: writes.serve(name, lambda w: w.put_tasks(name, configs), request))

    def is_over(self, request: Request, leader: int, life: int) -> bool:
        """Its own worker is there as long as itself."""
        return request.done or self.stopping


class FollowersWrite(Herder):
    """Followers write the sets of their Connectors themselves, with an ordinary producer (C18, 618.34)."""

    def start_connector(self, name: str) -> None:
        if self.view.state.is_known(name):
            self.connectors[name] = SelfMade(self, name)
            self.env.threads.start(self.node, self.connectors[name].run())


class AnybodyWrites(Writes):
    """No question who leads."""

    def may_write(self) -> bool:
        return True
