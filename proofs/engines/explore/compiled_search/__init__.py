"""The search with numba, where it is installed: the same states, verdicts and traces, several times as fast.

Read `compiled` (the search), `scalar` and `hashed` (the source that it runs: of a protocol's steps, and of tables),
`loaded` (compiles it), `seen` (the tables).
"""
