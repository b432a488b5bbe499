"""This module defines what a history is made of: one row per event, the same columns whether it was simulated or
recorded.

A `Vocabulary` has the kinds of one protocol's events (`EventKind`) and its columns. The first four columns (`history`,
`step`, `time_us`, `kind`) are common to every protocol, so that reading, sorting, splitting and counting need not know
the protocol; the others are the protocol's own. Every column is a non-null integer, -1 meaning "does not apply" unless
the column has another value for that: NumPy gets plain arrays, and no two readings can differ about nulls.
"""

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from fencepost.model.language.checks.errors import InputError, caller, mistake
from fencepost.properties.registry import Found

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
INTEGERS = ("int8", "int16", "int32", "int64")
"""A `Column` has one of these types, as NumPy and Arrow name them."""
ABSENT = -1  # the value of a column that does not apply to an event, where the column names no other


class HistoryError(InputError, ValueError):
    """A `HistoryError` is a history, or a directory of histories, that cannot be used; the message is one line that
    states why and where."""


@dataclass(frozen=True)
class Column:
    """A `Column` is its name, its type (an integer's, as NumPy and Arrow name it: "int32"), what it means, the unit it
    is counted in, and its value if it has none."""

    name: str
    type: str
    meaning: str
    unit: str = "none"
    absent: int = ABSENT

    def __post_init__(self) -> None:
        if self.type not in INTEGERS:
            what = f"column {self.name} is of type {self.type!r}, and histories have integers alone"
            raise mistake(what, f"write one of {', '.join(INTEGERS)}, and give words a number each", caller(__file__))

    @property
    def dtype(self) -> "np.dtype[Any]":
        return np.dtype(str(self.type))

    def field(self) -> "pa.Field":
        """Return the Arrow field, with the column's meaning, unit and absent value in its metadata."""
        import pyarrow as pa

        metadata = {"meaning": self.meaning, "unit": self.unit, "absent": str(self.absent)}
        return pa.field(self.name, pa.type_for_alias(str(self.type)), nullable=False, metadata=metadata)


COMMON_COLUMNS = (
    Column("history", "int64", "which history the event belongs to; unique within a directory"),
    Column("step", "int32", "place of the event in its history: 0, 1, 2 … without a gap", "events"),
    Column("time_us", "int64", "when it happened: virtual if simulated, the observer's clock if recorded", "µs"),
    Column("kind", "int16", "what happened: a code of the protocol's kinds"),
)
KAFKA_ERROR = Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0)
"""The values of this column have Kafka's names for a reader."""


class EventKind(IntEnum):
    """An `EventKind` is one kind of event, a row of its protocol's table: `name = code, "columns that it fills",
    observer`.

    The columns stand in one string. An event that is read from JSON lines may lack a `column?`, and if it has an error
    a `column!` as well. `observer` names, in a word of the protocol, who observes all events of the kind; it is empty
    where only the implementation itself does.
    """

    columns: tuple[str, ...]
    optional: frozenset[str]
    optional_with_error: frozenset[str]
    observer: str

    def __new__(cls, code: int, columns: str = "", observer: str = "") -> Self:
        kind = int.__new__(cls, code)
        kind._value_ = code
        words = columns.split()
        kind.columns = tuple(word.rstrip("?!") for word in words)
        kind.optional = frozenset(word[:-1] for word in words if word.endswith("?"))
        kind.optional_with_error = frozenset(word[:-1] for word in words if word.endswith("!"))
        kind.observer = observer
        return kind

    def __init_subclass__(cls) -> None:
        for name, kind in cls.__members__.items():
            if name != kind.name:
                what = f"the events {kind.name} and {name} have one code, {kind.value}, so that they are one event"
                raise mistake(what, f"give {name} a code of its own", caller(__file__, enum.__file__))


@dataclass(frozen=True)
class Vocabulary:
    """A `Vocabulary` has the kinds and columns of one protocol's histories. Every implementation can emit the kinds
    whose `observer` is in `public`; all kinds where none has an observer. `recorded_with` has, by observer, the option
    of `fencepost record` that adds its kinds."""

    protocol: str
    kinds: type[EventKind]
    columns: tuple[Column, ...]
    public: tuple[str, ...] = ("",)
    recorded_with: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        common = [column.name for column in COMMON_COLUMNS]
        if again := [name for at, name in enumerate(self.names) if name in (*common, *self.names[:at])]:
            what = f"{self.protocol}: there are two columns {again[0]!r}"
            raise mistake(what, f"name it otherwise; every history has {', '.join(common)} already", caller(__file__))
        for kind in self.kinds:
            if unknown := [name for name in kind.columns if name not in self.names]:
                there = ", ".join(self.names)
                raise HistoryError(f"{self.protocol}: {kind.name} fills {unknown[0]!r}; the columns are {there}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def errors(self) -> frozenset[str]:
        """These columns have error codes of Kafka."""
        return frozenset(column.name for column in self.columns if column == KAFKA_ERROR)

    @cached_property
    def used_by(self) -> Mapping[str, tuple[str, ...]]:
        return MappingProxyType({kind.name: kind.columns for kind in self.kinds})

    @cached_property
    def absent(self) -> Mapping[str, int]:
        return MappingProxyType({column.name: column.absent for column in self.columns})

    def filled(self, kind: str, value_of: Callable[[str], Any], but: Collection[str] = ()) -> dict[str, int]:
        """Return the columns that apply to an event, and their values: ``value_of`` has these, by name. Columns in
        ``but`` are not read."""
        values = {name: int(value_of(name)) for name in self.used_by.get(kind, ()) if name not in but}
        return {name: value for name, value in values.items() if value != self.absent[name]}

    def observed_by(self, *who: str) -> tuple[str, ...]:
        return tuple(kind.name for kind in self.kinds if kind.observer in who)

    @cached_property
    def black_box(self) -> frozenset[str]:
        return frozenset(self.observed_by(*self.public))

    @cached_property
    def schema(self) -> "pa.Schema":
        """Return the Arrow schema, its version and protocol in the metadata (Parquet preserves both)."""
        import pyarrow as pa  # only who reads or writes files needs it, and it takes long to import

        metadata = {"fencepost.schema_version": str(SCHEMA_VERSION), "fencepost.protocol": self.protocol}
        return pa.schema([column.field() for column in (*COMMON_COLUMNS, *self.columns)], metadata=metadata)

    @cached_property
    def codes(self) -> Mapping[str, EventKind]:
        return MappingProxyType(dict(self.kinds.__members__))


VOCABULARIES: Found[Vocabulary] = Found(
    ("events.kinds", "events"), write='{name} = Vocabulary("{protocol}", Kind, (Column(…), …)) in events.py'
)
"""`VOCABULARIES` has, by protocol, the vocabularies whose histories can be read."""
