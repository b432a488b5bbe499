"""Scalar: the source of one protocol's successor function for numba, state by state instead of block by block.

All in int64: a word's bits are read by shift and mask, so an arithmetic shift of a negative word does no harm, and
numba turns int64 and uint64 in one expression into floating point.
"""

from fencepost.proofs.engines.explore.emit import function
from fencepost.proofs.engines.explore.packing import Cell, Packing
from fencepost.proofs.readings.ground import Ground, Instance, Node, below

PARAMETERS = "frontier, start, stop, buffers, sizes, recent, taken, cut, broken, stuck"


def emit_scalar(ground: Ground, packing: Packing) -> str:
    """``expand``: from row ``start`` of ``frontier`` on, puts the successors of each state into the buffer of its
    owner.

    A state put there not long ago (``recent``, by a part of the hash) is not put there again.
    It returns the row at which it stopped, before ``stop`` if a buffer might overflow.
    ``broken[property]`` becomes the least (row, instance) that breaks a step property.
    """
    body = _Scalar(ground, packing)
    most = len(ground.instances)
    lines = [
        "owners = sizes.size",
        "last = recent.size - 1",
        "room = buffers.shape[1]",
        "for row in range(start, stop):",
        "    for owner in range(owners):",
        f"        if sizes[owner] + {most} > room:",
        "            return row",
        "    w0 = frontier[row]",
        "    free = False",
        *(f"    {line}" for line in body.lines()),
        "    if not free:",
        "        stuck[0] += 1",
        "return stop",
    ]
    return function("expand", PARAMETERS, lines)


class _Scalar:
    def __init__(self, ground: Ground, packing: Packing) -> None:
        self.ground, self.packing = ground, packing
        self.names: dict[int, str] = {}

    def lines(self) -> list[str]:
        """Shared values first, since every expression is total; then each instance under its guard."""
        table, instances = self.ground.table, self.ground.instances
        broken = [self._broken(i) for i in instances]
        roots = [n for i in instances for n in (i.guard, i.limit, i.fits, *(v for _, v in i.updates))]
        roots += [node for found in broken for node in found.values()]
        result = [self._define(node) for node in below([*roots, *self._neighbours()]) if node.op != "const"]
        for number, instance in enumerate(instances):
            result.append(f"if {self._use(instance.guard)}:")
            result.append("    free = True")
            if table.both((instance.guard, instance.limit)) is table.false:
                continue
            result.append(f"    if {self._use(instance.limit)}:")
            result += [f"        {line}" for line in self._step(number, instance, broken[number])]
        return result

    def _broken(self, instance: Instance) -> dict[int, Node]:
        table = self.ground.table
        nodes = {n: table.negate(self.ground.after(name, instance)) for n, name in enumerate(self.ground.steps)}
        return {n: node for n, node in nodes.items() if node is not table.false}

    def _neighbours(self) -> list[Node]:
        fields, table = self.ground.layout.fields, self.ground.table
        return [
            table.field(m, fields[m].high, fields[m].truth)
            for cell in self.packing.cells
            if len(cell.members) > 1
            for m in cell.members
        ]

    def _step(self, number: int, instance: Instance, broken: dict[int, Node]) -> list[str]:
        lines = [f"if {self._use(instance.fits)}:", f"    x = {self._packed(instance)}"]
        lines += ["    h = (x ^ (x >> 32)) * MIX", "    place = (h >> 48) & last", f"    taken[{number}] += 1"]
        lines += [
            "    if recent[place] != x:",
            "        recent[place] = x",
            "        owner = ((h >> 16) & 0xFFFF) % owners",
        ]
        lines += ["        buffers[owner, sizes[owner]] = x", "        sizes[owner] += 1"]
        for prop, bad in broken.items():
            lines += [f"    if {self._use(bad)} and (broken[{prop}, 0] < 0 or row < broken[{prop}, 0]):"]
            lines += [f"        broken[{prop}, 0] = row", f"        broken[{prop}, 1] = {number}"]
        return [*lines, "else:", f"    cut[{number}] += 1"]

    def _packed(self, instance: Instance) -> str:
        """The successor's word."""
        changed, fields = dict(instance.updates), self.ground.layout.fields
        keep, constant, terms = -1, 0, list[str]()
        for home in sorted({h for f in changed if (h := self.packing.cell[f]) is not None}):
            cell = self.packing.cells[home]
            keep &= ~(((1 << cell.bits) - 1) << cell.offset)
            for member in cell.members:
                node = changed.get(member)
                if node is None:
                    node = self.ground.table.field(member, fields[member].high, fields[member].truth)
                weight = self.packing.weight(member)
                if node.op == "const":
                    constant += (node.data * weight) << cell.offset
                else:
                    terms.append(f"(np.int64({self._use(node)}) * {weight} << {cell.offset})")
        # Digits of one cell are added; cells are disjoint, so adding all is the same as joining their bits.
        total = " + ".join([f"(w0 & {_signed(keep)})", *([str(_signed(constant))] if constant else []), *terms])
        return total

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
        text = f"(w0 >> {cell.offset}) & {_signed((1 << cell.bits) - 1)}"
        if len(cell.members) > 1:
            text = f"({text}) // {self.packing.weight(index)} % {self.packing.sizes[index]}"
        return f"({text}) != 0" if node.truth else text


def _signed(word: int) -> int:
    word &= 2**64 - 1
    return word - 2**64 if word >= 2**63 else word
