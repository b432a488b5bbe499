"""This package takes random walks through any model, plain or aimed."""

from fencepost.proofs.engines.simulate.random_walk import AIMS, Aim, Wandering, wander
from fencepost.proofs.engines.simulate.walks import Starts, starts

__all__ = ["AIMS", "Aim", "Starts", "Wandering", "starts", "wander"]
