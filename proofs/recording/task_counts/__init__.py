"""This package records Connect's exactly-once source connectors from brokers' logs, what was seen of calls and answers,
and workers' logs.

Read `recorder`, `broker_logs` with `records` and `group_log`, `seen`, `worker_logs` with `log_events`,
`instances`, `ordering`."""
