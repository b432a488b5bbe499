"""What is kept with each state that the model may be in: answers under way, the markers of each Prepare, and since when
a transaction is open."""

from collections.abc import Collection
from typing import NamedTuple

from fencepost.properties.agreement import Row, State
from fencepost.properties.transactions.online.members import ADD, COMMIT, NOTHING, ONGOING, PREPARED

ROUNDS = 8  # Prepare records whose markers may still be in flight

Answer = tuple[str, int, int, int]
"""(kind of request, its number, error, number of the pair in it)."""
Round = tuple[int, int, bool, int]
"""(number of the call, epoch, commits, coordinator epoch)."""


class Memory(NamedTuple):
    """``awaited``: partitions of which the coordinator has not heard that the marker is there; ``asked_ms``: when the
    partition that is pending was asked for; ``open_ms``: when the open transaction began, which is when its first one
    was asked for and not when that was logged; ``free_ms``: since when nothing is pending.  -1 if there is none."""

    answers: tuple[Answer, ...] = ()
    rounds: tuple[Round, ...] = ()
    awaited: tuple[int, ...] = ()
    asked_ms: int = -1
    open_ms: int = -1
    free_ms: int = -1

    def with_answer(self, answer: Answer) -> "Memory":
        return self._replace(answers=tuple(sorted({*self.answers, answer})))

    def having_heard(self, partition: int) -> "Memory":
        return self._replace(awaited=tuple(p for p in self.awaited if p != partition))

    def without(self, flying: Collection[tuple[str, int]]) -> "Memory":
        """Without the answers that are not in flight any more."""
        return self._replace(answers=tuple(a for a in self.answers if a[:2] in flying))

    def round_of(self, call: int) -> Round | None:
        """The Prepare whose markers were sent in a call."""
        return next((r for r in reversed(self.rounds) if r[0] <= call), None)


NOTHING_KEPT = Memory()


def after_step(memory: Memory, before: State, state: State, call: int, time_ms: tuple[int, int]) -> Memory:
    """What a step of the coordinator changes in it.  ``time_ms``: when the call began, and when it returned."""
    prepared = state["phase"] == PREPARED
    if prepared and (before["phase"] != PREPARED or before["term"] != state["term"]):
        sent = (call, state["marker_epoch"], state["outcome"] == COMMIT, state["term"])
        parts = tuple(sorted(p for (p,) in state["parts"]))
        memory = memory._replace(rounds=(*memory.rounds, sent)[-ROUNDS:], awaited=parts)
    if state["pending"] == ADD and before["pending"] != ADD:
        memory = memory._replace(asked_ms=time_ms[0])
    if state["phase"] != ONGOING:
        return memory._replace(open_ms=-1, free_ms=-1)
    if before["phase"] != ONGOING:
        memory = memory._replace(open_ms=time_ms[0] if memory.asked_ms < 0 else memory.asked_ms, asked_ms=-1)
    if state["pending"] != NOTHING:
        return memory._replace(free_ms=-1)
    return memory if memory.free_ms >= 0 else memory._replace(free_ms=time_ms[1])


def numbers(row: Row) -> tuple[int, int]:
    """The error and the pair in an answer."""
    return row["error"], 0 if row["error"] else row["number"]
