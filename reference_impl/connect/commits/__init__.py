"""This package implements how one source task learns of committed offsets (SourceTask.commit), as proposed and as
shipped.

Read `task` first: it has what the task's thread and the committer do, in order. `records` is what they share,
`exactly_once` is the same task with transactions, and `connector` learns of commits and confirms them upstream.
"""
