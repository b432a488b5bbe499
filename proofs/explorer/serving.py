"""What is served to a browser on this machine, and to nobody else.

It listens on the loopback address alone.  Who does not know the token, which is the first part of every address, finds
nothing; and a request that names another host than ours is refused, as it comes from a page that has had a name of its
own lead here.  The page's policy allows what is served here and nothing else.  Nothing is written.
"""

import secrets
import socket
from collections.abc import Callable
from typing import Any

from fencepost.model.language.checks.errors import InputError
from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

HOST = "127.0.0.1"
LARGEST_REQUEST = 1 << 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip
Application = Callable[[str, frozenset[str]], Flask]
"""Addresses under a token, for who calls us by one of these hosts."""


def guarded(token: str, hosts: frozenset[str]) -> Flask:
    """An application without addresses yet, which answers who knows the token, and calls us by one of these names."""
    app = Flask(__name__, static_folder=None, template_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    app.json.sort_keys = False  # type: ignore[attr-defined]  # of the provider that Flask comes with

    @app.before_request
    def _known() -> None:
        if request.host not in hosts:
            abort(403, "this server answers to its own name only")
        first = request.path.lstrip("/").partition("/")[0]
        if not secrets.compare_digest(first.encode(), token.encode()):
            abort(404, "there is nothing here; use the address that fencepost explorer has printed")

    @app.after_request
    def _strict(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)  # a page that carries its own script has a policy of its own
        return response

    @app.errorhandler(HTTPException)
    def _refused(error: HTTPException) -> tuple[Response, int]:
        return jsonify(error=error.description), error.code or 500

    @app.errorhandler(InputError)
    def _unfit(error: InputError) -> tuple[Response, int]:
        return jsonify(error=" ".join(str(error).split())), 422

    @app.errorhandler(Exception)
    def _mistake(error: Exception) -> tuple[Response, int]:
        return jsonify(error=f"this is a mistake in the code: {type(error).__name__}: {error}"), 500

    return app


class _Silent(WSGIRequestHandler):
    """The terminal is for the one line that says where the page is."""

    server_version, sys_version = "fencepost", ""

    def log(self, type: str, message: str, *args: Any) -> None:
        return


def listen() -> socket.socket:
    """A socket on a free port of the loopback address."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind((HOST, 0))
    listening.listen(16)
    return listening


def server(application: Application, listening: socket.socket, token: str) -> BaseWSGIServer:
    """The server, which serves when it is told to."""
    port = listening.getsockname()[1]
    app = application(token, frozenset({f"{HOST}:{port}", f"localhost:{port}"}))
    return make_server(HOST, port, app, threaded=True, request_handler=_Silent, fd=listening.fileno())


def address(listening: socket.socket, token: str) -> str:
    return f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
