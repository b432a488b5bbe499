"""This module finds the depth at which each danger is first present, for dangers that are conditions on a state.

Each condition is evaluated until a state meets it and then no more, so that what is met early costs nothing later.
"""

from fencepost.proofs.engines.explore import sets
from fencepost.proofs.engines.explore.emit import conditions
from fencepost.proofs.engines.explore.kernels import Kernels
from fencepost.proofs.engines.explore.packing import Words

BLOCK = 1 << 15


class Presences:
    """A `Presences` has the conditions that no level so far has met, compiled together."""

    def __init__(self, kernels: Kernels) -> None:
        self.packing = kernels.packing
        self.waiting = dict(kernels.ground.presences)
        self._compile()

    def _compile(self) -> None:
        # A condition that no state within the bounds can meet is constant, and is not evaluated.
        self.waiting = {name: node for name, node in self.waiting.items() if node.op != "const" or node.data}
        self.ask = conditions(self.packing, list(self.waiting.values())) if self.waiting else None

    def look(self, level: Words, depth: int, met: dict[str, int]) -> None:
        """Note which conditions the states of a level meet, and at which depth."""
        for start in range(0, sets.size(level), BLOCK):
            if self.ask is None:
                return
            columns = self.ask(sets.to_words(sets.part(level, start, start + BLOCK)))
            found = [name for name, column in zip(self.waiting, columns, strict=True) if column.any()]
            if found:
                met.update(dict.fromkeys(found, depth))
                self.waiting = {name: node for name, node in self.waiting.items() if name not in found}
                self._compile()
