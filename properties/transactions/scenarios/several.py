"""Scenarios with what a cluster may have several of: transactional ids at work in one partition, pieces in which
readers take what they wrote, groups in one transaction; and with partitions that forget, restart, or are away.

An implementation that lacks one of these is not asked for it (`interface.ABILITIES`).
"""

from typing import Annotated

from fencepost.properties.machine import scenario
from fencepost.properties.roles import Between
from fencepost.properties.transactions.driving.interface import AWAY, UNCLEAN, Partition, Slot
from fencepost.properties.transactions.driving.verbs import BACKOFF_MS
from fencepost.properties.transactions.scenarios.shared import TIME_OUT_MS, Shared

Offset = Annotated[int, Between(0, 6)]
Most = Annotated[int, Between(1, 3)]
Chance = Annotated[int, Between(0, 2**64 - 1)]


class Several(Shared, steps={}):
    """A cluster of which the driver decides everything."""

    @scenario(when=lambda self: self.ids > 1)
    def ids_side_by_side(self, chance: Chance) -> None:
        """One of the scenarios with two transactional ids: together they are no likelier than any other."""
        self.play_one(chance, "ids_cross", "ids_cross", "coordinator_has_several", "only_one_is_fenced")

    def at_the_end(self) -> None:
        """What two transactional ids do to one another is tried in every example that has them, and in every other one
        what a partition does that is in trouble."""
        self.let_go()
        self.go_on()
        if self.ids == 1:
            self.play_one(self.chance, *self.troubles)
        else:
            self.play_one(self.chance, "ids_cross", "ids_cross", "coordinator_has_several", "only_one_is_fenced")

    @scenario
    def partition_in_trouble(self, chance: Chance) -> None:
        """One of the scenarios with a partition that restarts, forgets, or is away."""
        self.play_one(chance, *self.troubles)

    @property
    def troubles(self) -> tuple[str, ...]:
        """The scenarios with a partition that the implementation can be asked for."""
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
        reader goes along, others come afterwards and take pieces.  ``turns``: by bit, whose further records come.
        ``lost``: the first marker does not arrive, and the next one does before it is sent again."""
        one = self.opened(slot)
        other = self.opened(self.stranger(one))
        at = self.partition(partition)
        for own in (one, other, *((one, other)[turns >> bit & 1] for bit in range(3))):
            self.call("send", own, at)
            self.deliver_all()
        self.read(at)
        ending = ((one, commits[0]), (other, commits[1]))
        for own, commit in ending if first_ends_first else reversed(ending):
            self.end(own, commit)
            if lost:
                self.deliver_all(without=("marker",))
                self.send_first("marker", name="drop")
                lost = False
            else:
                self.go_on()
                self.read(at)
        if at < int(self.run.config["partitions"]):
            self.in_pieces(at, most)
            self.in_pieces(at, most, most)

    def coordinator_has_several(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(0, 3)],
        durable: bool,
    ) -> None:  # fmt: skip
        """Another node takes over while transactions of two transactional ids are under way.  ``moment``: both are
        open; the end of one is under way to the log, or is there; or both are over."""
        one, at = self.with_record(slot, partition)
        other, _ = self.with_record(self.stranger(one), at)
        if moment > 0:
            self.end(one, commits[0])
            self.send_first("end")
        if moment > 1:
            self.call("log_append")
        if moment > 2:
            self.end(other, commits[1])
            self.go_on()
        self.call("fail_over", durable)
        self.go_on()
        for own, commit in ((one, commits[0]), (other, commits[1])):
            self.end(own, commit)
        self.go_on()
        for own in (one, other):
            self.with_record(own, at)
            self.end(own, commit=True)
        self.go_on()
        self.read(at)

    def only_one_is_fenced(self, slot: Slot, partition: Partition, by_admin: bool, same: bool, time_out: bool) -> None:
        """A producer is fenced, or out of time, while one of another transactional id goes on.  ``same``: in the same
        partition."""
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
        self.call("send", other, there)
        self.deliver_all()
        self.end(other, commit=True)
        self.go_on()
        self.read(there)
        self.end(one, commit=True)
        self.go_on()

    @scenario
    def offsets_of_all_groups(self, slot: Slot, partition: Partition, commit: bool, again: bool) -> None:
        """A transaction with a record and the offsets of every group; the offsets perhaps twice."""
        slot, _ = self.with_record(slot, partition)
        data, groups = int(self.run.config["partitions"]), int(self.run.config["groups"])
        for _ in range(2 if again else 1):
            for group in range(data, data + groups):
                self.call("send", slot, group)
            self.deliver_all()
        self.end(slot, commit)
        self.go_on()
        for group in range(data, data + groups):
            for key in range(int(self.run.config.get("keys", 1))):
                self.call("fetch_offset", 0, group, key)

    def leader_restarts(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 5)], written: bool, commit: bool
    ) -> None:
        """A partition's leader restarts while records are on their way; their answers are lost, or they are."""
        slot, at = self.with_record(slot, partition)
        for _ in range(sent):
            self.call("send", slot, at)
        self.deliver_all(without=("produce_answer",) if written else ("produce",))
        self.call("change_leader", at, restart=True)
        while self.send_first("produce_answer" if written else "produce", name="drop") and not self.run.over:
            pass
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        self.end(slot, commit)
        self.go_on()
        self.read(at)

    def producers_are_forgotten(
        self,
        slot: Slot,
        partition: Partition,
        commits: tuple[bool, bool],
        restart: bool,
        sent: Annotated[int, Between(1, 3)],
    ) -> None:
        """Nothing is done until partitions forget their producers; the same one goes on, or a new one with its id."""
        slot, at = self.with_record(slot, partition)
        self.call("send", slot, at)
        self.deliver_all()
        self.end(slot, commits[0])
        self.go_on()
        self.call("forget")
        if restart:
            self.call("change_leader", at, restart=True)
        slot, at = self.with_record(slot, at)
        for _ in range(sent):
            self.call("send", slot, at)
            self.deliver_all()
        self.end(slot, commits[1])
        self.go_on()
        self.read(at)
        if at < int(self.run.config["partitions"]):
            self.in_pieces(at, 1)

    def unclean_election(
        self, slot: Slot, partition: Partition, commits: tuple[bool, bool], moment: Annotated[int, Between(0, 3)],
        lost: Annotated[int, Between(1, 3)], anew: bool, late: bool,
    ) -> None:  # fmt: skip
        """A replica that lacks the end of a partition's log leads it.  ``moment``: while a transaction is open there,
        while its marker is on its way, or when it is over, and its marker may be lost; or a fence is what is lost.
        Then comes another transaction, of the same producer or of one that begins ``anew``; ``late``: a record of the
        one before is on its way until then."""
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
        self.end(one, commits[1])
        self.go_on()
        self.read(at)

    def partition_is_away(
        self, slot: Slot, partition: Partition, commit: bool, moment: Annotated[int, Between(0, 2)]
    ) -> None:
        """``moment``: all replicas of a partition are down before its transaction ends, while its marker is on its way,
        or before a record comes."""
        slot, at = self.opened(slot), self.partition(partition)
        self.call("send", slot, at)
        if moment < 2:
            self.deliver_all()
            self.call("send", slot, self.partition(at + 1))
            self.deliver_all()
            self.end(slot, commit)
        if moment == 1:
            self.deliver_all(without=("marker",))
        self.call("leave", at)
        self.deliver_all()
        self.call("advance", BACKOFF_MS)
        self.deliver_all()
        self.call("come_back", at)
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        if moment == 2:
            self.end(slot, commit)
            self.go_on()
        self.read(at)
