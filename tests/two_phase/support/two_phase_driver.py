"""This driver moves a cluster with two-phase commit at random, with applications that do what comes next."""

from random import Random
from typing import Any

from fencepost.properties.history.pieces import columns_of
from fencepost.properties.two_phase.events import TWO_PHASE
from fencepost.properties.two_phase.histories import HISTORY
from fencepost.reference_impl.kafka.clients.producer import State

STEPS = 160
NEXT = {
    State.UNINITIALIZED: ("init",),
    State.READY: ("begin",),
    State.IN_TRANSACTION: ("send", "send", "prepare", "prepare", "abort"),
    State.PREPARED_TRANSACTION: ("read_store", "decide", "decide", "complete"),
    State.FATAL_ERROR: ("restart_client",),
}


class Driver:
    """A `Driver` draws what happens to one system. ``keeps`` is whether applications ask for open transactions."""

    def __init__(self, system: Any, seed: int, keeps: float = 1.0, force: float = 0.0, late: float = 0.1) -> None:
        self.system, self.chance = system, Random(seed)
        self.keeps, self.force, self.late = keeps, force, late

    def step(self) -> None:
        system, luck = self.system, self.chance.random()
        messages = system.messages()
        if luck < 0.45 and messages:
            number = (messages[0] if luck < 0.38 else self.chance.choice(messages))[0]
            system.deliver(number, keep=self.chance.random() < self.late)
        elif luck < 0.62:
            system.log_append(self.chance.random() > 0.03)
        elif luck < 0.635:
            system.advance(self.chance.choice((100, 100, 100, 30_000, 75_000)))
        elif luck < 0.64:
            system.fail_over(self.chance.random() < 0.5)
        elif luck < 0.65 and messages:
            system.drop(self.chance.choice(messages)[0])
        elif luck < 0.655:
            system.change_leader(self.chance.randrange(system.env.config.partitions))
        elif luck < 0.67:
            self.read()
        elif luck < 0.67 + self.force:
            system.force_terminate(self.chance.randrange(system.env.config.ids))
        else:
            self.act(0 if self.chance.random() < 0.7 else self.chance.randrange(system.env.config.clients))

    def act(self, slot: int) -> None:
        state = self.system.producers[slot].state
        call = self.chance.choice(NEXT.get(state, ("read_store",)))
        if self.chance.random() < 0.03:
            call = "restart_client"
        arguments = {
            "init": (self.chance.random() < self.keeps, self.chance.random() < 0.9),
            "send": (self.chance.randrange(self.system.env.config.partitions),),
            "decide": (self.chance.random() < 0.8,),
        }.get(call, ())
        getattr(self.system, call)(slot, *arguments)

    def read(self) -> None:
        for partition in range(self.system.env.config.partitions):
            self.system.read(0, partition)

    def rest(self) -> None:
        """Let everything come to rest: each slot's last instance recovers what is open, and completes it."""
        system = self.system
        for _ in range(6):
            system.settle()
            system.advance(30_000)
        for slot in range(system.env.config.clients):
            system.restart_client(slot)
            system.init(slot)
            for _ in range(6):
                system.settle()
                system.advance(1_000)
            system.read_store(slot)
            system.complete(slot)
            for _ in range(6):
                system.settle()
                system.advance(1_000)
        self.read()


def history(system: Any, seed: int, steps: int = STEPS, quiet: bool = True, **habits: Any) -> list[tuple[int, ...]]:
    """Return the rows of one random run of a system."""
    driver = Driver(system, seed, **habits)
    for _ in range(steps):
        driver.step()
    if quiet:
        driver.rest()
    return system.env.log.rows


def violated(histories: list[list[tuple[int, ...]]], mode: str = "retained") -> dict[str, int]:
    """Return how often each property is violated in these histories, without those that hold."""
    columns = columns_of(TWO_PHASE, list(enumerate(histories)))
    findings, _ = HISTORY.check(columns, config={"mode": mode, "quiet_end": True})
    return {name: found.violations for name, found in findings.items() if found.violations}


def judged(histories: list[list[tuple[int, ...]]]) -> dict[str, int]:
    columns = columns_of(TWO_PHASE, list(enumerate(histories)))
    findings, _ = HISTORY.check(columns, config={"mode": "retained", "quiet_end": True})
    return {name: found.judged for name, found in findings.items()}
