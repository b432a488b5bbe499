"""The configuration of one cluster: what the plug's config mapping may say, with defaults, ranges and reasons.

Where the KIP and the shipped code differ, both are an option here: `authorization_error`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

LONG_MAX = 2**63 - 1

# From this inter-broker protocol on a broker of a ZooKeeper-mode cluster uses the RPC (730.21).
RPC_SINCE = "3.0-IV0"


@dataclass(frozen=True, slots=True)
class Config:
    """One cluster. Times are virtual milliseconds."""

    seed: int = 0
    brokers: int = 3
    controllers: int = 3
    block_size: int = 1000  # ids per block: the controller's to choose (730.8)
    max_id: int = LONG_MAX  # exhaustion point: ids run from 0 to max_id - 1 (730.16)
    mode: str = "kraft"  # kraft | zookeeper | bridge (ZooKeeper that can migrate to KRaft)
    prefetch: float = 0.9  # share of a block after which the next one is requested; 0 disables (730.12)
    inter_broker_protocol: str = "2.8-IV1"  # of all brokers at the start; below 3.0-IV0 they use ZooKeeper directly
    backoff_ms: int = 50
    request_timeout_ms: int = 1000  # shipped: 60 s; scaled to the histories
    authorization_error: str = "retried"  # retried (shipped) | fatal (730.5: the broker terminates)
    controller_discovery: str = "at_delivery"  # which node a request reaches: the active one at_delivery | at_sending
    quota_per_second: float = 0.0  # AllocateProducerIds requests per broker before throttling (730.6); 0: unlimited

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, "kraft", "zookeeper", "bridge")
        _one_of("authorization_error", self.authorization_error, "retried", "fatal")
        _one_of("controller_discovery", self.controller_discovery, "at_delivery", "at_sending")
        for name in ("brokers", "controllers", "block_size", "max_id"):
            if getattr(self, name) < 1:
                raise ValueError(f"config {name}={getattr(self, name)}: must be at least 1")
        if not 0 <= self.prefetch < 1:
            raise ValueError(f"config prefetch={self.prefetch}: a share of the block, 0 <= prefetch < 1; 0 disables it")
        if self.max_id > LONG_MAX:
            raise ValueError(f"config max_id={self.max_id}: producer ids are int64, the greatest is {LONG_MAX}")
        if protocol_version(self.inter_broker_protocol) < (0, 8):
            raise ValueError(f"config inter_broker_protocol={self.inter_broker_protocol!r}: no such Kafka version")

    @property
    def starts_with_zookeeper(self) -> bool:
        """Whether ZooKeeper holds the block at the start."""
        return self.mode != "kraft"

    @property
    def starts_with_rpc(self) -> bool:
        """Whether the brokers start with the RPC: in KRaft always, in ZooKeeper mode by version (730.21)."""
        return self.mode == "kraft" or protocol_version(self.inter_broker_protocol) >= protocol_version(RPC_SINCE)


KEYS = frozenset(field.name for field in fields(Config))


def parse(config: Mapping[str, Any]) -> Config:
    """The plug's config mapping, checked. Raises ValueError on an unknown key or a value out of range."""
    unknown = config.keys() - KEYS
    if unknown:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(KEYS)}")
    return Config(**config)


def protocol_version(text: str) -> tuple[int, ...]:
    """`3.0-IV1` as (3, 0, 1), so that versions compare; a version without -IV stands for its last one."""
    release, _, revision = text.partition("-IV")
    try:
        return (*(int(part) for part in release.split(".")), int(revision) if revision else 99)
    except ValueError:
        raise ValueError(f"inter-broker protocol {text!r}: expected a version such as 2.8-IV1 or {RPC_SINCE}") from None


def _one_of(name: str, value: str, *allowed: str) -> None:
    if value not in allowed:
        raise ValueError(f"config {name}={value!r}: must be one of {', '.join(allowed)}")
