"""Lanes followed by compiled code, where numba is installed: `straight.py` has the source, made once for each variant.

Compiling takes as long as following some millions of events in columns.  So it is done when it is asked for
(`Compiled.compile`), or when a process has followed that many; from then on it is kept in the user's cache.
"""

from collections.abc import Mapping

import numpy as np
from fencepost.proofs import kept_code
from fencepost.proofs.readings.columns import Columns, ColumnsError
from fencepost.proofs.traces.batches import MOST_KINDS, Batch
from fencepost.proofs.traces.observed import Phase
from fencepost.proofs.traces.straight import LARGEST, Straight, straight

WORTH = 20_000_000
"""Events in columns take as long as compiling, 10 to 30 seconds: half a microsecond to one and a half each."""


class Compiled:
    """The code of one variant, in one process."""

    def __init__(self, columns: Columns, names: tuple[str, ...], phases: Mapping[int, tuple[Phase, ...]]) -> None:
        self._ready, self._waited = False, 0
        self._code = _code(columns, names, phases) if kept_code.is_possible() else None
        self._numbers = np.full(2 * MOST_KINDS, -1)  # negative codes count from the end
        if self._code is not None:
            self._numbers[list(self._code.kinds)] = np.arange(len(self._code.kinds))
            self._ready = kept_code.is_kept(self._code.source, "follow")

    def compile(self) -> bool:
        """Compiles it, or takes it from the cache, and follows all further events so.  False if there is no code."""
        if self._code is not None and not self._ready:
            code, none = self._code, np.zeros(0, np.int64)
            starts, rows = np.zeros(1, np.int64), np.zeros((len(code.columns), 0), np.int64)
            kept_code.load(code.source).follow(starts, none, none, none, none, none, rows, np.zeros(0, bool))
            self._ready = True
        return self._ready

    def left(self, columns: Columns, batch: Batch) -> np.ndarray | None:
        """Which lanes it has not followed to their end, so that something may not fit in them; None if it has
        followed none."""
        self._waited += len(batch.kind)
        if self._waited >= WORTH:
            self.compile()
        large = max((abs(value) for value in batch.constants.values()), default=0)
        if self._code is None or not self._ready or max(batch.largest, large) >= LARGEST:
            return None
        code, states = self._code, columns.initial(1, batch.sizes)
        first = np.concatenate([array.astype(np.int64) for array in states.arrays.values()])
        given = np.zeros(len(code.variables) + len(code.domains) + len(code.constants), np.int64)
        lengths = [len(states.arrays[name]) for name in code.variables]
        given[list(code.variables.values())] = np.cumsum([0, *lengths])[:-1]
        given[list(code.domains.values())] = [states.domain(kind) for kind in code.domains]
        given[list(code.constants.values())] = [batch.constants[name] for name in code.constants]
        values = np.empty((len(code.columns), len(batch.kind)), np.int64)
        for row, name in zip(values, code.columns, strict=True):
            row[:] = batch.values[name]
        left = np.zeros(len(batch.starts), bool)
        kept_code.load(code.source).follow(
            np.append(batch.starts, len(batch.kind)), self._numbers[batch.kind], first, first.copy(), first.copy(),
            given, values, left,
        )  # fmt: skip
        return left


def _code(columns: Columns, names: tuple[str, ...], phases: Mapping[int, tuple[Phase, ...]]) -> Straight | None:
    try:
        return straight(columns.types, names, phases)
    except ColumnsError:
        return None
