"""Maneuvers: what drivers of transactions do in one go, call by call.

Each brings about one constellation from whatever state the cluster is in, with a choice or two left open, and then lets
go: what is still under way may be delivered by the next step, or be lost.
"""

from collections.abc import Sequence

from fencepost.properties.transactions.driving.driver import BACKOFF_MS, BURST, Driver
from fencepost.properties.transactions.driving.interface import Message
from fencepost.properties.transactions.driving.programs import EXPIRY_MS

TIME_OUT_MS, CHECK_MS = 60_000, 10_000


class Maneuvers(Driver):
    """The constellations."""

    def whole(self, slot: int, sends: Sequence[int], commit: bool) -> None:
        slot = self.opened(slot)
        for partition in sends:
            self.call("send", slot=slot, partition=self.partition(partition))
        self.pump()
        self.end(slot, commit)
        self.go_on()

    def take_over(self, slot: int, partition: int, ask: int, commit: bool) -> None:
        old, at = self.with_record(slot, partition)
        new = self.slot(old + 1)
        if ask == 0:
            self.call("fence")
        elif not self.did("init", slot=new):
            self.call("restart_client", slot=new)
            self.call("init", slot=new)
        self.go_on()
        if ask > 1:
            self.with_record(new, at if ask == 2 else at + 1)
        self.call("send", slot=old, partition=at)
        self.pump()
        self.end(old, commit)
        self.pump()
        if ask > 1:
            self.end(new, commit=True)
            self.go_on()

    def copy_in_next(self, slot: int, partition: int, kind: str, commits: tuple[bool, bool], moment: int) -> None:
        """``moment``: the copy comes when the next transaction is begun, has a record, has two, is about to end, or is
        being ended."""
        if kind == "init":
            slot = self.slot(slot)
            self.call("init", slot=slot)
            self.deliver_first("init", keep=True)
            copy = self.first("init")
            spare = frozenset() if copy is None else frozenset({copy[0]})
            self.go_on(spare)
            slot, at = self.opened(slot, spare), self.partition(partition)
        else:
            slot, at = self.opened(slot), self.partition(partition)
            self.call("send", slot=slot, partition=at)
            copy = self.kept(kind, commits[0], slot)
            spare = frozenset() if copy is None else frozenset({copy[0]})
            self.go_on(spare)
            self.call("begin", slot=slot)
        for sent in range(2 if moment in (2, 3) else min(moment, 1)):
            self.call("send", slot=slot, partition=at + sent if self.partition(at + sent) == at + sent else at)
            self.pump(spare=spare)
        if moment > 2:
            self.end(slot, commits[1])
        if moment > 3:
            self.deliver_first("end")
            self.call("log_append")
        if copy is not None:
            self.send(copy)
        if moment > 3:
            self.call("log_append")
        self.go_on()
        self.read(at)
        self.call("send", slot=slot, partition=at)
        self.pump()
        self.end(slot, commits[1])
        self.go_on()

    def kept(self, kind: str, commit: bool, slot: int) -> Message | None:
        """Go on until the end of a transaction; what is left of one message of this kind, of which a copy was kept."""
        ended = False
        for _ in range(BURST):
            message = self.first(kind)
            if message is not None:
                self.send(message, keep=True)
                left: Message | None = next((m for m in self.flying() if m[1] == kind), None)
                if not ended and left is not None:
                    self.pump(spare=frozenset({left[0]}))
                    self.end(slot, commit)
                return left
            oldest = next(iter(self.flying()), None)
            if oldest is not None:
                self.send(oldest)
            elif not self.did("log_append"):
                if ended:
                    return None
                ended = True
                self.end(slot, commit)
        return None

    def race_time_out(self, slot: int, partition: int, order: int) -> None:
        """``order``: which comes first, the time or the end.  The end of another transaction is tried, too."""
        slot, _ = self.with_record(slot, partition)
        if order < 2:
            self.call("commit", slot=slot)
        if order == 0:
            self.deliver_first("end")  # its append is under way when the time is up
        for _ in range(TIME_OUT_MS // CHECK_MS + 1):
            self.call("advance", value=CHECK_MS)
        if order == 2:
            self.call("commit", slot=slot)
            self.deliver_first("end")
        if order == 3:
            self.call("log_append")
            self.pump(without=("marker_answer",))
            self.call("commit", slot=slot)
            self.deliver_first("end")
            self.pump(without=("marker_answer",))
        self.go_on()

    def fail_in_fence(self, slot: int, partition: int, failures: int, by_admin: bool) -> None:
        old, at = self.with_record(slot, partition)
        new = self.slot(old + 1)
        if by_admin:
            self.call("fence")
        elif not self.did("init", slot=new):
            self.call("restart_client", slot=new)
            self.call("init", slot=new)
        for _ in range(failures):
            self.deliver_first("init")
            self.call("log_append", value=0)
            self.pump(without=("init",))
            self.call("advance", value=BACKOFF_MS)
        self.call("send", slot=old, partition=at)
        self.go_on()

    def use_up_epochs(self, slot: int, partition: int, commit: bool, disturbed: int, time_out: bool) -> None:
        """``disturbed``: in which of the transactions the time is up before its owner ends it, which tries all the
        same; or else the coordinator moves while it ends."""
        for number in range(4 if self.run.config["max_epoch"] < BURST else 1):
            slot, _ = self.with_record(slot, partition)
            if number == disturbed and time_out:
                self.call("advance", value=TIME_OUT_MS + CHECK_MS)
                self.pump()
            self.end(slot, commit)
            if number == disturbed and not time_out:
                self.deliver_first("end")
                self.call("log_append")
                self.call("fail_over")
            self.go_on()
            if self.run.config["mode"] != "v2":
                self.call("restart_client", slot=slot)

    def end_twice(self, slot: int, partition: int, send: bool) -> None:
        """The next transaction is ended while the markers of the one before are still under way."""
        slot, at = self.with_record(slot, partition)
        self.call("commit", slot=slot)
        self.deliver_first("end")
        self.call("log_append")
        self.deliver_first("end_answer")
        self.call("begin", slot=slot)
        if send:
            self.call("send", slot=slot, partition=at)
            self.deliver_first("produce")
            self.deliver_first("check")
        self.call("abort", slot=slot)
        self.deliver_first("end")
        self.deliver_first("end_answer")
        self.go_on()

    def overtake_verification(self, slot: int, partition: int, again: int) -> None:
        """The coordinator's answer to a leader is under way when the transaction is aborted.  ``again``: the next
        transaction is verified, or not yet, when it arrives."""
        slot, at = self.opened(slot), self.partition(partition)
        self.call("send", slot=slot, partition=at)
        self.pump(without=("check_answer",))
        answer = self.first("check_answer")
        spare = frozenset() if answer is None else frozenset({answer[0]})
        self.call("abort", slot=slot)
        self.go_on(spare)
        if again:
            self.opened(slot, spare)
            self.call("send", slot=slot, partition=at)
            self.pump(without=("check",) if again == 1 else ("check_answer",))
        if answer is not None:
            self.send(answer)
        self.go_on()

    def fail_over_in_prepare(self, slot: int, partition: int, commit: bool, moment: int, durable: bool) -> None:
        """``moment``: EndTxn has arrived, its record is durable, a marker is written, all markers are; or its record is
        durable, and the newest markers arrive before the older ones."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot=slot, partition=self.partition(at + 1))
        self.pump()
        self.end(slot, commit)
        self.deliver_first("end")
        if moment > 0:
            self.call("log_append")
        if moment in (2, 3):
            self.deliver_first("marker")
        if moment == 3:
            self.pump(without=("end_answer",))
        self.call("fail_over", value=int(durable))
        for message in reversed([m for m in self.flying() if m[1] == "marker"] if moment == 4 else []):
            self.send(message)
        self.go_on()
        self.call("advance", value=TIME_OUT_MS // 2)
        self.go_on()

    def lose_marker(self, slot: int, partition: int, commit: bool, lost: str) -> None:
        slot, at = self.with_record(slot, partition)
        self.call("send", slot=slot, partition=self.partition(at + 1))
        self.pump()
        self.end(slot, commit)
        self.pump(without=("marker", "marker_answer"))
        if lost == "marker_answer":
            self.deliver_first("marker")
        self.deliver_first(lost, name="drop")
        self.pump(without=("marker",))
        self.deliver_first("marker")
        self.pump(without=("marker",))
        self.call("advance", value=TIME_OUT_MS // 2)
        self.read(at)
        self.go_on()

    def read_while_open(self, slot: int, partition: int, commit: bool, moment: int) -> None:
        slot, at = self.with_record(slot, partition)
        self.read(at)
        self.end(slot, commit)
        if moment:
            self.deliver_first("end")
            self.call("log_append")
            self.deliver_first("end_answer")
            self.read(at)
        self.go_on()
        self.read(at)

    def retry_unanswered(self, slot: int, partition: int, sent: int) -> None:
        """Records were written, and nobody knows: they are sent again."""
        slot, at = self.with_record(slot, partition)
        for _ in range(sent):
            self.call("send", slot=slot, partition=at)
        self.pump(without=("produce_answer",))
        while self.deliver_first("produce_answer", name="drop") and not self.run.over:
            pass
        self.call("advance", value=TIME_OUT_MS // 2)
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()

    def abort_unanswered(self, slot: int, partition: int, sent: int, written: bool, lose_init: bool) -> None:
        """Records may have been written, and nobody knows; or they come late, when the next transaction has begun.
        ``lose_init``: the answer to the request for another epoch, if there is one, is lost as well."""
        slot, at = self.opened(slot), self.partition(partition)
        for _ in range(sent):
            self.call("send", slot=slot, partition=at)
        self.pump(without=("produce_answer",) if written else ("produce",))
        while self.deliver_first("produce_answer", name="drop") and not self.run.over:
            pass
        late = frozenset(m[0] for m in self.flying() if m[1] == "produce")
        self.call("abort", slot=slot)
        if lose_init:
            self.pump(spare=late)
            self.call("advance", value=BACKOFF_MS)
            self.pump(without=("init_answer",), spare=late)
            self.deliver_first("init_answer", name="drop")
            self.call("advance", value=TIME_OUT_MS // 2)
        self.go_on(late)
        self.opened(slot, late)
        for _ in range(sent):
            self.call("send", slot=slot, partition=at)
        self.pump(without=("produce",))
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()

    def overtake_records(self, slot: int, partition: int, sent: int) -> None:
        """The last record of a new transaction arrives first."""
        slot, at = self.with_record(slot, partition)
        self.end(slot, commit=True)
        self.go_on()
        self.opened(slot)
        for _ in range(sent):
            self.call("send", slot=slot, partition=at)
        self.pump(without=("produce",))
        for message in reversed([m for m in self.flying() if m[1] == "produce"]):
            self.send(message)
        self.go_on()
        self.end(slot, commit=True)
        self.go_on()

    def expire(self, slot: int, partition: int) -> None:
        """Nobody does anything until the id is forgotten; then the producer goes on."""
        slot = self.opened(slot)
        self.end(slot, commit=True)
        self.go_on()
        self.call("advance", value=EXPIRY_MS)
        self.with_record(slot, partition)
        self.end(slot, commit=True)
        self.go_on()
