"""The machine: Hypothesis drives any Connect cluster through the plug.

Single operations reach anything in time, but the mistakes of this protocol lie eighteen steps deep: so most steps are
maneuvers of `maneuvers`, which bring a cluster to the brink of something, let somebody be late for it, and go on.
Which of them, and with what, is drawn from eight bytes: Hypothesis prefers small integers, which repeat themselves, and
so would the maneuvers (of 79 clusters begun with an integer 22 were different).  What comes of it is not judged here:
every call goes to a `Watcher`.  At the end of an example the faults are over.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from fencepost.properties.task_counts.driving.maneuvers import Holding, Maneuvers, Story
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

chances = st.binary(min_size=8, max_size=8).map(lambda drawn: int.from_bytes(drawn, "big"))

STARTING = ("open_producer", "check_after", "open_producer", "check_before", "ask", "poll", "commit")
LEADING = ("check_round", "write_count", "fence", "start_round", "write_count", "answer", "write", "claim")
ROUND = ("check_round", "write_count", "fence", "start_round")
FAILING = (
    "fence", "fence", "fence", "write", "write", "write_count", "check_round", "start_round", "ask", "answer",
    "open_producer", "check_after", "check_before", "claim", "commit", "assign", "sync", "read",
)  # fmt: skip
HOLDING = (Holding.GONE, Holding.GONE, Holding.STALLED, Holding.SLOW)
OUTCOMES = ("ok", "ok", "failed", "lost")
LITTLE = (
    "reconfigure", "run", "reconfigure and run", "work", "crash", "crash and return", "wait", "wait long", "compact",
    "compact", "restart task",
)  # fmt: skip
WEIGHTS = {
    "late_start": 4, "late_leader": 3, "late_round_and_a_zombie": 2, "led_again_and_a_zombie": 1, "zombie": 3,
    "failure": 3, "half_a_set": 1, "recreated": 1, "little": 3, "one_operation": 1,
}  # fmt: skip


def sizes(chance: int) -> dict[str, Any]:
    """A small cluster."""
    r = Random(chance)
    return {
        "seed": 0, "workers": r.choice((2, 3, 3)), "connectors": r.choice((1, 1, 1, 2)), "max_tasks": r.choice((3, 2)),
        "protocol": r.choice(("eager", "cooperative")), "preemptive_stop": r.choice((True, False)),
        "group_id": "connect", "support": "enabled", "heartbeat_ms": r.choice((3_000, 3_000, 0)),
    }  # fmt: skip


class Machine(Maneuvers):
    """What every text has."""

    @initialize(chance=chances)
    def begin(self, chance: int) -> None:
        self.start(sizes(chance))
        for connector in range(self.size[1]):
            self.configure(connector, 1 + chance % 3)
            self.go()

    @rule(chance=chances)
    def go_on(self, chance: int) -> None:
        """Something happens."""
        r = Random(chance)
        name = r.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        getattr(self, name)(r, self.connector(r.randrange(4)))

    def story(self, r: Random, operations: tuple[str, ...]) -> Story:
        """Somebody is late for one of these operations while sets follow one another."""
        counts = (r.randint(1, 3), r.randint(1, 3), r.randint(1, 3))
        return Story(
            r.choice(operations), r.randrange(6), r.choice(HOLDING), counts, r.randint(1, 2), r.randint(1, 6),
            r.randrange(6),
        )  # fmt: skip

    def late_start(self, r: Random, connector: int) -> None:
        self.start_late(connector, self.story(r, STARTING))

    def late_leader(self, r: Random, connector: int) -> None:
        self.lead_late(connector, self.story(r, LEADING), reclaims=r.random() < 0.5)

    def late_round_and_a_zombie(self, r: Random, connector: int) -> None:
        self.lead_late(connector, self.story(r, ROUND), reclaims=False)
        self.run_on(connector, self.story(r, ROUND))

    def led_again_and_a_zombie(self, r: Random, connector: int) -> None:
        self.lead_again(connector, self.story(r, ROUND))
        self.run_on(connector, self.story(r, ROUND))

    def zombie(self, r: Random, connector: int) -> None:
        self.configure(connector, r.randint(1, 3))
        self.run_on(connector, self.story(r, ROUND))

    def failure(self, r: Random, connector: int) -> None:
        failed = r.choice(("failed", "lost"))
        self.fail_at(connector, r.choice(FAILING), r.randrange(6), failed, r.randrange(3), self.story(r, ROUND))

    def half_a_set(self, r: Random, connector: int) -> None:
        self.write_half(connector, r.randint(1, 3), r.randint(1, 4), r.choice(("failed", "lost")))

    def recreated(self, r: Random, connector: int) -> None:
        self.recreate(connector, r.randint(1, 3), self.story(r, ROUND), late=r.random() < 0.5)

    def little(self, r: Random, connector: int) -> None:
        self.do_little(r.choice(LITTLE), r.randrange(6), r.randint(1, 3))

    def one_operation(self, r: Random, connector: int) -> None:
        threads = self.threads()
        if threads:
            thread = r.choice(threads)
            self.step(thread, r.choice(OUTCOMES))
            self.let(thread[0], r.randrange(5))


class TextA(Machine):
    """The leader fences during the rebalance."""

    mode = "A"


class TextM(Machine):
    """The Connector's owner asks for the round."""

    mode = "M"


class TextB(Machine):
    """Each task's start asks for a round."""

    mode = "B"


class Shipped(Machine):
    """Kafka 3.3 and later."""

    mode = "shipped"

    @rule(chance=chances)
    def go_on(self, chance: int) -> None:
        """Something happens, and now and then a user stops a connector."""
        if chance % 16 == 0:
            self.call("stop_connector", worker=self.worker(0), connector=self.connector(chance // 16))
        else:
            super().go_on(chance)


MACHINES: Mapping[str, type[Machine]] = {"shipped": Shipped, "A": TextA, "M": TextM, "B": TextB}
