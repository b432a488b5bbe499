"""Readings of the traced tree: one meaning for each engine, held against one another by tests.

Read `plain` (Python functions on dicts) and `words` (text) first; then `columns` (NumPy, many states at once), `ground`
(fields and instances under bounds) and `solver` (Z3); `equal` proves the last two to be one; `tla` writes
modules for TLC.
"""
