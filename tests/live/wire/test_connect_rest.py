"""The REST proxy between workers: what passes unchanged, what is held, and what a worker that is down looks like."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fencepost.reference_impl.live.connect.rest import Reply, RestProxy, ask
from fencepost.reference_impl.live.connect.seen import Seen
from fencepost.reference_impl.live.tcp.connection import NoAnswer

PATIENCE_S = 20.0
FENCE = "/connectors/c/fence"


class Upstream(BaseHTTPRequestHandler):
    """A worker's REST server: it says what it got, and 204 to a fence."""

    protocol_version = "HTTP/1.1"
    got: ClassVar[list[tuple[str, str, bytes, str | None]]] = []

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.got.append((self.command, self.path, body, self.headers.get("X-Signature")))
        answer = b"" if self.path == FENCE else b'{"got": "%s"}' % self.path.encode()
        self.send_response(204 if self.path == FENCE else 409 if self.path == "/conflict" else 200)
        if answer:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_any

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    return Seen(tmp_path / "seen.jsonl")


@pytest.fixture
def proxy(seen: Seen) -> Iterator[RestProxy]:
    Upstream.got.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with RestProxy("w0", server.server_address[1], seen) as proxy:
            yield proxy
        server.shutdown()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def asked(proxy: RestProxy, method: str, path: str, body: Any = None) -> Reply:
    return ask(f"http://127.0.0.1:{proxy.port}", method, path, body, PATIENCE_S)


def test_what_passes_is_unchanged(proxy: RestProxy, seen: Seen) -> None:
    """Requests and answers, with headers, of one connection after the other; and both are noted."""
    assert asked(proxy, "PUT", "/connectors/c/config?forward=true", {"a": 1}) == Reply(
        200, {"got": "/connectors/c/config?forward=true"}
    )
    assert asked(proxy, "PUT", FENCE) == Reply(204, None)
    assert not asked(proxy, "GET", "/conflict").is_done
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=PATIENCE_S)
    for path in ("/one", "/two"):  # chunked, over one connection
        connection.request("POST", path, iter([b"ab", b"c"]), {"X-Signature": "s"}, encode_chunked=True)
        assert connection.getresponse().read() == b'{"got": "%s"}' % path.encode()
    connection.close()
    assert Upstream.got == [
        ("PUT", "/connectors/c/config?forward=true", b'{"a": 1}', None), ("PUT", FENCE, b"", None),
        ("GET", "/conflict", b"", None), ("POST", "/one", b"abc", "s"), ("POST", "/two", b"abc", "s"),
    ]  # fmt: skip
    assert [(line["method"], line["path"]) for line in seen.since(event="asked")][1:3] == [
        ("PUT", FENCE), ("GET", "/conflict")
    ]  # fmt: skip
    assert [line["status"] for line in seen.since(event="answered")] == [200, 204, 409, 200, 200]
    assert all(seen.lines[line["asked"]]["event"] == "asked" for line in seen.since(event="answered"))


def test_a_held_request_has_not_reached_the_worker(proxy: RestProxy, pool: ThreadPoolExecutor) -> None:
    """Others pass it; and those that are held when the holding ends go on."""
    fences = proxy.hold(lambda each: each.path.endswith("/fence"))
    first: Future[Reply] = pool.submit(asked, proxy, "PUT", FENCE)
    held = fences.wait(PATIENCE_S)
    assert asked(proxy, "GET", "/other").is_done
    assert [got[1] for got in Upstream.got] == ["/other"]
    held.release()
    assert first.result(PATIENCE_S).status == 204
    second = pool.submit(asked, proxy, "PUT", FENCE)
    fences.wait(PATIENCE_S)
    fences.end()
    assert second.result(PATIENCE_S).status == 204
    assert asked(proxy, "PUT", FENCE).status == 204
    with pytest.raises(TimeoutError, match=r"no request was held within 0.05 s"):
        fences.wait(0.05)


def test_a_held_answer(proxy: RestProxy, pool: ThreadPoolExecutor) -> None:
    """The worker has carried the request out, and the asker does not know."""
    answers = proxy.hold(lambda each: each.status == 204, answers=True)
    asks = pool.submit(asked, proxy, "PUT", FENCE)
    held = answers.wait(PATIENCE_S)
    assert (held.method, held.path, held.status, held.worker) == ("PUT", FENCE, 204, "w0")
    assert len(Upstream.got) == 1
    assert not asks.done()
    held.release()
    assert asks.result(PATIENCE_S).status == 204


def test_a_worker_that_is_down(seen: Seen) -> None:
    """The asker loses its connection, as where the worker is killed."""
    with RestProxy("w0", 1, seen) as proxy, pytest.raises(NoAnswer, match="no answer to GET / within 20 s"):
        asked(proxy, "GET", "/")
    assert [line["status"] for line in seen.since(event="answered")] == [None]


def test_an_answer_that_takes_too_long(proxy: RestProxy) -> None:
    holding = proxy.hold(lambda each: True)
    with pytest.raises(NoAnswer, match=r"within 0.1 s"):
        ask(f"http://127.0.0.1:{proxy.port}", "GET", "/", timeout_s=0.1)
    holding.end()
