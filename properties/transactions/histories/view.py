"""This module gives properties a view of histories, with the tables of logs, offsets and readers.

The tables have who sent, decided, logged and read what, ordered once and shared. A table is indexed by a record's
(transaction's, producer id's …) number over all histories of the piece and has a row: the first that sent it, the
marker that decided it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.properties.history.checking import Rows, found
from fencepost.properties.history.cuts import cuts_of
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER, NONE, Groups, contained, joined, last_rows, numbered
from fencepost.properties.history.naming import Words
from fencepost.properties.history.pieces import Columns, sorted_stably
from fencepost.properties.history.timelines import Timeline, taken
from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, TRANSACTIONS, Kind, State

WHOLE = np.iinfo(np.int64).min  # below all offsets, and below -1, which stands for none
MAX_EPOCH = 32767  # Kafka's: reserved for fencing, so that no client ever gets it


@dataclass(frozen=True)
class Fences:
    """`Fences` has the rows at which an InitProducerId or Admin.fenceProducers was answered without an error, and what
    it was about."""

    rows: np.ndarray
    asked: np.ndarray  # the row at which the request left; NONE if that is not known
    txn_id: np.ndarray  # number of the transactional id


class TransactionView(EventView):
    """A `TransactionView` has lazily computed parts of one piece. `columns` are sorted by (history, step) and have
    whole histories. `config` is that of the manifest: mode (default v2), release (of Kafka; default 4.0), max_epoch,
    quiet_end, cuts."""

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
    def _visible_from(self) -> np.ndarray:
        largest = max((value for cut in self.cut_partitions for value in cut.values), default=-1)
        table = np.full(largest + 2, WHOLE)
        for cut in self.cut_partitions:
            table[[*cut.values]] = cut.below
        return table

    def _first_offset(self, rows: np.ndarray) -> np.ndarray:
        partition, others = self.at("partition", rows), len(self._visible_from) - 1
        first: np.ndarray = self._visible_from[np.where((partition >= 0) & (partition < others), partition, others)]
        return first

    def is_shown(self, rows: np.ndarray) -> np.ndarray:
        """Return whether these rows' offset of their partition is observed, and every later offset with it."""
        observed: np.ndarray = self.at("offset", rows) >= self._first_offset(rows)
        return observed

    def is_from_start(self, rows: np.ndarray) -> np.ndarray:
        from_start: np.ndarray = self._first_offset(rows) == WHOLE
        return from_start

    def has_prepares(self, markers: np.ndarray) -> np.ndarray:
        """Return whether every Prepare record of the pair of these markers is observed, if there was one.

        The epochs of a producer id never go down in a log: if the first record of it that is observed has a lower epoch
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
        """Return for each record the row at which the record was first sent."""
        return self.numbers_of("record").first(self.rows_of(Kind.record_sent))

    @cached_property
    def acked(self) -> np.ndarray:
        """Return for each record the row at which its owner first got a successful answer."""
        return self.numbers_of("record").first(self.rows_of(Kind.record_acked))

    @cached_property
    def owners(self) -> np.ndarray:
        """Return by record the number of the transaction as part of which it was first sent."""
        txns = self.numbers_of("txn")
        return taken(txns.of, self.sent, txns.size)

    def sent_at(self, rows: np.ndarray) -> np.ndarray:
        sent: np.ndarray = self.sent[self.numbers_of("record").of[rows]]
        return sent

    def owner(self, rows: np.ndarray) -> np.ndarray:
        owner: np.ndarray = self.owners[self.numbers_of("record").of[rows]]
        return owner

    def _first_of_txn(self, rows: np.ndarray, outcome: int) -> np.ndarray:
        return self.numbers_of("txn").first(rows[self.columns["outcome"][rows] == outcome])

    def asked(self, outcome: int) -> np.ndarray:
        """Return by transaction the row at which its owner first asked for this outcome."""
        return self._first_of_txn(self.rows_of(Kind.end_sent), outcome)

    @cached_property
    def commit_asked(self) -> np.ndarray:
        return self.asked(COMMIT)

    @cached_property
    def commit_reported(self) -> np.ndarray:
        """Return by transaction the row at which its owner was first answered that it is committed."""
        return self._first_of_txn(self.fine(Kind.end_told), COMMIT)

    @cached_property
    def abort_reported(self) -> np.ndarray:
        """Return by transaction the row at which its owner was first answered that it is aborted."""
        return self._first_of_txn(self.fine(Kind.end_told), ABORT)

    @cached_property
    def fences(self) -> Fences:
        """Return every bump of an epoch that a client was informed of."""
        rows = self.fine(Kind.init_taken, Kind.fence_told)
        rows = rows[self.columns["producer_id"][rows] >= 0]
        requests = self.numbers_of("request")
        asked = requests.first(self.rows_of(Kind.init_sent))[requests.of[rows]]
        known = asked != NEVER
        about = np.where(known, asked, rows)  # an admin's answer names its id itself
        return Fences(rows, np.where(known, asked, NONE), self.numbers_of("txn_id").of[about])

    @cached_property
    def given(self) -> np.ndarray:
        """Return the rows at which an instance learns a pair that is its own from now on."""
        rows = self.fine(Kind.init_taken, Kind.fence_told, Kind.end_told)
        given: np.ndarray = rows[self.columns["producer_id"][rows] >= 0]
        return given

    @cached_property
    def first_given(self) -> np.ndarray:
        return self.numbers_of("producer_id").first(self.given)

    @cached_property
    def fences_of_id(self) -> Timeline:
        return self.timeline_of(("producer_id",), self.fences.rows)

    @cached_property
    def fences_of_txn_id(self) -> Timeline:
        return Timeline(self.fences.rows, self.fences.txn_id, self.size)

    @cached_property
    def fence_asked(self) -> np.ndarray:
        """Return by row, for fences, the row at which the request left; NONE if that is not known."""
        asked = np.full(self.size, NONE)
        asked[self.fences.rows] = self.fences.asked
        return asked

    # Logs: of partitions by producer id, and of the transaction coordinator.

    @cached_property
    def log(self) -> Groups:
        """Return the batches and markers of each producer id on each partition, in order of offset."""
        return self.groups_of((Kind.batch_appended, Kind.marker_appended), ("partition", "producer_id"), True, "offset")

    @cached_property
    def log_is_marker(self) -> np.ndarray:
        is_marker: np.ndarray = self.columns["kind"][self.log.rows] == Kind.marker_appended
        return is_marker

    @cached_property
    def decided(self) -> np.ndarray:
        """Return by row, for batches, the row of the marker that closed their transaction; NEVER if it is open."""
        marker = self.log.after(self.log_is_marker)
        decided = np.full(self.size, NEVER)
        decided[self.log.rows] = np.where(marker == NONE, NEVER, self.log.rows[marker])
        return decided

    @cached_property
    def decisions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return for each batch that is decided its row, the row of the marker, and the number of the record's
        transaction."""
        batches = self.rows_of(Kind.batch_appended)
        batches = batches[self.decided[batches] != NEVER]
        return batches, self.decided[batches], self.owner(batches)

    @cached_property
    def logged(self) -> Groups:
        """Return the records of the transaction log, grouped by transactional id."""
        return self.groups_of((Kind.txn_logged,), ("txn_id",), True, "")

    @cached_property
    def prepares(self) -> np.ndarray:
        """Return the rows at which a Prepare record became durable, ascending."""
        rows, state = self.rows_of(Kind.txn_logged), self.columns["state"]
        prepares: np.ndarray = rows[(state[rows] == State.PrepareCommit) | (state[rows] == State.PrepareAbort)]
        return prepares

    def outcome_of(self, prepares: np.ndarray) -> np.ndarray:
        outcome: np.ndarray = (self.columns["state"][prepares] == State.PrepareCommit).astype(np.int64)
        return outcome


# A violated property of transactions is reported in these words.

NAMES = {"outcome": {0: "abort", 1: "commit"}, "state": {state.value: state.name for state in State}}
_WORDS = Words(TRANSACTIONS, hidden=("node", "request"), names=NAMES)  # of no help to a reader

saying = _WORDS.saying


def out_of_sequence(view: TransactionView, row: int, other: int) -> str:
    """Return in words that a batch does not follow on the other, or has its number, as a copy of it would."""
    batch = other >= 0 and view.columns["kind"][other] == Kind.batch_appended
    copy = batch and all(view.columns[name][row] == view.columns[name][other] for name in ("epoch", "sequence"))
    return saying("has the sequence number of" if copy else "does not follow on")(view, row, other)


# Kernels about the logs of partitions: batches, markers, and the last stable offset.


def stable_below_open(view: TransactionView) -> Rows:
    """Compare last stable offsets with the batches below them and the markers that close these."""
    moves, batches = view.rows_of(Kind.stable_moved), view.rows_of(Kind.batch_appended)
    rows = np.concatenate([batches, moves])
    partition = joined(view.place[rows], view.columns["partition"][rows])
    key = joined(partition, np.concatenate([view.at("offset", batches), view.at("upto", moves)]))
    groups = Groups(batches, partition[: len(batches)], by=key[: len(batches)])
    latest = groups.greatest(np.minimum(view.decided[groups.rows], view.size))
    at = np.searchsorted(key[groups.order], key[len(batches) :]) - 1  # strictly below
    there = at >= 0
    there[there] &= groups.number[at[there]] == partition[len(batches) :][there]
    safe = np.where(there, at, 0)
    if not len(batches):
        return Rows(len(moves), moves[:0], moves[:0])
    return found(moves, there & (latest[safe] > moves), groups.rows[groups.reached(latest)[safe]])


def none_hanging(view: TransactionView) -> Rows:
    """Judge the last row of each producer id on a partition: if a batch is open, its coordinator must be about to close
    it. Where the transaction log is cut, only producer ids in the observed part are judged."""
    log = view.log
    last = np.append(~log.same[1:], True)[: len(log.rows)]
    judged = log.rows[last]
    ids = view.numbers_of("producer_id")
    logged = view.rows_of(Kind.txn_logged)
    table = last_rows(ids.of[logged], logged, ids.size + 1)
    table[ids.size] = NONE
    latest = table[ids.of[judged]]
    if view.cut_logs:
        last[last] = latest != NONE
        judged, latest = log.rows[last], latest[latest != NONE]
    ongoing = (latest != NONE) & (view.columns["state"][latest] == State.Ongoing)
    return found(judged, ~view.log_is_marker[last] & ~ongoing, np.where(latest == NONE, NEVER, latest))


# Kernels about the offsets that groups commit in transactions, and what OffsetFetch makes of them.


def _offsets(view: TransactionView) -> np.ndarray:
    return view.fine(Kind.offset_fetched)


def group_offsets_kept(view: TransactionView) -> Rows:
    """Compare the offsets fetched with those acknowledged before, of transactions reported committed."""
    acks = view.rows_of(Kind.record_acked)
    return _older_offsets(view, acks[view.commit_reported[view.owner(acks)] != NEVER])


def group_offsets_forward(view: TransactionView) -> Rows:
    """Compare the offsets fetched with those fetched before."""
    return _older_offsets(view, _offsets(view))


def _older_offsets(view: TransactionView, known: np.ndarray) -> Rows:
    """Return the offsets fetched although one of a later transaction was `known` before; no offset at all is the
    oldest.

    A transaction is later if it has the same transactional id and sent its first record when the one before was
    reported committed already. Otherwise clients cannot decide: until the marker is written, a late copy of
    TxnOffsetCommit, which has no sequence number, may undo what is younger.
    """
    fetched, records = _offsets(view), view.columns["record"]
    both = np.concatenate([known, fetched])
    partition = joined(view.place[both], view.columns["partition"][both])
    known = known[contained(partition[: len(known)], partition[len(known) :])]
    none = fetched[records[fetched] < 0]
    some = _against(view, fetched[records[fetched] >= 0], known, of_one_id=True)
    rest = _against(view, none, known, of_one_id=False)
    return Rows(len(fetched), np.concatenate([some.at, rest.at]), np.concatenate([some.other, rest.other]))


def _against(view: TransactionView, fetched: np.ndarray, known: np.ndarray, of_one_id: bool) -> Rows:
    txns = view.numbers_of("txn")
    rows = np.concatenate([fetched, known])
    order = np.argsort(rows, kind="stable")  # at one row, what is known there is not yet known to it
    rows, is_known = rows[order], order >= len(fetched)
    sent = view.sent_at(rows)
    ids = np.where(sent == NEVER, NONE, view.columns["txn_id"][np.where(sent == NEVER, 0, sent)]) * of_one_id
    groups = Groups(rows, numbered(view.place[rows], view.at("partition", rows), ids)[0])
    is_known = is_known[groups.order]
    start = txns.first(view.rows_of(Kind.record_sent))[view.owner(groups.rows)]
    newest = groups.greatest(np.where(is_known & (start != NEVER), start, NONE))
    reported = np.where(view.columns["record"][groups.rows] < 0, NONE, view.commit_reported[view.owner(groups.rows)])
    return found(groups.rows[~is_known], (reported < newest)[~is_known], newest[~is_known])


# Kernels about readers: what a read_committed reader, or OffsetFetch, must return and must not.

PAIRS = 4_000_000  # of a fetch and a record that it covers, looked at together


@dataclass(frozen=True)
class Covered:
    """`Covered` relates acknowledged records to the fetches that cover their offsets. In `order` of partition and
    offset, those from `low` up to `high` are covered by a fetch. `fetch` and `ack` are the pairs whose record the
    reader is not given: a row, and a place among the records."""

    order: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fetch: np.ndarray
    ack: np.ndarray

    @classmethod
    def of(cls, view: TransactionView, acks: np.ndarray) -> "Covered":
        """Return this relation for the records acknowledged at these rows."""
        fetches = _whole_fetches(view)
        begin, end = view.at("offset", fetches), view.at("upto", fetches)
        rows = np.concatenate([acks, fetches, fetches])
        key = joined(
            view.place[rows], view.columns["partition"][rows], np.concatenate([view.at("offset", acks), begin, end])
        )
        of_acks, first, last = np.split(key, [len(acks), len(acks) + len(fetches)])
        order, of_acks = sorted_stably(of_acks)
        low, high = np.searchsorted(of_acks, first), np.searchsorted(of_acks, last)
        high = np.where(begin < end, high, low)
        many = high - low
        reads, numbers = view.rows_of(Kind.record_read), view.numbers_of("record")
        both = view.rows_of(Kind.fetched, Kind.record_read)
        reader = view.numbers(both, view.at("client", both)).of
        given = reader[reads] * (numbers.size + 1) + numbers.of[reads]
        found_at, found_ack = [acks[:0]], [acks[:0]]
        # Readers that all start over cover a record again and again: so many pairs at once, and no more.
        portions = np.cumsum(many) // PAIRS
        for part in np.split(np.arange(len(fetches)), np.flatnonzero(portions[1:] > portions[:-1]) + 1):
            times = many[part]
            fetch = np.repeat(fetches[part], times)
            ack = order[np.arange(len(fetch)) - np.repeat(np.cumsum(times) - times - low[part], times)]
            out = ~contained(reader[fetch] * (numbers.size + 1) + numbers.of[acks[ack]], given)
            found_at.append(fetch[out])
            found_ack.append(ack[out])
        return cls(order, low, high, np.concatenate(found_at), np.concatenate(found_ack))


def _left_out(view: TransactionView, committed: bool) -> Rows:
    """Compare each acknowledged record with each fetch that covers its offset, and return those that the reader is not
    given. The records are those of the transactions reported committed, or of those of which some reader was given a
    record."""
    key = "covered by fetches"
    if key not in view.related:
        acks, reads, txns = _acks(view), view.rows_of(Kind.record_read), view.numbers_of("txn")
        observed = np.zeros(txns.size + 1, bool)
        observed[view.owner(reads)] = True
        observed[txns.size] = False
        owner = view.owner(acks)
        reported, observed = view.commit_reported[owner] != NEVER, observed[owner]
        of_some = reported | observed
        acks = acks[of_some]
        view.related[key] = acks, reported[of_some], observed[of_some], Covered.of(view, acks)
    acks, reported, observed, covered = view.related[key]
    chosen = reported if committed else observed
    before = np.concatenate([[0], np.cumsum(chosen[covered.order])])  # so many of the chosen, by place in order
    judged = int((before[covered.high] - before[covered.low]).sum())
    out = chosen[covered.ack]
    return Rows(judged, covered.fetch[out], acks[covered.ack[out]])


def _whole_fetches(view: TransactionView) -> np.ndarray:
    """Return the fetches except for one at the very end of a history, which may be cut short unless the history is
    declared complete."""
    fetches = view.rows_of(Kind.fetched)
    if view.quiet_end:
        return fetches
    reads = view.rows_of(Kind.record_read)
    final = np.append(view.place[fetches][1:] != view.place[fetches][:-1], True)[: len(fetches)]
    end = np.searchsorted(view.place, view.place[fetches[final]], side="right")
    after = np.searchsorted(reads, end) - np.searchsorted(reads, fetches[final])
    cut = np.zeros(len(fetches), bool)
    cut[final] = after == end - fetches[final] - 1  # nothing but records read comes after it
    whole: np.ndarray = fetches[~cut]
    return whole


def _acks(view: TransactionView) -> np.ndarray:
    acks = view.rows_of(Kind.record_acked)
    placed: np.ndarray = acks[view.columns["offset"][acks] >= 0]
    return placed


def commits_kept(view: TransactionView) -> Rows:
    """Judge the acknowledged records of transactions reported committed."""
    return _left_out(view, committed=True)


def transactions_whole(view: TransactionView) -> Rows:
    """Judge the acknowledged records of transactions of which some reader was given a record."""
    return _left_out(view, committed=False)
