"""The coordinators' memory is computed a second time from their logs, and appends that time out are harmless because
records in doubt are not answered."""

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
    """Return the offset in force, by reading each record and marker into two tables."""
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
    committed, transactional = Fate.COMMITTED.term.data, 0
    for run in walks(OFFSETS, OFFSETS_BOUNDS, seed=9, runs=60, steps=60):
        last = run[-1][2]
        assert {last["fate"][x] for x in last["fetched"]} <= {committed}
        transactional += len(last["fetched"].keys() & last["transactional"].keys())
    assert transactional > 10


def by_the_log(state: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """Return phase and epoch of each id after compaction, where the last record counts and a tombstone removes."""
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
    """Memory and log agree for every id with nothing pending and no open outcome, live and after a fail-over."""
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
    """This coordinator answers EndTxn when its append has timed out, since the record is in the log."""

    @fault(budget="failed_appends")
    def time_out_end(s, t: Txn):
        epoch = s.epoch
        TimedOutV2.time_out_end(s, t)
        s.success[t] = True
        s.follows[t] = epoch + 1


class AnsweredPromises(Promises, of=AnsweredInDoubt):
    """These are the promises of a coordinator that answers in doubt."""


def verdicts(variant: Variant, *names: str) -> dict[str, tuple[str, ...]]:
    """Return by name the steps to a violation or a witness, of those that have one."""
    made = explore(variant.spec, {name: variant.asked[name] for name in names}, DOUBT)
    assert made.complete
    return {n: tuple(event.action for event in made.traces[n].events) for n in names if n in made.traces}


def test_an_answer_in_doubt_is_a_lie() -> None:
    """The owner is answered with a commit, and its transaction is aborted. If the answer waits for a successful append,
    this does not happen within the same bounds."""
    broken = verdicts(Variant("answered-in-doubt", AnsweredPromises, "answers too early"), "as_told", "nothing_lost")
    assert "time_out_end" in broken["as_told"] and "take_over" in broken["as_told"]
    assert "time_out_end" in broken["nothing_lost"]
    assert verdicts(SHIPPED, "as_told", "nothing_lost") == {}
