"""Scenarios in which an instance that was fenced, or one that has nothing to end, asks for one thing, and its successor
goes on: what it is answered, and what its question leaves behind.

A producer that is refused asks for nothing more: so each question has a scenario of its own, or a turn.
"""

from typing import Annotated

from fencepost.properties.machine import scenario
from fencepost.properties.roles import Between
from fencepost.properties.transactions.driving.interface import Partition, Slot
from fencepost.properties.transactions.driving.verbs import Verbs

GIVEN_UP_MS = 30_000
SEND, COMMIT, ABORT = range(3)


class Answers(Verbs, steps={}):
    """Beside the other scenarios."""

    @scenario(when=lambda self: not self.lone)
    def zombie_asks(
        self, slot: Slot, partition: Partition, ask: Annotated[int, Between(SEND, ABORT)], open_before: bool,
        open_after: bool, elsewhere: bool,
    ) -> None:  # fmt: skip
        """One question of an instance that was fenced, and then the new owner commits.  ``open_before``: the old one
        had written something; ``open_after``: the new one has when it is asked; ``elsewhere``: in another partition."""
        old, at = self.with_record(slot, partition) if open_before else (self.opened(slot), self.partition(partition))
        new = self.slot(old + 1)
        if new == old:
            return
        self.call("restart_client", new)
        self.call("init", new)
        self.go_on()
        if open_after:
            self.with_record(new, at + elsewhere)
        if ask == SEND:
            self.call("send", old, at)
        else:
            self.end(old, commit=ask == COMMIT)
        self.go_on()
        self.committed(new, at)

    @scenario(when=lambda self: not self.lone)
    def zombie_asks_for_the_next_epoch(self, slot: Slot, partition: Partition, open_after: bool) -> None:
        """An instance that has given up a record, and has aborted, asks for the next epoch (KIP-360, before KIP-890,
        part 2); the question is lost, another takes over meanwhile, and the question is asked again."""
        old, at = self.with_record(slot, partition)
        new = self.slot(old + 1)
        if new == old:
            return
        self.call("send", old, at)
        self.send_first("produce", name="drop")
        self.end(old, commit=False)
        self.deliver_all(without=("init",))
        while self.send_first("init", name="drop") and not self.run.over:
            pass
        self.call("restart_client", new)
        self.call("init", new)
        self.go_on()
        if open_after:
            self.with_record(new, at)
        self.call("advance", GIVEN_UP_MS)
        self.go_on()
        self.committed(new, at)

    @scenario
    def ends_nothing(self, slot: Slot, partition: Partition, lost: bool, twice: bool) -> None:
        """A transaction is aborted of which nothing has arrived.  ``lost``: the answer is, so that the end is asked for
        again; ``twice``: so is the next one."""
        for _ in range(1 + twice):
            slot, at = self.opened(slot), self.partition(partition)
            self.call("send", slot, at)
            self.hold(*self.waiting("produce"), *self.waiting("add"))
            self.end(slot, commit=False)
            if lost:
                self.deliver_all(without=("end_answer",))
                self.send_first("end_answer", name="drop")
                self.call("advance", GIVEN_UP_MS)
            self.go_on()
        self.let_go()
        self.go_on()
        self.committed(slot, at)

    @scenario
    def asks_again(self, slot: Slot, partition: Partition, kind: Annotated[int, Between(0, 3)]) -> None:
        """One answer of each kind is lost, and its request is made again."""
        lost = ("init_answer", "add_answer", "produce_answer", "end_answer")[kind]
        slot, at = self.slot(slot), self.partition(partition)
        self.call("restart_client", slot)
        self.call("init", slot)
        self._lose(lost)
        if not self.did("begin", slot):
            return
        self.call("send", slot, at)
        self._lose(lost)
        self.end(slot, commit=True)
        self._lose(lost)
        self.committed(slot, at)

    @scenario
    def next_epoch_lost(self, slot: Slot, partition: Partition, written: bool) -> None:
        """After the abort of a record in doubt the next epoch is asked for (v1); its answer is lost; so once more."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot, at)
        if written:
            self.send_first("produce")
        self.send_first("produce_answer" if written else "produce", name="drop")
        self.end(slot, commit=False)
        self.deliver_all(without=("init",))
        self.deliver_all(without=("init_answer",))
        self.send_first("init_answer", name="drop")
        self.call("advance", GIVEN_UP_MS)
        self.go_on()
        self.with_record(slot, at)
        self.end(slot, commit=True)
        self.go_on()

    def _lose(self, kind: str) -> None:
        """Everything arrives but one answer of this kind, without which its request is made again."""
        self.deliver_all(without=(kind,))
        if self.send_first(kind, name="drop"):
            self.call("advance", GIVEN_UP_MS)
        self.go_on()

    def committed(self, slot: int, partition: int) -> None:
        """The owner commits what it has open, and then another transaction; both are read."""
        self.end(slot, commit=True)
        self.go_on()
        self.call("begin", slot)
        self.call("send", slot, partition)
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()
        self.read(partition)
