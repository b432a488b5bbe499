"""Work of many pieces, on this machine's cores or on Spark, with the same results.

Read `units`, then `generate` and `replay`; `spark` is the one file that speaks to Spark; `jobs` and `cached` serve the
other commands.
"""
