"""The brokers' side of transactions.

The coordinator: `states`, `coordinator` with `end_results`, `transitions` and `markers`, `transaction_log`.
A partition: `leader`, `log`, `producer_state`, `record_batches`, `offsets`.
"""
