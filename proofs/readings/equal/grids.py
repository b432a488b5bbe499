"""This module runs compiled columns once on symbols instead of arrays. The source is the same, but what it calls
differs.

A `Grid` is an array of which each entry is a number of Python or a bit vector of 64 bits, as wide as an int64, or a
truth value of either kind. There is one row, which is the symbolic state. Where NumPy would raise an error, for an
index outside an array or a sum that a check refuses, the condition of that is recorded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
import z3
from fencepost.proofs.readings.columns.source import Program

WIDE = 64
"""A number in columns has this many bits."""


@dataclass
class Made:
    """A `Made` is what a program does to one state. ``held`` is the condition under which it steps, ``cells`` has the
    arrays afterwards, by variable, and ``faults`` has the conditions under which it raises an error instead."""

    held: Any
    cells: dict[str, list[Any]]
    faults: list[Any]


@dataclass
class _Run:
    context: Any
    ok: Any = True
    faults: list[Any] = field(default_factory=list)

    def lift(self, value: Any) -> Any:
        if isinstance(value, z3.ExprRef):
            return value
        if isinstance(value, bool | np.bool_):
            return z3.BoolVal(bool(value), self.context)
        return z3.BitVecVal(int(value), WIDE, self.context)

    def apply(self, op: Callable[..., Any], *entries: Any) -> Any:
        """Apply an operation to entries. Of constants the result is computed, and is no term. Where a truth value meets
        a number, as in an Option of Bool, it is 0 or 1, as in NumPy."""
        if not any(isinstance(entry, z3.ExprRef) for entry in entries):
            return op(*entries)
        *first, a, b = [None, *map(self.lift, entries)]
        if a is not None and z3.is_bool(a) != z3.is_bool(b):
            a, b = self.number(a), self.number(b)
        return op(*[x for x in (*first, a, b) if x is not None])

    def number(self, entry: Any) -> Any:
        """Return a key as a number: a truth value is 0 or 1."""
        is_truth = isinstance(entry, z3.ExprRef) and z3.is_bool(entry)
        return z3.If(entry, self.lift(1), self.lift(0)) if is_truth else entry

    def each(self, op: Callable[..., Any], *grids: Any) -> "Grid":
        """Apply an operation to the entries of arrays that are broadcast."""
        arrays = [grid.entries if isinstance(grid, Grid) else grid for grid in grids]
        return Grid(self, np.frompyfunc(partial(self.apply, op), len(arrays), 1)(*arrays))

    def fault(self, where: "Grid") -> None:
        self.faults += [self.lift(entry) for entry in where.entries.flat if entry is not False]

    def both(self, parts: Sequence[Any]) -> Any:
        """Return the conjunction. One of a single formula has no text in SMT-LIB."""
        lifted = [self.lift(part) for part in parts] or [z3.BoolVal(True, self.context)]
        return z3.And(*lifted) if len(lifted) > 1 else lifted[0]


def _and(a: Any, b: Any) -> Any:
    return z3.And(a, b) if isinstance(a, z3.ExprRef) else bool(a and b)


def _or(a: Any, b: Any) -> Any:
    return z3.Or(a, b) if isinstance(a, z3.ExprRef) else bool(a or b)


def _not(a: Any) -> Any:
    return z3.Not(a) if isinstance(a, z3.ExprRef) else not a


def _if(test: Any, then: Any, other: Any) -> Any:
    return z3.If(test, then, other) if isinstance(test, z3.ExprRef) else then if test else other


def _operator(op: Callable[[Any, Any], Any]) -> Callable[["Grid", Any], "Grid"]:
    return lambda self, other: self.run.each(op, self, other)


class Grid:
    """A `Grid` is an array of symbols, with only the operations that compiled columns use."""

    __array_ufunc__ = None  # NumPy leaves its operators with a Grid to the Grid

    def __init__(self, run: _Run, entries: Any) -> None:
        self.run = run
        if not isinstance(entries, np.ndarray):
            scalar, entries = entries, np.empty((), object)
            entries[()] = scalar
        self.entries: np.ndarray[Any, Any] = entries.astype(object)

    @property
    def size(self) -> int:
        return self.entries.size

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.entries.shape)

    def __len__(self) -> int:
        return len(self.entries)

    __add__ = __radd__ = _operator(lambda a, b: a + b)
    __mul__ = __rmul__ = _operator(lambda a, b: a * b)
    __sub__ = _operator(lambda a, b: a - b)
    __rsub__ = _operator(lambda a, b: b - a)
    __le__ = _operator(lambda a, b: a <= b)
    __ge__ = _operator(lambda a, b: a >= b)
    __lt__ = _operator(lambda a, b: a < b)
    __gt__ = _operator(lambda a, b: a > b)
    __and__ = __rand__ = _operator(_and)
    __or__ = __ror__ = _operator(_or)
    __eq__ = _operator(lambda a, b: a == b)  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __invert__(self) -> "Grid":
        return self.run.each(_not, self)

    def __getitem__(self, key: Any) -> "Grid":
        return Grid(self.run, self.entries[key])

    def reshape(self, *shape: int) -> "Grid":
        return Grid(self.run, self.entries.reshape(*shape))

    def all(self, axis: int) -> "Grid":
        return self._folded(_and, True)

    def any(self, axis: int) -> "Grid":
        return self._folded(_or, False)

    def _folded(self, op: Callable[[Any, Any], Any], unit: bool) -> "Grid":
        found = np.empty(self.shape[:-1], object)
        for place in np.ndindex(found.shape):
            found[place] = reduce(partial(self.run.apply, op), self.entries[place], unit)
        return Grid(self.run, found)


class _Cells:
    """A `_Cells` is the array of one variable. An index is a number, or a symbol that may be any."""

    def __init__(self, run: _Run, cells: Sequence[Any]) -> None:
        self.run, self.cells = run, list(cells)

    def _outside(self, at: Any) -> None:
        self.run.fault(~(self.run.each(lambda i: self.run.number(i) >= 0, at) & (at < len(self.cells))))

    def take(self, at: Grid) -> Grid:
        self._outside(at)
        return self.run.each(self._one, at)

    def _one(self, index: Any) -> Any:
        if not isinstance(index, z3.ExprRef):
            return self.cells[index]
        index, found = self.run.number(index), self.run.lift(self.cells[0])
        for number, cell in enumerate(self.cells):
            found = z3.If(index == number, self.run.lift(cell), found)
        return found

    def __setitem__(self, at: Grid, values: Any) -> None:
        self._outside(at)
        given = values.entries if isinstance(values, Grid) else values
        for index, value in zip(at.entries.flat, np.broadcast_to(given, at.shape).flat, strict=True):
            if isinstance(index, z3.ExprRef):
                key, new = self.run.number(index), self.run.lift(value)
                self.cells = [z3.If(key == n, new, self.run.lift(old)) for n, old in enumerate(self.cells)]
            else:
                self.cells[index] = value


def _names(run: _Run) -> dict[str, Any]:
    """Return what stands for `magnitudes.NAMES`."""

    def count_nonzero(ok: Grid) -> int:
        run.ok = run.both(list(ok.entries.flat))
        return ok.size  # the row goes on, under that condition

    def checked(op: Callable[[Any, Any], Any], fits: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Grid]:
        def made(a: Any, b: Any) -> Grid:
            run.fault(run.each(lambda x, y: _not(fits(x, y)) if isinstance(x, z3.ExprRef) else False, a, b))
            return run.each(op, a, b)

        return made

    def fits_sum(a: Any, b: Any) -> Any:
        return z3.And(z3.BVAddNoOverflow(a, b, True), z3.BVAddNoUnderflow(a, b))

    def fits_difference(a: Any, b: Any) -> Any:
        return z3.And(z3.BVSubNoOverflow(a, b), z3.BVSubNoUnderflow(a, b, True))

    def where(test: Any, a: Any, b: Any) -> Grid:
        return run.each(_if, test, a, b)

    def is_inside(key: Any, domain: int) -> Grid:
        return run.each(lambda k: _and(run.number(k) >= 0, run.number(k) < domain), key)

    def maximum(a: Any, b: Any) -> Grid:
        return run.each(lambda x, y: _if(x <= y, y, x), a, b)

    return {
        "TRUE": Grid(run, True),
        "FALSE": Grid(run, False),
        "bool_": lambda value: Grid(run, value),
        "broadcast_to": lambda a, shape: Grid(run, np.broadcast_to(a.entries, shape)),
        "count_nonzero": count_nonzero,
        "held": lambda key, domain: where(is_inside(key, domain), key, domain),
        "indices": lambda shape: Grid(run, np.indices(shape)),
        "is_inside": is_inside,
        "maximum": maximum,
        "minus": checked(lambda a, b: a - b, fits_difference),
        "plus": checked(lambda a, b: a + b, fits_sum),
        "where": where,
    }


def execute(
    program: Program, cells: Mapping[str, Sequence[Any]], given: Sequence[int], domain: Callable[..., int], context: Any
) -> Made:
    """Return what a compiled program does to one state. ``cells`` has the array of each variable, ``given`` the numbers
    and truth values of its columns, and ``domain`` is that of `ColumnStates`."""
    run = _Run(context)
    arrays = {name: _Cells(run, its) for name, its in cells.items()}
    space = {**program.bind.__globals__, **_names(run)}  # the types of its domains are the program's own
    exec(compile(program.source, "<columns, on symbols>", "exec"), space)
    row = np.zeros(1, object)
    columns = [Grid(run, np.array([value], object)) for value in given]
    space["bind"](arrays, domain)(Grid(run, row), *columns)
    return Made(run.lift(run.ok), {name: its.cells for name, its in arrays.items()}, run.faults)
