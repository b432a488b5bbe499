"""A driver steps these threads over the brokers, and everything follows from seed and calls alone."""

import random

import pytest
from fencepost.reference_impl.connect.brokers import OUTPUT_TOPIC, Brokers, KafkaError, TransactionalProducer
from fencepost.reference_impl.connect.config import COLUMNS, KIND_NAMES, Config, Event
from fencepost.reference_impl.connect.threads import INTERRUPTED, Operation, OperationError, Script, Threads, Wait
from fencepost.reference_impl.systems.task_counts_cluster import System, reference

MODES = ("A", "M", "B", "shipped")


def recorded(found: list[object], act: object = "done") -> Script:
    """A thread of one operation records its result."""
    try:
        found.append((yield Operation("it", 0, lambda: found.append("happens") or act)))
    except OperationError as error:
        found.append(error.code)


@pytest.mark.parametrize(
    ("outcome", "expected"), [("ok", ["happens", "done"]), ("failed", [7]), ("lost", ["happens", 7])]
)
def test_outcomes(outcome: str, expected: list[object]) -> None:
    """An operation happens if "ok", not if "failed", and if "lost" it happens but the thread gets an error."""
    threads, found = Threads(), list[object]()
    number = threads.start(0, recorded(found))
    threads.settle()
    assert threads.waiting() == [(number, "it", 0, -1, -1)]
    threads.step(number, outcome)
    assert found == expected and not threads.waiting()


def test_what_cannot_be_stepped() -> None:
    threads, found = Threads(), list[object]()
    number = threads.start(0, recorded(found))
    threads.settle()
    with pytest.raises(ValueError, match="must be one of ok, failed, lost"):
        threads.step(number, "maybe")
    threads.step(number, "ok")
    with pytest.raises(KeyError, match="has no operation now"):
        threads.step(number, "ok")


def test_waits_and_interruptions() -> None:
    """A thread continues by itself when its condition holds, and leaves an operation when interrupted, but does neither
    while its worker is stalled."""
    threads, found, flags = Threads(), list[object](), {"go": False, "stop": False}

    def script() -> Script:
        yield Wait(lambda: flags["go"])
        found.append((yield Operation("poll", 3, lambda: None, interrupted=lambda: flags["stop"])))

    threads.start(3, script())
    threads.settle()
    assert not threads.waiting()
    threads.stalled.add(3)
    flags["go"] = True
    threads.settle()
    threads.stalled.discard(3)
    assert not threads.waiting()
    threads.settle()
    assert [row[1] for row in threads.waiting()] == ["poll"]
    flags["stop"] = True
    threads.settle()
    assert found == [INTERRUPTED]


@pytest.mark.parametrize("transactions", ["v1", "v1-verified", "v2"])
def test_a_producer_call_runs_to_its_end(transactions: str) -> None:
    """A second producer of the same id fences the first, whose open transaction is aborted before the second
    one opens."""
    brokers = Brokers(Config(transactions=transactions))
    first = TransactionalProducer(brokers, "name", ())
    first.open()
    first.begin()
    first.send(OUTPUT_TOPIC, "committed")
    first.commit()
    first.begin()
    first.send(OUTPUT_TOPIC, "aborted")
    second = TransactionalProducer(brokers, "name", ())
    second.open()
    assert (second.producer_id, second.epoch > first.epoch) == (first.producer_id, True)
    log = brokers.log(OUTPUT_TOPIC)
    assert not log.open and len(log.aborted) == 1
    with pytest.raises(KafkaError) as refused:
        first.commit()
    assert refused.value.code in (47, 90)


def test_fencing_an_unknown_name_makes_it_known() -> None:
    """618.12: Admin.fenceProducers of an unused id leaves it idle under its first epoch."""
    brokers = Brokers(Config())
    assert brokers.fence("nobody").error == 0
    producer = TransactionalProducer(brokers, "nobody", ())
    producer.open()
    assert producer.epoch == 1


def test_events_are_rows_of_the_columns() -> None:
    system = reference({"workers": 1, "support": "enabled"})
    (started,) = system.drain_events()
    assert started._fields == COLUMNS and isinstance(started, Event)
    assert (started.kind, started.node, started.support, started.error) == ("worker_started", 0, 3, 0)
    assert len(set(KIND_NAMES.values())) == len(KIND_NAMES) == 41


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"mode": "C"}, "must be one of A, M, B, shipped"),
        ({"wrong": 1}, "unknown keys"),
        ({"support": ["enabled"]}, "one for each worker"),
        ({"mode": "B", "support": "preparing"}, "a boolean flag"),
        ({"names": ["a", "a"], "connectors": 2}, "2 different names"),
        ({"workers": 0}, "must be at least 1"),
        ({"max_tasks": True}, "must be a whole number"),
        ({"preemptive_stop": 1}, "must be True or False"),
    ],
)
def test_a_configuration_out_of_range_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Config.parse(config)


def test_calls_out_of_range_are_refused() -> None:
    system = reference({"workers": 1, "support": "enabled"})
    with pytest.raises(ValueError, match="must be 1 to max_tasks=2"):
        system.configure(0, 0, 3)
    with pytest.raises(ValueError, match="must be set or count"):
        system.write_foreign("key", 0, 1)


def wander(mode: str, seed: int, steps: int = 400) -> System:
    """Return a cluster after random steps, user requests, faults and time."""
    luck = random.Random(seed)
    config = {"seed": seed, "mode": mode, "workers": 3, "connectors": 2, "heartbeat_ms": 3000 * (seed % 2)}
    system = reference(
        {
            **config,
            "support": "enabled",
            "protocol": ("eager", "cooperative")[seed // 2 % 2],
            "preemptive_stop": seed % 3 > 0,
        }
    )
    calls = [
        lambda w, c: system.configure(w, c, luck.randint(1, 2)), system.delete,
        system.stop_connector, system.restart_connector,
        lambda w, c: system.restart_task(w, c, luck.randrange(2)), lambda w, c: system.stall(w),
        lambda w, c: system.resume(w), lambda w, c: system.expire(w), lambda w, c: system.restart_worker(w),
        lambda w, c: system.advance(luck.choice((300, 3000, 6000))), lambda w, c: system.compact(),
    ]  # fmt: skip
    weights = [12, 1, 1, 2, 8, 4, 20, 2, 2, 15, 1]
    for _ in range(steps):
        waiting = system.threads()
        if waiting and luck.random() < 0.9:
            system.step(luck.choice(waiting)[0], luck.choices(("ok", "failed", "lost"), (96, 2, 2))[0])
        else:
            luck.choices(calls, weights)[0](luck.randrange(3), luck.randrange(2))
    return system


@pytest.mark.parametrize("mode", MODES)
def test_same_seed_and_calls_same_events(mode: str) -> None:
    assert wander(mode, 7).drain_events() == wander(mode, 7).drain_events()


@pytest.mark.parametrize("mode", MODES)
def test_no_task_of_an_older_set_commits_once_a_newer_one_polls(mode: str) -> None:
    """618.P1: The promise holds under random stalls, crashes and lost answers (seeds 0 to 5)."""
    committed = 0
    for seed in range(6):
        polled: dict[int, int] = {}
        for event in wander(mode, seed, 1_000).drain_events():
            if event.kind == "task_running":
                polled[event.connector] = max(polled.get(event.connector, -1), event.set)
            elif event.kind == "transaction_committed":
                committed += 1
                assert event.set >= polled[event.connector]
    assert committed > 20
