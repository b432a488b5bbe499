"""This module has long scenarios, scenarios over the wire, and the machines that play them.

A long scenario is a transaction's life, step by step, with one fault at any of its moments, and the next transaction.
The other scenarios aim at known mistakes; here every moment is equally likely, and so is each fault that is possible at
it.
"""

from dataclasses import replace
from random import Random
from typing import Annotated, Any, ClassVar

from fencepost.properties.calls import accepts
from fencepost.properties.conformance_spec import Agreeing
from fencepost.properties.driving import Made, Message, read
from fencepost.properties.machine import BURST, CHANCES, redrawn, scenario, variants
from fencepost.properties.roles import Between, OneOf
from fencepost.properties.transactions.interface import ABILITIES, ANYWHERE, PIECES, RESTARTS, Partition, Slot
from fencepost.properties.transactions.scenarios.fenced import Fenced
from fencepost.properties.transactions.scenarios.shared import CHECK_MS, TIME_OUT_MS, Shared
from fencepost.properties.transactions.scenarios.steps import Sized, Verbs
from hypothesis import strategies as st

FIRST = 4
"""`FIRST` lives are tried in every example before anything else, when little is open; another scenario follows each of
them."""
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
"""One scenario of each group is in every example. The groups are about: coordinators distinguished by their epochs
alone, fences of partitions that know nothing, and producers that ask for their next epochs; modes where leaders only
ask; and modes where a producer sends again what it may, and a marker has the epoch of the next transaction."""
AT_THE_PARTITION = frozenset({"produce", "produce_answer", "check", "check_answer", "marker", "marker_answer"})
"""`AT_THE_PARTITION` lists messages at whose moments the partition's leader may change."""
UNTIL = Annotated[str, OneOf("next is open", "next is open", "next has ended", "long after")]
SELDOM = Annotated[bool, OneOf(False, False, False, True)]
ENDING = Annotated[str, OneOf("commit", "commit", "abort", "left")]


class Lives(Fenced, steps={}):
    """This machine plays lives of transactions. ``to_fail`` is how many of the next appends fail; ``next_is`` what
    becomes of the next message; ``delayed`` has what is held up until later."""

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
        """A producer asks for the id, if it has to, and one transaction is carried through to its ``ending``, with one
        fault on the way, and then another transaction follows.

        After ``moment`` steps ``fault`` selects one of the faults that are possible there. The next transaction is of
        the same producer or of one that begins ``anew``. ``wide`` is whether it has two partitions; with ``beside``
        another id has a transaction there meanwhile; with ``moved`` the coordinator moves before the end; ``until`` is
        how long a late message is held up.
        """
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
        """The append that adds a transaction's next partition fails; the partition is added again, and the coordinator
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
        self.go_on()
        self.time_passes()
        self.to_fail, self.next_is = 0, ""
        if until == "long after" and self.delayed is not None and self.run.config["mode"] != "v1":
            self.call("expire", 1)
            self.go_on()
        if anew:
            self.waits(one)
            one = self.rival(one)
            self.renew(one)
            self.go_on()
        if until == "long after":
            self.release(self.delayed)
        one, at = self.with_record(one, at)
        if until == "next is open":
            self.release(self.delayed)
            self.go_on()
            self.looked_at(at)
        self.finish(one, commit=True)
        self.release(self.delayed)
        self.delayed = None
        self.go_on()
        self.looked_at(at)

    def _steps(self, left: int, fault: int, slot: int, at: int) -> int:
        """Deliver messages and let appends succeed, one by one, with the fault after ``left`` of them; return how many
        are left, less than none once the fault has happened."""
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
            self.renew(new)
        else:
            self.next_is = what

    def _arrives_not(self, message: Message) -> None:
        """Lose the next message, or leave a copy of it or all of it under way. In half of the examples of v1 it is
        always lost, because late copies break properties of v1 by design."""
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


# These scenarios drive brokers that act by themselves, without what cannot be done from outside a broker.
#
# The driver decides only when each request and each answer arrives, how often, or not at all. At the end of an example
# everything is delivered, a fresh producer fences what may be open, so that no reader has to wait for a time-out, and
# everything is read.

BY_ITSELF = frozenset({"log_append", "fail_over", "change_leader"})
"""`BY_ITSELF` lists calls that are superfluous with a broker that acts by itself, and are not made."""
RETRIES, RETRY_MS = 6, 100
"""At the end of an example clients may try again `RETRIES` times, each after `RETRY_MS`."""
READING, OFFSETS = frozenset({PIECES, ANYWHERE}), 4
"""At the end of an example a partition is read in pieces from one of `OFFSETS` offsets on; `READING` has the abilities
for that."""


class Remote(Shared, steps={}):
    """This machine drives brokers that act by themselves."""

    MOST_FENCES = 2

    late_copy = redrawn(Shared.late_copy, kind=OneOf("produce", "add", "init"))
    late_answer = redrawn(Shared.late_answer, kind=OneOf("end_answer", "add_answer", "produce_answer"))

    def call(self, name: str, *arguments: Any, **named: Any) -> Made | None:
        return None if name in BY_ITSELF else super().call(name, *arguments, **named)

    def can(self, ability: str) -> bool:
        """Return whether the implementation has an ability; over the wire only abilities of reading are used."""
        return not ability or (ability in READING and accepts(self.run.system, *ABILITIES[ability]))

    def waits(self, slot: int) -> bool:
        """Never wait before the end, because no model follows what a broker does meanwhile."""
        return False

    def those_there_go_on(self) -> None:
        """Let clients go on only once the cluster has settled, because no model follows what a broker does
        meanwhile."""
        last = self.run.made[-1].call.name if self.run.made else ""
        if last in ("settle", "in_pieces", "progress"):
            super().those_there_go_on()

    def in_pieces(self, partition: int, most: int, offset: int = 0) -> None:
        """Read from somewhere among the acknowledged records, since a fetch past the end of the log gets an error."""
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
            self.renew(0)
            self.rest()
        super().teardown()

    @scenario
    def give_up_unanswered(
        self, slot: Slot, partition: Partition, sent: Annotated[int, Between(1, 7)], written: bool, lose_init: bool
    ) -> None:
        """Give records up without an answer, then read the partition, to see records that no client has an
        answer for."""
        super().give_up_unanswered(slot, partition, sent, written, lose_init)
        if partition < int(self.run.config["partitions"]):
            self.read(partition, committed=False)

    def rest(self) -> None:
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
        """A transaction is to be committed while its records have not arrived."""
        slot, at = self.with_record(slot, partition)
        for number in range(sent):
            self.call("send", slot, self.partition(at + number))
        self.end(slot, commit=True)
        flying = list(self.waiting())
        for message in reversed(flying) if backwards else flying:
            self.send(message)
        self.read_on(at)

    @scenario
    def end_answer_lost(self, slot: Slot, partition: Partition, commit: bool, copy: bool) -> None:
        """The end of a transaction is asked for again, since its answer was lost."""
        slot, at = self.with_record(slot, partition)
        self.end(slot, commit)
        self.send_first("end", keep=copy and self.late)
        self.send_first("end_answer", name="drop")
        self.call("advance", 30_000)
        self.read_on(at)

    @scenario(when=lambda self: self.late)
    def late_end_before_a_record(self, slot: Slot, partition: Partition, commit: bool, answered: bool) -> None:
        """The EndTxn of one transaction arrives late, and decides the next before its record arrives; with ``answered``
        the answer of the first is late."""
        slot, at = self.with_record(slot, partition)
        copy = self.stored_copy("end_answer" if answered else "end", commit, slot)
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
        self.renew(new)
        self.call("fence")
        self.hold(*self.held_back(new, last))
        self.deliver_all()
        self.finish(old, commit)
        self.let_go()
        self.go_on()
        self.with_record(new, at)
        self.finish(new, commit=True)

    def held_back(self, slot: int, last: bool) -> list[Message]:
        asked = self.waiting("init")
        own = f"client-{slot}"
        return [m for m in asked if (m[2] == own) == last]


# Hypothesis decides how large clusters of transactions are, and which scenarios it plays with which.
#
# Single calls reach anything in time. The scenarios are aimed where the mistakes are: two producers with one id, late
# copies, time-outs that race a commit, appends that fail in a fence, the end of the epochs.

MODES = ("v2", "v1", "v1-verified")
EPOCHS = (32767, 32767, 3, 5)


def sizes(mode: str, epochs: tuple[int, ...]) -> st.SearchStrategy[tuple[dict[str, Any], bool, bool]]:
    """Return a strategy for small clusters, with whether one client is alone and whether copies may arrive late. Late
    copies break v1 by design and hide other faults there, so half of its examples have none."""

    def config(
        lone: bool, late: bool, clients: int, count: int, groups: int, last: int
    ) -> tuple[dict[str, Any], bool, bool]:
        size = {"clients": 1 if lone else clients, "partitions": count, "groups": groups, "max_epoch": last}
        return {"seed": 0, "mode": mode, **size}, lone, late or mode == "v2"

    counts = st.integers(1, 2)
    return st.builds(
        config, st.booleans(), st.booleans(), st.integers(2, 3), counts,
        st.sampled_from((0, 0, 1)), st.sampled_from(epochs),
    )  # fmt: skip


def several(mode: str) -> st.SearchStrategy[Sized]:
    """Return a strategy for clusters in which the driver decides everything: in addition they may have several
    transactional ids (with at least one producer each), groups with several inputs, and batches of several records. A
    random number decides, because Hypothesis draws much the same for one example as for the one before."""

    def more(drawn: tuple[dict[str, Any], bool, bool], chance: int) -> Sized:
        config, lone, late = drawn
        random = Random(chance)
        ids, groups, keys = random.choice((1, 2)), random.choice((0, 0, 1, 2)), random.choice((1, 2))
        clients = ids if lone else config["clients"] + ids - 1
        size = {"clients": clients, "ids": ids, "groups": groups, "keys": keys}
        return Sized({**config, **size}, lone, late, random.choice((1, 1, 2, 3)), random.getrandbits(64))

    return st.builds(more, sizes(mode, EPOCHS), CHANCES)


MACHINES = variants(Lives, {mode: several(mode) for mode in MODES})
REMOTE_MACHINES = variants(Remote, {mode: sizes(mode, EPOCHS[:1]) for mode in MODES})
"""`REMOTE_MACHINES` are for brokers that act by themselves, whose last epoch cannot be chosen."""


# These machines also send newcomers, to find out whether a broker hands out a producer id twice, or what follows after
# the last epoch. `interface.py` states how many are needed.
#
#     agree(over_tcp, protocol=with_churn(OVER_THE_WIRE, 5_000), variant="v1", config={"bootstrap": "host:port"})


class WithChurn(Verbs, steps={}):
    """With this mixin many new producers start once in an example, at some moment."""

    count: ClassVar[int]
    came = False

    @scenario(when=lambda self: not self.came)
    def newcomers_come(self) -> None:
        self.came = True
        self.call("newcomers", self.count)


def with_churn(agreeing: Agreeing, count: int) -> Agreeing:
    """Return the same agreement with machines that start ``count`` new producers in addition to all else. The model has
    no room for so many, so that from there on only promises are checked."""
    machines = {
        variant: type(f"{machine.__name__}WithChurn", (WithChurn, machine), {"count": count})
        for variant, machine in agreeing.machines.items()
    }
    return replace(agreeing, machines=machines, followed=(none := dict.fromkeys(machines, 0.0)), compared=none)
