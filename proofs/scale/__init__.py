"""Work of many pieces, on this machine's cores or on Spark, with the same results.

Read `jobs` (work that processes of their own do), `units`, then `generate` and `replay`; `spark` is the one file that
speaks to Spark; `cached` serves the other commands. `from_model` makes histories of a model's runs, many at once.
"""
