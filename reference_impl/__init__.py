"""fencepost.reference_impl"""

if __name__ != "fencepost.reference_impl":
    raise ImportError("import this package as fencepost.reference_impl, not as reference_impl: under two names each class would exist twice")
