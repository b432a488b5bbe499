"""What Hypothesis does with Connect clusters: how large they are, and how often it plays which scenario."""

from random import Random
from typing import Any

from fencepost.properties.machine import CHANCES, variants
from fencepost.properties.task_counts.scenarios.late import Scenarios

WEIGHTS = {
    "late_start": 4, "late_leader": 3, "late_round_and_a_zombie": 2, "led_again_and_a_zombie": 1, "late_set": 1,
    "round_stays": 1, "zombie": 3, "failure": 3, "half_a_set": 1, "refused": 1, "recreated": 1, "little": 3,
    "one_operation": 1, "late_member": 3, "leader_returns": 1,
}  # fmt: skip


def size(chance: int) -> dict[str, Any]:
    """A small cluster."""
    r = Random(chance)
    return {
        "seed": 0, "workers": r.choice((2, 3, 3)), "connectors": r.choice((1, 1, 1, 2)), "max_tasks": r.choice((3, 2)),
        "protocol": r.choice(("eager", "cooperative")), "preemptive_stop": r.choice((True, False)),
        "group_id": "connect", "support": "enabled", "heartbeat_ms": r.choice((3_000, 3_000, 0)),
    }  # fmt: skip


class Machine(Scenarios, weights=WEIGHTS):
    """What every text has."""

    def begin(self, drawn: int) -> None:
        """Every connector has a set, and in some clusters another one, before anything goes wrong."""
        self.drawn = drawn
        self.start(size(drawn))
        self.go()  # nobody takes a request before there is a leader
        for connector in range(self.run.config["connectors"]):
            self.configure(connector, 1 + drawn % 3)
            self.go()
        if drawn // 3 % 5 == 0:
            self.slow_to_stop(0, 1 + drawn // 15 % 3)


class Shipped(Machine, steps={}):
    """Kafka 3.3 and later, where a user stops a connector now and then."""

    def by_chance(self, chance: int) -> None:
        if chance % 16 == 0:
            self.call("stop_connector", self.worker(0), self.connector(chance // 16))
        else:
            super().by_chance(chance)


MACHINES = variants(Shipped, {"shipped": CHANCES}) | variants(Machine, dict.fromkeys("AMB", CHANCES))
