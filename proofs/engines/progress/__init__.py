"""This package decides progress properties on the explored graph, under weak and strong fairness."""

from fencepost.proofs.engines.progress.check import ProgressResult, check_progress

__all__ = ["ProgressResult", "check_progress"]
