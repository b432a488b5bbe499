"""This module emits the source of ``expand`` and ``check`` from one protocol's instances and properties.

For each instance, the source finds where it is enabled, gathers the predecessors there, and clears and sets the bits
that change.
"""

from collections.abc import Iterator

from fencepost.proofs.engines.explore.emit import Writer, function, kind_of
from fencepost.proofs.engines.explore.packing import BYTE, Packing
from fencepost.proofs.readings.ground import Ground, Instance, Node


def emit_expand(ground: Ground, packing: Packing, w: str) -> str:
    table, instances = ground.table, ground.instances
    broken = [_broken(ground, i) for i in instances]
    roots = [
        [
            i.guard,
            table.both((i.guard, i.limit)),
            i.enabled,
            *(v for _, v in i.updates),
            *_shared(packing, ground, i),
            *broken[n].values(),
        ]
        for n, i in enumerate(instances)
    ]
    writer = Writer(packing, roots)
    writer.line(f"{w}, = words")
    writer.line(f"{w.replace('w', 'o')}, = out")
    writer.line("k, taken, cut, broken = 0, tally.taken, tally.cut, tally.broken")
    guard = table.some(i.guard for i in instances)
    if guard is not table.true:
        writer.line("stuck = np.ones(w0.size, B)")
    for number, instance in enumerate(instances):
        _successors(writer, ground, packing, number, broken[number])
        if guard is not table.true:
            writer.line(
                "stuck[:] = False" if instance.guard.op == "const" else f"stuck &= ~{writer.value(instance.guard)}"
            )
        writer.end_turn(number)
    if guard is not table.true:
        writer.line("tally.stuck += int(np.count_nonzero(stuck))")
    writer.line("return k")
    return function("expand", "words, out, rows, tally", writer.lines)


def _broken(ground: Ground, instance: Instance) -> dict[int, Node]:
    """Return, by number of the step property, where this instance may be taken and breaks it."""
    table, result = ground.table, {}
    for number, name in enumerate(ground.steps):
        if name in ground.refinements:  # judged step by step, on the rows where the instance is taken only
            continue
        bad = table.both((instance.enabled, table.negate(ground.after(name, instance))))
        if bad is not table.false:
            result[number] = bad
    return result


def _shared(packing: Packing, ground: Ground, instance: Instance) -> list[Node]:
    """Return the fields that must be read because they share a cell with one that changes."""
    homes = {packing.cell[f] for f, _ in instance.updates}
    fields = ground.layout.fields
    return [
        ground.table.field(m, fields[m].high, fields[m].truth)
        for n, cell in enumerate(packing.cells) if n in homes and len(cell.members) > 1 for m in cell.members
    ]  # fmt: skip


def _successors(writer: Writer, ground: Ground, packing: Packing, number: int, broken: dict[int, Node]) -> None:
    instance = ground.instances[number]
    table, enabled, line = ground.table, instance.enabled, writer.line
    within = table.both((instance.guard, instance.limit))
    if within is not enabled:
        line(f"cut[{number}] += int(np.count_nonzero({_column(writer, within)}))")
    if enabled is table.false:
        return
    values = _cell_values(writer, ground, packing, instance)
    bad = {prop: _column(writer, node) for prop, node in broken.items()}
    line(f"i = {_column(writer, enabled)}.nonzero()[0]")
    line("m = i.size")
    line("if m:")
    line(f"    taken[{number}] += m")
    if within is not enabled:
        line(f"    cut[{number}] -= m")
    line("    if rows is not None: rows[k:k + m] = i")
    for word in range(packing.words):
        for text in _write(packing, values, word):
            line(f"    {text}")
    for prop, name in bad.items():
        line(f"    j = int({name}.argmax())")
        line(f"    if {name}[j]: broken.append(({prop}, {number}, j))")
    if ground.moves(instance):
        line(f"    if tally.judge is not None: tally.judge({number}, words, i, broken)")
    line("    k += m")


def _column(writer: Writer, node: Node) -> str:
    return writer.value(node) if node.op != "const" else f"np.full(w0.size, {bool(node.data)})"


def _write(packing: Packing, values: list["Value"], word: int) -> Iterator[str]:
    keep, constant, dynamic = _word_update(packing, values, word)
    yield f"o = o{word}[k:k + m]; w{word}.take(i, out=o, mode='clip')"
    if keep != 2**64 - 1:
        yield f"o &= U64({keep})"
    if constant:
        yield f"o |= U64({constant})"
    for offset, terms in sorted(dynamic.items()):
        shift = f"; t <<= U64({offset})" if offset else ""
        yield f"t = ({' | '.join(terms)}).take(i).astype(U64){shift}; o |= t"


Value = tuple[int, int | None, str | None]


def _cell_values(writer: Writer, ground: Ground, packing: Packing, instance: Instance) -> list[Value]:
    """Return (cell, constant or None, column or None) for every cell that changes."""
    changed = dict(instance.updates)
    result: list[Value] = []
    for home in sorted({packing.cell[f] for f in changed} - {None}):  # type: ignore[type-var]
        assert home is not None
        constant, columns = 0, []
        cell = packing.cells[home]
        for member in cell.members:
            field = ground.layout.fields[member]
            node = changed.get(member) or ground.table.field(member, field.high, field.truth)
            weight = packing.weight(member)
            if node.op == "const":
                constant += node.data * weight
                continue
            kind = kind_of(0, (1 << cell.bits) - 1)
            name = writer.value(node, kind)
            columns.append(name if weight == 1 else f"{name} * {kind}({weight})")
        if not columns:
            result.append((home, constant, None))
        else:
            total = [*columns, *([f"{kind}({constant})"] if constant else [])]
            result.append((home, None, total[0] if len(total) == 1 else f"({' + '.join(total)})"))
    return result


def _word_update(packing: Packing, values: list[Value], word: int) -> tuple[int, int, dict[int, list[str]]]:
    """Return the bits to retain, the bits to set, and by shift the columns to insert, joined within each byte."""
    keep, constant, dynamic = 2**64 - 1, 0, dict[int, list[str]]()
    for home, fixed, column in values:
        cell = packing.cells[home]
        if cell.word != word:
            continue
        keep &= ~(((1 << cell.bits) - 1) << cell.offset)
        if fixed is not None:
            constant |= fixed << cell.offset
        elif column is not None and cell.in_byte:
            low = cell.offset % BYTE
            dynamic.setdefault(cell.offset - low, []).append(column if low == 0 else f"({column} << U8({low}))")
        elif column is not None:
            dynamic.setdefault(cell.offset, []).append(f"{column}")
    return keep, constant, dynamic


def emit_check(ground: Ground, packing: Packing, w: str) -> str:
    table = ground.table
    roots = [*(table.negate(p) for p in ground.always.values()), *ground.sometimes.values()]
    writer = Writer(packing, [[r] for r in roots])
    writer.line(f"{w}, = words")
    for number, root in enumerate(roots):
        if root is table.true:
            writer.line(f"found({number}, 0)")
        elif root is not table.false:
            name = writer.value(root)
            writer.line(f"j = int({name}.argmax())")
            writer.line(f"if {name}[j]: found({number}, j)")
        writer.end_turn(number)
    return function("check", "words, found", writer.lines)
