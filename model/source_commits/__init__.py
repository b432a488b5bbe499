"""These models cover the committed offsets that a source task learns of through SourceTask.commit, today's and the
proposed one.

`at_least_once` has Connect's at-least-once runtime as it would have to be, `two_threads` the interference of today's
committing threads, `connectors` the ways in which a task interprets `commit` and the runtime that ships, `left_behind`
late instances and writes, and `exactly_once` tasks with transactions. CONTRACT.md has the wording that results.
"""
