"""This package records transactions from data partitions, the coordinators' topics, and what clients did.

Read `recorder`, `cluster_logs`, `sources`, `event_table`, `partition_events`, `coordinator_events` with
`transaction_log` and `group_offsets`, `client_events`, `matching`, `names`."""
