"""The readings proved equal: what the explorer executes and what the proofs reason about are the same steps.

Read `machine` (the explorer's emitted functions, run on symbols), `fields` (a state of packed fields, as terms see it),
`obligations` (for each action and property, one question to Z3).
"""
