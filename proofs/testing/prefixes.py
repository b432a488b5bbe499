"""Prefixes: a run of the model, as an engine found it, turned into calls that lead an implementation to about the same
place.

A search of the model knows states that random calls seldom reach: two copies answered while a third request is under
way, the last block granted and lost.  Examples may start there, and go on at random.
"""

from collections.abc import Iterable
from typing import Any

from fencepost.proofs.results import Event
from fencepost.properties.conformance_spec import driven


def calls_from(events: Iterable[Event], protocol: str) -> list[Any]:
    """The calls for the steps of a run, in order; a step that no driver causes has none."""
    call_of = driven(protocol).call_of
    calls = [call_of(event.action, event.parameters) for event in events] if call_of else []
    return [call for call in calls if call is not None]
