"""This package is the search with numba, where that is installed, which finds the same states, verdicts and traces,
several times as fast.

`compiled` has the search, `scalar` and `hashed` the source that it runs for a protocol's steps and for tables, `loaded`
compiles that source, and `seen` has the tables.
"""
