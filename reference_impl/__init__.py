"""This package is a second, runnable Kafka, written from the documents: the reference implementations and the
simulation that carries them.

Nothing in the package knows how the properties or the formal models are stated. What compares them reaches an
implementation by name, `fencepost.reference_impl.systems.<protocol>:reference`, as it reaches any user's
implementation.
"""

if __name__ != "fencepost.reference_impl":
    raise ImportError(
        "import this package as fencepost.reference_impl, not as reference_impl: under two names each class would "
        "exist twice"
    )
