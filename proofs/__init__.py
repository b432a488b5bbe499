"""How we know: readings of the traced tree, engines, reports, and the command line."""

if __name__ != "fencepost.proofs":
    raise ImportError(
        "import this package as fencepost.proofs, not as proofs: under two names each class would exist twice"
    )

from fencepost.proofs.processors import before_numpy

before_numpy()
