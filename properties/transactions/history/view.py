"""What the properties of transactions look at: who sent, decided, logged and read what, ordered once and shared.

A table is indexed by a record's (transaction's, producer id's …) number over all histories of the piece and holds a
row: the first that sent it, the marker that decided it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.properties.history.cuts import cuts_of
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER, NONE, Groups
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.timelines import Timeline, taken
from fencepost.properties.transactions.history.events import ABORT, COMMIT, Kind, State

WHOLE = np.iinfo(np.int64).min  # below all offsets, and below -1, which stands for none
MAX_EPOCH = 32767  # Kafka's: reserved for fencing, so that no client ever gets it


@dataclass(frozen=True)
class Fences:
    """Rows at which an InitProducerId or Admin.fenceProducers was answered without an error, and what it was about."""

    rows: np.ndarray
    asked: np.ndarray  # the row at which the request left; NONE if that is not known
    txn_id: np.ndarray  # number of the transactional id


class TransactionView(EventView):
    """Lazily computed parts of one piece. `columns` are sorted by (history, step) and hold whole histories.

    `config` is that of the manifest: mode (v2 if it does not say), release (of Kafka; 4.0), max_epoch, quiet_end, cuts.
    """

    def __init__(self, columns: Columns, config: Mapping[str, Any]) -> None:
        super().__init__(columns, config)
        self.is_v2 = config.get("mode", "v2") in ("v2", "mixed")  # what v2 may do, some client of a mixture may
        # An abort that fences raises the epoch by this; in v2 by one more than an EndTxn until KAFKA-19367.
        self.fence_bump = 2 if self.is_v2 and str(config.get("release", "4.0")) == "4.0" else 1
        self.max_epoch = int(config.get("max_epoch", MAX_EPOCH))
        self.quiet_end = bool(config.get("quiet_end"))
        cuts = cuts_of(config)
        self.cut_partitions = [cut for cut in cuts if Kind.batch_appended.name in cut.kinds]
        self.cut_logs = [cut for cut in cuts if Kind.txn_logged.name in cut.kinds]

    # What is left of logs of which something is gone.

    @cached_property
    def _shown_from(self) -> np.ndarray:
        """By partition: the offset from which on its log is shown; WHOLE, as of all others, if that is all of it."""
        largest = max((value for cut in self.cut_partitions for value in cut.values), default=-1)
        table = np.full(largest + 2, WHOLE)
        for cut in self.cut_partitions:
            table[[*cut.values]] = cut.below
        return table

    def _first_offset(self, rows: np.ndarray) -> np.ndarray:
        partition, others = self.at("partition", rows), len(self._shown_from) - 1
        first: np.ndarray = self._shown_from[np.where((partition >= 0) & (partition < others), partition, others)]
        return first

    def is_shown(self, rows: np.ndarray) -> np.ndarray:
        """Whether what lies at the partition and offset of these rows is shown, and all that comes after it."""
        shown: np.ndarray = self.at("offset", rows) >= self._first_offset(rows)
        return shown

    def is_from_start(self, rows: np.ndarray) -> np.ndarray:
        """Whether the log of the partition of these rows is shown from its first record on."""
        from_start: np.ndarray = self._first_offset(rows) == WHOLE
        return from_start

    def has_prepares(self, markers: np.ndarray) -> np.ndarray:
        """Whether every Prepare record of the pair of these markers is shown, if there was one.

        The epochs of a producer id never go down in a log: if the first record that is shown of it has a lower epoch
        than the marker, all records of the marker's epoch come later. And a producer id that stands in a log that is
        whole stands in no other.
        """
        if not self.cut_logs:
            return np.ones(len(markers), bool)
        ids, cut = self.numbers_of("producer_id"), [value for log in self.cut_logs for value in log.values]
        first = ids.first(self.rows_of(Kind.txn_logged))[ids.of[markers]]
        row = np.where(first == NEVER, 0, first)
        whole = ~np.isin(self.columns["txn_id"][row], cut)
        has: np.ndarray = (first != NEVER) & (whole | (self.columns["epoch"][row] < self.columns["epoch"][markers]))
        return has

    # Records and the transactions of their owners, as clients know them.

    @cached_property
    def sent(self) -> np.ndarray:
        """By record: the row at which it was first sent."""
        return self.numbers_of("record").first(self.rows_of(Kind.record_sent))

    @cached_property
    def acked(self) -> np.ndarray:
        """By record: the row at which its owner first took a success."""
        return self.numbers_of("record").first(self.rows_of(Kind.record_acked))

    @cached_property
    def owners(self) -> np.ndarray:
        """By record: the number of the transaction as part of which it was first sent."""
        txns = self.numbers_of("txn")
        return taken(txns.of, self.sent, txns.size)

    def sent_at(self, rows: np.ndarray) -> np.ndarray:
        """For rows with a record: the row at which it was first sent."""
        sent: np.ndarray = self.sent[self.numbers_of("record").of[rows]]
        return sent

    def owner(self, rows: np.ndarray) -> np.ndarray:
        """For rows with a record: the number of the transaction as part of which it was first sent."""
        owner: np.ndarray = self.owners[self.numbers_of("record").of[rows]]
        return owner

    def _first_of_txn(self, rows: np.ndarray, outcome: int) -> np.ndarray:
        return self.numbers_of("txn").first(rows[self.columns["outcome"][rows] == outcome])

    def asked(self, outcome: int) -> np.ndarray:
        """By transaction: the row at which its owner first asked for this outcome."""
        return self._first_of_txn(self.rows_of(Kind.end_sent), outcome)

    @cached_property
    def commit_asked(self) -> np.ndarray:
        """By transaction: the row at which its owner first asked for a commit."""
        return self.asked(COMMIT)

    @cached_property
    def commit_told(self) -> np.ndarray:
        """By transaction: the row at which its owner was first told that it is committed."""
        return self._first_of_txn(self.fine(Kind.end_told), COMMIT)

    @cached_property
    def abort_told(self) -> np.ndarray:
        """By transaction: the row at which its owner was first told that it is aborted."""
        return self._first_of_txn(self.fine(Kind.end_told), ABORT)

    @cached_property
    def fences(self) -> Fences:
        """Every bump of an epoch that somebody was told of."""
        rows = self.fine(Kind.init_taken, Kind.fence_told)
        rows = rows[self.columns["producer_id"][rows] >= 0]
        requests = self.numbers_of("request")
        asked = requests.first(self.rows_of(Kind.init_sent))[requests.of[rows]]
        known = asked != NEVER
        about = np.where(known, asked, rows)  # an admin's answer says itself which id it is about
        return Fences(rows, np.where(known, asked, NONE), self.numbers_of("txn_id").of[about])

    @cached_property
    def given(self) -> np.ndarray:
        """Rows at which an instance learns a pair that is its own from now on."""
        rows = self.fine(Kind.init_taken, Kind.fence_told, Kind.end_told)
        given: np.ndarray = rows[self.columns["producer_id"][rows] >= 0]
        return given

    @cached_property
    def first_given(self) -> np.ndarray:
        """By producer id: the row at which it was first given."""
        return self.numbers_of("producer_id").first(self.given)

    @cached_property
    def fences_of_id(self) -> Timeline:
        """Fences by producer id."""
        return self.timeline_of(("producer_id",), self.fences.rows)

    @cached_property
    def fences_of_txn_id(self) -> Timeline:
        """Fences by the transactional id that they are about."""
        return Timeline(self.fences.rows, self.fences.txn_id, self.size)

    @cached_property
    def fence_asked(self) -> np.ndarray:
        """By row, for fences: that at which the request left; NONE if that is not known."""
        asked = np.full(self.size, NONE)
        asked[self.fences.rows] = self.fences.asked
        return asked

    # Logs: of partitions by producer id, and of the transaction coordinator.

    @cached_property
    def log(self) -> Groups:
        """Batches and markers of each producer id on each partition, in order of offset."""
        return self.groups_of((Kind.batch_appended, Kind.marker_appended), ("partition", "producer_id"), True, "offset")

    @cached_property
    def log_is_marker(self) -> np.ndarray:
        """For each row of `log`, whether it is a marker."""
        is_marker: np.ndarray = self.columns["kind"][self.log.rows] == Kind.marker_appended
        return is_marker

    @cached_property
    def decided(self) -> np.ndarray:
        """By row, for batches: the row of the marker that closed the transaction it lies in; NEVER if it is open."""
        marker = self.log.after(self.log_is_marker)
        decided = np.full(self.size, NEVER)
        decided[self.log.rows] = np.where(marker == NONE, NEVER, self.log.rows[marker])
        return decided

    @cached_property
    def logged(self) -> Groups:
        """The transaction log, by transactional id."""
        return self.groups_of((Kind.txn_logged,), ("txn_id",), True, "")

    @cached_property
    def prepares(self) -> np.ndarray:
        """Rows at which a Prepare record became durable, ascending."""
        rows, state = self.rows_of(Kind.txn_logged), self.columns["state"]
        prepares: np.ndarray = rows[(state[rows] == State.PrepareCommit) | (state[rows] == State.PrepareAbort)]
        return prepares

    def outcome_of(self, prepares: np.ndarray) -> np.ndarray:
        """The outcomes of Prepare records given by row."""
        outcome: np.ndarray = (self.columns["state"][prepares] == State.PrepareCommit).astype(np.int64)
        return outcome
