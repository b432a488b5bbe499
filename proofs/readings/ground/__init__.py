"""This package grounds a protocol under bounds, as scalar fields, instances of actions and conditions on them."""

from fencepost.proofs.readings.ground.grounding import Ground, Instance, Promise, ground
from fencepost.proofs.readings.ground.layout import Bounds, BoundsError, Field, Layout
from fencepost.proofs.readings.ground.lowering import Lowering
from fencepost.proofs.readings.ground.nodes import Node, Table, below, evaluate

__all__ = [
    "Bounds", "BoundsError", "Field", "Ground", "Instance", "Layout", "Lowering", "Node", "Promise", "Table", "below",
    "evaluate", "ground",
]  # fmt: skip
