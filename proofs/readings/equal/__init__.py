"""This package compares readings, so that what the explorer and replay execute and what the proofs reason about are the
same steps.

`machine` runs the explorer's emitted functions on symbols and `grids` the columns of replay, `fields` has a state of
packed fields as terms see it, and `obligations` has one question to Z3 for each action and property. `running` runs
plain Python, and compares it in the states that are reached.
"""
