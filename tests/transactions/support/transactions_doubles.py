"""These implementations of transactions serve the tests of agreement: the reference as a black box, and some defective
ones."""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.transactions.interface import BLACK_BOX, COLUMNS
from fencepost.reference_impl.systems.transactions import reference


class BlackBox:
    """A `BlackBox` reports as dicts what clients send and receive, and nothing of coordinator and partitions."""

    def __init__(self, system: Any) -> None:
        self.system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def drain_events(self) -> list[dict[str, Any]]:
        observed = [e for e in self.system.drain_events() if e.kind in BLACK_BOX]
        return [{n: getattr(e, n) for n in ("kind", *COLUMNS)} for e in observed]


def black_box(config: Mapping[str, Any]) -> BlackBox:
    return BlackBox(reference(config))


class Forgetful(BlackBox):
    """This cluster leaves out the first of several records that a reader gets at once."""

    def read(self, reader: int, partition: int, committed: bool = True) -> list[tuple[int, int]]:
        records: list[tuple[int, int]] = self.system.read(reader, partition, committed)
        return records[1:] or records


def forgetful(config: Mapping[str, Any]) -> Forgetful:
    return Forgetful(reference(config))


class Crashing(BlackBox):
    """This cluster raises when a coordinator fails over."""

    def fail_over(self, durable: bool = True) -> None:
        raise ZeroDivisionError("nobody is left")


def crashing(config: Mapping[str, Any]) -> Crashing:
    return Crashing(reference(config))
