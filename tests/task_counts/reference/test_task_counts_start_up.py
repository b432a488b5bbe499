"""Each revision starts a task in its exact order, and some events end a start (618.14 to 618.20, 618.44)."""

import pytest
from fencepost.properties.task_counts.scenarios.known import Script

MODES = ("A", "M", "B", "shipped")
STARTS = {
    "A": ["open_producer", "check_after", "poll"],
    "M": ["open_producer", "check_after", "poll"],
    "B": ["ask", "check_before", "open_producer", "check_after", "poll"],
    "shipped": ["ask", "open_producer", "check_after", "poll"],
}
EVENTS = {
    "A": ["task_starting", "task_checked", "producer_opened", "task_checked_again", "task_running"],
    "M": ["task_starting", "task_checked", "producer_opened", "task_checked_again", "task_running"],
    "B": ["task_starting", "task_checked", "producer_opened", "task_checked_again", "task_running"],
    "shipped": ["task_starting", "producer_opened", "task_checked_again", "task_running"],
}


def cluster(mode: str, **config: object) -> Script:
    return Script.of_reference(mode=mode, **config)


def operations(script: Script, number: int) -> list[str]:
    """Return the operations of one thread until it polls, while the other threads run too."""
    found: list[str] = []
    while (mine := [t for t in script.threads() if t.number == number]) and mine[0].operation != "poll":
        found.append(mine[0].operation)
        script.system.step(number)
        script.settle()
    return [*found, *(t.operation for t in mine)]


@pytest.mark.parametrize("mode", MODES)
def test_the_steps_of_a_start_on_the_leader(mode: str) -> None:
    script = cluster(mode, workers=1)
    script.system.configure(0, 0, 1)
    first = script.until(STARTS[mode][0], task=0)
    assert operations(script, first.number) == STARTS[mode]
    assert [event.kind for event in script.seen() if event.instance == 0] == EVENTS[mode]


@pytest.mark.parametrize("mode", ["B", "shipped"])
def test_the_steps_of_a_start_on_a_follower(mode: str) -> None:
    """The answer to a follower's request arrives as an operation of its own."""
    script = cluster(mode, workers=2)
    script.system.configure(0, 0, 2)
    first = script.until("ask", worker=1)
    assert operations(script, first.number) == ["ask", "answer", *STARTS[mode][1:]]


@pytest.mark.parametrize("mode", MODES)
def test_the_count_record_stands_after_the_set_when_a_task_polls(mode: str) -> None:
    """618.2: No task polls before the config topic has a count record after the task's set."""
    script = cluster(mode, workers=2)
    script.configure(0, tasks=2)
    kinds = [event.kind for event in script.kinds("set_written", "count_written", "task_running")]
    assert kinds == ["set_written", "count_written", "task_running", "task_running"]
    (written,) = script.kinds("set_written")
    assert {event.set for event in script.kinds("count_written", "task_running")} == {written.offset}


def test_a_refuses_until_the_next_rebalance() -> None:
    """618.14: In A a task without a count record after the latest set in its worker's view does not start until the
    next rebalance."""
    script = cluster("A", workers=1)
    script.system.configure(0, 0, 1)
    script.outcome(script.until("write_count"), "failed")
    script.settle()
    (checked,) = script.kinds("task_checked")
    assert checked.status == 409
    assert [e.kind for e in script.kinds("producer_opened", "task_abandoned")] == ["task_abandoned"]
    herder = script.system.env.workers[0].herder
    assert herder is not None and "no task count record" in herder.warnings[0]
    assert script.system.status(0, 0) == ("UNASSIGNED", "")
    script.system.expire(0)  # whatever brings a rebalance
    script.settle()
    assert script.system.status(0, 0) == ("RUNNING", "")


def test_m_starts_as_soon_as_the_record_is_read() -> None:
    """618.44: In M a task waits for the count record, and starts without a rebalance when its worker reads it."""
    script = cluster("M", workers=2)
    script.system.configure(0, 0, 2)
    lagging = script.until("write_count")
    script.settle()
    assert script.kinds("task_starting") and not script.kinds("task_checked")
    generation = script.system.env.group.generation
    script.go(lagging)
    assert [e.status for e in script.kinds("task_checked")] == [200, 200]
    assert len(script.kinds("task_running")) == 2
    assert script.system.env.group.generation == generation


def test_b_reads_to_the_end_before_it_opens_a_producer() -> None:
    """618.16, 618.20: In B a set committed after the round's answer, but before the check of the topic, ends the start
    unopened. This is no failure, and the newer set's task starts."""
    script = cluster("B", workers=1, preemptive_stop=False)
    script.system.configure(0, 0, 1)
    held = script.until("check_before", task=0)
    script.system.configure(0, 0, 1)
    script.run(lambda: len(script.kinds("set_written")) == 2)
    script.go(held)
    old, new = script.kinds("task_abandoned", "task_running")
    assert (old.kind, new.kind) == ("task_abandoned", "task_running") and old.set < new.set
    assert not [e for e in script.kinds("producer_opened", "task_failed") if e.instance == old.instance]
    assert script.system.status(0, 0) == ("RUNNING", "")


@pytest.mark.parametrize("mode", MODES)
def test_a_newer_set_after_the_producer_is_opened(mode: str) -> None:
    """618.19, 618.20: A set committed while the producer was being opened prevents polling. The task is abandoned in
    the documents, FAILED with a trace as shipped, and replaced by one of the newer set."""
    script = cluster(mode, workers=1, preemptive_stop=False)
    script.system.configure(0, 0, 1)
    held = script.until("check_after", task=0)
    script.system.configure(0, 0, 1)
    script.run(lambda: len(script.kinds("set_written")) == 2)
    script.system.step(held.number)
    ended = script.kinds("task_abandoned", "task_failed")
    assert [e.kind for e in ended] == ["task_failed" if mode == "shipped" else "task_abandoned"]
    state, trace = script.system.status(0, 0)
    assert (state, "generation" in trace) == (("FAILED", True) if mode == "shipped" else ("UNASSIGNED", False))
    assert not script.kinds("task_running")
    script.held.clear()
    script.settle()
    assert [e.set for e in script.kinds("task_running")] == [script.kinds("set_written")[1].offset]


@pytest.mark.parametrize("mode", MODES)
def test_generations_are_compared_and_not_records(mode: str) -> None:
    """618.19, H4: A complete round for the newer set does not let a delayed task of the older one poll, since it
    compares its own set and not the position of a count record."""
    script = cluster(mode, workers=3)
    script.configure(0, tasks=2)
    old = script.owner(0, 1)
    script.system.configure((old + 1) % 3, 0, 2)
    held = script.until("check_after", task=1)
    script.system.stall(held.worker)
    script.system.expire(held.worker)
    script.held.clear()
    script.settle()
    script.configure(0, tasks=2)
    newest = script.kinds("set_written")[-1].offset
    assert script.kinds("count_written")[-1].set == newest
    script.resume(held.worker)
    script.settle()
    late = [e for e in script.kinds("task_checked_again") if e.node == held.worker and e.status == 409]
    assert late and late[-1].set < newest
    assert {e.set for e in script.kinds("task_running") if e.instance == late[-1].instance} == set()


@pytest.mark.parametrize("mode", MODES)
def test_a_start_that_times_out_fails_with_a_trace(mode: str) -> None:
    script = cluster(mode, workers=1)
    script.system.configure(0, 0, 1)
    script.outcome(script.until("open_producer"), "failed")
    script.settle()
    state, trace = script.system.status(0, 0)
    assert state == "FAILED" and trace == "TimeoutException: open_producer: timed out"
    script.restart_task(0, 0)
    assert script.system.status(0, 0) == ("RUNNING", "")


def test_a_task_that_is_stopped_in_its_start_touches_no_producer() -> None:
    script = cluster("shipped", workers=1)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    script.until("fence", task=0)
    waiting = script.kinds("task_starting")[-2:]
    assert script.system.restart_task(0, 0, 1)
    script.settle()
    (stopped,) = [e for e in script.kinds("task_stopped") if e.instance in {e.instance for e in waiting}]
    assert not [e for e in script.kinds("producer_opened") if e.instance == stopped.instance]
    script.go()
    assert {e.instance for e in script.kinds("task_running")} >= {waiting[0].instance, waiting[1].instance + 1}


def test_a_set_that_shrinks_takes_its_last_tasks_with_it() -> None:
    script = cluster("B", workers=2)
    script.configure(0, tasks=2)
    script.configure(0, tasks=1)
    newest = script.kinds("set_written")[-1].offset
    assert [(e.task, e.set) for e in script.kinds("task_running") if e.set == newest] == [(0, newest)]
    assert script.system.status(0, 1) == ("UNASSIGNED", "")
