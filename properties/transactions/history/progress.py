"""Whether the clients of a history get on, as far as what they were told shows it (txn.P11).

A client whose last transactions were all given up for one and the same error of one partition (or of the coordinator),
while others committed theirs, will not commit again: what it repeats is its own mistake, or one that is held against it
alone.  One such transaction says nothing, nor do two: what was lost or late may be behind each.  Below v2 three do not
either: a batch that fails while its transaction is being committed asks for no new epoch (TransactionManager.java,
maybeTransitionToErrorState), so that the next transaction repeats its number, and fails alike.

Where a history ends with nothing left to happen, a client that still waits for an answer waits for ever.  A driven run
says more (`scenarios.progress`), which waits until faults have stopped.
"""

import numpy as np
from fencepost.properties.history.checking import HistoryProperty, Rows, found
from fencepost.properties.history.grouping import NEVER, NONE
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
    place = view.columns["partition"]
    failed = view.rows_of(Kind.record_failed, Kind.end_told)
    failed = failed[(error[failed] != 0) & (error[failed] != GIVEN_UP) & (view.columns["txn"][failed] >= 0)]
    begun = view.rows_of(Kind.txn_begun)
    first = txns.first(begun)[txns.of[begun]]
    begun = begun[(first == begun) & (view.columns["txn"][begun] >= 0)]
    failure, told = txns.first(failed)[txns.of[begun]], view.commit_told[txns.of[begun]]
    why = np.where((failure == NEVER) | (told != NEVER), 0, error[np.where(failure == NEVER, 0, failure)])
    order = np.lexsort((begun, client[begun], view.place[begun]))
    begun, failure, why = begun[order], failure[order], why[order]
    there = place[np.where(failure == NEVER, 0, failure)]
    who, where = client[begun], view.place[begun]
    ends = np.flatnonzero(np.append((who[1:] != who[:-1]) | (where[1:] != where[:-1]), True)) if len(begun) else begun
    starts = np.append(0, ends[:-1] + 1) if len(begun) else begun
    last = ends[ends - starts + 1 >= count]
    alike = why[last] != 0
    for back in range(1, count):
        alike &= (why[last - back] == why[last]) & (there[last - back] == there[last])
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


ASKED = (Kind.init_sent, Kind.add_sent, Kind.end_sent)
ANSWERED = {
    Kind.init_sent: (Kind.init_taken, Kind.fence_told), Kind.add_sent: (Kind.add_taken,),
    Kind.end_sent: (Kind.end_told,),
}  # fmt: skip
OVER = (Kind.client_stopped, Kind.client_failed)


def calls_come_to_an_end(view: TransactionView) -> Rows:
    """What clients asked of their coordinator last, and have no answer to at the end.  Nothing is owed to who is over,
    nor to who may be fenced: another has asked for the transactional id since."""
    clients = view.numbers_of("client")

    def latest(*kinds: Kind) -> np.ndarray:
        rows, found_ = view.rows_of(*kinds), np.full(clients.size + 1, NONE)
        np.maximum.at(found_, clients.of[rows], rows)
        return found_[:-1]

    over, inits = latest(*OVER), view.rows_of(Kind.init_sent)
    txn_ids = view.numbers_of("txn_id")
    askers = np.full(txn_ids.size + 1, NONE)
    np.maximum.at(askers, txn_ids.of[inits], inits)
    owed = np.zeros(clients.size + 1, bool)
    owed[clients.of[askers[:-1][askers[:-1] != NONE]]] = True
    asked = np.stack([latest(kind) for kind in ASKED])
    open_ = asked > np.stack([latest(*ANSWERED[kind]) for kind in ASKED])
    last = asked.max(axis=0, initial=NONE)
    waiting = np.where(open_, asked, NONE).max(axis=0, initial=NONE)
    known = last != NONE
    at = np.where(waiting != NONE, waiting, last)[known]
    bad = ((waiting != NONE) & (over < waiting) & owed[:-1])[known]
    order = np.argsort(at)
    return found(at[order], bad[order], np.full(len(at), NEVER))


PROGRESS = (
    HistoryProperty(
        "clients_get_on", "txn.P11",
        "no client's last three transactions all fail with the same error of one partition while others commit theirs",
        ("history",), clients_get_on, saying("as was, and others have committed since,"),
        frozenset({Kind.txn_begun, Kind.record_failed, Kind.end_told}), modes=("v2",),
    ),
    HistoryProperty(
        "calls_come_to_an_end", "txn.P11",
        "when nothing is left to happen, no client that is alive and not fenced waits for its coordinator",
        ("history",), calls_come_to_an_end, saying("it waits for an answer, and nothing happens any more"),
        frozenset({*ASKED, *OVER, Kind.init_taken, Kind.add_taken, Kind.end_told, Kind.fence_told}),
        needs_quiet_end=True,
    ),
)  # fmt: skip
