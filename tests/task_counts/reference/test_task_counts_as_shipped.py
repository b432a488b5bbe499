"""What released Connect does beyond the reference's defaults, each by its key of the configuration."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import pytest
from fencepost.properties.task_counts.interface import BLACK_BOX, Resting, at_rest, finish, run
from fencepost.properties.task_counts.scenarios.known import Script, Thread
from fencepost.reference_impl.connect.config import Event
from fencepost.reference_impl.connect.config_records import OK
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.connect.incremental import IncrementalAssignor, Items, Shares
from fencepost.reference_impl.connect.requests import Reply
from fencepost.reference_impl.connect.threads import Script as Running
from fencepost.reference_impl.connect.threads import Wait
from fencepost.reference_impl.systems.task_counts import reference, released
from fencepost.reference_impl.systems.task_counts_cluster import RELEASED, Parts, System, build

DELAY_MS = 60_000


def cluster(**config: object) -> Script:
    return Script.of_reference(**{"mode": "shipped", **config})


def owners(script: Script) -> dict[tuple[int, int], int]:
    """Return the worker of each task that polls."""
    return {(t.connector, t.task): t.worker for t in script.threads() if t.operation in ("poll", "commit")}


# scheduled.rebalance.max.delay.ms


def without_its_owner(**config: object) -> tuple[Script, int]:
    """Return a cluster in which the worker that had task 1 has been expired, and that worker."""
    script = cluster(**{"workers": 3, "assignor": "released", **config})
    script.configure(0, tasks=2)
    owner = owners(script)[0, 1]
    script.zombie(owner)
    return script, owner


def test_lost_work_waits_for_its_worker() -> None:
    """618.41: A task whose worker has left the group is given to another one when the delay is over, not before."""
    script, owner = without_its_owner(rebalance_delay_ms=DELAY_MS)
    starts = len(script.kinds("task_starting"))
    script.settle(DELAY_MS - 10_000)
    assert len(script.kinds("task_starting")) == starts
    script.settle(20_000)
    (started,) = script.kinds("task_starting")[starts:]
    assert started.task == 1
    assert started.node != owner


def test_without_a_delay_it_is_given_out_at_once() -> None:
    script, owner = without_its_owner()
    assert owners(script)[0, 1] != owner


def test_a_worker_that_is_back_in_time_goes_on() -> None:
    """618.41: The worker's task is neither stopped, nor fenced, nor started anywhere."""
    script, owner = without_its_owner(rebalance_delay_ms=DELAY_MS)
    opened = len(script.kinds("producer_opened"))
    script.settle(DELAY_MS // 2)
    script.resume(owner)
    script.settle(2 * DELAY_MS)
    assert owners(script)[0, 1] == owner
    assert len(script.kinds("producer_opened")) == opened
    script.work()
    assert not script.kinds("transaction_refused", "task_stopped")


def test_a_new_process_gets_what_was_lost() -> None:
    """618.41: A worker that comes without work while the delay is on gets the lost task at its end."""
    script, owner = without_its_owner(workers=2, rebalance_delay_ms=DELAY_MS)
    script.settle(DELAY_MS // 2)
    script.system.restart_worker(owner)
    script.settle(DELAY_MS // 4)
    assert (0, 1) not in owners(script)
    script.settle(DELAY_MS)
    assert owners(script)[0, 1] == owner
    assert finish(script.system, 2, 1, 2) == (True, {(0, 0), (0, 1)}, 0)


@pytest.mark.parametrize("delay_ms", [0, DELAY_MS])
def test_one_revocation_for_balance_after_another_waits(delay_ms: int) -> None:
    """618.41: Work moves to a worker that comes at once, and to one that comes with the next rebalance 40 ms later."""
    script = cluster(workers=3, max_tasks=6, assignor="released", rebalance_delay_ms=delay_ms)
    for worker in (1, 2):
        script.system.crash(worker)
        script.system.expire(worker)
    script.settle(2 * DELAY_MS)
    script.configure(0, tasks=6)
    script.system.restart_worker(1)
    assert script.run(lambda: len(script.kinds("task_revoked")) == 3)
    script.system.restart_worker(2)
    script.system.step(script.threads("join", worker=2)[0].number)
    moved = len(script.kinds("task_revoked"))
    while script.step():  # no time passes
        pass
    now = [e.task for e in script.kinds("task_revoked")[moved:]]
    script.settle(DELAY_MS)
    assert bool(now) == (delay_ms == 0)
    tasks = list(owners(script).values())
    assert sorted(tasks.count(worker) for worker in range(3)) == [2, 2, 2]


# one forwarding thread


@pytest.mark.parametrize("one", [True, False])
def test_one_thread_forwards_everything(one: bool) -> None:
    """618.9: While the leader fences for one connector, another's new set, which has to be sent to it, is not
    written: the forwarding thread waits for the answer. (DistributedHerder.forwardRequestExecutor)"""
    script = cluster(workers=2, connectors=2, max_tasks=3, one_forwarder=one)
    for connector in (0, 1):
        script.configure(connector, tasks=3)
    (name,) = script.system.env.workers[1 - script.leader()].herder.owned_connectors
    forwarded = script.system.names.index(name)  # its Connector is not where the leader is
    script.system.configure(0, 1 - forwarded, 2)
    fencing = script.until("fence", connector=1 - forwarded)
    script.settle()
    assert {e.node for e in script.kinds("round_asked")[-2:]} == {0, 1}
    sets = len(script.kinds("set_written"))
    script.system.configure(0, forwarded, 2)
    script.settle()
    assert len(script.kinds("set_written")) == sets + (not one)
    script.go(fencing)
    assert len(script.kinds("set_written")) == sets + 1
    assert finish(script.system, 2, 2, 3) == (True, {(0, 0), (0, 1), (1, 0), (1, 1)}, 0)


# idle requests


def with_a_paused_leader(**config: object) -> tuple[Script, Thread, Event]:
    """Return a cluster whose leader stands still before it counts, its thread, and the request of the other worker."""
    script = cluster(workers=2, **config)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    counting = script.until("write_count")
    script.settle()
    script.zombie(counting.worker)
    (asked,) = [
        e
        for e in script.kinds("round_asked")
        if e.node != counting.worker and e.step > script.kinds("set_written")[-1].step
    ][:1]
    return script, counting, asked


@pytest.mark.parametrize(("config", "after_ms"), [({"rest_idle_ms": 30_000}, 30_000), ({}, 90_000)])
def test_a_task_that_waits_for_a_paused_leader_fails(config: dict[str, int], after_ms: int) -> None:
    """618.15: Its request is given up when nothing was heard for as long as connections may be idle, although another
    worker leads by then, and no one starts it again. (RestClient)"""
    script, _, asked = with_a_paused_leader(**config)
    script.settle(after_ms - 4_000)
    assert not script.kinds("task_failed")
    script.settle(6_000)
    assert [(e.node, e.task) for e in script.kinds("task_failed")] == [(asked.node, asked.task)]
    state, trace = script.system.status(0, asked.task)
    assert state == "FAILED"
    assert ("idle time-out" in trace) == bool(config)


def test_a_request_within_the_worker_is_not_idle() -> None:
    """618.10: A leader that fences for more than 30 s answers its own tasks, when those of others have given up."""
    script = cluster(workers=2, rest_idle_ms=30_000)
    script.configure(0, tasks=2)
    script.system.configure(0, 0, 2)
    fencing = script.until("fence")
    script.settle(40_000)
    assert {e.node for e in script.kinds("task_failed")} == {1 - fencing.worker}
    script.go(fencing)
    assert {t.worker for t in script.threads("poll")} == {fencing.worker}


def test_a_refused_count_fails_the_task_that_waits_for_it() -> None:
    """618.11, 618.26: A leader that was replaced comes back in time; its count is refused, and so the answer is an
    error."""
    script, counting, asked = with_a_paused_leader(rest_idle_ms=30_000)
    script.resume(counting.worker)
    script.alone(counting)
    assert script.kinds("write_refused")[-1].node == counting.worker
    script.system.step(script.threads("answer", worker=asked.node)[0].number)
    answered = script.kinds("round_answered")[-1]
    assert (answered.request, answered.status) == (asked.request, 500)
    assert script.system.status(0, asked.task)[0] == "FAILED"


# at rest


@pytest.mark.parametrize("factory", [reference, released])
def test_what_a_cluster_has_come_to(factory: Callable[..., System]) -> None:
    """The events of the black box are enough; on one worker a life without trouble ends alike with every
    key. (On several, assignors move work differently, and each move is a claim.)"""
    system = factory(
        {"seed": 0, "mode": "shipped", "support": "enabled", "workers": 1, "connectors": 2, "max_tasks": 2}
    )
    events: list[Any] = []
    for act in (
        lambda: system.configure(0, 0, 2), lambda: system.configure(0, 1, 1), lambda: system.configure(0, 0, 1),
        lambda: system.delete(0, 1), lambda: None,
    ):  # fmt: skip
        run(system)
        act()
        run(system)
        events += [event for event in system.drain_events() if event.kind in BLACK_BOX]
    opened, fenced = "producer_opened", "id_fenced"
    assert at_rest(system, events) == Resting(
        sets={0: 1},
        counts={0: 1, 1: 1},
        polls={(0, 0): 0},
        claims={(0, 0): (opened, fenced, opened), (0, 1): (opened, fenced), (1, 0): (opened,)},
    )


# mutants


class KeepsLostWork(IncrementalAssignor):
    """This assignor waits for the worker that had the lost work, and then gives it to no other one."""

    def take_lost(self, lost: Items, shares: Shares, sessions: Mapping[int, Hashable], now_ms: int) -> Items:
        before = {worker: set(mine) for worker, mine in shares.items()}
        super().take_lost(lost, shares, sessions, now_ms)
        shares.update(before)
        return set()


class LosesWork(Herder):
    assignor_type = KeepsLostWork


class ForwardsNoMore(Herder):
    """The thread that forwards requests to the leader ends with the first that is not granted."""

    def forward(self) -> Running:
        granted = True
        while granted:
            yield Wait(lambda: bool(self.forwards))
            forward = self.forwards.popleft()
            forward.result = yield from forward.exchange
            forward.done = True
            granted = forward.result.status == OK if isinstance(forward.result, Reply) else forward.result


@pytest.mark.parametrize("herder", [Herder, LosesWork, ForwardsNoMore])
@pytest.mark.parametrize("delay_ms", [0, DELAY_MS])
def test_every_task_polls_in_the_end(herder: type[Herder], delay_ms: int) -> None:
    """618.P4: It does after the death of a worker, and a round that failed; with either mutant some task does not."""
    config = {**Script.SMALL, **RELEASED, "mode": "shipped", "rebalance_delay_ms": delay_ms}
    script = Script(build(config, Parts(herder=herder)), **config)
    script.system.configure(0, 0, 2)
    script.outcome(script.until("write_count"), "failed")
    script.settle()
    follower = 1 - script.leader()
    if herder is not ForwardsNoMore:
        script.system.crash(follower)
        script.system.expire(follower)
    at_work = finish(script.system, 2, 1, 2).at_work
    assert (at_work == {(0, 0), (0, 1)}) == (herder is Herder)
