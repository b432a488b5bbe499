"""The clients' side of transactions.

Read `producer`, `producer_calls` and `sends` (what it asks and sends), `coordinator_call`, `client_errors`; `consumer`,
`admin`; `roles` and `clients` (how a cluster has them).
"""
