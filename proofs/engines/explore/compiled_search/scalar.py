"""This module emits one protocol's successor function for numba, which works state by state instead of block by block.

All values are int64. A word's bits are read by shift and mask, so an arithmetic shift of a negative word does no harm,
whereas numba turns int64 and uint64 in one expression into floating point. Only hashes and array indices are uint64,
because numba first tests whether a signed index counts from the end.
"""

from collections.abc import Mapping, Sequence

from fencepost.proofs.engines.explore.compiled_search.hashed import PARTS, columns_of, signed, words_of
from fencepost.proofs.engines.explore.emit import function
from fencepost.proofs.engines.explore.packing import Cell, Packing
from fencepost.proofs.engines.explore.reductions.symmetry import Symmetry
from fencepost.proofs.readings.ground import Ground, Instance, Node, below

MADE = 1024
"""At most this many successors are made before any is put into a buffer, so that they stay in the nearest cache."""


def batch(ground: Ground) -> int:
    """Return how many rows have at most `MADE` successors."""
    return max(1, min(64, MADE // max(1, len(ground.instances))))


def most_made(ground: Ground) -> int:
    return batch(ground) * max(1, len(ground.instances))


def emit_scalar(ground: Ground, packing: Packing, symmetry: Symmetry | None) -> list[str]:
    """Return the sources of ``check`` and ``expand``, and of ``keep_least`` for a search up to names."""
    return [
        _check(ground, packing),
        *([_least(ground, packing, symmetry)] if symmetry else []),
        _expand(ground, packing, symmetry),
    ]


def _expand(ground: Ground, packing: Packing, symmetry: Symmetry | None) -> str:
    """Return the source of ``expand``, which starts at row ``start`` of the frontier's columns and puts the successors
    of each state, as columns, into the part of the buffer that their hash chooses.

    A state that was put there not long ago (``recent``, by its hash) is not put there again. The function returns the
    row at which it stopped, which is before ``stop`` if a part might overflow. ``broken[property]`` becomes the least
    (row, instance) that breaks a step property.
    """
    body = _Scalar(ground, packing)
    count, most = packing.words, most_made(ground)
    columns = ", ".join(f"f{i}" for i in range(count))
    alike = ["keep_least(made, k)"] if symmetry else []
    lines = [
        f"made = np.empty({most * count}, np.int64)",
        f"row, fullest, room = start, U(0), U(buffer.size // {PARTS * count} - {most})",
        "for size in sizes:",
        "    fullest = max(fullest, size)",
        "while row < stop and fullest <= room:",
        f"    end, k = min(row + {batch(ground)}, stop), U(0)",
        "    while row < end:",
        *(f"        {line}" for line in _read(packing.words)),
        "        free = False",
        *(f"        {line}" for line in body.lines()),
        "        if not free:",
        "            stuck[0] += 1",
        "        row += 1",
        *(f"    {line}" for line in alike),
        "    fullest = max(fullest, put(made, k, buffer, sizes, recent))",
        "return row",
    ]
    return function("expand", f"{columns}, start, stop, buffer, sizes, recent, taken, cut, broken, stuck", lines)


def _check(ground: Ground, packing: Packing) -> str:
    """Return the source of ``check``, which finds the first row that decides each property, or leaves -1."""
    columns = ", ".join(f"f{i}" for i in range(packing.words))
    body = _Scalar(ground, packing)
    lines = ["for row in range(start, stop):", *(f"    {line}" for line in (*_read(packing.words), *body.decided()))]
    return function("check", f"{columns}, start, stop, found", lines)


def _least(ground: Ground, packing: Packing, symmetry: Symmetry) -> str:
    """Return the source of ``keep_least``, which replaces each state by the stored one of its symmetry class."""
    count, body, fields = packing.words, _Scalar(ground, packing), ground.fields()
    read = [f"c{i} = made[n * U({count}) + U({i})]" for i in range(count)]
    words = [f"w{i}" for i in range(count)]
    lines = [
        *read,
        *(f"{w} = {text}" for w, text in zip(words, words_of([f"c{i}" for i in range(count)]), strict=True)),
    ]
    lines += [f"b{i} = {w}" for i, w in enumerate(words)]
    for made in symmetry.fields:
        changed = {i: node for i, node in enumerate(made) if node is not fields[i]}
        lines += body.defined([*changed.values(), *body.neighbours()])
        lines += [f"x{i} = {text}" for i, text in enumerate(body.packed(changed))]
        less = "False"
        for i in range(count):
            less = f"(U(x{i}) < U(b{i}) or (x{i} == b{i} and {less}))"
        lines += [f"if {less}:", *(f"    b{i} = x{i}" for i in range(count))]
    columns = columns_of([f"b{i}" for i in range(count)])
    lines += [f"made[n * U({count}) + U({i})] = {text}" for i, text in enumerate(columns)]
    return function("keep_least", "made, k", ["for n in range(k):", *(f"    {line}" for line in lines)])


def _read(count: int) -> list[str]:
    columns = [f"c{i}" for i in range(count)]
    return [
        *(f"c{i} = f{i}[row]" for i in range(count)),
        *(f"w{i} = {text}" for i, text in enumerate(words_of(columns))),
    ]


class _Scalar:
    def __init__(self, ground: Ground, packing: Packing) -> None:
        self.ground, self.packing = ground, packing
        self.names: dict[int, str] = {}

    def lines(self) -> list[str]:
        """Return lines that compute shared values, which are total, and then take each instance under its guard."""
        table, instances = self.ground.table, self.ground.instances
        broken = [self._broken(i) for i in instances]
        roots = [n for i in instances for n in (i.guard, i.limit, i.fits, *(v for _, v in i.updates))]
        roots += [node for found in broken for node in found.values()]
        result = self.defined([*roots, *self.neighbours()])
        for number, instance in enumerate(instances):
            result.append(f"if {self._use(instance.guard)}:")
            result.append("    free = True")
            if table.both((instance.guard, instance.limit)) is table.false:
                continue
            result.append(f"    if {self._use(instance.limit)}:")
            result += [f"        {line}" for line in self._step(number, instance, broken[number])]
        return result

    def decided(self) -> list[str]:
        table, ground = self.ground.table, self.ground
        roots = [*(table.negate(p) for p in ground.always.values()), *ground.sometimes.values()]
        result = self.defined(roots)
        for number, root in enumerate(roots):
            result += [f"if {self._use(root)} and found[{number}] < 0:", f"    found[{number}] = row"]
        return result

    def _broken(self, instance: Instance) -> dict[int, Node]:
        table = self.ground.table
        nodes = {n: table.negate(self.ground.after(name, instance)) for n, name in enumerate(self.ground.steps)}
        return {n: node for n, node in nodes.items() if node is not table.false}

    def neighbours(self) -> list[Node]:
        """Return the fields that share a cell with others, and so are read when another one of the cell changes."""
        fields = self.ground.fields()
        return [fields[m] for cell in self.packing.cells if len(cell.members) > 1 for m in cell.members]

    def defined(self, roots: Sequence[Node]) -> list[str]:
        """Return lines that compute what the nodes need and no earlier line computed."""
        return [self._define(n) for n in below(roots) if n.op != "const" and n.number not in self.names]

    def _step(self, number: int, instance: Instance, broken: dict[int, Node]) -> list[str]:
        words = self.packed(dict(instance.updates))
        lines = [f"if {self._use(instance.fits)}:", f"    taken[{number}] += 1"]
        lines += [f"    x{n} = {text}" for n, text in enumerate(words)]
        columns = columns_of([f"x{n}" for n in range(len(words))])
        lines += [f"    made[k * U({len(words)}) + U({n})] = {text}" for n, text in enumerate(columns)]
        lines += ["    k += U(1)"]
        for prop, bad in broken.items():
            lines += [f"    if {self._use(bad)} and (broken[{prop}, 0] < 0 or row < broken[{prop}, 0]):"]
            lines += [f"        broken[{prop}, 0] = row", f"        broken[{prop}, 1] = {number}"]
        return [*lines, "else:", f"    cut[{number}] += 1"]

    def packed(self, changed: Mapping[int, Node]) -> list[str]:
        """Return the words of the state after changes of some fields."""
        fields = self.ground.fields()
        count = self.packing.words
        keep, constant, terms = [-1] * count, [0] * count, [list[str]() for _ in range(count)]
        for home in sorted({h for f in changed if (h := self.packing.cell[f]) is not None}):
            cell = self.packing.cells[home]
            keep[cell.word] &= ~(((1 << cell.bits) - 1) << cell.offset)
            for member in cell.members:
                node = changed.get(member) or fields[member]
                weight = self.packing.weight(member)
                if node.op == "const":
                    constant[cell.word] += (node.data * weight) << cell.offset
                else:
                    terms[cell.word].append(f"(np.int64({self._use(node)}) * {weight} << {cell.offset})")
        # Digits of one cell are added; cells are disjoint, so adding all is the same as joining their bits.
        return [
            " + ".join(
                [word if mask == -1 else f"({word} & {signed(mask)})", *([str(signed(bits))] if bits else []), *more]
            )
            for word, mask, bits, more in zip((f"w{n}" for n in range(count)), keep, constant, terms, strict=True)
        ]

    def _use(self, node: Node) -> str:
        if node.op == "const":
            return str(bool(node.data)) if node.truth else str(node.data)
        return self.names[node.number]

    def _define(self, node: Node) -> str:
        text = self._text(node)
        self.names[node.number] = f"v{node.number}"
        return f"v{node.number} = {text}"

    def _text(self, node: Node) -> str:
        args = [self._use(a) for a in node.args]
        match node.op:
            case "field":
                return self._field(node)
            case "not":
                return f"not {args[0]}"
            case "and" | "or":
                return f" {'&' if node.op == 'and' else '|'} ".join(args)
            case "ite":
                return f"{args[1]} if {args[0]} else {args[2]}"
            case "monus":
                return f"max({args[0]} - {args[1]}, 0)"
        sign = {"add": "+", "sub": "-", "eq": "==", "le": "<="}[node.op]
        return f"{args[0]} {sign} {args[1]}"

    def _field(self, node: Node) -> str:
        index = node.data
        home = self.packing.cell[index]
        assert home is not None
        cell: Cell = self.packing.cells[home]
        text = f"(w{cell.word} >> {cell.offset}) & {signed((1 << cell.bits) - 1)}"
        if len(cell.members) > 1:
            text = f"({text}) // {self.packing.weight(index)} % {self.packing.sizes[index]}"
        return f"({text}) != 0" if node.truth else text
