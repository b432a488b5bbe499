"""A gate between brokers: requests of chosen kinds wait before it, and with them what is behind on their connection.

With `cluster.advertised_internal[n] = gate.address` a node reaches node n, itself included, through the gate. Held
there, WriteTxnMarkers leaves a transaction in Prepare, and AddPartitionsToTxn leaves a leader waiting.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from types import TracebackType

ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS = 24, 27
PATIENCE_S = 20.0


class Gate:
    """`with Gate("host:port") as gate:` listens at `gate.address`, and passes everything on until told otherwise."""

    def __init__(self, upstream: str) -> None:
        host, _, port = upstream.rpartition(":")
        self._upstream = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._changed = threading.Condition()
        self._held: set[int] = set()
        self._waiting: Counter[int] = Counter()
        self._sockets = [self._listener]

    def __enter__(self) -> Gate:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release(*self._held)
        for each in self._sockets:
            each.close()

    def hold(self, *api_keys: int) -> None:
        """From now on requests with these keys wait."""
        with self._changed:
            self._held.update(api_keys)

    def release(self, *api_keys: int) -> None:
        """They go on."""
        with self._changed:
            self._held.difference_update(api_keys)
            self._changed.notify_all()

    def wait_for(self, api_key: int, count: int = 1) -> None:
        """Return when so many requests of a kind wait. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting[api_key] >= count, PATIENCE_S):
                raise TimeoutError(f"no {count} requests with api key {api_key} came within {PATIENCE_S:.0f} s")

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()  # the node is down: whoever asked is told so, and asks again
                continue
            self._sockets += [client, server]
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while True:
                head = _read(client, 6)
                length, api_key = struct.unpack(">ih", head)
                frame = head + _read(client, length - 2)
                with self._changed:
                    self._waiting[api_key] += 1
                    self._changed.notify_all()
                    self._changed.wait_for(lambda key=api_key: key not in self._held)  # type: ignore[misc]
                    self._waiting[api_key] -= 1
                server.sendall(frame)
        except OSError:
            _close(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
            _close(client, server)
        except OSError:
            _close(client, server)


def _read(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            raise ConnectionResetError("closed")
        data += part
    return data


def _close(*ends: socket.socket) -> None:
    for each in ends:
        each.close()
