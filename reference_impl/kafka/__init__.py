"""Kafka, as far as its exactly-once protocols need it: brokers here, and `clients`.

A partition: `log`, `leader`, `record_batches`. The coordinator of transactions: `transaction_coordinator` first, then
`transaction_states` and `transaction_transitions`. The coordinator of consumer groups: `group_coordinator`,
`classic_group`, `modern_group`, and `group_transactions` for what transactions know of groups. `producer_ids` are
blocks of ids. `messages`, `errors`, `environment` and `group_environment` are what all of them share; KAFKA.md says
what real brokers did where this was compared with them.
"""
