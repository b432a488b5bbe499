"""Source tasks: threads that start, poll and end.

Read `threads`, `worker`, `producers`, `source_task`.
"""
