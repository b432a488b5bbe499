"""Recordings of transactions: data partitions, the coordinators' topics, and what clients did.

Read `recorder`, `sources`, `partition_events`, `coordinator_events` with `transaction_log` and `group_offsets`,
`client_events`, `matching`, `names`, `driven`.
"""
