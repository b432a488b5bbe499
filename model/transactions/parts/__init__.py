"""Each module here models one part of the transaction protocol.

`sequences` and `forgetting` have sequence numbers, `reading` and `cleaning` have readers, `offsets` has the offsets of
groups, and `recovery` and `metadata` have the transaction log.
"""
