"""The configuration of one Connect cluster: keys, defaults, ranges and reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fencepost.reference_impl.task_counts.events import SUPPORT_CODES
from fencepost.reference_impl.transactions.config import MODES as TRANSACTION_MODES

MODES = ("A", "M", "B", "shipped")  # the three revisions of the document, and what Kafka ships
PROTOCOLS = ("eager", "cooperative")


@dataclass(frozen=True, slots=True)
class Config:
    """One cluster. Times are virtual milliseconds; the defaults are Kafka's."""

    seed: int = 0
    mode: str = "shipped"
    workers: int = 2
    connectors: int = 1
    max_tasks: int = 2  # of one connector
    protocol: str = "cooperative"  # how the group rebalances (618.41)
    preemptive_stop: bool = True  # tasks of an old set are stopped before the worker joins again (618.22)
    group_id: str = "connect"
    support: str | tuple[str, ...] = "disabled"  # exactly.once.source.support, of all workers or of each (618.46)
    graceful_shutdown_ms: int = 5_000  # task.shutdown.graceful.timeout.ms (618.23)
    names: tuple[str, ...] = ()  # of connectors; default connector-0, connector-1, …
    rest_timeout_ms: int = 90_000  # of a request from worker to worker
    retry_backoff_ms: int = 250  # of whatever a worker tries again by itself
    heartbeat_ms: int = 0  # an expired member learns of it at the next multiple of this; 0: at once
    transaction_timeout_ms: int = 60_000  # of the tasks' producers and of the leader's
    offsets_topic: str = ""  # offsets.storage.topic of every connector: a separate one, created by the tasks (618.17)
    transactional_id: str = ""  # a user's transactional.id for the leader's producer: ignored, with a warning (618.24)
    transactions: str = "v1"  # the protocol of the brokers' transactional coordinator: Kafka 3.3, as shipped, had v1

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("protocol", self.protocol, PROTOCOLS)
        _one_of("transactions", self.transactions, TRANSACTION_MODES)
        _whole("seed", self.seed, None)
        if not isinstance(self.preemptive_stop, bool):
            raise ValueError(f"config preemptive_stop={self.preemptive_stop!r}: must be True or False")
        if not isinstance(self.group_id, str) or not self.group_id:
            raise ValueError(f"config group_id={self.group_id!r}: must be a name")
        for name in (
            "workers", "connectors", "max_tasks", "rest_timeout_ms", "retry_backoff_ms", "transaction_timeout_ms",
        ):  # fmt: skip
            _whole(name, getattr(self, name), 1)
        for name in ("graceful_shutdown_ms", "heartbeat_ms"):
            _whole(name, getattr(self, name), 0)
        if isinstance(self.support, tuple) and len(self.support) != self.workers:
            raise ValueError(f"config support={self.support!r}: one value, or {self.workers}, one for each worker")
        for value in self.support_of_workers:
            check_support(self.mode, value)
        if self.names and (len(self.names) != self.connectors or len(set(self.names)) != self.connectors):
            raise ValueError(f"config names={self.names!r}: must be {self.connectors} different names, or none")

    @property
    def support_of_workers(self) -> tuple[str, ...]:
        """exactly.once.source.support of every worker, in order."""
        return self.support if isinstance(self.support, tuple) else (self.support,) * self.workers

    @property
    def connector_names(self) -> tuple[str, ...]:
        """The name of every connector, in order of its number."""
        return self.names or tuple(f"connector-{number}" for number in range(self.connectors))


KEYS = frozenset(field.name for field in fields(Config))


def parse(config: Mapping[str, Any], kind: type[Config] = Config) -> Config:
    """The plug's config mapping, checked; lists are taken as tuples. Raises ValueError on an unknown key or a value
    out of range."""
    unknown = config.keys() - KEYS
    if unknown:
        raise ValueError(f"config has unknown keys {sorted(unknown)}: known are {sorted(KEYS)}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
    return kind(**values)


def check_support(mode: str, value: str) -> None:
    """Raises ValueError for a value of exactly.once.source.support that this revision does not have (618.46)."""
    _one_of("support", value, tuple(SUPPORT_CODES))
    if value == "preparing" and mode != "shipped":
        raise ValueError(f"config support='preparing' with mode={mode!r}: a boolean flag, except in mode 'shipped'")


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"config {name}={value!r}: must be one of {', '.join(allowed)}")


def _whole(name: str, value: object, least: int | None) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"config {name}={value!r}: must be a whole number")
    if least is not None and value < least:
        raise ValueError(f"config {name}={value}: must be at least {least}")
