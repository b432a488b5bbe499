"""The columns of an id-blocks history that are computed, not stored: `observations.py` says what they mean.

Computed for many histories at once. Most requests are dealt with once; only those that the network repeated need
their answers matched by what they say.
"""

from collections.abc import Mapping

import numpy as np
from fencepost.properties.id_blocks.history.events import Kind
from fencepost.properties.layouts import ordinals

DEALT_WITH = (Kind.block_recorded, Kind.request_refused, Kind.zk_written)
ANSWERS = (Kind.answer_sent, Kind.answer_taken, Kind.answer_refused, Kind.answer_failed)
FROM_ZOOKEEPER = (Kind.zk_read, Kind.zk_written, Kind.zk_conflict)


def computed_columns(
    columns: Mapping[str, np.ndarray], history: np.ndarray, starts: np.ndarray
) -> dict[str, np.ndarray]:
    """`slot`, `asker`, `controller` and `by_controller` of each event; `history` numbers the histories 0, 1, …

    `starts` are the rows at which they begin.

    `columns` are sorted by (history, step); `request` must be small numbers, since tables of that width are made.
    """
    kind, request = columns["kind"], columns["request"].astype(np.int64)
    width = int(request.max(initial=-1)) + 1
    key = history * width + request
    keys = (int(history[-1]) + 1) * width if len(history) else 0
    elected = kind == Kind.controller_elected
    elections = np.cumsum(elected)
    before = (elections[starts] - elected[starts])[history]
    return {
        "slot": _slots(columns, history, key, width, keys),
        "asker": _askers(columns, key, keys),
        "controller": elections - before,
        "by_controller": _one_of(kind, FROM_ZOOKEEPER) & (columns["broker"] < 0),
    }


def _slots(
    columns: Mapping[str, np.ndarray], history: np.ndarray, key: np.ndarray, width: int, keys: int
) -> np.ndarray:
    kind, request = columns["kind"], columns["request"]
    dealt = np.flatnonzero(_one_of(kind, DEALT_WITH) & (request >= 0))
    answers = np.flatnonzero(_one_of(kind, ANSWERS) & (request >= 0))
    slot = request.astype(np.int64)
    times = np.bincount(key[dealt], minlength=keys)
    again = dealt[ordinals(key[dealt]) > 0]
    slot[again] = width + ordinals(history[again])
    last = np.full(keys, -1)
    last[key[dealt]] = dealt
    slot[answers] = _matching(columns, slot, last[key[answers]], answers)
    several = answers[times[key[answers]] > 1]
    if len(several):
        slot[several] = _latest_matching(columns, slot, key, dealt[times[key[dealt]] > 1], several)
    return slot


def _matching(
    columns: Mapping[str, np.ndarray], slot: np.ndarray, dealt: np.ndarray, answers: np.ndarray
) -> np.ndarray:
    """The slot of row `dealt` for each answer that says the same and comes later; else -1."""
    same = (dealt >= 0) & (dealt < answers)
    for name in ("first", "error"):
        same &= columns[name][dealt] == columns[name][answers]
    return np.where(same, slot[dealt], -1)


def _latest_matching(
    columns: Mapping[str, np.ndarray], slot: np.ndarray, key: np.ndarray, dealt: np.ndarray, answers: np.ndarray
) -> np.ndarray:
    """For each answer the slot of the latest row before it that dealt with its request and says the same; else -1."""
    rows = np.concatenate((dealt, answers))
    order = np.lexsort((rows, columns["error"][rows], columns["first"][rows], key[rows]))
    candidate = np.maximum.accumulate(np.where(order < len(dealt), np.arange(len(rows)), -1))
    found = np.where(candidate >= 0, rows[order[candidate]], -1)
    of_answer = np.empty(len(rows), np.int64)
    of_answer[order] = found
    dealt_row = of_answer[len(dealt) :]
    return np.where(key[dealt_row] == key[answers], _matching(columns, slot, dealt_row, answers), -1)


def _askers(columns: Mapping[str, np.ndarray], key: np.ndarray, keys: int) -> np.ndarray:
    kind, broker = columns["kind"], columns["broker"].astype(np.int64)
    sent = np.flatnonzero(kind == Kind.request_sent)
    written = np.flatnonzero((kind == Kind.zk_written) & (columns["request"] >= 0))
    asker_of = np.full(keys, -1)
    asker_of[key[sent]] = broker[sent]
    asker = np.full(len(kind), -1)
    asker[written] = asker_of[key[written]]
    return asker


def _one_of(kind: np.ndarray, kinds: tuple[Kind, ...]) -> np.ndarray:
    found: np.ndarray = np.logical_or.reduce([kind == one for one in kinds])
    return found
