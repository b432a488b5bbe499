"""Kafka's logs as they lie on disk, read without a broker.

Read `segments` and `record_columns` (one file), `log_dirs` and `replicas` (one partition on one node and on all),
`placement` and `cluster_logs` (a cluster); `log` and `quorum` (the metadata log); `compression`, `wire_types`.
"""
