"""fencepost.properties"""

if __name__ != "fencepost.properties":
    raise ImportError(
        "import this package as fencepost.properties, not as properties: under two names each class would exist twice"
    )
