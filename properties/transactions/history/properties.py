"""The promises and mechanisms of transactions (KIP-98, KIP-890), held against histories.

`PROPERTIES` holds both tables. `check` runs them over one piece (all its histories at once), `undecidable` says which a
recording cannot answer, `figures` counts what became of transactions and records. `RECORDINGS` names what is usually
recorded: by clients, by logs found on disk, or all.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from fencepost.properties.history.checking import Finding, HistoryProperty, mode_of, not_promised, reasons
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.history.manifest import Manifest
from fencepost.properties.history.pieces import Columns
from fencepost.properties.transactions.history.events import CLIENTS, LOGS, TRANSACTIONS, Kind
from fencepost.properties.transactions.history.mechanisms import MECHANISMS
from fencepost.properties.transactions.history.promises import PROMISES
from fencepost.properties.transactions.history.view import TransactionView

__all__ = ["COLUMNS", "PROPERTIES", "RECORDINGS", "check", "figures", "predicted", "undecidable", "unpromised"]

PROPERTIES: Mapping[str, HistoryProperty[TransactionView]] = {told.name: told for told in (*PROMISES, *MECHANISMS)}
COLUMNS = ("history", "step", "kind", *(name for name in TRANSACTIONS.names if name != "node"))
NO_CONFIG: Mapping[str, Any] = MappingProxyType({})

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


def check(
    columns: Columns, names: Iterable[str] = tuple(PROPERTIES), config: Mapping[str, Any] = NO_CONFIG
) -> tuple[dict[str, Finding], dict[str, int]]:
    """The findings of the properties called `names`, and the figures, of one piece: `COLUMNS` of whole histories.

    `config`: `mode` (v1, v1-verified or v2, if it does not say) and `max_epoch` (32767).
    """
    view = TransactionView(columns, config)
    return {name: PROPERTIES[name].on(view, columns) for name in names}, figures(view)


def undecidable(manifest: Manifest) -> dict[str, str]:
    """The properties that these histories cannot answer, each with the reason."""
    return reasons(PROPERTIES.values(), manifest, "v2")


def unpromised(manifest: Manifest) -> dict[str, str]:
    """The properties that are not asked of histories of this mode, each with the reason."""
    return not_promised(PROPERTIES.values(), manifest, "v2")


def predicted(manifest: Manifest) -> dict[str, str]:
    """The properties that histories of this mode may break, as the documents say, each with the reason."""
    mode = mode_of(manifest, "v2")
    why = f"mode {mode} does not promise it: late copies break"
    broken = BROKEN_BY_DESIGN.get(mode, frozenset())
    return {name: f"{why} {told.rule}" for name, told in PROPERTIES.items() if name in broken}


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
