"""This module has scenarios on transactions that any driver can play: with a cluster that does nothing by itself
(`driven`), or with brokers that act by themselves (`remote`).

Each creates one situation from whatever state the cluster is in, with a choice or two left open. Messages that are
still under way may be delivered by the next scenario, or be lost.
"""

from typing import Annotated, ClassVar

from fencepost.properties.machine import scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.interface import AWAY, UNCLEAN, Partition, Slot, Waiting
from fencepost.properties.transactions.scenarios.steps import BACKOFF_MS, Answers

TIME_OUT_MS, CHECK_MS = 60_000, 10_000
CALLS = {
    "client_initializes": "init", "client_begins": "begin", "client_sends": "send",
    "client_restarts": "restart_client", "lose": "drop",
}  # fmt: skip


class Shared(Answers, steps=CALLS):
    """This machine plays the scenarios that any driver can play. ``MOST_FENCES`` limits the fences by admins in an
    example, because several at once make each other wait."""

    MOST_FENCES: ClassVar[int]
    fences = 0

    @property
    def times_out(self) -> bool:
        return True

    def time_passes(self) -> None:
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()

    def run_out_of_time(self) -> None:
        for _ in range(TIME_OUT_MS // CHECK_MS + 1):
            self.call("advance", CHECK_MS)

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
        """A transaction is carried out without a disturbance."""
        slot = self.opened(slot)
        for partition in sends:
            self.call("send", slot, self.partition(partition))
        self.deliver_all()
        self.finish(slot, commit)

    @scenario(when=lambda self: not self.lone)
    def zombie(self, slot: Slot, partition: Partition, ask: Annotated[int, Between(0, 3)], commit: bool) -> None:
        """The next producer takes over while a transaction is open; the old one goes on as if nothing had happened.
        ``ask`` selects whether an admin fences, or a producer asks for the id and then has a transaction on the same
        partition or on the next."""
        old, at = self.with_record(slot, partition)
        new = self.rival(old)
        if ask == 0:
            self.call("fence", old % self.ids)
        else:
            self.take_over(new)
        self.go_on()
        if ask > 1:
            self.with_record(new, at if ask == 2 else at + 1)
        self.write(old, at)
        self.end(old, commit)
        self.deliver_all()
        if ask > 1:
            self.finish(new, commit=True)

    def copy_in_next(self, slot: int, partition: int, kind: str, commits: tuple[bool, bool], moment: int) -> None:
        """A copy of a message arrives in the next transaction; ``moment`` selects when: it is begun, has a record, has
        two, is about to end, or is being ended."""
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
            copy = self.stored_copy(kind, commits[0], slot)
            self.go_on()
            self.call("begin", slot)
        for sent in range(2 if moment in (2, 3) else min(moment, 1)):
            self.write(slot, at + sent if self.partition(at + sent) == at + sent else at)
        if moment > 2:
            self.end(slot, commits[1])
        if moment > 3:
            self.send_first("end")
            self.call("log_append")
        self.release(copy)
        if moment > 3:
            self.call("log_append")
        self.read_on(at)
        self.write(slot, at)
        self.finish(slot, commits[1])

    @scenario(when=lambda self: self.late)
    def late_copy(
        self,
        slot: Slot,
        partition: Partition,
        kind: Annotated[str, OneOf("produce", "marker", "add", "init")],
        commits: tuple[bool, bool],
        moment: Annotated[int, Between(0, 4)],
    ) -> None:
        """A copy of a message arrives when the next transaction has begun."""
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
        """The EndTxn of one transaction decides the next (KAFKA-17754)."""
        self.copy_in_next(slot, partition, "end", commits, moment)

    @scenario(when=lambda self: self.times_out)
    def commit_races_time_out(self, slot: Slot, partition: Partition, order: Annotated[int, Between(0, 3)]) -> None:
        """A transaction times out while its owner ends it; ``order`` selects which is first. The end of another
        transaction is tried, too."""
        slot, _ = self.with_record(slot, partition)
        if order < 2:
            self.call("commit", slot)
        if order == 0:
            self.send_first("end")  # its append is under way when the time is up
        self.run_out_of_time()
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
        self.read_on(at)

    @scenario
    def give_up_unanswered(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 7)], written: bool, lose_init: bool
    ) -> None:
        """Records may have been written, but their answers are lost, or the records arrive late, when the next
        transaction has begun. With ``lose_init`` the answer to the request for another epoch, if there is one, is lost
        as well."""
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
        self.finish(slot, commit=True)

    @scenario
    def records_overtaken(self, slot: Slot, partition: Partition, sent: Annotated[int, Between(2, 3)]) -> None:
        """The last record of a new transaction arrives before the other records."""
        slot, at = self.with_record(slot, partition)
        self.finish(slot, commit=True)
        self.opened(slot)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce",))
        for message in reversed(self.waiting("produce")):
            self.send(message)
        self.go_on()
        self.finish(slot, commit=True)

    @scenario
    def answers_lost(self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 6)]) -> None:
        """Records were written and their answers are lost, so that the producer sends them again."""
        slot, at = self.with_record(slot, partition)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce_answer",))
        while self.send_first("produce_answer", name="drop") and not self.run.over:
            pass
        self.time_passes()
        self.finish(slot, commit=True)


# These scenarios need what a cluster may have several of: transactional ids at work in one partition, pieces in which
# readers fetch, groups in one transaction; and partitions that forget, restart, or are away.
#
# An implementation that lacks one of these is not asked for it (`interface.ABILITIES`).

Offset = Annotated[int, Between(0, 6)]
Most = Annotated[int, Between(1, 3)]
Chance = Annotated[int, Between(0, 2**64 - 1)]


class Several(Shared, steps={}):
    """This machine drives a cluster in which the driver decides everything."""

    @scenario(when=lambda self: self.ids > 1)
    def ids_side_by_side(self, chance: Chance) -> None:
        """Play one of the scenarios with two transactional ids; together they are as likely as any other."""
        self.play_one(chance, "ids_cross", "ids_cross", "coordinator_has_several", "only_one_is_fenced")

    def at_the_end(self) -> None:
        """Play one scenario with two transactional ids in an example that has several, and one with a partition in
        trouble in any other example."""
        self.let_go()
        self.go_on()
        if self.ids == 1:
            self.play_one(self.chance, *self.troubles)
        else:
            self.play_one(self.chance, "ids_cross", "ids_cross", "coordinator_has_several", "only_one_is_fenced")

    @scenario
    def partition_in_trouble(self, chance: Chance) -> None:
        """Play one of the scenarios with a partition that restarts, forgets, or is away."""
        self.play_one(chance, *self.troubles)

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return the scenarios with a partition in trouble that the implementation can be asked for."""
        unclean = ("unclean_election",) * 3 if self.can(UNCLEAN) and self.run.config.get("unclean_elections") else ()
        return (
            "leader_restarts",
            "producers_are_forgotten",
            *(("partition_is_away",) if self.can(AWAY) else ()),
            *unclean,
        )

    @scenario
    def reader_takes_pieces(self, partition: Partition, most: Most, offset: Offset) -> None:
        self.in_pieces(partition % int(self.run.config["partitions"]), most, offset)

    def ids_cross(
        self,
        slot: Slot,
        partition: Partition,
        turns: Annotated[int, Between(0, 15)],
        commits: tuple[bool, bool],
        first_ends_first: bool,
        most: Most,
        lost: bool = False,
    ) -> None:
        """Transactions of two transactional ids are open in one partition at once, and end one after the other; one
        reader follows, others read in pieces afterwards. The bits of ``turns`` select whose further records are next.
        With ``lost`` the first marker does not arrive, and the next one does before it is sent again."""
        one = self.opened(slot)
        other = self.opened(self.stranger(one))
        at = self.partition(partition)
        for own in (one, other, *((one, other)[turns >> bit & 1] for bit in range(3))):
            self.write(own, at)
        self.read(at)
        ending = ((one, commits[0]), (other, commits[1]))
        for own, commit in ending if first_ends_first else reversed(ending):
            self.end(own, commit)
            if lost:
                self.deliver_all(without=("marker",))
                self.send_first("marker", name="drop")
                lost = False
            else:
                self.read_on(at)
        if at < int(self.run.config["partitions"]):
            self.in_pieces(at, most)
            self.in_pieces(at, most, most)

    def coordinator_has_several(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(0, 3)],
        durable: bool,
    ) -> None:  # fmt: skip
        """Another node takes over while transactions of two transactional ids are under way. ``moment`` selects when:
        both are open; the end of one is under way to the log, or is there; or both are over."""
        one, at = self.with_record(slot, partition)
        other, _ = self.with_record(self.stranger(one), at)
        if moment > 0:
            self.end(one, commits[0])
            self.send_first("end")
        if moment > 1:
            self.call("log_append")
        if moment > 2:
            self.finish(other, commits[1])
        self.call("fail_over", durable)
        self.go_on()
        for own, commit in ((one, commits[0]), (other, commits[1])):
            self.end(own, commit)
        self.go_on()
        for own in (one, other):
            self.with_record(own, at)
            self.end(own, commit=True)
        self.read_on(at)

    def only_one_is_fenced(self, slot: Slot, partition: Partition, by_admin: bool, same: bool, time_out: bool) -> None:
        """A producer is fenced, or out of time, while one of another transactional id goes on, in the same partition if
        ``same``."""
        one, at = self.with_record(slot, partition)
        if time_out:
            self.call("advance", TIME_OUT_MS // 2)
        other, there = self.with_record(self.stranger(one), at if same else at + 1)
        if time_out:
            self.call("advance", TIME_OUT_MS // 2 + 10_000)
        elif by_admin:
            self.call("fence", one % self.ids)
        else:
            self.take_over(self.rival(one))
        self.go_on()
        self.write(other, there)
        self.finish(other, commit=True)
        self.read(there)
        self.finish(one, commit=True)

    @scenario
    def offsets_of_all_groups(self, slot: Slot, partition: Partition, commit: bool, again: bool) -> None:
        """A transaction has a record and the offsets of every group; the offsets are perhaps sent twice."""
        slot, _ = self.with_record(slot, partition)
        data, groups = int(self.run.config["partitions"]), int(self.run.config["groups"])
        for _ in range(2 if again else 1):
            for group in range(data, data + groups):
                self.call("send", slot, group)
            self.deliver_all()
        self.finish(slot, commit)
        for group in range(data, data + groups):
            for key in range(int(self.run.config.get("keys", 1))):
                self.call("fetch_offset", 0, group, key)

    def leader_restarts(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 5)], written: bool, commit: bool
    ) -> None:
        """A partition's leader restarts while records are on their way; their answers are lost, or the records are."""
        slot, at = self.with_record(slot, partition)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce_answer",) if written else ("produce",))
        self.call("change_leader", at, restart=True)
        while self.send_first("produce_answer" if written else "produce", name="drop") and not self.run.over:
            pass
        self.time_passes()
        self.finish(slot, commit)
        self.read(at)

    def producers_are_forgotten(
        self,
        slot: Slot,
        partition: Partition,
        commits: tuple[bool, bool],
        restart: bool,
        sent: Annotated[int, Between(1, 3)],
    ) -> None:
        """The cluster is idle until partitions forget their producers; the same one goes on, or a new one with
        its id."""
        slot, at = self.with_record(slot, partition)
        self.write(slot, at)
        self.finish(slot, commits[0])
        self.call("forget")
        if restart:
            self.call("change_leader", at, restart=True)
        slot, at = self.with_record(slot, at)
        for _ in range(sent):
            self.write(slot, at)
        self.finish(slot, commits[1])
        self.read(at)
        if at < int(self.run.config["partitions"]):
            self.in_pieces(at, 1)

    def unclean_election(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(0, 3)],
        lost: Annotated[int, Between(1, 3)], anew: bool, late: bool,
    ) -> None:  # fmt: skip
        """A replica that lacks the end of a partition's log leads it.

        ``moment`` selects when: while a transaction is open there, while its marker is on its way, or when it is over,
        and its marker may be lost; or a fence is what is lost. Then follows another transaction, of the same producer
        or of one that begins ``anew``; with ``late`` a record of the one before is on its way until then.
        """
        one, at = self.opened(slot), partition % int(self.run.config["partitions"])
        for place in (at, self.partition(at + 1)):
            self.call("send", one, place)
        self.deliver_all()
        if late:
            self.call("send", one, at)
            self.hold(self.first("produce"))
        if moment == 3:
            self.take_over(self.rival(one))
        elif moment:
            self.end(one, commits[0])
        self.deliver_all(without=("marker",) if moment == 1 else ())
        self.read(at)
        self.call("elect_unclean", at, lost)
        self.go_on()
        if anew:
            self.call("restart_client", one)
        one, _ = self.with_record(one, at)
        self.let_go()
        self.deliver_all()
        self.finish(one, commits[1])
        self.read(at)

    def partition_is_away(
        self, slot: Slot, partition: Partition, commit: bool, moment: Annotated[int, Between(0, 2)]
    ) -> None:
        """All replicas of a partition are down; ``moment`` selects since when: before its transaction ends, while its
        marker is on its way, or before a record arrives."""
        slot, at = self.opened(slot), self.partition(partition)
        self.call("send", slot, at)
        if moment < 2:
            self.deliver_all()
            self.write(slot, self.partition(at + 1))
            self.end(slot, commit)
        if moment == 1:
            self.deliver_all(without=("marker",))
        self.call("leave", at)
        self.deliver_all()
        self.call("advance", BACKOFF_MS)
        self.deliver_all()
        self.call("come_back", at)
        self.time_passes()
        if moment == 2:
            self.finish(slot, commit)
        self.read(at)
