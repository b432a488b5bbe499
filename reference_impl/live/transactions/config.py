"""This module has the configuration of a system on real brokers, the names of what it creates there, and its event
log."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.reference_impl.kafka.environment import EPOCH_MAX, Config, Event, TransactionEventLog, readable
from fencepost.reference_impl.kafka.messages import NO_PRODUCER_ID
from fencepost.reference_impl.simulation.config import Configuration, Positive
from fencepost.reference_impl.simulation.config import split as split_config

# Names on the brokers are all fresh, and what they name is numbered in one system.
#
# So the same program gives the same events on any broker, also on one that has been used before.


class Place(NamedTuple):
    """A `Place` is a partition of the brokers that only one system uses, from the offset ``start`` on."""

    topic: str
    partition: int
    start: int


class Names:
    """A `Names` has the names of one system. ``name`` is the system's own, and is part of all its ids and the key of
    its records; ``places`` are its data partitions."""

    def __init__(self, name: str, places: Sequence[Place]) -> None:
        self.name = name
        self.places = tuple(places)
        self._real: list[int] = []
        self._by_real: dict[int, int] = {}

    @property
    def record_key(self) -> bytes:
        return self.name.encode()

    def transactional_id(self, number: int) -> str:
        return f"{self.name}-{number}"

    def group_id(self, group: int) -> str:
        """Return the group id of a number; groups are numbered from 0, after the data partitions."""
        return f"{self.name}-group-{group}"

    def numbered_producer_id(self, real: int) -> int:
        """Return the number of a producer id; ids are numbered in order of appearance."""
        if real < 0:
            return NO_PRODUCER_ID
        number = self._by_real.get(real)
        if number is None:
            number = self._by_real[real] = len(self._real)
            self._real.append(real)
        return number

    def real_producer_id(self, number: int) -> int:
        return number if number < 0 else self._real[number]


# This is the event log of a system that runs in real time: every row has the wall-clock time at which it was written.


class TimedLog(TransactionEventLog):
    """A `TimedLog` has in ``times_us[i]`` when row i was written, in real microseconds since 1970."""

    __slots__ = ("_timed", "times_us")

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        self.times_us: list[int] = []
        self._timed = 0

    def emit(self, kind: int, *columns: int, **named: int) -> None:
        super().emit(kind, *columns, **named)
        self.times_us.append(time.time_ns() // 1000)

    def drain_timed(self) -> list[tuple[int, Event]]:
        """Return pairs of real time in us and event since the last call of this method."""
        fresh = range(self._timed, len(self.rows))
        self._timed = len(self.rows)
        return [(self.times_us[row], readable(self.rows[row])) for row in fresh]


SCALE = 100  # virtual milliseconds in a real one, where real time has to pass
LONG_MS = 900_000  # transaction.max.timeout.ms: no program takes as long


@dataclass(frozen=True, slots=True)
class WireConfig(Configuration):
    """A `WireConfig` has the keys that are not the reference implementation's."""

    bootstrap: str = ""  # host:port,…
    client_config: str = ""  # a properties file, as Kafka's clients have
    collapse: bool = False  # answers that only say "try again" are tried again before they are seen
    timeouts: bool = False  # transactions time out, in real time, a hundred times as fast as they say
    answer_timeout_ms: Positive = 6_000  # real: how long a broker may be silent

    def relate(self) -> None:
        if not self.bootstrap:
            raise ValueError("config bootstrap is missing: pass the brokers as host:port,…")


def split(config: Mapping[str, Any]) -> tuple[Config, WireConfig]:
    """Return the checked configuration of a system over TCP. Raise ValueError on an unknown key, a value out of range,
    or a max_epoch that is not Kafka's."""
    of_wire, of_cluster = split_config(config, WireConfig, Config)
    wire, checked = WireConfig(**of_wire), Config(**of_cluster)
    if checked.max_epoch != EPOCH_MAX:
        raise ValueError(
            f"config max_epoch={checked.max_epoch}: over TCP the epochs end where Kafka's do, at {EPOCH_MAX}"
        )
    return checked, wire


def transaction_timeout(config: Config, wire: WireConfig, asked_ms: int) -> int:
    """Return the transaction time-out for the broker; one that is too long stays unchanged (error 50)."""
    if asked_ms > config.max_transaction_timeout_ms:
        return asked_ms
    return max(1, asked_ms // SCALE) if wire.timeouts else LONG_MS
