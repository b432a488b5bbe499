"""Promises about tasks: who may run, and who can still commit."""

from collections.abc import Iterator

from fencepost.properties.driving import Event, read
from fencepost.properties.monitoring import Broken
from fencepost.properties.task_counts.monitoring.seen import Instance, Seen

CHANGES = frozenset({"task_running", "set_written", "count_written", "count_tombstoned", "connector_tombstoned"})
"""After these somebody may be one too many."""


def look_at_task(seen: Seen, event: Event) -> Iterator[Broken]:
    """What an event, already noted, says of tasks."""
    kind, connector = read(event, "kind"), read(event, "connector", -1)
    if kind == "transaction_committed":
        instance, polled = seen.instance_of(event), seen.topics[connector].polled
        if instance.set < polled:
            yield Broken("618.P1", f"{instance} commits after a task from the set at {polled} polled", event)
    if kind == "task_running":
        yield from _may_run(seen, seen.instance_of(event), event)
    if kind in CHANGES:
        yield from _zombies(seen, connector, event)


def _may_run(seen: Seen, instance: Instance, event: Event) -> Iterator[Broken]:
    topic = seen.topics[instance.connector]
    if instance.set not in topic.sets:
        yield Broken("618.3", f"{instance} polls, and no set was committed there", event)
    elif instance.task >= topic.sets[instance.set]:
        yield Broken("618.3", f"{instance} polls, and that set has {topic.sets[instance.set]} tasks", event)
    elif not topic.counted(instance.set):
        yield Broken("618.2", f"{instance} polls, and no count record stands after that set", event)
    elif topic.newest > instance.set:
        yield Broken("618.19", f"{instance} polls, and a newer set is at {topic.newest}", event)


def _zombies(seen: Seen, connector: int, event: Event) -> Iterator[Broken]:
    """Those that can commit: none of an older set than one that has polled, and each of the newest set or covered by
    the latest count."""
    topic = seen.topics[connector]
    for instance in seen.running(connector):
        if instance.set < topic.polled:
            yield Broken("618.P1", f"{instance} can commit, and a task from the set at {topic.polled} polls", event)
        if instance.task >= topic.count and (instance.set != topic.newest or topic.deleted):
            covers = f"covers {topic.count} ids" if topic.count >= 0 else "is not there"
            yield Broken("618.P3", f"{instance} can commit, and the latest count {covers}", event)
