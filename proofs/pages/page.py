"""This module writes stories as one HTML file that needs no script, style, image or link of another host.

The page's own style and script are allowed by their hashes and nothing else is, so that words of a recording, which
enter it as data, can run nothing even if they were taken for markup.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files

from fencepost.proofs.pages.stories import Story
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup


def page(stories: Sequence[Story]) -> str:
    """Return the text of the file. The first of several stories is displayed, and the others can be chosen."""
    return _template().render(
        stories=stories,
        policy=Markup(policy()),  # made of hashes alone
        style=Markup(own("page.css")),
        script=Markup(_script()),
        data=Markup(as_data([asdict(story) for story in stories])),
    )


def policy() -> str:
    return policy_of(own("page.css"), _script())


def policy_of(style: str, script: str) -> str:
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    return f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}"


def _script() -> str:
    return own("view.js") + own("page.js")


def as_data(value: object) -> str:
    """Return JSON that is safe in a script element: nothing in it ends the element, or begins a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def environment() -> Environment:
    """Return an environment for templates in which every inserted value is escaped."""
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _template() -> Template:
    return environment().from_string(own("page.html.jinja"))
