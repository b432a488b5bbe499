"""Abstract models of transactions, which are proved without bounds.

Read `core` (one transactional id, its coordinator, partitions, and a network that forgets no request), `cores` (v1, v1
with verification, v2), then what is added to them, each in a file: `versions` (transaction.version is changed),
`overlapping` (a deposed coordinator still answers), `several` (a second record in a partition), `away` (a partition
without a leader at its marker), `uncovered` (a tail of the transaction log that has no copy).  `fated` is what of all
this matters to a group that commits offsets in transactions.
"""
