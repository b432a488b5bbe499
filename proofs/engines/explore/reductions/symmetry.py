"""This module lets a search store only one of the states that differ in the names of interchangeable elements.

The stored state is the least of them, as packed words are compared. Each other state is made by moving fields and
renaming their values, for every renaming. The reduction is sound for always properties and for step properties, since
nothing in a protocol or a property can distinguish the elements. Runs are reported with their real names.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.symmetric_sorts import interchangeable
from fencepost.model.language.properties import Property
from fencepost.model.language.tree.types import AtomsType, MapType, OptionType, ScalarType, SeqType
from fencepost.proofs.engines.explore.emit import columns
from fencepost.proofs.engines.explore.packing import Packing, Words
from fencepost.proofs.readings.ground import Ground, Node
from numpy.typing import NDArray

BLOCK = 1 << 15
Renaming = Mapping[AtomsType, Sequence[int]]
"""A renaming has, by sort, the new name of each element."""


class Symmetry:
    """A `Symmetry` has the renamings of a protocol's ``sorts`` within its bounds. ``fields`` has, for each renaming
    except the identity, the new value of every field. Errors: InputError if nothing can be renamed."""

    def __init__(self, ground: Ground, packing: Packing, properties: Iterable[Property]) -> None:
        spec = ground.spec
        # Conditions on the initial state are left out, since that state has no names. A refinement is a relation of two
        # states like any property of steps, and has the core's steps with all choices of their parameters.
        terms = [term for p in properties for term in ((p.term,) if p.kind == "step" else p.terms)]
        terms += [danger.term for danger in spec.presences.values()]
        self.sorts = [sort for sort in interchangeable(spec, terms) if _size(ground, sort) > 1]
        if not self.sorts:
            raise InputError(f"no sort of {spec.name} has several elements that differ by name alone")
        self.packing = packing
        orders = [itertools.permutations(range(_size(ground, sort))) for sort in self.sorts]
        every = [dict(zip(self.sorts, chosen, strict=True)) for chosen in itertools.product(*orders)]
        self.fields = [_renamed(ground, renaming) for renaming in every[1:]]  # the first one changes nothing
        self.moves = [_move(ground, packing, made) for made in self.fields]

    def least(self, words: Words) -> Words:
        """Return, for each packed state, the one that is stored for it."""
        blocks = [self._least(tuple(w[at : at + BLOCK] for w in words)) for at in range(0, words[0].size, BLOCK)]
        return tuple(map(np.concatenate, zip(*blocks, strict=True))) if blocks else words

    def _least(self, words: Words) -> Words:
        best = words
        for move in self.moves:
            other = move(words)
            smaller = _is_less(other, best)
            best = tuple(np.where(smaller, a, b) for a, b in zip(other, best, strict=True))
        return best

    def renamed(self, words: Words, to: Words) -> Callable[[Words], Words]:
        """Return the renaming that turns one state into another of its symmetry class, each given as one state."""
        for move in (lambda same: same, *self.moves):
            if all(int(a[0]) == int(b[0]) for a, b in zip(move(words), to, strict=True)):
                return move
        raise AssertionError("two states that are kept as one have no renaming between them")


def _size(ground: Ground, sort: AtomsType) -> int:
    return int(ground.bounds[sort.bound])


def _is_less(a: Words, b: Words) -> NDArray[np.bool_]:
    return reduce(lambda less, one: (one[0] < one[1]) | ((one[0] == one[1]) & less), zip(a, b, strict=True), np.False_)  # type: ignore[arg-type]


def _move(ground: Ground, packing: Packing, made: Sequence[Node]) -> Callable[[Words], Words]:
    """Return a function from packed states to their renamed ones, which rewrites only the cells that change."""
    fields = ground.fields()
    cells = [cell for cell in packing.cells if any(made[m] is not fields[m] for m in cell.members)]
    members = [m for cell in cells for m in cell.members]
    read = columns(packing, [made[m] for m in members])
    masks = [
        ~np.uint64(sum(((1 << c.bits) - 1) << c.offset for c in cells if c.word == w)) for w in range(packing.words)
    ]
    places = [(cell.word, np.uint64(packing.weight(m) << cell.offset)) for cell in cells for m in cell.members]

    def move(words: Words) -> Words:
        found = [word & mask for word, mask in zip(words, masks, strict=True)]
        for column, (word, factor) in zip(read(words), places, strict=True):
            found[word] += column.astype(np.uint64) * factor
        return tuple(found)

    return move


def _renamed(ground: Ground, renaming: Renaming) -> list[Node]:
    spec, layout = ground.spec, ground.layout
    found = ground.fields()
    now = list(found)
    for name, kind in spec.types.items():
        place = layout.places[name]
        if isinstance(kind, MapType):
            for old, key in enumerate(itertools.product(*map(range, place.sizes))):
                new = 0
                for part, sort, size in zip(key, kind.keys, place.sizes, strict=True):
                    new = new * size + _name(part, sort, renaming)
                found[place.first + new] = _value(ground, now[place.first + old], kind.value, renaming)
        else:
            is_sequence = isinstance(kind, SeqType)
            value = kind.entry if isinstance(kind, SeqType) else kind
            first = place.first + is_sequence
            for at in range(first, first + (place.sizes[0] if is_sequence else 1)):
                found[at] = _value(ground, now[at], value, renaming)
    return found


def _name(number: int, kind: ScalarType, renaming: Renaming) -> int:
    if isinstance(kind, OptionType):
        return number and 1 + _name(number - 1, kind.of, renaming)
    return renaming[kind][number] if isinstance(kind, AtomsType) and kind in renaming else number


def _value(ground: Ground, node: Node, kind: ScalarType, renaming: Renaming) -> Node:
    found, table = node, ground.table
    for number in reversed(range(0 if node.truth else node.high + 1)):
        if (name := _name(number, kind, renaming)) != number:
            found = table.ite(table.eq(node, table.const(number)), table.const(name), found)
    return found
