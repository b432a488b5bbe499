"""This module turns ground conditions and updates into the source of NumPy functions.

``expand`` takes a block of packed states and writes all their successors. Fields are columns of bytes where their range
allows, shared parts are computed once for the block, and what is no longer needed is deleted, so that a block's columns
stay in the cache. The operation ite is done with masks, because ``np.where`` on bytes takes six times as long.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from fencepost.proofs.engines.explore.packing import BYTE, Cell, Packing, Words
from fencepost.proofs.readings.ground import Node, below
from numpy.typing import NDArray

_KINDS = (("U8", 0, 255), ("I16", -(2**15), 2**15 - 1), ("I32", -(2**31), 2**31 - 1), ("I64", -(2**63), 2**63 - 1))
NAMES: dict[str, Any] = {
    "np": np, "U8": np.uint8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "U64": np.uint64, "B": np.bool_,
}  # fmt: skip


def kind_of(low: int, high: int) -> str:
    """Return the narrowest column type for a range. Errors: OverflowError beyond 64 bits, instead of wrapping."""
    for name, least, most in _KINDS:
        if least <= low and high <= most:
            return name
    raise OverflowError(f"an expression ranges over {low} … {high}, beyond 64 bits; choose smaller bounds")


class Writer:
    """A `Writer` collects lines that compute nodes, each once. The order of ``roots`` decides what is deleted when."""

    def __init__(self, packing: Packing, roots: Iterable[Iterable[Node]]) -> None:
        self.packing, self.lines = packing, list[str]()
        self._names: dict[object, str] = {}
        self._count = 0
        self._due: dict[int, list[str]] = {}
        self._last: dict[int, int] = {}
        for turn, group in enumerate(roots):
            for node in below(group):
                self._last[node.number] = turn

    def line(self, text: str) -> None:
        self.lines.append(text)

    def assign(self, key: object, text: str, owner: Node | None = None) -> str:
        """Return the name of a value, which is computed once per key, and deleted with the last use of its owner."""
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = f"v{self._count}"
            self._count += 1
            self.line(f"{found} = {text}")
            if owner is not None and owner.number in self._last:
                self._due.setdefault(self._last[owner.number], []).append(found)
        return found

    def end_turn(self, turn: int) -> None:
        """Delete what no later turn needs."""
        names = self._due.pop(turn, [])
        if names:
            self.line(f"del {', '.join(names)}")
            gone = set(names)
            self._names = {k: n for k, n in self._names.items() if n not in gone}

    def value(self, node: Node, kind: str | None = None) -> str:
        """Return a name or literal for the node, as a column of ``kind``, by default its narrowest, or B for truth
        values."""
        own = "B" if node.truth else kind_of(node.low, node.high)
        kind = kind or own
        if node.op == "const":
            return f"{kind}({node.data})"
        name = self._compute(node)
        if kind == own:
            return name
        if own == "B" and kind == "U8":
            return self.assign(("bytes", node.number), f"{name}.view(U8)", node)
        return self.assign(("as", kind, node.number), f"{name}.astype({kind})", node)

    def _compute(self, node: Node) -> str:
        found = self._names.get(node.number)
        return found if found is not None else self.assign(node.number, self._text(node), node)

    def _text(self, node: Node) -> str:
        args = node.args
        match node.op:
            case "field":
                return self._field(node)
            case "not":
                return f"~{self.value(args[0])}"
            case "and" | "or":
                return {"and": " & ", "or": " | "}[node.op].join(self.value(a) for a in args)
            case "eq" | "le":
                kind = None if args[0].truth else kind_of(min(a.low for a in args), max(a.high for a in args))
                return f"{self.value(args[0], kind)} {'==' if node.op == 'eq' else '<='} {self.value(args[1], kind)}"
            case "ite":
                return self._ite(node)
        kind = kind_of(min(node.low, *(a.low for a in args)), max(node.high, *(a.high for a in args)))
        a, b = self.value(args[0], kind), self.value(args[1], kind)
        if node.op == "monus":
            text = f"np.maximum({a}, {b}) - {b}"
        elif node.op == "add" and args[1].op == "const" and args[1].data < 0:
            text = f"{a} - {kind}({-args[1].data})" if kind == "U8" else f"{a} + {b}"
        else:
            text = f"{a} {'+' if node.op == 'add' else '-'} {b}"
        own = kind_of(node.low, node.high)
        return text if own == kind else f"({text}).astype({own})"

    def _ite(self, node: Node) -> str:
        test, then, other = node.args
        kind = kind_of(node.low, node.high)
        if kind != "U8":
            return f"np.where({self.value(test)}, {self.value(then, kind)}, {self.value(other, kind)})"
        if then.op == "const" and other.op == "const":
            bits, step = self.value(test, "U8"), (then.data - other.data) % 256
            scaled = bits if step == 1 else f"{bits} * U8({step})"
            return scaled if other.data == 0 else f"{scaled} + U8({other.data})"
        if other.op == "const" and other.data == 0:
            return f"{self.value(then, kind)} & {self._mask(test)}"
        if then.op == "const" and then.data == 0:
            inverse = self.assign(("unless", test.number), f"{self.value(test, 'U8')} - U8(1)", test)
            return f"{self.value(other, kind)} & {inverse}"
        a, b = self.value(then, kind), self.value(other, kind)
        return f"{b} ^ (({a} ^ {b}) & {self._mask(test)})"

    def _mask(self, test: Node) -> str:
        return self.assign(("mask", test.number), f"np.negative({self.value(test, 'U8')})", test)

    def _field(self, node: Node) -> str:
        index, packing = node.data, self.packing
        home = packing.cell[index]
        assert home is not None
        cell = packing.cells[home]
        text = self._cell(home, cell)
        if len(cell.members) > 1:
            whole = self.assign(("cell", home), text, node)
            weight, size = packing.weight(index), packing.sizes[index]
            text = whole if weight == 1 else f"({whole} // U8({weight}))"
            if cell.members[-1] != index:
                part = self.assign(("part", index), text, node) if weight > 1 else whole
                text = f"{part} - {part} // U8({size}) * U8({size})"
        return f"({text}).view(B)" if node.truth else text

    def _cell(self, home: int, cell: Cell) -> str:
        mask = (1 << cell.bits) - 1
        if not cell.in_byte:
            kind = kind_of(0, mask)
            return f"((w{cell.word} >> U64({cell.offset})) & U64({mask})).astype({kind})"
        low = cell.offset % BYTE
        plane = self.assign(
            ("plane", cell.word, cell.offset // BYTE), f"(w{cell.word} >> U64({cell.offset - low})).astype(U8)"
        )
        shifted = plane if low == 0 else f"({plane} >> U8({low}))"
        return shifted if low + cell.bits == BYTE else f"{shifted} & U8({mask})"


def function(name: str, parameters: str, lines: Sequence[str]) -> str:
    body = "\n    ".join(lines or ["pass"])
    return f"def {name}({parameters}):\n    {body}\n"


def compile_source(source: str, *names: str) -> list[Any]:
    """Return the named functions of an emitted source."""
    space: dict[str, object] = dict(NAMES)

    def bind(found: re.Match[str]) -> str:
        label = f"{found[1]}_{found[2].replace('-', 'm')}"
        space[label] = NAMES[found[1]](int(found[2]))
        return label

    # A literal such as U8(3) would be created anew for every block.
    source = re.sub(r"\b(U8|I16|I32|I64|U64|B)\((-?\d+)\)", bind, source)
    exec(compile(source, f"<emitted {' '.join(names)}>", "exec"), space)
    return [space[name] for name in names]


def columns(packing: Packing, roots: Sequence[Node]) -> Callable[[Words], list[NDArray[Any]]]:
    """Return a function from words to one column per root, which holds its truth values or its numbers."""
    w = ", ".join(f"w{i}" for i in range(packing.words))
    writer = Writer(packing, [roots])
    names = [writer.value(r) if r.op != "const" else f"np.full(w0.size, {writer.value(r)})" for r in roots]
    source = function("columns", "words", [f"{w}, = words", *writer.lines, f"return [{', '.join(names)}]"])
    [made] = compile_source(source, "columns")
    return made  # type: ignore[no-any-return]


def conditions(packing: Packing, roots: Sequence[Node]) -> Callable[[Words], list[NDArray[np.bool_]]]:
    return columns(packing, roots)
