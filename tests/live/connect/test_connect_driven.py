"""A real Connect is driven operation by operation, and held against the promises with the programs of the reference."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.testing.observing import outside
from fencepost.proofs.testing.recorded_runs import recording
from fencepost.proofs.testing.search import Search
from fencepost.properties.task_counts.interface import BLACK_BOX, System, run, work
from fencepost.properties.task_counts.scenarios.agreement import ON_A_CLUSTER
from fencepost.reference_impl.live.connect.install import BROKERS, Installed
from fencepost.reference_impl.live.connect.task_counts import ConnectSystem, end, own
from nights import night
from transaction_logs import rewritten, starts

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CONFIG = {"workers": 3, "connectors": 1, "max_tasks": 2, "heartbeat_ms": 3_000}
LATE_MS = 10_000
RECORDER = ON_A_CLUSTER.recorder
PROGRAMS = 30
"""Each takes from 15 s to a minute."""
ZOMBIES = {"618.P1", "618.P3", "618.19"}
"""What is broken where a task that the newest set has not is started again, as 4.3.1 does."""
CLAIMED = "assign needs if set = generation then task < size"
"""What is false in the model where such a task starts, even if it comes to nothing."""


@pytest.fixture(scope="module")
def own_cluster(cache: Path, installed: Callable[[str], Installed]) -> Iterator[Callable[[], ConnectSystem]]:
    """A new system on one cluster of three workers."""
    installed(BROKERS)
    yield lambda: own({**CONFIG, "cache": cache})
    end()


class Driven:
    """A system, with all its events so far."""

    def __init__(self, system: ConnectSystem) -> None:
        self.system, self.events = system, list[dict[str, Any]]()

    def of(self, kind: str, **columns: int) -> list[dict[str, Any]]:
        self.events += self.system.drain_events()
        return [e for e in self.events if e["kind"] == kind and columns.items() <= e.items()]

    def begin(self, tasks: int) -> int:
        """A connector with that many tasks, which poll; returns the place of its set."""
        run(self.system)
        assert self.system.configure(0, 0, tasks)
        run(self.system)
        return int(self.of("set_written")[-1]["set"])

    @property
    def polling(self) -> dict[int, int]:
        """The worker of each task that polls."""
        return {thread[4]: thread[2] for thread in self.system.threads() if thread[1] == "poll"}


def brink(system: System, operation: str) -> int:
    """The thread that is about to do this, after everything before it."""
    run(system, operation)
    return next(thread[0] for thread in system.threads() if thread[1] == operation)


class Doctored:
    """A system that is recorded with another count than its last one, as if its leader had written that."""

    def __init__(self, system: ConnectSystem) -> None:
        self.system = system

    def sources(self, scratch: Path) -> Mapping[str, Any]:
        sources = self.system.sources(scratch)
        (log_dir,) = sources["log_dirs"]
        copied = shutil.copytree(log_dir, scratch / "doctored", ignore=shutil.ignore_patterns("*index", ".lock"))
        (file,) = (copied / "connect-configs-0").glob("*.log")
        at = file.read_bytes().rindex(b'"task-count":2') + len(b'"task-count":')
        row = max(row for row, start in enumerate(starts(file)) if start < at)
        rewritten(file, row, at - starts(file)[row], b"3")
        logs = [scratch / f"{folder.name}.log" for folder in sources["worker_logs"]]
        for log, folder in zip(logs, sources["worker_logs"], strict=True):
            text = (folder / "out.txt").read_text()
            log.write_text(text.replace("Writing task count record 2 ", "Writing task count record 3 "))
        return {**sources, "log_dirs": [copied], "worker_logs": logs}


def assert_followed(driven: Driven, rounds: int = 0) -> None:
    """All that was recorded of a program holds, and is followed by the model to its end."""
    found = recording(driven.system, RECORDER)
    assert (found.broken, found.differs, found.left) == ((), "", "")
    assert found.events > len(driven.of("topic_claimed")) + 10 * rounds


@pytest.fixture
def driven(own_cluster: Callable[[], ConnectSystem]) -> Driven:
    return Driven(own_cluster())


def test_every_operation_waits_for_the_driver(driven: Driven) -> None:
    """Nothing happens by itself: the leader writes, a round fences, a task opens its producer, sends and commits in
    steps, and each shows what the brokers answered."""
    system = driven.system
    first = driven.begin(2)
    assert sorted(driven.polling) == [0, 1]
    assert [event["set"] for event in driven.of("task_running")] == [first, first]
    assert [event["count"] for event in driven.of("count_written")] == [2]
    assert not driven.of("id_fenced")
    poll = next(thread for thread in system.threads() if thread[1] == "poll")
    system.step(poll[0])
    assert (poll[0], "commit", *poll[2:]) in system.threads()
    assert driven.of("records_sent", task=poll[4])
    assert not driven.of("transaction_committed")
    system.step(poll[0])
    assert poll in system.threads()
    assert driven.of("transaction_committed", task=poll[4], set=first)

    assert system.configure(1, 0, 1)
    seen = list[str]()
    for _ in range(20):
        system.advance(300)
        waiting = [thread for thread in system.threads() if thread[1] != "poll"]
        if not waiting and driven.of("set_written", count=1) and driven.polling == {0: driven.polling.get(0)}:
            break
        for thread in waiting[:1]:
            seen.append(thread[1])
            system.step(thread[0])
    assert seen == [*["write"] * 3, "fence", "fence", "write_count", "open_producer"]
    assert {event["task"] for event in driven.of("id_fenced", error=0)} == {0, 1}
    second = driven.of("set_written", count=1)[0]["set"]
    assert driven.of("task_running", task=0, set=second)
    assert_followed(driven, rounds=1)
    found = recording(Doctored(system), RECORDER)
    assert found.broken[0][0] == "618.42" and "count_written" in found.broken[0][1]
    assert found.differs.startswith("count_written at step")


def test_outcomes_are_forged(driven: Driven) -> None:
    """A fence that fails leaves no count, and the task FAILED; a count whose answer is lost stands in the topic, and
    its leader takes it for failed; and what failed can be restarted."""
    system = driven.system
    driven.begin(2)
    assert system.configure(0, 0, 1)
    system.step(brink(system, "fence"), "failed")
    run(system)
    assert not driven.of("count_written", count=1)
    assert system.status(0, 0)[0] == "FAILED"
    of_leader, of_others = "TransactionalIdAuthorizationException", "Failed to perform zombie fencing"
    assert any(words in system.status(0, 0)[1] for words in (of_leader, of_others))
    assert driven.of("task_failed", task=0)
    assert system.restart_task(0, 0, 0)
    system.step(brink(system, "write_count"), "lost")
    run(system)
    assert driven.of("count_written", count=1)
    assert system.status(0, 0)[0] == "FAILED"
    assert system.restart_task(0, 0, 0)
    run(system)
    assert list(driven.polling) == [0]


def test_a_zombie_is_fenced(driven: Driven) -> None:
    """A worker stands still while the group goes on without it; what its task sends later is refused. The others are
    brought to rest with the topic compacted and another worker killed."""
    system = driven.system
    driven.begin(2)
    zombie = driven.polling[1]
    system.stall(zombie)
    system.expire(zombie)
    run(system)
    assert driven.polling[1] != zombie
    work(system)
    system.compact()
    system.resume(zombie)
    late = [thread[0] for thread in system.threads() if thread[1] == "poll" and thread[2] == zombie]
    for number in late:
        system.step(number)
    system.advance(LATE_MS)
    run(system)
    assert len(late) <= len(driven.of("transaction_refused", node=zombie))
    last = max(event["epoch"] for event in driven.of("producer_opened", task=1))
    sent = [event for event in driven.of("transaction_committed", task=1) if event["node"] == zombie]
    assert all(event["epoch"] == last for event in sent)
    system.crash(zombie)
    system.expire(zombie)
    run(system)
    assert sorted(driven.polling) == [0, 1]
    system.restart_worker(zombie)
    run(system)
    assert sorted(driven.polling) == [0, 1]
    assert system.delete((zombie + 1) % 3, 0)
    run(system)
    assert not system.threads()
    assert_followed(driven)


@pytest.mark.nightly
@pytest.mark.timeout(3_600)
def test_programs_are_held_against_promises(own_cluster: Callable[[], ConnectSystem], cache: Path) -> None:
    """Generated programs, others each night: nothing is broken but by the task that starts again, at which they end."""
    own_cluster()
    search = Search(
        ON_A_CLUSTER, outside(own, BLACK_BOX), "shipped", {"cache": cache}, frozenset(), BLACK_BOX, (), None
    )  # fmt: skip
    search.search(night() or 0, PROGRAMS, 1, None)
    broken = [failure.disagreed for failure in search.failures]
    assert all(each.promises <= ZOMBIES for each in broken), broken
    assert search.examples == PROGRAMS or broken
    differing = [str(conjunct) for each in search.differences.values() for conjunct in each.disagreed.conjuncts]
    assert all(CLAIMED in each for each in differing), differing
