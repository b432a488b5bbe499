"""This package has the engines, which judge the properties of a variant.

Read `run_engines` first, which has one function for each engine and gives results in one shape. `induction` uses
`houdini`, `induction_counterexamples` and `proof_reuse`. `refinements` explains failures, and `explore`, `progress` and
`simulate` are folders.
"""
