"""This package runs work of many pieces on this machine's cores or on Spark, with the same results.

Read `jobs` (work in separate processes), `units`, then `generate` (with `seeds` and `memory`) and `replay` (with
`violating`). `spark` is the one file that uses Spark, and `task_messages` packs jobs for other processes. `from_model`
generates histories from a model's runs, many at once; `rekey` judges a history that is larger than a worker's memory.
`estimates` predicts what would be too large; `cached` serves the other commands."""
