"""Known bugs: the scenario of each, played with any implementation, and held against the model and the promises."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from fencepost.proofs.testing.failures import Disagreed
from fencepost.proofs.testing.search import Enough, Failure, Search
from fencepost.properties.conformance_spec import Agreeing, driven
from fencepost.properties.driving import Factory
from fencepost.properties.history import HistoryError
from fencepost.properties.machine import KnownBugs
from fencepost.properties.registry import Found
from fencepost.properties.scripts import Over

KNOWN_BUGS: Found[KnownBugs] = Found(("known_bugs", "scenarios"), "KNOWN_BUGS")
"""By protocol that has them."""


def played(protocol: str, name: str, factory: Factory, broken: bool = True) -> Failure | None:
    """How an implementation fails in the scenario of a known bug; None if it does not.  ``broken``: in the
    configuration, and by the calls, in which the bug would show.  Raises KeyError with the known names."""
    bugs = KNOWN_BUGS[protocol]
    bug = bugs[name]
    config = dict(bug.broken if broken else bug.fixed)
    agreeing = driven(protocol)
    if not (bug.followed and _is_followed(agreeing, config)):
        agreeing = replace(agreeing, follow=None)
    search = Search(agreeing, factory, config["mode"], {}, frozenset(), None, ())
    base = agreeing.machines[config["mode"]]
    machine: Any = type("KnownBugMachine", (base,), {"session": search, "broken": broken})()
    with suppress(Enough, Disagreed, Over):
        machine.start(config)
        bug.play(bugs.on(machine))
        machine.teardown()
    search.account()
    return next(iter(search.failures), None)


def _is_followed(agreeing: Agreeing, config: dict[str, Any]) -> bool:
    """Is there a model of a system with this configuration?"""
    if agreeing.follow is None or config["mode"] in agreeing.unfollowed:
        return False
    try:
        for part in agreeing.parts(config):
            agreeing.follow(config["mode"], part)
    except HistoryError:
        return False
    return True
