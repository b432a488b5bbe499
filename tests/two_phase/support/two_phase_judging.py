"""This module judges histories of two-phase commit, and returns what tests compare."""

from fencepost.properties.history.pieces import columns_of
from fencepost.properties.two_phase.events import TWO_PHASE
from fencepost.properties.two_phase.histories import HISTORY

Histories = list[list[tuple[int, ...]]]


def violated(histories: Histories, mode: str = "retained") -> dict[str, int]:
    """Return how often each property is violated in these histories, without those that hold."""
    return {name: found.violations for name, found in _findings(histories, mode).items() if found.violations}


def judged(histories: Histories) -> dict[str, int]:
    return {name: found.judged for name, found in _findings(histories, "retained").items()}


def _findings(histories: Histories, mode: str):
    columns = columns_of(TWO_PHASE, list(enumerate(histories)))
    return HISTORY.check(columns, config={"mode": mode, "quiet_end": True})[0]
