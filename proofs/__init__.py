"""This package contains the engines, their readings of the traced tree, the reports, and the command line."""

if __name__ != "fencepost.proofs":
    raise ImportError(
        "import this package as fencepost.proofs, not as proofs: under two names each class would exist twice"
    )

from fencepost.proofs.processors import before_numpy

before_numpy()
