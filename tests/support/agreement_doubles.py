"""Implementations for the tests of agreement: the reference seen through a keyhole, and some that no user should
have."""

import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.reference_impl.systems.id_blocks import reference

MAPPING = ("request_sent", "answer_sent", "id_handed_out", "id_refused")


class BlackBox:
    """Shows the four kinds that everybody can show, as dicts, and nothing else."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def drain_events(self) -> list[dict[str, Any]]:
        names = ("kind", "broker", "request", "first", "length", "producer_id", "error")
        return [{n: getattr(e, n) for n in names} for e in self.system.drain_events() if e.kind in MAPPING]


def black_box(config: Mapping[str, Any]) -> BlackBox:
    """The reference as a black box."""
    return BlackBox(reference(config))


class Lying(BlackBox):
    """Hands an id to the client that its events say nothing of."""

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        error, producer_id = self.system.init_producer_id(broker)
        return (error, producer_id) if error else (0, producer_id + 7)


def lying(config: Mapping[str, Any]) -> Lying:
    """A cluster whose answers and events differ."""
    return Lying(reference(config))


class Crashing(BlackBox):
    """Breaks down when a controller fails over."""

    def fail_over(self) -> None:
        raise ZeroDivisionError("nobody is left")


def crashing(config: Mapping[str, Any]) -> Crashing:
    """A cluster whose fail-over raises."""
    return Crashing(reference(config))


class Moody(BlackBox):
    """Every other cluster of this process refuses its clients for ever."""

    made = 0

    def init_producer_id(self, broker: int) -> tuple[int, int]:
        return (14, -1) if self.mood else self.system.init_producer_id(broker)


def moody(config: Mapping[str, Any]) -> Moody:
    """A cluster that is not deterministic."""
    system = Moody(reference(config))
    Moody.made += 1
    system.mood = Moody.made % 2
    return system


class Double:
    """The reference, and in place of one of its methods another: nothing can be judged with it."""

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
