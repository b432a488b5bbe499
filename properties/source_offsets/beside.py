"""What of a driven connector no event by itself says: that those of its tasks which live get on without a restart, and
where tombstones let the copies in the worker's topic break promises of what is right as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.monitoring import Broken, Concerned

EXACTLY_ONCE = FIRST = 0
GETTING_ON = "get_on"
"""The call in which those that live get on by themselves."""
ENDS = frozenset({"instance_stopped", "instance_failed", "instance_killed"})


@dataclass
class Newest:
    """The newest set of tasks, and by task the newest instance that lives; whose start was seen; who has begun."""

    generation: int
    count: int
    runtime: int
    instances: dict[int, int] = field(default_factory=dict)
    started: set[int] = field(default_factory=set)
    running: set[int] = field(default_factory=set)


class Tombstones:
    """Which tombstones and copies in the worker's topic do harm, by the number of the call.

    A null offset goes to the worker's topic first, beside the transaction, and a copy of an offset after it.  So an old
    copy may come behind a tombstone (late-copies), and a tombstone may stand there whose transaction is never
    committed: then the worker's topic has not what the combined view takes from it, whatever implementation it is.
    """

    def __init__(self) -> None:
        self.told = defaultdict[int, int](int)  # by partition, how many
        self.under_way = defaultdict[tuple[int, int, int], list[int]](list)  # copies, and how many there were
        self.undecided: dict[int, int] = {}  # by instance, since which call it has an undecided one
        self.harmful: list[tuple[int, float]] = []  # from one call up to another

    def watch(self, call: int, event: Event) -> None:
        """Take note of an event."""
        kind, instance = read(event, "kind"), read(event, "instance", -1)
        partition, offset = read(event, "partition", -1), read(event, "offset", -1)
        if kind == "copy_sent" and offset > 0:
            self.under_way[instance, partition, offset].append(self.told[partition])
        elif kind == "copy_told" and offset > 0:
            before = self.under_way[instance, partition, offset]
            if before and before.pop(0) < self.told[partition]:
                self.harmful.append((call, inf))
        elif kind == "copy_told" and not read(event, "error", 0):
            self.told[partition] += 1
            self.undecided.setdefault(instance, call)
        elif kind == "end_told" and read(event, "outcome") == 1 and not read(event, "error", 0):
            since = self.undecided.pop(instance, call)
            self.harmful += [(since, call)] if since < call else []

    def did_harm(self, call: int) -> bool:
        """Had any by then?"""
        return any(since <= call <= until for since, until in self.harmful) or any(
            since <= call for since in self.undecided.values()
        )


class GettingOn(AtRest):
    """Of a run: its newest set, and its tombstones."""

    excusable = frozenset({"618.P2", "618.P4", "618.P5"})

    def __init__(self, config: Any, expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.newest = Newest(FIRST, int(config.get("tasks", 1)), EXACTLY_ONCE)
        self.tombstones = Tombstones()
        self.calls_made = 0

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Who lives; and, when those had their time, what they have come to."""
        self.calls_made += 1
        for event in events:
            self.note(event)
            self.tombstones.watch(self.calls_made, event)
        if made.call.name == GETTING_ON:
            yield from self.judged(events)

    def note(self, event: Event) -> None:
        """Of which set an instance is, and whether it lives."""
        newest, kind = self.newest, read(event, "kind")
        task, instance = read(event, "task", -1), read(event, "instance", -1)
        if kind == "configured":
            count, runtime = read(event, "count"), read(event, "runtime")
            self.newest = Newest(read(event, "generation"), count, runtime)
        elif kind == "instance_started" and read(event, "generation") == newest.generation:
            newest.instances[task] = instance
            newest.started.add(task)
        elif kind == "instance_running":
            newest.running.add(instance)
            if newest.generation == FIRST and task not in newest.started:  # it was there before any call
                newest.instances[task] = instance
        elif kind in ENDS and newest.instances.get(task) == instance:
            del newest.instances[task]

    def judged(self, events: Sequence[Event]) -> Iterable[tuple[Broken, Concerned]]:
        """618.P5: what a task has read that lives, and has found its offsets, is stored, and that is all."""
        newest, last_round = self.newest, int(self.config.get("rounds", 1)) - 1
        if newest.runtime != EXACTLY_ONCE:
            return
        for event in events:
            if read(event, "kind") != "audited":
                continue
            partition, where = read(event, "partition"), (read(event, "round"), read(event, "offset"))
            instance = newest.instances.get(partition % newest.count)
            if instance in newest.running and where != (last_round, self.config["records"]):
                text = (
                    f"faults are over, and instance {instance} runs and was told of no error, but a restart would "
                    f"resume source partition {partition} from {where[1]} of round {where[0]}, which has more"
                )
                yield Broken("618.P5", text, event=event), frozenset()

    def excuses(self, call: int, concerned: Concerned) -> bool:
        """Tombstones are in the way."""
        return self.tombstones.did_harm(call)

    def why(self, call: int, concerned: Concerned) -> str:
        """As the text has it."""
        return "618.31: a copy came late, or a tombstone stands beside a transaction that is not committed"
