"""This package reads Kafka's logs, on disk without a broker, or of a running cluster as a client (`network_logs`).

Read `segments` and `record_columns` (one file), `log_dirs` and `replicas` (one partition on one node and on all),
`placement` (a cluster), `log` (the metadata log); `wire_types`."""
