"""This module has scenarios on a cluster of transactions that does nothing by itself: appends that fail, fail-overs,
time."""

from typing import Annotated

from fencepost.properties.calls import Call as AnyCall
from fencepost.properties.driving import Made, Message
from fencepost.properties.machine import BURST, scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.interface import RESTARTS, Partition, Slot
from fencepost.properties.transactions.scenarios.shared import CHECK_MS, TIME_OUT_MS, Several
from fencepost.properties.transactions.scenarios.steps import BACKOFF_MS, FIRST_READER_AT_THE_END

CALLS = {
    "append_to_the_log": "log_append", "fail_over": "fail_over", "leader_changes": "change_leader", "wait": "advance",
}  # fmt: skip


class Driven(Several, steps=CALLS):
    """This machine drives a cluster that does nothing by itself."""

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
        """A producer uses up the epochs of its producer id. In the transaction numbered ``disturbed`` the time is up
        before its owner ends it, which tries all the same; or else the coordinator moves while it ends."""
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
        """The coordinator moves while a transaction ends. ``moment`` selects when: EndTxn has arrived, its record is
        durable, a marker is written, all markers are; or its record is durable, and the newest markers arrive before
        the older ones."""
        slot, at = self.with_record(slot, partition)
        self.write(slot, self.partition(at + 1))
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
        self.time_passes()

    @scenario
    def marker_again(
        self, slot: Slot, partition: Partition, commit: bool, lost: Annotated[str, OneOf("marker", "marker_answer")]
    ) -> None:
        slot, at = self.with_record(slot, partition)
        self.write(slot, self.partition(at + 1))
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
        """The cluster is idle until the transactional id is forgotten; then the producer goes on."""
        slot = self.opened(slot)
        self.finish(slot, commit=True)
        self.call("expire")
        self.with_record(slot, partition)
        self.finish(slot, commit=True)


# These scenarios are about a fence: what is under way across it, which producer goes on after it, and what fails
# meanwhile.
#
# A fence is a producer that asks for the id, an admin, or a time-out. A broker decides in few places about what the
# fenced producer sent, what it does next, and how the markers of two transactions affect one another, and single calls
# seldom reach these.

By = Annotated[str, OneOf("producer", "producer", "admin", "time")]
Across = Annotated[str, OneOf("producer", "producer", "admin", "time", "expiry")]
Then = Annotated[str, OneOf("", "", "leader", "restart")]
Trouble = Annotated[str, OneOf("append fails", "fail-over", "fail-over that loses", "twice fails")]
MOST_FAIL_OVERS = 12
SHORT = 8  # so few epochs can be used up


class Fenced(Driven, steps={}):
    """This machine drives a cluster whose producers are fenced in every way. ``settled`` counts how often the cluster
    was left alone; ``moved`` how often its coordinator has moved, for which the model has room `MOST_FAIL_OVERS` times.
    """

    settled = moved = 0

    def make(self, call: AnyCall) -> Made | None:
        if call.name == "fail_over":
            self.moved += 1
            if self.moved > MOST_FAIL_OVERS:
                return None
        return super().make(call)

    def fence_by(self, by: str, new: int) -> None:
        """Fence the present producer by an admin, another producer, time, or expiry of its id. Expiry is not used in
        v1, where a partition that has forgotten a producer accepts what it has sent before its fence."""
        if by == "expiry" and self.run.config["mode"] == "v1":
            by = "time"
        if by == "expiry":
            self.call("restart_client", self.slot(new))
            for _ in range(TIME_OUT_MS // CHECK_MS + 1):
                self.call("advance", CHECK_MS)
                self.deliver_all()
            self.call("expire", 1)
        elif by == "time" or (by == "admin" and self.lone):
            self.run_out_of_time()
        elif by == "admin":
            self.call("fence", new % self.ids)
        else:
            self.take_over(new)

    def sent_and_held(self, slot: int, partition: int, kind: str) -> Message | None:
        """Send a record, deliver all up to a message of this kind, and hold that message up."""
        self.call("send", slot, partition)
        self.deliver_all(without=(kind,))
        held = self.first(kind)
        self.hold(held)
        return held

    def looked_at(self, partition: int) -> None:
        self.read(partition)
        self.read(partition, committed=False)

    @scenario
    def left_alone(self) -> None:
        """Let the cluster settle and read everything, because what hangs now may be freed by the next transaction."""
        for partition in sorted(self.away):
            self.call("come_back", partition)
        self.settled += 1
        self.call("settle", FIRST_READER_AT_THE_END + 2 * self.settled)

    @scenario
    def held_across_a_fence(
        self,
        slot: Slot,
        partition: Partition,
        kind: Annotated[str, OneOf("produce", "produce", "add", "check", "end")],
        by: Across,
        first: bool,
        moment: Annotated[int, Between(0, 3)],
        commit: bool,
        then: Then = "",
    ) -> None:
        """The fenced producer's message is in flight across the fence, and is the ``first`` that the partition gets
        from it, or not.

        ``moment`` selects when it arrives: the fence is under way, is over, the next producer has a transaction on that
        partition, or that one has ended. With ``then``, when the fence is over, the partition has another leader, or
        the same one restarts.
        """
        old, at = self.opened(slot), self.partition(partition)
        if not first:
            self.write(old, at)
        if kind == "end" and self.late:  # in v1 it decides the next transaction (KAFKA-17754)
            self.write(old, at)
            self.end(old, commit)
            held = self.first("end")
            self.hold(held)
        else:
            held = self.sent_and_held(old, at, kind)
        new = self.rival(old)
        self.fence_by(by, new)
        if moment == 0:
            self.deliver_all(without=("marker_answer",))
            self.release(held)
        self.go_on()
        if then:
            self.call("change_leader", at, restart=then == "restart")
        if moment == 1:
            self.release(held)
            self.go_on()
        if new != old:
            self.with_record(new, at)
        if moment == 2:
            self.release(held)
            self.deliver_all()
        self.looked_at(at)
        self.finish(new, commit)
        if moment == 3:
            self.release(held)
        self.go_on()
        self.looked_at(at)

    @scenario(when=lambda self: False)  # it is played in every other cluster of v1 (`Lives.begin`)
    def first_record_of_the_fenced(
        self, slot: Slot, partition: Partition, by: Annotated[str, OneOf("producer", "admin")],
        moment: Annotated[int, Between(0, 1)], then: Then,
    ) -> None:  # fmt: skip
        """A partition that knows nothing of a producer learns of its fence by a marker alone."""
        self.held_across_a_fence(slot, partition, "produce", by, True, moment, True, then)

    @scenario
    def fenced_goes_on_elsewhere(
        self, slot: Slot, partition: Partition, by: By, rival: bool, commits: tuple[bool, bool], there: bool = False,
        then: Then = "",
    ) -> None:  # fmt: skip
        """An owner that is out of time or fenced, and does not know of it, goes on in another partition, perhaps while
        a ``rival`` has a transaction on the one where it was. With ``there`` it goes on where it was, perhaps with
        another leader, or after a restart."""
        old, at = self.with_record(slot, partition)
        elsewhere, new = at if there else self.partition(at + 1), self.rival(old)
        self.fence_by(by, new)
        self.go_on()
        if then:
            self.call("change_leader", elsewhere, restart=then == "restart")
        if rival and new != old:
            self.with_record(new, at)
        self.write(old, elsewhere)
        self.looked_at(elsewhere)
        if rival and new != old:
            self.end(new, commits[0])
            self.deliver_all()
        self.finish(old, commits[1])
        self.looked_at(elsewhere)

    @scenario
    def markers_cross(
        self,
        slot: Slot,
        partition: Partition,
        kind: Annotated[str, OneOf("marker", "marker_answer")],
        moved: bool,
        commits: tuple[bool, bool],
        moment: Annotated[int, OneOf(0, 1, 2, 3, 3, 4)],
        restarted: bool = False,
    ) -> None:
        """Markers are sent twice, because the coordinator moves while a transaction ends, or gets no answer for so long
        that it asks again; the older marker, or its answer, is held up.

        ``moment`` selects when it arrives: the next transaction is open, is being ended, before its marker or after it,
        in place of its marker, which is lost, or when it has ended. With ``restarted`` the leader restarts in between,
        and knows of markers by its log alone.
        """
        slot, at = self.with_record(slot, partition)
        self.end(slot, commits[0])
        self.send_first("end")
        self.call("log_append")
        if kind == "marker_answer":
            self.send_first("marker")
        held = self.first(kind)
        self.hold(held)
        if moved or (kind == "marker" and not self.late):  # v1 takes it for the marker of the next transaction
            self.call("fail_over")
        else:
            self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        if restarted and self.can(RESTARTS):
            self.call("change_leader", at, restart=True)
        slot, at = self.with_record(slot, at)
        if self.partition(at + 1) != at:
            self.write(slot, self.partition(at + 1))
        if moment == 0:
            self.release(held)
            self.looked_at(at)
        self.end(slot, commits[1])
        self.send_first("end")
        self.call("log_append")
        if moment == 1:
            self.release(held)
            self.deliver_all(without=("marker", "marker_answer"))
        if moment == 2:
            self.send_first("marker")
            self.release(held)
        if moment == 3:
            for marker in self.waiting("marker", "", f"partition-{at}"):
                self.send(marker, "drop")
            self.release(held)
        self.go_on()
        self.release(held)
        self.go_on()
        if moment == 3:  # a partition that still waits for its marker would get the next one
            self.left_alone()
        else:
            self.looked_at(at)

    @scenario(when=lambda self: False)  # it is played in every cluster of v1 (`Lives.begin`)
    def marker_of_the_former(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(0, 2)],
        restarted: bool, answer: Annotated[bool, OneOf(False, False, True)],
    ) -> None:  # fmt: skip
        """A coordinator's marker arrives after the next coordinator has sent its own; only the coordinator epochs
        distinguish the two where the producer epoch is the same. With ``answer``, the answer to a marker of the
        transaction before arrives in place of one."""
        if answer:
            self.markers_cross(slot, partition, "marker_answer", False, commits, 3)
        else:
            self.markers_cross(slot, partition, "marker", True, commits, moment, restarted)

    @scenario(when=lambda self: False)  # these three are played in every third cluster of v2 (`Lives.begin`)
    def marker_of_the_same_epoch(
        self, slot: Slot, partition: Partition, commits: bool, moment: Annotated[int, Between(1, 2)]
    ) -> None:
        """A marker arrives again while the next transaction, which has the epoch of the marker, ends with the other
        outcome."""
        self.markers_cross(slot, partition, "marker", False, (commits, not commits), moment)

    @scenario(when=lambda self: False)
    def completion_not_recorded(self, slot: Slot, partition: Partition, commit: bool) -> None:
        """Every marker is written, and the Complete record of the log is not, at first."""
        slot, _ = self.with_record(slot, partition)
        self.end(slot, commit)
        self.deliver_all(without=("marker_answer",))
        self.send_first("marker_answer")
        self.call("log_append", ok=False)
        self.left_alone()

    @scenario(when=lambda self: False)
    def offset_changes_hands(self, slot: Slot, commit: bool, restart: bool) -> None:
        """The offsets partition of a group gets another leader, or its leader restarts, while offsets are pending
        there."""
        slot, at = self.with_record(slot, int(self.run.config["partitions"]))
        self.call("change_leader", at, restart=restart and self.can(RESTARTS))
        self.finish(slot, commit)
        self.looked_at(at)

    @scenario
    def verification_overtaken(
        self, slot: Slot, partition: Partition, again: Annotated[int, Between(0, 2)],
        kind: Annotated[str, OneOf("check_answer", "check_answer", "produce")], commit: bool,
    ) -> None:  # fmt: skip
        """A record, or the coordinator's answer to its leader, is under way when its transaction is aborted. ``again``
        selects whether the next transaction is verified when the answer arrives. The record arrives before its
        producer, which has no answer for it, has the next epoch."""
        slot, at = self.opened(slot), self.partition(partition)
        self.call("send", slot, at)
        self.deliver_all(without=(kind,))
        held = self.first(kind)
        self.hold(held)
        self.call("abort", slot)
        if kind == "produce":
            self.deliver_all(without=("init",))
            self.release(held)
            self.deliver_all(without=("init",))
            self.left_alone()
        self.go_on()
        if again:
            self.opened(slot)
            self.call("send", slot, at)
            self.let_go()
            self.deliver_all(without=("check",) if again == 1 else ("check_answer",))
        self.release(held)
        self.go_on()
        if again:
            self.finish(slot, commit)
        self.read(at)

    @scenario
    def forgotten_in_between(
        self,
        slot: Slot,
        partition: Partition,
        what: Annotated[str, OneOf("leader", "coordinator", "time", "leader and coordinator")],
        sent: Annotated[int, Between(1, 3)],
        commit: bool,
    ) -> None:
        """The memory of a leader or a coordinator is lost while a transaction is under way, or long after one has
        ended, when ids have been forgotten; its owner goes on."""
        slot, at = self.with_record(slot, partition)
        if what == "time":
            self.finish(slot, commit)
            self.call("expire")
            self.call("begin", slot)
        held = self.sent_and_held(slot, at, "produce")
        if "leader" in what:
            self.call("change_leader", at)
        if "coordinator" in what:
            self.call("fail_over")
        self.release(held)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all()
        self.looked_at(at)
        self.end(slot, commit)
        if "leader" in what:
            self.send_first("end")
            self.call("log_append")
            self.call("change_leader", at)
        self.go_on()
        self.looked_at(at)

    @scenario
    def fence_in_trouble(
        self, slot: Slot, partition: Partition, by: By, trouble: Trouble, commits: tuple[bool, bool], ends_first: bool
    ) -> None:
        """The append of a fence fails, or the coordinator moves before it is durable; the old producer goes on, perhaps
        by ending its transaction first, and the new one tries again."""
        old, at = self.with_record(slot, partition)
        new = self.rival(old)
        self.fence_by(by, new)
        self.send_first("init")
        if trouble.endswith("fails"):
            for _ in range(2 if trouble == "twice fails" else 1):
                self.call("log_append", ok=False)
                self.deliver_all(without=("init",))
                self.call("advance", BACKOFF_MS)
                self.send_first("init")
        else:
            self.call("fail_over", trouble == "fail-over")
        if ends_first:
            self.end(old, commits[0])
            self.send_first("end")
        self.call("send", old, at)
        self.go_on()
        if not ends_first:
            self.finish(old, commits[0])
        if new != old:
            self.with_record(new, at)
            self.finish(new, commits[1])
        self.looked_at(at)

    @scenario
    def answer_of_init_lost(self, slot: Slot, partition: Partition, moved: bool, rival: bool, commit: bool) -> None:
        """A producer does not get the answer to its InitProducerId and asks again, perhaps when another one has asked
        in between (``rival``), or the coordinator has moved."""
        slot = self.slot(slot)
        self.renew(slot)
        self.deliver_all(without=("init_answer",))
        self.send_first("init_answer", name="drop")
        if moved:
            self.call("fail_over")
        if rival:
            self.take_over(self.rival(slot))
            self.go_on()
        self.time_passes()
        slot, at = self.with_record(slot, partition)
        self.finish(slot, commit)
        self.looked_at(at)

    @scenario(when=lambda self: self.run.config["max_epoch"] < SHORT)
    def fence_at_the_last_epoch(
        self,
        slot: Slot,
        partition: Partition,
        by: By,
        left: Annotated[int, OneOf(0, 0, 1, 2)],
        commits: tuple[bool, bool],
    ) -> None:
        """Producers take over from one another until few epochs are ``left``, or none; the last of them is fenced with
        a transaction open, and goes on."""
        old = self.slot(slot)
        for _ in range(int(self.run.config["max_epoch"]) - left):
            self.renew(old)
            self.go_on()
        old, at = self.with_record(old, partition)
        new = self.rival(old)
        self.fence_by(by, new)
        self.deliver_all(most=BURST)
        self.write(old, at)
        self.go_on()
        self.finish(old, commits[0])
        if new != old:
            self.with_record(new, at)
            self.write(old, at)
            self.end(new, commits[1])
        self.go_on()
        self.looked_at(at)
