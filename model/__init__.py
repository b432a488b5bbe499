"""This package defines the protocols: the language in which they are written, and one file or folder per protocol."""

if __name__ != "fencepost.model":
    raise ImportError(
        "import this package as fencepost.model, not as model: under two names each class would exist twice"
    )
