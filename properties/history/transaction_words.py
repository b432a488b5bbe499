"""How a violated property of transactions is told: one line that names the events concerned and where they stand."""

from collections.abc import Callable

from fencepost.properties.history.transaction_events import TRANSACTIONS, Kind, State
from fencepost.properties.history.transaction_view import TransactionView

_HIDDEN = ("node", "request")  # of no help to a reader
_NAMES = {"outcome": {0: "abort", 1: "commit"}, "state": {state.value: state.name for state in State}}
_ABSENT = {column.name: column.absent for column in TRANSACTIONS.columns}


def saying(between: str, alone: str = "") -> Callable[[TransactionView, int, int], str]:
    """Words for a violation: its event, `between`, and the event that explains it; or `alone` where there is none."""

    def tell(view: TransactionView, at: int, other: int) -> str:
        if other < 0:
            return f"{event(view, at)}: {alone or between}"
        return f"{event(view, at)}: {between} {event(view, other)}"

    return tell


def event(view: TransactionView, row: int) -> str:
    """`record_read at step 12 (client 1000, partition 0, offset 3, record 5)`."""
    code, step = int(view.columns["kind"][row]), int(view.columns["step"][row])
    kind = Kind(code).name
    values = [(name, int(view.columns[name][row])) for name in TRANSACTIONS.used_by[kind] if name not in _HIDDEN]
    told = ", ".join(
        f"{name.replace('_', ' ')} {_NAMES.get(name, {}).get(value, value)}"
        for name, value in values
        if value != _ABSENT[name]
    )
    return f"{kind} at step {step} ({told})"
