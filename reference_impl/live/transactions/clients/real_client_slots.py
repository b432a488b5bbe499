"""This module is one slot of an adapter with real clients: the current instance of the slot, and the call that it is
in.

A library's calls block, and the driver decides about what they wait for. So each call has a thread of its own, and the
slot determines what may be called meanwhile. Only `begin` and `post` return quickly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum

from fencepost.reference_impl.live.transactions.clients.real_client import (
    TIMED_OUT,
    ClientError,
    RealProducer,
    Severity,
)
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer

ABORT, COMMIT = 0, 1


class Can(Enum):
    """A `Can` is the set of calls that the application may make next."""

    INIT = "initTransactions"
    BEGIN = "beginTransaction"
    SEND = "send, commit or abort"
    ABORT = "abort"
    NOTHING = "close"


class Slot:
    """A `Slot` has the producer instance that currently occupies a slot, and the call that it is in."""

    def __init__(self, name: str, client_id: str, producer: RealProducer, sniffer: Sniffer) -> None:
        self.name = name
        self.client_id = client_id
        self.can = Can.INIT
        self.unanswered: dict[int, int] = {}  # records on their way: their partitions
        self.added: set[int] = set()  # partitions of this transaction that have been used before
        self._producer = producer
        self._sniffer = sniffer
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_closed = self._is_thrown_away = False

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def is_waiting(self) -> bool:
        return self.is_busy or bool(self.unanswered)

    def init(self) -> None:
        self._start(self._producer.init, Can.BEGIN)

    def begin(self) -> bool:
        try:
            self._producer.begin()
        except ClientError as error:
            self._failed(error)
            return False
        self.can = Can.SEND
        self.added.clear()
        self._sniffer.begin(self.client_id)
        return True

    def post(self, topic: str, where: int, partition: int, record: int, key: bytes) -> bool:
        """Call send() for one record to partition `where` of `topic`, which is the system's `partition`; return whether
        the library accepted it."""
        self.unanswered[record] = partition

        def done(_: int, error: ClientError | None) -> None:
            with self._lock:
                self.unanswered.pop(record, None)
            if error is not None and not self._is_closed:
                self._sniffer.fail(self.client_id, record, error.code if error.code > 0 else TIMED_OUT)
                self._failed(error)

        try:
            self._producer.post(topic, where, str(record).encode(), done, key)
        except ClientError as error:
            self.unanswered.pop(record, None)
            self._failed(error)
            return False
        return True

    def send_offset(self, group: str, topic: str, where: int, record: int) -> None:
        self._start(lambda: self._producer.send_offset(group, topic, where, record), Can.SEND)

    def end(self, outcome: int) -> None:
        self._start(
            self._producer.commit if outcome == COMMIT else self._producer.abort,
            Can.BEGIN,
            lambda: self._sniffer.end(self.client_id, outcome),
        )

    def crash(self) -> None:
        """End the application, and discard the library's instance."""
        self._is_closed = True
        self._sniffer.report("client_stopped", client=self._sniffer.client(self.client_id))
        self.close()

    def close(self) -> None:
        """Discard the library's instance in the background; this is safe to repeat."""
        if self._is_thrown_away:
            return
        self._is_closed = self._is_thrown_away = True
        threading.Thread(target=self._close, name=f"fencepost-close-{self.client_id}", daemon=True).start()

    def _close(self) -> None:
        self._producer.close()
        if self._thread is not None:
            self._thread.join()

    def _start(self, work: Callable[[], None], then: Can, well: Callable[[], None] = lambda: None) -> None:
        def run() -> None:
            try:
                work()
            except ClientError as error:
                self._failed(error)
            else:
                if not self._is_closed:
                    self.can = then
                    well()

        self._thread = threading.Thread(target=run, name=f"fencepost-{self.client_id}", daemon=True)
        self._thread.start()

    def _failed(self, error: ClientError) -> None:
        """React to a failed call as its severity requires; a call that took too long may be made again."""
        with self._lock:
            if self._is_closed or self.can is Can.NOTHING:
                return
            if error.severity is Severity.FATAL:
                self.can = Can.NOTHING
                self._sniffer.report("client_failed", client=self._sniffer.client(self.client_id), error=error.code)
            elif error.severity is Severity.ABORTABLE and self.can in (Can.SEND, Can.ABORT):
                self.can = Can.ABORT
