"""Simulated histories of transactions are columns, and edits of them make a step that the model does not allow."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from conformance_histories import Columns, changed, rearranged, swapped, without
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind, State
from fencepost.reference_impl.systems.transactions import simulate

FAULTY = {"duplicate": 0.1, "delay": 0.1, "drop": 0.05, "append_failure": 0.05, "fail_over": 0.02, "fence": 0.02}
CALM = {
    "duplicate": 0.0, "drop": 0.0, "delay": 0.0, "append_failure": 0.0, "restart": 0.0, "pause": 0.0, "fail_over": 0.0,
    "new_leader": 0.0, "fence": 0.0, "clients": 1, "txn_ids": 1, "abort_share": 0.3, "events": 400,
}  # fmt: skip
"""One producer runs without faults, and aborts at times."""


def histories(seeds: Iterable[int], config: Mapping[str, Any]) -> Columns:
    return columns_of(TRANSACTIONS, [(number, simulate(seed, config)) for number, seed in enumerate(seeds)])


@lru_cache
def _calm(mode: str) -> Columns:
    return histories([1], {**CALM, "mode": mode})


def calm(mode: str) -> Columns:
    """Return a copy of a calm history, which edits do not affect."""
    return dict(_calm(mode))


def at(c: Columns, kind: Kind, nth: int = 0, **values: int) -> int:
    """Return the row of the nth event of a kind with these values."""
    chosen = c["kind"] == kind
    for name, value in values.items():
        chosen = chosen & (c[name] == value)
    return int(np.flatnonzero(chosen)[nth])


def after(c: Columns, row: int, kind: Kind) -> int:
    """Return the row of the next event of a kind."""
    return row + 1 + int(np.flatnonzero(c["kind"][row + 1 :] == kind)[0])


def moved(c: Columns, row: int, to: int) -> Columns:
    """Move one event."""
    order = [i for i in range(len(c["kind"])) if i != row]
    order.insert(to, row)
    return rearranged(c, order)


def epoch_skipped(c: Columns) -> Columns:
    row = at(c, Kind.txn_logged, state=State.Empty)
    return changed(c, row, epoch=1)


def answer_with_another_epoch(c: Columns) -> Columns:
    row = at(c, Kind.init_taken)
    return changed(c, row, epoch=c["epoch"][row] + 1)


def marker_of_the_other_outcome(c: Columns) -> Columns:
    row = at(c, Kind.marker_appended, outcome=1)
    return changed(c, row, outcome=0)


def marker_of_a_later_coordinator(c: Columns) -> Columns:
    return changed(c, at(c, Kind.marker_appended), coordinator_epoch=4)


def completed_too_early(c: Columns) -> Columns:
    complete = at(c, Kind.txn_logged, state=State.CompleteCommit)
    return moved(c, complete, at(c, Kind.marker_appended))


def committed_with_a_record_under_way(c: Columns) -> Columns:
    end = at(c, Kind.end_sent, outcome=1)
    first = at(c, Kind.batch_appended)
    others = (c["kind"][:end] == Kind.batch_appended) & (c["partition"][:end] != c["partition"][first])
    return moved(c, end, int(np.flatnonzero(others)[0]))


def told_before_it_is_logged(c: Columns) -> Columns:
    handled = at(c, Kind.end_handled, error=0)
    return swapped(c, handled - 1, handled)


def told_the_other_outcome(c: Columns) -> Columns:
    row = at(c, Kind.end_sent, outcome=1)
    return changed(c, after(c, row, Kind.txn_logged), state=State.PrepareAbort)


def aborted_record_read(c: Columns) -> Columns:
    aborted = int(c["txn"][at(c, Kind.end_sent, outcome=0)])
    record = int(c["record"][at(c, Kind.record_sent, txn=aborted)])
    later = np.flatnonzero((c["kind"] == Kind.record_read) & (c["record"] > record))
    return changed(c, int(later[0]), record=record)


def offset_pending(c: Columns) -> Columns:
    row = at(c, Kind.offset_fetched, error=88)
    return changed(c, row, error=0)


def begun_with_an_old_epoch(c: Columns) -> Columns:
    row = at(c, Kind.txn_begun, 2)
    return changed(c, row, epoch=7)


def no_answer(c: Columns) -> Columns:
    return without(c, at(c, Kind.init_handled, error=0) - 1)


def stranger(c: Columns) -> Columns:
    return changed(c, at(c, Kind.record_acked), txn=12345, record=54321)


def state_of_no_log(c: Columns) -> Columns:
    return changed(c, at(c, Kind.txn_logged, state=State.CompleteCommit), state=9)


def out_of_nowhere(c: Columns) -> Columns:
    return changed(c, at(c, Kind.record_acked), kind=-7)


def not_asked(c: Columns) -> Columns:
    """In v2 and v1-verified, a leader does not wait for the answer to its verification."""
    asked = at(c, Kind.check_asked)
    return moved(c, after(c, asked, Kind.batch_appended), asked + 1)


def never_bumped(c: Columns) -> Columns:
    """In v2, the end of a transaction does not bump its epoch."""
    row = at(c, Kind.txn_logged, state=State.PrepareCommit)
    return changed(c, row, epoch=c["epoch"][row] - 1)
