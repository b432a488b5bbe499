"""Implementations with which nothing can be judged: each is the reference of producer id blocks but for one call."""

import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.systems.id_blocks import reference


class Double:
    """The reference, and in place of one of its methods another."""

    def __init__(self, system: Any, method: str, instead: Callable[..., Any]) -> None:
        self.system, self.method, self.instead = system, method, instead

    def __getattr__(self, name: str) -> Any:
        return self.instead if name == self.method else getattr(self.system, name)


def hanging(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "advance", lambda *_, **__: time.sleep(60))


def spinning(config: Mapping[str, Any]) -> Any:
    def forever(*_: Any, **__: Any) -> None:
        while True:
            pass

    return Double(reference(config), "advance", forever)


def hanging_factory(_: Mapping[str, Any]) -> Any:
    time.sleep(60)


def leaving(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "advance", lambda *_, **__: sys.exit(0))


def leaving_factory(_: Mapping[str, Any]) -> Any:
    sys.exit(0)


def no_events(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "drain_events", lambda: None)


def strange_events(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "drain_events", lambda: [7])


def strange_messages(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "messages", lambda: 7)


def strange_results(config: Mapping[str, Any]) -> Any:
    return Double(reference(config), "init_producer_id", lambda *_, **__: "an id")


CHANCE = random.Random()


class Chancy:
    """Takes its time from elsewhere: every id that it gives is another one the next time."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def advance(self, *arguments: Any, **named: Any) -> Any:
        self.system.advance(*arguments, **named)
        return CHANCE.random()


def chancy(config: Mapping[str, Any]) -> Any:
    return Chancy(reference(config))
