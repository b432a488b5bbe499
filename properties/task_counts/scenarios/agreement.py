"""This module combines what drives Connect: the machines, the monitor of a run, and the conformance spec.

It determines how large the clusters are that Hypothesis drives, and how often it plays each scenario.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Annotated, Any

from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.machine import CHANCES, variants
from fencepost.properties.monitoring import Broken, Concerned, RunContext
from fencepost.properties.roles import Fields, OneOf
from fencepost.properties.task_counts.events import TASK_COUNTS as VOCABULARY
from fencepost.properties.task_counts.events import TOPIC
from fencepost.properties.task_counts.histories.properties import MECHANISMS
from fencepost.properties.task_counts.interface import (
    AT_WORK,
    BLACK_BOX,
    Alone,
    Call,
    Connector,
    Finished,
    Thread,
    call_of,
    missing,
    turned,
    valid,
)
from fencepost.properties.task_counts.scenarios.runs import (
    SMALL,
    STOP_MS,
    WAYS,
    Amiss,
    Holding,
    Scenarios,
    Story,
    Tasks,
    tour,
)
from fencepost.properties.task_counts.scenarios.steps import Seen, Undisturbed
from fencepost.properties.task_counts.translator import follow

WEIGHTS = {
    "late_start": 4, "late_leader": 3, "late_round_and_a_zombie": 2, "led_again_and_a_zombie": 1, "late_set": 1,
    "round_stays": 1, "zombie": 3, "failure": 3, "half_a_set": 1, "refused": 1, "recreated": 1, "little": 3,
    "one_operation": 1, "late_member": 3, "leader_returns": 1,
}  # fmt: skip


def size(chance: int) -> dict[str, Any]:
    r = Random(chance)
    return {
        "seed": 0, "workers": r.choice((2, 3, 3)), "connectors": r.choice((1, 1, 1, 2)), "max_tasks": r.choice((3, 2)),
        "protocol": r.choice(("eager", "cooperative")), "preemptive_stop": r.choice((True, False)),
        "group_id": "connect", "support": "enabled", "heartbeat_ms": r.choice((3_000, 3_000, 0)),
    }  # fmt: skip


class Machine(Scenarios, weights=WEIGHTS):
    """`Machine` has the steps that all texts of KIP-618 share."""

    def begin(self, drawn: int) -> None:
        """Give every connector a set, and in some clusters another one, before anything goes wrong."""
        self.drawn = drawn
        self.start(size(drawn))
        self.go()  # no worker takes a request before there is a leader
        for connector in range(self.run.config["connectors"]):
            self.configure(connector, 1 + drawn % 3)
            self.go()
        if drawn // 3 % 5 == 0:
            self.slow_to_stop(0, 1 + drawn // 15 % 3)


class Shipped(Machine, steps={}):
    """`Shipped` drives Kafka 3.3 and later, where a user stops a connector now and then."""

    def by_chance(self, chance: int) -> None:
        if chance % 16 == 0:
            self.call("stop_connector", self.worker(0), self.connector(chance // 16))
        else:
            super().by_chance(chance)


LIVE_WEIGHTS = {
    "removed": 12, "late_start": 2, "late_leader": 3, "late_round_and_a_zombie": 1, "late_set": 1, "zombie": 3,
    "failure": 3, "half_a_set": 2, "refused": 1, "recreated": 1, "little": 2, "one_operation": 1, "late_member": 1,
}  # fmt: skip
"""What has hurt live clusters comes most often, and nothing that is about an operation which no request carries out."""
NEAREST = {
    "start_round": "fence", "check_round": "write_count", "answer": "write_count", "ask": "open_producer",
    "check_before": "open_producer", "check_after": "open_producer", "sync": "claim", "assign": "claim",
}  # fmt: skip
"""The request in `NEAREST` is the one next to an operation that does not wait for the driver of a live cluster."""

Joining = Annotated[Story, Fields(operation=OneOf("sync", "assign", "assign"))]


class Live(Shipped, weights=LIVE_WEIGHTS, steps={}):
    """`Live` drives real workers of a release, one cluster for all programs of the same size."""

    def start(self, config: Any) -> None:
        drawn = {"heartbeat_ms": 0 if self.drawn % 8 == 7 else 3_000, "held": HELD[self.drawn // 5 % len(HELD)]}
        super().start({**config, **LIVE_SIZE, **drawn})

    def brink(self, operation: str, connector: int, number: int, worker: int = -1) -> Thread | None:
        waits = operation in self.run.config["held"]
        return super().brink(operation if waits else NEAREST.get(operation, operation), connector, number, worker)

    def slow_to_stop(self, connector: Connector, tasks: Tasks) -> None:
        """As on the reference, but that transactions begin once the Connector has: it reads its offsets to the end, and
        waits for those that are open."""
        self.configure(connector, tasks)
        for number in range(2):
            write = self.brink("write", -1, 0)
            if write is not None and not number:
                self.step(write)
        for thread in self.waiting("poll", -1, connector):
            self.step(thread)
        self.go()
        self.call("advance", STOP_MS)
        self.go()
        self.work()
        self.go()

    def late_member(self, connector: Connector, story: Joining, outcome: Amiss) -> None:
        super().late_member(connector, story, outcome)

    def end(self, alone: Made | None) -> None:
        """Restart what failed, if anything has: a second look at a cluster that needs nothing takes ten seconds."""
        if alone is None or self.seen.down or alone.result.failed or self.drawn % 4 == 3:
            super().end(alone)

    def removed(self, connector: Connector, story: Story, led_anew: bool) -> None:
        """The worker of a connector's last task is away for longer than its session, perhaps in a transaction, and
        comes back when the newest set has fewer tasks, and perhaps when another worker leads."""
        self.all_up()
        most = int(self.run.config["max_tasks"])
        self.configure(connector, most, story.worker)
        self.go()
        last = max(self.waiting("poll", -1, connector), key=lambda thread: thread[4], default=None)
        if last is None:
            return
        if story.acts % 3 == 0:
            self.step(last)
        self.call("stall", last[2])
        # A leader forgets what it took away only after one more rebalance; a new leader does not know.
        story = story._replace(holding=Holding.GONE, number=story.number if led_anew else 1)
        self.reconfigure_without(last[2], connector, 1 + story.counts[0] % max(most - 1, 1), story, first=True)
        if led_anew and self.seen.leader not in (-1, last[2]):
            self.call("expire", self.seen.leader)
            self.go()
        self.back(last[2])
        self.go()
        self.work()


HELD = ((), ("join", "sync", "assign"), (), ("answer", "stop"))
LIVE_SIZE: Mapping[str, Any] = {"workers": 3, "protocol": "cooperative", "preemptive_stop": False}
"""Only what a live cluster can be without being started again is drawn: how many connectors and tasks there are, how
late a worker learns that its session has ended, and which operations wait besides those that always do (`HELD`)."""

MACHINES = variants(Shipped, {"shipped": CHANCES}) | variants(Machine, dict.fromkeys("AMB", CHANCES))


# This context has what a driven run of a Connect cluster reveals in addition to its history, and the limits of the
# promises.
#
# A history has only what was committed, while a driven run reveals earlier that a zombie could commit. With a worker
# that lacks support, or a foreign writer, nothing is promised (618.33, 618.34): what breaks from then on is excused,
# and *predicted* where it is ``expecting`` to.

BY_LEADERS = frozenset(VOCABULARY.observed_by(TOPIC))
CHANGES = frozenset({"task_running", "set_written", "count_written", "count_tombstoned", "connector_tombstoned"})
"""After one of the events in `CHANGES` a task may exist that should not."""
LOOKED_AT = BY_LEADERS | CHANGES | {"task_starting"}
TWICE = 2
"""A user restarts the same task at most `TWICE` times when all faults are over. One restart repairs what a fault has
broken. Another is needed because a leader learns only when it writes that another worker has claimed the topic
meanwhile, which fails the round of that write (DistributedHerder.writeToConfigTopicAsLeader), and then claims it back.
"""


class CountsContext(RunContext):
    """A `CountsContext` monitors one run, of which nothing is promised since call number ``outside`` (None: until the
    end).

    The model judges how workers uphold the promises, except for what can be observed in the topic and of running tasks.
    """

    excusable = frozenset({
        "618.P1", "618.P3", "618.P4", "618.2", "618.3", "618.5", "618.7", "618.19", "618.24", "618.26", "618.42",
    })  # fmt: skip

    left_to_the_model = frozenset(one.name for one in MECHANISMS) - {
        "sets_whole", "fenced_before_count", "writes_by_latest_claimant",
    }  # fmt: skip

    def __init__(self, config: Mapping[str, Any], expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.seen, self.calls = Seen(config), 0
        self.undisturbed = Undisturbed(self.seen)
        self.awaited: set[int] = set()  # workers that are down, and whose session the group has not ended
        self.outside = 0 if self.seen.outside else None

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterator[tuple[Broken, Concerned]]:
        self.calls += 1
        for event in events:
            self.seen.note(event)
            if read(event, "kind") in LOOKED_AT:
                for broken in self._look(event):
                    yield broken, frozenset()
        if self.seen.outside and self.outside is None:
            self.outside = self.calls
        self.undisturbed.note(made)
        for connector, task in self.undisturbed.starved(made, messages):
            failed = (connector, task, self.seen.topics[connector].newest) in self.seen.failed
            yield _starved(connector, task, events, failed), frozenset()
        self._await(made)
        if isinstance(made.result, Alone) and self._is_up() and not self.awaited:
            yield from ((broken, frozenset()) for broken in self._left(made.result))
        if isinstance(made.result, Finished) and self._is_up():
            if not made.result.quiet:
                words = "the cluster does not come to rest"
                yield Broken("618.P4", words, check="result.quiet", at_rest=True), frozenset()
            elif made.result.restarts > TWICE:
                words = f"what failed is started again {made.result.restarts} times, and nothing goes wrong meanwhile"
                yield Broken("618.P4", words, check=f"result.restarts <= {TWICE}"), frozenset()

    def _await(self, made: Made) -> None:
        match made.call.name:
            case "crash" | "crash_in_write":
                self.awaited.add(made.call.get("worker", -1))
            case "expire" | "restart_worker" | "set_support":
                self.awaited.discard(made.call.get("worker"))

    def _left(self, alone: Alone) -> Iterator[Broken]:
        """Yield what is broken when no further event is due and no operator has restarted anything: every task of a
        newest set must poll or have failed (618.11), by itself or with its Connector."""
        if not alone.quiet:
            yield Broken("618.P4", "those that are up do not come to rest", check="result.quiet", at_rest=True)
            return
        for connector, task in self.seen.lacking():
            if self.seen.has_failed(connector, task) or (connector, -1) in alone.failed:
                continue
            words = f"task {task} of connector {connector} has not failed, and does not poll when faults are over"
            polls = (connector, task) in alone.at_work  # from an older set
            check = "" if polls else f"({connector}, {task}) in result.at_work"
            yield Broken("618.P4", words, check=check, at_rest=True)

    def is_quiet(self, made: Made) -> bool:
        return isinstance(made.result, Finished) and made.result.quiet and self._is_up()

    def excuses(self, call: int, concerned: Concerned) -> bool:
        return self.outside is not None and self.outside <= call

    def _is_up(self) -> bool:
        return len(self.seen.down) < int(self.config["workers"])

    def _look(self, event: Event) -> Iterator[Broken]:
        """Yield the violations by an event, already noted, that no history reveals, or that a history reveals only with
        kinds of event that may be hidden."""
        kind, topic = read(event, "kind"), self.seen.topics[read(event, "connector", -1)]
        if kind in BY_LEADERS and read(event, "node", -1) >= 0 > read(event, "producer_id", -1):
            words = f"worker {read(event, 'node')} writes with a producer that cannot be fenced"
            yield Broken("618.24", words, event)
        if kind == "task_starting" and self.seen.is_foreign(event):
            words = f"worker {read(event, 'node')} starts task {read(event, 'task')}, which is not assigned to it"
            yield Broken("618.41", words, event)
        if kind == "task_running" and topic.newest > read(event, "set"):
            yield Broken("618.19", f"{self.seen.instance_of(event)} polls, and a newer set is at {topic.newest}", event)
        for one in self.seen.running(read(event, "connector")) if kind in CHANGES else ():
            if one.set < topic.polled:
                yield Broken("618.P1", f"{one} can commit, and a task from the set at {topic.polled} polls", event)
            if one.task >= topic.count and (one.set != topic.newest or topic.deleted):
                covers = f"covers {topic.count} ids" if topic.count >= 0 else "is not there"
                yield Broken("618.P3", f"{one} can commit, and the latest count {covers}", event)


def _starved(connector: int, task: int, events: Sequence[Event], failed: bool) -> Broken:
    failing = [e for e in events if read(e, "kind") == "task_failed" and _of(e) == (connector, task)]
    if failed or failing:
        words = f"task {task} of connector {connector} fails, and nothing went wrong"
        check = "" if failing else f"system.status({connector}, {task})[0] != 'FAILED'"
        return Broken("618.P4", words, next(reversed(failing), None), check)
    polling = f"{{thread[3:] for thread in system.threads() if thread[1] in {tuple(sorted(AT_WORK))}}}"
    words = f"task {task} of connector {connector} does not poll, and nothing went wrong"
    return Broken("618.P4", words, check=f"({connector}, {task}) in {polling}", at_rest=True)


def _of(event: Event) -> tuple[int, int]:
    return read(event, "connector", -1), read(event, "task", -1)


# What task counts bring to agreement: the plug, the machines, and the core of each text.

TASK_COUNTS = Agreeing(
    protocol="task-counts",
    says="exactly-once source connectors: who may run",
    machines=MACHINES,
    missing=missing,
    black_box=BLACK_BOX,
    small=SMALL,
    tour=tour,
    context=CountsContext,
    call=Call,
    ways=WAYS,
    follow=follow,
    call_of=call_of,
    turn=turned,
    composite=frozenset({"run", "work", "get_on", "finish", "do"}),
    valid=valid,
    steps=9,
)

ON_A_CLUSTER = replace(
    TASK_COUNTS, implementation="fencepost.reference_impl.live.connect.task_counts:own", follow=None, probed=False,
    recorder="fencepost.proofs.recording.task_counts.recorder:record_task_counts",
    small={**SMALL, **LIVE_SIZE}, machines=variants(Live, {"shipped": CHANCES}), tries=3, replays=12, between=True,
    by_silence=True, further=0, steps=3,
    unrepeated=frozenset({"node", "instance", "set", "offset", "request", "producer_id", "epoch"}),
)  # fmt: skip
"""Real workers are held against the promises by what passes their proxies. The model cannot be followed by that alone,
where rounds and looks are unseen: it follows what is recorded of a program when that is over."""
