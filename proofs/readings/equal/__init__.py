"""This package proves the readings equal, so that what the explorer executes and what the proofs reason about are the
same steps.

`machine` runs the explorer's emitted functions on symbols, `fields` has a state of packed fields as terms see it, and
`obligations` has one question to Z3 for each action and property.
"""
