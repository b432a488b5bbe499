"""What an instance that was fenced is answered, whatever it asks for: nothing that it could go on with (txn.P1).

The readers' side of the promise, that nothing of it is ever read, shows only where there is something to be read; these
show at the answer. Fenced is whoever another was told a greater pair before the question was first sent: an answer to a
question that left before may be as late as it likes. Asked of driven runs alone, as `driven` says.
"""

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.transactions.history import fencing
from fencepost.properties.transactions.history.events import Kind
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

_GIVEN = frozenset({Kind.init_sent, Kind.init_taken, Kind.end_told, Kind.fence_told})


def fenced_never_given(view: TransactionView) -> Rows:
    """Pairs given by InitProducerId to who named a pair that was fenced."""
    taken = view.fine(Kind.init_taken)
    return _asked_while_fenced(view, taken, _asked(view, taken, Kind.init_sent))


def fenced_never_added(view: TransactionView) -> Rows:
    """AddPartitionsToTxn and AddOffsetsToTxn that succeeded."""
    taken = view.fine(Kind.add_taken)
    return _asked_while_fenced(view, taken, _asked(view, taken, Kind.add_sent))


def fenced_never_acknowledged(view: TransactionView) -> Rows:
    """Records and offsets acknowledged, by when they were first sent."""
    acked = view.rows_of(Kind.record_acked)
    return _asked_while_fenced(view, acked, view.sent_at(acked))


def _asked(view: TransactionView, rows: np.ndarray, kind: Kind) -> np.ndarray:
    """For answers: the row at which their request left."""
    requests = view.numbers_of("request")
    asked: np.ndarray = requests.first(view.rows_of(kind))[requests.of[rows]]
    return asked


def _asked_while_fenced(view: TransactionView, rows: np.ndarray, asked: np.ndarray) -> Rows:
    named = asked != NEVER
    named[named] &= view.columns["producer_id"][asked[named]] >= 0
    rows, asked = rows[named], asked[named]
    fence = fencing.fence_before(view, asked, asked)
    return found(rows, fence != NEVER, fence)


ANSWERS = (
    HistoryProperty(
        "fenced_never_given", "txn.P1", "InitProducerId gives nothing to who names a pair that was told fenced before",
        ("history",), fenced_never_given, saying("asked for after its pair had been fenced by"), _GIVEN,
        needs_order=True,
    ),
    HistoryProperty(
        "fenced_never_added", "txn.P1", "no partition is added for who was told fenced before asking for it",
        ("history",), fenced_never_added, saying("asked for after its pair had been fenced by"),
        _GIVEN | {Kind.add_sent, Kind.add_taken}, needs_order=True,
    ),
    HistoryProperty(
        "fenced_never_acknowledged", "txn.P1", "no record is acknowledged that was first sent by who was told fenced",
        ("history",), fenced_never_acknowledged, saying("first sent after its pair had been fenced by"),
        _GIVEN | {Kind.record_sent, Kind.record_acked}, needs_order=True, modes=("v1-verified", "v2"),
    ),
)  # fmt: skip
