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

KNOWN_BUGS: Found[KnownBugs] = Found(("scenarios.known", "scenarios"), "KNOWN_BUGS")
"""By protocol that has them."""


def played(protocol: str, name: str, factory: Factory, broken: bool = True) -> Failure | None:
    """How an implementation fails in the scenario of a known bug; None if it does not.  ``broken``: in the
    configuration, and by the calls, in which the bug would show.  Raises KeyError with the known names."""
    bug = KNOWN_BUGS[protocol][name]
    config = dict(bug.broken if broken else bug.fixed)
    search = Search(_followed(protocol, config), factory, config["mode"], {}, frozenset(), None, ())
    base = search.agreeing.machines[config["mode"]]
    machine: Any = type("KnownBugMachine", (base,), {"session": search, "broken": broken})()
    with suppress(Enough, Disagreed):
        machine.start(config)
        bug.play(machine)
        machine.teardown()
    search.account()
    return next(iter(search.failures), None)


def _followed(protocol: str, config: dict[str, Any]) -> Agreeing:
    """How the protocol is driven, without its model where there is none of a system with this configuration."""
    agreeing = driven(protocol)
    if agreeing.follow is not None:
        try:
            if config["mode"] in agreeing.unfollowed:
                raise HistoryError("no model of this variant is followed")
            for part in agreeing.parts(config):
                agreeing.follow(config["mode"], part)
        except HistoryError:
            return replace(agreeing, follow=None)
    return agreeing
