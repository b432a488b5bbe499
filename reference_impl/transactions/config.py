"""The configuration of one cluster with its clients: keys, defaults, ranges and reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

EPOCH_MAX = 32767  # the largest int16: reserved, so that the largest epoch in use can always be fenced (txn.4)

MODES = ("v1", "v1-verified", "v2")
RELEASES = ("4.0", "4.3", "trunk")


@dataclass(frozen=True, slots=True)
class Config:
    """One cluster. Times are virtual milliseconds; the defaults are Kafka's."""

    seed: int = 0
    mode: str = "v2"  # v1 | v1-verified (KIP-890 part 1) | v2 (KIP-890 part 2)
    clients: int = 2  # producer slots, all with transactional id 0
    partitions: int = 2
    groups: int = 0  # consumer groups; their offsets partitions are numbered behind the data partitions
    transaction_timeout_ms: int = 60_000  # what producers ask for
    max_transaction_timeout_ms: int = 900_000  # transaction.max.timeout.ms
    max_epoch: int = EPOCH_MAX  # the epoch never handed out; small to reach the end
    request_timeout_ms: int = 30_000  # of clients, of markers, of a leader's question to the coordinator
    timeout_check_ms: int = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    expiration_ms: int = 7 * 24 * 3600 * 1000  # transactional.id.expiration.ms
    expiration_check_ms: int = 3600 * 1000  # transaction.remove.expired.transaction.cleanup.interval.ms
    # 4.3: as measured on Kafka 4.3.1, where what is written here is older, or stricter (KAFKA.md); trunk: and with
    # KAFKA-20357, which is merged and in no release yet (read, not measured)
    release: str = "4.0"
    leader_change: str = "replica"  # a new leader knows the last five batches (replica), or the last one (restart)

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("leader_change", self.leader_change, ("replica", "restart"))
        _one_of("release", self.release, RELEASES)
        _whole("seed", self.seed, None)
        _whole("groups", self.groups, 0)
        for name in (
            "clients", "partitions", "transaction_timeout_ms", "max_transaction_timeout_ms", "max_epoch",
            "request_timeout_ms", "timeout_check_ms", "expiration_ms", "expiration_check_ms",
        ):  # fmt: skip
            _whole(name, getattr(self, name), 1)
        if self.max_epoch > EPOCH_MAX:
            raise ValueError(f"config max_epoch={self.max_epoch}: epochs are int16, the greatest is {EPOCH_MAX}")

    @property
    def asks_coordinator(self) -> bool:
        """Whether a partition's leader asks the coordinator before the first append of a transaction (txn.15)."""
        return self.mode != "v1"

    @property
    def is_recent(self) -> bool:
        """Whether brokers do what was measured on Kafka 4.3.1, also where that is newer, or laxer."""
        return self.release != "4.0"

    @property
    def records_last_epoch(self) -> bool:
        """Whether the transaction log has the epoch before the last bump (KAFKA-20357), in records that have tags."""
        return self.release == "trunk" and self.mode != "v1"

    @property
    def is_v2(self) -> bool:
        """Whether every EndTxn bumps the epoch, and the leader adds the partition for the client (txn.9)."""
        return self.mode == "v2"

    @property
    def all_partitions(self) -> int:
        """Data partitions and offsets partitions together."""
        return self.partitions + self.groups


KEYS = frozenset(field.name for field in fields(Config))


def parse(config: Mapping[str, Any]) -> Config:
    """The plug's config mapping, checked. Raises ValueError on an unknown key or a value out of range."""
    unknown = config.keys() - KEYS
    if unknown:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(KEYS)}")
    return Config(**config)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"config {name}={value!r}: must be one of {', '.join(allowed)}")


def _whole(name: str, value: object, least: int | None) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"config {name}={value!r}: must be a whole number")
    if least is not None and value < least:
        raise ValueError(f"config {name}={value}: must be at least {least}")
