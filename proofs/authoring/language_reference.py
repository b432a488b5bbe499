"""The reference of the language, made of its docstrings: each public word with its form, what it means, and a line of a
real model or of its properties in which it stands."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.model import language, rules
from fencepost.model.language import observations
from fencepost.properties.catalogue import CatalogueError
from fencepost.properties.nearest import instead

FIRST = (
    "fencepost_examples/lock/model.py", "fencepost_examples/lock/claims.py", "fencepost_examples/lock/events.py",
    "model/kip618_yardstick.py",
    "model/task_counts/abstract/core.py", "model/id_blocks/brokers.py",
)  # fmt: skip
"""An example is taken from the first of these files that has one, or else of any other model or claims."""
REMARKS = re.compile(r" +# (type|noqa|fmt): .*$", re.MULTILINE)
"""An example has no remarks to tools."""
LONGEST = 3
"""An example has at most this many lines."""
PAGE = "LANGUAGE.md"


@dataclass(frozen=True)
class Word:
    """A `Word` is a public name of the language. ``form`` is how it is written."""

    name: str
    form: str
    says: str

    @property
    def sentence(self) -> str:
        """Return the first sentence of what it means, on one line."""
        return " ".join(self.says.split("\n\n")[0].split()).partition(". ")[0].rstrip(".") + "."

    @cached_property
    def example(self) -> "Example | None":
        """Return the shortest use in the first file that has one, or None for what no model writes, such as the result
        of tracing. Files are read for one word at a time, as all of them take seconds."""
        for file, path in _files():
            if self.name not in _text(path):
                continue
            uses = [*_uses(path, self.name)] or [*_calls(path, self.name)]
            found = min(uses, key=lambda each: (len(each[1].splitlines()), len(each[1])), default=None)
            if found is not None:
                return Example(REMARKS.sub("", found[1]), file, found[0])
        return None


class Example(NamedTuple):
    """An `Example` has lines of ``file``, from the line ``line`` on."""

    text: str
    file: str
    line: int


@cache
def words() -> dict[str, Word]:
    """Return every public word by name: of models, of properties, and of the tables of rules and events."""
    known = {name: getattr(language, name) for name in language.__all__}
    known |= {"add_rules": rules.add_rules, "Do": observations.Do, "Observation": observations.Observation}
    return {
        name: Word(name, _form(name, known[name]), inspect.getdoc(known[name]) or "")
        for name in sorted(known, key=str.lower)
    }


def word(name: str) -> Word:
    """Return a word. Raise `CatalogueError` with the nearest for a name that is none."""
    if name not in words():
        raise CatalogueError(f"the language has no {name!r}; {instead(name, words(), 'fencepost language')}")
    return words()[name]


def page() -> str:
    """Return the reference as Markdown."""
    parts = [
        f"## {each.name}\n\n{_indented(each.form)}\n\n{each.says}\n"
        + (f"\n{_indented(each.example.text)}\n\nfrom `{each.example.file}`\n" if each.example else "")
        for each in words().values()
    ]
    head = "# The language\n\nEvery word in which models, properties and tables of events are written. Made by "
    return f"{head}`fencepost language --table FILE` of the docstrings.\n\n" + "\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _form(name: str, meant: Any) -> str:
    if shape := getattr(meant, "shape", ""):
        return str(shape)
    if inspect.isclass(meant) and "__init_subclass__" in vars(meant):
        taken = inspect.signature(meant.__init_subclass__).parameters.values()
        return f"class Name({', '.join([name, *(f'{each.name}=…' for each in taken)])})"
    if inspect.isclass(meant) and not name.startswith(("Do", "Obs")):
        return name
    return f"{name}{_bare(inspect.signature(meant))}"


def _bare(signature: inspect.Signature) -> str:
    """Return a signature without annotations and without parameters that are filled in."""
    every = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    written = [each for each in every if each.name != "where"]
    return str(signature.replace(parameters=written, return_annotation=inspect.Signature.empty))


@cache
def _files() -> tuple[tuple[str, Path], ...]:
    """Return models and claims, with their names, in the order in which examples are looked for."""
    root = Path(str(files("fencepost.model"))).parent
    around = root.parent  # the examples are a package of their own
    found = [(around if name.startswith("fencepost_") else root) / name for name in FIRST]
    found += [path for path in sorted((root / "model").rglob("*.py")) if "language" not in path.parts]
    found += sorted((root / "properties").rglob("claims/*.py"))
    return tuple(
        (str(path.relative_to(root if root in path.parents else root.parent)), path)
        for path in dict.fromkeys(found)
        if path.is_file()
    )


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _tree(path: Path) -> tuple[ast.Module, tuple[str, ...]]:
    return ast.parse(_text(path)), tuple(_text(path).splitlines())


def _uses(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of every short statement of a file that has the name."""
    tree, lines = _tree(path)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or isinstance(node, ast.Import | ast.ImportFrom):
            continue
        heads = [*getattr(node, "decorator_list", []), *getattr(node, "bases", [])]
        parts = heads if isinstance(node, ast.FunctionDef | ast.ClassDef) else [node]
        if isinstance(node, ast.With):
            parts = [each.context_expr for each in node.items]
        if not any(isinstance(each, ast.Name) and each.id == name for part in parts for each in ast.walk(part)):
            continue
        first = min([node.lineno, *(each.lineno for each in heads)])
        has_body = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.With)
        last = node.body[0].lineno - 1 if has_body else node.end_lineno or node.lineno  # type: ignore[attr-defined]
        if has_body and isinstance(node, ast.With):
            last = node.body[0].lineno
        if last - first < LONGEST:
            yield first, inspect.cleandoc("\n" + "\n".join(lines[first - 1 : last]))


def _calls(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of every call of the name within a longer statement."""
    tree, lines = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node.lineno, ast.get_source_segment("\n".join(lines), node) or ""
