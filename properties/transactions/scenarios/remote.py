"""Scenarios on brokers that act by themselves, without what cannot be done from outside a broker.

What is left to the driver is when each request and each answer arrives, how often, or not at all.  At the end of an
example everything is delivered, a fresh producer fences what may be open, so that no reader has to wait for a time-out,
and everything is read.
"""

from typing import Annotated, Any

from fencepost.properties.calls import accepts
from fencepost.properties.driving import Made, Message, read
from fencepost.properties.machine import redrawn, scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.driving.interface import ABILITIES, ANYWHERE, PIECES, Partition, Slot
from fencepost.properties.transactions.scenarios.shared import Shared

BY_ITSELF = frozenset({"log_append", "fail_over", "change_leader"})
"""Calls that a broker makes superfluous; they are not made."""
RETRIES, RETRY_MS = 6, 100
"""At the end clients may try again so often, each after so long."""
READING, OFFSETS = frozenset({PIECES, ANYWHERE}), 4
"""From which of so many offsets on a partition is read in pieces at the end."""


class Remote(Shared, steps={}):
    """Brokers that act by themselves."""

    MOST_FENCES = 2

    late_copy = redrawn(Shared.late_copy, kind=OneOf("produce", "add", "init"))
    late_answer = redrawn(Shared.late_answer, kind=OneOf("end_answer", "add_answer", "produce_answer"))

    def call(self, name: str, *arguments: Any, **named: Any) -> Made | None:
        return None if name in BY_ITSELF else super().call(name, *arguments, **named)

    def can(self, ability: str) -> bool:
        """Over the wire nothing is asked that an implementation may lack, but for how it is read."""
        return not ability or (ability in READING and accepts(self.run.system, *ABILITIES[ability]))

    def waits(self, slot: int) -> bool:
        """Not before the end: no model follows what a broker does meanwhile."""
        return False

    def those_there_go_on(self) -> None:
        """Once all has settled, for the same reason."""
        last = self.run.made[-1].call.name if self.run.made else ""
        if last in ("settle", "in_pieces", "progress"):
            super().those_there_go_on()

    def in_pieces(self, partition: int, most: int, offset: int = 0) -> None:
        """From somewhere among what was acknowledged there: who asks for more than there is gets an error."""
        acked = sum(
            read(event, "kind") == "record_acked" and read(event, "partition") == partition
            for made in self.run.made
            for event in made.events
        )
        super().in_pieces(partition, most, offset or min(acked, len(self.run.made) % OFFSETS))

    def teardown(self) -> None:
        if not hasattr(self, "run"):
            return
        self.rest()
        if not self.run.over:
            self.call("restart_client", 0)
            self.call("init", 0)
            self.rest()
        super().teardown()

    @scenario
    def give_up_unanswered(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 7)], written: bool, lose_init: bool
    ) -> None:
        """And then a look at what was written, of which no client has heard."""
        super().give_up_unanswered(slot, partition, sent, written, lose_init)
        if partition < int(self.run.config["partitions"]):
            self.read(partition, committed=False)

    def rest(self) -> None:
        """Deliver everything, and let clients try again."""
        self.deliver_all()
        for _ in range(RETRIES):
            if self.run.over:
                return
            self.call("advance", RETRY_MS)
            if not self.something_waits():
                return
            self.deliver_all()

    @property
    def times_out(self) -> bool:
        return bool(self.session.config.get("timeouts", False))

    @scenario
    def wait(self, ms: Annotated[int, OneOf(100, 10_000, 30_000)]) -> None:
        self.call("advance", ms)

    @scenario
    def commit_on_the_way(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 3)], backwards: bool
    ) -> None:
        """A transaction is to be committed whose records have not arrived."""
        slot, at = self.with_record(slot, partition)
        for number in range(sent):
            self.call("send", slot, self.partition(at + number))
        self.end(slot, commit=True)
        flying = list(self.waiting())
        for message in reversed(flying) if backwards else flying:
            self.send(message)
        self.go_on()
        self.read(at)

    @scenario
    def end_answer_lost(self, slot: Slot, partition: Partition, commit: bool, copy: bool) -> None:
        """The end of a transaction is asked for again, since its answer was lost."""
        slot, at = self.with_record(slot, partition)
        self.end(slot, commit)
        self.send_first("end", keep=copy and self.late)
        self.send_first("end_answer", name="drop")
        self.call("advance", 30_000)
        self.go_on()
        self.read(at)

    @scenario(when=lambda self: self.late)
    def late_end_before_a_record(self, slot: Slot, partition: Partition, commit: bool, answered: bool) -> None:
        """The end of one transaction comes late, and decides the next before its record arrives.  ``answered``: it is
        the answer of the first that is late."""
        slot, at = self.with_record(slot, partition)
        copy = self.kept("end_answer" if answered else "end", commit, slot)
        self.go_on()
        self.call("begin", slot)
        self.call("send", slot, at)
        self.deliver_all(without=("produce",))
        if not answered:
            self.release(copy)
        self.deliver_all()
        self.end(slot, commit=True)
        if answered:
            self.release(copy)
        self.go_on()

    @scenario(when=lambda self: not self.lone)
    def two_ask_at_once(self, slot: Slot, partition: Partition, commit: bool, last: bool) -> None:
        """Two new producers ask for the id while a transaction is open; the answers of one of them are late."""
        old, at = self.with_record(slot, partition)
        new = self.rival(old)
        self.call("restart_client", new)
        self.call("init", new)
        self.call("fence")
        self.hold(*self.kept_back(new, last))
        self.deliver_all()
        self.end(old, commit)
        self.go_on()
        self.let_go()
        self.go_on()
        self.with_record(new, at)
        self.end(new, commit=True)
        self.go_on()

    def kept_back(self, slot: int, last: bool) -> list[Message]:
        """The InitProducerId of one of the two."""
        asked = self.waiting("init")
        own = f"client-{slot}"
        return [m for m in asked if (m[2] == own) == last]
