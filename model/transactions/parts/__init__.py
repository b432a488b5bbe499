"""Parts of the transaction protocol that have a model of their own.

Sequence numbers: `sequences`, `forgetting`.  Readers: `reading`, `cleaning`.  Offsets of groups: `offsets`.  The
transaction log: `recovery`, `metadata`.
"""
