"""What can be seen to be wrong in a history of Connect workers, each as a function from events to the events at fault."""

from collections import defaultdict


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
    """B36: transactions of a task's instance committed after another one of the same task opened its producer later."""
    latest, opened, found = {}, {}, []
    for event in events:
        key = (event.connector, event.task)
        if event.kind == "producer_opened":
            opened[event.instance] = len(opened)
        elif event.kind == "task_running":
            latest[key] = max(latest.get(key, -1), opened.get(event.instance, -1))
        elif event.kind == "transaction_committed" and opened.get(event.instance, -1) < latest.get(key, -1):
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
    """618.P4: tasks of newest sets whose latest instance failed, or was abandoned, or never came to run."""
    sizes, state = {}, {}
    for event in events:
        if event.kind == "set_written":
            sizes[event.connector] = event.count
            state = {key: value for key, value in state.items() if key[0] != event.connector}
        elif event.kind == "connector_tombstoned":
            sizes.pop(event.connector, None)
        elif event.kind in ("task_running", "task_failed", "task_abandoned", "task_stopped"):
            state[event.connector, event.task] = event.kind
    tasks = [(connector, task) for connector, size in sizes.items() for task in range(size)]
    return [task for task in tasks if state.get(task) != "task_running"]
