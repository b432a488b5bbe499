"""fencepost.proofs"""

if __name__ != "fencepost.proofs":
    raise ImportError(
        "import this package as fencepost.proofs, not as proofs: under two names each class would exist twice"
    )
