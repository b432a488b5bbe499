"""This module reads and writes events as JSON lines, with the record types of a protocol's kinds derived from its
table.

A line is an object with `time_us`, `kind` by name, and the columns of the kind; those that do not apply are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union

import msgspec
import numpy as np
from fencepost.properties.history.vocabulary import COMMON_COLUMNS, EventKind, Vocabulary


class Lines:
    """`Lines` are the lines of some kinds of events of a protocol. `unseen` are columns that the writer does not know:
    they are never written, and need not be there."""

    def __init__(self, vocabulary: Vocabulary, kinds: Sequence[str], unseen: Sequence[str] = ()) -> None:
        self.names = ("time_us", "kind", *vocabulary.names)
        self._kinds = {name: vocabulary.codes[name] for name in kinds}
        self._unseen = frozenset(unseen)
        self._absent = {column.name: column.absent for column in vocabulary.columns}
        columns = (*COMMON_COLUMNS, *vocabulary.columns)
        self._bounds = {column.name: np.iinfo(column.dtype) for column in columns}
        records = [self._record(kind) for kind in self._kinds.values()]
        self._decode = msgspec.json.Decoder(Union[tuple(records)]).decode  # noqa: UP007 (made, not written)
        self._places = {record: [self.names.index(f) for f in record.__struct_fields__] for record in records}

    def _record(self, kind: EventKind) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for name in ("time_us", *kind.columns):
            fits = Annotated[int, msgspec.Meta(ge=int(self._bounds[name].min), le=int(self._bounds[name].max))]
            optional = name in kind.optional | kind.optional_with_error | self._unseen | {"error"}
            fields.append((name, fits, self._absent[name]) if optional else (name, fits))
        needed = {name: self._absent[name] for name in kind.optional_with_error - self._unseen}

        def __post_init__(event: Any) -> None:
            for name, absent in needed.items():
                if not event.error and getattr(event, name) == absent:
                    raise ValueError(f"Object missing required field `{name}`, as there is no error")

        return msgspec.defstruct(
            kind.name,
            fields,
            tag_field="kind",
            tag=kind.name,
            kw_only=True,
            forbid_unknown_fields=True,
            namespace={"__post_init__": __post_init__} if needed else None,
        )

    def row(self, line: str) -> list[int]:
        """Return the event of a line, as values of `names`, the kind by its code. Raises `ValueError` with what is
        wrong."""
        try:
            event = self._decode(line)
        except msgspec.ValidationError as error:
            raise ValueError(f"{error}; {self._wanted(line)}") from None
        row = [0, self._kinds[type(event).__name__], *self._absent.values()]
        for place, value in zip(self._places[type(event)], msgspec.structs.astuple(event), strict=True):
            row[place] = value
        return row

    def _wanted(self, line: str) -> str:
        found = msgspec.json.decode(line)
        kind = self._kinds.get(str(found.get("kind", ""))) if isinstance(found, dict) else None
        if kind is None:
            return f"kind is one of {', '.join(self._kinds)}"
        return f"{kind.name} has time_us, {', '.join(kind.columns)}"

    def text(self, event: Mapping[str, Any]) -> bytes:
        """Return the line of an event; columns that do not apply may have any value that means so."""
        kind = self._kinds[event["kind"]]
        seen = {name: event.get(name, self._absent[name]) for name in kind.columns if name not in self._unseen}
        applying = {name: value for name, value in seen.items() if value != self._absent[name]}
        return msgspec.json.encode({"time_us": event["time_us"], "kind": kind.name, **applying})
