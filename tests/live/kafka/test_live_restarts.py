"""Live Kafka beside the reference across restarts: what a broker forgets, and what it has in its logs, is the same.

Random walks on one broker that is stopped, or killed, in the middle, whatever is open or under way then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cluster import KafkaCluster
from fencepost.reference_impl.live import beside_reference, over_tcp, prompt
from fencepost.reference_impl.live.transactions.beside import Beside, beside
from fencepost.reference_impl.live.transactions.sides import Difference

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

KINDS: dict[str, dict[str, Any]] = {
    "v2": {},
    "v1-verified": {"features": {"transaction.version": 1}},
    "v1": {"features": {"transaction.version": 0}, "settings": {"transaction.partition.verification.enable": False}},
}
CALLS = 60  # before a restart, and after it
SIZE = {"clients": 2, "partitions": 2, "groups": 1}
ACTIONS = ("init", "begin", "begin", "send", "send", "send", "commit", "abort", "advance", "read", "restart_client")
HOW = {"stopped": "restart", "killed": "replica"}  # what a leader knows then: the last batch, from a snapshot; or five
NIGHTLY = 10


@dataclass
class Restarts:
    """The owner of one broker."""

    cluster: KafkaCluster
    how: str

    def fail_over(self) -> None:
        """Have the broker go down, and come back."""
        if self.how == "killed":
            self.cluster.kill(1)
        else:
            self.cluster.stop()
        self.cluster.start(1)
        self.cluster.wait_until_ready()


@dataclass
class Owned:
    """A broker of our own, in one mode."""

    cluster: KafkaCluster
    mode: str

    def config(self, how: str) -> dict[str, Any]:
        """Of a system on it, and of the reference beside it."""
        wire = {"bootstrap": self.cluster.bootstrap, "collapse": True, "release": "4.3"}
        return {"seed": 0, "mode": self.mode, "leader_change": HOW[how], **wire, **SIZE}


@pytest.fixture(scope="module", params=KINDS)
def broker(request: pytest.FixtureRequest, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owned]:
    """One for every mode."""
    with KafkaCluster(jars, tmp_path_factory.mktemp("restarted"), size=1, **KINDS[request.param]) as cluster:
        yield Owned(cluster, str(request.param))


def walk(system: Beside, dice: Random, calls: int) -> None:
    """Any calls, in any order, most of them deliveries."""
    for _ in range(calls):
        messages = system.messages()
        if messages and dice.random() < 0.6:
            number = dice.choice(messages)[0]
            if dice.random() < 0.9:
                system.deliver(number, keep=dice.random() < 0.15)
            else:
                system.drop(number)
            continue
        slot, partition = dice.randrange(SIZE["clients"]), dice.randrange(SIZE["partitions"] + SIZE["groups"])
        name = dice.choice(ACTIONS)
        if name == "advance":
            system.advance(dice.choice((100, 31_000)))
        elif name == "read":
            look(system, reader=0, partition=partition, committed=dice.random() < 0.5)
        elif name == "send":
            system.send(slot, partition)
        elif name != "restart_client" or dice.random() < 0.3:
            getattr(system, name)(slot)


def look(system: Beside, reader: int, partition: int, committed: bool) -> None:
    """Read a partition, or the offset committed in it."""
    if partition < SIZE["partitions"]:
        system.read(reader, partition, committed)
    else:
        system.fetch_offset(reader, partition)


def restarted(broker: Owned, how: str, seed: int) -> None:
    """A walk with a restart in the middle, and everything read."""
    print(f"{broker.mode}, {how}, seed {seed}")
    dice = Random(seed)
    system = beside_reference(broker.config(how), Restarts(broker.cluster, how))
    walk(system, dice, CALLS)
    system.fail_over()
    walk(system, dice, CALLS)
    for partition in range(SIZE["partitions"] + SIZE["groups"]):
        for committed in (True, False):
            look(system, 1, partition, committed)


@pytest.mark.parametrize("how", HOW)
def test_a_restart_in_the_middle(broker: Owned, how: str) -> None:
    """txn.19: after it every answer, and everything that is read, is what the reference says of its logs."""
    restarted(broker, how, 0)


@pytest.mark.nightly(nights=3)
@pytest.mark.parametrize("how", HOW)
def test_many_restarts(broker: Owned, how: str) -> None:
    """The same with other walks."""
    for seed in range(1, NIGHTLY + 1):
        restarted(broker, how, seed)


def test_what_is_forgotten_shows(broker: Owned) -> None:
    """txn.14: a broker that was stopped knows the last batch only; a reference that was not restarted says otherwise of
    a copy of the one before."""
    owner = Restarts(broker.cluster, "stopped")
    system = beside(lambda config: over_tcp(config, owner), prompt, broker.config("stopped"))
    system.init(0)
    deliver_all(system)
    assert system.begin(0) and system.send(0, 0)
    while not (late := [number for number, kind, *_ in system.messages() if kind == "produce"]):
        deliver_all(system)
    system.deliver(late[0], keep=True)
    deliver_all(system, but=late[0])
    assert system.send(0, 0)
    deliver_all(system, but=late[0])
    system.fail_over()
    with pytest.raises(Difference, match=r"produce_answer .* error is 45 on the left, 0 on the right"):
        system.deliver(late[0])


def deliver_all(system: Beside, but: int = -1) -> None:
    """Deliver everything, oldest first, up to the first record; not the message to spare."""
    while messages := [m for m in system.messages() if m[0] != but]:
        if but < 0 and messages[0][1] == "produce":
            return
        system.deliver(messages[0][0])
