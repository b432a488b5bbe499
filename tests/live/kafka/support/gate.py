"""A gate between brokers: requests of chosen kinds wait before it, and with them what is behind on their connection.

With `cluster.advertised_internal[n] = gate.address` a node reaches node n, itself included, through the gate. Held
there, WriteTxnMarkers leaves a transaction in Prepare, and AddPartitionsToTxn leaves a leader waiting. Before a
controller (`cluster.advertised_controller[n]`) heartbeats and fetches of one node are held by the name of its client.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from functools import partial
from types import TracebackType

FETCH, ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS, BROKER_HEARTBEAT = 1, 24, 27, 63
PATIENCE_S = 20.0


class Gate:
    """`with Gate("host:port") as gate:` listens at `gate.address`, and passes everything on until told otherwise."""

    def __init__(self, upstream: str) -> None:
        host, _, port = upstream.rpartition(":")
        self._upstream = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._changed = threading.Condition()
        self._held: set[tuple[int, str]] = set()
        self._waiting: Counter[tuple[int, str]] = Counter()
        self._sockets = [self._listener]

    def __enter__(self) -> Gate:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._held.clear()
            self._changed.notify_all()
        for each in self._sockets:
            each.close()

    def hold(self, *api_keys: int, client: str = "") -> None:
        """From now on requests with these keys wait; with `client` those of clients whose id begins so."""
        with self._changed:
            self._held.update((api_key, client) for api_key in api_keys)

    def release(self, *api_keys: int, client: str = "") -> None:
        """They go on."""
        with self._changed:
            self._held.difference_update((api_key, client) for api_key in api_keys)
            self._changed.notify_all()

    def wait_for(self, api_key: int, count: int = 1, *, client: str = "") -> None:
        """Return when so many requests of a kind wait. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._held_up(api_key, client) >= count, PATIENCE_S):
                raise TimeoutError(f"no {count} requests with api key {api_key} came within {PATIENCE_S:.0f} s")

    def _held_up(self, api_key: int, client: str) -> int:
        return sum(n for (key, name), n in self._waiting.items() if key == api_key and name.startswith(client))

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()  # the node is down: the one that asked gets an error, and asks again
                continue
            self._sockets += [client, server]
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while True:
                head = _read(client, 4)
                frame = head + _read(client, *struct.unpack(">i", head))
                whose = _whose(frame)
                with self._changed:
                    if not self._passes(*whose):
                        self._waiting[whose] += 1
                        self._changed.notify_all()
                        self._changed.wait_for(partial(self._passes, *whose))
                        self._waiting[whose] -= 1
                server.sendall(frame)
        except OSError:
            _close(client, server)

    def _passes(self, api_key: int, name: str) -> bool:
        return not any(key == api_key and name.startswith(client) for key, client in self._held)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
            _close(client, server)
        except OSError:
            _close(client, server)


def _whose(frame: bytes) -> tuple[int, str]:
    """The api key and the client's id, which every version of the header has at the same place."""
    api_key, length = struct.unpack_from(">h6xh", frame, 4)
    return api_key, frame[14 : 14 + max(0, length)].decode()


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
