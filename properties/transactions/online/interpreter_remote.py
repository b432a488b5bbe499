"""How the calls and events of brokers that act by themselves are read as rows of the model.

Nothing of coordinator and partitions is shown.  The states in which the model may be are narrowed by what clients are
told and readers get, and each of them carries what is in the answers that are on their way: so an answer says, when it
arrives, what the broker did when the request came.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from fencepost.properties.agreement import UNKNOWN, Beyond, FalseConjunct, Row, State, Take
from fencepost.properties.driving import Event, Made, read
from fencepost.properties.transactions.driving.interface import READERS, Message
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.calls_remote import SERVED, SERVICE
from fencepost.properties.transactions.observations.remote import OLD_OR_LATER
from fencepost.properties.transactions.online.interpreter import NOT_THERE, READ
from fencepost.properties.transactions.online.members import ONGOING, PREPARED
from fencepost.properties.transactions.online.memory_remote import NOTHING_KEPT, Memory
from fencepost.properties.transactions.online.requests import COMPOSITE
from fencepost.properties.transactions.online.serving_remote import Serving

AWAY = frozenset({codes.LOADING, codes.NOT_AVAILABLE, codes.NOT_COORDINATOR})
FENCING = frozenset({codes.OLD_EPOCH, codes.FENCED})
"""Which of the two a partition's answer has depends on who found out, and on the request."""
LATER = frozenset({
    codes.CONCURRENT, codes.UNKNOWN_PARTITION, codes.NOT_LEADER, codes.NOT_ENOUGH_REPLICAS, *AWAY,
})  # fmt: skip
"""Answers after which a producer sends its record again."""
QUICKER = 100  # virtual milliseconds in a real one, where transactions time out over the wire
TOLD = {
    "init_taken": "init", "fence_told": "init", "end_told": "end", "add_taken": "add",
    "record_acked": "produce", "record_failed": "produce",
}  # fmt: skip


class RemoteInterpreter(Serving):
    """Reads one cluster of brokers."""

    # Calls

    def called(self, made: Made, messages: Sequence[Message]) -> None:
        """Take note of a call.  Raises `Beyond`."""
        if self.made is not None and self.made.call.name == "deliver" and self.made.message is not None:
            request = self.requests.sent.get(self.made.message[4])
            self.arrived |= {request.record} if request is not None else set()
        self.made, self.calls = made, self.calls + 1
        self.before_ms, self.now_ms = self.now_ms, self._clock_ms(made)
        self.requests.called(made, messages)
        if made.call.name in ("fail_over", "change_leader", "newcomers"):
            raise Beyond(f"{made.call.name} is not followed over the wire")

    def _clock_ms(self, made: Made) -> int:
        """At most so much time has passed for the brokers, where transactions may time out."""
        if not self.timeouts:
            return 0
        waited = made.call.get("ms") if made.call.name == "advance" else getattr(made.result, "waited_ms", 0)
        self.waited_ms += waited
        return self.waited_ms + int((time.monotonic() - self.began) * 1000 * QUICKER)

    def said(self, made: Made, observed: frozenset[str]) -> Iterator[tuple[Event, Event]]:
        """What was shown.  Raises `Beyond` where a call delivers in an order that nobody sees."""
        self.observed = observed
        others = any(read(event, "kind") not in READ for event in made.events)
        if made.call.name in COMPOSITE and (others or self.requests.flew):
            raise Beyond(f"{made.call.name} does much that is not shown")
        for event in made.events:
            yield event, event
            if read(event, "kind") == "record_seen":
                self.seen.add((read(event, "client"), read(event, "record")))
        for missing in self._missing(made):
            yield missing, missing

    def _missing(self, made: Made) -> Iterator[Event]:
        """Of which transactions did a reader who has come to the end of a partition get nothing, though something of
        theirs went there?"""
        call = made.call
        if call.name != "read" or call.get("committed"):
            return
        client = READERS + call.get("reader")
        here = call.get("partition")
        sent = {(t, r) for r, (t, p) in self.requests.records.items() if p == here and r in self.arrived}
        found = {t for t, r in sent if (client, r) in self.seen}
        for txn in sorted({t for t, _ in sent} - found):
            yield {"kind": "nothing_seen", "txn": txn, "partition": here}

    def row_of_call(self, made: Made) -> dict[str, Any]:
        """What is known of what a broker does in this call."""
        row = {**dict.fromkeys(NOT_THERE, UNKNOWN), "hidden": True, "late": False, "busy": False, "away": True}
        if made.message is None or made.call.name != "deliver" or made.message[4] not in self.requests.sent:
            return row
        return row | self._of_request(made.message[4])

    def row_of_event(self, event: Event, states: Sequence[State]) -> dict[str, Any]:
        """What an event says.  Raises `Beyond`."""
        if (number := read(event, "request", -1)) >= 0 and (sequence := read(event, "sequence", -1)) >= 0:
            self.sequences[number] = sequence
        row = super().row_of_event(event, states)
        self._note_wanted(event, read(event, "kind"), number)
        return row

    def _note_wanted(self, event: Event, kind: str, number: int) -> None:
        """A client has one request to the coordinator at a time, and a record one request, whose answers it takes."""
        if kind in ("record_sent", "record_acked", "record_failed"):
            self.wanted["record", read(event, "record")] = number if kind == "record_sent" else -1
        elif kind in ("init_sent", "add_sent", "end_sent"):
            self.wanted["client", read(event, "client")] = number

    def _circumstances(self) -> dict[str, Any]:
        return {"away": True, "busy": False}

    # What is not in the model

    def barred(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """Why an event can't be now: the answer is another one, or the sequence number."""
        memory = memory or NOTHING_KEPT
        if kind in TOLD:
            return self._as_answered(memory, kind, row)
        if kind == "timed_out" and not 0 <= memory.open_ms <= self.now_ms - self.timeout_ms:
            return (FalseConjunct(kind, "txn.18", f"{self.timeout_ms} ms have passed since {memory.open_ms}"),)
        if row["hidden"] and SERVICE.get(kind) == "produce":
            return self._in_sequence(memory, kind, row)
        return ()

    def _as_answered(self, memory: Any, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        assert self.made is not None
        if kind == "record_failed" and self._asked() != "produce_answer":
            return ()  # given up by its producer
        said = [a[2:] for a in memory.answers if a[:2] == (TOLD[kind], row["request"])]
        error, number = row["error"], 0 if row["error"] else row["number"]
        if not said or any(_is_same(kind, error, e) and number in (n, number if n == 0 else n) for e, n in said):
            return ()
        told = ", ".join(f"error {e} with {n}" if n else f"error {e}" for e, n in sorted(set(said)))
        words = f"the answer is one that this request may have had: {told}"
        return (FalseConjunct(kind, "", f"{words}; it is error {error}" + (f" with {number}" if number else "")),)

    def _in_sequence(self, memory: Memory, kind: str, row: Row) -> tuple[FalseConjunct, ...]:
        """A record that follows on is written, and so is, once, one of the last five; any other is not."""
        lane, sequence, number = memory.lane(row["partition"]), self.sequences.get(row["request"], -1), row["number"]
        if sequence < 0 or (lane is None and sequence > 0 and not self.bumps):
            fits, gap = True, sequence >= 0  # an offset, or a producer that the partition does not know
        elif lane is None:
            fits, gap = sequence == 0, sequence != 0
        else:
            fits = lane.takes(number, sequence) or lane.has(number, sequence)
            # In v1 a record may have been forgotten at the end of its transaction.
            gap = not lane.takes(number, sequence) and not (self.bumps and lane.has(number, sequence))
        gap = gap or memory.is_behind_question(row["partition"], sequence)
        if kind == "record_written" and not fits:
            return (FalseConjunct(kind, "txn.13", f"sequence number {sequence} follows on: {lane}"),)
        if kind != "record_written" and row["error"] == codes.OUT_OF_ORDER and not gap:
            return (FalseConjunct(kind, "txn.14", f"sequence number {sequence} does not follow on: {lane}"),)
        return ()

    def remember(self, memory: Any, kind: str, row: Row, before: State, state: State) -> Any:
        """Answers that leave, and those that have arrived; sequence numbers."""
        kept: Memory = memory or NOTHING_KEPT
        kept = kept.only(self._on_their_way())
        if self.timeouts and (before["phase"] == ONGOING) != (state["phase"] == ONGOING):
            kept = kept._replace(open_ms=self.before_ms if state["phase"] == ONGOING else -1)
        if kind not in SERVICE:
            return kept.written(row["partition"], row["number"] if self.bumps else 0) if kind == "marked" else kept
        sequence = self.sequences.get(row["request"], -1)
        if kind == "record_written":
            kept = kept.written(row["partition"], 0).with_record(row["partition"], row["number"], sequence)
        elif kind == "record_refused" and self._asks_in_vain(kept, row):
            kept = kept.asking(row["partition"], sequence)
        if not self._is_answered() or row["request"] not in self.wanted.values():
            return kept
        number = state["epoch"] if kind == "init_given" or (kind == "end_done" and self.bumps) else 0
        return kept.with_answer((SERVICE[kind], row["request"], row["error"], number))

    def _asks_in_vain(self, memory: Memory, row: Row) -> bool:
        """Where another record may come before the question is forgotten: one of a newer epoch, or (v1) of the next
        transaction."""
        lane = memory.lane(row["partition"])
        newer = lane is not None and row["number"] < lane.number
        return bool(self.asks and (newer if self.bumps else row["error"] != codes.OUT_OF_ORDER))

    def _on_their_way(self) -> set[tuple[str, int]]:
        """Answers that somebody may still take: those that this call delivers among them."""
        assert self.made is not None
        flying = {(kind.removesuffix("_answer"), n) for kind, n in self.requests.flying if kind.endswith("_answer")}
        if self.made.message is not None and self._asked().endswith("_answer"):
            flying.add((self._asked().removesuffix("_answer"), self.made.message[4]))
        wanted = set(self.wanted.values())
        return {(kind, n) for kind, n in flying if n in wanted}

    def clear_up(
        self, made: Made, states: list[State], messages: Sequence[Message], take: Take
    ) -> tuple[list[State], list[str]]:
        """What can't matter any more is forgotten, so that states that do not differ otherwise are one."""
        return [_without_the_past(state) for state in states], []

    def overdue(self, made: Made, memory: Any) -> tuple[FalseConjunct, ...]:
        """Nothing is due at any time."""
        return ()


def _without_the_past(state: State) -> State:
    """Markers of earlier rounds, which come no more, and questions about what is written."""
    current = state["marker_epoch"] if state["phase"] == PREPARED else 0
    kept = dict(state)
    if any(marker[1] != current for marker in state["markers"]):
        kept["markers"] = {marker: True for marker in state["markers"] if marker[1] == current}
    for name in ("asked", "cleared"):
        if any(key in state["fate"] for key in state.get(name, ())):
            kept[name] = {key: value for key, value in state[name].items() if key not in state["fate"]}
    return kept


def _is_same(kind: str, told: int, answered: int) -> bool:
    """Is this the code that was answered, or one that stands for it?"""
    if TOLD[kind] != "produce":
        return told == answered or (told in AWAY and answered in AWAY)
    if answered == OLD_OR_LATER:
        return told in FENCING | LATER
    if answered in LATER:
        return told in LATER
    return told == answered or (told in FENCING and answered in FENCING)


__all__ = ["SERVED", "RemoteInterpreter"]
