"""Scenarios on transactions that any driver can play: with a cluster that does nothing by itself (`driven`), or with
brokers that act by themselves (`remote`).

Each brings about one constellation from whatever state the cluster is in, with a choice or two left open, and then lets
go: what is still under way may be delivered by the next step, or be lost.
"""

from typing import Annotated, ClassVar

from fencepost.properties.machine import scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.driving.interface import Partition, Slot, Waiting
from fencepost.properties.transactions.driving.verbs import BACKOFF_MS
from fencepost.properties.transactions.scenarios.answers import Answers

TIME_OUT_MS, CHECK_MS = 60_000, 10_000
CALLS = {
    "client_initializes": "init", "client_begins": "begin", "client_sends": "send",
    "client_restarts": "restart_client", "lose": "drop",
}  # fmt: skip


class Shared(Answers, steps=CALLS):
    """``MOST_FENCES``: by admins, in an example; several at once contend, and make each other wait."""

    MOST_FENCES: ClassVar[int]
    fences = 0

    @property
    def times_out(self) -> bool:
        """Can a transaction time out?"""
        return True

    @scenario
    def client_ends(self, slot: Slot, commit: bool) -> None:
        self.end(slot, commit)

    @scenario(when=lambda self: not self.lone and self.fences < self.MOST_FENCES)
    def admin_fences(self, slot: Slot) -> None:
        self.fences += 1
        self.call("fence", slot % self.ids)

    @scenario
    def deliver(self, message: Waiting, keep: bool) -> None:
        self.send(message, keep=keep and self.late)

    @scenario
    def deliver_everything(self) -> None:
        self.deliver_all()

    @scenario
    def reader_reads(self, partition: Partition, committed: Annotated[bool, OneOf(True, True, False)]) -> None:
        self.read(partition, committed)

    @scenario
    def transaction(self, slot: Slot, sends: Annotated[list[Partition], Between(0, 7)], commit: bool) -> None:
        """One that nothing disturbs."""
        slot = self.opened(slot)
        for partition in sends:
            self.call("send", slot, self.partition(partition))
        self.deliver_all()
        self.end(slot, commit)
        self.go_on()

    @scenario(when=lambda self: not self.lone)
    def zombie(self, slot: Slot, partition: Partition, ask: Annotated[int, Between(0, 3)], commit: bool) -> None:
        """The next producer takes over while a transaction is open; the old one goes on as if nothing had been.

        ``ask``: an admin fences; or a producer asks for the id, and then it has a transaction on the same partition or
        on the next."""
        old, at = self.with_record(slot, partition)
        new = self.rival(old)
        if ask == 0:
            self.call("fence", old % self.ids)
        else:
            self.take_over(new)
        self.go_on()
        if ask > 1:
            self.with_record(new, at if ask == 2 else at + 1)
        self.call("send", old, at)
        self.deliver_all()
        self.end(old, commit)
        self.deliver_all()
        if ask > 1:
            self.end(new, commit=True)
            self.go_on()

    def copy_in_next(self, slot: int, partition: int, kind: str, commits: tuple[bool, bool], moment: int) -> None:
        """``moment``: the copy comes when the next transaction is begun, has a record, has two, is about to end, or is
        being ended."""
        if kind == "init":
            slot = self.slot(slot)
            self.call("init", slot)
            self.send_first("init", keep=True)
            copy = self.first("init")
            self.hold(copy)
            self.go_on()
            slot, at = self.opened(slot), self.partition(partition)
        else:
            slot, at = self.opened(slot), self.partition(partition)
            self.call("send", slot, at)
            copy = self.kept(kind, commits[0], slot)
            self.go_on()
            self.call("begin", slot)
        for sent in range(2 if moment in (2, 3) else min(moment, 1)):
            self.call("send", slot, at + sent if self.partition(at + sent) == at + sent else at)
            self.deliver_all()
        if moment > 2:
            self.end(slot, commits[1])
        if moment > 3:
            self.send_first("end")
            self.call("log_append")
        self.release(copy)
        if moment > 3:
            self.call("log_append")
        self.go_on()
        self.read(at)
        self.call("send", slot, at)
        self.deliver_all()
        self.end(slot, commits[1])
        self.go_on()

    @scenario(when=lambda self: self.late)
    def late_copy(
        self,
        slot: Slot,
        partition: Partition,
        kind: Annotated[str, OneOf("produce", "marker", "add", "init")],
        commits: tuple[bool, bool],
        moment: Annotated[int, Between(0, 4)],
    ) -> None:
        """A copy arrives when the next transaction has begun."""
        self.copy_in_next(slot, partition, kind, commits, moment)

    @scenario(when=lambda self: self.late)
    def late_answer(
        self,
        slot: Slot,
        partition: Partition,
        kind: Annotated[str, OneOf("marker_answer", "end_answer", "marker_answer", "add_answer", "produce_answer")],
        moment: Annotated[int, OneOf(4, 4, 1)],
    ) -> None:
        """An answer to a request of one transaction is taken for one of the next."""
        self.copy_in_next(slot, partition, kind, (True, moment > 1), moment)

    @scenario(when=lambda self: self.late)
    def late_end(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(1, 3)]
    ) -> None:
        """The end of one transaction decides the next (KAFKA-17754)."""
        self.copy_in_next(slot, partition, "end", commits, moment)

    @scenario(when=lambda self: self.times_out)
    def commit_races_time_out(self, slot: Slot, partition: Partition, order: Annotated[int, Between(0, 3)]) -> None:
        """``order``: which comes first, the time or the end.  The end of another transaction is tried, too."""
        slot, _ = self.with_record(slot, partition)
        if order < 2:
            self.call("commit", slot)
        if order == 0:
            self.send_first("end")  # its append is under way when the time is up
        for _ in range(TIME_OUT_MS // CHECK_MS + 1):
            self.call("advance", CHECK_MS)
        if order == 2:
            self.call("commit", slot)
            self.send_first("end")
        if order == 3:
            self.call("log_append")
            self.deliver_all(without=("marker_answer",))
            self.call("commit", slot)
            self.send_first("end")
            self.deliver_all(without=("marker_answer",))
        self.go_on()

    @scenario
    def abort_right_after_commit(self, slot: Slot, partition: Partition, send: bool) -> None:
        """The next transaction is ended while the markers of the one before are still under way."""
        slot, at = self.with_record(slot, partition)
        self.call("commit", slot)
        self.send_first("end")
        self.call("log_append")
        self.send_first("end_answer")
        self.call("begin", slot)
        if send:
            self.call("send", slot, at)
            self.send_first("produce")
            self.send_first("check")
        self.call("abort", slot)
        self.send_first("end")
        self.send_first("end_answer")
        self.go_on()

    @scenario
    def read_on_the_way(
        self, slot: Slot, partition: Partition, commit: bool, moment: Annotated[int, Between(0, 1)]
    ) -> None:
        slot, at = self.with_record(slot, partition)
        self.read(at)
        self.end(slot, commit)
        if moment:
            self.send_first("end")
            self.call("log_append")
            self.send_first("end_answer")
            self.read(at)
        self.go_on()
        self.read(at)

    @scenario
    def give_up_unanswered(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 7)], written: bool, lose_init: bool
    ) -> None:
        """Records may have been written, but their answers are lost; or they come late, when the next transaction has
        begun.  ``lose_init``: the answer to the request for another epoch, if there is one, is lost as well."""
        slot, at = self.opened(slot), self.partition(partition)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce_answer",) if written else ("produce",))
        while self.send_first("produce_answer", name="drop") and not self.run.over:
            pass
        self.hold(*self.waiting("produce"))
        self.call("abort", slot)
        if lose_init:
            self.deliver_all()
            self.call("advance", BACKOFF_MS)
            self.deliver_all(without=("init_answer",))
            self.send_first("init_answer", name="drop")
            self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        self.opened(slot)
        self.let_go()
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce",))
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()

    @scenario
    def records_overtaken(self, slot: Slot, partition: Partition, sent: Annotated[int, Between(2, 3)]) -> None:
        """The last record of a new transaction arrives first."""
        slot, at = self.with_record(slot, partition)
        self.end(slot, commit=True)
        self.go_on()
        self.opened(slot)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce",))
        for message in reversed(self.waiting("produce")):
            self.send(message)
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()

    @scenario
    def answers_lost(self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 6)]) -> None:
        """Records were written, and their answers are lost: they are sent again."""
        slot, at = self.with_record(slot, partition)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce_answer",))
        while self.send_first("produce_answer", name="drop") and not self.run.over:
            pass
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()
