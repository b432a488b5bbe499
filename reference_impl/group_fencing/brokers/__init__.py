"""The group's side of the brokers.

Read `group_coordinator` (what it takes, and when a commit is judged) and `classic_group`; `offsets` is the log.
"""
