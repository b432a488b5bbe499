"""This module is the NumPy reading, which handles many states of one protocol at once, with each variable as an array
that has one row for each state.

Truth values are bool, and all other values int64. A member of a sort or an enumeration is its number, and an Option is
0 for none and one more than its value otherwise, so that every type's zero value is 0. A map is stored one cell wider
than its keys in each direction. The extra cell is never written, and is what is read outside the keys (``MEANING``).
Ghost variables are left out, since no rule reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fencepost.model.language.protocol import Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import (
    AtomsType,
    BoolType,
    EnumType,
    MapType,
    NumberType,
    OptionType,
    ScalarType,
    SeqType,
    evaluate_bound,
)
from fencepost.proofs.readings.columns.source import ColumnsError, Program, Run, compile_step
from fencepost.proofs.results import State

__all__ = ["ColumnStates", "Columns", "ColumnsError"]


@dataclass(frozen=True)
class Columns:
    """A `Columns` is a settled protocol read as columns. ``constants`` has the value of each of its constants."""

    spec: Spec
    constants: Mapping[str, int]

    def __post_init__(self) -> None:
        if missing := [name for name in self.spec.constants if name not in self.constants]:
            raise ColumnsError(
                f"{self.spec.name}: no value for {', '.join(missing)}; give each constant of the protocol one"
            )
        self.types  # noqa: B018  refuses what cannot be held, now and not in the middle of a run

    @cached_property
    def types(self) -> dict[str, ScalarType | MapType]:
        """Return the variables that columns hold, which are all but ghosts. Errors: ColumnsError for a sequence."""
        held: dict[str, ScalarType | MapType] = {}
        for name, kind in self.spec.types.items():
            if isinstance(kind, SeqType):
                raise ColumnsError(
                    f"{self.spec.name}: {name} is a sequence, which columns do not hold; use the plain reading"
                )
            if name not in self.spec.ghosts:
                held[name] = kind
        return held

    def program(
        self,
        conditions: Iterable[Term],
        updates: Iterable[Update],
        columns: Iterable[str],
        *,
        inside: bool = False,
        checked: bool = True,
    ) -> Program:
        """Return a program with conditions that must hold, then updates of all rows at once, as in `compile_step`."""
        remaining = tuple(u for u in updates if u.variable not in self.spec.ghosts)
        constants, types = tuple(self.constants.items()), tuple(self.types.items())
        return compile_step(
            tuple(conditions), remaining, tuple(columns), constants, types, inside=inside, checked=checked
        )

    def action(self, name: str, *, checked: bool = True) -> Program:
        """Return the program of one action, with its parameters as columns in the order of their declaration."""
        action = self.spec.actions[name]
        guards = [g.condition for g in action.guards]
        return self.program(guards, action.updates, [n for n, _ in action.parameters], checked=checked)

    def initial(self, count: int, sizes: Mapping[str, int]) -> "ColumnStates":
        """Return ``count`` copies of the initial state. ``sizes`` has each sort's size, by the name of its bound."""
        states = ColumnStates(self, count, sizes)
        states.bind(self.program((), self.spec.initial, ()))(np.arange(count))
        return states


class ColumnStates:
    """A `ColumnStates` has the arrays of ``count`` states, all zero to begin with."""

    def __init__(self, columns: Columns, count: int, sizes: Mapping[str, int]) -> None:
        self.columns, self.count, self.sizes = columns, count, dict(sizes)
        self.arrays: dict[str, np.ndarray] = {}
        for name, kind in columns.types.items():
            value = kind.value if isinstance(kind, MapType) else kind
            cells = int(np.prod([self.domain(k) + 1 for k in kind.keys])) if isinstance(kind, MapType) else 1
            self.arrays[name] = np.zeros(count * cells, bool if isinstance(value, BoolType) else np.int64)

    def bind(self, program: Program) -> Run:
        return program.bind(self.arrays, self.domain)

    def domain(self, kind: ScalarType) -> int:
        """Return how many values a type of keys has. Errors: ColumnsError if its bound is not among the sizes."""
        match kind:
            case BoolType():
                return 2
            case EnumType(_, members):
                return len(members)
            case OptionType(of):
                return self.domain(of) + 1
            case AtomsType(name, bound) if bound not in self.sizes:
                raise ColumnsError(f"no size is given for the sort {name}; give one for {bound!r}")
            case AtomsType(_, bound):
                return self.sizes[bound]
            case NumberType(name, upto):
                try:
                    return evaluate_bound(str(upto), self.sizes) + 1
                except (KeyError, ValueError):
                    raise ColumnsError(
                        f"a map or quantifier over {name} needs its largest value; give a size for {upto!r}"
                    ) from None

    def decode(self, row: int) -> State:
        """Return one state in the form of the plain reading."""
        found: State = {}
        for name, kind in self.columns.types.items():
            if not isinstance(kind, MapType):
                found[name] = decode_value(kind, self.arrays[name][row])
                continue
            cells = self._cells(name, kind)[row]
            keys = np.argwhere(cells)
            found[name] = {
                tuple(decode_value(k, v) for k, v in zip(kind.keys, key, strict=True)): decode_value(
                    kind.value, cells[tuple(key)]
                )
                for key in keys
            }
        return found

    def encode(self, row: int, state: Mapping[str, Any]) -> None:
        """Overwrite one state by one of the plain reading."""
        for name, kind in self.columns.types.items():
            if not isinstance(kind, MapType):
                self.arrays[name][row] = encode_value(kind, state[name])
                continue
            cells = self._cells(name, kind)[row]
            cells[...] = 0
            for key, value in state[name].items():
                at = tuple(encode_value(k, v) for k, v in zip(kind.keys, key, strict=True))
                cells[at] = encode_value(kind.value, value)

    def select(self, rows: Sequence[int] | np.ndarray) -> "ColumnStates":
        """Return a copy of the states in some rows."""
        chosen = ColumnStates(self.columns, len(rows), self.sizes)
        for name, array in self.arrays.items():
            chosen.arrays[name] = array.reshape(self.count, -1)[rows].ravel()
        return chosen

    def _cells(self, name: str, kind: MapType) -> np.ndarray:
        return self.arrays[name].reshape(self.count, *(self.domain(k) + 1 for k in kind.keys))


def encode_value(kind: ScalarType, value: Any) -> int:
    if isinstance(kind, OptionType):
        return 0 if value is None else encode_value(kind.of, value) + 1
    return int(value)


def decode_value(kind: ScalarType, number: Any) -> Any:
    if isinstance(kind, OptionType):
        return None if number == 0 else decode_value(kind.of, number - 1)
    return bool(number) if isinstance(kind, BoolType) else int(number)
