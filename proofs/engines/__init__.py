"""Engines: ways to judge the properties of a variant.

Read `run_engines` (one function per engine, results in one shape), `induction` with `houdini`,
`induction_counterexamples` and `proof_reuse`, `refinements`; `explore`, `progress` and `simulate` are
folders.
"""
