"""This module asks workers over REST, and has a proxy for what workers ask one another.

reply = ask("http://127.0.0.1:8083", "GET", "/connectors")
with RestProxy("w0", 8083, seen) as proxy:                      # rest.advertised.port of w0 is proxy.port
    rounds = proxy.hold(lambda asked: asked.path.endswith("/fence"))
    rounds.wait().release()
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from fencepost.reference_impl.live.clusters.ending import Entering
from fencepost.reference_impl.live.connect.seen import REST, Seen
from fencepost.reference_impl.live.tcp.connection import NoAnswer, WireError

HOST = "127.0.0.1"
PATIENCE_S = 120.0  # more than the 90 s that a worker waits for a round of fencing
LOOK_S = 10.0  # how long a worker that others run may take
POLL_S = 0.02  # how long its end may take to be noticed
HOP = frozenset({"connection", "transfer-encoding", "content-length", "keep-alive"})  # of one connection only


class Reply(NamedTuple):
    """A `Reply` has HTTP's status and the body: what JSON says, or text, or None where there is none."""

    status: int
    body: Any

    @property
    def is_done(self) -> bool:
        return 200 <= self.status < 300


def ask(url: str, method: str, path: str, body: Any = None, timeout_s: float = 30.0) -> Reply:
    """Send one request to a worker. Raise NoAnswer if there is no answer in time; the worker may carry it out later."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=timeout_s)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswer(f"{url}: no answer to {method} {path} within {timeout_s:g} s: {error!r}") from error
    finally:
        connection.close()
    with contextlib.suppress(ValueError):
        return Reply(answer.status, json.loads(text) if text else None)
    return Reply(answer.status, text)


def about(url: str) -> tuple[str, str, dict[str, Any]]:
    """Return the worker's release, the id of its Kafka cluster, and the status of each connector by name. Raise
    WireError for what does not answer as Connect's REST server does."""
    root, all_of_them = (ask(url, "GET", path, timeout_s=LOOK_S) for path in ("/", "/connectors?expand=status"))
    try:
        found = {name: each["status"] for name, each in all_of_them.body.items()}
        return str(root.body["version"]), str(root.body["kafka_cluster_id"]), found
    except (AttributeError, KeyError, TypeError):
        what = f"answers {root.status} and {all_of_them.status}, with {str(all_of_them.body)[:80]!r}"
        raise WireError(f"{url}: {what}: this is not the REST server of a Connect worker, or it refuses") from None


@dataclass(eq=False)
class Asked:
    """An `Asked` is a request of one worker to another, ``worker``; ``status`` is that of the answer, once there is
    one. With ``instead`` the asker gets an empty answer of that status."""

    worker: str
    method: str
    path: str
    body: bytes
    status: int | None = None
    instead: int | None = None
    is_lost: bool = False
    _go_on: threading.Event = field(default_factory=threading.Event, repr=False)

    def release(self) -> None:
        """Let the request go to the worker, or its answer to the asker."""
        self._go_on.set()


class HeldRest:
    """A `HeldRest` holds the requests that its predicate covers, or with ``answers`` their answers, until `end`."""

    def __init__(self, proxy: RestProxy, covers: Callable[[Asked], bool], answers: bool) -> None:
        self.covers, self.answers = covers, answers
        self.waiting: list[Asked] = []
        self.changed = threading.Condition()
        self._proxy = proxy

    def wait(self, timeout_s: float = 60.0) -> Asked:
        """Wait until a request, or an answer, is held here, and return the oldest. Raise TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.waiting, timeout_s):
                raise TimeoutError(f"no {'answer' if self.answers else 'request'} was held within {timeout_s:g} s")
            return self.waiting[0]

    def end(self, *, lost: bool = False) -> None:
        """Hold no more, and release what waits; or have it `lost`: its asker sees a lost connection."""
        self._proxy.stop_holding(self)
        with self.changed:
            waiting = list(self.waiting)
        for asked in waiting:
            asked.is_lost = lost
            asked.release()

    def block(self, asked: Asked) -> None:
        """Wait until it is released; in the thread of its connection."""
        with self.changed:
            self.waiting.append(asked)
            self.changed.notify_all()
        asked._go_on.wait()
        with self.changed:
            self.waiting.remove(asked)
        asked._go_on.clear()
        if asked.is_lost:
            raise ConnectionAbortedError("the proxy drops it")


class RestProxy(Entering):
    """A `RestProxy` passes requests to `port` of a worker, one thread for each connection, and notes them in `seen`."""

    def __init__(self, worker: str, port: int, seen: Seen) -> None:
        self.worker, self._upstream, self._seen = worker, port, seen
        self._lock = threading.Lock()
        self._holdings: list[HeldRest] = []
        self._server = _Server((HOST, 0), self._pass)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="fencepost-rest", daemon=True
        )

    def _start(self, stack: ExitStack) -> None:
        self._thread.start()
        stack.callback(self._close)

    def _close(self) -> None:
        for holding in list(self._holdings):
            holding.end()
        self._server.shutdown()
        self._server.server_close()

    def hold(self, covers: Callable[[Asked], bool], *, answers: bool = False) -> HeldRest:
        """Hold every later request of which `covers` is true before the worker gets it; with `answers` hold the answer
        before the asker gets it."""
        holding = HeldRest(self, covers, answers)
        with self._lock:
            self._holdings.append(holding)
        return holding

    def stop_holding(self, holding: HeldRest) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._holdings.remove(holding)

    def _pass(self, asked: Asked, headers: dict[str, str]) -> tuple[int, str, dict[str, str], bytes]:
        """Raise OSError or HTTPException where the worker gives no answer."""
        asked.worker = self.worker
        line = self._seen.note(REST, "asked", worker=self.worker, method=asked.method, path=asked.path)
        self._hold(asked, answers=False)
        connection = http.client.HTTPConnection(HOST, self._upstream, timeout=PATIENCE_S)
        try:
            connection.request(asked.method, asked.path, asked.body or None, headers)
            answer = connection.getresponse()
            body = answer.read()
            asked.status = answer.status
        finally:
            connection.close()
            self._seen.note(REST, "answered", worker=self.worker, asked=line, status=asked.status)
        self._hold(asked, answers=True)
        if asked.instead is not None:
            return asked.instead, "forged", {}, b""
        return answer.status, answer.reason, _of_the_message(answer.headers.items()), body

    def _hold(self, asked: Asked, answers: bool) -> None:
        with self._lock:
            found = next((each for each in self._holdings if each.answers == answers and each.covers(asked)), None)
        if found is not None:
            found.block(asked)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], pass_on: Callable[..., Any]) -> None:
        self.pass_on = pass_on
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError):
            return super().handle_one_request()
        self.close_connection = True

    def do_any(self) -> None:
        asked = Asked("", self.command, self.path, self._body())
        try:
            status, reason, headers, body = self.server.pass_on(asked, _of_the_message(self.headers.items()))
        except (OSError, http.client.HTTPException):  # the worker is down: the asker sees a lost connection
            self.close_connection = True
            return
        self.send_response_only(status, reason)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != http.HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = do_any

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are in `Seen`."""


def _of_the_message(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower() not in HOP}
