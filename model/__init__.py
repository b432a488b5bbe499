"""What the protocols are: the language they are written in, and one file or folder per protocol."""

if __name__ != "fencepost.model":
    raise ImportError(
        "import this package as fencepost.model, not as model: under two names each class would exist twice"
    )
