"""The configuration of a system over TCP: the reference implementation's keys, and those of the wire."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.simulation.config import Configuration, Positive
from fencepost.reference_impl.simulation.config import split as split_config
from fencepost.reference_impl.transactions.config import EPOCH_MAX, Config

SCALE = 100  # virtual milliseconds in a real one, where real time has to pass
LONG_MS = 900_000  # transaction.max.timeout.ms: no program takes as long


@dataclass(frozen=True, slots=True)
class WireConfig(Configuration):
    """The keys that are not the reference implementation's."""

    bootstrap: str = ""  # host:port,…
    collapse: bool = False  # answers that only say "try again" are tried again before they are seen
    timeouts: bool = False  # transactions time out, in real time, a hundred times as fast as they say
    answer_timeout_ms: Positive = 6_000  # real: how long a broker may be silent

    def relate(self) -> None:
        """Raises ValueError where no brokers are named."""
        if not self.bootstrap:
            raise ValueError("config bootstrap is missing: pass the brokers as host:port,…")


def split(config: Mapping[str, Any]) -> tuple[Config, WireConfig]:
    """The configuration of a system over TCP, checked. Raises ValueError on an unknown key, a value out of range, or a
    max_epoch below Kafka's."""
    of_wire, of_cluster = split_config(config, WireConfig, Config)
    wire, checked = WireConfig(**of_wire), Config(**of_cluster)
    if checked.max_epoch != EPOCH_MAX:
        raise ValueError(
            f"config max_epoch={checked.max_epoch}: over TCP the epochs end where Kafka's do, at {EPOCH_MAX}"
        )
    return checked, wire


def transaction_timeout(config: Config, wire: WireConfig, asked_ms: int) -> int:
    """The time-out that a broker gets instead of a client's transaction time-out; one that is too long stays so (error
    50)."""
    if asked_ms > config.max_transaction_timeout_ms:
        return asked_ms
    return max(1, asked_ms // SCALE) if wire.timeouts else LONG_MS
