"""Detailed models of KIP-618's task counts, explored within bounds; each refines an abstract one.

Read `workers` (what all forms share: the topic, leaders, rounds, starts), `full` (nothing switched on), `cluster`
(faults with budgets), then what the forms differ in: `own_view` (A and M), `asking` (B and what shipped), `attending`,
`rebalancing`, and what Kafka does besides: `claiming`, `lingering`.
"""
