"""This module writes every verdict of a run as one HTML file, by protocol, variant and property, and by rule.

Three clicks lead to a verdict, either on the protocol, the variant and the property, or on the source, the rule and the
property. A run that breaks a promise is drawn as `page` draws it, when its place is opened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from fencepost.proofs.pages.page import as_data, environment, own, policy_of
from fencepost.proofs.pages.stories import Story
from jinja2 import Template
from markupsafe import Markup

STYLES, SCRIPTS = ("page.css", "verdicts.css"), ("view.js", "verdicts.js")


@dataclass(frozen=True)
class Run:
    """A `Run` is what an engine found that breaks a property, in ``words``, and by the ``command`` that prints it.
    ``story`` is its index among the stories that are drawn, or None where the evidence is in words alone."""

    engine: str
    words: tuple[str, ...]
    command: str
    story: int | None


@dataclass(frozen=True)
class Item:
    """An `Item` has the verdicts on one property of one variant. ``tone`` is good, predicted, bad or open. ``engines``
    has each engine that judged it, and how it reached its verdict, and ``further`` has sentences about it."""

    anchor: str
    name: str
    role: str
    rule: str
    says: str
    verdict: str
    tone: str
    engines: tuple[str, ...]
    further: tuple[str, ...] = ()
    run: Run | None = None


@dataclass(frozen=True)
class VariantView:
    """A `VariantView` is a variant, with ``against``, the dangers met by each engine, and the ``lemmas`` that hold."""

    anchor: str
    name: str
    says: str
    rule: str
    stands: str
    against: tuple[str, ...]
    items: tuple[Item, ...]
    lemmas: tuple[str, ...]


@dataclass(frozen=True)
class ProtocolView:
    """A `ProtocolView` is a protocol on the page. ``cells`` is its line of the table."""

    anchor: str
    name: str
    says: str
    cells: tuple[str, ...]
    variants: tuple[VariantView, ...]


@dataclass(frozen=True)
class Cited:
    """A `Cited` is a property of a variant that is about a rule, with its verdict and its anchor on the page."""

    anchor: str
    name: str
    verdict: str
    tone: str


@dataclass(frozen=True)
class Without:
    """A `Without` is what breaks where a rule is got wrong, in ``words``, and the ``command`` that prints the run."""

    words: str
    command: str


@dataclass(frozen=True)
class RuleView:
    """A `RuleView` is a rule. ``without`` has, by a description of its source, what earlier runs found about it."""

    anchor: str
    number: str
    kind: str
    says: str
    cited: tuple[Cited, ...]
    without: Mapping[str, Sequence[Without]]
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Verdicts:
    """A `Verdicts` is the whole page. ``about`` states what was run, and when, and ``columns`` has the columns of the
    table. ``unexpected`` has the properties that are not as expected, ``problems`` the disagreements of engines, and
    ``open`` what was left unchecked."""

    conclusion: str
    about: str
    columns: tuple[str, ...]
    protocols: tuple[ProtocolView, ...]
    total: tuple[str, ...]
    legend: str
    rules: Mapping[str, Sequence[RuleView]]
    unexpected: tuple[Cited, ...]
    problems: tuple[str, ...]
    open: tuple[str, ...]
    stories: tuple[Story, ...]


def verdict_page(verdicts: Verdicts) -> str:
    """Return the text of the file."""
    style, script = ("".join(map(own, names)) for names in (STYLES, SCRIPTS))
    return _template().render(
        page=verdicts,
        anchors={rule.number: rule.anchor for rules in verdicts.rules.values() for rule in rules},
        policy=Markup(policy_of(style, script)),  # made of hashes alone
        style=Markup(style),
        script=Markup(script),
        data=Markup(as_data(_shared(verdicts.stories))),
    )


def _shared(stories: Sequence[Story]) -> dict[str, Any]:
    """Return stories in which shared parts stand once, which are the sentences of steps, by number, and the rules."""
    sentences: dict[str, int] = {}
    found = []
    for story in stories:
        one = asdict(story)
        del one["rules"]
        for step in one["steps"]:
            step["says"] = sentences.setdefault(step["says"], len(sentences))
            step["changes"] = [list(change.values()) for change in step["changes"]]
        found.append(one)
    rules = {number: says for story in stories for number, says in story.rules.items()}
    return {"stories": found, "sentences": list(sentences), "rules": rules}


@cache
def _template() -> Template:
    return environment().from_string(own("verdicts.html.jinja"))
