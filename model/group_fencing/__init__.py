"""Group-aware fencing (KIP-447): members of a consumer group that read, process and write in transactions.

Read `core` (what all forms share: fetched offsets, transactions, pending commits), `classic` (generations: the draft,
its repairs, and what shipped), `modern` (member epochs: KIP-848 and KIP-1251), `upgrade` (clients of both kinds),
`over_core` (what shipped, where a member's transactions are the core of transactions itself).
"""
