"""Implementations with one thing wrong each.

A defect is a class, or a small function, that takes the place of a part of the correct implementation, and says so
itself, in one place:

    @defect("730.10", PROMISE)
    class SnapshotOmitsNextId(Controller): ...

It is called `snapshot_omits_next_id`.  `registry` collects the defects of some modules, in the order in which they are
declared there; a protocol's file in `defects` has its registry, and finds each as an attribute.
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
    """The strongest thing that a defect can break."""

    PROMISE = "promise"
    CONFORMANCE = "conformance"
    PROGRESS = "progress"
    NOTHING = "nothing"


PROMISE, CONFORMANCE, PROGRESS, NOTHING = Breaks.PROMISE, Breaks.CONFORMANCE, Breaks.PROGRESS, Breaks.NOTHING


@dataclass(frozen=True, slots=True)
class Defect(Generic[Parts]):
    """One thing wrong, and a factory of implementations with it. `needs`: the config without which it cannot show.
    `harmless`: of what breaks nothing, the variant of the model that keeps every promise with the same mistake, the
    rule, and the mutation; empty where the variant itself has it."""

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
    """The defects of one protocol by name. `interface`: those that break one rule of the interface, a format or an
    error code, which no promise needs: tests that are marked with the rule find them, and perhaps nothing else."""

    def __init__(self, defects: Iterable[D], interface: Iterable[D] = ()) -> None:
        super().__init__()
        self.interface: dict[str, D] = {}
        for table, found in ((self, defects), (self.interface, interface)):
            for one in found:
                if one.name in self or one.name in self.interface:
                    raise ValueError(f"two defects are called {one.name!r}")
                table[one.name] = one

    def find(self, name: str) -> D:
        """The broken implementation of that name. Raises KeyError with the known names."""
        if name not in self:
            raise KeyError(f"no broken implementation is called {name!r}: known are {', '.join(sorted(self))}")
        return self[name]

    def attribute(self, name: str) -> D:
        """For a module's `__getattr__`: every entry as `<protocol>:<name>`, the way any implementation is named."""
        if found := self.get(name) or self.interface.get(name):
            return found
        raise AttributeError(f"no broken implementation is called {name!r}: known are {sorted(self)}")


@dataclass(frozen=True)
class _Declared:
    """A defect before it is known which parts there are: classes whose part is inferred, parts by name, and the fields
    of `Defect` that do not depend on the protocol."""

    pieces: tuple[Any, ...]
    parts: Mapping[str, Any]
    fields: Mapping[str, Any]
    interface: bool


_DECLARED: dict[str, list[_Declared]] = {}
"""By module, in order."""


def defect(
    rule: str, breaks: Breaks, why: str = "", *, name: str = "", part: str = "", also: tuple[Any, ...] = (),
    harmless: tuple[str, str, str] | None = None, interface: bool = False, **needs: Any,
) -> Callable[[T], T]:  # fmt: skip
    """The decorated class or function takes the place of a part of the correct implementation, and breaks the `rule`.

    Its part is the one whose correct class it is derived from; a function says which `part`. `name`: if it is not the
    class's own in snake case. `also`: what takes the place of further parts. `interface`: see
    `Registry`. The rest is the config that it `needs`.
    """

    def declare(wrong: T) -> T:
        own = name or re.sub(r"(?<=.)(?=[A-Z])|(?<=[a-z])(?=\d)", "_", wrong.__name__).lower()
        pieces, parts = (also, {part: wrong}) if part else ((wrong, *also), {})
        fields = {"name": own, "rule": rule, "breaks": breaks, "why": why, "harmless": harmless}
        _declare(wrong.__module__, pieces, parts, needs, interface, **fields)
        return wrong

    return declare


def plant(
    name: str, rule: str, breaks: Breaks, *pieces: type, why: str = "", parts: Mapping[str, Any] | None = None,
    interface: bool = False, **needs: Any,
) -> None:  # fmt: skip
    """A defect without a class of its own: classes that are there already, a value of `parts`, or config alone."""
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
    """The defects that are declared in these modules. `parts`: a dataclass of replaceable parts, each with the correct
    one as its default.  Raises TypeError for a class of which it is not plain whose place it takes."""
    names = [module if isinstance(module, str) else module.__name__ for module in modules]
    tables: tuple[list[Defect[Parts]], list[Defect[Parts]]] = [], []
    for declared in (each for name in names for each in _DECLARED.get(name, ())):
        tables[declared.interface].append(Defect(parts=_replaced(parts, declared), build=build, **declared.fields))
    return Registry(*tables)


def _replaced(parts: type[Parts], declared: _Declared) -> Parts:
    return parts(**{_part_of(parts, piece): piece for piece in declared.pieces}, **declared.parts)


def _part_of(parts: type[Any], piece: type) -> str:
    """The part whose correct class is the nearest base of this one."""
    for base in piece.__mro__[:-1]:
        if found := [one.name for one in fields(parts) if one.default is base]:
            if len(found) > 1:
                break
            return found[0]
    raise TypeError(f"{piece.__name__} takes the place of no one part of {parts.__module__}.Parts: say part=…")
