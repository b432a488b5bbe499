"""Engines: ways to judge the properties of a variant.

Read `judged` (one function per engine, results in one shape), `induction` with `houdini` and `attempts`, `refinements`;
`explore`, `bounded`, `progress` and `simulate` are folders.
"""
