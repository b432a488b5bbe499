"""This module follows each recording through the model with hidden steps, in some order of its sources
(`interleavings.py`).

A recording that is followed to its end is a run of the model. Any other recording is not decided, and the reason has
the row up to which it was followed, what is false there, and the nearest step that the model could take instead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from fencepost.proofs.readings.words import say_state
from fencepost.proofs.scale.replay import Judged
from fencepost.proofs.traces.explanations import event_in_words
from fencepost.proofs.traces.interleavings import Blocked, Merged, Merging
from fencepost.properties.history import HistoryError
from fencepost.properties.history.pieces import starts_of
from fencepost.properties.trace_spec import CONFORMING, Sources

MOST_ROWS = 50_000
"""A recording with more rows than this is not followed, because that would take hours."""


@dataclass(frozen=True)
class RecordingKernel:
    """A `RecordingKernel` follows the recordings of one directory. The kernel is picklable, and a worker computes the
    rest."""

    protocol: str
    variant: str
    config: Mapping[str, Any]

    def __call__(self, columns: Mapping[str, np.ndarray]) -> Judged:
        """Return no violations: a recording that is not followed to its end is undecided, with the reason."""
        undecided: dict[str, int] = {}
        for whole in _histories(columns):
            if reason := self._reason(whole):
                undecided[reason] = undecided.get(reason, 0) + 1
        return Judged([], undecided)

    def explain(self, columns: Mapping[str, np.ndarray]) -> str:
        """Return how far one history (its rows, all columns) was followed, what each source had next, and why that was
        impossible."""
        if len(np.unique(columns["history"])) != 1:
            raise HistoryError("explain takes the rows of one history; select them by their history number")
        found = list(self._followed(columns))
        history = columns["history"][0]
        left = next(((sources, search, merged) for sources, search, merged in found if not merged.whole), None)
        rows = sum(merged.rows for _, _, merged in found)
        if left is None:
            return f"history {history} is a run of the model {self.variant}: all {rows} rows, with hidden steps"
        sources, search, merged = left
        lines = [f"history {history} is not decided: {self._text(columns, search, merged)}"]
        lines.append("  what each log, and the clients, had next, and what was false:")
        for blocked in merged.blocked:
            lines.append(f"    {blocked.source}: {self._event(columns, blocked)}")
            lines += [f"      {false}" for false in blocked.false]
        lines.append(f"  {sources.text}")
        lines.append("  the model's state there, where it is not as at the start:")
        lines += [f"    {line}" for line in say_state(sources.followed.spec, search.changed(merged.state))]
        return "\n".join(lines)

    def _reason(self, columns: Mapping[str, np.ndarray]) -> str:
        if len(columns["kind"]) > MOST_ROWS:
            return f"a recording of more than {MOST_ROWS:,} rows is not followed"
        for _, search, merged in self._followed(columns):
            if not merged.whole:
                return self._text(columns, search, merged)
        return ""

    def _followed(self, columns: Mapping[str, np.ndarray]) -> Iterator[tuple[Sources, Merging, Merged]]:
        recording = CONFORMING[self.protocol].recording
        assert recording is not None
        for sources in recording.sources(columns, self.variant, self.config):
            search = Merging(sources)
            yield sources, search, search.follow()

    def _text(self, columns: Mapping[str, np.ndarray], search: Merging, merged: Merged) -> str:
        far = f"{merged.followed:,} of {merged.rows:,} rows are followed with hidden steps"
        if not merged.blocked:
            return f"{far}; the next row of each log waits for one of another, which comes no more"
        blocked = merged.blocked[0]
        false = "; ".join(str(conjunct).partition("  [")[0] for conjunct in blocked.false) or "it waits for another row"
        step = search.nearest_step(merged)
        tried = "in no order of its logs" if merged.exhausted else f"in none of {merged.states:,} states tried"
        return (
            f"{far}, and {tried} comes {self._event(columns, blocked)} of {blocked.source} next; false is {false}"
            + (f"; the nearest step is {step}" if step else "")
        )

    def _event(self, columns: Mapping[str, np.ndarray], blocked: Blocked) -> str:
        event = {name: int(column[blocked.row.row]) for name, column in columns.items()}
        text = event_in_words(CONFORMING[self.protocol].vocabulary, event, self.config)
        return f"what the coordinator did before {text}" if blocked.row.hidden else text


def _histories(columns: Mapping[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    starts = starts_of(columns["history"]).tolist()
    for begin, end in pairwise([*starts, len(columns["kind"])]):
        yield {name: column[begin:end] for name, column in columns.items()}
