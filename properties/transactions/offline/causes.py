"""Which request is behind each record of the transaction log of one lane, told by the answer that follows it.

A coordinator has one transition of an id under way at a time, and answers whoever asked for it when the record is
durable, or could not be written.  Who resigns tells nobody: then the request is sought among those that were sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.properties.transactions.history.events import COMMIT, Kind, State
from fencepost.properties.transactions.observations.codes import CONCURRENT, NONE, NOT_AVAILABLE
from fencepost.properties.transactions.offline.lanes import Cut, Events, Lane, Request

ENDS = frozenset({Kind.txn_logged, Kind.append_failed, Kind.id_expired, Kind.coordinator_loaded})
"""What ends an append that is under way."""
HANDLED = frozenset({Kind.init_handled, Kind.add_handled, Kind.end_handled, Kind.partition_checked})
_COMMITS: Mapping[int, bool] = {State.PrepareCommit: True, State.PrepareAbort: False}
_FAILED: Mapping[int, tuple[Kind, ...]] = {
    State.Empty: (Kind.init_handled,),
    State.Ongoing: (Kind.add_handled, Kind.partition_checked),
}
_SOUGHT: Mapping[int, tuple[Kind, ...]] = {
    State.Empty: (Kind.init_sent,), State.Ongoing: (Kind.add_sent, Kind.record_sent),
    State.PrepareCommit: (Kind.end_sent,), State.PrepareAbort: (Kind.end_sent,),
}  # fmt: skip


@dataclass
class Causes:
    """By row.  ``answers``: of a record, the row of the answer that tells whose it is, if one does; ``ends``: of an
    answer, the row at which what may be under way then ends, if it does."""

    answers: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)


def causes_of(events: Events, lane: Lane) -> Causes:
    """Read backwards, so that what follows is known."""
    kinds, found = events["kind"], Causes()
    answers: list[int] = []  # between the row and the next end, the nearest last
    end = -1
    for row in reversed(lane.rows):
        kind = kinds[row]
        if kind in HANDLED or kind == Kind.batch_refused:
            found.ends[row] = end
            answers.append(row)
        elif kind in ENDS:
            told = next((a for a in reversed(answers) if _tells(events, row, a)), -1)
            if told >= 0:
                found.answers[row] = told
            answers, end = [], row
    return found


def _tells(events: Events, row: int, answer: int) -> bool:
    """Is this the answer that leaves when that record is durable, or failed?"""
    kind, state, error = events["kind"][answer], events["state"][row], events["error"][answer]
    if events["kind"][row] == Kind.append_failed:
        return error == NOT_AVAILABLE and kind in _FAILED.get(state, (Kind.end_handled, Kind.init_handled))
    if events["kind"][row] != Kind.txn_logged:
        return False
    same = all(events[name][answer] == events[name][row] for name in ("producer_id", "epoch"))
    if state == State.Empty:
        return kind == Kind.init_handled and error == NONE and same
    if state == State.Ongoing:
        return kind in (Kind.add_handled, Kind.partition_checked) and error == NONE and same
    if state not in _COMMITS:
        return False
    fence = kind == Kind.init_handled and error == CONCURRENT and not _COMMITS[state]
    commits = events["outcome"][answer] == COMMIT
    return fence or (kind == Kind.end_handled and error == NONE and commits == _COMMITS[state])


def candidates(cut: Cut, events: Events, row: int, bumps: bool) -> list[Request]:
    """Requests that may be behind a record of which nobody was told, the latest last: sent before it, for this id, and
    what the record says.  ``bumps``: an end has an epoch of its own (v2)."""
    state, pair = events["state"][row], (events["producer_id"][row], events["epoch"][row])
    kinds, txn_id = _SOUGHT.get(state, ()), events["txn_id"][row]
    sent = [r for r in cut.requests.values() if r.row < row and r.kind in kinds and r.txn_id == txn_id]
    if state == State.Ongoing:
        return [r for r in sent if (r.producer_id, r.epoch) == pair]
    if state in _COMMITS:
        same = [r for r in sent if r.commits == _COMMITS[state] and r.producer_id == pair[0]]
        return [r for r in same if r.epoch == pair[1] - int(bumps)]
    return sent


def answers_taken(events: Events, cut: Cut, lane: Lane) -> dict[int, int]:
    """By number of an InitProducerId: the row of the answer to it that its client took."""
    handled: dict[int, list[int]] = {}
    for row in lane.rows:
        if events["kind"][row] == Kind.init_handled:
            handled.setdefault(events["request"][row], []).append(row)
    found = {}
    for number, rows in handled.items():
        taken = cut.taken.get(number, -1)
        said = [row for row in rows if row < taken and _says_the_same(events, row, taken)]
        if said:
            found[number] = said[-1]
    return found


def _says_the_same(events: Events, one: int, other: int) -> bool:
    return all(events[name][one] == events[name][other] for name in ("error", "producer_id", "epoch"))
