"""The configuration of a system over TCP: the reference implementation's keys, and those of the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fencepost.reference_impl.transactions.config import EPOCH_MAX, Config, parse

SCALE = 100  # virtual milliseconds in a real one, where real time has to pass
LONG_MS = 900_000  # transaction.max.timeout.ms: no program takes as long


@dataclass(frozen=True, slots=True)
class WireConfig:
    """The keys that are not the reference implementation's."""

    bootstrap: str = ""  # host:port,…
    collapse: bool = False  # answers that only say "try again" are tried again before they are seen
    timeouts: bool = False  # transactions time out, in real time, a hundred times as fast as they say
    answer_timeout_ms: int = 6_000  # real: how long a broker may be silent

    def __post_init__(self) -> None:
        if not self.bootstrap or not isinstance(self.bootstrap, str):
            raise ValueError("config bootstrap is missing: pass the brokers as host:port,…")
        for name in ("collapse", "timeouts"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"config {name}={getattr(self, name)!r}: must be True or False")
        if not isinstance(self.answer_timeout_ms, int) or self.answer_timeout_ms < 1:
            raise ValueError(f"config answer_timeout_ms={self.answer_timeout_ms!r}: must be a whole number, at least 1")


KEYS = frozenset(field.name for field in fields(WireConfig))


def split(config: Mapping[str, Any]) -> tuple[Config, WireConfig]:
    """The plug's mapping, checked. Raises ValueError on an unknown key, a value out of range, or another max_epoch."""
    wire = WireConfig(**{key: value for key, value in config.items() if key in KEYS})
    checked = parse({key: value for key, value in config.items() if key not in KEYS})
    if checked.max_epoch != EPOCH_MAX:
        raise ValueError(
            f"config max_epoch={checked.max_epoch}: over TCP the epochs end where Kafka's do, at {EPOCH_MAX}"
        )
    return checked, wire


def transaction_timeout(config: Config, wire: WireConfig, asked_ms: int) -> int:
    """What a broker is told instead of a client's transaction time-out; one that is too long stays so (error 50)."""
    if asked_ms > config.max_transaction_timeout_ms:
        return asked_ms
    return max(1, asked_ms // SCALE) if wire.timeouts else LONG_MS
