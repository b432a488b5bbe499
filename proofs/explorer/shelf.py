"""What was found in histories, of an implementation or by a proof, over HTTP: a list of it, and a page of each.

A page is made when it is asked for, and is the one that ``--html`` writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from fencepost.proofs.explorer.server import Explorer, serve
from fencepost.proofs.explorer.serving import guarded
from fencepost.proofs.pages.page import page, policy
from fencepost.proofs.pages.stories import Story
from flask import Flask, Response, abort
from jinja2 import Environment, StrictUndefined

WALK = "walk"
STYLES = (("fencepost.proofs.pages", "page.css"), ("fencepost.proofs.explorer", "shelf.css"))


@dataclass(frozen=True)
class Found:
    """One thing that can be looked at: in words, and its page; ``walk``: where the model can be walked through from
    there on, as `link` has it."""

    says: str
    story: Callable[[], Story]
    walk: str = ""


@dataclass(frozen=True)
class Kind:
    """What is found of one property: its verdict, in words, and what there is to look at, the first so many."""

    name: str
    verdict: str
    good: bool
    says: str
    found: Sequence[Found] = ()


@dataclass(frozen=True)
class Shelf:
    """All that was found in one place."""

    title: str
    about: Sequence[str]
    kinds: Sequence[Kind]


def application(shelves: Sequence[Shelf], token: str, hosts: frozenset[str], explorer: Explorer | None = None) -> Flask:
    """The list at the address of the token, the pages under it, numbered as they stand there from 1 on; and under
    ``walk/`` the model, where what was found leads to it."""
    app = guarded(token, hosts)
    if explorer is not None:
        serve(app, explorer, f"/{token}/{WALK}")
    items = [one for shelf in shelves for kind in shelf.kinds for one in kind.found]

    @app.get(f"/{token}/")
    def _list() -> str:
        return _list_of(shelves)

    def style(package: str, name: str) -> Response:
        return Response(files(package).joinpath(name).read_text(encoding="utf-8"), mimetype="text/css")

    for package, name in STYLES:
        app.add_url_rule(f"/{token}/{name}", name, partial(style, package, name))

    @app.get(f"/{token}/<int:number>")
    def _page(number: int) -> Response:
        if not 0 < number <= len(items):
            abort(404, f"there is nothing of number {number}; there are {len(items)}")
        answer = Response(page([items[number - 1].story()]), mimetype="text/html")
        answer.headers["Content-Security-Policy"] = f"{policy()}; frame-ancestors 'none'"
        return answer

    return app


def _list_of(shelves: Sequence[Shelf]) -> str:
    text = files(__package__).joinpath("shelf.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text).render(shelves=shelves, walk=WALK)
