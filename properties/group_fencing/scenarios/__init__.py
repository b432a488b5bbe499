"""This module drives a group that copies its input through two owners of one partition, commits that arrive late, and
instances and brokers that fail in the middle of a transaction.

`go`, `walk`, `idle`, `get_on` and `finish` are calls of programs, so they need nothing but the interface.
"""

from collections.abc import Collection
from typing import Annotated, Any

from fencepost.properties.driving import Made, read
from fencepost.properties.group_fencing.interface import Calm, Slot, System, Waiting
from fencepost.properties.machine import Machine, scenario
from fencepost.properties.roles import Between, FromConfig, OneOf

BEATS = "group_heartbeat_answer"
HALVES = ("join", "join_answer", "sync", "sync_answer"), ("group_heartbeat", BEATS)
ANSWERS = ("produce_answer", "produce_answer", "end_answer", "init_answer", "offset_fetch_answer", "join_answer")
REQUESTS = ("sync", "join"), ("group_heartbeat", "group_heartbeat")
"""The requests of a rebalance in `REQUESTS` may arrive late, or in another order."""
KINDS = ("produce", "check", "end", "init", "marker", "offset_fetch")
"""Messages of these kinds arrive late: records and offsets, and whether they belong to a transaction; its end; its
markers; and a new owner's fetch of offsets."""

Members = Annotated[int, FromConfig("members")]
Moved = Annotated[int, OneOf(-1, -1, 0, 150)]
"""A `Moved` is how long the next coordinator of the group takes to load, or -1 if the coordinator does not change."""
Late = Annotated[str, OneOf("", *KINDS)]
Lines = Annotated[int, Between(1, 8)]

STEP_MS = 50
"""In `STEP_MS` of virtual time an instance does one line of its loop."""
MOST = 2_000
"""At most `MOST` deliveries happen at one instant, because a broken cluster may never come to rest."""
CALM_MS = 8_000
"""`CALM_MS` after the last fault a correct cluster has copied everything, with time to spare: the group has new
sessions and perhaps two rebalances, transactions time out, and each of three instances has its turns."""
MOVED_MS = 800
"""`MOVED_MS` is enough for each member to learn of a group's new coordinator, and for its session to end."""
OWNED = 40
"""Within `OWNED` lines, with `STEP_MS` each, an instance begins to consume if there is something for it."""


def arrive(system: System, without: str = "", backward: bool = False, one: bool = False) -> None:
    """Let everything in flight arrive, oldest first or ``backward``, with what follows from it, while appends succeed.
    Messages of the kind ``without``, or the oldest ``one`` of them, do not arrive."""
    for _ in range(MOST):
        messages = system.messages()
        late = [message[0] for message in messages if message[1] == without][: 1 if one else None]
        ordered = reversed(messages) if backward else messages
        number = next((message[0] for message in ordered if message[0] not in late), None)
        if number is not None:
            system.deliver(number)
        elif not system.log_append():
            return


def walk(system: System, slot: Slot, lines: Lines = 1, without: Late = "", one: bool = False) -> int:
    """Let the instance do that many lines while everything arrives and time passes, and return how many it did."""
    done = 0
    for _ in range(lines):
        done += system.step(slot)
        arrive(system, without, one=one)
        system.advance(STEP_MS)
        arrive(system, without, one=one)
    return done


def go(
    system: System, ms: Annotated[int, OneOf(50, 200, 700)], members: Members, without: Late = "",
    backward: bool = False,
) -> None:  # fmt: skip
    """Let all instances go on, a line each time, while time passes."""
    for _ in range(0, ms, STEP_MS):
        for slot in range(members):
            system.step(slot)
            arrive(system, without, backward)
        system.advance(STEP_MS)
        arrive(system, without, backward)


def idle(system: System, ms: Annotated[int, OneOf(200, 700)]) -> None:
    """Let time pass and everything arrive, while applications act only in the background of their clients."""
    for _ in range(0, ms, STEP_MS):
        system.advance(STEP_MS)
        arrive(system)


def get_on(system: System, members: Members, ms: Annotated[int, OneOf(CALM_MS, MOVED_MS)] = CALM_MS) -> Any:
    """End the faults: an instance that stands still goes on, and those that run work as fast as they can, without those
    that have ended. Where none runs, one is started. Return what an auditor reads when everything has had its time."""
    return _work(system, members, ms, all_of_them=False)


def finish(system: System, members: Members) -> Any:
    """End the faults as `get_on` does, and restart every instance that has ended."""
    return _work(system, members, CALM_MS, all_of_them=True)


def _work(system: System, members: int, ms: int, all_of_them: bool) -> Any:
    arrive(system)  # what was sent before an instance starts may fence it
    for _ in range(0, ms, STEP_MS):
        for slot in range(members):
            system.resume(slot)
            if all_of_them and system.is_over(slot):
                system.restart(slot)
        if all(system.is_over(slot) for slot in range(members)):
            system.restart(0)
        for slot in range(members):
            for _ in range(MOST):
                arrive(system)
                if not system.step(slot):
                    break
        system.advance(STEP_MS)
        arrive(system)
    return system.audit()


HELPERS = (walk, go, idle, get_on, finish)
AT_REST = frozenset({"get_on", "finish"})
"""After the calls in `AT_REST` nothing is left to happen."""
CONTEXT = Calm

STEPS = {
    "deliver": "deliver", "lose": "drop", "pause": "pause", "resume": "resume", "append": "log_append",
    "lead": "change_leader", "kill": "kill",
}  # fmt: skip
"""The single calls in `STEPS` are steps of their own, by the name of the rule."""
WEIGHTS = {
    "overtaken": 8, "overtaken_anew": 6, "overtaken_sending": 8, "overtaken_fenced": 4, "overtaken_open": 8,
    "overtaken_unready": 4, "regained": 5, "interrupted": 6, "some_time": 2, "alone": 6, "loading": 4,
    "unanswered": 4, "two_halves": 4, "once_more": 8, "both_pending": 2, "deaf": 3, "replaced": 2, "slow": 1,
    "stale": 1,
}  # fmt: skip


class Scenarios(Machine, steps={}, weights=WEIGHTS, rules=3):
    """`Scenarios` has the scenarios of one group."""

    def go(self, ms: int, without: str = "", backward: bool = False) -> None:
        self.call("go", ms, without=without, backward=backward)

    is_finished = False

    def call(self, name: str, *arguments: Any, **named: Any) -> Made | None:
        return None if self.is_finished else super().call(name, *arguments, **named)

    def sessions_end(self, without: str = "") -> None:
        """Let everything go on until the coordinator has missed the members that send nothing."""
        self.go(self.run.config["session_timeout_ms"] + 200, without)

    def up(self, slot: int) -> None:
        self.call("resume", slot)
        if not self.run.over and self.run.system.is_over(slot):
            self.call("restart", slot)

    def another(self, slot: int, other: int) -> int:
        return other if other != slot else self.index("members", slot + 1)

    def comes_to(
        self, slot: int, kind: str, without: str = "", of: Collection[int] = (), one: bool = False
    ) -> frozenset[int]:
        """Let the instance go on to an event of this kind (``of`` these partitions), and return its partitions."""
        for _ in range(OWNED):
            made = self.call("walk", slot, 1, without=without, one=one)
            observed = [e for e in (made.events if made else ()) if (read(e, "kind"), read(e, "slot")) == (kind, slot)]
            found = frozenset(int(read(each, "partition")) for each in observed)
            if made is None or (found and not (of and found.isdisjoint(of))):
                return found
        return frozenset()

    @scenario
    def overtaken(
        self, slot: Slot, lines: Annotated[int, Between(0, 5)], held: Annotated[int, Between(0, 3)], late: Late,
        one: bool, other: Slot, further: Annotated[int, Between(0, 5)], more: Annotated[int, Between(0, 6)],
    ) -> None:  # fmt: skip
        """An instance stands still with what it consumed, that many lines into its transaction. Another instance gets
        its partitions and does some lines with them before the first one goes on. What was ``late`` of the first one's
        last lines, or the oldest ``one`` of it, arrives then."""
        other = self.another(slot, other)
        self.up(slot)
        if not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines) if lines else None
        self.call("walk", slot, held, without=late) if held else None
        self.call("pause", slot)
        self.up(other) if other != slot else None
        if other != slot and self.comes_to(other, "consumed", late, its, one):
            self.call("walk", other, further, without=late, one=one) if further else None
        self.call("resume", slot)
        self.call("walk", slot, more) if more else None
        self.go(500)

    @scenario
    def overtaken_sending(
        self, slot: Slot, late: Annotated[str, OneOf("check", "produce")], awake: bool, other: Slot,
        further: Annotated[int, Between(0, 5)],
    ) -> None:  # fmt: skip
        """An instance has sent its offsets, which have not arrived or are not yet known to belong to its transaction,
        when another instance gets its partitions. Then the offsets are accepted or refused."""
        other = self.another(slot, other)
        self.up(slot)
        if other == slot or not self.comes_to(slot, "consumed"):
            return
        its = self.comes_to(slot, "offset_sent", late)
        self.deliver_late(late, most=-1)
        self.call("pause", slot) if not awake else None
        self.up(other)
        self.comes_to(other, "consumed", late, its, one=True)
        self.call("walk", other, further, without=late, one=True) if further else None
        self.call("resume", slot)
        self.deliver_late(late)
        self.call("walk", slot, 4)
        self.go(500)

    @scenario
    def overtaken_anew(
        self, slot: Slot, lines: Annotated[int, Between(1, 5)], other: Slot,
        how: Annotated[str, OneOf("paused", "paused", "hears", "awake")], last: bool,
    ) -> None:  # fmt: skip
        """An instance is overtaken by another that is new in the group. The first one's client ``hears`` of the change
        before its application goes on, or is ``awake`` all the time, so that only the application stands still."""
        other = self.another(slot, other)
        self.call("kill", other)
        self.sessions_end()
        self.up(slot)
        if other == slot or not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines)
        self.call("pause", slot) if how != "awake" else None
        self.up(other)
        self.comes_to(other, "consumed", of=its)
        self.call("resume", slot)
        self.call("idle", 200) if how == "hears" else None
        self.call("walk", slot, 6)
        if last:
            self.end()
        self.go(500)

    @scenario
    def overtaken_fenced(
        self, slot: Slot, lines: Annotated[int, Between(1, 5)], other: Slot, asleep: bool,
        ms: Annotated[int, OneOf(0, 50, 200)],
    ) -> None:  # fmt: skip
        """An instance stands still until its session is over and another one has its partitions, and its client is in
        the group again before its application goes on. Shortly before, a third instance stands still and has not learnt
        of the change."""
        other = self.another(slot, other)
        third = next(each for each in range(3) if each not in (slot, other))
        self.up(other)
        self.up(slot)
        if other == slot or not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines)
        self.call("pause", slot)
        self.go(self.run.config["session_timeout_ms"] - 100)
        asleep = asleep and third < self.run.config["members"]
        self.call("pause", third) if asleep else None
        self.comes_to(other, "consumed", of=its)
        self.call("resume", slot)
        self.call("idle", ms) if ms else None
        self.call("walk", slot, 4)
        self.call("resume", third) if asleep else None
        self.go(500)

    @scenario
    def overtaken_open(
        self, slot: Slot, lines: Annotated[int, Between(1, 5)], late: Annotated[str, OneOf("end", "marker")],
        other: Slot, moved: Moved, failed: bool, further: Annotated[int, Between(0, 6)],
    ) -> None:  # fmt: skip
        """An instance stands still with its transaction open, or about to be ended. The coordinators of the group and
        of transactions may change, and another instance gets its partitions. Then the transaction is ended."""
        other = self.another(slot, other)
        self.up(slot)
        if other == slot or not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines, without=late)
        self.call("pause", slot)
        self.call("move_group", moved) if moved >= 0 else None
        self.call("fail_over") if failed else None
        self.up(other)
        self.comes_to(other, "consumed", late, its)
        self.call("walk", other, further, without=late) if further else None
        self.call("resume", slot)
        self.call("walk", slot, 4)
        self.go(500)

    @scenario
    def regained(
        self, slot: Slot, lines: Annotated[int, Between(0, 4)], other: Slot, moved: bool,
        more: Annotated[int, Between(1, 8)],
    ) -> None:  # fmt: skip
        """An instance loses its partitions to another one, which commits and ends, and then has them again."""
        other = self.another(slot, other)
        self.up(slot)
        if not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines) if lines else None
        self.call("pause", slot)
        self.up(other)
        if self.comes_to(other, "consumed", of=its) and self.comes_to(other, "end_told"):
            self.call("close", other)
        self.call("resume", slot)
        self.call("idle", 300)
        self.call("move_group") if moved else None
        self.call("walk", slot, more)
        self.go(500)

    @scenario
    def overtaken_unready(self, slot: Slot, lines: Annotated[int, Between(1, 4)], other: Slot) -> None:
        """The overtaking instance has its offsets before the answer that fences its predecessor, which goes on."""
        other = self.another(slot, other)
        self.up(slot)
        if other == slot or not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines)
        self.call("pause", slot)
        self.up(other)
        self.comes_to(other, "offset_fetched", "init", its)
        self.call("resume", slot)
        self.call("walk", slot, 6, without="init")
        self.go(500)

    @scenario
    def interrupted(
        self, slot: Slot, lines: Annotated[int, Between(0, 6)], late: Late,
        what: Annotated[str, OneOf("restart", "close", "abort", "fail_over", "move_group", "lost")],
    ) -> None:  # fmt: skip
        """A fault happens in the middle of a transaction, while messages of one kind are late."""
        self.up(slot)
        if self.comes_to(slot, "consumed") and lines:
            self.call("walk", slot, lines, without=late)
        if what == "lost":
            for message in self.waiting():
                self.send(message, "drop")
        elif what in ("fail_over", "move_group"):
            self.call(what)
        else:
            self.call(what, slot)
        self.go(100, late)
        self.call("audit")
        self.go(500)

    @scenario
    def deaf(
        self, slot: Slot, other: Slot, lines: Annotated[int, Between(0, 3)], asleep: bool, long: bool, last: bool
    ) -> None:  # fmt: skip
        """The group changes more than once, and answers to heartbeats that report the changes are lost, so that a
        member which is two changes behind is fenced. Its application may do nothing meanwhile, and the answers may be
        lost for as ``long`` as a rebalance waits for the member."""
        beats = BEATS if self.run.config["mode"].startswith("new-protocol") else "heartbeat_answer"

        def passes(ms: int) -> None:
            self.call("walk", other, ms // STEP_MS, without=beats) if asleep else self.go(ms, beats)

        other = self.another(slot, other)
        self.up(other)
        self.up(slot)
        if other == slot or not self.comes_to(slot, "consumed"):
            return
        self.go(200)
        self.comes_to(slot, "consumed")
        self.call("walk", slot, lines) if lines else None
        self.call("close", other)
        passes(self.run.config["session_timeout_ms"] + 200 if long else 200)
        self.up(other)
        passes(self.run.config["max_poll_ms"] + 200 if long else 200)
        for message in self.waiting():
            if message[1] == beats:
                self.send(message, "drop")
        if asleep:
            self.call("walk", other, 6)
            self.call("walk", slot, 6)
        self.go(700)
        if last:
            self.end()

    @scenario
    def unanswered(
        self, slot: Slot, lines: Annotated[int, Between(0, 5)], kind: Annotated[str, OneOf(*ANSWERS)]
    ) -> None:  # fmt: skip
        """Answers are lost for so long that clients ask once more for what they have been given."""
        self.up(slot)
        if self.comes_to(slot, "consumed") and lines:
            self.call("walk", slot, lines, without=kind)
        self.go(self.run.config["request_timeout_ms"] + 100, kind)
        for message in self.waiting():
            if message[1] == kind:
                self.send(message, "drop")
        self.go(300)

    @scenario
    def replaced(
        self, slot: Slot, lines: Annotated[int, Between(0, 6)], other: Slot, killed: bool, moved: bool
    ) -> None:  # fmt: skip
        """An instance ends in the middle of a transaction, and another one takes its place at once, under its
        transactional id and as the same static member. The group's coordinator may change after that."""
        self.up(self.another(slot, other))
        self.up(slot)
        if self.comes_to(slot, "consumed") and lines:
            self.call("walk", slot, lines)
        self.call("close", slot) if not killed else None
        self.call("restart", slot)
        if moved:
            self.comes_to(slot, "joined")
            self.call("move_group")
        self.go(700)

    @scenario
    def alone(
        self, slot: Slot, lines: Annotated[int, Between(0, 6)], other: Slot, late: Late,
        moved: Moved, refused: bool, last: bool,
    ) -> None:  # fmt: skip
        """An instance is killed and not restarted. The group's coordinator may change after that, and another instance
        may stand still for so long that it is refused as well. Nothing else may happen afterwards."""
        other = self.another(slot, other)
        self.up(other)
        self.up(slot)
        if self.comes_to(slot, "consumed") and lines:
            self.call("walk", slot, lines, without=late)
        if refused and other != slot:
            self.comes_to(other, "consumed")
            self.call("pause", other)
        self.call("kill", slot)
        self.call("move_group", moved) if moved >= 0 else None
        self.sessions_end()
        self.call("resume", other)
        self.go(200)
        if last:
            self.end()

    @scenario
    def loading(
        self, slot: Slot, lines: Annotated[int, Between(2, 6)], late: Late, ms: Annotated[int, OneOf(150, 400)],
        more: Annotated[int, Between(1, 4)], last: bool,
    ) -> None:  # fmt: skip
        """The group's coordinator changes in the middle of a transaction, and loads while what was late arrives: a
        commit, a marker, a fetch of offsets, or a heartbeat."""
        self.up(slot)
        if self.comes_to(slot, "consumed") and lines:
            self.call("walk", slot, lines, without=late)
        self.call("move_group", ms)
        self.call("walk", slot, more)
        self.go(500)
        if last:
            self.end()

    @scenario
    def two_halves(
        self, slot: Slot, other: Slot, half: Annotated[int, Between(0, 3)], backward: bool,
        ends: Annotated[str, OneOf("close", "kill", "restart")], moved: Moved, last: bool,
    ) -> None:  # fmt: skip
        """The group changes, and the requests of one half of the rebalance, or the answers to them, arrive late and in
        another order, so that a member asks for its assignment before the leader has sent it."""
        other = self.another(slot, other)
        self.up(other)
        self.up(slot)
        if not self.comes_to(slot, "consumed"):
            return
        kinds = HALVES[self.run.config["mode"].startswith("new-protocol")]
        late = kinds[half % len(kinds)]
        self.call(ends, other)
        self.go(500, late)
        self.call("move_group", moved) if moved >= 0 else None
        self.up(other)
        self.deliver_late(late, backward)
        self.go(500, backward=backward)
        if last:
            self.end()

    @scenario
    def once_more(self, slot: Slot, other: Slot, half: Annotated[int, Between(0, 1)], last: bool) -> None:
        """The group changes twice, and copies of the members' requests in the first rebalance arrive before their
        requests in the second, so that the assignment of a former generation is given."""
        other = self.another(slot, other)
        self.up(other)
        self.up(slot)
        if not self.comes_to(slot, "consumed"):
            return
        late = REQUESTS[self.run.config["mode"].startswith("new-protocol")][half]
        self.call("restart", other)
        self.go(500, late)
        self.deliver_late(late, keep=True)
        self.go(200, late)
        self.call("restart", other)
        self.go(500, late)
        self.deliver_late(late)
        self.go(300)
        if last:
            self.end()

    def deliver_late(self, kind: str, backward: bool = False, keep: bool = False, most: int | None = None) -> None:
        """Deliver the messages of a kind that are in flight, with -1 all but the newest."""
        waiting = [message for message in self.waiting() if message[1] == kind][:most]
        for message in waiting[::-1] if backward else waiting:
            self.send(message, "deliver", keep=keep)

    @scenario
    def both_pending(
        self, slot: Slot, lines: Annotated[int, Between(1, 3)], other: Slot, further: Annotated[int, Between(0, 8)],
        backward: bool, aborts: bool,
    ) -> None:  # fmt: skip
        """An instance stands still in its transaction and sends its offsets after its successor has sent offsets for
        the same partitions. The markers of both arrive in either order."""
        other = self.another(slot, other)
        self.up(slot)
        if other == slot or not (its := self.comes_to(slot, "consumed")):
            return
        self.call("walk", slot, lines)
        self.call("pause", slot)
        self.up(other)
        if not self.comes_to(other, "consumed", of=its):
            return
        self.call("walk", other, further) if further else None
        self.comes_to(other, "offset_sent", of=its)
        self.call("resume", slot)
        self.comes_to(slot, "offset_sent", "end")
        self.call("abort", other) if aborts else None
        self.call("walk", other, 1, without="marker")
        self.call("walk", slot, 1, without="marker")
        markers = self.waiting("marker")
        for message in markers[::-1] if backward else markers:
            self.send(message)
        self.call("audit")
        self.go(500)

    @scenario
    def slow(self, slot: Slot, lines: Annotated[int, Between(1, 5)], aborts: bool) -> None:
        """A transaction takes longer than it may, and its instance goes on with the loop, or aborts."""
        self.up(slot)
        if self.comes_to(slot, "consumed"):
            self.call("walk", slot, lines)
            self.call("idle", 700)
            self.call("abort", slot) if aborts else None
            self.go(500)

    @scenario
    def stale(self, slot: Slot, lines: Annotated[int, Between(0, 4)]) -> None:
        """An application does not poll for so long that its consumer leaves the group, and then goes on."""
        self.up(slot)
        if self.comes_to(slot, "consumed"):
            self.call("walk", slot, lines) if lines else None
            for _ in range(self.run.config["max_poll_ms"] // STEP_MS + 2):
                made = self.call("idle", STEP_MS)
                if made is None or any(read(event, "kind") == "left" for event in made.events):
                    break
            self.call("walk", slot, 8)
            self.go(300)

    @scenario
    def retained(self, slot: Slot, at: Annotated[str, OneOf("end", "marker")]) -> None:
        """All instances leave before a transaction is committed, and the retention of its pending offsets ends."""
        self.up(slot)
        if not self.comes_to(slot, "consumed") or not self.comes_to(slot, "end_sent", at):
            return
        for each in range(self.run.config["members"]):
            self.call("close", each)
        self.go(100, at)
        self.call("expire_pending")
        self.go(500)

    @scenario
    def twice(self, message: Waiting, ms: Annotated[int, OneOf(50, 400, 1_000)]) -> None:
        """A message is delivered, and a copy of it arrives much later."""
        self.send(message, "deliver", keep=True)
        self.go(ms, message[1])
        self.go(200)

    @scenario
    def some_time(self, ms: Annotated[int, OneOf(100, 500, 1_500)], backward: bool) -> None:
        """The group works without faults for a while, though messages that were sent last may arrive first."""
        self.go(ms, backward=backward)

    def end(self) -> None:
        """End the faults, first for the running instances, then for all, and then change the group's coordinator."""
        if not self.is_finished:
            self.call("get_on")
            if not self.run.over and any(self.run.system.is_over(slot) for slot in range(self.run.config["members"])):
                self.call("finish")
            self.call("move_group")
            self.call("get_on", ms=MOVED_MS)
            self.is_finished = True

    def teardown(self) -> None:
        if hasattr(self, "run") and not self.run.over:
            self.end()
        super().teardown()
