"""Runs of transactions on a live cluster that are worth recording: clean, with a zombie, under SIGKILL.

Each drives one system over TCP with a seeded mind of its own and ends at rest: nothing in flight, no transaction open,
everything read to the end by a read_committed and a read_uncommitted reader.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from fencepost.reference_impl.live.transactions.over_tcp import Control, WireSystem, over_tcp

COMMITTED, UNCOMMITTED = 0, 1  # readers
ROUNDS = 400  # of deliveries, until nothing is in flight; more is a bug of the run
STEP_MS = 5_000  # virtual time: beyond every back-off of the clients


@dataclass
class Run:
    """A system and what a driver does with it; slots 0 and 1 are two instances with one transactional id."""

    system: WireSystem
    chance: random.Random
    partitions: int
    groups: int

    @classmethod
    def start(
        cls, bootstrap: str, seed: int, mode: str = "v2", partitions: int = 3, control: Control | None = None
    ) -> Run:
        """Connect, and give the system partitions and a transactional id of its own."""
        config = {"seed": seed, "mode": mode, "clients": 2, "partitions": partitions, "groups": 1}
        system = over_tcp({**config, "bootstrap": bootstrap, "collapse": True, "answer_timeout_ms": 3_000}, control)
        return cls(system, random.Random(seed), partitions, 1)

    def settle(self, only: str = "", without: str = "") -> None:
        """Deliver everything, answers and retries too, until nothing more comes of it.

        `only`: what goes to and from this client; `without`: all but that.
        """
        for _ in range(ROUNDS):
            flying = [
                number
                for number, _, source, target, _ in self.system.messages()
                if (not only or only in (source, target)) and without not in (source, target)
            ]
            if flying:
                self.system.deliver(flying[0])
            elif self._idle():
                return
        raise AssertionError(f"never came to rest: {self.system.messages()}")

    def _idle(self) -> bool:
        """Whether virtual time alone brings no new request either."""
        before = {number for number, *_ in self.system.messages()}
        self.system.advance(STEP_MS)
        return {number for number, *_ in self.system.messages()} <= before

    def transaction(self, slot: int, records: int, commit: bool) -> None:
        """One transaction of a client that is initialised: records, an offset, the end."""
        if not self.system.begin(slot):
            return
        for _ in range(records):
            self.system.send(slot, self.chance.randrange(self.partitions))
            self.settle()
        if self.chance.random() < 0.5:
            self.system.send(slot, self.partitions)
            self.settle()
        (self.system.commit if commit else self.system.abort)(slot)
        self.settle()

    def read(self) -> None:
        """Both readers read on, and one fetches the group's offset."""
        for partition in range(self.partitions):
            self.system.read(COMMITTED, partition)
            self.system.read(UNCOMMITTED, partition, committed=False)
        self.system.fetch_offset(COMMITTED, self.partitions)

    def take_over(self, slot: int) -> None:
        """A fresh instance in this slot initialises: the one before is fenced."""
        self.system.restart_client(slot)
        self.system.init(slot)
        self.settle()


def clean(run: Run, transactions: int) -> None:
    """One instance at a time, nothing late or lost; every fourth transaction is aborted."""
    run.system.init(0)
    run.settle()
    for number in range(transactions):
        if number and number % (transactions // 3 or 1) == 0:
            run.take_over(0)
        run.transaction(0, run.chance.randrange(1, 5), commit=number % 4 != 3)
        if number % 5 == 4:
            run.read()
    finish(run)


def zombies(run: Run, rounds: int) -> None:
    """Again and again an instance is paused within a transaction, fenced by the other, and goes on as if nothing were.

    Every fourth time an admin fences it first. While it is paused its requests are in flight; they arrive when its
    successor has begun, and it sends more.
    """
    for number in range(rounds):
        old, new = number % 2, 1 - number % 2
        run.take_over(old)
        run.transaction(old, 2, commit=True)
        if not run.system.begin(old):
            continue
        run.system.send(old, 0)
        run.settle()
        if run.chance.random() < 0.5:  # what is asked for now stays in flight: the pause begins here
            run.system.commit(old)
        else:
            run.system.send(old, run.chance.randrange(run.partitions))
        zombie = f"client-{old}"
        if number % 4 == 3:
            run.system.fence()
            run.settle(without=zombie)
        run.system.restart_client(new)
        run.system.init(new)
        run.settle(without=zombie)
        run.system.begin(new)
        run.system.send(new, 0)
        run.settle(without=zombie)
        for message, _, source, *_ in run.system.messages():
            if source == zombie:
                run.system.deliver(message, keep=True)
        run.settle(only=zombie)
        run.system.send(old, 1)
        (run.system.commit if number % 3 else run.system.abort)(old)
        run.settle()
        run.system.send(new, run.partitions)
        run.settle()
        run.system.commit(new)
        run.settle()
        run.read()
    finish(run)


def killed(run: Run, cluster: KafkaCluster, kills: int) -> None:
    """In the midst of a transaction a node dies by SIGKILL; the clients try on, and it comes back."""
    run.system.init(0)
    run.settle()
    for number in range(kills):
        for _ in range(4):
            run.transaction(0, run.chance.randrange(1, 4), commit=run.chance.random() < 0.75)
        run.system.begin(0)
        run.system.send(0, 0)
        run.settle()
        run.system.send(0, 1)
        victim = number % cluster.size + 1
        cluster.kill(victim)
        if cluster.size == 1:
            cluster.start(victim)
            cluster.wait_until_ready()
        run.settle()
        (run.system.commit if number % 2 else run.system.abort)(0)
        run.settle()
        if cluster.nodes[victim].process is None:
            cluster.start(victim)
            cluster.wait_until_ready()
        run.take_over(0)
        run.read()
    finish(run)


def finish(run: Run) -> None:
    """The last instance fences each one that has something open, and all is read to the end."""
    run.take_over(0)
    run.transaction(0, run.partitions, commit=True)
    run.system.settle()
    run.read()
