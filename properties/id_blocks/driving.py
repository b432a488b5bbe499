"""Driving: a cluster under way, the calls made on it, and somebody who watches."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .plug import Factory, Message
from .programs import Call, Made, make


class Watcher(Protocol):
    """Who holds what happens against something."""

    def watch(self, made: Made, messages: Sequence[Message]) -> None:
        """One call was made; ``messages`` are in flight after it.  Raises to end the run."""


class Run:
    """A cluster under way, with the calls made on it so far."""

    def __init__(self, factory: Factory, config: Mapping[str, Any], watcher: Watcher) -> None:
        self.config = dict(config)
        self.system = factory(self.config)
        self.system.drain_events()
        self.watcher = watcher
        self.made: list[Made] = []
        self.tried: list[Call] = []
        self.over = False

    def call(self, call: Call) -> Made | None:
        """Make a call and have it watched; None if its message is not in flight."""
        self.tried.append(call)
        made = make(self.system, call)
        if made is None:
            self.tried.pop()
            return None
        self.made.append(made)
        self.watcher.watch(made, self.system.messages())
        return made


class Session(Protocol):
    """One search: it makes a run for every example."""

    config: Mapping[str, Any]

    def start(self, config: Mapping[str, Any]) -> Run:
        """A new cluster, watched, brought to where this search starts from."""

    def call(self, run: Run, call: Call) -> Made | None:
        """Make one call of a run."""
