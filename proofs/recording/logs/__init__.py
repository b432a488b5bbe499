"""Kafka's logs as they lie on disk, read without a broker.

Read `segments` and `record_columns` (one file), `log_dirs` and `replicas` (one partition on one node and on all),
`placement` (a cluster), `log` (the metadata log); `wire_types`."""
