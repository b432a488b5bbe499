"""Work of many pieces, on this machine's cores or on Spark, with the same results.

Read `jobs` (work that processes of their own do), `units`, then `generate` (with `seeds` and `memory`) and `replay`
(with `violating`); `spark` is the one file that speaks to Spark, and `task_messages` is what other
processes are sent of jobs. `from_model` makes histories of a model's runs, many at once; `rekey` judges a history
that is larger than a worker's memory. `estimates` says what would be too large; `cached` serves the other commands."""
