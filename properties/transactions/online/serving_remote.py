"""In which ways brokers that act by themselves may have served a request, and what they may have done besides."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.properties.agreement import UNKNOWN, Beyond, Row, Seen, State
from fencepost.properties.transactions.observations import codes
from fencepost.properties.transactions.observations.calls_remote import SERVICE
from fencepost.properties.transactions.observations.remote import OLD_OR_LATER
from fencepost.properties.transactions.online import guesses
from fencepost.properties.transactions.online.interpreter import LATE_RECORD, TransactionsInterpreter
from fencepost.properties.transactions.online.members import (
    ABORTED,
    ABSENT,
    COMMIT,
    COMMITTED,
    END,
    FENCE,
    IDLE,
    INIT,
    ONGOING,
    PREPARED,
)

RECORD_REFUSALS = (
    codes.OUT_OF_ORDER, codes.CONCURRENT, codes.OLD_EPOCH, codes.INVALID_MAPPING, codes.ABORTABLE, OLD_OR_LATER,
)  # fmt: skip
REFUSALS = {
    "init_refused": (codes.CONCURRENT, codes.FENCED, codes.NOT_AVAILABLE),
    "add_refused": (codes.CONCURRENT, codes.FENCED, codes.INVALID_MAPPING, codes.NOT_AVAILABLE),
    "end_refused": (
        codes.CONCURRENT, codes.FENCED, codes.INVALID_MAPPING, codes.INVALID_STATE, codes.NOT_AVAILABLE,
    ),
}  # fmt: skip


class Serving(TransactionsInterpreter):
    """What is known of one cluster of brokers, and the rows that it leaves open."""

    def __init__(self, config: Mapping[str, Any], bounds: Mapping[str, int]) -> None:
        super().__init__(config, bounds)
        self.timeouts: bool = config["timeouts"]
        self.idle = frozenset()  # brokers do much that no call shows
        self.began, self.waited_ms, self.before_ms = time.monotonic(), 0, 0
        self.sequences: dict[int, int] = {}  # by request
        self.arrived: set[int] = set()  # records that were delivered before this call
        self.seen: set[tuple[int, int]] = set()  # (reader, record)
        self.wanted: dict[tuple[str, int], int] = {}  # by client or record: the request to which an answer is taken

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """The row with everything that is a matter of choice chosen, in every way.  Raises `Beyond`."""
        if not row["hidden"]:
            yield row
        elif seen.kind == "unanswered":
            if not self._is_answered():
                yield row
        elif seen.kind in ("marked", "completed", "timed_out"):
            yield from self._uncalled(state, seen.kind, row)
        elif seen.kind == "fenced_before":
            if row["request"] is not UNKNOWN:
                yield from self._served(state, "init_fenced", row)
        elif row["request"] is not UNKNOWN and SERVICE.get(seen.kind) == self._asked():
            yield from self._served(state, seen.kind, row)

    def _asked(self) -> str:
        """The kind of request that this call delivers."""
        assert self.made is not None
        return self.made.call.kind if self.made.call.name == "deliver" else ""

    def _is_answered(self) -> bool:
        assert self.made is not None and self.made.message is not None
        return (self.made.call.kind, self.made.message[4]) in self.requests.answered

    def _uncalled(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if kind == "timed_out":
            if state["phase"] == ONGOING:
                yield from self._fenced(state, row)
        elif state["phase"] != PREPARED:
            return
        elif kind == "completed":
            yield row
        else:
            commit = state["outcome"] == COMMIT
            marker = {"number": state["marker_epoch"], "commit": commit, "term": state["term"]}
            yield from ({**row, **marker, "partition": p} for (p,) in state["parts"] if (p,) not in state["marked"])

    def _served(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        if kind in REFUSALS:
            number = row["number"] if kind == "add_refused" else 0
            yield from ({**row, "error": error, "number": number} for error in REFUSALS[kind])
        elif kind == "init_given":
            self._require_epochs(state)
            if state["phase"] == IDLE:
                yield from self._given(state, row)
        elif kind == "init_fenced":
            if state["phase"] == ONGOING:
                for asked in self._asked_by(state, row["request"], dict(row)):
                    yield from self._fenced(state, {**asked, "error": codes.CONCURRENT})
        elif kind == "end_done":
            self._require_epochs(state)
            choice = state["choice"].get((row["txn"],), 0)
            pending = {**state, "pending": END, "of_txn": row["txn"]}
            records = list(guesses.logged(pending, self.numbering.last, self.bumps)) if choice else []
            yield from ({**row, **record, "error": 0} for record in records)
        elif kind == "add_done":
            yield {**row, "error": 0}
        else:
            yield from self._records(state, kind, row)

    def _given(self, state: State, row: Row) -> Iterator[Row]:
        [new] = guesses.logged({**state, "pending": INIT}, self.numbering.last, self.bumps)
        for asked in self._asked_by(state, row["request"], dict(row)):
            yield {**asked, "number": state["epoch"] if asked["named"] == state["remembers"] != 0 else new["number"]}

    def _fenced(self, state: State, row: Row) -> Iterator[Row]:
        self._require_epochs(state)
        [record] = guesses.logged({**state, "pending": FENCE}, self.numbering.last, self.bumps)
        for number in (record["number"], *((state["epoch"] + 1,) if self.bumps else ())):
            yield {**row, **record, "number": number, "to": self.numbering.after_prepare(number, self.bumps)}

    def _records(self, state: State, kind: str, row: Row) -> Iterator[Row]:
        """What a partition does with a record is decided by its sequence number, which `barred` looks at."""
        fate = state["fate"].get((row["txn"], row["partition"]), ABSENT)
        request = self.requests.sent[row["request"]]
        known = state["known"].get((row["partition"],), 0)
        over = fate in (COMMITTED, ABORTED)
        new = request.record not in self.arrived or row["partition"] >= self.data  # an offset is written once more
        if over and not self.bumps and request.number >= known and new:
            raise Beyond(LATE_RECORD)
        if kind == "record_written":
            if not (self.bumps and over):
                yield {**row, "error": 0}
        elif kind == "record_added":
            yield {**row, "error": codes.OUT_OF_ORDER}
        else:
            wrong = (codes.INVALID_STATE,) if self.timeouts else ()
            yield from ({**row, "error": error} for error in (*RECORD_REFUSALS, *wrong))
