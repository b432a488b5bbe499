"""This package has those parts of Kafka that its exactly-once protocols need: the brokers here and the clients in
`clients`.

A partition is in `log`, `leader` and `record_batches`. The transaction coordinator is in `transaction_coordinator`, to
be read first, `transaction_states` and `transaction_transitions`. The group coordinator is in `group_coordinator`,
`classic_group`, `modern_group` and `group_transactions`, the last of which is the draft's transaction coordinator.
`producer_ids` has the blocks of ids. `messages`, `errors`, `environment` and `group_environment` are shared by all of
them. KAFKA.md lists what real brokers did where this implementation was compared with them.
"""
