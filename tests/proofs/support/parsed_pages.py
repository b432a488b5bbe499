"""An HTML page as a tree, by the parser of the standard library."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "link", "img"}


@dataclass
class Node:
    """An element: what it holds are texts and elements."""

    tag: str
    attributes: dict[str, str]
    inside: list["Node | str"] = field(default_factory=list)

    def all(self) -> Iterator["Node"]:
        """This element, and all within it."""
        yield self
        for one in self.inside:
            if isinstance(one, Node):
                yield from one.all()

    def text(self) -> str:
        return "".join(one if isinstance(one, str) else one.text() for one in self.inside)

    def of(self, name: str) -> "Node":
        """The only element that has this id."""
        [found] = [one for one in self.all() if one.attributes.get("id") == name]
        return found

    def values(self, attribute: str) -> list[str]:
        """Of an attribute, wherever it is."""
        return [one.attributes[attribute] for one in self.all() if attribute in one.attributes]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"{tag} ends where it is not open"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parsed(text: str) -> Node:
    """The page; AssertionError where an element is not closed where it should be."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    [page] = parser.open
    return page
