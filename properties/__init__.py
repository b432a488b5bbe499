"""The properties state what must be true: promises, lemmas, witnesses, progress, history properties, and the interface
through which implementations are driven."""

if __name__ != "fencepost.properties":
    raise ImportError(
        "import this package as fencepost.properties, not as properties: under two names each class would exist twice"
    )
