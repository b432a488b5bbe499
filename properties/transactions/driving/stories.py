"""What drivers of transactions do, step by step or whole stories, whoever drives: a cluster that does nothing by itself
(`machine.py`) or brokers that act by themselves (`machine_remote.py`).

Each of those adds what only it can do, and chooses what may come late.
"""

from typing import ClassVar

from fencepost.properties.transactions.driving.maneuvers import Maneuvers
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

slots = st.integers(0, 2)
partitions = st.integers(0, 2)
some = st.integers(0, 7)


class Stories(Maneuvers):
    """``MOST_FENCES``: by admins, in an example; several at once contend, and make each other wait."""

    MOST_FENCES: ClassVar[int]
    fences = 0

    @rule(slot=slots)
    def client_initializes(self, slot: int) -> None:
        self.call("init", slot=self.slot(slot))

    @rule(slot=slots)
    def client_begins(self, slot: int) -> None:
        self.call("begin", slot=self.slot(slot))

    @rule(slot=slots, partition=partitions)
    def client_sends(self, slot: int, partition: int) -> None:
        self.call("send", slot=self.slot(slot), partition=self.partition(partition))

    @rule(slot=slots, commit=st.booleans())
    def client_ends(self, slot: int, commit: bool) -> None:
        self.call("commit" if commit else "abort", slot=self.slot(slot))

    @rule(slot=slots)
    def client_restarts(self, slot: int) -> None:
        self.call("restart_client", slot=self.slot(slot))

    @precondition(lambda self: not self.lone and self.fences < self.MOST_FENCES)
    @rule()
    def admin_fences(self) -> None:
        self.fences += 1
        self.call("fence")

    @precondition(lambda self: self.has_messages())
    @rule(number=some, keep=st.booleans())
    def deliver(self, number: int, keep: bool) -> None:
        messages = self.flying()
        self.send(messages[number % len(messages)], keep=keep and self.late)

    @precondition(lambda self: self.has_messages())
    @rule(number=some)
    def lose(self, number: int) -> None:
        messages = self.flying()
        self.send(messages[number % len(messages)], "drop")

    @rule()
    def deliver_everything(self) -> None:
        self.pump()

    @rule(partition=partitions, committed=st.sampled_from((True, True, False)))
    def somebody_reads(self, partition: int, committed: bool) -> None:
        self.read(partition, committed)

    @rule(slot=slots, sends=st.lists(partitions, max_size=7), commit=st.booleans())
    def transaction(self, slot: int, sends: list[int], commit: bool) -> None:
        """One that nothing disturbs."""
        self.whole(slot, sends, commit)

    @precondition(lambda self: not self.lone)
    @rule(slot=slots, partition=partitions, ask=st.integers(0, 3), commit=st.booleans())
    def zombie(self, slot: int, partition: int, ask: int, commit: bool) -> None:
        """The next producer takes over while a transaction is open; the old one goes on as if nothing had been."""
        self.take_over(slot, partition, ask, commit)

    @precondition(lambda self: self.late)
    @rule(slot=slots, partition=partitions, commits=st.tuples(st.booleans(), st.booleans()), moment=st.integers(1, 3))
    def late_end(self, slot: int, partition: int, commits: tuple[bool, bool], moment: int) -> None:
        """The end of one transaction decides the next (KAFKA-17754)."""
        self.copy_in_next(slot, partition, "end", commits, moment)

    @rule(slot=slots, partition=partitions, send=st.booleans())
    def abort_right_after_commit(self, slot: int, partition: int, send: bool) -> None:
        self.end_twice(slot, partition, send)

    @rule(slot=slots, partition=partitions, commit=st.booleans(), moment=st.integers(0, 1))
    def read_on_the_way(self, slot: int, partition: int, commit: bool, moment: int) -> None:
        self.read_while_open(slot, partition, commit, moment)

    @rule(slot=slots, partition=partitions, sent=st.integers(1, 7), written=st.booleans(), lose_init=st.booleans())
    def give_up_unanswered(self, slot: int, partition: int, sent: int, written: bool, lose_init: bool) -> None:
        self.abort_unanswered(slot, partition, sent, written, lose_init)

    @rule(slot=slots, partition=partitions, sent=st.integers(2, 3))
    def records_overtaken(self, slot: int, partition: int, sent: int) -> None:
        self.overtake_records(slot, partition, sent)

    @rule(slot=slots, partition=partitions, sent=st.integers(1, 6))
    def answers_lost(self, slot: int, partition: int, sent: int) -> None:
        self.retry_unanswered(slot, partition, sent)
