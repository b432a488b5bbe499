"""Detailed models of transactions, explored within bounds; each refines an abstract one.

Read `coordinator` (pending transitions, a log that may refuse, memory that a fail-over loses), `producers`, `full`
(both with the partitions of each core), `expiry` (transactional ids that are forgotten), `releases` (what differs by
release).
"""
