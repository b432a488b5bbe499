"""States as Z3 sees them: a symbolic one, the initial one, the one after an action, and one written out in full."""

from collections.abc import Sequence

import z3

from ..model.language.protocol import Action, Spec
from ..model.language.recording import Update
from ..model.language.types import MapType, ScalarType, SeqType
from .z3_terms import Locals, Reading, Value, View, unbounded_sequence


def map_parts(spec: Spec, name: str) -> tuple[tuple[ScalarType, ...], ScalarType]:
    """The key types, none for a scalar, and the value type of a variable.  ModelError for a sequence."""
    kind = spec.types[name]
    if isinstance(kind, SeqType):
        from ..model.language.terms import state

        raise unbounded_sequence(spec, state(name, kind))
    return (kind.keys, kind.value) if isinstance(kind, MapType) else ((), kind)


class SymbolicState:
    """Any state: a constant for each scalar, a function for each map."""

    def __init__(self, reading: Reading, mark: str = "") -> None:
        self.reading = reading
        self.functions: dict[str, tuple[z3.FuncDeclRef, ...]] = {}
        for name in reading.spec.types:
            keys, value = map_parts(reading.spec, name)
            domain = [sort for kind in keys for sort in reading.leaves(kind)]
            self.functions[name] = tuple(
                z3.Function(f"{name}{mark}{part or ''}", *domain, sort)
                for part, sort in enumerate(reading.leaves(value))
            )

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        parts = [part for key in keys for part in key]
        return tuple(function(*parts) for function in self.functions[name])

    def within(self, names: Sequence[str]) -> list[z3.BoolRef]:
        """The type invariant of some variables: naturals are not negative, members are among those named."""
        reading, known = self.reading, []
        for name in names:
            keys, kind = map_parts(reading.spec, name)
            bound = tuple(reading.fresh(name, key) for key in keys)
            ranges = reading.within(self.entry(name, bound), kind)
            parts = [part for key in bound for part in key]
            known.extend([z3.ForAll(parts, reading.both(ranges))] if parts and ranges else ranges)
        return known


class ZeroState:
    """Every variable at its zero value."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        return self.reading.zero(map_parts(self.reading.spec, name)[1])


class UpdatedState:
    """The state after some updates, all computed from the state before; where keys coincide the later one wins."""

    def __init__(self, reading: Reading, before: View, updates: Sequence[Update], names: Locals) -> None:
        self.reading, self.before, self.names = reading, before, names
        self.written: dict[str, list[Update]] = {}
        for update in updates:
            self.written.setdefault(update.variable, []).append(update)

    def entry(self, name: str, keys: tuple[Value, ...]) -> Value:
        reading, kinds = self.reading, map_parts(self.reading.spec, name)[0]
        result = self.before.entry(name, keys)
        for update in self.written.get(name, ()):
            bound = {n: key for (n, _), key in zip(update.bound, keys, strict=False)}
            value = reading.read(update.value, {**self.names, **bound}, self.before)
            if update.keys:
                here = [
                    reading.equal(kind, reading.as_key(kind, reading.read(term, self.names, self.before)), key)
                    for kind, term, key in zip(kinds, update.keys, keys, strict=True)
                ]
                value = reading.choose(reading.both(here), value, result)
            result = value
        return result


def initial_state(reading: Reading) -> UpdatedState:
    return UpdatedState(reading, ZeroState(reading), reading.spec.initial, {})


def after(reading: Reading, action: Action, before: View, names: Locals) -> UpdatedState:
    return UpdatedState(reading, before, action.updates, names)
