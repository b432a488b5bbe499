"""What can be seen to be wrong in a history of Connect workers: functions from events to the events at fault."""

from collections import defaultdict

ENDS = ("task_failed", "task_abandoned", "task_stopped")


def older_set_commits(events):
    """618.P1: transactions of a set committed after a task of a newer set of that connector ran."""
    newest = defaultdict(lambda: -1)
    found = []
    for event in events:
        if event.kind == "task_running":
            newest[event.connector] = max(newest[event.connector], event.set)
        elif event.kind == "transaction_committed" and event.set < newest[event.connector]:
            found.append(event)
    return found


def replaced_instance_commits(events):
    """B36: transactions of a task's instance committed after a later one of that task ran; later is whose producer was
    opened later (without one: who ran later)."""
    latest, since, found = {}, {}, []
    for event in events:
        key = (event.connector, event.task)
        if event.kind == "producer_opened":
            since[event.instance] = len(since)
        elif event.kind == "task_running":
            latest[key] = max(latest.get(key, -1), since.setdefault(event.instance, len(since)))
        elif event.kind == "transaction_committed" and since[event.instance] < latest[key]:
            found.append(event)
    return found


def fenced_by_strangers(events):
    """618.49: refused transactions of the instance that was the last of its task to open a producer, with no fencing of
    its id since."""
    holder, found = {}, []
    for event in events:
        key = (event.connector, event.task)
        if event.kind == "producer_opened":
            holder[key] = event.instance
        elif event.kind == "id_fenced":
            holder.pop(key, None)
        elif event.kind == "transaction_refused" and holder.get(key) == event.instance:
            found.append(event)
    return found


def counts_by_former_leaders(events):
    """618.26: count records by a worker that is not the last one to have claimed the topic."""
    leader, found = -1, []
    for event in events:
        if event.kind == "topic_claimed":
            leader = event.node
        elif event.kind == "count_written" and event.node not in (-1, leader):
            found.append(event)
    return found


def tasks_not_running(events):
    """618.P4: tasks of newest sets that no instance runs."""
    sizes, running = {}, {}
    for event in events:
        if event.kind == "set_written":
            sizes[event.connector] = (event.set, event.count)
        elif event.kind == "connector_tombstoned":
            sizes.pop(event.connector, None)
        elif event.kind == "task_running":
            running[event.instance] = (event.node, event.connector, event.task, event.set)
        elif event.kind in ENDS:
            running.pop(event.instance, None)
        elif event.kind == "worker_stopped":
            running = {instance: where for instance, where in running.items() if where[0] != event.node}
    there = {where[1:] for where in running.values()}
    wanted = [(connector, task, place) for connector, (place, size) in sizes.items() for task in range(size)]
    return [task[:2] for task in wanted if task not in there]
