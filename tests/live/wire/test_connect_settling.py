"""When a driven Connect is called at rest, without one: processes that sleep are its workers."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fencepost.reference_impl.live.connect import stepping
from fencepost.reference_impl.live.connect.control import Control, Instance
from fencepost.reference_impl.live.connect.observing import AGAIN, Observer
from fencepost.reference_impl.live.connect.rest import Asked, Reply, RestProxy
from fencepost.reference_impl.live.connect.seen import Seen
from fencepost.reference_impl.live.connect.task_counts import TaskGates
from fencepost.reference_impl.live.connect.worker import threads_of

LATER_S, PATIENCE_S = 0.8, 3.0
DENIED = 53


@pytest.fixture
def named(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts a process whose only thread has that name, and sleeps."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> subprocess.Popen[bytes]:
        program = shutil.copy(shutil.which("sleep") or "", tmp_path / name)
        started.append(subprocess.Popen([program, "60"]))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.fixture
def gates(
    named: Callable[[str], subprocess.Popen[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TaskGates]:
    """Those of two workers, of which nothing has been heard for long."""
    monkeypatch.setattr(stepping, "AWAITED_S", PATIENCE_S)
    seen = Seen(tmp_path / "seen.jsonl")
    workers = {name: SimpleNamespace(process=named(name), is_awake=True) for name in ("w0", "w1")}
    with Control(seen) as control:
        made: Any = SimpleNamespace(
            workers=workers, control=control, kafka=SimpleNamespace(nodes={}),
            proxies={name: SimpleNamespace() for name in workers},
            rest={name: RestProxy(name, 1, seen) for name in workers},
        )  # fmt: skip
        yield TaskGates(made)


def settled_s(gates: TaskGates, later: Callable[[], object] = lambda: None) -> float:
    """How long it takes until all is at rest, if that is done after `LATER_S`."""
    began, timer = time.monotonic(), threading.Timer(LATER_S, later)
    timer.start()
    gates.settle()
    timer.cancel()
    return time.monotonic() - began


def joins(gates: TaskGates, node: int, number: int = 1) -> Any:
    """A JoinGroup that comes from a worker, and is not answered."""
    request = SimpleNamespace(name="JoinGroup", payload=SimpleNamespace(), client_id="", transactional_id=None)
    exchange: Any = SimpleNamespace(number=number, link=number, request=request, answered_by=[])
    gates._came(node, exchange)
    return exchange


def test_what_sleeps_is_at_rest(gates: TaskGates) -> None:
    assert settled_s(gates) < LATER_S


def test_a_task_that_starts_is_waited_for(gates: TaskGates, named: Callable[[str], Any]) -> None:
    """It is there as a thread, and polls later."""
    gates.cluster.workers["w1"].process = named("task-thread-c-0")
    polls = Instance("i", "c", 0, "w1", 1, polls=1)
    assert LATER_S < settled_s(gates, lambda: gates.cluster.control.instances.update(i=polls)) < PATIENCE_S


def test_a_task_that_works_is_waited_for(gates: TaskGates, named: Callable[[str], Any]) -> None:
    """It has polled, and polls again later."""
    gates.cluster.workers["w1"].process = named("task-thread-c-0")
    gates.close(Observer("g", ["c"], itertools.count(1)))
    control, poll = gates.cluster.control, SimpleNamespace(name="poll", instance="i")
    control.instances["i"] = Instance("i", "c", 0, "w1", 1, polls=1)
    held: list[Any] = control.held
    assert LATER_S < settled_s(gates, lambda: held.append(poll)) < PATIENCE_S


def test_a_task_that_never_polls_is_given_up(gates: TaskGates, named: Callable[[str], Any]) -> None:
    gates.cluster.workers["w1"].process = named("task-thread-c-0")
    assert settled_s(gates) > PATIENCE_S


def test_a_worker_that_has_to_join_is_waited_for(gates: TaskGates) -> None:
    joins(gates, 0)
    time.sleep(stepping.REJOINING_S)
    assert LATER_S < settled_s(gates, lambda: joins(gates, 1)) < PATIENCE_S


def test_a_worker_that_is_paused_does_not_join(gates: TaskGates) -> None:
    joins(gates, 0)
    gates.cluster.workers["w1"].is_awake = False
    assert settled_s(gates) < LATER_S


def test_a_step_does_not_wait_for_a_rebalance(gates: TaskGates) -> None:
    """It may go on without it, as others than the one that steps learn of it when the driver lets time pass."""
    joins(gates, 0)
    gates.begin(is_step=True)
    assert settled_s(gates) < LATER_S


def test_a_refused_set_is_sent_again(gates: TaskGates) -> None:
    """After a quarter of a second, and after a half when it is refused twice; not after it was accepted."""
    refused = Asked("w0", "POST", "/connectors/c/tasks", b"", status=409)
    gates._asked(refused)
    gates._asked(refused)
    assert settled_s(gates) > stepping.FIRST_AGAIN_S * 2
    gates._asked(Asked("w0", "POST", "/connectors/c/tasks", b"", status=204))
    assert settled_s(gates) < stepping.FIRST_AGAIN_S * 2


def test_an_answer_is_waited_for(gates: TaskGates) -> None:
    def ask(*_: object) -> Reply:
        time.sleep(LATER_S)
        return Reply(201, None)

    worker: Any = SimpleNamespace(ask=ask)
    assert gates.ask(worker, "PUT", "/connectors/c/config") == (201, None)


def test_a_process_that_has_ended_has_no_threads(named: Callable[[str], subprocess.Popen[bytes]]) -> None:
    process = named("with ) and 0")
    ends = time.monotonic() + PATIENCE_S
    while (found := threads_of(process.pid)) != [("with ) and 0", "S")]:
        assert time.monotonic() < ends, found
    process.kill()
    process.wait()
    with pytest.raises(OSError, match=str(process.pid)):
        threads_of(process.pid)


@pytest.mark.parametrize("error", sorted(AGAIN))
def test_what_a_client_repeats_is_no_failed_start(error: int) -> None:
    observer = Observer("g", ["c"], itertools.count(1))
    request: Any = SimpleNamespace(
        name="InitProducerId", payload=object(), client_id="connector-producer-c-0", transactional_id="g-c-0"
    )
    for code, producer_id in ((error, -1), (0, 7)):
        observer.answered(0, request, SimpleNamespace(error_code=code, producer_id=producer_id, producer_epoch=0))
    (instance,) = observer.instances
    assert (instance.producer_id, instance.is_ended) == (7, False)
    assert [event["kind"] for event in observer.events] == ["producer_opened"]


def test_a_refused_start_has_failed() -> None:
    observer = Observer("g", ["c"], itertools.count(1))
    request: Any = SimpleNamespace(
        name="InitProducerId", payload=object(), client_id="connector-producer-c-0", transactional_id="g-c-0"
    )
    observer.answered(0, request, SimpleNamespace(error_code=DENIED, producer_id=-1, producer_epoch=-1))
    assert [each.is_ended for each in observer.instances] == [True]


def test_a_start_that_fails_as_the_one_before_is_another_failure() -> None:
    """The trace is the same: of another set, or in another generation, it is not that of a status that is written
    again."""
    observer = Observer("g", ["c"], itertools.count(1))
    for offset, generations in ((5, (6, 6, 7)), (9, (7, 7))):
        observer.foreign("commit-c", {"tasks": 1}, offset)
        for generation in generations:
            failed = {"state": "FAILED", "trace": "no permission", "generation": generation}
            observer._status(0, "status-task-c-0", failed)
    assert [event["set"] for event in observer.events if event["kind"] == "task_failed"] == [5, 5, 9]
