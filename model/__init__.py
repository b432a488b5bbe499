"""fencepost.model"""

if __name__ != "fencepost.model":
    raise ImportError(
        "import this package as fencepost.model, not as model: under two names each class would exist twice"
    )
