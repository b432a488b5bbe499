"""SQL written from a declared history property: the same declaration, computed by another engine.

One text for DuckDB and Spark, over a table `events` with the columns of a history; those whose names are reserved words
somewhere are renamed. `seen` has each event with the step of each related one, by window functions; what the property
says of a related event is looked up at that step.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fencepost.properties.history.checking import HistoryProperty
from fencepost.properties.history.grouping import NEVER
from fencepost.properties.history.related import IT, Asked, Declared, Operation, Related, Setting, Value

SYMBOLS = {"==": "=", "!=": "<>", "and": "AND", "or": "OR"}
Names = Mapping[str, str]  # what columns are called in `events`, and what settings are


class _Text:
    """The text of one property: `aliases` are those of the tables in which its related events are found."""

    def __init__(self, declared: Declared, names: Names) -> None:
        self.declared, self.names = declared, names
        self.aliases: dict[Any, str] = {event: f"r{place}" for place, event in enumerate(declared.related)}

    def of(self, expression: Any, it: str = "e") -> str:
        """An expression, where the event that is looked at stands in the table `it`."""
        match expression:
            case Setting(name):
                return self.names[name]
            case Asked():  # whether something is left of a log that is cut: these histories show logs as a whole
                return "(1 = 1)"
            case Value(event, column) if event is IT:
                return f"{it}.{self.column('step' if column == 'at' else column)}"
            case Value(event, column):
                return self._of_related(event, column)
            case Operation("not", (arg,)):
                return f"(NOT {self.of(arg, it)})"
            case Operation("when", (condition, value, otherwise)):
                return f"CASE WHEN {self.of(condition, it)} THEN {self.of(value, it)} ELSE {self.of(otherwise, it)} END"
            case Operation("+" | "-" as symbol, (left, right)):  # no sum of 64-bit integers may wrap
                return f"(CAST({self.of(left, it)} AS DECIMAL(38, 0)) {symbol} {self.of(right, it)})"
            case Operation(symbol, (left, right)):
                return f"({self.of(left, it)} {SYMBOLS.get(symbol, symbol)} {self.of(right, it)})"
            case _:
                return str(int(expression))

    def column(self, name: str) -> str:
        return self.names.get(name, name)

    def _of_related(self, event: Related, column: str) -> str:
        alias = self.aliases[event]
        if column == "missing":
            return f"({alias}.step IS NULL)"
        if column == "at":
            return f"coalesce({alias}.step, {NEVER if event.missing_at == NEVER else -1})"
        return f"coalesce({alias}.{self.column(column)}, -1)"

    def chosen(self, kinds: Iterable[int], by: Iterable[str], where: Any, it: str) -> str:
        """Whether the event in the table `it` is one of these."""
        conditions = [f"{it}.kind IN ({', '.join(str(int(kind)) for kind in sorted(kinds))})"]
        conditions += [f"{it}.{self.column(name)} >= 0" for name in by]
        return " AND ".join(conditions + ([] if where is None else [self.of(where, it)]))

    def window(self, event: Related) -> str:
        """The step of the related event, as a column of `seen`."""
        by = () if event.blank else event.by
        chosen = self.chosen(event.kinds, by, event.where, "o")
        rows = {"first": "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "next": "1 FOLLOWING AND UNBOUNDED FOLLOWING"}
        partition = ", ".join(("o.history", *(f"o.{self.column(name)}" for name in event.by)))
        order = f"o.{self.column(event.along)}, o.step" if event.along else "o.step"
        place = self.ordinal(event) if event.along else "o.step"
        best = "min" if event.how in ("first", "next") else "max"
        if event.how == "greatest":
            place = f"CAST(o.{self.column(event.column)} AS BIGINT) * 4294967296 - o.step"
        taken = f"{best}_by(CASE WHEN {chosen} THEN o.step END, CASE WHEN {chosen} THEN {place} END)"
        frame = rows.get(event.how, "UNBOUNDED PRECEDING AND 1 PRECEDING")
        return (
            f"{taken} OVER (PARTITION BY {partition} ORDER BY {order} ROWS BETWEEN {frame}) AS {self.aliases[event]}_at"
        )

    def ordinal(self, event: Related) -> str:
        """The place of an event in its group, by the column that orders it."""
        return "o.nth_" + "_".join((event.along, *event.by))

    def numbered(self) -> Iterator[str]:
        for text, event in {self.ordinal(event): event for event in self.declared.related if event.along}.items():
            partition = ", ".join(("history", *(self.column(name) for name in event.by)))
            order = f"{self.column(event.along)}, step"
            yield f"row_number() OVER (PARTITION BY {partition} ORDER BY {order}) AS {text.removeprefix('o.')}"

    def join(self, event: Related) -> str:
        """The table in which the related event is found."""
        alias, asking = self.aliases[event], self.aliases.get(event.asking, "e")
        applies = [] if event.blank else [f"{asking}.{self.column(name)} >= 0" for name in event.by]
        on = [f"{alias}.history = {asking}.history", f"{alias}.step = {asking}.{alias}_at", *applies]
        return f"LEFT JOIN seen {alias} ON " + " AND ".join(
            on if event.only is None else [*on, self.of(event.only, alias)]
        )

    def query(self) -> str:
        """History and step of each violation."""
        declared, each = self.declared, self.declared.each
        kinds = ", ".join(str(int(kind)) for kind in sorted(declared.kinds))
        events = ", ".join(("*", *self.numbered()))
        seen = ", ".join(("o.*", *(self.window(event) for event in declared.related)))
        joins = " ".join(self.join(event) for event in declared.related)
        bad = [self.chosen(each.kinds, each.by, each.where, "e"), self.of(declared.bad)]
        bad += [] if declared.given is None else [self.of(declared.given)]
        return f"""WITH seen AS (SELECT {seen} FROM (SELECT {events} FROM events WHERE kind IN ({kinds})) o)
          SELECT e.history, e.step FROM seen e {joins} WHERE {" AND ".join(bad)}"""


def generated(properties: Iterable[HistoryProperty[Any]], names: Names) -> dict[str, str]:
    """By name the SQL of each of these properties that is declared."""
    return {
        reported.name: _Text(reported.kernel, names).query()
        for reported in properties
        if isinstance(reported.kernel, Declared)
    }
