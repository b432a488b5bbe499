"""A connector with its source tasks behind the operations by which a driver moves it, and its replaceable parts.

One source connector with its source and its Kafka behind the few operations by which a driver moves it.

>>> system = reference({"seed": 1, "tasks": 1, "partitions": 1, "separate": False})
>>> system.threads()  # the first set has started: its task wants to open its producer
[(0, 'open', 0, 0)]
>>> for operation in ("open", "check", "ask_end", "run", "poll", "send", "send", "flush", "commit"):
...     assert system.threads()[0][1] == operation
...     system.step(0)
>>> system.audit()  # what is committed: two records, and where a restart would resume
([(0, 0, 1), (0, 0, 2)], [2])

Nothing happens between two calls: every thread waits at its next operation. `Parts` are the pieces that a broken
implementation replaces.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fencepost.reference_impl.connect.brokers import OUTPUT_TOPIC
from fencepost.reference_impl.connect.offsets.config import (
    DEFECT_OF,
    EXACTLY_ONCE,
    FEATURE_OFF,
    OLDER_SOFTWARE,
    Config,
    Kind,
)
from fencepost.reference_impl.connect.offsets.environment import Environment
from fencepost.reference_impl.connect.offsets.instances import FIRST, Connector, Instance, Owner
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL, PARTITION_OF, SEPARATE
from fencepost.reference_impl.connect.offsets.runtime import AtLeastOnce, ExactlyOnce, SourceTask
from fencepost.reference_impl.connect.offsets.stores import STORES, Choice, Found, OffsetStore, TopicReader, chosen
from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem

# The pieces that a broken implementation replaces; the defaults are the correct ones.


@dataclass(frozen=True, slots=True)
class Parts:
    """One implementation."""

    connector: type[Connector] = Connector  # sets of tasks: what is fenced before the next one starts
    instance: type[Instance] = Instance  # the steps of a task's start
    reader: type[TopicReader] = TopicReader  # reading to the end
    choose: Callable[[str, bool, int], Choice] = chosen  # which topics there are
    store: type[OffsetStore] = OffsetStore  # one topic or two: what is read, what is written
    runtime: type[ExactlyOnce] = ExactlyOnce  # records, offsets and transactions
    plain: type[AtLeastOnce] = AtLeastOnce
    source: type[SourceTask] = SourceTask
    owner: type[Owner] = Owner  # the migration of the earlier text


OUTPUT = 2  # as `change_leader` numbers it


class System(DrivenSystem[Environment]):
    """One connector. Tasks and source partitions are numbered from 0."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.connector: Connector = env.new("connector", env)
        self.auditor = env.brokers.new_reader()
        self.views = {topic: env.new("reader", env.brokers, topic) for topic in (GLOBAL, SEPARATE)}
        self.connector.configure(env.config.tasks, env.config.separate)

    # Threads

    def threads(self) -> list[tuple[int, str, int, int]]:
        """(number, operation, task, instance) of all that can happen now, oldest thread first; of an owner of the
        Connector -1 and its number."""
        return [
            (number, name, task, FIRST - process if process <= FIRST else process)
            for number, name, process, _, task in self.env.threads.waiting()
        ]

    def step(self, number: int, outcome: str = "ok") -> None:
        """The operation of a thread happens. `failed`: it does not, and the thread is told; `lost`: it does, and the
        thread is told the same. Raises KeyError for a thread that has no operation now, ValueError for the outcome."""
        self.env.threads.step(number, outcome)

    # Operators

    def configure(self, tasks: int, separate: bool) -> bool:
        """The connector is configured anew: so many tasks, with or without an offsets topic of its own. False where it
        would lose the topic that has its offsets, which the guarantee excludes, or be given one that it never has."""
        env = self.env
        if not 1 <= tasks <= env.config.tasks:
            raise ValueError(f"configure with tasks={tasks}: must be 1 to tasks={env.config.tasks}")
        if env.separate and not separate and not (env.config.downgrades or env.config.taken):
            return False
        if separate and not env.separate and not env.config.given:
            return False
        self.connector.configure(tasks, separate, env.runtime)
        return True

    def downgrade(self, hard: bool) -> bool:
        """Without this feature, on the same software or (`hard`) on older; False if it is so, or never is here."""
        runtime = OLDER_SOFTWARE if hard else FEATURE_OFF
        if not self.env.config.downgrades or self.env.runtime == runtime:
            return False
        self.connector.configure(self.env.tasks, self.env.separate, runtime)
        return True

    def upgrade(self) -> bool:
        """With this feature; False if it is so."""
        if self.env.runtime == EXACTLY_ONCE:
            return False
        self.connector.configure(self.env.tasks, self.env.separate)
        return True

    def delete_topic(self) -> bool:
        """The separate topic is deleted; False while instances use it."""
        env = self.env
        if any(instance.topic == SEPARATE for instance in env.instances):
            return False
        env.brokers.delete(SEPARATE)
        self.views[SEPARATE] = env.new("reader", env.brokers, SEPARATE)
        env.emit(Kind.TOPIC_DELETED, topic=SEPARATE)
        return True

    def start_owner(self) -> bool:
        """Another worker takes the Connector; False where nothing is migrated."""
        if self.env.merges or self.env.topic != SEPARATE:
            return False
        self.connector.start_owner()
        return True

    def stall_owner(self) -> bool:
        """The newest owner that is at work stands still; False if there is none, or it does."""
        owner = next((each for each in reversed(self.connector.owners) if not each.ended), None)
        if owner is None or owner.process in self.env.threads.stalled:
            return False
        self.env.threads.stalled.add(owner.process)
        owner.tell(Kind.OWNER_STALLED)
        return True

    def resume_owners(self) -> bool:
        """All owners that stand still go on; False if there are none."""
        found = [each for each in self.connector.owners if each.process in self.env.threads.stalled]
        for owner in found:
            self.env.threads.stalled.discard(owner.process)
            owner.tell(Kind.OWNER_RESUMED)
        self.env.threads.settle()
        return bool(found)

    # Tasks

    def restart(self, task: int) -> bool:
        """A new instance of a task; the one before is left behind if it runs. False if there is no such task."""
        if task >= self.env.tasks:
            return False
        if self.env.runtime != EXACTLY_ONCE and (running := self.env.newest(task)) is not None:
            running.kill()
        self.connector.start(task)
        return True

    def stop(self, task: int) -> bool:
        """The newest instance of a task is asked to stop; False if none runs."""
        instance = self.env.newest(task)
        if instance is None or instance.stopping:
            return False
        instance.stopping = True
        self.env.threads.settle()
        return True

    def is_stopping(self, task: int) -> bool:
        """Whether the newest instance of a task was asked to stop and goes on."""
        instance = self.env.newest(task)
        return instance is not None and instance.stopping

    def kill(self, task: int) -> bool:
        """Its process is gone; False if none runs."""
        instance = self.env.newest(task)
        if instance is None:
            return False
        instance.kill()
        return True

    def stall(self, task: int) -> bool:
        """It stands still; False if none runs, or it does."""
        instance = self.env.newest(task)
        if instance is None or instance.process in self.env.threads.stalled:
            return False
        self.env.threads.stalled.add(instance.process)
        instance.tell(Kind.STALLED)
        return True

    def resume(self, task: int) -> bool:
        """All stalled instances of the task go on; False if there are none."""
        found = [each for each in self.env.instances if each.task == task and each.process in self.env.threads.stalled]
        for instance in found:
            self.env.threads.stalled.discard(instance.process)
            instance.tell(Kind.RESUMED)
        self.env.threads.settle()
        return bool(found)

    def ask_boundary(self, task: int, commit: bool) -> bool:
        """The connector asks for an end of the transaction with the next batch that it returns. False if it is not
        asked, or no instance runs; a connector does not give up what ends a round."""
        instance, config = self.env.newest(task), self.env.config
        if config.boundary != "connector" or instance is None or instance.source is None:
            return False
        if not commit and config.rounds > 1:
            return False
        instance.source.asked = int(commit)
        return True

    # What surrounds them

    def fail_over(self) -> None:
        """Another broker coordinates transactions."""
        self.env.brokers.fail_over()
        self.env.threads.settle()

    def change_leader(self, topic: int) -> None:
        """Another broker leads an offsets topic, or (2) the output."""
        self.env.brokers.change_leader(OUTPUT_TOPIC if topic == OUTPUT else PARTITION_OF[topic])

    def advance(self, ms: int) -> None:
        """Let virtual milliseconds pass, for tasks and brokers."""
        self.env.kernel.advance(ms * US_PER_MS)
        self.env.brokers.advance(ms)
        self.env.threads.settle()

    # Looking

    def audit(self, undecided: bool = False) -> tuple[list[tuple[int, int, int]], list[int]]:
        """What a read_committed reader of the output sees that it has not seen before, as (partition, round, offset);
        and, where no transaction is open, or although (`undecided`), where each source partition would be resumed, 0
        for its beginning."""
        env = self.env
        found = []
        for position, number in self.auditor.read(env.brokers.log(OUTPUT_TOPIC), True):
            record = env.brokers.env.contents[number]
            env.emit(
                Kind.OUTPUT_READ, position=position, partition=record.partition, round=record.round,
                offset=record.offset,
            )  # fmt: skip
            found.append((record.partition, record.round, record.offset))
        if not undecided and (self.is_undecided() or self.awaits_content()):
            return found, []
        return found, [self.resume_point(partition) for partition in range(env.config.partitions)]

    def is_undecided(self) -> bool:
        """Whether a transaction is open, of whomever."""
        return any(leader.log.open for leader in self.env.brokers.leaders)

    def awaits_content(self) -> bool:
        """Whether tasks wait for the Connector to fill their topic, as in the earlier text."""
        if self.env.merges or self.env.topic != SEPARATE:
            return False
        self.views[SEPARATE].consume()
        return not self.views[SEPARATE].entries

    def resume_point(self, partition: int) -> int:
        """Where a restart would resume with a source partition, now that everything is decided."""
        place = self.view(partition)
        self.env.emit(
            Kind.AUDITED, partition=partition, topic=place.topic, offset=place.offset,
            round=self.env.brokers.rounds.now[partition],
        )  # fmt: skip
        return place.offset

    def view(self, partition: int) -> Found:
        """What a task would find, by its own rules."""
        store = self.env.new("store", self.env, None, self.env.topic)
        for reader in store.readers.values():
            reader.consume()
        place: Found = store.view(partition)
        return place


def parts_of(mode: str) -> Parts:
    """The pieces of a variant: as they are released, those of its mistake, or as the text has them."""
    if mode in STORES:
        return Parts(store=STORES[mode])
    if mode not in DEFECT_OF:
        return Parts()
    broken: Parts = import_module("fencepost.reference_impl.defects.source_offsets").find(DEFECT_OF[mode]).parts
    return broken


def build(config: Mapping[str, Any], parts: Parts | None = None) -> System:
    """A driven connector made of these parts, or of its variant's."""
    checked = Config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), parts or parts_of(checked.mode)))


def reference(config: Mapping[str, Any]) -> System:
    """The reference implementation as a driven connector; keys of `config`: `config.Config`. Raises ValueError."""
    return build(config)
