"""The promises as `newcomers` shows them: many producers, one after another, and no two with the same pair."""

from collections.abc import Iterator, Sequence
from typing import Any

from fencepost.properties.driving import Made
from fencepost.properties.transactions.monitoring.facts import Verdict, verdict
from fencepost.properties.transactions.scenarios.newcomers import Newcomers


def look_at_newcomers(made: Made) -> Iterator[Verdict]:
    """Judge what a call of `newcomers` has returned, as a whole: which two of them share a pair may be chance, and a
    program that names them would not fail again."""
    if made.call.name != "newcomers":
        return
    result: Newcomers = made.result
    if len(set(result.pairs)) < len(result.pairs):
        words = f"of {made.call.get('count')} producers, one after another, two are given the same id and epoch"
        yield verdict("txn.P7", words, check="len(set(result.pairs)) == len(result.pairs)")


def events_of(made: Made) -> Sequence[Any]:
    """The events of a call; `newcomers` looks at them itself, and hands them on in its result."""
    if made.call.name != "newcomers":
        return made.events
    result: Newcomers = made.result
    return (*result.events, *made.events)
