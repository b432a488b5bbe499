"""A batch: the events of many lanes, made ready to be held against a model.

What names no member of a sort gets the number after the last: there every map reads as zero.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from fencepost.model.language.tree.types import AtomsType, BoolType, scalar
from fencepost.proofs.traces.observed import Phase
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import STRANGE, Laid

MOST_KINDS = 1 << 15  # codes are int16


@dataclass(frozen=True)
class Batch:
    """The events of many lanes, sorted by (lane, step).

    ``history`` numbers the lanes 0, 1, …; ``kind`` is the code, -1 for what the protocol does not have; ``values`` are
    the columns that conditions read, int64 or bool, those of a sort 0 … its size in ``sizes``, the size itself for none
    of them; ``rows``: each event's row in the piece; ``told``: what the numbers in a lane stand for.
    """

    history: np.ndarray
    kind: np.ndarray
    starts: np.ndarray
    values: Mapping[str, np.ndarray]
    sizes: Mapping[str, int]
    rows: np.ndarray
    constants: Mapping[str, int]
    told: Callable[[int], str]

    @property
    def longest(self) -> int:
        """The number of events of the longest lane."""
        return int(np.diff(np.append(self.starts, len(self.history))).max(initial=0))

    @property
    def largest(self) -> int:
        """The largest magnitude in any column."""
        numbers = [column for column in self.values.values() if column.dtype != bool and len(column)]
        return max((max(int(column.max()), -int(column.min())) for column in numbers), default=0)

    def lanes(self) -> Iterator[tuple[int, int]]:
        """First event, and the event after the last, of each lane."""
        ends = [*self.starts[1:].tolist(), len(self.history)] if len(self.history) else []
        yield from zip(self.starts.tolist(), ends, strict=True)

    def events(
        self, begin: int, end: int, phases: Mapping[int, tuple[Phase, ...]]
    ) -> list[tuple[tuple[Phase, ...] | None, dict[str, int]]]:
        """Rows as single events: the phases of each (None: no such kind) and its columns."""
        columns = {name: column[begin:end].tolist() for name, column in self.values.items()}
        return [
            (phases.get(kind), {name: column[i] for name, column in columns.items()})
            for i, kind in enumerate(self.kind[begin:end].tolist())
        ]


def batch_of(laid: Laid, columns: Mapping[str, Any], phases: Mapping[int, tuple[Phase, ...]]) -> Batch:
    """Typed as ``columns`` says, with the kinds that have ``phases``."""
    known = np.full(2 * MOST_KINDS, STRANGE, np.int64)  # negative codes count from the end
    known[list(phases)] = list(phases)
    typed = _typed(laid.values, columns, laid.sizes)
    return Batch(
        laid.lane, known[laid.kind], starts_of(laid.lane), typed, laid.sizes, laid.rows, laid.constants, laid.told
    )  # fmt: skip


def _typed(
    values: Mapping[str, np.ndarray], columns: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    typed = {}
    for name, declared in columns.items():
        kind = scalar(declared)
        column = values[name].astype(bool if isinstance(kind, BoolType) else np.int64, copy=False)
        if isinstance(kind, AtomsType) and (column.min(initial=0) < 0 or column.max(initial=0) > sizes[kind.bound]):
            column = np.where(column < 0, sizes[kind.bound], np.minimum(column, sizes[kind.bound]))
        typed[name] = column
    return typed
