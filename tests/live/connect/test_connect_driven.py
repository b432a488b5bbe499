"""A real Connect is driven operation by operation, held against the promises with the programs of the reference, and
against the reference itself by what both come to at rest."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import driven_connect
import pytest
from driven_connect import REMOVED, LiveSearch
from fencepost.proofs.testing.recorded_runs import recording
from fencepost.properties.driving import Factory, Program
from fencepost.properties.task_counts.interface import Call, System, run, work
from fencepost.properties.task_counts.scenarios.agreement import ON_A_CLUSTER
from fencepost.properties.task_counts.scenarios.resting import CONFIG as AT_REST
from fencepost.properties.task_counts.scenarios.resting import came_to, compared, differences, drawn
from fencepost.reference_impl.defects import task_counts as defects
from fencepost.reference_impl.live.clusters.jars import kafka_version
from fencepost.reference_impl.live.connect import stepping
from fencepost.reference_impl.live.connect.driven import GRACEFUL_MS, end
from fencepost.reference_impl.live.connect.install import BROKERS, OLD_CONNECT, Installed
from fencepost.reference_impl.live.connect.stepping import NotAtRest
from fencepost.reference_impl.live.connect.task_counts import ConnectSystem, own
from fencepost.reference_impl.systems.task_counts import released
from fencepost.reference_impl.systems.task_counts_cluster import RELEASED
from nights import night
from transaction_logs import rewritten, starts

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

CONFIG = {"workers": 3, "connectors": 1, "max_tasks": 2, "heartbeat_ms": 3_000}
LATE_MS = 10_000
RECORDER = ON_A_CLUSTER.recorder
RELEASES = (BROKERS, "4.4.0")
PROGRAMS, OPERATIONS = 10, 250
"""Of one night in three, and the least operations that they release. Programs have some 65, and a minute on a loaded
machine: such a night has 10 minutes of them, and 16 have 10,000 operations, for which one would take 2.6 hours."""
PROGRAMS_AT_REST = 10
"""Each takes from 15 s to half a minute."""
FEWER = Program(
    {**AT_REST, "connectors": 1, "max_tasks": 2},
    (Call("configure", 0, 0, 2), Call("work"), Call("configure", 0, 0, 1)),
)
"""A connector gets fewer tasks, which a round of fencing has to precede."""
SETTLED, REST_S = 6, 2.0
LOADED_S = 60.0  # what a worker may take longer on a loaded machine
FEW = 20  # orders of members, where none fits


@pytest.fixture(scope="module")
def own_cluster(cache: Path, installed: Callable[[str], Installed]) -> Iterator[Callable[..., ConnectSystem]]:
    """A new system on one cluster of three workers, in which these operations wait too."""
    installed(BROKERS)
    usual = kafka_version(BROKERS)
    yield lambda *held, release=usual: own({**CONFIG, "cache": cache, "held": held, "release": release})
    end()


class Driven(driven_connect.Driven):
    """A system of task counts."""

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
def driven(own_cluster: Callable[..., ConnectSystem]) -> Driven:
    return Driven(own_cluster())


@pytest.mark.nightly(nights=4)
@pytest.mark.parametrize("release", RELEASES)
def test_nothing_goes_on_by_itself_at_rest(
    own_cluster: Callable[..., ConnectSystem], installed: Callable[[str], Installed], release: str
) -> None:
    """And each task of the newest set polls: the second set is of tasks that have to be stopped first."""
    installed(release)
    for _ in range(SETTLED):
        system = own_cluster(release=kafka_version(release))
        for tasks in (1, 2):
            driven = Driven(system)
            driven.begin(tasks)
            stirred = system._gates.stirred_s
            time.sleep(REST_S)
            assert system._gates.stirred_s == stirred
            assert sorted(driven.polling) == [*range(tasks)]


@pytest.mark.nightly
def test_what_does_not_come_to_rest_is_an_error(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """That says what is under way: here the request to a worker that stands still without the driver's knowledge."""
    system = driven.system
    driven.begin(1)
    monkeypatch.setattr(stepping, "SETTLED_S", 3.0)
    worker = system._cluster.workers["w2"].process
    worker.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(NotAtRest, match=r"is not at rest after 3 s: \S"):
            system.restart_connector(2, 0)
    finally:
        worker.send_signal(signal.SIGCONT)
    monkeypatch.undo()
    run(system)
    assert sorted(driven.polling) == [0]


@pytest.mark.nightly
def test_what_a_worker_gives_up_is_waited_for(driven: Driven) -> None:
    """618.23: a task does not stop, as the end of its transaction waits here, until its worker gives it up; then the
    leader fences it."""
    system = driven.system
    driven.begin(2)
    assert system.configure(0, 0, 1)
    system.step(brink(system, "write"))
    left = next(thread for thread in system.threads() if thread[1] == "poll" and thread[4] == 1)
    system.step(left[0])
    assert (left[0], "commit", *left[2:]) in system.threads()
    while not driven.of("set_written", count=1):
        system.step(next(thread[0] for thread in system.threads() if thread[1] == "write"))
    given_up = time.monotonic() + GRACEFUL_MS / 1_000 + LOADED_S
    while "fence" not in {thread[1] for thread in system.threads()}:
        assert time.monotonic() < given_up
    assert left[0] not in {thread[0] for thread in system.threads()}
    run(system)
    assert sorted(driven.polling) == [0]
    assert not driven.of("transaction_committed", task=1)


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
    assert found.broken[0].rule == "618.42" and "count written" in found.broken[0].text
    assert found.differs.startswith("count written at step")


@pytest.mark.parametrize("release", [BROKERS, pytest.param(OLD_CONNECT, marks=pytest.mark.nightly)])
def test_outcomes_are_forged(
    own_cluster: Callable[..., ConnectSystem], installed: Callable[[str], Installed], release: str
) -> None:
    """A fence that fails leaves no count, and the task FAILED; a count whose answer is lost stands in the topic, and
    its leader takes it for failed; and what failed can be restarted."""
    installed(release)
    driven = Driven(own_cluster(release=release))
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
def test_a_task_of_a_deleted_connector_commits(driven: Driven) -> None:
    """618.53: a connector is deleted while the worker of one of its tasks is paused past its session. When it is back,
    the task polls and commits, until there is another rebalance."""
    system = driven.system
    driven.begin(2)
    leader = driven.of("set_written")[-1]["node"]
    task, worker = next(each for each in driven.polling.items() if each[1] != leader)
    other = next(node for node in range(3) if node not in (leader, worker))
    system.stall(worker)
    assert system.delete(leader, 0)
    run(system)
    system.expire(worker)
    run(system)
    system.resume(worker)
    system.advance(LATE_MS)
    run(system)
    assert driven.of("connector_tombstoned")
    assert driven.polling == {task: worker}
    work(system)
    assert driven.of("transaction_committed", node=worker, task=task)
    system.expire(other)
    system.advance(LATE_MS)
    run(system)
    assert not driven.polling


@pytest.mark.nightly
def test_a_rebalance_goes_in_steps(own_cluster: Callable[..., ConnectSystem]) -> None:
    """No worker is assigned anything before all have joined, nor takes it before the leader has assigned it; where the
    assignment gets lost, all join once more."""
    driven = Driven(own_cluster("join", "sync", "assign"))
    system, first = driven.system, driven.begin(2)
    assert system.configure(0, 0, 1)
    run(system, "join")
    assert sorted(thread[1:3] for thread in system.threads() if thread[1] != "poll") == [("join", n) for n in range(3)]
    second = driven.of("set_written", count=1)[0]["set"]
    for left in (2, 1, 0):
        assert not {"sync", "assign"} & {thread[1] for thread in system.threads()}
        system.step(next(thread[0] for thread in system.threads() if thread[1] == "join"))
        assert sum(thread[1] == "join" for thread in system.threads()) == left
    for thread in [each for each in system.threads() if each[1] == "sync"]:
        system.step(thread[0])
    (assign,) = (thread for thread in system.threads() if thread[1] != "poll")
    assert (assign[1], driven.of("task_running", set=second)) == ("assign", [])
    system.step(assign[0], "lost")
    assert ("join", assign[2]) in {thread[1:3] for thread in system.threads()}
    run(system)
    assert driven.of("task_running", set=second)
    assert not driven.of("task_running", set=first, task=1)[1:]
    assert sorted(driven.polling) == [0]


@pytest.mark.nightly
def test_an_answer_and_the_end_of_a_task_wait(own_cluster: Callable[..., ConnectSystem]) -> None:
    """A leader has counted, and no task starts before it answers: a task that gets no answer fails. A task that does
    not come to its end is given up, and the next one runs beside it."""
    driven = Driven(own_cluster("answer", "stop"))
    system, first = driven.system, driven.begin(2)
    assert system.configure(0, 0, 1)
    run(system, "stop")
    stopping = [thread for thread in system.threads() if thread[1] == "stop"]
    assert sorted(thread[4] for thread in stopping) == [0, 1]
    for thread in stopping[1:]:
        system.step(thread[0])
    system.advance(LATE_MS)
    run(system, "stop")
    assert [thread[:2] for thread in system.threads() if thread[1] == "stop"] == [(stopping[0][0], "stop")]
    assert sorted(driven.polling) == [0]
    system.step(stopping[0][0])

    second = driven.of("set_written", count=1)[0]["set"]
    assert system.configure(0, 0, 2)
    run(system, "answer")
    asked = [thread for thread in system.threads() if thread[1] == "answer"]
    assert asked
    assert driven.of("count_written", count=2)[1:]
    for thread in asked:
        system.step(thread[0], "lost")
    run(system)
    failed = {event["task"] for event in driven.of("task_failed")}
    assert failed
    assert failed.isdisjoint(driven.polling)
    assert {event["set"] for event in driven.of("task_failed")}.isdisjoint({first, second})


@pytest.mark.nightly(nights=3)
@pytest.mark.timeout(2 * 3_600)
def test_only_what_is_known_is_broken(installed: Callable[[str], Installed], cache: Path) -> None:
    """Generated programs, others each night and of another release every other night: nothing is broken but by a task
    that starts again, at which a program ends."""
    tonight = night() or 0
    release = RELEASES[tonight % len(RELEASES)]
    installed(BROKERS), installed(release)
    search = LiveSearch("task-counts", "shipped", {"cache": cache, "release": release}, {REMOVED})
    search.search(tonight, PROGRAMS, search.agreeing.steps, None)
    assert [(str(each.disagreed), each.program) for each in search.failures] == []
    assert search.not_allowed == []
    assert search.examples >= PROGRAMS and search.count["operations"] > OPERATIONS


@pytest.fixture
def live(own_cluster: Callable[..., ConnectSystem], cache: Path) -> Factory:
    """A new system of a configuration, on the same cluster."""
    own_cluster()
    return lambda config: own({**config, "release": kafka_version(BROKERS), "cache": cache})


def without(defect: str) -> Factory:
    """The reference implementation as released, with a mechanism switched off."""
    return lambda config: getattr(defects, defect)({**RELEASED, **config})


def test_it_comes_to_the_same_as_the_reference(live: Factory) -> None:
    """And to something else than the reference with a mechanism switched off."""
    seen = tuple(came_to(live(FEWER.config), FEWER))
    assert not compared(FEWER, seen, released)
    assert "claims of (0, 1)" in " ".join(compared(FEWER, seen, without("no_fencing"), FEW))
    assert "counts of 0: 1, and not 2" in compared(FEWER, seen, without("record_old_count"), FEW)
    assert "counts of 0: 2, and not None" in compared(FEWER, seen, without("does_not_ask"), FEW)


@pytest.mark.nightly(nights=3)
@pytest.mark.timeout(3_600)
def test_programs_come_to_the_same_as_the_reference(live: Factory) -> None:
    """Other programs each night."""
    first = (night() or 0) * PROGRAMS_AT_REST
    for seed in range(first, first + PROGRAMS_AT_REST):
        assert not differences(drawn(seed), live, released), f"drawn({seed})"
