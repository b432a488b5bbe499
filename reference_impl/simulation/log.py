"""The event log records what happened as rows of plain integers in one fixed column order.

A protocol's events are one table: a class with the codes of its kinds, and a named tuple with the columns of a row. Its
log is declared with both, and `emit`, which writes a row, and `readable`, which reads one, are compiled from them. Rows
are tuples because a hundred million of them are written, and a tuple of small integers costs a twelfth of a dict.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from fencepost.reference_impl.simulation.kernel import Kernel

Row = tuple[int, ...]

ABSENT = {"error": 0}  # -1 stands in every other column that does not apply; as an error it is UNKNOWN_SERVER_ERROR


class EventLog:
    """An `EventLog` has rows in the order in which they happened: row[0] is the step (0, 1, 2, …), row[1] the virtual
    time in us, and row[2] the code of the kind."""

    __slots__ = ("_drained", "kernel", "rows")

    kind_names: ClassVar[Mapping[int, str]]
    """This table has the lower-case name of each kind, by its code."""

    columns: ClassVar[tuple[str, ...]]

    over: ClassVar["type[EventLog] | None"] = None
    """This log is of a protocol whose nodes take part in the present one, and emit events of their own."""

    unheard: ClassVar[Callable[..., None]]
    """This function takes what `emit` takes and drops it, for a cluster whose events are not part of the history."""

    readable: ClassVar[Callable[[Row], Any]]
    """This function returns the event of one row as its named tuple, with the kind by name."""

    def __init_subclass__(
        cls, kinds: type | None = None, event: Any = None, over: "type[EventLog] | None" = None
    ) -> None:
        """The log of a protocol has `kinds`, a class of integers with upper-case names, and `event`, the named tuple of
        a row: step, time_us, kind, and the protocol's own columns. A log derived from a protocol's log has neither. Of
        what is emitted to the log `over`, the kinds and columns that are not its own are dropped."""
        if kinds is None:
            return
        names = {code: name.lower() for name, code in vars(kinds).items() if name.isupper()}
        columns = event._fields[3:]
        dropped = [] if over is None else [name for name in over.columns if name not in columns]
        cls.kind_names, cls.columns, cls.over = MappingProxyType(names), columns, over
        scope: dict[str, Any] = {"names": names, "event": event, "new": tuple.__new__}
        parameters = f"kind, {', '.join(f'{column}={ABSENT.get(column, -1)}' for column in (*columns, *dropped))}"
        exec(
            f"def emit(self, {parameters}):\n"
            '    """Append one row; columns not given do not apply."""\n'
            f"{'' if over is None else '    if kind not in names: return'}\n"
            "    rows = self.rows\n"
            f"    rows.append((len(rows), self.kernel.now, kind, {', '.join(columns)}))\n"
            f"def unheard({parameters}):\n"
            '    """Write nothing.  (With the parameters of emit, since any keywords would become a dict.)"""\n'
            "def readable(row):\n"
            '    """The event of one row."""\n'
            "    return new(event, (row[0], row[1], names[row[2]], *row[3:]))\n",
            scope,
        )
        setattr(cls, "emit", scope["emit"])  # noqa: B010 (a type checker takes a method to be final)
        cls.unheard = staticmethod(scope["unheard"])
        cls.readable = staticmethod(scope["readable"])

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.rows: list[Row] = []
        self._drained = 0

    def emit(self, kind: int, *columns: int, **named: int) -> None:
        """Append one row; columns that are not given do not apply. The method that a protocol's log has instead of this
        one takes only the protocol's columns."""
        raise NotImplementedError(f"{type(self).__name__} has no columns: declare it with kinds=… and event=…")

    def drain_rows(self) -> list[Row]:
        """Return the rows written since the last call; all of them stay in `rows`."""
        fresh = self.rows[self._drained :]
        self._drained = len(self.rows)
        return fresh
