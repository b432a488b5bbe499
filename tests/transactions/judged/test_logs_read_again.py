"""What coordinators have in memory, computed a second time by reading their logs; and what keeps appends that time out
from doing harm, that nothing is said of a record in doubt."""

from typing import Any

import pytest
from fencepost.model.language import fault
from fencepost.model.transactions.abstract.core import Txn
from fencepost.model.transactions.abstract.timed_out import TimedOutV2
from fencepost.model.transactions.parts.offsets import Fate
from fencepost.model.transactions.parts.recovery import Phase
from fencepost.proofs.engines.explore import explore
from fencepost.properties.catalogue import Variant, protocols
from fencepost.properties.transactions.claims.core import Promises
from txn_walks import walks

OFFSETS = protocols()["transactional-offsets"].variant("transactional-offsets")
OFFSETS_BOUNDS = {"records": 5, "producers": 2, "log": 10, "fail_overs": 2}
LOG = protocols()["transaction-log"].variant("transaction-log")
LOG_BOUNDS = {"ids": 3, "epochs": 3, "log": 16, "fail_overs": 3, "failures": 3}
DEAD = Phase.DEAD.term.data
DOUBT = dict(clients=1, transactions=1, partitions=1, epochs=3, fail_overs=1, fences=0, failed_appends=1)
SHIPPED = protocols()["transactions"].variant("core-v2-timed-out")


def replayed(state: dict[str, Any]) -> int | None:
    """The offset in force: each record and marker in turn, in two tables."""
    kept = {state["place"][x]: x[0] for x in state["kept"]}
    commits = {o: p for p, o in state["commit_marker"]}
    aborts = {o: p for p, o in state["abort_marker"]}
    current: tuple[int, int] | None = None  # place and record
    pending: dict[int, tuple[int, int]] = {}
    for place in range(1, state["end"]):
        record = kept.get(place)
        if record is not None and (record,) in state["transactional"]:
            pending[state["by"].get((record,), 0)] = (place, record)
        elif record is not None:
            current = None if (record,) in state["empty"] else (place, record)
        elif place in commits:
            held = pending.pop(commits[place], None)
            current = max(current or (0, 0), held) if held is not None else current
        elif place in aborts:
            pending.pop(aborts[place], None)
    return None if current is None else current[1]


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_what_reading_the_log_gives(seed: int) -> None:
    """Whenever the coordinator has read everything, written live or read again."""
    compared, compacted = 0, 0
    for run in walks(OFFSETS, OFFSETS_BOUNDS, seed=seed, runs=60, steps=60):
        for _, _, after in run:
            if after["cursor"] == after["end"]:
                assert after["in_force"] == replayed(after)
                compared += 1
                compacted += len(after["fate"]) > len(after["kept"])
    assert compared > 500
    assert compacted > 50


def test_answers_are_committed() -> None:
    """What fetches are answered with has been committed, and there are such answers from transactions."""
    committed, transactional = Fate.COMMITTED.term.data, 0
    for run in walks(OFFSETS, OFFSETS_BOUNDS, seed=9, runs=60, steps=60):
        last = run[-1][2]
        assert {last["fate"][x] for x in last["fetched"]} <= {committed}
        transactional += len(last["fetched"].keys() & last["transactional"].keys())
    assert transactional > 10


def by_the_log(state: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Phase and epoch of each id, by what compaction has left: the last record counts, and a tombstone takes away."""
    known: dict[int, tuple[int, int]] = {}
    for place in range(state["end"]):
        if (place,) in state["kept"]:
            id, phase = state["id"].get((place,), 0), state["says"][(place,)]
            known[id] = (phase, state["number"].get((place,), 0))
            if phase == DEAD:
                del known[id]
    return known


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_what_the_log_says(seed: int) -> None:
    """Of every id with nothing pending and no open outcome, live and after a fail-over."""
    compared = {"live": 0, "read": 0}
    for run in walks(LOG, LOG_BOUNDS, seed=seed, runs=40, steps=90):
        for _, event, after in run:
            if after["cursor"] != after["end"]:
                continue
            known = by_the_log(after)
            for id in range(LOG_BOUNDS["ids"]):
                if (id,) not in after["pending"] and (id,) not in after["doubtful"]:
                    memory = (after["phase"].get((id,), 0), after["epoch"].get((id,), 0))
                    assert memory == known.get(id, (0, 0))
                    compared["read" if event.action == "read" else "live"] += 1
    assert compared["live"] > 1000
    assert compared["read"] > 20


class AnsweredInDoubt(TimedOutV2):
    """A coordinator that answers EndTxn when its append has timed out, since the record is in the log."""

    @fault(budget="failed_appends")
    def time_out_end(s, t: Txn):
        epoch = s.epoch
        TimedOutV2.time_out_end(s, t)
        s.success[t] = True
        s.follows[t] = epoch + 1


class AnsweredPromises(Promises, of=AnsweredInDoubt):
    """The promises of such a coordinator."""


def verdicts(variant: Variant, *names: str) -> dict[str, tuple[str, ...]]:
    """By name, the steps to a violation, or to a witness; without those that there are none to."""
    made = explore(variant.spec, {name: variant.asked[name] for name in names}, DOUBT)
    assert made.complete
    return {n: tuple(event.action for event in made.traces[n].events) for n in names if n in made.traces}


def test_an_answer_in_doubt_is_a_lie() -> None:
    """The owner is told of a commit, and its transaction is aborted.  With no answer until the append has succeeded
    nothing of the kind happens within the same bounds."""
    broken = verdicts(Variant("answered-in-doubt", AnsweredPromises, "answers too early"), "as_told", "nothing_lost")
    assert "time_out_end" in broken["as_told"] and "take_over" in broken["as_told"]
    assert "time_out_end" in broken["nothing_lost"]
    assert verdicts(SHIPPED, "as_told", "nothing_lost") == {}
