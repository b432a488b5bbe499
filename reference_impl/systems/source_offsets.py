"""This module is the interface of source offsets: a connector with its source tasks behind the operations by which a
driver moves it, its replaceable parts, and free runs.

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

The protocol is in `connect/offsets`, on the threads, producers and Kafka of `connect`; in this system a set of tasks
starts when the previous one is fenced. Left out are several connectors; the read to the end when a store starts,
because every request for offsets reads again, and only that read determines where a task begins; commits record by
record (TransactionContext for a record); `commitRecord`; pausing; offsets that users alter; and further partitions of
an offsets topic, and its compaction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fencepost.reference_impl.connect.brokers import OUTPUT_TOPIC
from fencepost.reference_impl.connect.offsets.config import (
    CONFIGS,
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
from fencepost.reference_impl.connect.threads import FAILED, LOST, OK
from fencepost.reference_impl.simulation import Kernel, free_run
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.environment import US_PER_MS, DrivenSystem


@dataclass(frozen=True, slots=True)
class Parts:
    """`Parts` has the replaceable pieces of one implementation; the defaults are the correct ones."""

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
    """A `System` is one connector. Tasks and source partitions are numbered from 0."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.connector: Connector = env.new("connector", env)
        self.auditor = env.brokers.new_reader()
        self.views = {topic: env.new("reader", env.brokers, topic) for topic in (GLOBAL, SEPARATE)}
        self.connector.configure(env.config.tasks, env.config.separate)

    # Threads

    def threads(self) -> list[tuple[int, str, int, int]]:
        """Return (number, operation, task, instance) of every operation that can happen now, oldest thread first; for
        an owner of the Connector, the last two are -1 and its number."""
        return [
            (number, name, task, FIRST - process if process <= FIRST else process)
            for number, name, process, _, task in self.env.threads.waiting()
        ]

    def step(self, number: int, outcome: str = "ok") -> None:
        """Let the operation of a thread happen. With `failed`, it does not happen and the thread gets an error; with
        `lost`, it happens and the thread gets the same error. Raise KeyError for a thread that has no operation now,
        ValueError for an unknown outcome."""
        self.env.threads.step(number, outcome)

    # Operators

    def configure(self, tasks: int, separate: bool) -> bool:
        """Reconfigure the connector with this many tasks, with or without an offsets topic of its own. Return False if
        it would lose the topic that has its offsets, which the guarantee excludes, or be given one that it never has.
        """
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
        """Restart without this feature, on the same software or (`hard`) on older software; return False if this is the
        case already, or is never the case in this configuration."""
        runtime = OLDER_SOFTWARE if hard else FEATURE_OFF
        if not self.env.config.downgrades or self.env.runtime == runtime:
            return False
        self.connector.configure(self.env.tasks, self.env.separate, runtime)
        return True

    def upgrade(self) -> bool:
        """Restart with this feature; return False if this is the case already."""
        if self.env.runtime == EXACTLY_ONCE:
            return False
        self.connector.configure(self.env.tasks, self.env.separate)
        return True

    def delete_topic(self) -> bool:
        """Delete the separate topic; return False while instances use it."""
        env = self.env
        if any(instance.topic == SEPARATE for instance in env.instances):
            return False
        env.brokers.delete(SEPARATE)
        self.views[SEPARATE] = env.new("reader", env.brokers, SEPARATE)
        env.emit(Kind.TOPIC_DELETED, topic=SEPARATE)
        return True

    def start_owner(self) -> bool:
        """Let another worker take the Connector; return False where nothing is migrated."""
        if self.env.merges or self.env.topic != SEPARATE:
            return False
        self.connector.start_owner()
        return True

    def stall_owner(self) -> bool:
        """Stall the newest owner that is at work; return False if there is none, or it is stalled already."""
        owner = next((each for each in reversed(self.connector.owners) if not each.ended), None)
        if owner is None or owner.process in self.env.threads.stalled:
            return False
        self.env.threads.stalled.add(owner.process)
        owner.report(Kind.OWNER_STALLED)
        return True

    def resume_owners(self) -> bool:
        """Resume all stalled owners; return False if there are none."""
        found = [each for each in self.connector.owners if each.process in self.env.threads.stalled]
        for owner in found:
            self.env.threads.stalled.discard(owner.process)
            owner.report(Kind.OWNER_RESUMED)
        self.env.threads.settle()
        return bool(found)

    # Tasks

    def restart(self, task: int) -> bool:
        """Start a new instance of a task, leaving the previous one behind; return False without such a task."""
        if task >= self.env.tasks:
            return False
        if self.env.runtime != EXACTLY_ONCE and (running := self.env.newest(task)) is not None:
            running.kill()
        self.connector.start(task)
        return True

    def stop(self, task: int) -> bool:
        """Ask the newest instance of a task to stop; return False if none runs."""
        instance = self.env.newest(task)
        if instance is None or instance.stopping:
            return False
        instance.stopping = True
        self.env.threads.settle()
        return True

    def is_stopping(self, task: int) -> bool:
        """Return whether the newest instance of a task was asked to stop and still runs."""
        instance = self.env.newest(task)
        return instance is not None and instance.stopping

    def kill(self, task: int) -> bool:
        """Kill the process of the newest instance of a task; return False if none runs."""
        instance = self.env.newest(task)
        if instance is None:
            return False
        instance.kill()
        return True

    def stall(self, task: int) -> bool:
        """Stall the newest instance of a task; return False if none runs, or it is stalled already."""
        instance = self.env.newest(task)
        if instance is None or instance.process in self.env.threads.stalled:
            return False
        self.env.threads.stalled.add(instance.process)
        instance.report(Kind.STALLED)
        return True

    def resume(self, task: int) -> bool:
        """Resume all stalled instances of the task; return False if there are none."""
        found = [each for each in self.env.instances if each.task == task and each.process in self.env.threads.stalled]
        for instance in found:
            self.env.threads.stalled.discard(instance.process)
            instance.report(Kind.RESUMED)
        self.env.threads.settle()
        return bool(found)

    def ask_boundary(self, task: int, commit: bool) -> bool:
        """Let the connector ask for an end of the transaction with the next batch that it returns. Return False if it
        does not define boundaries, or no instance runs; a connector never aborts what ends a round."""
        instance, config = self.env.newest(task), self.env.config
        if config.boundary != "connector" or instance is None or instance.source is None:
            return False
        if not commit and config.rounds > 1:
            return False
        instance.source.asked = int(commit)
        return True

    # What surrounds them

    def fail_over(self) -> None:
        self.env.brokers.fail_over()
        self.env.threads.settle()

    def change_leader(self, topic: int) -> None:
        """Let another broker lead an offsets topic, or (2) the output."""
        self.env.brokers.change_leader(OUTPUT_TOPIC if topic == OUTPUT else PARTITION_OF[topic])

    def advance(self, ms: int) -> None:
        self.env.kernel.advance(ms * US_PER_MS)
        self.env.brokers.advance(ms)
        self.env.threads.settle()

    # Looking

    def audit(self, undecided: bool = False) -> tuple[list[tuple[int, int, int]], list[int]]:
        """Return what a read_committed reader of the output finds that it has not read before, as (partition, round,
        offset); and where each source partition would be resumed, 0 for its beginning. The second list is empty while a
        transaction is open or the topic awaits content, unless `undecided` is true."""
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
        return any(leader.log.open for leader in self.env.brokers.leaders)

    def awaits_content(self) -> bool:
        """Return whether tasks wait for the Connector to fill their topic, as in the earlier text."""
        if self.env.merges or self.env.topic != SEPARATE:
            return False
        self.views[SEPARATE].consume()
        return not self.views[SEPARATE].entries

    def resume_point(self, partition: int) -> int:
        """Return where a restart would resume with a source partition, once everything is decided."""
        place = self.view(partition)
        self.env.emit(
            Kind.AUDITED, partition=partition, topic=place.topic, offset=place.offset,
            round=self.env.brokers.rounds.now[partition],
        )  # fmt: skip
        return place.offset

    def view(self, partition: int) -> Found:
        store = self.env.new("store", self.env, None, self.env.topic)
        for reader in store.readers.values():
            reader.consume()
        place: Found = store.view(partition)
        return place


def parts_of(mode: str) -> Parts:
    """Return the pieces of a variant: as they are released, those of its mistake, or as in the text."""
    if mode in STORES:
        return Parts(store=STORES[mode])
    if mode not in DEFECT_OF:
        return Parts()
    broken: Parts = import_module("fencepost.reference_impl.defects.source_offsets").find(DEFECT_OF[mode]).parts
    return broken


def build(config: Mapping[str, Any], parts: Parts | None = None) -> System:
    """Return a driven connector made of these parts, or of its variant's."""
    checked = Config.parse(config)
    return System(Environment(checked, Kernel(checked.seed), parts or parts_of(checked.mode)))


def reference(config: Mapping[str, Any]) -> System:
    """Return the reference implementation as a driven connector; the keys of `config` are those of `config.Config`.
    Raise ValueError for an invalid configuration."""
    return build(config)


# Free-running histories.


@dataclass(frozen=True, slots=True)
class Rates(free_run.Run):
    """`Rates` has the rates of faults per step of a thread. Durations are means, in virtual microseconds."""

    kill: Rate = 0.006  # the process of an instance is gone, and after a while there is another one
    stall: Rate = 0.006  # an instance stands still, and often there is another one before it goes on
    restart: Rate = 0.004  # there is another instance, and the one before goes on
    stop: Rate = 0.008  # an instance ends in order, and there is another one
    configure: Rate = 0.004  # so many tasks from now on; perhaps with a topic of their own
    ask: Rate = 0.01  # a connector that defines boundaries asks for one
    fail_over: Rate = 0.002
    new_leader: Rate = 0.002
    owner: Rate = 0.01  # of the earlier text: another worker takes the Connector, while one perhaps stands still
    switch: Rate = 0.004  # where operators do what the guarantee excludes: the feature, or the topic, is taken away
    stall_us: Natural = 60_000
    down_us: Natural = 20_000


class Faults(free_run.NodeFaults[Rates, System]):
    """`Faults` has the faults of one history; a fault of a task strikes its newest instance."""

    names = (
        "ask", "configure", "fail_over", "kill", "new_leader", "owner", "restart", "stall", "stop", "switch",
    )  # fmt: skip

    def task(self, number: int) -> int:
        return number % self.system.env.tasks

    def kill(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.kill(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def stall(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stall(task):
            return False
        self.kernel.after(self.kernel.spread(self.run.stall_us), self.system.resume, task)
        if number & 64:
            self.later(self.run.down_us, task)
        return True

    def restart(self, number: int) -> bool:
        return self.system.restart(self.task(number))

    def stop(self, number: int) -> bool:
        task = self.task(number)
        if not self.system.stop(task):
            return False
        self.later(self.run.down_us, task)
        return True

    def later(self, mean_us: int, task: int) -> None:
        self.kernel.after(self.kernel.spread(mean_us), self.start, task)

    def start(self, task: int) -> None:
        env = self.system.env
        if env.lacks_instance(task) or env.assigned[task].process in env.threads.stalled:
            self.system.restart(task)

    def configure(self, number: int) -> bool:
        env = self.system.env
        separate = bool(number & 256) or (env.separate and not env.config.taken)
        if separate and not env.separate:
            self.kernel.after(self.kernel.spread(self.run.down_us), lambda _: self.system.start_owner())
        return self.system.configure(1 + number % env.config.tasks, separate)

    def ask(self, number: int) -> bool:
        return self.system.ask_boundary(self.task(number), bool(number & 256))

    def fail_over(self, number: int) -> bool:
        self.system.fail_over()
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % 3)
        return True

    def owner(self, number: int) -> bool:
        if number & 256 and self.system.stall_owner():
            self.kernel.after(self.kernel.spread(self.run.stall_us), lambda _: self.system.resume_owners())
        return self.system.start_owner()

    def switch(self, number: int) -> bool:
        env = self.system.env
        if not env.config.downgrades:
            return False
        return self.system.upgrade() if env.runtime else self.system.downgrade(bool(number & 256))


# This section has free-running histories of source tasks: `simulate(7, {"mode": "text-merged-view", "events": 400,
# "stall": 0.02})`.
#
# A random scheduler lets one waiting thread after another do its operation. Some are slow: they wait while everything
# else goes on, which produces zombies and late copies. Rates of faults are per step, those of operations per operation.
# With `quiet_end`, faults stop after the given number of events, and the history goes on until the source is read to
# its end and everything is decided, or until nothing happens any more.

APART = {"copy": (0.2, 40_000), "look": (0.3, 80_000), "migrate": (0.4, 150_000)}
"""These operations wait more often, or longer, than other operations, because a task that is late with them does harm.
"""
NOTICE_MS = 10  # brokers, and threads that wait for a time, notice no shorter times
SETTLE_STEP_MS = 200
SETTLE_MS = 20_000  # so long after the last fault everything is read and decided, if it ever is
STEPS_MAX = 2_000  # between two of those


@dataclass(frozen=True, slots=True)
class Run(Rates):
    """A `Run` has the pace of threads, and how their operations end. Durations are means, in virtual microseconds."""

    quiet_end: bool = False
    failed: Rate = 0.01  # per operation: does not happen
    lost: Rate = 0.005  # per operation: happens, and is taken for failed
    refused_last: Rate = 0.3  # of the records that are sent when their task is asked to stop
    slow_share: Rate = 0.03  # of the operations: each waits for about `slow_us`
    step_us: Natural = 1_500
    slow_us: Natural = 40_000
    audit_us: Natural = 60_000

    def relate(self) -> None:
        for failed in (self.failed, self.refused_last):
            if failed + self.lost > 1:
                raise ValueError(f"config failed={failed}, lost={self.lost}: together at most 1; lower them")


class FreeRun(free_run.FreeRun[Run, Config]):
    """A `FreeRun` is a connector, with operators and faults, and the scheduler of its threads."""

    run_type, config_type, parts_type, faults_type = Run, Config, Parts, Faults
    # The source has enough to read for a history of some hundred events, and time-outs are short enough to occur in it.
    cluster_defaults = {  # noqa: RUF012
        "tasks": 3, "partitions": 3, "records": 12, "interval_ms": 30, "transaction_timeout_ms": 400,
        "timeout_check_ms": 50,
    }  # fmt: skip
    defects = "fencepost.reference_impl.defects.source_offsets"
    nodes: Faults
    system: System

    @classmethod
    def simulate_with_stats(cls, seed: int, config: Mapping[str, Any]) -> tuple[list[tuple[int, ...]], dict[str, int]]:
        """Run one history; a variant's configuration takes precedence over the defaults."""
        return super().simulate_with_stats(seed, {**CONFIGS.get(config.get("mode", ""), {}), **config})

    def begin(self, parts: Any) -> None:
        config = self.config
        parts = parts if self.run.broken else parts_of(config.mode)  # the variant may have a mistake itself
        self.system = System(Environment(config, self.kernel, parts))
        self.rows = self.system.env.log.rows
        self.nodes = Faults(self.system, self.run, self.kernel, self.faults)
        self.slow: dict[int, tuple[str, int]] = {}  # by thread: its operation, and when it may do it
        self.noticed_ms = 0
        self.turn: list[Any] = []  # the operation and the task of the thread whose turn it is
        self.kernel.after(self.run.audit_us, self.audit)

    def possible_faults(self) -> tuple[str, ...]:
        without = {"ask"} if self.config.boundary != "connector" else set()
        if not self.config.downgrades:
            without.add("switch")
        if self.config.mode not in ("migration-sentinel", "migration-race"):
            without.add("owner")
        return tuple(name for name in super().possible_faults() if name not in without)

    def play_events(self) -> None:
        rows, enough = self.rows, self.run.events
        idle = 0
        while len(rows) < enough and idle < STEPS_MAX:
            before = len(rows)
            self.step()
            idle = idle + 1 if len(rows) == before else 0

    def step(self) -> None:
        kernel = self.kernel
        kernel.advance(kernel.spread(self.run.step_us))
        self.notice()
        self.nodes.draw()
        number = self.pick()
        if number >= 0:
            self.system.step(number, self.outcome())

    def notice(self) -> None:
        ms = self.kernel.now // US_PER_MS
        if ms - self.noticed_ms >= NOTICE_MS:
            self.system.env.brokers.advance(ms - self.noticed_ms)
            self.system.env.threads.settle()
            self.noticed_ms = ms

    def pick(self) -> int:
        now, slow = self.kernel.now, self.slow
        ready = []
        for number, operation, task, _ in self.system.threads():
            seen = slow.get(number)
            if seen is None or seen[0] != operation:
                seen = slow[number] = (operation, self.slowness(operation))
            if seen[1] <= now:
                ready.append((number, operation, task))
        if not ready:
            return -1
        chosen, *self.turn = ready[int(self.random() * len(ready))]
        del slow[chosen]
        return chosen

    def slowness(self, operation: str) -> int:
        run = self.run
        share, mean_us = APART.get(operation, (run.slow_share, run.slow_us))
        return self.kernel.now + self.kernel.spread(mean_us) if self.random() < share else 0

    def outcome(self) -> str:
        run, luck = self.run, self.random()
        operation, task = self.turn
        is_last = operation == "send" and task >= 0 and self.system.is_stopping(task)
        failed = run.refused_last if is_last else run.failed
        if luck >= failed + run.lost:
            return OK
        outcome = FAILED if luck < failed else LOST
        self.faults.count(outcome)
        return outcome

    def settle(self) -> None:
        system = self.system
        system.upgrade()
        for task in range(self.config.tasks):
            system.resume(task)
        system.resume_owners()
        finish(system)


def finish(system: System) -> None:
    """Go on without faults until the source is read to its end and everything is decided, and audit it."""
    for _ in range(SETTLE_MS // SETTLE_STEP_MS):
        go_on(system)
        if is_finished(system):
            break
        for task in range(system.env.tasks):
            if system.env.lacks_instance(task):
                system.restart(task)
        if system.awaits_content() and not any(not owner.ended for owner in system.connector.owners):
            system.start_owner()
        system.advance(SETTLE_STEP_MS)
    system.audit(undecided=True)


def go_on(system: System) -> None:
    for _ in range(STEPS_MAX):
        threads = system.threads()
        if not threads:
            return
        system.step(threads[0][0])


def is_finished(system: System) -> bool:
    """Return whether every task of the newest set has read its source to the end, and no transaction is open."""
    env = system.env
    if any(env.lacks_instance(task) for task in range(env.tasks)):
        return False
    done = all(each.source is not None and not each.source.has_more() for each in env.assigned.values())
    return done and not system.is_undecided()


simulate, simulate_with_stats = FreeRun.simulate, FreeRun.simulate_with_stats
