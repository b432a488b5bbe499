"""What a recording leaves open: whose request is behind a record of the transaction log, which no row says."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.properties.agreement import PlainInterpreter, Row, Seen, State
from fencepost.properties.transactions.observations.events import EMPTY, ONGOING, PREPARE_ABORT, PREPARE_COMMIT
from fencepost.properties.transactions.observations.recorded import COLUMNS
from fencepost.properties.transactions.online.members import NO_OUTCOME
from fencepost.properties.transactions.online.members import ONGOING as OPEN

NOT_THERE: Mapping[str, Any] = dict.fromkeys(COLUMNS, False) | {
    "client": -1, "txn": -1, "partition": -1, "further": -1, "number": 0, "next_base": 0, "named": 0, "to": 0,
    "logged": -1, "term": 0, "error": 0, "counts": True, "by_owner": True, "busy": True, "away": True, "durable": True,
}  # fmt: skip
"""That something is on its way to a log, or that a coordinator is away, nothing shows: ``busy`` and ``away``."""


class Unseen(PlainInterpreter):
    """Tries every cause.  ``added``: transactions and partitions for which an AddPartitionsToTxn was sent, where
    clients do that."""

    columns = COLUMNS

    def __init__(self, *, bumps: bool, added: frozenset[tuple[int, int]]) -> None:
        self.bumps, self.added = bumps, added

    def row_of_event(self, event: Any, states: Sequence[State]) -> dict[str, Any]:
        """Rows are laid out already: an event is its columns."""
        return {**NOT_THERE, **event}

    def choices(self, state: State, seen: Seen, row: Row) -> Iterator[Row]:
        """Every cause that a record may have, the likely ones first."""
        if seen.kind != "txn_logged":
            yield row
        elif row["logged"] == EMPTY:
            yield from self._inits(state, row)
        elif row["logged"] == ONGOING:
            yield from self._additions(state, row)
        elif row["logged"] in (PREPARE_COMMIT, PREPARE_ABORT):
            yield from self._ends(state, row)
        else:
            yield row

    @staticmethod
    def _inits(state: State, row: Row) -> Iterator[Row]:
        """An InitProducerId that is under way, or a copy of one that was answered."""
        asking = [client for (client,), asks in state["asking"].items() if asks]
        for client in asking:
            named = state["holds"].get((client,), 0) if state["again"].get((client,)) else 0
            yield {**row, "client": client, "named": named, "of_init": True, "by_owner": False}
        for name in ("ready", "dead", "again"):
            for (client,), there in state[name].items():
                if there and client not in asking:
                    late = {"client": client, "late": True, "of_init": True, "by_owner": False}
                    yield {**row, **late, "unlikely": True}

    def _additions(self, state: State, row: Row) -> Iterator[Row]:
        live, ongoing = row["number"], state["phase"] == OPEN
        mine = [txn for (txn,), number in state["number"].items() if number == live]
        there = state["sent"] if self.bumps else dict.fromkeys(self.added, True)
        places = [(t, p) for (t, p), sent in there.items()
                  if sent and t in mine and not (ongoing and state["parts"].get((p,)))]  # fmt: skip
        for txn, partition in places:
            yield {**row, "txn": txn, "partition": partition}
        for txn, partition in places:
            for other, further in places:
                if txn == other and partition < further:
                    yield {**row, "txn": txn, "partition": partition, "further": further, "more": True,
                           "unlikely": True}  # fmt: skip

    def _ends(self, state: State, row: Row) -> Iterator[Row]:
        """An EndTxn, the InitProducerId of another producer, or the time that is up."""
        for (txn,), choice in state["choice"].items():
            if choice != NO_OUTCOME and state["number"].get((txn,), 0) == state["epoch"]:
                yield {**row, "txn": txn, "by_owner": True}
        if row["logged"] == PREPARE_ABORT:
            yield from self._inits(state, row)
            yield {**row, "by_owner": False, "of_init": False, "unlikely": True}
