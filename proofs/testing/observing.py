"""What is observed of an implementation: everything that it shows, or only what clients, readers and users could see.

A user who holds an implementation against the documents may have it emit its inside as well, which makes mistakes
show earlier; of a cluster that others run there is nothing to be had but the outside."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from fencepost.properties.driving import Event, Factory, read

Observe = Literal["black-box", "all"]
"""``black-box``: the event kinds that every implementation of the protocol shows; ``all``: those that this one does."""


class Outside:
    """A system of which some kinds of event are observed; all else is as it is."""

    def __init__(self, system: Any, kinds: frozenset[str]) -> None:
        self._system, self._kinds = system, kinds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def drain_events(self) -> Sequence[Event]:
        """The events since the last call, in order, without those that are not observed."""
        return [event for event in self._system.drain_events() if read(event, "kind") in self._kinds]


def outside(factory: Factory, kinds: frozenset[str]) -> Factory:
    """Systems of which only these kinds of event are observed."""

    def made(config: Mapping[str, Any]) -> Outside:
        return Outside(factory(config), kinds)

    return made
