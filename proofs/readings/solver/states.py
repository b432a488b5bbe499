"""This module has states as Z3 sees them: a symbolic one, the initial one, and the one after an action."""

from collections.abc import Sequence
from typing import Any

import z3
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.types import NAT, MapType, ScalarType, SeqType
from fencepost.proofs.readings.solver.finite import unbounded_sequence
from fencepost.proofs.readings.solver.terms import Locals, Reading, Value, View


def map_parts(reading: Reading, name: str) -> tuple[tuple[ScalarType, ...], ScalarType]:
    """Return a variable's key types, if any, and value type. Errors: ModelError for a sequence without bounds."""
    kind = reading.spec.types[name]
    if isinstance(kind, SeqType):
        if reading.bounds is None:
            raise unbounded_sequence(reading.spec, name)
        return (NAT,), kind.entry
    return (kind.keys, kind.value) if isinstance(kind, MapType) else ((), kind)


class SymbolicState:
    """A `SymbolicState` is any state, with a constant for each scalar and a function for each map."""

    def __init__(self, reading: Reading, mark: str = "") -> None:
        self.reading = reading
        self.functions: dict[str, tuple[z3.FuncDeclRef, ...]] = {}
        for name in reading.spec.types:
            keys, value = map_parts(reading, name)
            domain = [sort for kind in keys for sort in reading.leaves(kind)]
            self.functions[name] = tuple(
                z3.Function(f"{reading.named(name)}{mark}{part or ''}", *domain, sort)
                for part, sort in enumerate(reading.leaves(value))
            )

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        parts = [part for key in keys for part in key]
        return tuple(function(*parts) for function in self.functions[name])

    def length(self, name: str) -> Any:
        raise unbounded_sequence(self.reading.spec, name)

    def within(self, names: Sequence[str]) -> list[z3.BoolRef]:
        """Return the type invariant of some variables: naturals are not negative, and members are declared."""
        reading, known = self.reading, []
        for name in names:
            keys, kind = map_parts(reading, name)
            bound = tuple(reading.fresh(name, key) for key in keys)
            ranges = reading.within(self.entry(name, bound), kind)
            parts = [part for key in bound for part in key]
            known.extend([z3.ForAll(parts, reading.both(ranges))] if parts and ranges else ranges)
        return known


class ZeroState:
    """A `ZeroState` has every variable at its zero value."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        return self.reading.zero(map_parts(self.reading, name)[1])

    def length(self, name: str) -> Any:
        return self.reading.number(0)


class UpdatedState:
    """An `UpdatedState` is the state after updates computed in the state before, of which a later one wins."""

    def __init__(self, reading: Reading, before: View, updates: Sequence[Update], names: Locals) -> None:
        self.reading, self.before, self.names = reading, before, names
        self.written: dict[str, list[Update]] = {}
        for update in updates:
            self.written.setdefault(update.variable, []).append(update)

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        reading, result, appended = self.reading, self.before.entry(name, keys), 0
        for update in self.written.get(name, ()):
            bound = {n: key for (n, _), key in zip(update.bound, keys, strict=False)}
            value = reading.read(update.value, {**self.names, **bound}, self.before)
            if update.keys:
                value = reading.choose(self._same(update, keys), value, result)
            elif update.appends:
                appended += 1
                value = reading.choose(keys[0][0] == self.before.length(name) + appended, value, result)
            result = value
        return result

    def length(self, name: str) -> Any:
        return self.before.length(name) + len(self.written.get(name, ()))

    def keys_of(self, update: Update) -> list[Value]:
        """Return the keys that an update of one entry writes, computed in the state before."""
        kinds, _ = map_parts(self.reading, update.variable)
        read = [self.reading.read(key, self.names, self.before) for key in update.keys]
        return [self.reading.as_key(kind, key) for kind, key in zip(kinds, read, strict=True)]

    def _same(self, update: Update, keys: tuple[Value, ...]) -> Any:
        kinds, _ = map_parts(self.reading, update.variable)
        pairs = zip(kinds, self.keys_of(update), keys, strict=True)
        return self.reading.both([self.reading.equal(kind, a, b) for kind, a, b in pairs])


def initial_state(reading: Reading) -> UpdatedState:
    return UpdatedState(reading, ZeroState(reading), reading.spec.initial, {})
