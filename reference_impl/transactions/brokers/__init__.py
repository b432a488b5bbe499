"""The brokers' side of transactions.

The coordinator: `states`, `coordinator_base`, `initializing`, `adding`, `ending`, `markers`, `timing`, `coordinator`,
`transaction_log`.  A partition: `leader`, `log`, `written_log`, `producer_state`, `record_batches`, `offsets`.
"""
