"""Source tasks: what they are handed by the source, where their transactions end, and how one of them runs.

In the order in which to read it: `runtime.py` (exactly once), `boundaries.py`, `source.py` (the connector's own code),
`instance.py` (from the start of a task to its end), `plain.py` (without the feature), `owner.py` (the earlier text).
"""
