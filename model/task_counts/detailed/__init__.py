"""Detailed models of KIP-618's task counts, explored within bounds; each refines an abstract one.

Read `topic`, `leadership`, `rounds`, `starting` (what all forms share), `full`, then what they differ in: `own_view` (A
and M), `asking` (B and what shipped), `attending`, `rebalancing`, `cluster`.
"""
