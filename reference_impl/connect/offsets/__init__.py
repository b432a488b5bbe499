"""KIP-618: records and source offsets in one transaction, and where offsets are read.

Read `runtime` and `instances` first: a task at work, and its start and end; then `stores`, the two offsets topics as
one. `kafka` is the cluster below, `environment` and `config` what all share.
"""
