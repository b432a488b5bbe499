"""This package has the readings of the traced tree, one meaning for each engine, which tests compare.

`plain` (Python functions on dicts) and `words` (text) are the simplest. `columns` uses NumPy for many states at once,
`ground` has fields and instances under bounds, and `solver` uses Z3. `equal` proves that the last two agree, and `tla`
writes modules for TLC.
"""
