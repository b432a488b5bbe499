"""This module serves a model to walk through over HTTP, with the page, the data that the page asks for, and the check
of who may ask."""

import secrets
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.explorer.searching import Answer, Reporter, Searches, another, how_far, shortest
from fencepost.proofs.explorer.session import NoSuchRun, Place, Session, Start, about
from fencepost.proofs.provenance import sources
from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

# The server listens on the loopback address alone. Every address begins with a token, and a request without it finds
# nothing. A request that names another host is refused, since it comes from a page whose own name resolves to this
# machine. The page's policy allows only what is served here, and nothing is written.

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
"""An application has addresses under a token, for callers that use one of some host names."""


def guarded(token: str, hosts: frozenset[str]) -> Flask:
    """Return an application without addresses, for callers that know the token and use one of the host names."""
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
            response.headers.setdefault(name, value)  # a page with its own script sets its own policy
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
    """A `_Silent` handler logs nothing, since the terminal is for the one line with the page's address."""

    server_version, sys_version = "fencepost", ""

    def log(self, type: str, message: str, *args: Any) -> None:
        return


def listen(port: int = 0) -> socket.socket:
    """Return a socket on a port of the loopback address, or on a free one if that is taken."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError:
        listening.bind((HOST, 0))
    listening.listen(16)
    return listening


def server(application: Application, listening: socket.socket, token: str) -> BaseWSGIServer:
    port = listening.getsockname()[1]
    app = application(token, frozenset({f"{HOST}:{port}", f"localhost:{port}"}))
    return make_server(HOST, port, app, threaded=True, request_handler=_Silent, fd=listening.fileno())


def address(listening: socket.socket, token: str) -> str:
    return f"http://{HOST}:{listening.getsockname()[1]}/{token}/"


# The rest serves a model to walk through, with the page and the data that it asks for.

MOST_SESSIONS = 8
"""The models of this many sessions stay compiled."""
PARTS = {
    "": ("fencepost.proofs.explorer", "explorer.html", "text/html"),
    "explorer.js": ("fencepost.proofs.explorer", "explorer.js", "text/javascript"),
    "explorer.css": ("fencepost.proofs.explorer", "explorer.css", "text/css"),
    "view.js": ("fencepost.proofs.pages", "view.js", "text/javascript"),
    "page.css": ("fencepost.proofs.pages", "page.css", "text/css"),
}
T = TypeVar("T")
MOST_STATES = 2_000_000
"""A search ends undecided after this many states."""


class At(msgspec.Struct, forbid_unknown_fields=True):
    """An `At` is a position as the page sends it, which is a place, a path, and the number of steps taken of it."""

    name: str
    without: tuple[str, str] | None = None
    bounds: dict[str, int] = {}
    path: str = ""
    step: int | None = None
    loop: int | None = None
    since: int | None = None


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A `Wanted` is a request for a search. ``what`` is shortest, another or far, and ``known`` has the paths that
    another run must differ from. Without a property, any promise counts."""

    what: str
    at: At
    property: str | None = None
    known: list[str] = []


class Explorer:
    """An `Explorer` has the answers of the addresses. One request at a time uses the model, while searches run in
    parallel. ``starts`` has states in which a path may begin, numbered from 1. ``files`` has the files of the model,
    with the times of their last changes. ``edition`` differs each time that it is loaded, the last time
    because of ``edited`` files, if it is what ``reloads``; ``refused`` is why what was edited since is no model."""

    def __init__(self, start: Session, most: int = MOST_STATES, starts: Sequence[Start] = ()) -> None:
        self.start, self.most, self.searches, self.starts = start.place, most, Searches(), starts
        self._sessions: OrderedDict[Place, Session] = OrderedDict({start.place: start})
        self._asking = threading.Lock()
        self.files = {source.file: changed_at(source.file) for source in sources(start.entry.variants)}
        self.edition, self.edited, self.refused, self.reloads = secrets.token_hex(4), tuple[str, ...](), "", False

    def session(self, at: At) -> Session:
        without, bounds = at.without and tuple(at.without), tuple(sorted(at.bounds.items()))
        place = Place(at.name, without, bounds, at.since)  # type: ignore[arg-type]
        if place not in self._sessions:
            self._sessions[place] = Session(place, self._start(place))
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(place)
        return self._sessions[place]

    def _start(self, place: Place) -> Start | None:
        if place.since is None:
            return None
        if not 0 < place.since <= len(self.starts) or place.name != self.start.name:
            raise InputError(f"there is no start {place.since} of {place.name} here; leave it out of the address")
        return self.starts[place.since - 1]

    def about(self, at: At) -> Mapping[str, Any]:
        with self._asking:
            return about(self.session(at))

    def now(self) -> Mapping[str, Any]:
        """Return which edition of the model this is, and what was edited since it was loaded, if that stays so."""
        stale = [f.name for f, then in self.files.items() if changed_at(f) != then] if not self.reloads else []
        return {"edition": self.edition, "edited": self.edited, "refused": self.refused, "stale": stale}

    def view(self, at: At) -> Mapping[str, Any]:
        """Return what is at a step of a path, or at the end of the possible part of an impossible path."""
        with self._asking:
            session, refused = self.session(at), ""
            try:
                trace, loop = session.run(at.path), at.loop
            except NoSuchRun as error:
                refused, loop = str(error), None
                trace = session.run(";".join(at.path.split(";")[: error.fits]))
            step = len(trace) if at.step is None else max(0, min(at.step, len(trace)))
            try:
                return {"refused": refused, **session.narrate(trace, step, loop)}
            except NoSuchRun as error:
                return {"refused": str(error), **session.narrate(trace, step)}

    def search(self, wanted: Wanted) -> Mapping[str, Any]:
        """Begin a search, whose result is requested by its number."""
        at = wanted.at
        with self._asking:
            here = self.session(at)
            here.run(at.path)
            # Searches begin at the protocol's initial state.
            session = self.session(msgspec.structs.replace(at, since=None))
        work: dict[str, Callable[[Reporter], Answer]] = {
            "shortest": lambda report: shortest(session, wanted.property, self.most, report),
            "another": lambda report: another(session, wanted.property or "", wanted.known, self.most, report),
            "far": lambda report: how_far(here, at.path, self.most, report),
        }
        if wanted.what not in work or (wanted.what == "another" and not wanted.known):
            raise InputError(f"there is no search {wanted.what[:40]!r}; there are {', '.join(work)}")
        return self.searches.begin(lambda report: _placed(session, here, work[wanted.what](report))).as_dict()


def changed_at(file: Path) -> int:
    """Return when a file was changed last, in ns; 0 if it is away."""
    return file.stat().st_mtime_ns if file.exists() else 0


def _placed(session: Session, here: Session, answer: Answer) -> Answer:
    if session is here or "path" not in answer or "place" in answer:
        return answer
    place = session.place
    return answer | {"place": {"name": place.name, "without": place.without, "bounds": dict(place.bounds)}}


def application(explorer: Explorer, token: str, hosts: frozenset[str]) -> Flask:
    """Return the addresses under the token. ``hosts`` has the names by which a request may address the server."""
    app = guarded(token, hosts)
    serve(app, explorer, f"/{token}")
    return app


def serve(app: Flask, explorer: Explorer, under: str) -> None:
    """Add the addresses of a model to walk through, all of them ``under`` one."""

    def part(name: str) -> Response:
        package, file, kind = PARTS[name]
        return Response(files(package).joinpath(file).read_text(encoding="utf-8"), mimetype=kind)

    for name in PARTS:
        app.add_url_rule(f"{under}/{name}", f"part {name}", partial(part, name))

    @app.get(f"{under}/start")
    def _start() -> Response:
        start = explorer.start
        return jsonify(name=start.name, without=start.without, bounds=dict(start.bounds))

    @app.get(f"{under}/edition")
    def _edition() -> Response:
        return jsonify(explorer.now())

    @app.post(f"{under}/about")
    def _about() -> Response:
        return jsonify(explorer.about(_body(At)))

    @app.post(f"{under}/view")
    def _view() -> Response:
        return jsonify(explorer.view(_body(At)))

    @app.post(f"{under}/search")
    def _search() -> Response:
        return jsonify(explorer.search(_body(Wanted)))

    @app.get(f"{under}/search/<int:number>")
    def _found(number: int) -> Response:
        return jsonify(explorer.searches.get(number).as_dict())

    @app.post(f"{under}/search/<int:number>/give-up")
    def _give_up(number: int) -> Response:
        explorer.searches.give_up(number)
        return jsonify(explorer.searches.get(number).as_dict())


def _body(kind: type[T]) -> T:
    if request.mimetype != "application/json":
        abort(415, "send JSON, as application/json")
    try:
        return msgspec.json.decode(request.get_data(), type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        abort(400, f"this is not what is asked here: {error}")
