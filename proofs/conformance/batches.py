"""A batch: the columns of many whole histories, made ready to be held against a model.

Members of sorts (brokers, requests, controllers) are numbered from 0, and what names none of them gets the number
after the last: there every map reads as zero. Columns that a variant's observations compute are added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from fencepost.model.language.types import AtomsType, BoolType, scalar
from fencepost.proofs.conformance.observed import Phase
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.id_blocks.observations import COLUMNS
from fencepost.properties.id_blocks.slots import computed_columns

MOST_BROKERS = 1024  # more are renumbered: maps over brokers are as wide as the largest number


@dataclass(frozen=True)
class Batch:
    """The events of many whole histories, sorted by (history, step).

    ``history`` numbers the histories 0, 1, …; ``kind`` is the code, -1 for what the protocol does not have;
    ``values`` are the columns that conditions read, int64 or bool, those of a sort 0 … its size in ``sizes``, the
    size itself for none of them.
    """

    history: np.ndarray
    kind: np.ndarray
    starts: np.ndarray
    values: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]

    @property
    def longest(self) -> int:
        """The number of events of the longest history."""
        return int(np.diff(np.append(self.starts, len(self.history))).max(initial=0))

    @property
    def largest(self) -> int:
        """The largest magnitude in any column."""
        numbers = [column for column in self.values.values() if column.dtype != bool and len(column)]
        return max((max(int(column.max()), -int(column.min())) for column in numbers), default=0)

    def histories(self) -> Iterator[tuple[int, int]]:
        """First row, and the row after the last, of each history."""
        yield from zip(self.starts.tolist(), [*self.starts[1:].tolist(), len(self.history)], strict=True)

    def events(
        self, begin: int, end: int, phases: Mapping[int, tuple[Phase, ...]]
    ) -> list[tuple[tuple[Phase, ...] | None, dict[str, int]]]:
        """Rows as single events: the phases of each (None: no such kind) and its columns."""
        columns = {name: column[begin:end].tolist() for name, column in self.values.items()}
        return [
            (phases.get(kind), {name: column[i] for name, column in columns.items()})
            for i, kind in enumerate(self.kind[begin:end].tolist())
        ]


def batch_of(columns: Mapping[str, np.ndarray], phases: Mapping[int, tuple[Phase, ...]]) -> Batch:
    """The rows of a piece (all columns, whole histories, sorted) as a batch."""
    starts = starts_of(columns["history"])
    lengths = np.diff(np.append(starts, len(columns["history"])))
    history = np.repeat(np.arange(len(starts)), lengths)
    compact = {**columns, "request": _requests(columns["request"], history, int(lengths.max(initial=0)))}
    compact["broker"] = _brokers(columns["broker"])
    values = {name: compact[name] for name in COLUMNS if name in compact} | computed_columns(compact, history, starts)
    sizes = _sizes(values)
    known = np.full(1 << 16, -1, np.int64)
    known[list(phases)] = list(phases)
    return Batch(history, known[columns["kind"]], starts, _typed(values, sizes), sizes)


def _sizes(values: Mapping[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, declared in COLUMNS.items():
        kind = scalar(declared)
        if isinstance(kind, AtomsType):
            sizes[kind.bound] = max(sizes.get(kind.bound, 1), int(values[name].max(initial=0)) + 1)
    return sizes


def _typed(values: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    typed = {}
    for name, declared in COLUMNS.items():
        kind = scalar(declared)
        column = values[name].astype(bool if isinstance(kind, BoolType) else np.int64, copy=False)
        if isinstance(kind, AtomsType) and column.min(initial=0) < 0:
            column = np.where(column < 0, sizes[kind.bound], column)
        typed[name] = column
    return typed


def _requests(request: np.ndarray, history: np.ndarray, longest: int) -> np.ndarray:
    """Request numbers below the length of the longest history; any numbers will do, as long as equal ones stay
    equal."""
    if request.max(initial=0) <= longest:
        return request
    rows = np.flatnonzero(request >= 0)
    order = rows[np.lexsort((request[rows], history[rows]))]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (request[order[1:]] != request[order[:-1]]) | (history[order[1:]] != history[order[:-1]])
    number = np.cumsum(fresh)
    first = np.ones(len(order), bool)
    first[1:] = history[order[1:]] != history[order[:-1]]
    base = number[first][np.cumsum(first) - 1]
    renumbered = np.full(len(request), -1)
    renumbered[order] = number - base
    return renumbered


def _brokers(broker: np.ndarray) -> np.ndarray:
    if broker.max(initial=0) < MOST_BROKERS:
        return broker
    names, numbers = np.unique(np.maximum(broker, -1), return_inverse=True)
    return numbers - int(names[0] < 0)
