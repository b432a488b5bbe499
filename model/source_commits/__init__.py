"""What a source task is told of committed offsets (SourceTask.commit, today's and the proposed one).

Read `at_least_once` (Connect's at-least-once runtime as it would have to be), `two_threads` (what today's committing
threads do to one another), `connectors` (what a task makes of `commit`, and what ships), `left_behind` (instances and
writes that come late), `exactly_once` (tasks with transactions).  CONTRACT.md has the wording that results.
"""
