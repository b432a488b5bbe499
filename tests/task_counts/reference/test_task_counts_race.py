"""In the race of the documents, F stalls before it opens its producer, O runs the task, and L leads (618.40)."""

from typing import NamedTuple

import pytest
from fencepost.properties.task_counts.scenarios.known import Script
from fencepost.reference_impl.connect.config import Event

MODES = ("A", "M", "B", "shipped")


class Race(NamedTuple):
    """A `Race` is the state in which F is about to resume task 1, since task 0 runs on the leader."""

    script: Script
    f: int
    old: Event  # the start on F
    new: Event  # the task that runs on O


def race(mode: str, protocol: str) -> Race:
    """Take the documents' steps up to F's return, after everything that precedes its producer: in A the check of its
    own view after the leader's fencing in the rebalance, in B and as shipped the round that it asked for."""
    script = Script.of_reference(mode=mode, protocol=protocol, workers=3, heartbeat_ms=3000)
    script.system.configure(0, 0, 2)
    held = script.until("open_producer", task=1)
    assert held.worker != script.leader()
    (old,) = [e for e in script.kinds("task_starting") if e.task == 1]
    script.zombie(held.worker)
    script.configure(0, tasks=2)
    new = [e for e in script.kinds("task_running") if e.task == 1][-1]
    assert new.node not in (held.worker,) and new.set > old.set
    script.work()
    assert [e for e in script.kinds("transaction_committed") if e.instance == new.instance]
    script.resume(held.worker)
    return Race(script, held.worker, old, new)


def of_f(script: Script, start: Event) -> list[str]:
    return [e.kind for e in script.seen() if e.instance == start.instance and e.kind != "task_starting"]


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
@pytest.mark.parametrize("mode", MODES)
def test_the_stalled_start_fences_the_new_task_and_stops_there(mode: str, protocol: str) -> None:
    """F's producer fences O's task, which fails. F sees the newer set and does not poll, which is safe and costs a
    task."""
    script, f, old, new = race(mode, protocol)
    script.system.step(*[t.number for t in script.threads("open_producer", worker=f, task=1)])
    (opened,) = [e for e in script.kinds("producer_opened") if e.instance == old.instance]
    assert opened.epoch > new.epoch and opened.producer_id == new.producer_id
    script.system.step(*[t.number for t in script.threads("check_after", worker=f, task=1)])
    ended = "task_failed" if mode == "shipped" else "task_abandoned"
    assert of_f(script, old)[-2:] == ["task_checked_again", ended]
    script.work(task=1)
    refused = [e for e in script.kinds("transaction_refused") if e.instance == new.instance]
    assert [e.error for e in refused] == [90]
    assert new.instance in {e.instance for e in script.kinds("task_failed")}


@pytest.mark.parametrize("mode", MODES)
def test_a_restart_brings_the_fenced_task_back(mode: str) -> None:
    """After the race a user's restart, or the rebalance at F's return, runs the task again for the newest set only. The
    race costs progress, never safety."""
    script, f, _, new = race(mode, "cooperative")
    script.system.step(*[t.number for t in script.threads("open_producer", worker=f, task=1)])
    script.system.step(*[t.number for t in script.threads("check_after", worker=f, task=1)])
    script.work(task=1)
    script.settle()
    if script.system.status(0, 1)[0] != "RUNNING":
        script.restart_task(0, 1)
    assert script.system.status(0, 1) == ("RUNNING", "")
    last = [e for e in script.kinds("task_running") if e.task == 1][-1]
    assert last.set == new.set and last.instance > new.instance
    script.work(task=1)
    assert [e for e in script.kinds("transaction_committed") if e.instance == last.instance]


@pytest.mark.parametrize("mode", MODES)
def test_a_running_task_of_a_stalled_worker_cannot_commit_after_a_round(mode: str) -> None:
    """618.P1: The round for the newer set fences a task that stalls within a transaction, whose records are never
    committed."""
    script = Script.of_reference(mode=mode, workers=3)
    script.configure(0, tasks=2)
    zombie = script.owner(0, 1)
    (polling,) = script.threads("poll", task=1)
    script.system.step(polling.number)  # a transaction is open
    script.zombie(zombie)
    script.configure(0, tasks=2)
    script.resume(zombie)
    script.system.step(polling.number)  # its commit
    refused = script.kinds("transaction_refused")
    assert [(e.node, e.task, e.error) for e in refused] == [(zombie, 1, 90)]
    running = script.kinds("task_running")
    assert not [e for e in script.kinds("transaction_committed") if e.set < running[-1].set]
