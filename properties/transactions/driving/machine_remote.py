"""The machine for brokers that act by themselves: `machine.py` without what nobody outside a broker can do.

What is left to the driver is when each request and each answer arrives, how often, or not at all.  At the end of an
example everything is delivered, a fresh producer fences what may be open, so that nobody has to wait for a time-out,
and everything is read.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.driving import Made
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.driving.maneuvers import Maneuvers
from fencepost.properties.transactions.driving.stories import Stories, partitions, slots
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

LATE = ("produce", "add", "init")
ANSWERS = ("end_answer", "add_answer", "produce_answer")
WAITS_MS = (100, 10_000, 30_000)
BY_ITSELF = frozenset({"log_append", "fail_over", "change_leader"})
"""Calls that a broker makes superfluous; they are not made."""
RETRIES, RETRY_MS = 6, 100
"""At the end clients may try again so often, each after so long."""


def sizes(mode: str) -> st.SearchStrategy[tuple[dict[str, Any], bool, bool]]:
    """Small clusters; is one client alone, and may copies come late?  See `machine.sizes`."""

    def config(lone: bool, late: bool, clients: int, count: int, groups: int) -> tuple[dict[str, Any], bool, bool]:
        size = {"clients": 1 if lone else clients, "partitions": count, "groups": groups, "max_epoch": 32767}
        return {"seed": 0, "mode": mode, **size}, lone, late or mode == "v2"

    return st.builds(
        config, st.booleans(), st.booleans(), st.integers(2, 3), st.integers(1, 2), st.sampled_from((0, 0, 1))
    )


class Remote(Stories):
    """Brokers that act by themselves."""

    MOST_FENCES = 2

    def call(self, name: str, **arguments: Any) -> Made | None:
        return None if name in BY_ITSELF else super().call(name, **arguments)

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        self.rest()
        if not self.run.over:
            self.call("restart_client", slot=0)
            self.call("init", slot=0)
            self.rest()
        super().teardown()

    def abort_unanswered(self, slot: int, partition: int, sent: int, written: bool, lose_init: bool) -> None:
        """And then a look at what was written: nobody was told."""
        super().abort_unanswered(slot, partition, sent, written, lose_init)
        at = self.partition(partition)
        if at < int(self.run.config["partitions"]):
            self.read(at, committed=False)

    def rest(self) -> None:
        """Deliver everything, and let clients try again."""
        self.pump()
        for _ in range(RETRIES):
            if self.run.over:
                return
            self.call("advance", value=RETRY_MS)
            if not self.has_messages():
                return
            self.pump()

    @property
    def timeouts(self) -> bool:
        return bool(self.session.config.get("timeouts", False))

    @rule(ms=st.sampled_from(WAITS_MS))
    def wait(self, ms: int) -> None:
        self.call("advance", value=ms)

    @precondition(lambda self: self.late)
    @rule(
        slot=slots, partition=partitions, kind=st.sampled_from(LATE),
        commits=st.tuples(st.booleans(), st.booleans()), moment=st.integers(0, 4),
    )  # fmt: skip
    def late_copy(self, slot: int, partition: int, kind: str, commits: tuple[bool, bool], moment: int) -> None:
        """A copy arrives when the next transaction has begun."""
        self.copy_in_next(slot, partition, kind, commits, moment)

    @precondition(lambda self: self.late)
    @rule(slot=slots, partition=partitions, kind=st.sampled_from(ANSWERS), moment=st.sampled_from((4, 4, 1)))
    def late_answer(self, slot: int, partition: int, kind: str, moment: int) -> None:
        """An answer to a request of one transaction is taken for one of the next."""
        self.copy_in_next(slot, partition, kind, (True, moment > 1), moment)

    @precondition(lambda self: self.timeouts)
    @rule(slot=slots, partition=partitions, order=st.integers(0, 3))
    def commit_races_time_out(self, slot: int, partition: int, order: int) -> None:
        self.race_time_out(slot, partition, order)

    @rule(slot=slots, partition=partitions, sent=st.integers(1, 3), backwards=st.booleans())
    def commit_on_the_way(self, slot: int, partition: int, sent: int, backwards: bool) -> None:
        """A transaction is to be committed whose records have not arrived."""
        slot, at = self.with_record(slot, partition)
        for number in range(sent):
            self.call("send", slot=slot, partition=self.partition(at + number))
        self.end(slot, commit=True)
        flying = list(self.flying())
        for message in reversed(flying) if backwards else flying:
            self.send(message)
        self.go_on()
        self.read(at)

    @rule(slot=slots, partition=partitions, commit=st.booleans(), copy=st.booleans())
    def end_answer_lost(self, slot: int, partition: int, commit: bool, copy: bool) -> None:
        """The end of a transaction is asked for again: nobody was told."""
        slot, at = self.with_record(slot, partition)
        self.end(slot, commit)
        self.deliver_first("end", keep=copy and self.late)
        self.deliver_first("end_answer", name="drop")
        self.call("advance", value=30_000)
        self.go_on()
        self.read(at)

    @precondition(lambda self: self.late)
    @rule(slot=slots, partition=partitions, commit=st.booleans(), answered=st.booleans())
    def late_end_before_a_record(self, slot: int, partition: int, commit: bool, answered: bool) -> None:
        """The end of one transaction comes late, and decides the next before its record arrives.  ``answered``: it is
        the answer of the first that is late."""
        slot, at = self.with_record(slot, partition)
        copy = self.kept("end_answer" if answered else "end", commit, slot)
        spare = frozenset() if copy is None else frozenset({copy[0]})
        self.go_on(spare)
        self.call("begin", slot=slot)
        self.call("send", slot=slot, partition=at)
        self.pump(without=("produce",), spare=spare)
        if copy is not None and not answered:
            self.send(copy)
        self.pump(spare=spare)
        self.end(slot, commit=True)
        if copy is not None and answered:
            self.send(copy)
        self.go_on()

    @rule(slot=slots, partition=partitions, written=st.booleans())
    def next_epoch_lost(self, slot: int, partition: int, written: bool) -> None:
        """After the abort of a record in doubt the next epoch is asked for (v1), and nobody is told; so once more."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot=slot, partition=at)
        if written:
            self.deliver_first("produce")
        self.deliver_first("produce_answer" if written else "produce", name="drop")
        self.end(slot, commit=False)
        self.pump(without=("init_answer",))
        self.deliver_first("init_answer", name="drop")
        self.call("advance", value=30_000)
        self.go_on()
        self.with_record(slot, at)
        self.end(slot, commit=True)
        self.go_on()

    @precondition(lambda self: not self.lone)
    @rule(slot=slots, partition=partitions, commit=st.booleans(), last=st.booleans())
    def two_ask_at_once(self, slot: int, partition: int, commit: bool, last: bool) -> None:
        """Two new producers ask for the id while a transaction is open; the answers of one of them are late."""
        old, at = self.with_record(slot, partition)
        new = self.slot(old + 1)
        self.call("restart_client", slot=new)
        self.call("init", slot=new)
        self.call("fence")
        spare = frozenset(m[0] for m in self.kept_back(new, last))
        self.pump(spare=spare)
        self.end(old, commit)
        self.go_on(spare)
        self.go_on()
        self.with_record(new, at)
        self.end(new, commit=True)
        self.go_on()

    def kept_back(self, slot: int, last: bool) -> list[Message]:
        """The InitProducerId of one of the two."""
        asked = [m for m in self.flying() if m[1] == "init"]
        own = f"client-{slot}"
        return [m for m in asked if (m[2] == own) == last]


class V2OverTheWire(Remote):
    """KIP-890 part 2."""

    @initialize(size=sizes("v2"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


class V1OverTheWire(Remote):
    """Before KIP-890."""

    @initialize(size=sizes("v1"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


class V1VerifiedOverTheWire(Remote):
    """KIP-890 part 1: the leader verifies."""

    @initialize(size=sizes("v1-verified"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


REMOTE_MACHINES: Mapping[str, type[Maneuvers]] = {
    "v2": V2OverTheWire, "v1": V1OverTheWire, "v1-verified": V1VerifiedOverTheWire,
}  # fmt: skip
