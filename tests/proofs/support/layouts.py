"""Other ways to pack states than the one that is chosen, and what searches find, as it can be compared."""

import math
from collections.abc import Sequence

from fencepost.proofs.engines.explore import Exploration
from fencepost.proofs.engines.explore.packing import Cell, Packing, pack_fields
from fencepost.proofs.engines.simulate.walks import Walker
from fencepost.proofs.readings.ground import Field
from fencepost.properties.catalogue import Variant, bounds_of


def spread(words: int, fields: Sequence[Field]) -> Packing:
    """One field after the other in the next word, in bytes of their own where there are enough."""
    sizes = tuple(f.high + 1 for f in fields)
    used, cells = [0] * words, []
    for index, size in enumerate(sizes):
        if size > 1:
            bits, word = (size - 1).bit_length(), index % words
            cells.append(Cell(word, used[word], bits, (index,)))
            used[word] += bits
    return packing(sizes, cells, words)


def in_two_words(_: str, fields: Sequence[Field]) -> Packing:
    return spread(2, fields)


def in_five_words(_: str, fields: Sequence[Field]) -> Packing:
    return spread(5, fields)


def sharing_bits(_: str, fields: Sequence[Field]) -> Packing:
    """Neighbouring fields as digits of one number, up to a byte."""
    sizes = tuple(f.high + 1 for f in fields)
    cells: list[Cell] = []
    members: list[int] = []
    for index, size in [*enumerate(sizes), (len(sizes), 257)]:
        if math.prod(sizes[m] for m in members) * size > 256:
            bits = (math.prod(sizes[m] for m in members) - 1).bit_length()
            cells.append(Cell(0, 8 * len(cells), bits, tuple(members)))
            members = []
        members.append(index)
    return packing(sizes, cells, 1)


def packing(sizes: tuple[int, ...], cells: list[Cell], words: int) -> Packing:
    home = {m: number for number, cell in enumerate(cells) for m in cell.members}
    return Packing(words, sizes, tuple(cells), tuple(home.get(i) for i in range(len(sizes))))


LAYOUTS = {"one word": pack_fields, "two words": in_two_words, "five words": in_five_words, "shared bits": sharing_bits}


def outcome(found: Exploration) -> tuple[object, ...]:
    return (
        found.levels, found.generated, found.verdicts, found.traces, found.taken, found.cut, found.deadlocks,
        [tuple(c.tolist() for c in level) for level in found.states],
    )  # fmt: skip


def is_a_run(variant: Variant, made: Exploration, name: str) -> bool:
    """From the initial state to where the property is decided, each step allowed."""
    trace, item = made.traces[name], variant.asked[name]
    walker = Walker(variant.spec, {}, bounds_of(variant, "smoke"))
    walk, _ = walker.follow(trace.events)
    ends = walk.states[-2:] if item.kind == "step" else walk.states[-1:]
    same = (list(walk.states), list(walk.events)) == (list(trace.states), list(trace.events))
    return same and walker.plain.holds(item, *ends) == (item.kind == "sometimes")
