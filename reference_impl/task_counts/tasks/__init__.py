"""Source tasks: threads that start, poll and end.

Read `threads`, `worker`, `producers`, `task_base`, `task_start`, `source_task`.
"""
