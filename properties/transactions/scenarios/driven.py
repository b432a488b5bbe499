"""Scenarios on a cluster of transactions that does nothing by itself: appends that fail, fail-overs, time."""

from typing import Annotated

from fencepost.properties.machine import BURST, scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.driving.interface import Partition, Slot
from fencepost.properties.transactions.driving.verbs import BACKOFF_MS
from fencepost.properties.transactions.scenarios.several import Several
from fencepost.properties.transactions.scenarios.shared import CHECK_MS, TIME_OUT_MS

CALLS = {
    "append_to_the_log": "log_append", "fail_over": "fail_over", "leader_changes": "change_leader", "wait": "advance",
}  # fmt: skip


class Driven(Several, steps=CALLS):
    """A cluster that does nothing by itself."""

    MOST_FENCES = 3

    @scenario(when=lambda self: not self.lone)
    def append_fails_in_a_fence(
        self, slot: Slot, partition: Partition, failures: Annotated[int, Between(1, 2)], by_admin: bool
    ) -> None:
        old, at = self.with_record(slot, partition)
        new = self.rival(old)
        if by_admin:
            self.call("fence", old % self.ids)
        else:
            self.take_over(new)
        for _ in range(failures):
            self.send_first("init")
            self.call("log_append", ok=False)
            self.deliver_all(without=("init",))
            self.call("advance", BACKOFF_MS)
        self.call("send", old, at)
        self.go_on()

    @scenario
    def use_up_the_epochs(
        self, slot: Slot, partition: Partition, commit: bool, disturbed: Annotated[int, Between(0, 3)], time_out: bool
    ) -> None:
        """``disturbed``: in which of the transactions the time is up before its owner ends it, which tries all the
        same; or else the coordinator moves while it ends."""
        for number in range(4 if self.run.config["max_epoch"] < BURST else 1):
            slot, _ = self.with_record(slot, partition)
            if number == disturbed and time_out:
                self.call("advance", TIME_OUT_MS + CHECK_MS)
                self.deliver_all()
            self.end(slot, commit)
            if number == disturbed and not time_out:
                self.send_first("end")
                self.call("log_append")
                self.call("fail_over")
            self.go_on()
            if self.run.config["mode"] != "v2":
                self.call("restart_client", slot)

    @scenario
    def fail_over_while_ending(
        self, slot: Slot, partition: Partition, commit: bool, moment: Annotated[int, Between(0, 4)], durable: bool
    ) -> None:
        """``moment``: EndTxn has arrived, its record is durable, a marker is written, all markers are; or its record is
        durable, and the newest markers arrive before the older ones."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot, self.partition(at + 1))
        self.deliver_all()
        self.end(slot, commit)
        self.send_first("end")
        if moment > 0:
            self.call("log_append")
        if moment in (2, 3):
            self.send_first("marker")
        if moment == 3:
            self.deliver_all(without=("end_answer",))
        self.call("fail_over", durable)
        for message in reversed(self.waiting("marker") if moment == 4 else []):
            self.send(message)
        self.go_on()
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()

    @scenario
    def marker_again(
        self, slot: Slot, partition: Partition, commit: bool, lost: Annotated[str, OneOf("marker", "marker_answer")]
    ) -> None:
        slot, at = self.with_record(slot, partition)
        self.call("send", slot, self.partition(at + 1))
        self.deliver_all()
        self.end(slot, commit)
        self.deliver_all(without=("marker", "marker_answer"))
        if lost == "marker_answer":
            self.send_first("marker")
        self.send_first(lost, name="drop")
        self.deliver_all(without=("marker",))
        self.send_first("marker")
        self.deliver_all(without=("marker",))
        self.call("advance", TIME_OUT_MS // 2)
        self.read(at)
        self.go_on()

    @scenario(when=lambda self: not self.lone)
    def id_expires(self, slot: Slot, partition: Partition) -> None:
        """Nothing is done until the id is forgotten; then the producer goes on."""
        slot = self.opened(slot)
        self.end(slot, commit=True)
        self.go_on()
        self.call("expire")
        self.with_record(slot, partition)
        self.end(slot, commit=True)
        self.go_on()
