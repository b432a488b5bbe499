"""The promises and mechanisms of transactions (KIP-98, KIP-890), held against histories.

`HISTORY` holds both tables, `figures` counts what became of transactions and records. `RECORDINGS` names what is
usually recorded: by clients, by logs found on disk, or all.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.history.pieces import Columns
from fencepost.properties.history.properties_of import HistoryProperties, in_a_table
from fencepost.properties.history.spreading import Spread, by
from fencepost.properties.history.timelines import taken
from fencepost.properties.history.vocabulary import HistoryError
from fencepost.properties.transactions.history.events import CLIENTS, LOGS, TRANSACTIONS, Kind
from fencepost.properties.transactions.history.mechanisms import MECHANISMS
from fencepost.properties.transactions.history.progress import PROGRESS
from fencepost.properties.transactions.history.promises import PROMISES
from fencepost.properties.transactions.history.view import TransactionView
from fencepost.properties.transactions.history.words import NAMES

PROPERTIES = in_a_table(*PROMISES, *PROGRESS, *MECHANISMS)
COLUMNS = ("history", "step", "kind", *(name for name in TRANSACTIONS.names if name != "node"))

RECORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"clients": TRANSACTIONS.shown_by(CLIENTS), "logs": TRANSACTIONS.shown_by(LOGS), "all": tuple(TRANSACTIONS.codes)}
)
"""Kinds of event by recording. Logs on disk have no order across nodes; an expired id is a tombstone in them."""

_LATE_END = (
    "aborts_unread", "commits_kept", "group_offsets_forward", "group_offsets_kept", "group_offsets_stable",
    "lone_client_never_fenced", "markers_as_decided", "markers_as_told", "open_unread", "reads_as_decided",
    "transactions_share_fate", "transactions_whole",
)  # fmt: skip
_LATE_RECORD = (
    "completed_after_markers", "fenced_appends_unread", "fenced_unread", "none_hanging", "one_epoch_while_open"
)  # fmt: skip
BROKEN_BY_DESIGN: Mapping[str, frozenset[str]] = MappingProxyType(
    {"v1": frozenset((*_LATE_END, *_LATE_RECORD)), "v1-verified": frozenset(_LATE_END)}
)
"""What late copies break before KIP-890's second part, by mode: a late EndTxn decides the next transaction, and without
verification a late record opens one that nobody ends."""


def figures(view: TransactionView) -> dict[str, int]:
    """What became of the transactions of one piece; the figures of several pieces add up.

    transactions (begun), told_committed, told_aborted, records_sent (each once), records_acked (each once),
    records_read (returns to read_committed readers), fences (bumps of an epoch that somebody was told of).
    """
    return {
        "transactions": len(view.rows_of(Kind.txn_begun)),
        "told_committed": int((view.commit_told != NEVER).sum()),
        "told_aborted": int((view.abort_told != NEVER).sum()),
        "records_sent": int((view.sent != NEVER).sum()),
        "records_acked": int((view.acked != NEVER).sum()),
        "records_read": len(view.rows_of(Kind.record_read)),
        "fences": len(view.fences.rows),
    }


def require_own_transactions(columns: Columns) -> None:
    """HistoryError where a client goes on with a transaction that another one began, as a sink does that resumes it
    from a checkpoint (KIP-939): who owns a pair that is handed over is not known, and no broker is at fault."""
    view = EventView(columns, {})
    client, txns = columns["client"], view.numbers_of("txn")
    rows = view.rows_of(Kind.add_sent, Kind.record_sent, Kind.end_sent)
    begun = txns.first(view.rows_of(Kind.txn_begun))[txns.of[rows]]
    for at in np.flatnonzero((begun != NEVER) & (taken(client, begun) != client[rows]))[:1]:
        history, step, mine, txn = (columns[name][rows[at]] for name in ("history", "step", "client", "txn"))
        raise HistoryError(
            f"history {history} step {step}: client {mine} goes on with transaction {txn}, which client "
            f"{client[begun[at]]} began; one that another process resumes is not judged: leave such a history out"
        )


HISTORY = HistoryProperties(
    TRANSACTIONS,
    PROPERTIES,
    view=TransactionView,
    columns=COLUMNS,
    mode="v2",
    figures=figures,
    values=NAMES,
    broken_by_design=BROKEN_BY_DESIGN,
    broken_by="late copies",
    spread_of_figures=Spread(links=by("record", "txn")),
    require=require_own_transactions,
)
