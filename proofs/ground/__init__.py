"""Grounding: a protocol under bounds as scalar fields, instances of actions and conditions on them."""

from .grounding import Ground, Instance, Promise, ground
from .layout import Bounds, BoundsError, Field, Layout
from .lowering import Lowering
from .nodes import Node, Table, below, evaluate

__all__ = [
    "Bounds", "BoundsError", "Field", "Ground", "Instance", "Layout", "Lowering", "Node", "Promise", "Table", "below",
    "evaluate", "ground",
]  # fmt: skip
