"""This module reports the files a verdict was computed from, each with a hash, and warns if another copy may have been
meant.

An installed package and a checkout are two copies, and a user may edit one and run the other. So every command that
judges prints what it read, and warns if the working directory is within a checkout that is another copy."""

import ast
import hashlib
import inspect
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

import fencepost
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tree.terms import Term
from fencepost.properties.catalogue import Variant
from fencepost.properties.registry import PROTOCOLS, Found, imported

PARTS = ("fencepost.model.", "fencepost.properties.")
"""Models and properties of this project are in these packages; the registry names the packages of users' protocols."""
LANGUAGE = "fencepost.model.language"
DIGITS = 12
"""A printed hash has this many hexadecimal digits."""


@dataclass(frozen=True)
class Source:
    """A `Source` is one file that a verdict was computed from. ``name`` is the path of the file within the package,
    such as ``model/language/protocol.py``."""

    name: str
    file: Path
    hash: str

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "file": str(self.file), "hash": self.hash}


def sources(variants: Iterable[Variant], *further: str) -> list[Source]:
    """Return the files in which variants are written, starting with those that define the protocols. The returned files
    contain the protocols, the properties, and all that these import from models and properties, but not the modelling
    language itself. ``further`` names additional modules that take part in the verdict, with what these import of their
    own package."""
    asked = list(variants)
    modules: dict[str, ModuleType] = {}
    own_packages = (".".join(name.split(".")[: 1 + name.startswith("fencepost.")]) for name in further)
    packages = (*PROTOCOLS.values(), *own_packages)
    within = (*PARTS, "__main__.", *(f"{package}." for package in packages))
    for name in further:
        _collect(name, modules, within)
    for variant in asked:
        for owner in (variant.properties, variant.properties.protocol, variant.for_mutants):
            for base in inspect.getmro(owner) if owner is not None else ():
                _collect(base.__module__, modules, within)
    own = list(dict.fromkeys(v.properties.protocol.__module__ for v in asked))
    order = [*(name for name in own if name in modules), *sorted(modules.keys() - set(own))]
    found = [_source(modules[name]) for name in order]
    return [source for source in found if source is not None]


def judging(protocol: str) -> list[str]:
    """Return the modules of a protocol by which implementations and histories are judged."""
    from fencepost.properties.conformance_spec import DRIVEN  # which takes long to import
    from fencepost.properties.emitted_events import EMISSIONS
    from fencepost.properties.history.properties_of import HISTORIES
    from fencepost.properties.history.vocabulary import VOCABULARIES
    from fencepost.properties.trace_spec import CONFORMING

    found: tuple[Found[Any], ...] = (DRIVEN, VOCABULARIES, HISTORIES, CONFORMING, EMISSIONS)
    names = [each.module_name(protocol) for each in found if protocol in each]
    for name in names:
        imported(name)
    return names


def _collect(name: str, modules: dict[str, ModuleType], within: tuple[str, ...]) -> None:
    """Add a module, and those modules that it imports of the packages ``within``, to ``modules``."""
    module = sys.modules.get(name)
    if module is None or name in modules or not f"{name}.".startswith(within) or name.startswith(LANGUAGE):
        return
    modules[name] = module
    for other in _imported(module):
        _collect(other, modules, within)


@cache
def _imported(module: ModuleType) -> tuple[str, ...]:
    """Return the names that a module imports when it is loaded. Some of the names may not be modules."""
    file = getattr(module, "__file__", None)
    tree = ast.parse(Path(file).read_text(encoding="utf-8")) if file else ast.Module([], [])
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = resolve_name(base, module.__package__) if node.level else base
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(found))


@cache
def _source(module: ModuleType) -> Source | None:
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    name = "/".join(module.__name__.split(".")[1:]) + ".py" if module.__name__ != "__main__" else path.name
    if path.name == "__init__.py":
        name = name.removesuffix(".py") + "/__init__.py"
    return Source(name, path, hash_of(path.read_bytes()))


def hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def together(read: list[Source]) -> str:
    """Return one hash of several files."""
    return read[0].hash if len(read) == 1 else hash_of("".join(f"{s.name} {s.hash}\n" for s in read).encode())


def described(read: list[Source]) -> str:
    """Return the first line that a judging command prints: ``read model/language/protocol.py and 4 more of /…, hash
    …``."""
    if not read:
        return "read a model that is in no file"
    first = read[0]
    more = f" and {len(read) - 1} more" if len(read) > 1 else ""
    root = str(first.file).removesuffix(first.name).rstrip("/") or "/"
    return f"read {first.name}{more} in {root}, hash {together(read)}"


def other_copies(read: Iterable[Source], here: Path) -> Iterator[str]:
    """Yield a warning if the working directory, or a folder above it, is a checkout with other copies of these
    files."""
    for folder in (here, *here.parents):
        if not (folder / "pyproject.toml").is_file():
            continue
        copies = [(s, folder / s.name) for s in read if (folder / s.name).is_file()]
        others = [(s, copy) for s, copy in copies if copy.resolve() != s.file]
        if others:
            changed = [s.name for s, copy in others if hash_of(copy.read_bytes()) != s.hash]
            what = (
                f"{', '.join(changed[:3])} differ{'s' if len(changed) == 1 else ''} there" if changed else "same text"
            )
            yield (
                f"{folder} is another copy of what was read ({what}), and editing it changes no verdict here; "
                "to judge that one: pip install -e ."
            )
            return


def built_from() -> str:
    """Return the commit of this code and its date, as ``4d10567ba501, 2026-11-30``: from the file that the build of a
    wheel leaves, else from the checkout's git, else an empty string."""
    package = Path(fencepost.__path__[0])
    try:
        line = (package / "commit.txt").read_text(encoding="utf-8")
    except OSError:
        if not (package.parents[1] / ".git").exists():  # a folder of another repository is not of its commit
            return ""
        words = ["git", "-C", str(package), "log", "-1", "--format=%h %cs", "--abbrev=12"]
        try:
            line = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""
    return ", ".join(line.split())


def hash_of_model(variant: Variant) -> str:
    """Return a hash of what proofs and explorations of a variant's promises depend on. The hash covers the protocol,
    promises and lemmas after tracing. The hash does not cover texts, witnesses, progress, fairness and dangers."""
    written = _Written(variant.properties.protocol.spec)
    every = dict(variant.properties.properties)
    if variant.for_mutants is not None:
        every |= variant.for_mutants.properties
    for item in every.values():
        if item.kind == "always":
            asked = item.name in variant.asked, variant.expected.get(item.name)
            written.text.append(f"{item.name} {item.role} {written.number(item.term)} {asked}")
    written.text.append(f"{variant.reading}")
    return written.hash


def hash_of_stated(spec: Spec, properties: Iterable[Property]) -> str:
    """Return a hash of a protocol together with its properties of states and steps. A proof of these stays valid as
    long as the hash is the same."""
    written = _Written(spec)
    for item in properties:
        if item.kind in ("always", "step"):
            terms = [written.number(term) for term in item.terms]
            written.text.append(f"{item.name} {item.kind} {terms}")
    return written.hash


class _Written:
    def __init__(self, spec: Spec) -> None:
        self.numbered: dict[Term, int] = {}
        self.text: list[str] = [f"{n}: {kind!r}" for n, kind in (*spec.types.items(), *spec.constants.items())]
        text, number = self.text, self.number
        text += [f"axiom {number(term)}" for term in spec.axioms]
        updates = [("init", u) for u in spec.initial]
        for action in spec.actions.values():
            text.append(f"{action.name} {action.parameters!r} {action.budget} {action.rule}")
            text += [f"{action.name} needs {number(g.condition)} by {g.rule}" for g in action.guards]
            text += [f"{action.name} limit {number(term)}" for term in action.limits]
            updates += [(action.name, u) for u in action.updates]
        for name, u in updates:
            keys = [number(key) for key in u.keys]
            text.append(f"{name} then {u.variable} {keys} {u.bound!r} {u.appends} := {number(u.value)} by {u.rule}")

    def number(self, term: Term) -> int:
        if term not in self.numbered:
            args = [self.number(arg) for arg in term.args]
            self.numbered[term] = len(self.numbered)
            self.text.append(f"{self.numbered[term]} = {term.op} {args} {term.data!r} {term.type}")
        return self.numbered[term]

    @property
    def hash(self) -> str:
        return hash_of("\n".join(self.text).encode())
