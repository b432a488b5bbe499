"""This module is a driven system over TCP: the reference implementation's clients, and real brokers.

    system = over_tcp({"seed": 1, "mode": "v2", "clients": 2, "partitions": 2, "bootstrap": "127.0.0.1:9092"})

The driver decides when each request and each answer arrives, how often, or whether at all; the brokers decide how they
handle it. Log appends, markers and leaders are not observed: events are only what clients do and the answers they get.
Every system has a transactional id, groups and partitions of its own, and numbers everything from 0.
"""

import time
import weakref
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from fencepost.reference_impl.kafka.clients.admin import Admin
from fencepost.reference_impl.kafka.clients.consumer import Reader
from fencepost.reference_impl.kafka.clients.producer import Producer
from fencepost.reference_impl.kafka.clients.roles import ClientSide
from fencepost.reference_impl.kafka.environment import COORDINATOR, DrivenPace, Environment, Event, partition_name
from fencepost.reference_impl.live.tcp.brokers import connect
from fencepost.reference_impl.live.tcp.connection import PLAINTEXT
from fencepost.reference_impl.live.tcp.reading import Patience
from fencepost.reference_impl.live.tcp.security import client_security
from fencepost.reference_impl.live.transactions.config import (
    SCALE,
    Names,
    TimedLog,
    WireConfig,
    split,
    transaction_timeout,
)
from fencepost.reference_impl.live.transactions.fetching import FetchedLog, FetchedOffsets
from fencepost.reference_impl.live.transactions.pool import Pool, Returned, shared_pool
from fencepost.reference_impl.live.transactions.remote import TRY_AGAIN, Line, Remote
from fencepost.reference_impl.live.transactions.requests import Codec
from fencepost.reference_impl.simulation import Kernel, Network
from fencepost.reference_impl.systems.transactions import InPieces

APPEND_MS = 2_000
SETTLED_S = 10.0  # how long the end of a transaction may take, once it is decided
PAUSE_S = 0.002
UNKNOWN, ONGOING = "?", "Ongoing"
UNSETTLED = frozenset({"PrepareCommit", "PrepareAbort", UNKNOWN})


class Control(Protocol):
    """A `Control` has the operations of the brokers' owner on them; each returns when they answer again."""

    def fail_over(self) -> None: ...


class WireSystem(ClientSide):
    """A `WireSystem` has clients in this process and brokers elsewhere, which `control` moves if it is given."""

    def __init__(self, env: Environment, wire: WireConfig, control: Control | None) -> None:
        super().__init__(env, Producer, Admin, Reader)
        config = env.config
        self.wire = wire
        self.control = control
        security = client_security(Path(wire.client_config)) if wire.client_config else PLAINTEXT
        self.brokers = connect(wire.bootstrap, wire.answer_timeout_ms / 1000, security)
        versions = self.brokers.offered.negotiate(config.mode)
        pool = shared_pool(self.brokers)
        self.names = self.new_names(pool)
        self.line = self.new_line(versions)
        self.logs = [FetchedLog(self.brokers, versions, self.names, number) for number in range(config.partitions)]
        self.offsets = [
            FetchedOffsets(self.brokers, versions, self.names, config.partitions + group, group)
            for group in range(config.groups)
        ]
        for name in (COORDINATOR, *map(partition_name, range(config.all_partitions))):
            self.env.network.nodes[name] = self.new_remote(name)
        self._new_producers()
        left = Returned(self.names.places, self.names.transactional_id(0))
        self._finalizer = weakref.finalize(self, pool.returned.append, left)  # nothing above may refer to self
        self._finalizer.atexit = False

    def new_names(self, pool: Pool) -> Names:
        return Names(pool.fresh_name(), pool.take(self.env.config.partitions))

    def new_line(self, versions: Mapping[str, int]) -> Line:
        timeout = partial(transaction_timeout, self.env.config, self.wire)
        return Line(self.brokers, Codec(versions, self.names, timeout, APPEND_MS), self.wire.collapse)

    def new_remote(self, name: str) -> Remote:
        return Remote(name, self.env.network, self.line.carry)

    def close(self) -> None:
        """Give the partitions back; this happens by itself when the system is garbage-collected."""
        self._finalizer()

    def log_append(self, ok: bool = True) -> bool:
        """Return False, because the brokers append to their transaction log by themselves."""
        return False

    def fail_over(self, durable: bool = True) -> None:
        """Have the coordinator replaced, if there is a `control`; the brokers determine what is durable then."""
        if self.control is not None:
            self.control.fail_over()
            self.brokers.close()

    def change_leader(self, partition: int) -> None:
        """Have the leaders replaced, if there is a `control`; on one broker this is the same as a fail-over."""
        self.fail_over()

    def advance(self, ms: int) -> None:
        """Let virtual time pass for the clients. Real time passes only for what waits for it: a little after an answer
        that means "try again", and with `timeouts` a hundredth of `ms` while a transaction is open."""
        if self.wire.timeouts:
            self._wait_for_time_out(ms / SCALE / 1000)
        if self.line.told_to_wait:
            self.line.told_to_wait = False
            self.settle()
            time.sleep(PAUSE_S)
        super().advance(ms)

    def read(
        self, reader: int, partition: int, committed: bool = True, offset: int = 0, most: int = 0
    ) -> list[tuple[int, int]]:
        """Return the (offset, record) pairs that a reader gets next, once no transaction of this system is just ending;
        with `most`, only those of that many batches. A reader that has read nothing of the partition begins at
        `offset`."""
        self.settle()
        log = self._log(partition)
        return self._reader(reader).read(InPieces(log, most) if most else log, committed, offset)

    def fetch_offset(self, reader: int, partition: int) -> tuple[int, int]:
        """Return (error, record) of an OffsetFetch with require_stable; the record is -1 if there is none."""
        log = self._log(partition)
        if not isinstance(log, FetchedOffsets):
            raise ValueError(
                f"partition {partition} holds records, not offsets: offsets partitions are numbered from "
                f"{self.env.config.partitions} to {self.env.config.all_partitions - 1}"
            )
        self.settle()
        return self._reader(reader).fetch_offset(log)

    def drain_timed_events(self) -> list[tuple[int, Event]]:
        """Return pairs of microseconds since 1970 and event since the last call of this method."""
        log = self.env.log
        assert isinstance(log, TimedLog), "over_tcp() has one written"
        return log.drain_timed()

    def settle(self) -> None:
        """Wait until the transactional id is not in a Prepare state, so that the decision has reached every partition.

        There is no wait for brokers without DescribeTransactions.
        """
        if self.line.unsettled:
            for _ in Patience(SETTLED_S):
                if self.transaction_state() not in UNSETTLED:
                    break
            self.line.unsettled = self.wire.timeouts  # then the brokers end transactions by themselves

    def transaction_state(self, number: int = 0) -> str:
        """Return Kafka's state of a transactional id: `UNKNOWN` if not known now, empty if never."""
        error, state = self.brokers.transaction(self.names.transactional_id(number))
        if error in TRY_AGAIN:
            self.brokers.forget()
            return UNKNOWN
        return state

    def _wait_for_time_out(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        for _ in Patience(seconds):
            if self.transaction_state() not in (ONGOING, UNKNOWN):
                return
        time.sleep(max(0.0, until - time.monotonic()))

    def _log(self, partition: int) -> Any:
        return [*self.logs, *self.offsets][partition]


def over_tcp(config: Mapping[str, Any], control: Control | None = None) -> WireSystem:
    """Return a driven system on the brokers at `config["bootstrap"]`; the keys are those of `WireConfig` and
    `transactions.config.Config`.

    Raise ValueError for an invalid configuration, WireError if no broker answers or the brokers do not support the
    mode.
    """
    checked, wire = split(config)
    kernel = Kernel(checked.seed)
    env = Environment(checked, kernel, Network(kernel), DrivenPace())
    env.log = log = TimedLog(kernel)
    env.emit = log.emit
    return WireSystem(env, wire, control)
