"""This module turns a term of the language into ground nodes, for given values of its locals.

Quantifiers are expanded over the bound, a map read at a key that the state decides becomes a chain of ite over the
keys, and constants get their chosen values. What the language defines as the zero value outside a bound stays so (see
``terms.MEANING``).
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

from fencepost.model.language.tree.terms import Term
from fencepost.model.language.tree.types import MapType, ScalarType, SeqType
from fencepost.proofs.readings.ground.layout import BoundsError, Layout, highest, raw
from fencepost.proofs.readings.ground.nodes import Node, Table

Locals = Mapping[str, Node]
Read = Callable[[int], Node]


class Lowering:
    """A `Lowering` lowers terms. ``now`` and ``then`` give a field's node, by index, before and after a step."""

    def __init__(self, layout: Layout, table: Table, constants: Mapping[str, Node], now: Read, then: Read) -> None:
        self.layout, self.table, self.constants = layout, table, constants
        self._reads = (now, then)
        self._free: dict[Term, tuple[str, ...]] = {}
        self._done: dict[tuple[object, ...], Node] = {}

    def lower(self, node: Term, names: Locals) -> Node:
        """Return the node of a scalar term. Results are cached by the locals that the term really reads."""
        key = (node, *[names[n].number for n in self.free(node)])
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = self._lower(node, names)
        return found

    def free(self, node: Term) -> tuple[str, ...]:
        found = self._free.get(node)
        if found is None:
            inside = {n for a in node.args for n in self.free(a)}
            if node.op == "local":
                inside.add(node.data)
            elif node.op in ("forall", "exists"):
                inside -= {name for name, _ in node.data}
            elif node.op == "latest":
                inside = {n for a in node.args[:2] for n in self.free(a)} | (
                    set(self.free(node.args[2])) - {node.data[0]}
                )
            found = self._free[node] = tuple(sorted(inside))
        return found

    def domain(self, kind: ScalarType, what: str) -> list[Node]:
        """Return every value of a type under the bounds, as constants."""
        values = range(highest(kind, self.layout.bounds, what) + 1)
        return [self.literal(v, kind) for v in values]

    def literal(self, value: int, kind: ScalarType) -> Node:
        table = self.table
        return (table.true if value else table.false) if str(kind) == "Bool" else table.const(value)

    def _lower(self, node: Term, names: Locals) -> Node:
        table = self.table
        match node.op:
            case "const":
                return self.literal(raw(node.data, node.type), node.type)  # type: ignore[arg-type]
            case "local":
                return names[node.data]
            case "constant":
                return self.constants[node.data]
            case "state":
                return self._field(node, 0)
            case "select":
                return self._select(node, [self.lower(k, names) for k in node.args[1:]])
            case "length":
                return self._field(node.args[0], 0)
            case "at":
                return self._at(node, self.lower(node.args[1], names))
            case "latest":
                return self._latest(node, names)
            case "forall" | "exists":
                return self._quantified(node, names)
            case "choice":
                raise BoundsError(
                    f"rule {node.data[0]} still offers a choice; explore settle(spec), not the protocol as written"
                )
            case "some":
                return self._some(node, self.lower(node.args[0], names))
        args = [self.lower(a, names) for a in node.args]
        if node.op == "lt":
            return table.lt(args[0], args[1])
        made = {"add": table.add, "sub": table.sub, "monus": table.monus, "eq": table.eq, "le": table.le}.get(node.op)
        if made is not None:
            return made(args[0], args[1])
        return {
            "and": lambda: table.both(args), "or": lambda: table.some(args), "not": lambda: table.negate(args[0]),
            "ite": lambda: table.ite(args[0], args[1], args[2]),
        }[node.op]()  # fmt: skip

    def _field(self, node: Term, offset: int) -> Node:
        name, primed = node.data
        return self._reads[primed](self.layout.places[name].first + offset)

    def _some(self, node: Term, value: Node) -> Node:
        if value.low < 0:
            raise BoundsError(f"{node.type} may hold a number below zero here: {node!r}; explore it as a Nat")
        return self.table.add(value, self.table.const(1))

    def _select(self, node: Term, keys: Sequence[Node]) -> Node:
        kind = node.args[0].type
        assert isinstance(kind, MapType)
        sizes = self.layout.places[node.args[0].data[0]].sizes
        return self._chosen(node.args[0], kind, sizes, keys, 0)

    def _chosen(self, read: Term, kind: MapType, sizes: Sequence[int], keys: Sequence[Node], index: int) -> Node:
        if not keys:
            return self._field(read, index)
        key, size = keys[0], sizes[len(sizes) - len(keys)]
        inside = range(max(0, key.low), min(size - 1, key.high) + 1)
        outside = key.low < 0 or key.high >= size
        result = self.literal(0, kind.value) if outside or not inside else None
        for value in reversed(inside):
            entry = self._chosen(read, kind, sizes, keys[1:], index * size + value)
            result = (
                entry if result is None else self.table.ite(self.table.eq(key, self.table.const(value)), entry, result)
            )
        assert result is not None
        return result

    def _at(self, node: Term, position: Node) -> Node:
        """Return the entry at a position. Unused entries are 0, the zero value, so the length need not be read."""
        room = self.layout.places[node.args[0].data[0]].sizes[0]
        result = self.literal(0, node.type)  # type: ignore[arg-type]
        for place in range(min(room, position.high), max(1, position.low) - 1, -1):
            hit = self.table.eq(position, self.table.const(place))
            result = self.table.ite(hit, self._field(node.args[0], place), result)
        return result

    def _latest(self, node: Term, names: Locals) -> Node:
        sequence, body, table = node.args[0], node.args[2], self.table
        assert isinstance(sequence.type, SeqType)
        upto, length = self.lower(node.args[1], names), self._field(sequence, 0)
        result = table.const(0)
        for place in range(1, min(length.high, upto.high) + 1):
            entry = self._field(sequence, place)
            holds = self.lower(body, {**names, node.data[0]: entry})
            here = table.const(place)
            result = table.ite(table.both((table.le(here, upto), table.le(here, length), holds)), here, result)
        return result

    def _quantified(self, node: Term, names: Locals) -> Node:
        table, inner = self.table, dict(names)
        bound = [(name, self.domain(kind, f"{node.op} over {kind} ({name.split('.')[0]})")) for name, kind in node.data]
        bodies = []
        stop = table.false if node.op == "forall" else table.true
        for values in itertools.product(*(domain for _, domain in bound)):
            inner.update(zip((name for name, _ in bound), values, strict=True))
            bodies.append(self.lower(node.args[0], inner))
            if bodies[-1] is stop:
                return stop
        return table.both(bodies) if node.op == "forall" else table.some(bodies)
