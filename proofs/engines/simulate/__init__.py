"""Guided: random walks through any model, as a Hypothesis state machine, plain or aimed."""

from fencepost.proofs.engines.simulate.starts import Starts, starts
from fencepost.proofs.engines.simulate.wandering import AIMS, Aim, Wandering, wander

__all__ = ["AIMS", "Aim", "Starts", "Wandering", "starts", "wander"]
