"""A second, runnable Kafka, written from the documents: the reference implementations and the simulation under them.

Nothing here knows how the properties or the formal models are stated; what compares them reaches an implementation by
name, `fencepost.reference_impl.systems.<protocol>:reference`, as any user's implementation is reached.
"""

if __name__ != "fencepost.reference_impl":
    raise ImportError(
        "import this package as fencepost.reference_impl, not as reference_impl: under two names each class would "
        "exist twice"
    )
