"""The detailed models of KIP-618's task counts are explored within bounds, and each refines an abstract one.

`workers` has the parts that all forms share: the topic, leaders, rounds and starts. `full` has no variant switched on,
and `cluster` adds faults with budgets. The forms differ in `own_view` (A and M), `asking` (B and what shipped),
`attending` and `rebalancing`. `claiming` and `lingering` have further behaviour of Kafka.
"""
