"""One source task: how it learns of committed offsets (SourceTask.commit), as proposed and as shipped.

Read `task` first: what its thread and the committer do, in order. `records` are what they share, `exactly_once` the
same with transactions; `connector` learns of commits, and confirms them upstream.
"""
