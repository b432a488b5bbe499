"""The reference's `IncrementalAssignor` and Kafka's own IncrementalCooperativeAssignor give the same, rebalance after
rebalance: with lost work that waits, removed tasks that stay, revocations for balance, and assignments that a member
or the leader never got."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from connect_classes import Classes
from fencepost.reference_impl.connect.group import Assignment, Owned
from fencepost.reference_impl.connect.incremental import IncrementalAssignor

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
PROGRAMS, REBALANCES = 300, 16
DELAYS_MS = (0, 1_000, 300_000)
PAUSES_MS = (0, 1, 40, 1_600, 300_000)


def words(connectors: Iterable[str], tasks: Iterable[tuple[str, int]]) -> str:
    return "".join(f"{item}," for item in sorted([*connectors, *(f"{name}-{task}" for name, task in tasks)]))


def member_id(worker: int, session: int) -> str:
    """Return an id by which Kafka's maps have members in the order of workers, and of their sessions."""
    return chr(64 + 4 * worker + session % 4)


def lives(seed: int) -> Iterator[tuple[str, str, dict[int, Assignment]]]:
    """Yield what is asked of an assignor in one life of a group, the reference's answer in Kafka's words, and the
    answer. Workers come, leave, and fall out and come back with what they had; connectors get other tasks."""
    chance = random.Random(seed)
    max_delay_ms = DELAYS_MS[seed % 3]
    assignor = IncrementalAssignor(max_delay_ms)
    yield f"new {max_delay_ms}", "", {}
    members: dict[int, Owned] = {0: Owned()}
    away: dict[int, Owned] = {}
    sessions: Counter[int] = Counter()
    sizes = {"c": 2}
    now_ms = completed = 0
    for generation in range(1, REBALANCES):
        for worker in range(4):
            if worker not in members and chance.random() < 0.3:
                members[worker] = away.pop(worker, Owned())
            elif worker in members and len(members) > 1 and chance.random() < 0.15:
                sessions[worker] += 1
                out = members.pop(worker)
                away = {**away, worker: out} if chance.random() < 0.5 else away
        for name in "cde":
            if chance.random() < 0.15:
                sizes[name] = chance.randrange(4)
            elif chance.random() < 0.05:
                sizes.pop(name, None)
        now_ms += chance.choice(PAUSES_MS)
        tasks = [(name, task) for name, size in sizes.items() for task in range(size)]
        ids = {worker: member_id(worker, sessions[worker]) for worker in sorted(members)}
        asked = [f"{ids[worker]}={words(*members[worker])}" for worker in ids]
        made = assignor.assign(members, ids, sizes, tasks, completed, generation, now_ms)
        answer = [
            f"{ids[w]}={words(m.connectors, m.tasks)}/{words(m.revoked_connectors, m.revoked_tasks)}"
            for w, m in made.items()
        ]
        yield (
            " ".join([f"{now_ms} {completed} {generation} {words(sizes, tasks)}", *asked]),
            " ".join([str(assignor.delay_ms), *answer]),
            made,
        )
        for worker, mine in made.items():
            if chance.random() < 0.9:  # else it does not get its assignment
                members[worker] = Owned(frozenset(mine.connectors), frozenset(mine.tasks))
        completed = generation if chance.random() < 0.9 else completed


def test_the_reference_assigns_as_kafka_does(classes: Classes) -> None:
    """618.41, 618.53: Both give each member the same, revoke the same, and wait as long."""
    rows = [row for seed in range(PROGRAMS) for row in lives(seed)]
    asked = "".join(f"{line}\n" for line, _, _ in rows)
    answers = classes.run("org.apache.kafka.connect.runtime.distributed.Assignments", asked)
    expected = [(line, answer) for line, answer, _ in rows if answer]
    for (line, answer), got in zip(expected, answers, strict=True):
        assert got == answer, line
    seen = Counter[str]()
    for _, answer, made in rows:
        seen["waits"] += bool(answer) and not answer.startswith("0 ")
        seen["revokes"] += any(mine.revokes for mine in made.values())
    assert min(seen["waits"], seen["revokes"]) > PROGRAMS
