"""This module limits what is observed of an implementation: everything that it emits, or only what clients, readers and
users see.

A user who checks their own implementation may let it emit its internals as well, which reveals mistakes earlier. A
cluster that another party runs can only be observed from outside."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fencepost.properties.driving import Event, Factory, read

Observe = Literal["black-box", "all"]
"""The value ``black-box`` means the event kinds that every implementation of the protocol emits; ``all`` means those
that this one emits."""


class Outside:
    """An `Outside` is a system of which only some kinds of event are observed."""

    def __init__(self, system: Any, kinds: frozenset[str]) -> None:
        self._system, self._kinds = system, kinds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def drain_events(self) -> Sequence[Event]:
        """Return the observed events since the last call, in order."""
        return [event for event in self._system.drain_events() if read(event, "kind") in self._kinds]


def outside(factory: Factory, kinds: frozenset[str]) -> Factory:
    """Return a factory of systems of which only these kinds of event are observed."""

    def made(config: Mapping[str, Any]) -> Outside:
        return Outside(factory(config), kinds)

    return made
