"""This module declares defects: implementations with one thing wrong each.

A defect is a class, or a small function, that takes the place of a part of the correct implementation. Its decorator
declares it:

    @defect("730.10", PROMISE)
    class SnapshotOmitsNextId(Controller): ...

The name of this defect is `snapshot_omits_next_id`. `registry` collects the defects of some modules, in the order in
which they are declared there. A protocol's file in `defects` has its registry, and finds each defect as an attribute.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import ModuleType
from typing import Any, Generic, TypeVar

Parts = TypeVar("Parts")
T = TypeVar("T", bound=Callable[..., Any])


class Breaks(Enum):
    """`Breaks` is the strongest thing that a defect can break."""

    PROMISE = "promise"
    CONFORMANCE = "conformance"
    PROGRESS = "progress"
    NOTHING = "nothing"


PROMISE, CONFORMANCE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.CONFORMANCE, Breaks.PROGRESS, Breaks.NOTHING


@dataclass(frozen=True, slots=True)
class Defect(Generic[Parts]):
    """A `Defect` is one thing wrong, and a factory of implementations with it. ``needs`` is the configuration without
    which the defect has no effect. ``harmless`` is for defects that break nothing: the variant of the model that keeps
    every promise with the same mistake, the rule, and the mutation, which is empty where the variant itself has the
    mistake."""

    name: str
    rule: str
    breaks: Breaks
    parts: Parts
    needs: tuple[tuple[str, Any], ...] = ()
    why: str = ""  # only where the verdict may surprise
    harmless: tuple[str, str, str] | None = None
    build: Callable[[Mapping[str, Any], Parts], Any] | None = field(default=None, repr=False)

    def __call__(self, config: Mapping[str, Any]) -> Any:
        assert self.build is not None, f"{self.name} is run by a generator, and is no factory"
        return self.build({**dict(self.needs), **config}, self.parts)


D = TypeVar("D", bound=Defect[Any])


class Registry(dict[str, D], Generic[D]):
    """A `Registry` has the defects of one protocol by name. ``interface`` has those that break one rule of the
    interface, a format or an error code, that no promise needs: tests that are marked with the rule find them, and
    perhaps nothing else does."""

    def __init__(self, defects: Iterable[D], interface: Iterable[D] = ()) -> None:
        super().__init__()
        self.interface: dict[str, D] = {}
        for table, found in ((self, defects), (self.interface, interface)):
            for one in found:
                if one.name in self or one.name in self.interface:
                    raise ValueError(f"two defects are called {one.name!r}")
                table[one.name] = one

    def find(self, name: str) -> D:
        """Return the defect of that name. Raise KeyError with the known names if there is none."""
        if name not in self:
            raise KeyError(f"no broken implementation is called {name!r}: known are {', '.join(sorted(self))}")
        return self[name]

    def attribute(self, name: str) -> D:
        """Return the defect of that name for a module's `__getattr__`, so that `<protocol>:<name>` reaches every defect
        in the way any implementation is named."""
        if found := self.get(name) or self.interface.get(name):
            return found
        raise AttributeError(f"no broken implementation is called {name!r}: known are {sorted(self)}")


@dataclass(frozen=True)
class _Declared:
    """A `_Declared` is a defect before the parts of its protocol are known: classes whose part is inferred, parts by
    name, and the fields of `Defect` that do not depend on the protocol."""

    pieces: tuple[Any, ...]
    parts: Mapping[str, Any]
    fields: Mapping[str, Any]
    interface: bool


_DECLARED: dict[str, list[_Declared]] = {}
"""This table has the declared defects by module, in the order of their declarations."""


def defect(
    rule: str, breaks: Breaks, why: str = "", *, name: str = "", part: str = "", also: tuple[Any, ...] = (),
    harmless: tuple[str, str, str] | None = None, interface: bool = False, **needs: Any,
) -> Callable[[T], T]:  # fmt: skip
    """The decorated class or function takes the place of a part of the correct implementation, and breaks the `rule`.

    A class replaces the part whose correct class it is derived from; for a function, ``part`` names the part. ``name``
    is given if it is not the class's own name in snake case. ``also`` has what takes the place of further parts.
    ``interface`` is explained at `Registry`. The remaining keyword arguments are the configuration that the defect
    needs.
    """

    def declare(wrong: T) -> T:
        own = name or re.sub(r"(?<=.)(?=[A-Z])|(?<=[a-z])(?=\d)", "_", wrong.__name__).lower()
        pieces, parts = (also, {part: wrong}) if part else ((wrong, *also), {})
        fields = {"name": own, "rule": rule, "breaks": breaks, "why": why, "harmless": harmless}
        _declare(wrong.__module__, pieces, parts, needs, interface, **fields)
        return wrong

    return declare


def by_config(
    name: str, rule: str, breaks: Breaks, *pieces: type, why: str = "", parts: Mapping[str, Any] | None = None,
    interface: bool = False, **needs: Any,
) -> None:  # fmt: skip
    """Declare a defect without a class of its own: existing classes, a value of ``parts``, or configuration."""
    module = sys._getframe(1).f_globals["__name__"]
    _declare(module, pieces, parts or {}, needs, interface, name=name, rule=rule, breaks=breaks, why=why)


def _declare(
    module: str, pieces: tuple[Any, ...], parts: Mapping[str, Any], needs: Mapping[str, Any], interface: bool,
    **further: Any,
) -> None:  # fmt: skip
    declared = _Declared(pieces, parts, {**further, "needs": tuple(needs.items())}, interface)
    _DECLARED.setdefault(module, []).append(declared)


def registry(
    parts: type[Parts], build: Callable[[Mapping[str, Any], Parts], Any] | None, *modules: ModuleType | str
) -> Registry[Defect[Parts]]:
    """Return the defects that are declared in these modules. ``parts`` is a dataclass of replaceable parts, each with
    the correct one as its default. Raise TypeError for a class that does not clearly take the place of one part."""
    names = [module if isinstance(module, str) else module.__name__ for module in modules]
    tables: tuple[list[Defect[Parts]], list[Defect[Parts]]] = [], []
    for declared in (each for name in names for each in _DECLARED.get(name, ())):
        tables[declared.interface].append(Defect(parts=_replaced(parts, declared), build=build, **declared.fields))
    return Registry(*tables)


def _replaced(parts: type[Parts], declared: _Declared) -> Parts:
    return parts(**{_part_of(parts, piece): piece for piece in declared.pieces}, **declared.parts)


def _part_of(parts: type[Any], piece: type) -> str:
    for base in piece.__mro__[:-1]:
        if found := [one.name for one in fields(parts) if one.default is base]:
            if len(found) > 1:
                break
            return found[0]
    raise TypeError(f"{piece.__name__} takes the place of no one part of {parts.__module__}.Parts: say part=…")
