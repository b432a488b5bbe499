"""Engines: ways to judge the properties of a variant.

Read `judged` (one function per engine, results in one shape), `induction` with `houdini`, `attempts` and
`inheriting`, `refinements`;
`explore`, `bounded`, `progress` and `simulate` are folders.
"""
