"""618.P3: After every step of a random driver, each producer that can still commit is covered by the latest count
record or belongs to the newest set."""

import random
from typing import Any

import pytest
from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.source_task import SourceTask
from fencepost.reference_impl.connect.threads import Script
from fencepost.reference_impl.systems.task_counts_cluster import Parts, System, build
from test_task_counts_threads import MODES

WORKERS = 3


class Watched(SourceTask):
    """A `Watched` task records when it polls, and in which life of its worker."""

    polling: list["Watched"]
    life = 0

    def poll_until_stopped(self) -> Script:
        self.life = self.env.workers[self.herder.node].lives
        self.polling.append(self)
        yield from super().poll_until_stopped()

    def may_commit(self) -> bool:
        """Return whether the task is still alive, with a producer that has not been fenced."""
        worker, producer, brokers = self.env.workers[self.herder.node], self.producer, self.env.brokers
        if self.ended or worker.herder is None or worker.lives != self.life or producer is None or producer.closed:
            return False
        metadata = brokers.coordinator.transactions[brokers.ids[producer.name]]
        return bool(metadata.now.producer_epoch == producer.epoch)


def newest_and_count(system: System) -> tuple[int, int]:
    """Return the offset of the newest set in the topic, and the latest count, which is 0 without a record."""
    newest, count = -1, 0
    for offset, record in system.config_topic():
        parsed = config_records.parse(record)
        if parsed.kind == config_records.COMMIT and parsed.value:
            newest = offset
        elif parsed.kind == config_records.COUNT and parsed.value:
            count = config_records.count_in(parsed.value)
    return newest, count


def act(system: System, luck: random.Random) -> None:
    """Take one random action, mostly a step of some thread."""
    worker, waiting = luck.randrange(WORKERS), system.threads()
    calls: list[tuple[int, Any]] = [
        (850, lambda: system.step(luck.choice(waiting)[0], luck.choices(("ok", "failed", "lost"), (98, 1, 1))[0])),
        (15, lambda: system.configure(worker, 0, luck.randint(1, 3))),
        (10, lambda: system.stall(worker)),
        (30, lambda: system.resume(worker)),
        (6, lambda: system.expire(worker)),
        (2, lambda: system.restart_worker(worker)),
        (10, lambda: system.restart_task(worker, 0, luck.randrange(3))),
        (20, lambda: system.advance(luck.choice((50, 300, 3000, 6000)))),
        (1, system.compact),
    ]
    start = 0 if waiting else 1
    luck.choices([call for _, call in calls[start:]], [weight for weight, _ in calls[start:]])[0]()


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
@pytest.mark.parametrize("mode", MODES)
def test_every_live_producer_is_covered(mode: str, protocol: str) -> None:
    """Seeds 0 and 1 take 800 steps, with and without the preemptive stop, and some older tasks must be alive."""
    older = 0
    for seed in (0, 1):
        polling: list[Watched] = []
        parts = Parts(task=type("WatchedHere", (Watched,), {"polling": polling}))
        config = {"seed": seed, "mode": mode, "support": "enabled", "protocol": protocol}
        config |= {"workers": WORKERS, "max_tasks": 3}
        system = build({**config, "preemptive_stop": bool(seed), "heartbeat_ms": 3000 * seed}, parts)
        luck = random.Random(seed)
        for _ in range(800):
            act(system, luck)
            newest, count = newest_and_count(system)
            for task in polling:
                if task.set != newest and task.may_commit():
                    older += 1
                    assert task.id[1] < count
    assert older > 0
