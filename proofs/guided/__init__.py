"""Guided: random walks through any model, as a Hypothesis state machine, plain or aimed."""

from .starts import Starts, starts
from .wandering import AIMS, Aim, Wandering, wander

__all__ = ["AIMS", "Aim", "Starts", "Wandering", "starts", "wander"]
