"""The columns of an id-blocks history that are computed, not stored: `observations.py` says what they mean.

Computed for many histories at once.
"""

from collections.abc import Mapping

import numpy as np
from fencepost.properties.id_blocks.history.events import Kind
from fencepost.properties.layouts import before, dense, one_of, ordinals

DEALT_WITH = (Kind.block_recorded, Kind.request_refused, Kind.zk_written)
ANSWERS = (Kind.answer_sent, Kind.answer_taken, Kind.answer_refused, Kind.answer_failed)
FROM_ZOOKEEPER = (Kind.zk_read, Kind.zk_written, Kind.zk_conflict)


def computed_columns(
    columns: Mapping[str, np.ndarray], history: np.ndarray, starts: np.ndarray
) -> dict[str, np.ndarray]:
    """`slot`, `asker`, `controller` and `by_controller` of each event; `history` numbers the histories 0, 1, …

    `starts` are the rows at which they begin.  `columns` are sorted by (history, step).
    """
    kind, broker, request = columns["kind"], columns["broker"].astype(np.int64), columns["request"]
    named, (key, keys) = request >= 0, dense(history, request)
    elected = kind == Kind.controller_elected
    elections = np.cumsum(elected)
    asker_of, asker = np.full(keys, -1), np.full(len(kind), -1)
    sent, written = kind == Kind.request_sent, (kind == Kind.zk_written) & named
    asker_of[key[sent]] = broker[sent]
    asker[written] = asker_of[key[written]]
    return {
        "slot": _slots(columns, history, key, named),
        "asker": asker,
        "controller": elections - (elections[starts] - elected[starts])[history],
        "by_controller": one_of(kind, FROM_ZOOKEEPER) & (broker < 0),
    }


def _slots(columns: Mapping[str, np.ndarray], history: np.ndarray, key: np.ndarray, named: np.ndarray) -> np.ndarray:
    """A further dealing with a request has a number above all requests'; an answer has that of the latest dealing
    before it that says the same."""
    dealt = np.flatnonzero(one_of(columns["kind"], DEALT_WITH) & named)
    answers = np.flatnonzero(one_of(columns["kind"], ANSWERS) & named)
    slot = columns["request"].astype(np.int64)
    again = dealt[ordinals(key[dealt]) > 0]
    slot[again] = int(slot.max(initial=-1)) + 1 + ordinals(history[again])
    rows = np.concatenate((dealt, answers))
    said, _ = dense(key[rows], *(columns[name][rows] for name in ("first", "error")))
    found = before(said[: len(dealt)], dealt, said[len(dealt) :], answers)
    slot[answers] = np.where(found >= 0, np.append(slot[dealt], -1)[found], -1)
    return slot
