"""Whether the clients of a history get on, as far as what they were told shows it (txn.P11).

A client whose last transactions were all given up for one and the same error, while others committed theirs, will not
commit again: what it repeats is its own mistake, or one that is held against it alone.  One such transaction says
nothing, nor do two: what was lost or late may be behind each.  A driven run says more (`scenarios.progress`), which
waits until faults have stopped.
"""

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.transactions.history.events import COMMIT, Kind
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import saying

GIVEN_UP = 7
"""REQUEST_TIMED_OUT: a client's own word for what it no longer waits for, whatever was wrong."""
IN_A_ROW = 3
"""So many of its last transactions are looked at, if the config of the histories does not say another number under
`failed_in_a_row`."""


def clients_get_on(view: TransactionView) -> Rows:
    """The failures of clients whose last transactions failed alike, since the first of which another has committed."""
    count = int(view.config.get("failed_in_a_row", IN_A_ROW))
    client, error, txns = view.columns["client"], view.columns["error"], view.numbers_of("txn")
    failed = view.rows_of(Kind.record_failed, Kind.end_told)
    failed = failed[(error[failed] != 0) & (error[failed] != GIVEN_UP) & (view.columns["txn"][failed] >= 0)]
    begun = view.rows_of(Kind.txn_begun)
    first = txns.first(begun)[txns.of[begun]]
    begun = begun[(first == begun) & (view.columns["txn"][begun] >= 0)]
    failure, told = txns.first(failed)[txns.of[begun]], view.commit_told[txns.of[begun]]
    why = np.where((failure == NEVER) | (told != NEVER), 0, error[np.where(failure == NEVER, 0, failure)])
    order = np.lexsort((begun, client[begun], view.place[begun]))
    begun, failure, why = begun[order], failure[order], why[order]
    who, where = client[begun], view.place[begun]
    ends = np.flatnonzero(np.append((who[1:] != who[:-1]) | (where[1:] != where[:-1]), True)) if len(begun) else begun
    starts = np.append(0, ends[:-1] + 1) if len(begun) else begun
    last = ends[ends - starts + 1 >= count]
    alike = why[last] != 0
    for back in range(1, count):
        alike &= why[last - back] == why[last]
    alike[alike] = [_others_commit(view, begun[at - count + 1]) for at in last[alike]]
    at = np.where(alike, failure[last], begun[last])
    order = np.argsort(at)
    return found(at[order], alike[order], np.where(alike, failure[last - count + 1], NEVER)[order])


def _others_commit(view: TransactionView, since: int) -> bool:
    """Is another client of the history told after this row that it has committed?"""
    rows = view.fine(Kind.end_told)
    rows = rows[np.searchsorted(rows, since) :]
    rows = rows[(view.place[rows] == view.place[since]) & (view.columns["outcome"][rows] == COMMIT)]
    return bool((view.columns["client"][rows] != view.columns["client"][since]).any())


PROGRESS = (
    HistoryProperty(
        "clients_get_on", "txn.P11",
        "no client's last three transactions are all given up for the same error while others commit theirs",
        ("history",), clients_get_on, saying("as was, and others have committed since,"),
        frozenset({Kind.txn_begun, Kind.record_failed, Kind.end_told}),
    ),
)  # fmt: skip
