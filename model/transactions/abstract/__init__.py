"""The abstract models of transactions are proved without bounds.

`core` has one transactional id, its coordinator, partitions, and a network that forgets no request. `cores` has its
three forms: v1, v1 with verification, v2. Each further file adds one thing: `versions` changes transaction.version,
`overlapping` has a deposed coordinator that still answers, `several` a second record in a partition, `away` a partition
without a leader at its marker, `uncovered` a tail of the transaction log that is not replicated. `fated` has what
matters of all this to a group that commits offsets in transactions.
"""
