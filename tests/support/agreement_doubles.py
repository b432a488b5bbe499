"""Implementations for the tests of agreement: the reference seen through a keyhole, and some that no user should
have."""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.systems.id_blocks import reference

SHOWN = ("request_sent", "answer_sent", "id_handed_out", "id_refused")


class BlackBox:
    """Shows the four kinds that everybody can show, as dicts, and nothing else."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def drain_events(self) -> list[dict[str, Any]]:
        names = ("kind", "broker", "request", "first", "length", "producer_id", "error")
        return [{n: getattr(e, n) for n in names} for e in self.system.drain_events() if e.kind in SHOWN]


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
