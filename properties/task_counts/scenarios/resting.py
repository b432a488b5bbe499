"""This module compares a Connect cluster with another one by what both come to rest at: the same program runs on both,
and after each call, when nothing is left to happen, their users see the same.

    program = drawn(7)
    assert not differences(program, own, released)

Workers have no number in common: which one leads, and which has which task, may depend on member ids, which are random.
So a worker is named by its place among those that are awake: the leader, then the others by the tasks that poll there.
Workers that are away are named in the order in which they left. The second cluster is one whose `member_order` can be
chosen, and what it comes to in any of `ORDERS` is the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from random import Random
from typing import Any, NamedTuple

from fencepost.properties.driving import Event, Factory, Program, make, read
from fencepost.properties.task_counts.interface import AT_WORK, MOST, Call, System, at_rest

REST_MS = 6_000
"""`REST_MS` is longer than a heartbeat interval, a back-off, and a graceful shutdown, and shorter than any request."""
ABSENT = -1


class Rest(NamedTuple):
    """A `Rest` is what a cluster has come to. ``sets``, ``counts`` and ``claims`` are as in `interface.Resting`.
    ``workers`` has the tasks (connector, task) that poll on each worker that is awake, the leader first. ``statuses``
    are those of the Connectors and of the tasks of the newest sets. ``committed`` has how many transactions each
    (connector, task) has committed in all, and ``refused`` how many of its
    instances were refused. ``found`` has the offset with which the instance began that polls now."""

    sets: Mapping[int, int]
    counts: Mapping[int, int]
    workers: tuple[tuple[tuple[int, int], ...], ...]
    claims: Mapping[tuple[int, int], tuple[str, ...]]
    statuses: Mapping[tuple[int, int], str]
    committed: Mapping[tuple[int, int], int]
    refused: Mapping[tuple[int, int], int]
    found: Mapping[tuple[int, int], int]


@dataclass
class Named:
    """A `Named` is a system whose workers are named by their places."""

    system: System
    workers: int
    events: list[Event] = field(default_factory=list)
    stalled: list[int] = field(default_factory=list)
    down: list[int] = field(default_factory=list)
    back: set[int] = field(default_factory=set)  # that go on since the last rest, while another leads

    @property
    def leader(self) -> int:
        """Return the worker that claimed the config topic last, or wrote to it as a leader."""
        kinds = ("topic_claimed", "set_written", "count_written")
        found = (read(e, "node", ABSENT) for e in reversed(self.events) if read(e, "kind") in kinds)
        return next((node for node in found if node >= 0), ABSENT)

    def awake(self) -> list[int]:
        """Return the workers that are awake, in the order of their places."""
        leader, away = self.leader, {*self.stalled, *self.down}
        return sorted(set(range(self.workers)) - away, key=lambda worker: (worker != leader, self.tasks(worker)))

    def tasks(self, worker: int) -> tuple[tuple[int, int], ...]:
        return tuple(sorted(t[3:] for t in self.system.threads() if t[1] in AT_WORK and t[2] == worker))

    def call(self, call: Call) -> None:
        """Make a call on the worker that has the place in it, if there is one."""
        among = {"resume": self.stalled, "restart_worker": self.down}.get(call.name)
        among = self.awake() if among is None else among
        place = call.get("worker", ABSENT)
        if place >= 0 and not among:
            return
        worker = among[place % len(among)] if place >= 0 else ABSENT
        match call.name:
            case "stall":
                self.stalled.append(worker)
            case "crash":
                self.down.append(worker)
            case "resume" | "restart_worker":
                self.back |= {worker} if self.awake() else set()
                among.remove(worker)
        if call.name == "set_support":  # it takes longer to start than the others to go on without it
            self.system.crash(worker)
            self.system.expire(worker)
            self.settle()
        made = make(self.system, call.but(worker=worker) if place >= 0 else call)
        if made is not None and made.error is not None:
            raise made.error
        self.events += made.events if made is not None else ()
        if call.name in ("stall", "crash"):  # the group goes on without it
            self.system.expire(worker)

    def settle(self) -> None:
        """Let everything happen, oldest first, and let time pass, until nothing is left but running tasks."""
        patient = True
        for _ in range(MOST):
            thread = next((t for t in self.system.threads() if t[1] not in AT_WORK), None)
            if thread is not None:
                self.system.step(thread[0])
                patient = True
            elif patient:
                self.system.advance(REST_MS)
                patient = False
            else:
                break
        # One that has led, and goes on, may claim the topic once more before it hears that another leads, or not.
        claimed = ((e, (read(e, "kind"), read(e, "node", ABSENT))) for e in self.system.drain_events())
        self.events += (e for e, (kind, node) in claimed if kind != "topic_claimed" or node not in self.back)
        self.back.clear()

    def rest(self) -> Rest:
        resting = at_rest(self.system, self.events)
        newest = [(c, task) for c, size in resting.sets.items() for task in range(ABSENT, size)]
        return Rest(
            resting.sets, resting.counts, tuple(self.tasks(worker) for worker in self.awake()), resting.claims,
            {of: self.system.status(*of)[0] for of in newest},
            self.committed(), self.refused(), self.found(),
        )  # fmt: skip

    def refused(self) -> Counter[tuple[int, int]]:
        """Return how many instances were refused, some of which try another request before they fail."""
        kind, names = "transaction_refused", ("connector", "task", "instance")
        found = {tuple(read(e, name) for name in names) for e in self.events if read(e, "kind") == kind}
        return Counter(each[:2] for each in found)

    def committed(self) -> Counter[tuple[int, int]]:
        """Return how many transactions were committed; a task without support has none."""
        found = [e for e in self.events if read(e, "kind") == "transaction_committed" and read(e, "epoch", ABSENT) >= 0]
        return Counter((read(e, "connector"), read(e, "task")) for e in found)

    def found(self) -> Mapping[tuple[int, int], int]:
        """Return what a live system found, or what was committed when each task began to run."""
        live: Callable[[], Mapping[tuple[int, int], int]] | None = getattr(self.system, "found", None)
        committed, found = Counter[tuple[int, int]](), dict[tuple[int, int], int]()
        for event in self.events if live is None else ():
            of = read(event, "connector", ABSENT), read(event, "task", ABSENT)
            committed[of] += read(event, "kind") == "transaction_committed"
            if read(event, "kind") == "task_running":
                found[of] = committed[of]
        polling = {thread[3:] for thread in self.system.threads() if thread[1] in AT_WORK}
        return {of: offset for of, offset in (live() if live else found).items() if of in polling}


def came_to(system: System, program: Program, leaders_before: int = 0) -> Iterator[Rest]:
    """Yield what a system has come to after each of the `rests` of the program. If it is new, so many workers lead it
    one after another beforehand: a live one that has served other programs has workers with a producer of a leader."""
    named = Named(system, program.config["workers"])
    named.settle()
    for _ in range(leaders_before):
        system.expire(named.leader)
        named.settle()
    named.events.clear()
    for calls in rests(program):
        for call in calls:
            named.call(call)
        named.settle()
        yield named.rest()


def rests(program: Program) -> Iterator[list[Call]]:
    """Yield the calls of a program that are made before each rest: one, but for those about what is held."""
    calls: list[Call] = []
    for call, following in zip_longest(program.calls, program.calls[1:]):
        calls.append(call)
        if HOLD not in (call.name, following and following.name):
            yield calls
            calls = []


ORDERS = 300
"""A cluster of three workers comes to the same by chance in far fewer orders of its members than `ORDERS`."""


def differences(program: Program, one: Factory, other: Factory, tries: int = 3) -> list[str]:
    """Return the first call after which the second cluster cannot have come to the same as the first one, what that one
    has come to, and what the second comes to instead; nothing where it can. The first cluster is live, and runs the
    program up to ``tries`` times until it does: its calls are not under way any more when all of it has been silent."""
    for _ in range(tries):
        found = compared(program, tuple(came_to(one(program.config), program)), other)
        if not found:
            break
    return found


def compared(program: Program, seen: Sequence[Rest], other: Factory, orders: int = ORDERS) -> list[str]:
    """Return `differences` from what a cluster has come to already."""
    nearest: tuple[int, int, list[str]] = (ABSENT, 0, [])
    for order in range(1, orders + 1):
        config = {**program.config, "member_order": order}
        others = came_to(other(config), program, order % program.config["workers"])
        for number, (mine, its) in enumerate(zip(seen, others, strict=True)):
            if mine != its:
                lines = [*_lines(mine, its)]
                nearest = max(nearest, (number, -len(lines), lines), key=lambda each: each[:2])
                break
        else:
            return []
    number, _, lines = nearest
    return [f"after {' '.join(map(_text, [*rests(program)][number]))}:", *lines]


def _text(call: Call) -> str:
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments)})"


def _lines(mine: Rest, its: Rest) -> Iterator[str]:
    for name, one, other in zip(Rest._fields, mine, its, strict=True):
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            for of in sorted({*one, *other}, key=str):
                if one.get(of) != other.get(of):
                    yield f"{name} of {of}: {one.get(of)}, and not {other.get(of)}"
        elif one != other:
            yield f"{name}: {one}, and not {other}"


# This section draws programs of calls whose effects are comparable at rest.

CONFIG: Mapping[str, Any] = {
    "seed": 0, "mode": "shipped", "workers": 3, "protocol": "cooperative", "preemptive_stop": False,
    "support": "enabled", "heartbeat_ms": 3_000, "rebalance_delay_ms": 0,
}  # fmt: skip
"""A live cluster has what is here, and no other part of the configuration makes a difference at rest."""
WEIGHTS = {
    "configure": 8, "work": 4, "stall": 3, "resume": 4, "expire": 2, "crash": 2, "restart_worker": 3, "delete": 1,
    "stop_connector": 1, "restart_connector": 1, "restart_task": 2, "compact": 1, "write_foreign": 1, "set_support": 1,
    "advance": 1,
}  # fmt: skip
STEPS = 4
HOLD = "run"
"""A call of `HOLD` lets everything happen but one operation, at which the next call finds the cluster."""
HOLDS = 0.3
HELD = ("write", "fence", "write_count", "open_producer")
AT_HOLD = ("configure", "expire", "crash")


def drawn(seed: int, steps: int = STEPS) -> Program:
    """Return a program that begins with a set for each connector, and ends with all workers awake and at work."""
    chance = Random(seed)
    config = {**CONFIG, "connectors": chance.choice((1, 1, 2)), "max_tasks": chance.choice((2, 3))}
    calls = [Call("configure", 0, c, chance.randint(1, config["max_tasks"])) for c in range(config["connectors"])]
    away = {"stall": 0, "crash": 0}
    back = {"resume": "stall", "restart_worker": "crash"}
    while len(calls) < steps:
        name = chance.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
        leaves = name in away and sum(away.values()) < config["workers"] - 1
        if (name in away and not leaves) or (name in back and not away[back[name]]):
            continue
        away[back.get(name, name)] = away.get(back.get(name, name), 0) + (1 if leaves else -1 if name in back else 0)
        calls.append(_drawn(name, chance, config))
        if name == "stop_connector":  # else a configuration leaves it stopped
            calls.append(Call("delete", 0, calls[-1].get("connector")))
        if name in ("configure", "restart_task") and chance.random() < HOLDS:
            held, then = chance.choice(HELD), chance.choice(AT_HOLD)
            if then != "crash" or sum(away.values()) < config["workers"] - 1:
                away["crash"] += then == "crash"
                calls += [Call(HOLD, held), _drawn(then, chance, config)]
    for name, of in back.items():
        calls += [Call(name, 0)] * away[of]
    return Program(config, (*calls, Call("work")))


def _drawn(name: str, chance: Random, config: Mapping[str, Any]) -> Call:
    worker, connector = chance.randrange(config["workers"]), chance.randrange(config["connectors"])
    match name:
        case "configure":
            return Call(name, worker, connector, chance.randint(1, config["max_tasks"]))
        case "restart_task":
            return Call(name, worker, connector, chance.randrange(config["max_tasks"]))
        case "delete" | "stop_connector" | "restart_connector":
            return Call(name, worker, connector)
        case "write_foreign":
            return Call(name, "count", connector, chance.randint(1, config["max_tasks"]))
        case "set_support":
            return Call(name, worker, chance.choice(("disabled", "preparing", "enabled")))
        case "work" | "compact":
            return Call(name)
        case "advance":
            return Call(name, REST_MS)
    return Call(name, worker)
