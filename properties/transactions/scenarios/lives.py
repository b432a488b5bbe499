"""A transaction's life, step by step, with one thing that goes wrong at any of its moments; and what comes after it.

The other scenarios know where the mistakes are; here every moment is as likely, and what can go wrong at it: so what
has a name of its own elsewhere is come to from all sides.
"""

from random import Random
from typing import Annotated, Any

from fencepost.properties.driving import Message
from fencepost.properties.machine import BURST, scenario
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.driving.interface import RESTARTS, Partition, Slot
from fencepost.properties.transactions.scenarios.fenced import Fenced
from fencepost.properties.transactions.scenarios.shared import CHECK_MS, TIME_OUT_MS

FIRST = 4
"""So many lives are tried in every example before anything else, when little is open and few have asked; after each of
them another scenario."""
APPEND = (
    "append fails", "append fails", "append fails twice", "fail-over", "fail-over that loses", "rival", "time",
    "time, and its append fails",
)  # fmt: skip
MESSAGE = (
    "loss", "loss", "copy", "delay", "fail-over", "rival", "admin", "time", "time, and its append fails",
)  # fmt: skip
OF_A_MODE = {
    "v1": (("marker_of_the_former", "first_record_of_the_fenced"), ("zombie_asks_for_the_next_epoch",)),
    "v1-verified": (("verification_overtaken",),),
    "v2": (("answers_lost",), ("marker_of_the_same_epoch", "completion_not_recorded", "offset_changes_hands")),
}
"""One of each group comes in every example: where coordinators are told apart by their epochs alone, a fence goes to
partitions that know nothing, and producers ask for their next epochs; where leaders only ask; and where a producer
sends again what it may, and a marker has the epoch of the transaction that comes next."""
AT_THE_PARTITION = frozenset({"produce", "produce_answer", "check", "check_answer", "marker", "marker_answer"})
"""Messages at whose moments the partition's leader may change."""
UNTIL = Annotated[str, OneOf("next is open", "next is open", "next has ended", "long after")]
SELDOM = Annotated[bool, OneOf(False, False, False, True)]
ENDING = Annotated[str, OneOf("commit", "commit", "abort", "left")]


class Lives(Fenced, steps={}):
    """``to_fail``: of the appends that come, so many fail; ``next_is``: what becomes of the next message; ``delayed``:
    what is held up until later."""

    apart = True
    to_fail = 0
    next_is = ""
    delayed: Message | None = None

    def begin(self, drawn: tuple[Any, ...]) -> None:
        super().begin(drawn)
        random = Random(self.chance)
        for _ in range(FIRST if self.chance else 0):
            self.play_one(random.getrandbits(64), "life")
            self.play_one(random.getrandbits(64), *self.playable())
        for names in OF_A_MODE[self.run.config["mode"]] if self.chance else ():
            self.play_one(random.getrandbits(64), *names)

    def otherwise(self) -> bool:
        if self.to_fail and self.did("log_append", ok=False):
            self.to_fail -= 1
            return True
        return super().otherwise()

    @scenario
    def life(
        self, slot: Slot, partition: Partition, moment: Annotated[int, Between(0, 15)],
        fault: Annotated[int, Between(0, 2**16)], ending: ENDING, until: UNTIL, wide: bool, beside: bool, anew: bool,
        moved: SELDOM,
    ) -> None:  # fmt: skip
        """A producer asks for the id, if it has to, and one transaction goes its way until its ``ending``; after so
        many steps something goes wrong, of all that can at that ``moment``.  Then comes another transaction, of the
        same producer or of one that begins ``anew``.

        ``wide``: of two partitions; ``beside``: another id has a transaction there meanwhile; ``moved``: the
        coordinator moves before the end; ``until``: what is late is held up so long."""
        one, at = self.slot(slot), self.partition(partition)
        left = self._steps(moment, fault, one, at) if self.did("init", one) else moment
        own = [one, *([self.opened(self.stranger(one))] if beside and self.ids > 1 else [])]
        if left < 0:
            self.go_on()
        for each in own:
            self.opened(each)
            self.call("send", each, at)
            if wide:
                self.call("send", each, self.partition(at + 1))
        left = self._steps(left, fault, one, at)
        if left < 0:
            self.go_on()
        if moved:
            self.call("fail_over")
        if ending == "left":
            self.left_alone()
            self.call("send", one, at)
        else:
            for each in own:
                self.end(each, commit=ending == "commit")
            self._steps(left, fault, one, at)
        self._after(one, at, until, anew)

    @scenario(when=lambda self: self.run.config["mode"] == "v1")  # elsewhere leaders add, and ask again
    def added_again_and_moved(self, slot: Slot, partition: Partition, ending: ENDING, moved: bool) -> None:
        """A transaction's next partition is added, and that append fails; it is asked for again, and the coordinator
        moves, with what it has read of its log, before the end."""
        one, at = self.with_record(slot, partition)
        elsewhere = self.partition(at + 1)
        self.call("send", one, elsewhere)
        self.to_fail = 1
        self.go_on()
        self.to_fail = 0
        if moved:
            self.call("fail_over")
        if ending == "left":
            self.left_alone()
        else:
            self.end(one, commit=ending == "commit")
        self.go_on()
        self.looked_at(elsewhere)

    def _after(self, one: int, at: int, until: str, anew: bool) -> None:
        """What is lost is asked for again; and then comes the next one."""
        self.go_on()
        self.call("advance", TIME_OUT_MS // 2)
        self.go_on()
        self.to_fail, self.next_is = 0, ""
        if until == "long after" and self.delayed is not None and self.run.config["mode"] != "v1":
            self.call("expire", 1)
            self.go_on()
        if anew:
            self.waits(one)
            one = self.rival(one)
            self.call("restart_client", one)
            self.call("init", one)
            self.go_on()
        if until == "long after":
            self.release(self.delayed)
        one, at = self.with_record(one, at)
        if until == "next is open":
            self.release(self.delayed)
            self.go_on()
            self.looked_at(at)
        self.end(one, commit=True)
        self.go_on()
        self.release(self.delayed)
        self.delayed = None
        self.go_on()
        self.looked_at(at)

    def _steps(self, left: int, fault: int, slot: int, at: int) -> int:
        """Messages arrive and appends succeed, one by one, until there is nothing to do; the fault comes after ``left``
        of them.  How many are left now; less than none once it has come."""
        for _ in range(BURST):
            message = next((m for m in self.waiting() if m[0] not in self.held), None)
            if left == 0:
                self._goes_wrong(fault, message, slot, at)
                message = next((m for m in self.waiting() if m[0] not in self.held), None)
            left -= 1
            if message is None:
                if not self.otherwise():
                    return left + 1 if left >= 0 else -1
            elif self.next_is:
                self._arrives_not(message)
            else:
                self.send(message)
        return left

    def _goes_wrong(self, fault: int, message: Message | None, slot: int, at: int) -> None:
        """One of the things that can go wrong at this moment."""
        if message is None:
            choices = APPEND
        else:
            leader = ("leader", *(("restart",) if self.can(RESTARTS) else ()))
            choices = (*MESSAGE, *(leader if message[1] in AT_THE_PARTITION else ()))
        what = choices[fault % len(choices)]
        new = self.rival(slot)
        if what.startswith("append fails"):
            self.to_fail = 2 if what.endswith("twice") else 1
        elif what.startswith("fail-over"):
            self.call("fail_over", what == "fail-over")
        elif what in ("leader", "restart"):
            self.call("change_leader", at, restart=what == "restart")
        elif what.startswith("time"):
            self.to_fail = int(what.endswith("fails"))
            self.call("advance", TIME_OUT_MS + CHECK_MS)
        elif what == "admin" and new != slot:
            self.call("fence", slot % self.ids)
        elif what in ("rival", "admin"):
            self.call("restart_client", new)
            self.call("init", new)
        else:
            self.next_is = what

    def _arrives_not(self, message: Message) -> None:
        """The next message is lost, or a copy of it stays under way, or all of it: in v1 they break what they should
        not, and in half of its examples there are none."""
        what, self.next_is = self.next_is if self.late else "loss", ""
        if what == "loss":
            self.send(message, "drop")
        elif what == "copy":
            self.send(message, keep=True)
            self.delayed = message
            self.hold(message)
        else:
            self.delayed = message
            self.hold(message)
