"""The machine: Hypothesis drives any Connect cluster through the plug.

Single operations reach anything in time, but the mistakes of this protocol lie eighteen steps deep: so most rules are
maneuvers of `maneuvers`, which bring a cluster to the brink of something, let somebody be late for it, and go on.  What
comes of it is not judged here: every call goes to a `Watcher`.  At the end of an example the faults are over.
"""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from .maneuvers import Holding, Maneuvers, Story

some = st.integers(0, 5)
tasks = st.integers(1, 3)
outcomes = st.sampled_from(("ok", "ok", "failed", "lost"))
failures = st.sampled_from(("failed", "lost"))
holding = st.sampled_from((Holding.GONE, Holding.GONE, Holding.STALLED, Holding.SLOW))

STARTING = ("open_producer", "check_after", "open_producer", "check_before", "ask", "poll", "commit")
LEADING = ("check_round", "write_count", "fence", "start_round", "write_count", "answer", "write", "claim")
FAILING = (
    "fence", "fence", "fence", "write", "write", "write_count", "check_round", "start_round", "ask", "answer",
    "open_producer", "check_after", "check_before", "claim", "commit", "assign", "sync", "read",
)  # fmt: skip

LITTLE = (
    "reconfigure", "run", "reconfigure and run", "work", "crash", "crash and return", "wait", "wait long", "compact",
    "restart task",
)  # fmt: skip


def sizes() -> st.SearchStrategy[dict[str, Any]]:
    """Small clusters."""
    return st.fixed_dictionaries({
        "seed": st.just(0),
        "workers": st.sampled_from((2, 3, 3)),
        "connectors": st.sampled_from((1, 1, 1, 2)),
        "max_tasks": st.sampled_from((3, 2)),
        "protocol": st.sampled_from(("eager", "cooperative")),
        "preemptive_stop": st.booleans(),
        "group_id": st.just("connect"),
        "heartbeat_ms": st.sampled_from((3_000, 3_000, 0)),
    })  # fmt: skip


def stories(operations: tuple[str, ...]) -> st.SearchStrategy[Story]:
    """Somebody is late for one of these operations while sets follow one another."""
    return st.builds(
        Story, st.sampled_from(operations), some, holding, st.tuples(tasks, tasks, tasks), st.integers(1, 2),
        st.integers(1, 6), some,
    )  # fmt: skip


class Machine(Maneuvers):
    """What every text has."""

    @initialize(size=sizes(), count=tasks)
    def begin(self, size: dict[str, Any], count: int) -> None:
        self.start(size)
        self.configure(0, count)
        self.go()

    @rule(what=st.sampled_from(LITTLE), number=some, count=tasks)
    def little(self, what: str, number: int, count: int) -> None:
        self.do_little(what, number, count)

    @precondition(lambda self: bool(self.threads()))
    @rule(number=some, outcome=outcomes, more=st.integers(0, 4))
    def one_operation(self, number: int, outcome: str, more: int) -> None:
        threads = self.threads()
        thread = threads[number % len(threads)]
        self.step(thread, outcome)
        self.let(thread[0], more)

    @rule(connector=some, story=stories(STARTING))
    def late_start(self, connector: int, story: Story) -> None:
        self.start_late(self.connector(connector), story)

    @rule(connector=some, story=stories(LEADING), reclaims=st.booleans())
    def late_leader(self, connector: int, story: Story, reclaims: bool) -> None:
        self.lead_late(self.connector(connector), story, reclaims)

    @rule(connector=some, story=stories(("check_round", "write_count", "fence", "start_round")), again=st.booleans())
    def late_round_and_a_zombie(self, connector: int, story: Story, again: bool) -> None:
        if again:
            self.lead_again(self.connector(connector), story)
        else:
            self.lead_late(self.connector(connector), story, reclaims=False)
        self.run_on(self.connector(connector), story)

    @rule(connector=some, story=stories(("poll",)), count=tasks)
    def zombie(self, connector: int, story: Story, count: int) -> None:
        self.configure(self.connector(connector), count)
        self.run_on(self.connector(connector), story)

    @rule(connector=some, operation=st.sampled_from(FAILING), number=some, outcome=failures, before=st.integers(0, 2),
          story=stories(("poll",)))  # fmt: skip
    def failure(self, connector: int, operation: str, number: int, outcome: str, before: int, story: Story) -> None:
        self.fail_at(self.connector(connector), operation, number, outcome, before, story)

    @rule(connector=some, count=tasks, before=st.integers(1, 4), outcome=failures)
    def half_a_set(self, connector: int, count: int, before: int, outcome: str) -> None:
        self.write_half(self.connector(connector), count, before, outcome)

    @rule(connector=some, count=tasks, story=stories(("poll",)), late=st.booleans())
    def delete_and_create(self, connector: int, count: int, story: Story, late: bool) -> None:
        self.recreate(self.connector(connector), count, story, late)


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

    @rule(connector=some)
    def stop_connector(self, connector: int) -> None:
        self.call("stop_connector", worker=self.worker(0), connector=self.connector(connector))


MACHINES: Mapping[str, type[Machine]] = {"shipped": Shipped, "A": TextA, "M": TextM, "B": TextB}
